-- name: get
-- One row at most: its key is the constant 1.
SELECT id, place, paused_since, paused_reason, now_ms() AS now FROM installation WHERE one = 1

-- name: named
-- As `get`, of a schema that knows nothing else of it yet.
SELECT id FROM installation WHERE one = 1

-- name: create
-- The first one to come names the installation; everybody else finds it named.
INSERT INTO installation (one, id, created_at) VALUES (1, :id, now_ms())
ON CONFLICT (one) DO NOTHING

-- name: settle
-- The first one to come records where the store lives; from then on only an administrator's adoption does.
UPDATE installation SET place = :place WHERE one = 1 AND place IS NULL

-- name: pause
-- By whoever opens the store where it doesn't live. Nobody has recorded another place since it was compared.
UPDATE installation SET paused_since = now_ms(), paused_reason = :reason
WHERE one = 1 AND place = :recorded AND paused_since IS NULL

-- name: mark_backup
-- In a fresh copy that nobody has open: wherever it is put, even over the store itself, it starts paused.
UPDATE installation SET paused_since = now_ms(), paused_reason = 'backup' WHERE one = 1 AND paused_since IS NULL

-- name: place
-- The file as SQLite has opened it, as bytes since a path needs not be text; empty for a store in memory.
SELECT CAST(file AS blob) AS path, '' AS tables, 0 AS tells_cluster FROM pragma_database_list WHERE name = 'main'

-- name: cluster
-- A file belongs to no server.
SELECT '' AS identifier

-- name: adopt
-- By an administrator: the copy of this very installation, while it is paused.
UPDATE installation SET place = :place, paused_since = NULL, paused_reason = NULL
WHERE one = 1 AND id = :id AND paused_since IS NOT NULL

-- name: now
-- The store's one clock, for the few decisions that are made before any row is read.
SELECT now_ms() AS now
