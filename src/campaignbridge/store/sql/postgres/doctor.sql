-- name: integrity
-- The server looks after its own pages (data checksums, amcheck); nothing is to be read from here.
SELECT 'ok' AS finding

-- name: standby
-- Who may not look at the server's replication sees no standby, and is told so.
SELECT current_setting('synchronous_standby_names') AS names,
    (SELECT count(*) FROM pg_catalog.pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
    current_setting('synchronous_commit') AS durable
