-- name: get
-- By key; what was never read has no row.
SELECT items, complete, refreshed_at, failed_at, failed_code, now_ms() AS now
FROM discoveries WHERE account = :account AND kind = :kind AND scope = :scope

-- name: now
-- For what was never read.
SELECT now_ms() AS now

-- name: put
-- By key; whoever writes holds the listing's lock until this transaction ends.
INSERT INTO discoveries (account, kind, scope, items, complete, refreshed_at)
VALUES (:account, :kind, :scope, :items, :complete, now_ms())
ON CONFLICT (account, kind, scope) DO UPDATE SET
    items = :items,
    complete = :complete,
    refreshed_at = now_ms(),
    failed_at = NULL,
    failed_code = NULL

-- name: failed
-- By key; the previous listing stays, and says that it is stale.
INSERT INTO discoveries (account, kind, scope, items, complete, failed_at, failed_code)
VALUES (:account, :kind, :scope, '[]', 0, now_ms(), :code)
ON CONFLICT (account, kind, scope) DO UPDATE SET failed_at = now_ms(), failed_code = :code

-- name: content_and_fields
-- A campaign's present content and the merge fields of its list, in one look: (campaign, revision) and
-- (account, kind, scope) are keys.
SELECT s.campaign_id, s.revision, s.subject, s.preview_text, s.from_name, s.from_email, s.reply_to, s.html,
    s.text, s.fingerprint, s.created_at, s.created_by,
    d.items, d.complete, d.refreshed_at, d.failed_at, d.failed_code, now_ms() AS now
FROM snapshots s
LEFT JOIN discoveries d ON d.account = :account AND d.kind = 'merge_fields' AND d.scope = :scope
WHERE s.campaign_id = :campaign_id AND s.revision = :revision

-- name: put_audience
-- By key; the newest reading stays.
INSERT INTO audience_readings (account, audience, name, contacts, read_at)
VALUES (:account, :audience, :name, :contacts, now_ms())
ON CONFLICT (account, audience) DO UPDATE SET name = :name, contacts = :contacts, read_at = now_ms()

-- name: audience
-- By key.
SELECT name, contacts, read_at FROM audience_readings WHERE account = :account AND audience = :audience
