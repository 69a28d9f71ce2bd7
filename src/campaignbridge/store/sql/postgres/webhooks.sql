-- name: overflow
-- As in the shared text; by the place of the rows, or the planner reads the whole table to find a few of them. A row
-- that moved meanwhile was changed by somebody else, and is left.
UPDATE webhook_events SET due_at = NULL, settled_at = now_ms(), outcome = 'overflow'
WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM webhook_events
        WHERE connection_id = :connection_id AND due_at IS NOT NULL AND parked = 1
        ORDER BY received_at DESC LIMIT :chunk_literal OFFSET :most_literal))
    AND connection_id = :connection_id AND due_at IS NOT NULL AND parked = 1

-- name: purge
-- As in the shared text; by the place of the rows.
DELETE FROM webhook_events
WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM webhook_events
        WHERE connection_id = :connection_id AND settled_at IS NOT NULL
            AND settled_at <= (SELECT now_ms()) - :keep_ms
        ORDER BY settled_at LIMIT :chunk_literal))
    AND connection_id = :connection_id AND settled_at IS NOT NULL

-- name: trim
-- As in the shared text; by the place of the rows.
DELETE FROM webhook_events
WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM webhook_events
        WHERE connection_id = :connection_id AND settled_at IS NOT NULL
        ORDER BY settled_at DESC LIMIT :chunk_literal OFFSET :most_literal))
    AND connection_id = :connection_id AND settled_at IS NOT NULL
