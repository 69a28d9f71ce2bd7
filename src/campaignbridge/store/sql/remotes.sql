-- name: begin
-- Born with the create's intent, without a remote id; a later create of the same generation finds it here.
INSERT INTO remote_campaigns (campaign_id, generation, account)
VALUES (:campaign_id, :generation, :account)
ON CONFLICT (campaign_id, generation) DO NOTHING

-- name: identify
-- Identity never changes within a generation.
UPDATE remote_campaigns
SET remote_id = :remote_id, content_pending = :content_pending, observed_status = :status,
    raw_status = :status, observed_at = now_ms(), reconciled_at = now_ms(),
    negative_attempt = NULL, negative_verdict = NULL, negative_answered_at = NULL,
    went = CASE WHEN :went = 1 THEN 1 ELSE went END
WHERE campaign_id = :campaign_id AND generation = :generation
    AND (remote_id IS NULL OR remote_id = :remote_id)

-- name: start_writing
-- From here until the settle window after it, an upload of ours may still land. The lock is ours for as long
-- as the upload may take; an earlier upload that may land even later keeps its time. A paused copy uploads nothing.
UPDATE remote_campaigns
SET writing_until = CASE WHEN writing_until > now_ms() + :limit_ms THEN writing_until ELSE now_ms() + :limit_ms END
WHERE campaign_id = :campaign_id AND generation = :generation
    AND EXISTS (SELECT 1 FROM locks WHERE key = :key AND fence = :fence AND holder = :holder
        AND held_until >= now_ms() + :need_ms)
    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)
RETURNING writing_until

-- name: stop_writing
-- A definite answer came to the upload that was announced with this very time; if somebody has announced
-- another one since, that one stays announced. What is left is an earlier upload that may still land, if any.
UPDATE remote_campaigns
SET writing_until = CAST(:earlier AS bigint),
    content_pending = CASE WHEN :synced = 1 THEN 0 ELSE content_pending END
WHERE campaign_id = :campaign_id AND generation = :generation AND writing_until = :writing_until

-- name: observe
-- What was read, by the owner of the lock; `went` only ever rises. The first of several readings with the
-- same verdict for the same attempt keeps its time.
UPDATE remote_campaigns
SET observed_status = :status, raw_status = :raw_status, recipient_count = :recipient_count,
    emails_sent = :emails_sent, observed_at = now_ms(),
    reconciled_at = CASE WHEN :reconciled = 1 THEN now_ms() ELSE NULL END,
    went = CASE WHEN :went = 1 THEN 1 ELSE went END,
    negative_answered_at = CASE
        WHEN CAST(:negative_verdict AS text) IS NULL THEN NULL
        WHEN negative_verdict = :negative_verdict
            AND coalesce(negative_attempt, '') = coalesce(:negative_attempt, '') THEN negative_answered_at
        ELSE now_ms() END,
    negative_attempt = :negative_attempt, negative_verdict = :negative_verdict,
    absent_at = :absent_at
WHERE campaign_id = :campaign_id AND generation = :generation

-- name: accepted
-- An accepted request: what the provider must say from now on.
UPDATE remote_campaigns
SET observed_status = :status, observed_at = now_ms(),
    went = CASE WHEN :went = 1 THEN 1 ELSE went END,
    negative_attempt = NULL, negative_verdict = NULL, negative_answered_at = NULL, absent_at = NULL
WHERE campaign_id = :campaign_id AND generation = :generation

-- name: absent
-- A request that did nothing, by all we know: readings are due an hour and a day later, in case it comes late.
-- Without `fresh` an earlier one's time stays.
UPDATE remote_campaigns SET absent_at = CASE WHEN :fresh = 1 THEN now_ms() ELSE absent_at END
WHERE campaign_id = :campaign_id AND generation = :generation
RETURNING absent_at, now_ms() AS now

-- name: counted
-- By the owner of the lock, just before the draft is read back for a delivery.
UPDATE remote_campaigns SET recipient_count = :recipients
WHERE campaign_id = :campaign_id AND generation = :generation

-- name: start_retiring
-- As `start_writing`: the lock is ours for as long as the call may take, and a paused copy retires nothing. It is
-- never sent from here on, whatever comes of the call.
UPDATE remote_campaigns
SET writing_until = CASE WHEN writing_until > now_ms() + :limit_ms THEN writing_until ELSE now_ms() + :limit_ms END,
    retiring_at = coalesce(retiring_at, now_ms())
WHERE campaign_id = :campaign_id AND generation = :generation
    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)
    AND EXISTS (SELECT 1 FROM locks WHERE key = :key AND fence = :fence AND holder = :holder
        AND held_until >= now_ms() + :need_ms)
RETURNING writing_until

-- name: retired
-- By the owner of the lock, after a definite answer. What is known to have gone is never retired.
UPDATE remote_campaigns SET retired_at = now_ms(), retiring_at = coalesce(retiring_at, now_ms())
WHERE campaign_id = :campaign_id AND generation = :generation AND retired_at IS NULL AND went = 0

-- name: spend
-- A send or schedule of it was settled as not applied; a provider with `retire` gets a new draft instead.
UPDATE remote_campaigns SET spent = 1 WHERE campaign_id = :campaign_id AND generation = :generation
