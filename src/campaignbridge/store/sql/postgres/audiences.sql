-- name: share
-- Whoever adds people holds this against an erasure until it commits; others who add share it.
SELECT key FROM person_key WHERE one = 1 FOR SHARE

-- name: exclude
-- Whoever erases waits for everyone who adds people, and keeps them waiting until it commits.
SELECT key FROM person_key WHERE one = 1 FOR UPDATE

-- name: known
-- By the key (audience, identity); the identities come as one JSON list.
SELECT id, identity, email, attributes, locale, zone, import_id
FROM contacts
WHERE audience_id = :audience_id AND identity = ANY(ARRAY(SELECT json_array_elements_text(CAST(:identities AS json))))

-- name: load
-- New people only: the caller holds the audience and has looked. By position.
COPY contacts (
    audience_id, identity, email, attributes, locale, zone, lot, import_id, created_at, updated_at
) FROM STDIN
