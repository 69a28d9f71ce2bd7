-- name: add
-- By key; a weaker or equal reason changes nothing, so the order in which reasons come doesn't matter.
INSERT INTO suppressions (identity, reason, rank, source, at)
VALUES (:identity, :reason, :rank, :source, now_ms())
ON CONFLICT (identity) DO UPDATE SET
    reason = excluded.reason, rank = excluded.rank, source = excluded.source, at = excluded.at
WHERE excluded.rank > suppressions.rank

-- name: lift
-- By key, and only while it stands for the reason that was named: a stronger one stays.
DELETE FROM suppressions WHERE identity = :identity AND reason = :reason

-- name: get
-- By key.
SELECT identity, reason, source, at FROM suppressions WHERE identity = :identity

-- name: any_erased
-- By a range of the key, and no further than the first.
SELECT identity FROM suppressions WHERE identity >= 'erased:' AND identity < 'erased;' LIMIT 1

-- name: among
-- By key; the identities come as one JSON list.
SELECT identity FROM suppressions WHERE identity IN (SELECT value FROM json_each(:identities))

-- name: forget
-- By key.
DELETE FROM suppressions WHERE identity = :identity

-- name: count
-- All of them, for people who look.
SELECT count(*) AS n FROM suppressions
