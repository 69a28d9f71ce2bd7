CREATE TABLE ramps (
    id text COLLATE "C" PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    connection_id text COLLATE "C" NOT NULL REFERENCES connections (id),
    list text NOT NULL,
    audience_id bigint NOT NULL,
    plan text NOT NULL,
    label_offset bigint NOT NULL,
    filters text NOT NULL,
    seed text NOT NULL,
    source_campaign text NOT NULL REFERENCES campaigns (id),
    source_revision bigint NOT NULL,
    approved_by text NOT NULL,
    approved_at bigint NOT NULL,
    approved_fingerprint text NOT NULL,
    cron text,
    zone text NOT NULL,
    delegated_by text NOT NULL,
    ended text CHECK (ended IN ('complete', 'aborted')),
    ended_at bigint,
    paused_at bigint,
    gate_tripped_at bigint,
    gate_tripped text,
    needs_operator text,
    needs_operator_at bigint,
    total_waived text,
    created_at bigint NOT NULL,
    CHECK ((ended IS NULL) = (ended_at IS NULL)),
    CHECK ((gate_tripped_at IS NULL) = (gate_tripped IS NULL)),
    CHECK ((needs_operator IS NULL) = (needs_operator_at IS NULL))
);

-- An audience has one ramp that goes on: two would mail the same people.
CREATE UNIQUE INDEX ramps_one_per_audience ON ramps (audience_id) WHERE ended IS NULL;

CREATE TABLE ramp_exclusions (
    ramp_id text COLLATE "C" NOT NULL REFERENCES ramps (id),
    excluded_id text COLLATE "C" NOT NULL REFERENCES ramps (id),
    PRIMARY KEY (ramp_id, excluded_id)
);

CREATE TABLE waves (
    id text COLLATE "C" PRIMARY KEY,
    ramp_id text COLLATE "C" NOT NULL REFERENCES ramps (id),
    tier bigint,
    label text NOT NULL,
    run_id text NOT NULL,
    step text NOT NULL CHECK (step IN ('picking', 'picked', 'segment_created', 'pushed', 'verified',
        'draft_ready', 'looked')),
    failed text,
    closed text CHECK (closed IN ('sent', 'sent_late', 'discarded')),
    requested bigint NOT NULL,
    picked bigint NOT NULL DEFAULT 0,
    underfilled_by text,
    since bigint NOT NULL,
    asked_at bigint,
    segment_id text,
    exported_at bigint,
    pushing_until bigint,
    verified bigint,
    campaign_id text COLLATE "C" REFERENCES campaigns (id),
    by_hand bigint NOT NULL DEFAULT 0,
    broadcast_id text,
    sent_at bigint,
    verdict text,
    delivered bigint NOT NULL DEFAULT 0,
    bounced bigint NOT NULL DEFAULT 0,
    complained bigint NOT NULL DEFAULT 0,
    figures_at bigint,
    waived text,
    opened_at bigint NOT NULL,
    activity_at bigint NOT NULL,
    closed_at bigint,
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
    wave_id text COLLATE "C" NOT NULL REFERENCES waves (id),
    contact_id bigint NOT NULL,
    ramp_id text COLLATE "C" NOT NULL,
    status text NOT NULL CHECK (status IN ('assigned', 'in_segment', 'refused', 'released')),
    code text,
    tries bigint NOT NULL DEFAULT 0,
    try_at bigint,
    at bigint NOT NULL,
    PRIMARY KEY (wave_id, contact_id)
);

-- A person is live in one wave of a ramp at most; what was mailed stays live for ever.
CREATE UNIQUE INDEX assignments_live ON assignments (ramp_id, contact_id)
    WHERE status IN ('assigned', 'in_segment');

CREATE INDEX assignments_of_contacts ON assignments (contact_id, ramp_id);

CREATE INDEX assignments_to_push ON assignments (wave_id, try_at, contact_id) WHERE status = 'assigned';

CREATE TABLE ramp_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ramp_id text COLLATE "C" NOT NULL,
    wave_id text COLLATE "C",
    outcome text NOT NULL,
    actor text,
    data text NOT NULL,
    at bigint NOT NULL
);

CREATE INDEX ramp_log_of_ramp ON ramp_log (ramp_id, id);

ALTER TABLE campaigns ADD COLUMN wave_id text COLLATE "C";

