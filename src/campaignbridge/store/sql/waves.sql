-- name: claim
-- Before any side effect: the ramp is active, its current tier is the one that was expected, no wave is open. Two
-- unique indexes stand behind it. Zero rows: somebody else claimed, or something changed.
INSERT INTO waves (id, ramp_id, tier, label, run_id, step, requested, since, opened_at, activity_at)
SELECT :id, r.id, CAST(:tier AS bigint), :label, :run_id, 'picking', :requested, r.created_at, now_ms(), now_ms()
FROM ramps r
WHERE r.id = :ramp_id AND r.ended IS NULL AND r.paused_at IS NULL AND r.gate_tripped_at IS NULL
    AND r.needs_operator IS NULL
    AND coalesce((SELECT max(w.tier) FROM waves w WHERE w.ramp_id = r.id AND w.closed = 'sent'), -1)
        = CAST(:tier AS bigint) - 1
    AND NOT EXISTS (SELECT 1 FROM waves w WHERE w.ramp_id = r.id AND w.closed IS NULL)
ON CONFLICT DO NOTHING

-- name: by_hand
-- A wave that went before the ramp began, or by other means: it has its own mark and no tier.
INSERT INTO waves (id, ramp_id, tier, label, run_id, step, closed, requested, by_hand, broadcast_id, sent_at,
    since, opened_at, activity_at, closed_at)
VALUES (:id, :ramp_id, NULL, :label, :run_id, 'looked', 'sent', :requested, 1, :broadcast_id, :sent_at, now_ms(),
    now_ms(), now_ms(), now_ms())
ON CONFLICT DO NOTHING

-- name: of_ramp
-- A ramp has few waves.
SELECT id, ramp_id, tier, label, run_id, step, failed, closed, requested, picked, underfilled_by, since,
    asked_at, segment_id, exported_at, pushing_until, verified, campaign_id, by_hand, broadcast_id, sent_at, verdict, delivered, bounced,
    complained, figures_at, waived, opened_at, activity_at, closed_at, now_ms() AS now
FROM waves WHERE ramp_id = :ramp_id ORDER BY opened_at, id

-- name: get
-- By key.
SELECT id, ramp_id, tier, label, run_id, step, failed, closed, requested, picked, underfilled_by, since,
    asked_at, segment_id, exported_at, pushing_until, verified, campaign_id, by_hand, broadcast_id, sent_at, verdict, delivered, bounced,
    complained, figures_at, waived, opened_at, activity_at, closed_at, now_ms() AS now
FROM waves WHERE id = :id

-- name: hold_job
-- Every write of a step repeats its job's fence and holder, and keeps the row from being taken over until the
-- transaction ends. In a copy that nobody has adopted no step goes on, not even one that was claimed when it was made.
UPDATE jobs SET holder = holder
WHERE id = :job_id AND fence = :fence AND holder = :holder AND state = 'claimed'
    AND lease_until >= now_ms() + :need_ms
    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)

-- name: is_of_run
-- Read after the ramp's row is ours, so that nobody displaces the run, or closes the wave, before the transaction ends.
SELECT id FROM waves WHERE id = :id AND run_id = :run_id AND closed IS NULL

-- name: advance
-- A step is done: the wave is open, under this run, and where the step began.
UPDATE waves
SET step = :step, activity_at = now_ms(), picked = coalesce(CAST(:picked AS bigint), picked),
    segment_id = coalesce(CAST(:segment_id AS text), segment_id),
    verified = coalesce(CAST(:verified AS bigint), verified),
    campaign_id = coalesce(CAST(:campaign_id AS text), campaign_id)
WHERE id = :id AND run_id = :run_id AND closed IS NULL AND failed IS NULL AND step = :from_step

-- name: ask
-- A marker, stored before the segment is asked for: from now on something of the wave may exist elsewhere.
UPDATE waves SET asked_at = coalesce(asked_at, now_ms()), activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL AND failed IS NULL

