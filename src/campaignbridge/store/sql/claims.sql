-- name: take
-- One campaign at a time sends one content to one audience. The row says for itself until when it is held,
-- so that the check reads what a racing twin has just committed. `after` lifts it for one named campaign.
INSERT INTO content_claims (account, audience, fingerprint, campaign_id, attempt_id, until)
VALUES (:account, :audience, :fingerprint, :campaign_id, :attempt_id, :until)
ON CONFLICT (account, audience, fingerprint) DO UPDATE
SET campaign_id = :campaign_id, attempt_id = :attempt_id, until = :until
WHERE content_claims.until < now_ms() OR content_claims.campaign_id = :campaign_id

-- name: keep_until
-- By the campaign that holds it: nothing was sent (now), or it went out (30 days more).
UPDATE content_claims SET until = now_ms() + :keep_ms
WHERE campaign_id = :campaign_id
