-- name: among
-- By key; the identities come as one JSON list.
SELECT identity FROM suppressions
WHERE identity = ANY(ARRAY(SELECT json_array_elements_text(CAST(:identities AS json))))
