-- name: open
-- One address for each connection. Zero rows: there is one already, and nobody said to replace it.
INSERT INTO webhook_endpoints (connection_id, secret_hash, made_at)
VALUES (:connection_id, :secret_hash, now_ms())
ON CONFLICT (connection_id) DO UPDATE
SET secret_hash = excluded.secret_hash, signing_key_id = NULL, signing_sealed = NULL, made_at = excluded.made_at
WHERE :replace = 1

-- name: endpoint
-- By key, with what verifying needs; the comparison of the secret is the caller's.
SELECT e.connection_id, e.secret_hash, e.signing_key_id, e.signing_sealed, e.made_at, e.heard_at,
    c.id, c.provider, c.label, c.account, c.account_label, c.base_url, c.key_env, c.key_id, c.key_sealed,
    c.verified_at, c.refused_at, c.refused_code, c.disconnected_at, i.id AS installation, now_ms() AS now
FROM webhook_endpoints e
JOIN connections c ON c.id = e.connection_id
JOIN installation i ON i.one = 1
WHERE e.connection_id = :connection_id

-- name: sign
-- From now on only signed events count; the address is the one that the caller has seen.
UPDATE webhook_endpoints SET signing_key_id = :key_id, signing_sealed = :sealed
WHERE connection_id = :connection_id AND secret_hash = :secret_hash

-- name: reseal
-- The same key under a newer key of the ring, unless it was replaced meanwhile.
UPDATE webhook_endpoints SET signing_key_id = :key_id, signing_sealed = :sealed
WHERE connection_id = :connection_id AND signing_sealed = :sealed_before

-- name: heard
-- For people, so at most once a minute: not one write for each event.
UPDATE webhook_endpoints SET heard_at = now_ms()
WHERE connection_id = :connection_id AND (heard_at IS NULL OR heard_at < now_ms() - 60000)

-- name: keep
-- The natural key is the primary key, so an event counts once however often it comes. It waits, or it was handled in
-- this very transaction. Zero rows: it is known, or too many are waiting already; the count reads no further than
-- the bound.
INSERT INTO webhook_events (connection_id, kind, audience, subject, fired_at, remote_id, status, verified,
    received_at, due_at, settled_at, outcome)
SELECT CAST(:connection_id AS text), CAST(:kind AS text), CAST(:audience AS text), CAST(:subject AS text),
    CAST(:fired_at AS bigint), CAST(:remote_id AS text), CAST(:status AS text), CAST(:verified AS bigint),
    now_ms(), CASE WHEN CAST(:outcome AS text) IS NULL THEN now_ms() END,
    CASE WHEN CAST(:outcome AS text) IS NOT NULL THEN now_ms() END, CAST(:outcome AS text)
WHERE CAST(:outcome AS text) IS NOT NULL OR (SELECT count(*) FROM (SELECT 1 FROM webhook_events w
        WHERE w.connection_id = :connection_id AND w.due_at IS NOT NULL AND w.parked = 0
        LIMIT :most) AS waiting) < :most
ON CONFLICT DO NOTHING

-- name: known
-- By the natural key.
SELECT 1 AS n FROM webhook_events
WHERE connection_id = :connection_id AND kind = :kind AND audience = :audience AND subject = :subject
    AND fired_at = :fired_at

-- name: due
-- What waits and is due, oldest first; the batch is bounded.
SELECT connection_id, kind, audience, subject, fired_at, remote_id, status, verified, received_at, parked
FROM webhook_events
WHERE connection_id = :connection_id AND due_at IS NOT NULL AND due_at <= (SELECT now_ms())
ORDER BY due_at LIMIT :most

-- name: match
-- Whose campaign a remote id is, with all that waking it depends on. An id belongs to an account: the event's own
-- comes first, then any that this store knows, to tell foreign from unknown. Finds by (account, remote_id).
SELECT r.campaign_id, r.generation, c.generation AS present, c.audience, c.state, c.stopped_reason, c.look_at,
    c.webhook_woken_at, now_ms() AS now,
    CASE WHEN r.account = k.account THEN 1 ELSE 0 END AS ours,
    CASE WHEN a.status = 'pending' OR l.holder IS NOT NULL THEN 1 ELSE 0 END AS busy
FROM remote_campaigns r
JOIN campaigns c ON c.id = r.campaign_id
JOIN connections k ON k.id = :connection_id
LEFT JOIN attempts a ON a.id = c.open_attempt
LEFT JOIN locks l ON l.key = 'campaign:' || c.id AND l.holder IS NOT NULL AND l.held_until > (SELECT now_ms())
WHERE r.remote_id = :remote_id AND r.account IN (SELECT account FROM connections WHERE account IS NOT NULL)
ORDER BY ours DESC LIMIT 1

