-- name: acknowledge
-- A person has looked at a possible double; nobody changed the campaign since it was looked at.
UPDATE campaigns SET flag = NULL, version = version + 1
WHERE id = :id AND version = :version AND flag LIKE 'possible_double%'

-- name: create
-- A campaign starts without anything at the provider. Zero rows: this id exists, since a duplicate's id is made
-- from its key.
INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner,
    state_changed_at, created_at)
VALUES (:id, :name, :connection_id, :audience, 'draft', 1, 1, 1, :owner, now_ms(), now_ms())
ON CONFLICT (id) DO NOTHING

-- name: create_for_wave
-- A wave's campaign is born approved, with its ramp's approval and whom its segment holds as its bound. A wave has one:
-- the unique index on waves says so.
INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner, approved_by,
    approved_at, approved_fingerprint, max_recipients, wave_id, state_changed_at, created_at)
VALUES (:id, :name, :connection_id, :audience, 'approved', 1, 1, 1, :owner, :approved_by, :approved_at,
    :approved_fingerprint, :max_recipients, :wave_id, now_ms(), now_ms())

-- name: copy_snapshot
-- The approved bytes, as they are; (campaign, revision) is the key.
INSERT INTO snapshots (campaign_id, revision, subject, preview_text, from_name, from_email, reply_to, html,
    text, fingerprint, created_at, created_by)
SELECT :campaign_id, 1, subject, preview_text, from_name, from_email, reply_to, html, text, fingerprint, now_ms(),
    created_by
FROM snapshots WHERE campaign_id = :source AND revision = :revision

-- name: snapshot
-- Insert-only; (campaign, revision) is the key.
INSERT INTO snapshots (campaign_id, revision, subject, preview_text, from_name, from_email, reply_to, html,
    text, fingerprint, created_at, created_by)
VALUES (:campaign_id, :revision, :subject, :preview_text, :from_name, :from_email, :reply_to, :html, :text,
    :fingerprint, now_ms(), :created_by)

-- name: get
-- One campaign with all that decisions about it need: its connection, the remote campaign of its present
-- generation, its open attempt, which other campaign holds its content, and the store's clock.
SELECT c.id, c.name, c.connection_id, c.audience, c.state, c.version, c.revision, c.generation,
    c.approved_by, c.approved_at, c.approved_fingerprint, c.max_recipients, c.owner, c.open_attempt,
    c.look_at, c.scheduled_for, c.stopped_reason, c.flag, c.state_changed_at, c.created_at,
    k.account, k.provider, k.label, k.account_label, k.base_url, k.key_env, k.key_id,
    k.key_sealed, k.verified_at, k.refused_at, k.refused_code, k.disconnected_at,
    r.remote_id, r.observed_status, r.raw_status, r.content_pending, r.writing_until, r.went, r.retired_at, r.spent, r.retiring_at,
    r.negative_attempt, r.negative_verdict, r.negative_answered_at, r.absent_at, r.recipient_count,
    r.emails_sent, r.observed_at, r.reconciled_at,
    a.operation AS attempt_operation, a.key AS attempt_key, a.request_hash AS attempt_request_hash,
    a.status AS attempt_status, a.remote_id AS attempt_remote_id, a.from_state AS attempt_from_state,
    a.generation AS attempt_generation, a.deadline_at AS attempt_deadline_at, a.actor AS attempt_actor,
    a.created_at AS attempt_created_at, a.answered_at AS attempt_answered_at,
    a.error_code AS attempt_error_code, a.schedule_at AS attempt_schedule_at,
    h.campaign_id AS content_holder, c.wave_id, w.label AS wave_label, w.since AS wave_since,
    p.slug AS ramp_slug,
    CASE WHEN EXISTS (SELECT 1 FROM attempts d WHERE d.campaign_id = c.id AND d.generation = c.generation
        AND d.operation IN ('send', 'schedule')) THEN 1 ELSE 0 END AS delivered,
    i.id AS installation, i.paused_since, now_ms() AS now
FROM campaigns c
JOIN connections k ON k.id = c.connection_id
JOIN installation i ON i.one = 1
LEFT JOIN remote_campaigns r ON r.campaign_id = c.id AND r.generation = c.generation
LEFT JOIN attempts a ON a.id = c.open_attempt
LEFT JOIN content_claims h ON h.account = k.account AND h.audience = c.audience
    AND h.fingerprint = c.approved_fingerprint AND h.campaign_id <> c.id AND h.until >= (SELECT now_ms())
