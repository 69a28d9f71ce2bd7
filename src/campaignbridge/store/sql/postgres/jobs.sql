-- name: claim
-- As in the shared text; rows that another worker is claiming are skipped, and the predicate is restated.
WITH expired AS MATERIALIZED (
    SELECT id FROM jobs WHERE state = 'claimed' AND lease_until < (SELECT now_ms())
    ORDER BY CASE WHEN attempts < max_attempts THEN 0 ELSE 1 END, lease_until, id
    LIMIT 1 FOR UPDATE SKIP LOCKED
), due AS MATERIALIZED (
    SELECT id FROM jobs WHERE state = 'queued' AND run_at <= (SELECT now_ms())
        AND NOT EXISTS (SELECT 1 FROM expired)
    ORDER BY run_at, id LIMIT :batch_literal FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET state = 'claimed', fence = fence + 1, holder = :holder, lease_until = now_ms() + :lease_ms,
    taken_over = CASE WHEN state = 'claimed' THEN 1 ELSE 0 END,
    exhausted = CASE WHEN state = 'claimed' AND attempts >= max_attempts THEN 1 ELSE 0 END,
    attempts = CASE WHEN attempts < max_attempts THEN attempts + 1 ELSE attempts END,
    updated_at = now_ms()
WHERE id IN (SELECT id FROM expired UNION ALL SELECT id FROM due)
    AND (state = 'queued' OR (state = 'claimed' AND lease_until < now_ms()))
    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)
RETURNING id, type, target, payload, attempts, max_attempts, run_at, fence, holder, started_at, taken_over,
    exhausted
