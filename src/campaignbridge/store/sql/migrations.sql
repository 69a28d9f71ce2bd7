-- name: exists
-- SQLite has one schema; its own tables start with sqlite_.
SELECT count(CASE WHEN name = 'schema_migrations' THEN 1 END) AS n,
    count(CASE WHEN name NOT LIKE 'sqlite\_%' ESCAPE '\' THEN 1 END) AS others
FROM sqlite_master WHERE type = 'table'

-- name: applied
-- The whole history: a handful of rows.
SELECT version, name, checksum, compatible_from FROM schema_migrations ORDER BY version

-- name: record
-- Its key is the version, so a migration can't be recorded twice.
INSERT INTO schema_migrations (version, name, checksum, compatible_from, applied_at)
VALUES (:version, :name, :checksum, :compatible_from, now_ms())

-- name: forget
-- By key; run in the transaction that takes the migration back.
DELETE FROM schema_migrations WHERE version = :version
