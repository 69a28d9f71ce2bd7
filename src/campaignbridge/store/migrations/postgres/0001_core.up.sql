-- The store's one clock, read at execution time: after a wait for a row's lock, too. Epoch milliseconds UTC.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE TABLE installation (
    one bigint PRIMARY KEY CHECK (one = 1),
    id text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE connections (
    id text COLLATE "C" PRIMARY KEY,
    provider text NOT NULL,
    label text NOT NULL UNIQUE,
    account text COLLATE "C",
    account_label text,
    base_url text,
    key_env text,
    key_id text,
    key_sealed text,
    verified_at bigint,
    refused_at bigint,
    refused_code text,
    disconnected_at bigint,
    created_at bigint NOT NULL,
    -- its key is in a variable or sealed in the row; without either it is disconnected
    CHECK (key_env IS NULL OR key_sealed IS NULL),
    CHECK ((key_id IS NULL) = (key_sealed IS NULL)),
    CHECK ((key_env IS NULL AND key_sealed IS NULL) = (disconnected_at IS NOT NULL))
);

CREATE TABLE campaigns (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    connection_id text COLLATE "C" NOT NULL REFERENCES connections (id),
    audience text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('draft', 'ready_for_review', 'approved', 'provider_draft',
        'scheduled', 'sending', 'sent', 'failed', 'cancelled', 'unknown', 'archived')),
    version bigint NOT NULL,
    revision bigint NOT NULL,
    generation bigint NOT NULL,
    approved_by text,
    approved_at bigint,
    approved_fingerprint text,
    max_recipients bigint,
    owner text NOT NULL,
    open_attempt text,
    look_at bigint,
    scheduled_for bigint,
    stopped_reason text,
    flag text,
    state_changed_at bigint NOT NULL,
    created_at bigint NOT NULL,
    -- every state that moves by itself has an owner: the next look, or the reason why a person must act
    CHECK (look_at IS NOT NULL OR stopped_reason IS NOT NULL
        OR (open_attempt IS NULL AND state NOT IN ('scheduled', 'sending', 'unknown'))),
    CHECK (look_at IS NULL OR stopped_reason IS NULL),
    CHECK (state <> 'unknown' OR open_attempt IS NOT NULL),
    CHECK (state NOT IN ('approved', 'provider_draft', 'scheduled', 'sending', 'sent', 'unknown')
        OR approved_fingerprint IS NOT NULL)
);

CREATE INDEX campaigns_to_look_at ON campaigns (look_at) WHERE look_at IS NOT NULL;

CREATE INDEX campaigns_of_content ON campaigns (approved_fingerprint) WHERE approved_fingerprint IS NOT NULL;

CREATE INDEX campaigns_newest ON campaigns (created_at, id);

CREATE TABLE snapshots (
    campaign_id text COLLATE "C" NOT NULL REFERENCES campaigns (id),
    revision bigint NOT NULL,
    subject text NOT NULL,
    preview_text text NOT NULL,
    from_name text NOT NULL,
    from_email text NOT NULL,
    reply_to text NOT NULL,
    html text NOT NULL,
    text text NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (campaign_id, revision)
);

CREATE FUNCTION snapshots_are_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'snapshots are insert-only'; END $$;

CREATE TRIGGER snapshots_are_frozen BEFORE UPDATE ON snapshots
FOR EACH ROW EXECUTE FUNCTION snapshots_are_frozen();

CREATE TABLE attempts (
    id text COLLATE "C" PRIMARY KEY,
    campaign_id text COLLATE "C" NOT NULL REFERENCES campaigns (id),
    operation text NOT NULL CHECK (operation IN ('create', 'schedule', 'unschedule', 'send', 'cancel',
        'test')),
    key text COLLATE "C" NOT NULL,
    request_hash text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed', 'unknown')),
    retryable bigint NOT NULL DEFAULT 0,
    account text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    remote_id text COLLATE "C",
    from_state text NOT NULL,
    deadline_at bigint NOT NULL,
    schedule_at bigint,
    actor text,
    created_at bigint NOT NULL,
    answered_at bigint,
    settled_at bigint,
    error_code text,
    UNIQUE (campaign_id, operation, key)
);

CREATE UNIQUE INDEX attempts_one_unresolved ON attempts (campaign_id)
    WHERE status IN ('pending', 'unknown') AND operation <> 'test';

