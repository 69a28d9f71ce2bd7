-- name: exists
-- Looks in the first schema of the session's search path; other tables may stand beside ours.
SELECT count(*) AS n, 0 AS others FROM pg_catalog.pg_class
WHERE relname = 'schema_migrations' AND relnamespace = to_regnamespace(quote_ident(current_schema()))
