-- name: insert
-- Unique are (campaign, operation, key) and one unresolved attempt for each campaign, tests apart: zero rows,
-- one of them stands already.
INSERT INTO attempts (id, campaign_id, operation, key, request_hash, status, account, generation, remote_id,
    from_state, deadline_at, schedule_at, actor, created_at)
VALUES (:id, :campaign_id, :operation, :key, :request_hash, 'pending', :account, :generation, :remote_id,
    :from_state, now_ms() + :deadline_ms, :schedule_at, :actor, now_ms())
ON CONFLICT DO NOTHING
RETURNING deadline_at

-- name: adopted
-- A remote campaign that was found instead of made: a create that succeeded without a request.
INSERT INTO attempts (id, campaign_id, operation, key, request_hash, status, account, generation, remote_id,
    from_state, deadline_at, actor, created_at, answered_at, settled_at, error_code)
VALUES (:id, :campaign_id, 'create', :key, :request_hash, 'succeeded', :account, :generation, :remote_id,
    :from_state, now_ms(), :actor, now_ms(), NULL, now_ms(), 'adopted')
ON CONFLICT DO NOTHING

-- name: get
-- By key.
SELECT id, campaign_id, operation, key, request_hash, status, retryable, account, generation, remote_id,
    from_state, deadline_at, schedule_at, actor, created_at, answered_at, settled_at, error_code
FROM attempts WHERE id = :id

-- name: replay
-- The request that this key named before, if any.
SELECT id, campaign_id, operation, key, request_hash, status, retryable, account, generation, remote_id,
    from_state, deadline_at, schedule_at, actor, created_at, answered_at, settled_at, error_code
FROM attempts WHERE campaign_id = :campaign_id AND operation = :operation AND key = :key

-- name: of_campaign
-- A campaign has few.
SELECT id, campaign_id, operation, key, request_hash, status, retryable, account, generation, remote_id,
    from_state, deadline_at, schedule_at, actor, created_at, answered_at, settled_at, error_code
FROM attempts WHERE campaign_id = :campaign_id ORDER BY created_at, id

-- name: settle
-- A settled attempt never changes; an answer counts while it is pending or unknown, lease or not. One that
-- told nothing is recorded once.
UPDATE attempts
SET status = :status, retryable = :retryable, error_code = :error_code,
    remote_id = coalesce(remote_id, :remote_id),
    answered_at = CASE WHEN :answered = 1 THEN now_ms() ELSE answered_at END,
    settled_at = CASE WHEN :status IN ('succeeded', 'failed') THEN now_ms() ELSE NULL END
WHERE id = :id AND status IN ('pending', 'unknown') AND (:status <> 'unknown' OR answered_at IS NULL)

-- name: tests_lately
-- How many tests of a campaign were asked for in the last day, whatever came of them.
SELECT count(*) AS n FROM attempts
WHERE campaign_id = :campaign_id AND operation = 'test' AND created_at > now_ms() - :within_ms
