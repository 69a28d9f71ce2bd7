-- name: add
-- Append-only.
INSERT INTO audit_events (campaign_id, kind, actor, automatic, version, attempt_id, data, at)
VALUES (:campaign_id, :kind, :actor, :automatic, :version, :attempt_id, :data, now_ms())

-- name: of_campaign
-- Oldest first, as they happened; the page is bounded.
SELECT id, campaign_id, kind, actor, automatic, version, attempt_id, data, at
FROM audit_events WHERE campaign_id = :campaign_id ORDER BY id LIMIT :most
