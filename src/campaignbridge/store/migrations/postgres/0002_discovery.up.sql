CREATE TABLE discoveries (
    account text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('audiences', 'segments', 'merge_fields', 'senders')),
    scope text NOT NULL,
    items text NOT NULL,
    complete integer NOT NULL,
    refreshed_at bigint,
    failed_at bigint,
    failed_code text,
    PRIMARY KEY (account, kind, scope),
    CHECK ((failed_at IS NULL) = (failed_code IS NULL)),
    CHECK (refreshed_at IS NOT NULL OR failed_at IS NOT NULL)
);

-- The audience of a campaign as preflight read it, so that people are shown its name.
CREATE TABLE audience_readings (
    account text NOT NULL,
    audience text NOT NULL,
    name text NOT NULL,
    contacts bigint NOT NULL,
    read_at bigint NOT NULL,
    PRIMARY KEY (account, audience)
);