-- name: wake
-- An event can only bring the next look forward. A finished campaign isn't woken, nor one that is being worked on:
-- a reading that has begun may be older than the event. A stop is cleared by a verified event only, and never one
-- of the connection: nobody asks with a refused key. No other event has woken it since it was looked at.
UPDATE campaigns SET look_at = :slot, webhook_woken_at = :slot, stopped_reason = NULL
WHERE id = :id AND state NOT IN ('sent', 'cancelled', 'archived')
    AND (look_at IS NULL OR look_at > :slot)
    AND coalesce(webhook_woken_at, 0) = :woken_before
    AND (stopped_reason IS NULL
        OR (:verified = 1 AND stopped_reason NOT IN ('credential_refused', 'other_account')))
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.id = campaigns.open_attempt AND a.status = 'pending')
    AND NOT EXISTS (SELECT 1 FROM locks l WHERE l.key = 'campaign:' || campaigns.id AND l.holder IS NOT NULL
        AND l.held_until > now_ms())

-- name: vouch
-- The provider signed that it was sent; that is never unlearnt. By key.
UPDATE remote_campaigns SET went = 1 WHERE campaign_id = :campaign_id AND generation = :generation AND went = 0

-- name: settle
-- An event is settled once: it still waits. By its key.
UPDATE webhook_events SET due_at = NULL, settled_at = now_ms(), outcome = :outcome
WHERE connection_id = :connection_id AND kind = :kind AND audience = :audience AND subject = :subject
    AND fired_at = :fired_at AND due_at IS NOT NULL

-- name: defer
-- It still waits, and is looked at again later. By its key.
UPDATE webhook_events SET due_at = now_ms() + :delay_ms
WHERE connection_id = :connection_id AND kind = :kind AND audience = :audience AND subject = :subject
    AND fired_at = :fired_at AND due_at IS NOT NULL

-- name: park
-- Nobody's campaign yet: it waits longer the older it is, a minute to an hour. By its key.
UPDATE webhook_events
SET parked = 1, due_at = now_ms() + CASE WHEN now_ms() - received_at < 60000 THEN 60000
    WHEN now_ms() - received_at > 3600000 THEN 3600000 ELSE now_ms() - received_at END
WHERE connection_id = :connection_id AND kind = :kind AND audience = :audience AND subject = :subject
    AND fired_at = :fired_at AND due_at IS NOT NULL AND received_at > now_ms() - :keep_ms

-- name: overflow
-- Beyond the newest that may be parked, the oldest are given up, a bounded number at a time.
UPDATE webhook_events SET due_at = NULL, settled_at = now_ms(), outcome = 'overflow'
WHERE (connection_id, kind, audience, subject, fired_at) IN (
    SELECT connection_id, kind, audience, subject, fired_at FROM webhook_events
    WHERE connection_id = :connection_id AND due_at IS NOT NULL AND parked = 1
    ORDER BY received_at DESC LIMIT :chunk_literal OFFSET :most_literal)

-- name: purge
-- Settled events past their time: a provider that repeats one even later costs one more read. A bounded chunk.
DELETE FROM webhook_events
WHERE (connection_id, kind, audience, subject, fired_at) IN (
    SELECT connection_id, kind, audience, subject, fired_at FROM webhook_events
    WHERE connection_id = :connection_id AND settled_at IS NOT NULL
        AND settled_at <= (SELECT now_ms()) - :keep_ms
    ORDER BY settled_at LIMIT :chunk_literal)

-- name: trim
-- Beyond the newest that are kept, settled events go before their time, a bounded number at a time.
DELETE FROM webhook_events
WHERE (connection_id, kind, audience, subject, fired_at) IN (
    SELECT connection_id, kind, audience, subject, fired_at FROM webhook_events
    WHERE connection_id = :connection_id AND settled_at IS NOT NULL
    ORDER BY settled_at DESC LIMIT :chunk_literal OFFSET :most_literal)

-- name: next_at
-- When there is something to do again: the next event that is due, or the oldest settled one past its time.
SELECT min(at) AS at FROM (
    SELECT min(due_at) AS at FROM webhook_events WHERE connection_id = :connection_id AND due_at IS NOT NULL
    UNION ALL
    SELECT min(settled_at) + :keep_ms AS at FROM webhook_events
    WHERE connection_id = :connection_id AND settled_at IS NOT NULL) AS both_kinds

-- name: told_of
-- A verified event of this remote campaign says that it went, that mails of it came to something, or that somebody
-- left on its account. By its index.
SELECT 1 AS one FROM webhook_events
WHERE connection_id = :connection_id AND remote_id = :remote_id AND verified = 1
    AND (kind <> 'campaign' OR status IN ('sent', 'delivered', 'soft'))
LIMIT 1