LEFT JOIN waves w ON w.id = c.wave_id
LEFT JOIN ramps p ON p.id = w.ramp_id
WHERE c.id = :id

-- name: hold
-- Keeps the row until the transaction ends, so that no request of it is settled meanwhile. Whoever changes a wave by what
-- its campaign is takes this row first, and then the ramp's, as a campaign does that takes its wave along.
UPDATE campaigns SET version = version WHERE id = :id

-- name: snapshot_of
-- By key.
SELECT campaign_id, revision, subject, preview_text, from_name, from_email, reply_to, html, text,
    fingerprint, created_at, created_by
FROM snapshots WHERE campaign_id = :campaign_id AND revision = :revision

-- name: newest
-- For people, newest first; the page is bounded.
SELECT c.id, c.name, c.state, c.version, c.audience, c.open_attempt, c.look_at, c.stopped_reason, c.flag,
    c.state_changed_at, c.created_at, k.label
FROM campaigns c JOIN connections k ON k.id = c.connection_id
ORDER BY c.created_at DESC, c.id DESC
LIMIT :most

-- name: edit
-- A local change: nobody changed the campaign since it was looked at, and no request of it is unresolved. A wave's
-- campaign isn't changed by hand, but may be stopped.
UPDATE campaigns
SET state = :state, version = version + 1, revision = :revision, audience = :audience,
    approved_by = :approved_by,
    approved_at = CASE WHEN CAST(:approved_by AS text) IS NULL THEN NULL ELSE coalesce(approved_at, now_ms()) END,
    approved_fingerprint = :approved_fingerprint, max_recipients = :max_recipients,
    look_at = NULL, stopped_reason = NULL,
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE NULL END,
    state_changed_at = CASE WHEN state = :state THEN state_changed_at ELSE now_ms() END
WHERE id = :id AND version = :version AND open_attempt IS NULL AND state = :from_state
    AND (wave_id IS NULL OR :state = 'cancelled')

-- name: resolve
-- By an administrator: what can't be read is settled by hand. Nobody changed the campaign since it was looked
-- at; its open attempt, if any, is settled in the same transaction.
UPDATE campaigns
SET state = :state, version = version + 1, open_attempt = NULL, look_at = NULL, stopped_reason = NULL,
    flag = NULL, scheduled_for = NULL,
    approved_by = CASE WHEN :keep_approval = 1 THEN approved_by END,
    approved_at = CASE WHEN :keep_approval = 1 THEN approved_at END,
    approved_fingerprint = CASE WHEN :keep_approval = 1 THEN approved_fingerprint END,
    max_recipients = CASE WHEN :keep_approval = 1 THEN max_recipients END,
    state_changed_at = now_ms()
WHERE id = :id AND version = :version

-- name: claim
-- The intent: nobody changed the campaign since its checks, nothing of it is unresolved, and from now on
-- the request has an owner, the watch. What is to be delivered isn't known to have gone already, is no generation whose
-- send was in doubt, and isn't being retired.
UPDATE campaigns
SET open_attempt = :attempt_id, version = version + 1, look_at = :look_at, stopped_reason = NULL,
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE NULL END
WHERE id = :id AND version = :version AND state = :from_state AND open_attempt IS NULL
    AND (:delivers = 0 OR NOT EXISTS (SELECT 1 FROM remote_campaigns r
        WHERE r.campaign_id = campaigns.id AND r.generation = campaigns.generation
            AND (r.went = 1 OR r.spent = 1 OR r.retiring_at IS NOT NULL)))

-- name: settle
-- The open attempt is this one, so its outcome is recorded once; the version may have moved by nobody else
-- while it was open. A possible double stays flagged until a person has looked at it.
UPDATE campaigns
SET state = :state, version = version + 1, open_attempt = NULL,
    look_at = now_ms() + CAST(:look_in_ms AS bigint), stopped_reason = NULL,
    scheduled_for = CAST(:scheduled_for AS bigint),
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE :flag END,
    state_changed_at = CASE WHEN state = :state THEN state_changed_at ELSE now_ms() END
WHERE id = :id AND open_attempt = :attempt_id

-- name: doubt
-- The open attempt's answer told nothing: the campaign keeps it open and is unknown (or, for a create,
-- stays where it is).
UPDATE campaigns
SET state = :state, version = version + 1, look_at = now_ms() + CAST(:look_in_ms AS bigint),
    stopped_reason = NULL,
    state_changed_at = CASE WHEN state = :state THEN state_changed_at ELSE now_ms() END
WHERE id = :id AND open_attempt = :attempt_id

