-- name: all
-- One row for each definition that is known or was lately; a handful.
SELECT definition, next_at, planned_at, now_ms() AS now FROM recurring ORDER BY definition

-- name: plan
-- By key: a definition that is new, or that was planned by a clock which has been set back since. One that
-- another worker planned meanwhile stays as it is.
INSERT INTO recurring (definition, next_at, planned_at) VALUES (:definition, :next_at, now_ms())
ON CONFLICT (definition) DO UPDATE SET next_at = :next_at, planned_at = now_ms()
WHERE recurring.planned_at > now_ms()

-- name: advance
-- Compare-and-set on the occurrence itself: of all workers that saw it due, one moves it on, and that one queues
-- the job in the same transaction. Zero rows: another did.
UPDATE recurring SET next_at = :next_at, planned_at = now_ms()
WHERE definition = :definition AND next_at = :occurrence AND next_at <= now_ms()

-- name: forget
-- Nobody knows it any more: what some worker still knows is moved on when it is due.
DELETE FROM recurring WHERE definition = :definition AND next_at < now_ms() - 3600000
