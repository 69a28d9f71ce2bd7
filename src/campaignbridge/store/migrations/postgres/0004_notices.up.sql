-- What a campaign needs a person for, and since when. One trigger keeps both, so that no statement which stops
-- or flags a campaign can forget to. A refused key is its connection's need, not that of each campaign.
ALTER TABLE campaigns ADD COLUMN need text;

ALTER TABLE campaigns ADD COLUMN need_since bigint;

UPDATE campaigns
SET need = CASE WHEN state = 'archived' THEN NULL
        WHEN flag LIKE 'possible_double%' THEN flag
        WHEN stopped_reason IN ('credential_refused', 'other_account') THEN NULL
        ELSE coalesce(stopped_reason, flag) END,
    need_since = state_changed_at
WHERE (stopped_reason IS NOT NULL OR flag IS NOT NULL) AND state <> 'archived';

CREATE FUNCTION keep_need_of_campaign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.need := CASE WHEN NEW.state = 'archived' THEN NULL
        WHEN NEW.flag LIKE 'possible_double%' THEN NEW.flag
        WHEN NEW.stopped_reason IN ('credential_refused', 'other_account') THEN NULL
        ELSE coalesce(NEW.stopped_reason, NEW.flag) END;
    IF coalesce(NEW.need, NEW.stopped_reason) IS DISTINCT FROM coalesce(OLD.need, OLD.stopped_reason) THEN
        NEW.need_since := CASE WHEN coalesce(NEW.need, NEW.stopped_reason) IS NOT NULL THEN now_ms() END;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER campaigns_need_a_person BEFORE UPDATE OF stopped_reason, flag, state ON campaigns
FOR EACH ROW
WHEN (OLD.stopped_reason IS DISTINCT FROM NEW.stopped_reason OR OLD.flag IS DISTINCT FROM NEW.flag
    OR (OLD.state = 'archived') <> (NEW.state = 'archived'))
EXECUTE FUNCTION keep_need_of_campaign();

CREATE INDEX campaigns_in_need ON campaigns (need_since, id) WHERE need IS NOT NULL;

CREATE INDEX campaigns_waiting_for_key ON campaigns (connection_id, stopped_reason, need_since)
    WHERE stopped_reason IN ('credential_refused', 'other_account');

CREATE INDEX campaigns_of_state ON campaigns (state, created_at, id);

CREATE INDEX campaigns_next ON campaigns (scheduled_for, id) WHERE state = 'scheduled';

CREATE INDEX attempts_unresolved ON attempts (status, created_at)
    WHERE status IN ('pending', 'unknown') AND operation <> 'test';

CREATE INDEX jobs_dead ON jobs (type, last_error, finished_at, id) WHERE state = 'dead';

-- Everything that needs a person, in one place: what Status lists is what notices tell. A watch that is two hours
-- late is stuck (an outage flags its campaigns after one), unless its job only waits for a worker: that is one
-- matter of the workers, not one of each campaign. A watch job that died has handed its campaign over.
CREATE VIEW needs AS
SELECT 'campaign' AS kind, id AS target, need AS reason, need_since AS since, 1::bigint AS n, NULL::text COLLATE "C" AS example
FROM campaigns WHERE need IS NOT NULL
UNION ALL
SELECT 'campaign', c.id, 'watch_stuck', c.look_at, 1, NULL
FROM campaigns c
WHERE c.look_at < (SELECT now_ms()) - 7200000 AND c.need IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.dedupe_key = 'watch_campaign:campaign:' || c.id
        AND j.state IN ('queued', 'claimed') AND j.attempts = 0)
UNION ALL
SELECT 'connection', k.id, 'credential_refused', k.refused_at,
    (SELECT count(*) FROM campaigns c
        WHERE c.connection_id = k.id AND c.stopped_reason IN ('credential_refused', 'other_account')),
    NULL
FROM connections k WHERE k.refused_at IS NOT NULL AND k.disconnected_at IS NULL
UNION ALL
SELECT 'connection', c.connection_id, c.stopped_reason, min(c.need_since), count(*), NULL
FROM campaigns c JOIN connections k ON k.id = c.connection_id
WHERE c.stopped_reason IN ('credential_refused', 'other_account')
    AND (c.stopped_reason = 'other_account' OR k.refused_at IS NULL OR k.disconnected_at IS NOT NULL)
GROUP BY c.connection_id, c.stopped_reason
UNION ALL
SELECT 'job', type COLLATE "C", coalesce(last_error, 'unknown'), min(finished_at), count(*), min(id)
FROM jobs WHERE state = 'dead' AND type <> 'watch_campaign'
GROUP BY type, last_error;

-- What was told, so that it is told once: a row lives as long as its need. Without an id it was only counted, in
-- the notice of kind `more` that spoke of it.
CREATE TABLE notices (
    kind text NOT NULL,
    target text COLLATE "C" NOT NULL,
    reason text NOT NULL,
    id text COLLATE "C" UNIQUE,
    others bigint NOT NULL DEFAULT 0,
    made_at bigint NOT NULL,
    PRIMARY KEY (kind, target, reason)
);