-- name: follow
-- No attempt is open and nobody changed the campaign since it was read.
UPDATE campaigns
SET state = :state, version = version + 1, look_at = now_ms() + CAST(:look_in_ms AS bigint),
    stopped_reason = NULL, scheduled_for = CAST(:scheduled_for AS bigint),
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE :flag END,
    state_changed_at = now_ms()
WHERE id = :id AND version = :version AND open_attempt IS NULL AND state <> :state

-- name: watch
-- Moves only the watch, never a version: the next look, or why looking has stopped, or what to flag. Nobody
-- changed the campaign since it was read.
UPDATE campaigns
SET look_at = now_ms() + CAST(:look_in_ms AS bigint), stopped_reason = :stopped_reason,
    scheduled_for = coalesce(CAST(:scheduled_for AS bigint), scheduled_for),
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE :flag END
WHERE id = :id AND version = :version

-- name: look_now
-- Wakes the watch whatever the version: a look can only read. A finished campaign isn't woken, nor one whose
-- request is open: that has its own time.
UPDATE campaigns SET look_at = now_ms(), stopped_reason = NULL
WHERE id = :id AND open_attempt IS NULL AND state NOT IN ('sent', 'cancelled', 'archived')

-- name: look_again
-- For a copy that becomes the real one: all that moves by itself or has an open request, also where looking had
-- stopped, since what was known then may be out of date. A look can only read.
UPDATE campaigns SET look_at = now_ms(), stopped_reason = NULL
WHERE open_attempt IS NOT NULL OR state IN ('scheduled', 'sending', 'unknown')
RETURNING id

-- name: alarm
-- For a possible double: flags a person, and has it looked at unless it is finished or a request is open. It is
-- a version of its own, so that whoever is checking or looking just now starts anew. The graver flag stays.
UPDATE campaigns
SET flag = CASE WHEN flag = 'possible_double' THEN flag ELSE :flag END, version = version + 1,
    look_at = CASE WHEN open_attempt IS NULL AND state NOT IN ('sent', 'cancelled', 'archived') THEN now_ms()
        ELSE look_at END,
    stopped_reason = CASE WHEN open_attempt IS NULL AND state NOT IN ('sent', 'cancelled', 'archived') THEN NULL
        ELSE stopped_reason END
WHERE id = :id
RETURNING look_at, version

-- name: flag
-- For a watch that goes on: says what a person should know. Nobody changed the campaign since it was read.
UPDATE campaigns SET flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE :flag END
WHERE id = :id AND version = :version AND look_at IS NOT NULL

-- name: postpone
-- The look that was due failed for a reason of ours: it is made later, and a person is told. The graver flag stays.
UPDATE campaigns
SET look_at = now_ms() + :look_in_ms,
    flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE :flag END
WHERE id = :id AND look_at <= now_ms()

-- name: unwatched
-- Everything that is to be looked at has one unfinished job that does it; what has none is found by the partial
-- index on look_at, the longest due first, and each job by its key.
SELECT id, look_at FROM campaigns
WHERE look_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.dedupe_key = 'watch_campaign:campaign:' || campaigns.id
        AND jobs.state IN ('queued', 'claimed'))
ORDER BY look_at, id
LIMIT :most_literal

-- name: next_generation
-- The present generation was made unsendable with a definite answer, in this transaction; nobody changed the
-- campaign since it was looked at, and no request of it is unresolved.
UPDATE campaigns
SET generation = generation + 1, state = :state, version = version + 1, look_at = NULL, stopped_reason = NULL,
    scheduled_for = NULL, flag = CASE WHEN flag LIKE 'possible_double%' THEN flag ELSE NULL END,
    state_changed_at = CASE WHEN state = :state THEN state_changed_at ELSE now_ms() END
WHERE id = :id AND version = :version AND open_attempt IS NULL AND generation = :generation
    AND EXISTS (SELECT 1 FROM remote_campaigns r WHERE r.campaign_id = campaigns.id
        AND r.generation = campaigns.generation AND r.retired_at IS NOT NULL AND r.went = 0)

-- name: stop_connection
-- The key is refused: nobody asks with it again until it works. What was to be looked at waits for a person.
UPDATE campaigns SET look_at = NULL, stopped_reason = :reason
WHERE connection_id = :connection_id AND look_at IS NOT NULL

-- name: restart_stopped
-- After a key opens the right account again: every watch of that connection that had stopped on it.
UPDATE campaigns SET look_at = now_ms(), stopped_reason = NULL
WHERE connection_id = :connection_id AND stopped_reason IN ('credential_refused', 'other_account')
RETURNING id
