CREATE TABLE ramps (
    id text PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    connection_id text NOT NULL REFERENCES connections (id),
    list text NOT NULL,
    audience_id integer NOT NULL,
    plan text NOT NULL,
    label_offset integer NOT NULL,
    filters text NOT NULL,
    seed text NOT NULL,
    source_campaign text NOT NULL REFERENCES campaigns (id),
    source_revision integer NOT NULL,
    approved_by text NOT NULL,
    approved_at integer NOT NULL,
    approved_fingerprint text NOT NULL,
    cron text,
    zone text NOT NULL,
    delegated_by text NOT NULL,
    ended text CHECK (ended IN ('complete', 'aborted')),
    ended_at integer,
    paused_at integer,
    gate_tripped_at integer,
    gate_tripped text,
    needs_operator text,
    needs_operator_at integer,
    total_waived text,
    created_at integer NOT NULL,
    CHECK ((ended IS NULL) = (ended_at IS NULL)),
    CHECK ((gate_tripped_at IS NULL) = (gate_tripped IS NULL)),
    CHECK ((needs_operator IS NULL) = (needs_operator_at IS NULL))
);

CREATE TABLE ramp_exclusions (
    ramp_id text NOT NULL REFERENCES ramps (id),
    excluded_id text NOT NULL REFERENCES ramps (id),
    PRIMARY KEY (ramp_id, excluded_id)
);

CREATE TABLE waves (
    id text PRIMARY KEY,
    ramp_id text NOT NULL REFERENCES ramps (id),
    tier integer,
    label text NOT NULL,
    run_id text NOT NULL,
    step text NOT NULL CHECK (step IN ('picking', 'picked', 'segment_created', 'pushed', 'verified',
        'draft_ready', 'looked')),
    failed text,
    closed text CHECK (closed IN ('sent', 'sent_late', 'discarded')),
    requested integer NOT NULL,
    picked integer NOT NULL DEFAULT 0,
    underfilled_by text,
    segment_id text,
    exported_at integer,
    pushing_until integer,
    verified integer,
    campaign_id text REFERENCES campaigns (id),
    by_hand integer NOT NULL DEFAULT 0,
    broadcast_id text,
    sent_at integer,
    verdict text,
    delivered integer NOT NULL DEFAULT 0,
    bounced integer NOT NULL DEFAULT 0,
    complained integer NOT NULL DEFAULT 0,
    figures_at integer,
    waived text,
    opened_at integer NOT NULL,
    activity_at integer NOT NULL,
    closed_at integer,
    CHECK ((closed IS NULL) = (closed_at IS NULL)),
    CHECK (failed IS NULL OR closed IS NULL OR closed = 'discarded'),
    CHECK (closed IS NULL OR closed = 'discarded' OR sent_at IS NOT NULL)
);

-- An open wave holds its ramp: it is the run's lease, and nobody overrides it.
CREATE UNIQUE INDEX waves_one_open ON waves (ramp_id) WHERE closed IS NULL;

CREATE UNIQUE INDEX waves_one_per_tier ON waves (ramp_id, tier) WHERE closed IS NULL OR closed = 'sent';

CREATE UNIQUE INDEX waves_labels ON waves (ramp_id, label);

CREATE UNIQUE INDEX waves_of_campaigns ON waves (campaign_id) WHERE campaign_id IS NOT NULL;

CREATE TABLE assignments (
    wave_id text NOT NULL REFERENCES waves (id),
    contact_id integer NOT NULL,
    ramp_id text NOT NULL,
    status text NOT NULL CHECK (status IN ('assigned', 'in_segment', 'refused', 'released')),
    code text,
    tries integer NOT NULL DEFAULT 0,
    try_at integer,
    at integer NOT NULL,
    PRIMARY KEY (wave_id, contact_id)
);

-- A person is live in one wave of a ramp at most; what was mailed stays live for ever.
CREATE UNIQUE INDEX assignments_live ON assignments (ramp_id, contact_id)
    WHERE status IN ('assigned', 'in_segment');

CREATE INDEX assignments_of_contacts ON assignments (contact_id, ramp_id);

CREATE INDEX assignments_to_push ON assignments (wave_id, try_at, contact_id) WHERE status = 'assigned';

CREATE TABLE ramp_log (
    id integer PRIMARY KEY AUTOINCREMENT,
    ramp_id text NOT NULL,
    wave_id text,
    outcome text NOT NULL,
    actor text,
    data text NOT NULL,
    at integer NOT NULL
);

CREATE INDEX ramp_log_of_ramp ON ramp_log (ramp_id, id);

ALTER TABLE campaigns ADD COLUMN wave_id text;

-- However a wave's campaign gets there, its wave follows in the same transaction.
CREATE TRIGGER waves_go_with_their_campaign AFTER UPDATE OF state ON campaigns
WHEN NEW.wave_id IS NOT NULL AND NEW.state IN ('sending', 'sent') AND OLD.state <> NEW.state
BEGIN
    INSERT INTO ramp_log (ramp_id, wave_id, outcome, actor, data, at)
    SELECT ramp_id, id, CASE WHEN closed IS NULL THEN 'wave_sent' ELSE 'wave_sent_late' END, NULL, '{}',
        NEW.state_changed_at
    FROM waves WHERE id = NEW.wave_id AND (closed IS NULL OR closed = 'discarded');
    UPDATE ramps SET needs_operator = NULL, needs_operator_at = NULL
    WHERE needs_operator = 'send_unconfirmed'
        AND id = (SELECT ramp_id FROM waves WHERE id = NEW.wave_id AND closed IS NULL);
    UPDATE waves
    SET closed = CASE WHEN closed IS NULL THEN 'sent' ELSE 'sent_late' END, failed = NULL,
        sent_at = coalesce(sent_at, NEW.state_changed_at), closed_at = NEW.state_changed_at,
        activity_at = NEW.state_changed_at
    WHERE id = NEW.wave_id AND (closed IS NULL OR closed = 'discarded');
END;

CREATE TRIGGER waves_wait_for_their_campaign AFTER UPDATE OF state ON campaigns
WHEN NEW.wave_id IS NOT NULL AND NEW.state IN ('unknown', 'cancelled', 'failed') AND OLD.state <> NEW.state
BEGIN
    UPDATE ramps
    SET needs_operator = CASE NEW.state WHEN 'unknown' THEN 'send_unconfirmed' ELSE 'campaign_stopped' END,
        needs_operator_at = NEW.state_changed_at
    WHERE (needs_operator IS NULL OR needs_operator = 'send_unconfirmed')
        AND id = (SELECT ramp_id FROM waves WHERE id = NEW.wave_id AND closed IS NULL);
    UPDATE waves SET failed = 'campaign_' || NEW.state
    WHERE id = NEW.wave_id AND closed IS NULL AND NEW.state IN ('cancelled', 'failed');
END;