-- However a wave's campaign gets there, its wave follows in the same transaction. It went when it is being sent or was,
-- and when it was stopped after a send that isn't known to have failed: then some were mailed, or may have been.
CREATE FUNCTION waves_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    went boolean := NEW.state IN ('sending', 'sent') OR (NEW.state = 'cancelled' AND EXISTS (SELECT 1 FROM attempts a
        WHERE a.campaign_id = NEW.id AND a.operation = 'send' AND a.status <> 'failed'));
BEGIN
    IF OLD.state <> NEW.state AND went THEN
        INSERT INTO ramp_log (ramp_id, wave_id, outcome, actor, data, at)
        SELECT ramp_id, id, CASE WHEN closed IS NULL THEN 'wave_sent' ELSE 'wave_sent_late' END, NULL, '{}',
            NEW.state_changed_at
        FROM waves WHERE id = NEW.wave_id AND (closed IS NULL OR closed = 'discarded');
        UPDATE ramps SET needs_operator = NULL, needs_operator_at = NULL
        WHERE needs_operator IN ('send_unconfirmed', 'campaign_stopped', 'wave_failed', 'step_failed', 'force_released')
            AND id = (SELECT ramp_id FROM waves WHERE id = NEW.wave_id AND closed IS NULL);
        UPDATE assignments SET status = 'in_segment', code = 'sent_late', at = NEW.state_changed_at
        WHERE wave_id = NEW.wave_id AND status = 'released' AND code = 'discarded'
            AND NOT EXISTS (SELECT 1 FROM assignments o WHERE o.ramp_id = assignments.ramp_id
                AND o.contact_id = assignments.contact_id AND o.status IN ('assigned', 'in_segment'));
        UPDATE waves
        SET closed = CASE WHEN closed IS NULL THEN 'sent' ELSE 'sent_late' END, failed = NULL,
            sent_at = coalesce(sent_at, NEW.state_changed_at), closed_at = NEW.state_changed_at,
            activity_at = NEW.state_changed_at
        WHERE id = NEW.wave_id AND (closed IS NULL OR closed = 'discarded');
    -- What stands still needs a person: not confirmed, stopped, failed, or taken off a schedule.
    ELSIF OLD.state <> NEW.state AND (NEW.state IN ('unknown', 'failed', 'cancelled')
        OR (NEW.state = 'provider_draft' AND OLD.state = 'scheduled')) THEN
        UPDATE ramps
        SET needs_operator = CASE NEW.state WHEN 'unknown' THEN 'send_unconfirmed' ELSE 'campaign_stopped' END,
            needs_operator_at = NEW.state_changed_at
        WHERE (needs_operator IS NULL OR needs_operator = 'send_unconfirmed') AND ended IS NULL
            AND id = (SELECT ramp_id FROM waves WHERE id = NEW.wave_id AND closed IS NULL);
        UPDATE waves SET failed = CASE NEW.state WHEN 'provider_draft' THEN 'campaign_unscheduled'
            ELSE 'campaign_' || NEW.state END
        WHERE id = NEW.wave_id AND closed IS NULL AND NEW.state IN ('cancelled', 'failed', 'provider_draft');
    END IF;
    -- An aborted ramp's wave with an open request stays until that settles, and then closes as what happened.
    IF NEW.open_attempt IS NULL AND OLD.open_attempt IS NOT NULL AND NOT went
        AND NEW.state IN ('approved', 'provider_draft', 'failed', 'cancelled') THEN
        INSERT INTO ramp_log (ramp_id, wave_id, outcome, actor, data, at)
        SELECT w.ramp_id, w.id, 'wave_discarded', NULL, '{}', NEW.state_changed_at
        FROM waves w JOIN ramps r ON r.id = w.ramp_id
        WHERE w.id = NEW.wave_id AND w.closed IS NULL AND r.ended IS NOT NULL;
        UPDATE waves SET closed = 'discarded', closed_at = NEW.state_changed_at, activity_at = NEW.state_changed_at
        WHERE id = NEW.wave_id AND closed IS NULL
            AND EXISTS (SELECT 1 FROM ramps r WHERE r.id = waves.ramp_id AND r.ended IS NOT NULL);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER waves_follow_their_campaign AFTER UPDATE OF state, open_attempt ON campaigns FOR EACH ROW
WHEN (NEW.wave_id IS NOT NULL)
EXECUTE FUNCTION waves_follow();
