-- name: integrity
-- Reads every page and every index, and checks what the tables promise of their rows; the first complaint is enough.
SELECT integrity_check AS finding FROM pragma_integrity_check(1)

-- name: references
-- Rows that refer to others that aren't there.
SELECT count(*) AS n FROM pragma_foreign_key_check

-- name: owners
-- No state without an owner, asked of the rows themselves: what moves has a next look or a reason why not, and
-- the open request of a campaign is the only unresolved one that it has.
SELECT
    (SELECT count(*) FROM campaigns WHERE look_at IS NULL AND stopped_reason IS NULL
        AND (open_attempt IS NOT NULL OR state IN ('scheduled', 'sending', 'unknown'))) AS unowned,
    (SELECT count(*) FROM campaigns c WHERE c.open_attempt IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM attempts a WHERE a.id = c.open_attempt AND a.campaign_id = c.id
            AND a.status IN ('pending', 'unknown'))) AS without_request,
    (SELECT count(*) FROM attempts a WHERE a.status IN ('pending', 'unknown') AND a.operation <> 'test'
        AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = a.campaign_id AND c.open_attempt = a.id)) AS loose,
    (SELECT count(*) FROM installation) AS installations

-- name: counts
-- For people.
SELECT (SELECT count(*) FROM campaigns) AS campaigns, (SELECT count(*) FROM attempts) AS attempts,
    (SELECT count(*) FROM audit_events) AS events,
    (SELECT count(*) FROM jobs WHERE state IN ('queued', 'claimed')) AS unfinished_jobs

-- name: live
-- Who works in the store now, by what they hold: how many, and for how much longer at most.
SELECT (SELECT count(*) FROM jobs WHERE state = 'claimed' AND lease_until >= (SELECT now_ms()))
        + (SELECT count(*) FROM locks WHERE holder IS NOT NULL AND held_until >= (SELECT now_ms())) AS n,
    coalesce((SELECT max(lease_until) FROM jobs WHERE state = 'claimed'), 0) AS lease_until,
    coalesce((SELECT max(held_until) FROM locks WHERE holder IS NOT NULL), 0) AS held_until,
    now_ms() AS now
