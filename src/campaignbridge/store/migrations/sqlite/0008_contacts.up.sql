-- The key under which people are named where their address must not stand. Made once, never shown.
CREATE TABLE person_key (
    one integer PRIMARY KEY CHECK (one = 1),
    key text NOT NULL
);

INSERT INTO person_key (one, key) VALUES (1, lower(hex(randomblob(32))));

CREATE TABLE audiences (
    id integer PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    connection_id text REFERENCES connections,
    people integer NOT NULL DEFAULT 0,
    created_at integer NOT NULL,
    created_by text NOT NULL
);

CREATE TABLE imports (
    id integer PRIMARY KEY,
    audience_id integer NOT NULL REFERENCES audiences,
    fingerprint text NOT NULL,
    rows_read integer NOT NULL DEFAULT 0,
    added integer NOT NULL DEFAULT 0,
    merged integer NOT NULL DEFAULT 0,
    unchanged integer NOT NULL DEFAULT 0,
    rejected integer NOT NULL DEFAULT 0,
    repeated integer NOT NULL DEFAULT 0,
    repaired integer NOT NULL DEFAULT 0,
    reasons text NOT NULL DEFAULT '{}',
    rejects_bytes integer NOT NULL DEFAULT 0,
    started_by text NOT NULL,
    started_at integer NOT NULL,
    updated_at integer NOT NULL,
    finished_at integer,
    CHECK (rows_read = added + merged + unchanged + rejected)
);

CREATE UNIQUE INDEX imports_one_unfinished ON imports (audience_id, fingerprint) WHERE finished_at IS NULL;

CREATE INDEX imports_of_audience ON imports (audience_id, id);

-- No foreign keys: every writer holds the audience's row, and audiences are never deleted. Checking each of ten
-- million rows would cost as much as inserting it.
CREATE TABLE contacts (
    id integer PRIMARY KEY,
    audience_id integer NOT NULL,
    identity text NOT NULL,
    email text NOT NULL,
    attributes text NOT NULL,
    locale text,
    zone text,
    lot integer NOT NULL,
    import_id integer NOT NULL,
    created_at integer NOT NULL,
    updated_at integer NOT NULL,
    erased_at integer
);

CREATE UNIQUE INDEX contacts_one_person ON contacts (audience_id, identity);

-- The order in which ramps pick: see the decision on contact identity.
CREATE INDEX contacts_lots ON contacts (audience_id, lot) WHERE erased_at IS NULL;

CREATE TABLE suppressions (
    identity text PRIMARY KEY,
    reason text NOT NULL CHECK (reason IN ('complaint', 'bounce', 'unsubscribe', 'manual')),
    rank integer NOT NULL CHECK (rank BETWEEN 1 AND 4),
    source text NOT NULL,
    at integer NOT NULL
);
