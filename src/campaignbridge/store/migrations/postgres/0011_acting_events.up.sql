-- People who were taken off a list are events of their own.
ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_kind_check;

ALTER TABLE webhook_events ADD CONSTRAINT webhook_events_kind_check CHECK (kind IN ('campaign', 'unsubscribe', 'cleaned', 'removed'));

-- Whether a signed event speaks of a remote campaign is asked before a send counts as not applied.
CREATE INDEX webhook_events_of_remote ON webhook_events (connection_id, remote_id)
    WHERE verified = 1 AND remote_id IS NOT NULL;

-- What the provider's signed events say that each person's mail of a wave came to: 1 bounced for now, 2 delivered,
-- 3 bounced for good, 4 complained. One row for each person, under a keyed hash, and it only ever rises.
CREATE TABLE wave_fates (
    wave_id text COLLATE "C" NOT NULL REFERENCES waves (id),
    person text COLLATE "C" NOT NULL,
    fate bigint NOT NULL CHECK (fate BETWEEN 1 AND 4),
    PRIMARY KEY (wave_id, person)
);

CREATE INDEX waves_of_broadcasts ON waves (broadcast_id) WHERE broadcast_id IS NOT NULL;

CREATE INDEX campaigns_that_went ON campaigns (connection_id, state_changed_at) WHERE state IN ('sending', 'sent');

DROP VIEW needs;

-- Everything that needs a person, in one place: what Status lists is what notices tell. A watch that is two hours
-- late is stuck (an outage flags its campaigns after one), unless its job only waits for a worker: that is one
-- matter of the workers, not one of each campaign. A watch or a step that died has handed over what it looked after. A
-- ramp is named by its slug, and each of its facts is a need of its own; a failed wave is one even when nothing else
-- says so. A webhook that was heard before is silent when mail went two hours to a day ago and nothing came since, nor
-- in the hour before we knew that it went.
CREATE VIEW needs AS
SELECT 'campaign' AS kind, id AS target, need AS reason, need_since AS since, 1::bigint AS n, NULL::text COLLATE "C" AS example
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
SELECT 'connection', e.connection_id, 'webhook_silence', e.heard_at, 0::bigint, NULL
FROM webhook_endpoints e JOIN connections k ON k.id = e.connection_id
WHERE e.heard_at IS NOT NULL AND k.disconnected_at IS NULL
    AND EXISTS (SELECT 1 FROM campaigns c
        WHERE c.connection_id = e.connection_id AND c.state IN ('sending', 'sent')
            AND c.state_changed_at > (SELECT now_ms()) - 86400000
            AND c.state_changed_at < (SELECT now_ms()) - 7200000
            AND c.state_changed_at > e.heard_at + 3600000)
UNION ALL
SELECT 'ramp', r.slug COLLATE "C", r.needs_operator, r.needs_operator_at, 1,
    (SELECT w.label COLLATE "C" FROM waves w WHERE w.ramp_id = r.id AND w.closed IS NULL)
FROM ramps r WHERE r.needs_operator IS NOT NULL AND r.ended IS NULL
UNION ALL
SELECT 'ramp', r.slug COLLATE "C", 'gate_tripped', r.gate_tripped_at, 1, NULL
FROM ramps r WHERE r.gate_tripped_at IS NOT NULL AND r.ended IS NULL
UNION ALL
SELECT 'ramp', r.slug COLLATE "C", 'wave_failed', w.activity_at, 1, w.label COLLATE "C"
FROM waves w JOIN ramps r ON r.id = w.ramp_id
WHERE w.closed IS NULL AND w.failed IS NOT NULL AND r.ended IS NULL AND r.needs_operator IS NULL
UNION ALL
SELECT 'job', type COLLATE "C", coalesce(last_error, 'unknown'), min(finished_at), count(*), min(id)
FROM jobs WHERE state = 'dead' AND type NOT IN ('watch_campaign', 'wave_step')
GROUP BY type, last_error;