-- name: keep_segment
-- A marker of what was found there: whatever becomes of the run, it exists, with people of ours in it, and is as old
-- as it says.
UPDATE waves SET segment_id = :segment_id, exported_at = coalesce(exported_at, now_ms()),
    since = CASE WHEN CAST(:since AS bigint) < since THEN :since ELSE since END, activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL

-- name: start_push
-- A marker, stored before the first contact leaves: from now on our people may be in the segment, and a push without
-- an answer may land until then.
UPDATE waves SET exported_at = coalesce(exported_at, now_ms()), pushing_until = now_ms() + :limit_ms,
    activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL AND failed IS NULL
RETURNING pushing_until

-- name: stop_push
-- A definite answer: nothing of it can land any more. Only the announcement that was made for it is taken back; an
-- older push without an answer keeps its own.
UPDATE waves SET pushing_until = CAST(:earlier AS bigint), activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND pushing_until = :until

-- name: fail
-- A mark on an open wave: it still holds its ramp.
UPDATE waves SET failed = :reason, activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL AND failed IS NULL

-- name: discard
-- Not mailed, and nothing of it unresolved: its campaign, if any, never was asked to go.
UPDATE waves SET closed = 'discarded', closed_at = now_ms(), activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = waves.campaign_id
        AND (c.open_attempt IS NOT NULL OR c.state IN ('scheduled', 'sending', 'sent', 'unknown')))

-- name: finish_by_hand
-- A person says that it went out: with its broadcast and time. No request of ours is open.
UPDATE waves SET closed = 'sent', by_hand = 1, failed = NULL, broadcast_id = :broadcast_id, sent_at = :sent_at,
    verified = :mailed, closed_at = now_ms(), activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = waves.campaign_id AND c.open_attempt IS NOT NULL)

-- name: displace
-- Another run goes on with the same wave; every write of the former one touches zero rows from now on. It looks at
-- the segment once more before it sends.
UPDATE waves SET run_id = :fresh_run, failed = NULL, activity_at = now_ms(),
    step = CASE step WHEN 'looked' THEN 'draft_ready' ELSE step END,
    underfilled_by = coalesce(CAST(:underfilled_by AS text), underfilled_by)
WHERE id = :id AND run_id = :run_id AND closed IS NULL

-- name: reopen
-- From the start, under another run: only while there is no marker of anything outside this store. Whoever agreed to
-- too few people agreed to others.
UPDATE waves SET run_id = :fresh_run, failed = NULL, step = 'picking', picked = 0, underfilled_by = NULL,
    activity_at = now_ms()
WHERE id = :id AND run_id = :run_id AND closed IS NULL AND asked_at IS NULL AND segment_id IS NULL
    AND exported_at IS NULL AND campaign_id IS NULL

-- name: judged
-- Figures only ever rise.
UPDATE waves
SET verdict = :verdict, figures_at = now_ms(),
    delivered = CASE WHEN :delivered > delivered THEN :delivered ELSE delivered END,
    bounced = CASE WHEN :bounced > bounced THEN :bounced ELSE bounced END,
    complained = CASE WHEN :complained > complained THEN :complained ELSE complained END
WHERE id = :id AND closed IN ('sent', 'sent_late')

-- name: waive
-- A person goes on in spite of these figures, as they were looked at.
UPDATE waves SET waived = :waived, verdict = 'waived' WHERE id = :id AND closed IN ('sent', 'sent_late')

-- name: unattended
-- Open waves of active ramps that have no unfinished step job; found by the index of open waves. One whose campaign
-- moves by itself, or has an open request, is its watch's.
SELECT w.id, w.run_id FROM waves w JOIN ramps r ON r.id = w.ramp_id
WHERE w.closed IS NULL AND w.failed IS NULL AND r.ended IS NULL AND r.paused_at IS NULL
    AND r.gate_tripped_at IS NULL AND r.needs_operator IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.dedupe_key = 'wave_step:' || w.id || ':' || w.run_id
        AND j.state IN ('queued', 'claimed'))
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = w.campaign_id
        AND (c.open_attempt IS NOT NULL OR c.state IN ('scheduled', 'sending', 'sent', 'unknown')))
ORDER BY w.activity_at, w.id
LIMIT :most_literal
