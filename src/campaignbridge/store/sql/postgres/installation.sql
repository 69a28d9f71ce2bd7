-- name: place
-- Ids that a copy into another database, or of tables alone, gets anew; and whether the
-- server tells its own identifier to this user (by default it does).
SELECT (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())::text || '/'
        || current_schema() AS path,
    to_regclass('installation')::oid::text AS tables,
    EXISTS (SELECT 1 FROM pg_catalog.pg_proc
        WHERE proname = 'pg_control_system' AND pronamespace = 'pg_catalog'::regnamespace
            AND has_function_privilege(oid, 'EXECUTE')) AS tells_cluster

-- name: cluster
-- Made by initdb, and the same on every replica of a server.
SELECT system_identifier::text AS identifier FROM pg_catalog.pg_control_system()
