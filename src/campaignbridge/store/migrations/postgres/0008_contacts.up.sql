-- The key under which people are named where their address must not stand. Made once, never shown.
CREATE TABLE person_key (
    one bigint PRIMARY KEY CHECK (one = 1),
    key text COLLATE "C" NOT NULL
);

INSERT INTO person_key (one, key)
SELECT 1, encode(sha256((gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text)::bytea), 'hex');

CREATE TABLE audiences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    connection_id text COLLATE "C" REFERENCES connections,
    people bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    created_by text NOT NULL
);

CREATE TABLE imports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    audience_id bigint NOT NULL REFERENCES audiences,
    fingerprint text COLLATE "C" NOT NULL,
    rows_read bigint NOT NULL DEFAULT 0,
    added bigint NOT NULL DEFAULT 0,
    merged bigint NOT NULL DEFAULT 0,
    unchanged bigint NOT NULL DEFAULT 0,
    rejected bigint NOT NULL DEFAULT 0,
    repeated bigint NOT NULL DEFAULT 0,
    repaired bigint NOT NULL DEFAULT 0,
    reasons text NOT NULL DEFAULT '{}',
    rejects_bytes bigint NOT NULL DEFAULT 0,
    started_by text NOT NULL,
    started_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    finished_at bigint,
    CHECK (rows_read = added + merged + unchanged + rejected)
);

CREATE UNIQUE INDEX imports_one_unfinished ON imports (audience_id, fingerprint) WHERE finished_at IS NULL;

CREATE INDEX imports_of_audience ON imports (audience_id, id);

-- No foreign keys: every writer holds the audience's row, and audiences are never deleted. Checking each of ten
-- million rows would cost as much as inserting it.
CREATE TABLE contacts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    audience_id bigint NOT NULL,
    identity text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL,
    attributes text NOT NULL,
    locale text COLLATE "C",
    zone text COLLATE "C",
    lot bigint NOT NULL,
    import_id bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    erased_at bigint
);

CREATE UNIQUE INDEX contacts_one_person ON contacts (audience_id, identity);

-- The order in which ramps pick: see the decision on contact identity.
CREATE INDEX contacts_lots ON contacts (audience_id, lot) WHERE erased_at IS NULL;

CREATE TABLE suppressions (
    identity text COLLATE "C" PRIMARY KEY,
    reason text COLLATE "C" NOT NULL CHECK (reason IN ('complaint', 'bounce', 'unsubscribe', 'manual')),
    rank bigint NOT NULL CHECK (rank BETWEEN 1 AND 4),
    source text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);

ALTER TABLE contacts SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
