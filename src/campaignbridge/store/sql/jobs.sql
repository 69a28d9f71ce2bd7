-- name: enqueue
-- Insert, or find the unfinished job with this dedupe key: it takes the earlier time, and a claimed one
-- remembers the wish in rerun_at. The duplicate's payload is dropped.
INSERT INTO jobs (id, type, target, dedupe_key, payload, state, max_attempts, run_at, created_at, updated_at)
VALUES (:id, :type, :target, :dedupe_key, :payload, 'queued', :max_attempts,
    coalesce(CAST(:run_at AS bigint), now_ms() + :delay_ms), now_ms(), now_ms())
ON CONFLICT (dedupe_key) WHERE state IN ('queued', 'claimed') DO UPDATE
SET run_at = CASE WHEN jobs.state = 'queued' AND excluded.run_at < jobs.run_at
        THEN excluded.run_at ELSE jobs.run_at END,
    rerun_at = CASE
        WHEN jobs.state = 'queued' THEN jobs.rerun_at
        WHEN jobs.rerun_at IS NULL OR excluded.run_at < jobs.rerun_at THEN excluded.run_at
        ELSE jobs.rerun_at END,
    updated_at = now_ms()
RETURNING id

-- name: claim
-- One expired lease alone (so that a job that kills its worker uses up nobody else's attempts), else what
-- is due. What was taken over on its last attempt is only to be ended: no attempt is counted. A paused copy works
-- on nothing.
UPDATE jobs
SET state = 'claimed', fence = fence + 1, holder = :holder, lease_until = now_ms() + :lease_ms,
    taken_over = CASE WHEN state = 'claimed' THEN 1 ELSE 0 END,
    exhausted = CASE WHEN state = 'claimed' AND attempts >= max_attempts THEN 1 ELSE 0 END,
    attempts = CASE WHEN attempts < max_attempts THEN attempts + 1 ELSE attempts END,
    updated_at = now_ms()
WHERE id IN (
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'claimed' AND lease_until < (SELECT now_ms())
        ORDER BY CASE WHEN attempts < max_attempts THEN 0 ELSE 1 END, lease_until, id LIMIT 1
    )
    UNION ALL
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'queued' AND run_at <= (SELECT now_ms())
            AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'claimed' AND lease_until < (SELECT now_ms()))
        ORDER BY run_at, id LIMIT :batch_literal
    )
)
    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)
RETURNING id, type, target, payload, attempts, max_attempts, run_at, fence, holder, started_at, taken_over,
    exhausted

-- name: renew_all
-- The heartbeat: one statement for all of a worker's jobs; only live leases, only its own, and only what it
-- still has in hand: a job that it gave up (the store was gone when it wanted to finish) must run out.
UPDATE jobs SET lease_until = now_ms() + :lease_ms, updated_at = now_ms()
WHERE state = 'claimed' AND holder = :holder AND lease_until > now_ms()
    AND replace(:in_hand, ',' || id || ':' || fence || ',', '') <> :in_hand
RETURNING id, fence

-- name: renew
-- Before a job starts: its lease is still live and ours.
UPDATE jobs SET lease_until = now_ms() + :lease_ms, updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder AND lease_until > now_ms()

-- name: start
-- The started mark of a handler that isn't retry-safe: from here on nobody runs it again. Live and ours.
UPDATE jobs SET started_at = now_ms(), lease_until = now_ms() + :lease_ms, updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder AND lease_until > now_ms()
    AND started_at IS NULL

-- name: finish
-- Done: succeeded, or queued again when somebody wished for it meanwhile. Fence and holder are ours; the
-- lease may be over, since what was done and not taken over is recorded.
UPDATE jobs
SET state = CASE WHEN rerun_at IS NULL THEN 'succeeded' ELSE 'queued' END,
    run_at = coalesce(rerun_at, run_at), rerun_at = NULL,
    attempts = CASE WHEN rerun_at IS NULL THEN attempts ELSE 0 END,
    finished_at = CASE WHEN rerun_at IS NULL THEN now_ms() ELSE NULL END,
    lease_until = NULL, started_at = NULL, taken_over = 0, exhausted = 0, last_error = NULL,
    updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder

