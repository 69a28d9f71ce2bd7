-- name: open_account
-- One row for an account, and its slots; made once.
INSERT INTO account_limits (account, blocked_until, failures) VALUES (:account, 0, 0)
ON CONFLICT (account) DO NOTHING

-- name: open_slot
-- By key; made once.
INSERT INTO account_slots (account, slot, until) VALUES (:account, :slot, 0)
ON CONFLICT (account, slot) DO NOTHING

-- name: enter
-- The lowest slot that is free or whose time is over, while the account isn't paused. The outer predicate is
-- restated: on PostgreSQL somebody may have taken the row while we waited for it.
UPDATE account_slots SET holder = :holder, until = now_ms() + :hold_ms
WHERE account = :account AND until < now_ms()
    AND slot = (SELECT min(s.slot) FROM account_slots s
        WHERE s.account = :account AND s.until < (SELECT now_ms()) AND s.slot <= :highest)
    AND NOT EXISTS (SELECT 1 FROM account_limits l
        WHERE l.account = :account AND l.blocked_until > (SELECT now_ms()))
RETURNING slot

-- name: leave
-- By whoever holds it; a slot whose time was over may be somebody else's now.
UPDATE account_slots SET until = 0 WHERE account = :account AND slot = :slot AND holder = :holder

-- name: pause_left
-- How long the account is still paused; NULL when its rows were never made.
SELECT max(0, blocked_until - now_ms()) AS left_ms FROM account_limits WHERE account = :account

-- name: answered
-- The provider answered: whatever it said, it is there.
UPDATE account_limits SET failures = 0 WHERE account = :account AND failures > 0

-- name: pause
-- The provider asked for patience; an earlier, longer pause stays.
UPDATE account_limits SET blocked_until = CASE WHEN blocked_until > now_ms() + :pause_ms THEN blocked_until
    ELSE now_ms() + :pause_ms END
WHERE account = :account

-- name: failed
-- No usable answer: after several in a row everybody waits together, longer each time.
UPDATE account_limits
SET failures = failures + 1,
    blocked_until = CASE
        WHEN failures + 1 < :opens_at THEN blocked_until
        WHEN failures + 1 - :opens_at > 4 THEN now_ms() + :longest_ms
        ELSE now_ms() + :first_ms * (1 + (failures + 1 - :opens_at) * (failures + 1 - :opens_at)) END
WHERE account = :account

-- name: turn
-- One request's turn: right after the last one that was given out, or now. Given out only while it is near enough;
-- whoever waits for the row gets the turn after.
UPDATE account_limits
SET turn_us = CASE WHEN turn_us > now_ms() * 1000 THEN turn_us ELSE now_ms() * 1000 END
    + :second_us / coalesce(calls_per_s, CAST(:calls_per_s AS bigint))
WHERE account = :account AND turn_us <= (now_ms() + :within_ms) * 1000
RETURNING turn_us - :second_us / coalesce(calls_per_s, CAST(:calls_per_s AS bigint)) - now_ms() * 1000 AS wait_us

-- name: set_rate
-- By key; NULL for the provider's own limit.
UPDATE account_limits SET calls_per_s = CAST(:calls_per_s AS bigint) WHERE account = :account
