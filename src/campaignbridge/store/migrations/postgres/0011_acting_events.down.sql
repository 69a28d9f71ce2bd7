DROP VIEW needs;

-- Everything that needs a person, in one place: what Status lists is what notices tell. A watch that is two hours
-- late is stuck (an outage flags its campaigns after one), unless its job only waits for a worker: that is one
-- matter of the workers, not one of each campaign. A watch or a step that died has handed over what it looked after. A
-- ramp is named by its slug, and each of its facts is a need of its own; a failed wave is one even when nothing else
-- says so.
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

DROP INDEX campaigns_that_went;

DROP INDEX waves_of_broadcasts;

DROP TABLE wave_fates;

DROP INDEX webhook_events_of_remote;

DELETE FROM webhook_events WHERE kind = 'removed';

ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_kind_check;

ALTER TABLE webhook_events ADD CONSTRAINT webhook_events_kind_check CHECK (kind IN ('campaign', 'unsubscribe', 'cleaned'));
