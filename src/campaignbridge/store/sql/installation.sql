-- name: get
-- One row at most: its key is the constant 1.
SELECT id, created_at FROM installation WHERE one = 1

-- name: create
-- The first one to come names the installation; everybody else finds it named.
INSERT INTO installation (one, id, created_at) VALUES (1, :id, now_ms())
ON CONFLICT (one) DO NOTHING

-- name: now
-- The store's one clock, for the few decisions that are made before any row is read.
SELECT now_ms() AS now
