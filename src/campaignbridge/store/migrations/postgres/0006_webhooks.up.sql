-- Where a provider may post to, by connection. The secret in the address is kept as its hash only.
CREATE TABLE webhook_endpoints (
    connection_id text COLLATE "C" PRIMARY KEY REFERENCES connections (id),
    secret_hash text NOT NULL,
    signing_key_id text,
    signing_sealed text,
    made_at bigint NOT NULL,
    heard_at bigint,
    CHECK ((signing_key_id IS NULL) = (signing_sealed IS NULL))
);

-- What providers have posted, without any address. The key is what an event says: deliveries have no id.
CREATE TABLE webhook_events (
    connection_id text COLLATE "C" NOT NULL REFERENCES connections (id),
    kind text NOT NULL CHECK (kind IN ('campaign', 'unsubscribe', 'cleaned')),
    audience text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    fired_at bigint NOT NULL,
    remote_id text COLLATE "C",
    status text NOT NULL,
    verified bigint NOT NULL,
    received_at bigint NOT NULL,
    parked bigint NOT NULL DEFAULT 0,
    due_at bigint,
    settled_at bigint,
    outcome text,
    PRIMARY KEY (connection_id, kind, audience, subject, fired_at),
    -- it waits, or it is settled
    CHECK ((due_at IS NULL) = (settled_at IS NOT NULL)),
    CHECK ((settled_at IS NULL) = (outcome IS NULL))
);

CREATE INDEX webhook_events_due ON webhook_events (connection_id, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX webhook_events_waiting ON webhook_events (connection_id, parked, received_at)
    WHERE due_at IS NOT NULL;

CREATE INDEX webhook_events_settled ON webhook_events (connection_id, settled_at) WHERE settled_at IS NOT NULL;

ALTER TABLE campaigns ADD COLUMN webhook_woken_at bigint;
