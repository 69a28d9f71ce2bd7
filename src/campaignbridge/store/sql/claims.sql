-- name: take
-- One campaign at a time sends one content to one audience. The row says for itself until when it is held,
-- so that the check reads what a racing twin has just committed. `after` lifts it for one named campaign.
INSERT INTO content_claims (account, audience, fingerprint, campaign_id, attempt_id, until)
VALUES (:account, :audience, :fingerprint, :campaign_id, :attempt_id, :until)
ON CONFLICT (account, audience, fingerprint) DO UPDATE
SET campaign_id = :campaign_id, attempt_id = :attempt_id, until = :until
WHERE content_claims.until < now_ms() OR content_claims.campaign_id IN (:campaign_id, :after)

-- name: keep_until
-- By the campaign that holds it: nothing was sent (now), or it went out (30 days more).
UPDATE content_claims SET until = now_ms() + :keep_ms
WHERE campaign_id = :campaign_id

-- name: twin_on_its_way
-- Another campaign with the content that this one holds, that is on its way or went lately without a claim.
SELECT c.id, CASE WHEN c.state IN ('sent', 'failed', 'cancelled') THEN c.state_changed_at END AS over_at
FROM content_claims h
JOIN connections k ON k.account = h.account
JOIN campaigns c ON c.connection_id = k.id AND c.audience = h.audience
    AND c.approved_fingerprint = h.fingerprint AND c.id <> h.campaign_id
WHERE h.campaign_id = :campaign_id
    AND (c.state IN ('scheduled', 'sending', 'unknown')
        OR (c.state IN ('sent', 'failed', 'cancelled') AND c.state_changed_at > now_ms() - :keep_ms))
ORDER BY over_at DESC, c.id
LIMIT 1

-- name: hand_over
-- By the campaign that holds it, to the twin that was found on its way.
UPDATE content_claims SET campaign_id = :twin_id, attempt_id = '', until = :until
WHERE campaign_id = :campaign_id
