-- What needs a person now speaks of ramps, too.
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

-- A need that spoke of an open wave ends with it, however it closed; what the gate or its figures need stays.
CREATE FUNCTION waves_end_need() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ramps SET needs_operator = NULL, needs_operator_at = NULL
    WHERE id = NEW.ramp_id AND needs_operator IN ('send_unconfirmed', 'pool_drained', 'wave_failed', 'step_failed',
        'force_released', 'campaign_stopped');
    RETURN NULL;
END
$$;

CREATE TRIGGER waves_end_their_need AFTER UPDATE OF closed ON waves FOR EACH ROW
WHEN (OLD.closed IS NULL AND NEW.closed IS NOT NULL)
EXECUTE FUNCTION waves_end_need();

-- A ramp that was aborted while a request of its wave was unresolved: when that is settled as not gone, the wave ends.
CREATE FUNCTION waves_end_with_ramp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE waves SET closed = 'discarded', closed_at = now_ms(), activity_at = now_ms()
    WHERE id = NEW.wave_id AND closed IS NULL
        AND EXISTS (SELECT 1 FROM ramps r WHERE r.id = waves.ramp_id AND r.ended IS NOT NULL);
    RETURN NULL;
END
$$;

CREATE TRIGGER waves_end_with_their_ramp AFTER UPDATE OF state, open_attempt ON campaigns FOR EACH ROW
WHEN (NEW.wave_id IS NOT NULL AND NEW.open_attempt IS NULL
    AND NEW.state IN ('approved', 'provider_draft', 'cancelled', 'failed'))
EXECUTE FUNCTION waves_end_with_ramp();
