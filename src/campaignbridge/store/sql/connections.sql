-- name: add
-- Labels are unique: zero rows, it is taken.
INSERT INTO connections (id, provider, label, base_url, key_env, key_id, key_sealed, created_at)
VALUES (:id, :provider, :label, :base_url, :key_env, :key_id, :key_sealed, now_ms())
ON CONFLICT DO NOTHING

-- name: find
-- By id or label; both are unique, and an id never looks like a label's own.
SELECT c.id, c.provider, c.label, c.account, c.account_label, c.base_url, c.key_env, c.key_id, c.key_sealed,
    c.verified_at, c.refused_at, c.refused_code, c.disconnected_at, i.id AS installation
FROM connections c JOIN installation i ON i.one = 1
WHERE c.id = :ref OR c.label = :ref

-- name: all
-- For people.
SELECT c.id, c.provider, c.label, c.account, c.account_label, c.base_url, c.key_env, c.key_id, c.key_sealed,
    c.verified_at, c.refused_at, c.refused_code, c.disconnected_at, i.id AS installation
FROM connections c JOIN installation i ON i.one = 1
ORDER BY c.label

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

-- name: replace_key
-- Another key of the same account; it was read with this key just now. Whoever was disconnected is back.
UPDATE connections
SET key_env = :key_env, key_id = :key_id, key_sealed = :key_sealed, disconnected_at = NULL,
    account = :account, account_label = :account_label, verified_at = now_ms(),
    refused_at = NULL, refused_code = NULL
WHERE id = :id AND (account IS NULL OR account = :account)

-- name: reseal
-- The same key under a newer key of the ring, unless the key was replaced meanwhile.
UPDATE connections SET key_id = :key_id, key_sealed = :key_sealed
WHERE id = :id AND key_sealed = :sealed_before

-- name: moving
-- The campaigns that need the key: they move by themselves, or a request of theirs is unresolved.
SELECT id FROM campaigns
WHERE connection_id = :id
    AND (open_attempt IS NOT NULL OR look_at IS NOT NULL OR state IN ('scheduled', 'sending', 'unknown'))
ORDER BY created_at, id

-- name: disconnect
-- Forgets the key, and where it was. The same predicate as in `moving`, asked again by the change itself.
UPDATE connections
SET key_env = NULL, key_id = NULL, key_sealed = NULL, disconnected_at = coalesce(disconnected_at, now_ms())
WHERE id = :id AND NOT EXISTS (SELECT 1 FROM campaigns c
    WHERE c.connection_id = connections.id AND (c.open_attempt IS NOT NULL OR c.look_at IS NOT NULL
        OR c.state IN ('scheduled', 'sending', 'unknown')))