-- name: again
-- Back in the queue with its attempts reset, at the earlier of its own time and an enqueue's wish.
UPDATE jobs
SET state = 'queued', attempts = 0, payload = coalesce(:payload, payload),
    run_at = CASE WHEN rerun_at IS NOT NULL
            AND rerun_at < coalesce(CAST(:run_at AS bigint), now_ms() + :delay_ms) THEN rerun_at
        ELSE coalesce(CAST(:run_at AS bigint), now_ms() + :delay_ms) END,
    rerun_at = NULL, lease_until = NULL, started_at = NULL, taken_over = 0, exhausted = 0, last_error = NULL,
    updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder

-- name: retry
-- Back in the queue with its attempts kept; the worker has seen that some are left.
UPDATE jobs
SET state = 'queued',
    run_at = CASE WHEN rerun_at IS NOT NULL AND rerun_at < now_ms() + :delay_ms THEN rerun_at
        ELSE now_ms() + :delay_ms END,
    rerun_at = NULL, lease_until = NULL, started_at = NULL, taken_over = 0, exhausted = 0,
    last_error = :code, updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder

-- name: end
-- Failed or dead, for good.
UPDATE jobs
SET state = :state, finished_at = now_ms(), lease_until = NULL, last_error = :code, updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder
RETURNING rerun_at, dedupe_key, max_attempts

-- name: give_back
-- A claimed job that was never started goes back as if it had not been claimed. An exhausted one stays: in
-- the queue it would get one more run than it has attempts.
UPDATE jobs
SET state = 'queued', attempts = attempts - 1, lease_until = NULL, taken_over = 0, updated_at = now_ms()
WHERE id = :id AND state = 'claimed' AND fence = :fence AND holder = :holder AND started_at IS NULL
    AND exhausted = 0

-- name: purge
-- Ended jobs past their time, a bounded chunk of each kind. One index range for each kind, so that the rows
-- that are kept are never read.
DELETE FROM jobs WHERE id IN (
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'succeeded' AND finished_at < (SELECT now_ms()) - :keep_ms
        ORDER BY finished_at, id LIMIT :chunk_literal
    ) AS old_succeeded
    UNION ALL
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'failed' AND finished_at < (SELECT now_ms()) - :keep_failed_ms
        ORDER BY finished_at, id LIMIT :chunk_literal
    ) AS old_failed
    UNION ALL
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'dead' AND finished_at < (SELECT now_ms()) - :keep_failed_ms
        ORDER BY finished_at, id LIMIT :chunk_literal
    ) AS old_dead
)

-- name: requeue
-- By an administrator, who has checked that its handler is retry-safe: only an ended job whose key is free.
UPDATE jobs
SET state = 'queued', attempts = 0, run_at = now_ms(), rerun_at = NULL, finished_at = NULL,
    last_error = NULL, started_at = NULL, updated_at = now_ms()
WHERE id = :id AND state IN ('dead', 'failed')
    AND NOT EXISTS (SELECT 1 FROM jobs other WHERE other.dedupe_key = jobs.dedupe_key
        AND other.state IN ('queued', 'claimed'))

-- name: get
-- By key, for people: what it carries stays in the store.
SELECT id, type, target, dedupe_key, state, attempts, max_attempts, run_at, rerun_at, fence, holder,
    lease_until, started_at, taken_over, last_error, created_at, updated_at, finished_at, now_ms() AS now
FROM jobs WHERE id = :id

-- name: newest
-- For people; a bounded page by the primary key, since ids sort by when they were made.
SELECT id, type, target, state, attempts, max_attempts, run_at, holder, lease_until, last_error, created_at,
    finished_at, 0 AS place, now_ms() AS now
FROM jobs WHERE id < :after_id
ORDER BY id DESC LIMIT :most

-- name: queued
-- For people; a bounded page by the index of what is queued, the longest due first.
SELECT id, type, target, state, attempts, max_attempts, run_at, holder, lease_until, last_error, created_at,
    finished_at, run_at AS place, now_ms() AS now