CREATE FUNCTION attempts_settle_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a settled attempt never changes'; END $$;

CREATE TRIGGER attempts_settle_once BEFORE UPDATE ON attempts
FOR EACH ROW WHEN (OLD.status IN ('succeeded', 'failed')) EXECUTE FUNCTION attempts_settle_once();

CREATE TABLE remote_campaigns (
    campaign_id text COLLATE "C" NOT NULL REFERENCES campaigns (id),
    generation bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    remote_id text COLLATE "C",
    observed_status text,
    raw_status text,
    content_pending bigint NOT NULL DEFAULT 1,
    writing_until bigint,
    went bigint NOT NULL DEFAULT 0,
    retired_at bigint,
    negative_attempt text,
    negative_verdict text,
    negative_answered_at bigint,
    absent_at bigint,
    recipient_count bigint,
    emails_sent bigint,
    observed_at bigint,
    reconciled_at bigint,
    PRIMARY KEY (campaign_id, generation),
    UNIQUE (account, remote_id)
);

CREATE TABLE content_claims (
    account text COLLATE "C" NOT NULL,
    audience text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    campaign_id text COLLATE "C" NOT NULL,
    attempt_id text NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (account, audience, fingerprint)
);

CREATE INDEX content_claims_of_campaign ON content_claims (campaign_id);

CREATE TABLE audit_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id text COLLATE "C",
    kind text NOT NULL,
    actor text,
    automatic bigint NOT NULL,
    version bigint,
    attempt_id text,
    data text NOT NULL,
    at bigint NOT NULL
);

CREATE INDEX audit_events_of_campaign ON audit_events (campaign_id, id);

CREATE TABLE locks (
    key text COLLATE "C" PRIMARY KEY,
    fence bigint NOT NULL,
    holder text COLLATE "C",
    operation text,
    actor text,
    interrupted text,
    acquired_at bigint NOT NULL,
    held_until bigint NOT NULL
);

CREATE TABLE account_limits (
    account text COLLATE "C" PRIMARY KEY,
    blocked_until bigint NOT NULL,
    failures bigint NOT NULL
);

CREATE TABLE account_slots (
    account text COLLATE "C" NOT NULL,
    slot bigint NOT NULL,
    holder text,
    until bigint NOT NULL,
    PRIMARY KEY (account, slot)
);

CREATE TABLE jobs (
    id text COLLATE "C" PRIMARY KEY,
    type text NOT NULL,
    target text NOT NULL,
    dedupe_key text COLLATE "C",
    payload text NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'claimed', 'succeeded', 'failed', 'dead')),
    attempts bigint NOT NULL DEFAULT 0,
    max_attempts bigint NOT NULL CHECK (max_attempts BETWEEN 1 AND 50),
    run_at bigint NOT NULL,
    rerun_at bigint,
    fence bigint NOT NULL DEFAULT 0,
    holder text COLLATE "C",
    lease_until bigint,
    started_at bigint,
    taken_over bigint NOT NULL DEFAULT 0,
    exhausted bigint NOT NULL DEFAULT 0,
    last_error text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    finished_at bigint,
    CHECK ((state = 'claimed') = (lease_until IS NOT NULL))
);

CREATE UNIQUE INDEX jobs_one_unfinished ON jobs (dedupe_key) WHERE state IN ('queued', 'claimed');

CREATE INDEX jobs_due ON jobs (run_at, id) WHERE state = 'queued';

CREATE INDEX jobs_leased ON jobs (lease_until, id) WHERE state = 'claimed';

CREATE INDEX jobs_ended ON jobs (state, finished_at, id) WHERE finished_at IS NOT NULL;

-- Dead rows of a busy queue slow every claim down, so they are cleared away early.
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, fillfactor = 80);

-- Readable times for people; nothing reads them back.
CREATE VIEW campaigns_readable AS
SELECT id, name, state, version, to_timestamp(look_at / 1000.0) AS look_at, stopped_reason, flag,
    to_timestamp(state_changed_at / 1000.0) AS state_changed_at, to_timestamp(created_at / 1000.0) AS created_at
FROM campaigns;

CREATE VIEW attempts_readable AS
SELECT id, campaign_id, operation, status, error_code, to_timestamp(created_at / 1000.0) AS created_at,
    to_timestamp(deadline_at / 1000.0) AS deadline_at, to_timestamp(settled_at / 1000.0) AS settled_at
FROM attempts;
