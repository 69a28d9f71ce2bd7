-- name: acquire
-- The key is the primary key, so there is one holder at most; a held row is taken only once its time is
-- over by the clock read after a wait for the row. Zero rows: somebody else holds it.
INSERT INTO locks (key, fence, holder, operation, actor, interrupted, acquired_at, held_until)
VALUES (:key, 1, :holder, :operation, :actor, NULL, now_ms(), now_ms() + :ttl_ms)
ON CONFLICT (key) DO UPDATE SET
    fence = locks.fence + 1,
    holder = :holder,
    interrupted = locks.operation,
    operation = :operation,
    actor = :actor,
    acquired_at = now_ms(),
    held_until = now_ms() + :ttl_ms
WHERE locks.held_until < now_ms()
RETURNING fence, interrupted

-- name: get
-- By key, for people and refusals; decides nothing.
SELECT key, fence, holder, operation, actor, acquired_at, held_until, now_ms() AS now
FROM locks WHERE key = :key

-- name: held
-- For people: what is held now or was left behind.
SELECT key, fence, holder, operation, actor, acquired_at, held_until, now_ms() AS now
FROM locks WHERE holder IS NOT NULL ORDER BY key

-- name: hold
-- Keeps the row from being taken over until this transaction ends: fence and holder are ours, and the lease
-- outlives what is about to be done by `need_ms`. With `acts` something is about to be asked of a provider, which
-- a copy of another installation never does.
UPDATE locks SET holder = holder
WHERE key = :key AND fence = :fence AND holder = :holder AND held_until >= now_ms() + :need_ms
    AND (:acts = 0 OR NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL))

-- name: renew
-- Only a live lease is renewed, and only by its owner.
UPDATE locks SET held_until = now_ms() + :ttl_ms
WHERE key = :key AND fence = :fence AND holder = :holder AND held_until > now_ms()

-- name: release
-- Fence and holder are ours: a process that ran past its expiry can't free what somebody else holds now.
UPDATE locks SET holder = NULL, operation = NULL, actor = NULL, held_until = 0
WHERE key = :key AND fence = :fence AND holder = :holder

-- name: free
-- By an administrator, who has seen this fence: only an expired lease, or one held further ahead than any lease
-- lasts (a clock jumped). Its operation stays, so that the next holder learns what was interrupted.
UPDATE locks SET holder = NULL, actor = NULL, held_until = 0, fence = fence + 1
WHERE key = :key AND fence = :fence AND holder IS NOT NULL
    AND (held_until < now_ms() OR held_until > now_ms() + :ttl_ms)
