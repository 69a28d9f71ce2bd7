-- name: enter
-- As in the shared text; rows that somebody else is taking are skipped.
UPDATE account_slots SET holder = :holder, until = now_ms() + :hold_ms
WHERE account = :account AND until < now_ms()
    AND slot = (SELECT s.slot FROM account_slots s
        WHERE s.account = :account AND s.until < (SELECT now_ms()) AND s.slot <= :highest
        ORDER BY s.slot LIMIT 1 FOR UPDATE SKIP LOCKED)
    AND NOT EXISTS (SELECT 1 FROM account_limits l
        WHERE l.account = :account AND l.blocked_until > (SELECT now_ms()))
RETURNING slot

-- name: pause_left
-- As in the shared text, with PostgreSQL's name for the larger of two.
SELECT greatest(0, blocked_until - now_ms()) AS left_ms FROM account_limits WHERE account = :account
