CREATE TABLE installation (
    one integer PRIMARY KEY CHECK (one = 1),
    id text NOT NULL,
    created_at integer NOT NULL
);

CREATE TABLE connections (
    id text PRIMARY KEY,
    provider text NOT NULL,
    label text NOT NULL UNIQUE,
    account text,
    account_label text,
    base_url text,
    key_env text,
    key_id text,
    key_sealed text,
    verified_at integer,
    refused_at integer,
    refused_code text,
    disconnected_at integer,
    created_at integer NOT NULL,
    -- its key is in a variable or sealed in the row; without either it is disconnected
    CHECK (key_env IS NULL OR key_sealed IS NULL),
    CHECK ((key_id IS NULL) = (key_sealed IS NULL)),
    CHECK ((key_env IS NULL AND key_sealed IS NULL) = (disconnected_at IS NOT NULL))
);

CREATE TABLE campaigns (
    id text PRIMARY KEY,
    name text NOT NULL,
    connection_id text NOT NULL REFERENCES connections (id),
    audience text NOT NULL,
    state text NOT NULL CHECK (state IN ('draft', 'ready_for_review', 'approved', 'provider_draft',
        'scheduled', 'sending', 'sent', 'failed', 'cancelled', 'unknown', 'archived')),
    version integer NOT NULL,
    revision integer NOT NULL,
    generation integer NOT NULL,
    approved_by text,
    approved_at integer,
    approved_fingerprint text,
    max_recipients integer,
    owner text NOT NULL,
    open_attempt text,
    look_at integer,
    scheduled_for integer,
    stopped_reason text,
    flag text,
    state_changed_at integer NOT NULL,
    created_at integer NOT NULL,
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
    campaign_id text NOT NULL REFERENCES campaigns (id),
    revision integer NOT NULL,
    subject text NOT NULL,
    preview_text text NOT NULL,
    from_name text NOT NULL,
    from_email text NOT NULL,
    reply_to text NOT NULL,
    html text NOT NULL,
    text text NOT NULL,
    fingerprint text NOT NULL,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (campaign_id, revision)
);

CREATE TRIGGER snapshots_are_frozen BEFORE UPDATE ON snapshots
BEGIN SELECT RAISE(ABORT, 'snapshots are insert-only'); END;

CREATE TABLE attempts (
    id text PRIMARY KEY,
    campaign_id text NOT NULL REFERENCES campaigns (id),
    operation text NOT NULL CHECK (operation IN ('create', 'schedule', 'unschedule', 'send', 'cancel',
        'test')),
    key text NOT NULL,
    request_hash text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed', 'unknown')),
    retryable integer NOT NULL DEFAULT 0,
    account text NOT NULL,
    generation integer NOT NULL,
    remote_id text,
    from_state text NOT NULL,
    deadline_at integer NOT NULL,
    schedule_at integer,
    actor text,
    created_at integer NOT NULL,
    answered_at integer,
    settled_at integer,
    error_code text,
    UNIQUE (campaign_id, operation, key)
);

CREATE UNIQUE INDEX attempts_one_unresolved ON attempts (campaign_id)
    WHERE status IN ('pending', 'unknown') AND operation <> 'test';

CREATE TRIGGER attempts_settle_once BEFORE UPDATE ON attempts WHEN OLD.status IN ('succeeded', 'failed')
BEGIN SELECT RAISE(ABORT, 'a settled attempt never changes'); END;

CREATE TABLE remote_campaigns (
    campaign_id text NOT NULL REFERENCES campaigns (id),
    generation integer NOT NULL,
    account text NOT NULL,
    remote_id text,
    observed_status text,
    raw_status text,
    content_pending integer NOT NULL DEFAULT 1,
    writing_until integer,
    went integer NOT NULL DEFAULT 0,
    retired_at integer,
    negative_attempt text,
    negative_verdict text,
    negative_answered_at integer,
    absent_at integer,
    recipient_count integer,
    emails_sent integer,
    observed_at integer,
    reconciled_at integer,
    PRIMARY KEY (campaign_id, generation),
    UNIQUE (account, remote_id)
);

CREATE TABLE content_claims (
    account text NOT NULL,
    audience text NOT NULL,
    fingerprint text NOT NULL,
    campaign_id text NOT NULL,
    attempt_id text NOT NULL,
    until integer NOT NULL,
    PRIMARY KEY (account, audience, fingerprint)
);

CREATE INDEX content_claims_of_campaign ON content_claims (campaign_id);

CREATE TABLE audit_events (
    id integer PRIMARY KEY AUTOINCREMENT,
    campaign_id text,
    kind text NOT NULL,
    actor text,
    automatic integer NOT NULL,
    version integer,
    attempt_id text,
    data text NOT NULL,
    at integer NOT NULL
);

CREATE INDEX audit_events_of_campaign ON audit_events (campaign_id, id);

CREATE TABLE locks (
    key text PRIMARY KEY,
    fence integer NOT NULL,
    holder text,
    operation text,
    actor text,
    interrupted text,
    acquired_at integer NOT NULL,
    held_until integer NOT NULL
);

CREATE TABLE account_limits (
    account text PRIMARY KEY,
    blocked_until integer NOT NULL,
    failures integer NOT NULL
);

CREATE TABLE account_slots (
    account text NOT NULL,
    slot integer NOT NULL,
    holder text,
    until integer NOT NULL,
    PRIMARY KEY (account, slot)
);

CREATE TABLE jobs (
    id text PRIMARY KEY,
    type text NOT NULL,
    target text NOT NULL,
    dedupe_key text,
    payload text NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'claimed', 'succeeded', 'failed', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL CHECK (max_attempts BETWEEN 1 AND 50),
    run_at integer NOT NULL,
    rerun_at integer,
    fence integer NOT NULL DEFAULT 0,
    holder text,
    lease_until integer,
    started_at integer,
    taken_over integer NOT NULL DEFAULT 0,
    exhausted integer NOT NULL DEFAULT 0,
    last_error text,
    created_at integer NOT NULL,
    updated_at integer NOT NULL,
    finished_at integer,
    CHECK ((state = 'claimed') = (lease_until IS NOT NULL))
);

CREATE UNIQUE INDEX jobs_one_unfinished ON jobs (dedupe_key) WHERE state IN ('queued', 'claimed');

CREATE INDEX jobs_due ON jobs (run_at, id) WHERE state = 'queued';

CREATE INDEX jobs_leased ON jobs (lease_until, id) WHERE state = 'claimed';

CREATE INDEX jobs_ended ON jobs (state, finished_at, id) WHERE finished_at IS NOT NULL;

CREATE VIEW campaigns_readable AS
SELECT id, name, state, version, datetime(look_at / 1000, 'unixepoch') AS look_at, stopped_reason, flag,
    datetime(state_changed_at / 1000, 'unixepoch') AS state_changed_at,
    datetime(created_at / 1000, 'unixepoch') AS created_at
FROM campaigns;

CREATE VIEW attempts_readable AS
SELECT id, campaign_id, operation, status, error_code, datetime(created_at / 1000, 'unixepoch') AS created_at,
    datetime(deadline_at / 1000, 'unixepoch') AS deadline_at, datetime(settled_at / 1000, 'unixepoch') AS settled_at
FROM attempts;
