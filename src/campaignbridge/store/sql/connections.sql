-- name: add
-- Labels are unique: zero rows, it is taken.
INSERT INTO connections (id, provider, label, base_url, key_env, created_at)
VALUES (:id, :provider, :label, :base_url, :key_env, now_ms())
ON CONFLICT DO NOTHING

-- name: find
-- By id or label; both are unique, and an id never looks like a label's own.
SELECT id, provider, label, account, account_label, base_url, key_env, verified_at, refused_at, refused_code
FROM connections WHERE id = :ref OR label = :ref

-- name: all
-- For people.
SELECT id, provider, label, account, account_label, base_url, key_env, verified_at, refused_at, refused_code
FROM connections ORDER BY label

-- name: verified
-- The account is set once: a key of another account changes nothing.
UPDATE connections
SET account = :account, account_label = :account_label, verified_at = now_ms(),
    refused_at = NULL, refused_code = NULL
WHERE id = :id AND (account IS NULL OR account = :account)

-- name: refused
-- Remembers since when; a later refusal doesn't move it.
UPDATE connections SET refused_at = coalesce(refused_at, now_ms()), refused_code = :code
WHERE id = :id
