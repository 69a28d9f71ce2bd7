DROP VIEW needs;

-- Everything that needs a person, in one place: what Status lists is what notices tell. A watch that is two hours
-- late is stuck (an outage flags its campaigns after one), unless its job only waits for a worker: that is one
-- matter of the workers, not one of each campaign. A watch or a step that died has handed over what it looked after. A
-- ramp is named by its slug, and each of its facts is a need of its own; a failed wave is one even when nothing else
-- says so.
CREATE VIEW needs AS
SELECT 'campaign' AS kind, id AS target, need AS reason, need_since AS since, 1 AS n, NULL AS example
FROM campaigns WHERE need IS NOT NULL
UNION ALL
SELECT 'campaign', c.id, 'watch_stuck', c.look_at, 1, NULL
FROM campaigns c
WHERE c.look_at < (SELECT now_ms()) - 7200000 AND c.need IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.dedupe_key = 'watch_campaign:campaign:' || c.id
        AND j.state IN ('queued', 'claimed') AND j.attempts = 0)
UNION ALL
SELECT 'connection', k.id, 'credential_refused', k.refused_at,
    (SELECT count(*) FROM campaigns c
        WHERE c.connection_id = k.id AND c.stopped_reason IN ('credential_refused', 'other_account')),
    NULL
FROM connections k WHERE k.refused_at IS NOT NULL AND k.disconnected_at IS NULL
UNION ALL
SELECT 'connection', c.connection_id, c.stopped_reason, min(c.need_since), count(*), NULL
FROM campaigns c JOIN connections k ON k.id = c.connection_id
WHERE c.stopped_reason IN ('credential_refused', 'other_account')
    AND (c.stopped_reason = 'other_account' OR k.refused_at IS NULL OR k.disconnected_at IS NOT NULL)
GROUP BY c.connection_id, c.stopped_reason
UNION ALL
SELECT 'ramp', r.slug, r.needs_operator, r.needs_operator_at, 1,
    (SELECT w.label FROM waves w WHERE w.ramp_id = r.id AND w.closed IS NULL)
FROM ramps r WHERE r.needs_operator IS NOT NULL AND r.ended IS NULL
UNION ALL
SELECT 'ramp', r.slug, 'gate_tripped', r.gate_tripped_at, 1, NULL
FROM ramps r WHERE r.gate_tripped_at IS NOT NULL AND r.ended IS NULL
UNION ALL
SELECT 'ramp', r.slug, 'wave_failed', w.activity_at, 1, w.label
FROM waves w JOIN ramps r ON r.id = w.ramp_id
WHERE w.closed IS NULL AND w.failed IS NOT NULL AND r.ended IS NULL AND r.needs_operator IS NULL
UNION ALL
SELECT 'job', type, coalesce(last_error, 'unknown'), min(finished_at), count(*), min(id)
FROM jobs WHERE state = 'dead' AND type NOT IN ('watch_campaign', 'wave_step')
GROUP BY type, last_error;

DROP INDEX campaigns_that_went;

DROP INDEX waves_of_broadcasts;

DROP TABLE wave_fates;

DROP INDEX webhook_events_of_remote;

DELETE FROM webhook_events WHERE kind = 'removed';

CREATE TABLE webhook_events_anew (
    connection_id text NOT NULL REFERENCES connections (id),
    kind text NOT NULL CHECK (kind IN ('campaign', 'unsubscribe', 'cleaned')),
    audience text NOT NULL,
    subject text NOT NULL,
    fired_at integer NOT NULL,
    remote_id text,
    status text NOT NULL,
    verified integer NOT NULL,
    received_at integer NOT NULL,
    parked integer NOT NULL DEFAULT 0,
    due_at integer,
    settled_at integer,
    outcome text,
    PRIMARY KEY (connection_id, kind, audience, subject, fired_at),
    CHECK ((due_at IS NULL) = (settled_at IS NOT NULL)),
    CHECK ((settled_at IS NULL) = (outcome IS NULL))
);

INSERT INTO webhook_events_anew (connection_id, kind, audience, subject, fired_at, remote_id, status, verified, received_at,
    parked, due_at, settled_at, outcome)
SELECT connection_id, kind, audience, subject, fired_at, remote_id, status, verified, received_at,
    parked, due_at, settled_at, outcome
FROM webhook_events;

DROP TABLE webhook_events;

ALTER TABLE webhook_events_anew RENAME TO webhook_events;

CREATE INDEX webhook_events_due ON webhook_events (connection_id, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX webhook_events_waiting ON webhook_events (connection_id, parked, received_at)
    WHERE due_at IS NOT NULL;

CREATE INDEX webhook_events_settled ON webhook_events (connection_id, settled_at) WHERE settled_at IS NOT NULL;
