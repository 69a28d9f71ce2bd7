-- name: create
-- One audience for each slug; whoever comes second changes nothing.
INSERT INTO audiences (slug, name, connection_id, created_at, created_by)
VALUES (:slug, :name, :connection_id, now_ms(), :actor)
ON CONFLICT (slug) DO NOTHING

-- name: get
-- By key.
SELECT id, slug, name, connection_id, people, created_at FROM audiences WHERE slug = :slug

-- name: all
-- Every audience, with its last import; there are few.
SELECT a.id, a.slug, a.name, a.connection_id, a.people, a.created_at,
    i.id AS import_id, i.updated_at AS imported_at, i.finished_at, i.rows_read, i.added, i.merged, i.unchanged,
    i.rejected
FROM audiences a
LEFT JOIN imports i ON i.id = (SELECT max(x.id) FROM imports x WHERE x.audience_id = a.id)
ORDER BY a.slug

-- name: suppressed
-- How many living contacts of an audience are suppressed: from the short list into the long one, by its key.
SELECT count(*) AS n
FROM suppressions s
JOIN contacts c ON c.audience_id = :audience_id AND c.identity = s.identity
WHERE c.erased_at IS NULL

-- name: hold
-- By key. Who writes contacts of an audience updates its row first: two imports take turns, and can't deadlock.
UPDATE audiences SET people = people + :added WHERE id = :audience_id
RETURNING people, now_ms() AS now

-- name: share
-- Whoever adds people holds this against an erasure until it commits; one writer needs no more on SQLite.
SELECT key FROM person_key WHERE one = 1

-- name: exclude
-- Whoever erases waits for everyone who adds people, and keeps them waiting; one writer needs no more on SQLite.
SELECT key FROM person_key WHERE one = 1

-- name: key
-- The only row.
SELECT key FROM person_key WHERE one = 1

-- name: start_import
-- One unfinished import for each file and audience: the same command goes on with it.
INSERT INTO imports (audience_id, fingerprint, started_by, started_at, updated_at)
VALUES (:audience_id, :fingerprint, :actor, now_ms(), now_ms())
ON CONFLICT (audience_id, fingerprint) WHERE finished_at IS NULL DO NOTHING

-- name: open_import
-- By the unique index of what is unfinished.
SELECT id, audience_id, rows_read, added, merged, unchanged, rejected, repeated, repaired, reasons, rejects_bytes
FROM imports WHERE audience_id = :audience_id AND fingerprint = :fingerprint AND finished_at IS NULL

-- name: advance
-- By key, and only from where this process read on: of two that import one file, one finds that it isn't alone.
UPDATE imports SET
    rows_read = :rows_read, added = :added, merged = :merged, unchanged = :unchanged, rejected = :rejected,
    repeated = :repeated, repaired = :repaired, reasons = :reasons, rejects_bytes = :rejects_bytes,
    updated_at = now_ms()
WHERE id = :import_id AND rows_read = :read_before AND finished_at IS NULL

-- name: finish
-- By key; only once.
UPDATE imports SET finished_at = now_ms(), updated_at = now_ms()
WHERE id = :import_id AND rows_read = :rows_read AND finished_at IS NULL

-- name: known
-- By the key (audience, identity); the identities come as one JSON list.
SELECT id, identity, email, attributes, locale, zone, import_id
FROM contacts
WHERE audience_id = :audience_id AND identity IN (SELECT value FROM json_each(:identities))

-- name: load
-- New people only: the caller holds the audience and has looked. By position.
INSERT INTO contacts (
    audience_id, identity, email, attributes, locale, zone, lot, import_id, created_at, updated_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: change
-- By key; the caller holds the audience.
UPDATE contacts SET attributes = :attributes, locale = :locale, zone = :zone, updated_at = now_ms()
WHERE id = :id AND erased_at IS NULL

-- name: any_erased
-- By a range of the key (audience, identity), and no further than the first.
SELECT id FROM contacts
WHERE audience_id = :audience_id AND identity >= 'erased:' AND identity < 'erased;' LIMIT 1

-- name: come_back
-- Somebody who was erased, and whom an administrator let come back: by key, into the row that stands for them, so that
-- what they were mailed still counts.
UPDATE contacts SET identity = :identity, email = :email, attributes = :attributes, locale = :locale, zone = :zone,
    import_id = :import_id, erased_at = NULL, updated_at = now_ms()
WHERE id = :id AND erased_at IS NOT NULL

-- name: of_person
-- By the key (audience, identity); audiences are few.
SELECT a.slug, a.name, c.id, c.identity, c.email, c.attributes, c.locale, c.zone, c.import_id,
    c.created_at, c.updated_at, c.erased_at
FROM audiences a
JOIN contacts c ON c.audience_id = a.id AND c.identity = :identity
ORDER BY a.slug

-- name: erase
-- Every audience's contact of this person: the row stays, so that what was mailed stays counted; who it was goes.
UPDATE contacts SET
    identity = :erased, email = '', attributes = '{}', locale = NULL, zone = NULL,
    erased_at = now_ms(), updated_at = now_ms()
WHERE audience_id IN (SELECT id FROM audiences) AND identity = :identity AND erased_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM contacts e WHERE e.audience_id = contacts.audience_id AND e.identity = :erased
    )
RETURNING audience_id

-- name: drop_again
-- Somebody erased before who had come back: the earlier row is the one that was counted, this one goes.
DELETE FROM contacts
WHERE audience_id IN (SELECT id FROM audiences) AND identity = :identity
RETURNING audience_id