FROM jobs WHERE state = 'queued' AND (run_at, id) > (CAST(:after_place AS bigint), :after_id)
ORDER BY run_at, id LIMIT :most

-- name: claimed
-- For people; a bounded page by the index of what is claimed, the first lease to end first.
SELECT id, type, target, state, attempts, max_attempts, run_at, holder, lease_until, last_error, created_at,
    finished_at, lease_until AS place, now_ms() AS now
FROM jobs WHERE state = 'claimed' AND (lease_until, id) > (CAST(:after_place AS bigint), :after_id)
ORDER BY lease_until, id LIMIT :most

-- name: ended
-- For people; a bounded page by the index of what ended in this state, the latest first.
SELECT id, type, target, state, attempts, max_attempts, run_at, holder, lease_until, last_error, created_at,
    finished_at, finished_at AS place, now_ms() AS now
FROM jobs WHERE state = :state AND finished_at IS NOT NULL
    AND (finished_at, id) < (CAST(:after_place AS bigint), :after_id)
ORDER BY finished_at DESC, id DESC LIMIT :most

-- name: figures
-- One row, whatever is in the table: each count goes by an index of its own and ends at `most`, since people
-- need no number beyond that.
SELECT now_ms() AS now,
    (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'queued'
        ORDER BY run_at, id LIMIT :most_literal) AS some_waiting) AS waiting,
    (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'claimed'
        ORDER BY lease_until, id LIMIT :most_literal) AS some_claimed) AS claimed,
    (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'claimed' AND lease_until < (SELECT now_ms())
        ORDER BY lease_until, id LIMIT :most_literal) AS some_stopped) AS stopped,
    (SELECT min(lease_until) FROM jobs WHERE state = 'claimed' AND lease_until < (SELECT now_ms())) AS stopped_since,
    (SELECT min(run_at) FROM jobs WHERE state = 'queued' AND run_at <= (SELECT now_ms())) AS due_since,
    (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'queued' AND run_at < (SELECT now_ms()) - :late_ms
        ORDER BY run_at, id LIMIT :most_literal) AS some_overdue) AS overdue,
    (SELECT max(finished_at) FROM jobs WHERE state = 'dead' AND finished_at IS NOT NULL) AS dead_at

-- name: ended_badly
-- The newest that were given up, counted by code; each kind goes by its index and ends at `most`.
SELECT state, last_error AS code, count(*) AS n FROM (
    SELECT state, last_error FROM (SELECT state, last_error FROM jobs WHERE state = 'dead'
        AND finished_at IS NOT NULL ORDER BY finished_at DESC, id DESC LIMIT :most_literal) AS newest_dead
    UNION ALL
    SELECT state, last_error FROM (SELECT state, last_error FROM jobs WHERE state = 'failed'
        AND finished_at IS NOT NULL ORDER BY finished_at DESC, id DESC LIMIT :most_literal) AS newest_failed
) AS ended
GROUP BY state, last_error ORDER BY n DESC, last_error LIMIT 100

-- name: enqueue_quietly
-- As `enqueue`, for many rows at once: nothing is returned.
INSERT INTO jobs (id, type, target, dedupe_key, payload, state, max_attempts, run_at, created_at, updated_at)
VALUES (:id, :type, :target, :dedupe_key, :payload, 'queued', :max_attempts,
    coalesce(CAST(:run_at AS bigint), now_ms() + :delay_ms), now_ms(), now_ms())
ON CONFLICT (dedupe_key) WHERE state IN ('queued', 'claimed') DO UPDATE
SET run_at = CASE WHEN jobs.state = 'queued' AND excluded.run_at < jobs.run_at
        THEN excluded.run_at ELSE jobs.run_at END,
    rerun_at = CASE
        WHEN jobs.state = 'queued' THEN jobs.rerun_at
        WHEN jobs.rerun_at IS NULL OR excluded.run_at < jobs.rerun_at THEN excluded.run_at
        ELSE jobs.rerun_at END,
    updated_at = now_ms()
