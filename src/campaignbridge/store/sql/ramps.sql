-- name: create
-- The slug is unique, and an audience has one ramp that goes on: zero rows, there is one.
INSERT INTO ramps (id, slug, name, connection_id, list, audience_id, plan, label_offset, filters, seed,
    source_campaign, source_revision, approved_by, approved_at, approved_fingerprint, cron, zone, delegated_by,
    created_at)
VALUES (:id, :slug, :name, :connection_id, :list, :audience_id, :plan, :label_offset, :filters, :seed,
    :source_campaign, :source_revision, :approved_by, :approved_at, :approved_fingerprint, :cron, :zone,
    :delegated_by, now_ms())
ON CONFLICT DO NOTHING

-- name: exclude
-- By key; made once.
INSERT INTO ramp_exclusions (ramp_id, excluded_id) VALUES (:ramp_id, :excluded_id) ON CONFLICT DO NOTHING

-- name: excluded
-- By the key's first column; a ramp leaves out few.
SELECT excluded_id FROM ramp_exclusions WHERE ramp_id = :ramp_id ORDER BY excluded_id

-- name: find
-- By id or slug; an id is never a slug, since slugs have no underscore.
SELECT id, slug, name, connection_id, list, audience_id, plan, label_offset, filters, seed, source_campaign,
    source_revision, approved_by, approved_at, approved_fingerprint, cron, zone, delegated_by, ended, ended_at,
    paused_at, gate_tripped_at, gate_tripped, needs_operator, needs_operator_at, total_waived, created_at,
    now_ms() AS now
FROM ramps WHERE id = :ref OR slug = :ref

-- name: list
-- For people and ticks: what runs first, then the newest; the page is bounded.
SELECT id, slug, name, connection_id, list, audience_id, plan, label_offset, filters, seed, source_campaign,
    source_revision, approved_by, approved_at, approved_fingerprint, cron, zone, delegated_by, ended, ended_at,
    paused_at, gate_tripped_at, gate_tripped, needs_operator, needs_operator_at, total_waived, created_at,
    now_ms() AS now
FROM ramps
ORDER BY CASE WHEN ended IS NULL THEN 0 ELSE 1 END, created_at DESC, id
LIMIT :most_literal

-- name: rivals
-- Ramps of the same audience that have not ended, or have a wave that may still go: open, or with a request that is
-- unresolved, or a delivery that is under way.
SELECT r.slug FROM ramps r
WHERE r.audience_id = :audience_id AND (r.ended IS NULL OR EXISTS (
    SELECT 1 FROM waves w LEFT JOIN campaigns c ON c.id = w.campaign_id
    WHERE w.ramp_id = r.id AND (w.closed IS NULL OR c.open_attempt IS NOT NULL
        OR (w.closed = 'discarded' AND c.state IN ('scheduled', 'unknown')))))
ORDER BY r.slug

-- name: mailed_before
-- Ramps that mailed anybody of this audience, or may have, or are about to: its own, and those of others that share a
-- person with it, found by the identity of each that they hold, up to the first. A wave that was written off counts
-- while a draft of it isn't proven to be unsendable, or is known to have gone.
SELECT r.slug FROM ramps r
WHERE EXISTS (SELECT 1 FROM waves w WHERE w.ramp_id = r.id
    AND (w.closed IS NULL OR w.closed IN ('sent', 'sent_late') OR EXISTS (
        SELECT 1 FROM remote_campaigns d
        WHERE d.campaign_id = w.campaign_id AND d.remote_id IS NOT NULL AND (d.retired_at IS NULL OR d.went = 1)))
    AND (r.audience_id = :audience_id OR EXISTS (
        SELECT 1 FROM assignments a JOIN contacts x ON x.id = a.contact_id
        JOIN contacts c ON c.audience_id = :audience_id AND c.identity = x.identity
        WHERE a.wave_id = w.id AND a.status IN ('assigned', 'in_segment'))))
ORDER BY r.slug

-- name: pause
-- Its own fact alone; it serialises with a wave's intent, which updates the same row.
UPDATE ramps SET paused_at = now_ms() WHERE id = :id AND paused_at IS NULL AND ended IS NULL

-- name: resume
-- Its own fact alone, and only while no other stands.
UPDATE ramps SET paused_at = NULL
WHERE id = :id AND paused_at IS NOT NULL AND ended IS NULL AND gate_tripped_at IS NULL AND needs_operator IS NULL

-- name: end
-- Once; it serialises with a wave's intent.
UPDATE ramps SET ended = :how, ended_at = now_ms() WHERE id = :id AND ended IS NULL

-- name: trip
-- The first figures that tripped it stay until somebody clears them; a tripped ramp is paused, too, so that clearing
-- alone starts nothing.
UPDATE ramps SET gate_tripped_at = now_ms(), gate_tripped = :figures, paused_at = coalesce(paused_at, now_ms())
WHERE id = :id AND gate_tripped_at IS NULL AND ended IS NULL

-- name: clear_gate
-- Its own fact alone, as it was looked at.
UPDATE ramps SET gate_tripped_at = NULL, gate_tripped = NULL, total_waived = :total_waived
WHERE id = :id AND gate_tripped_at = :tripped_at

-- name: need_operator
-- The first reason stays until somebody, or a proof, clears it.
UPDATE ramps SET needs_operator = :reason, needs_operator_at = now_ms()
WHERE id = :id AND needs_operator IS NULL AND ended IS NULL

-- name: operator_done
-- Its own fact alone, and only the reason that was looked at.
UPDATE ramps SET needs_operator = NULL, needs_operator_at = NULL WHERE id = :id AND needs_operator = :reason

-- name: set_plan
-- Thresholds may change; the rest of the plan is what was agreed at the start.
UPDATE ramps SET plan = :plan WHERE id = :id AND ended IS NULL

-- name: allow
-- The intent of a wave's delivery: none of the four facts stands, the wave is open under this run and not marked
-- failed. Updating the row serialises it with pause, abort and trip.
UPDATE ramps SET seed = seed
WHERE id = :ramp_id AND ended IS NULL AND paused_at IS NULL AND gate_tripped_at IS NULL AND needs_operator IS NULL
    AND EXISTS (SELECT 1 FROM waves w WHERE w.id = :wave_id AND w.ramp_id = ramps.id AND w.run_id = :run_id
        AND w.closed IS NULL AND w.failed IS NULL)

-- name: hold
-- Keeps the row until the transaction ends: whatever changes a ramp and its waves takes it first, so that two can't wait
-- for each other.
UPDATE ramps SET seed = seed WHERE id = :id

-- name: rotate
-- The next label is a fresh one.
UPDATE ramps SET label_offset = label_offset + 1 WHERE id = :id

-- name: without_tick
-- Ramps that tick by themselves and have no unfinished job for it.
SELECT r.id FROM ramps r
WHERE r.ended IS NULL AND r.cron IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.dedupe_key = 'ramp_tick:ramp:' || r.id
        AND j.state IN ('queued', 'claimed'))
ORDER BY r.id
LIMIT :most_literal

-- name: log
-- Append-only: every outcome of a tick, a step and a command.
INSERT INTO ramp_log (ramp_id, wave_id, outcome, actor, data, at)
VALUES (:ramp_id, :wave_id, :outcome, :actor, :data, now_ms())

-- name: log_of
-- Of one ramp, newest first; the page is bounded.
SELECT id, wave_id, outcome, actor, data, at FROM ramp_log WHERE ramp_id = :ramp_id
ORDER BY id DESC LIMIT :most_literal
