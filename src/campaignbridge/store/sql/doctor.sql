-- name: reach
-- Any answer will do; nothing of the schema is needed.
SELECT 1 AS answer

-- name: integrity
-- Reads every page; the first complaint is enough. 'ok' when there is none.
SELECT quick_check AS finding FROM pragma_quick_check(1)

-- name: standby
-- A single file has no second copy of its own.
SELECT '' AS names, 0 AS synchronous, 'on' AS durable

-- name: waiting
-- The campaigns of a connection that can't go on without its key.
SELECT count(*) AS n FROM campaigns
WHERE connection_id = :connection_id AND state <> 'archived'
    AND (look_at IS NOT NULL OR open_attempt IS NOT NULL
        OR stopped_reason IN ('credential_refused', 'other_account'))

-- name: need_person
-- What has waited longest for a person, and how much there is, counted to a bound; no row when there is nothing.
SELECT kind, target, reason, since, now_ms() AS now,
    (SELECT count(*) FROM (SELECT 1 FROM needs LIMIT 10001) AS counted) AS n,
    (SELECT count(DISTINCT target) FROM needs WHERE kind = 'ramp') AS ramps
FROM needs ORDER BY since, kind, target, reason LIMIT 1

-- name: unresolved
-- The oldest unresolved request, and how many are older than an hour and a day; no row when there is none. Tests
-- reach nobody but the tester.
SELECT campaign_id, created_at, count(*) OVER () AS n, now_ms() AS now,
    sum(CASE WHEN created_at < now_ms() - 3600000 THEN 1 ELSE 0 END) OVER () AS over_hour,
    sum(CASE WHEN created_at < now_ms() - 86400000 THEN 1 ELSE 0 END) OVER () AS over_day
FROM attempts WHERE status IN ('pending', 'unknown') AND operation <> 'test'
ORDER BY created_at, id LIMIT 1
