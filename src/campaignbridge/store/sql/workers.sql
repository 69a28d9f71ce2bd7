-- name: ticked
-- By key, so the row is this worker's own. It says what a tick has done and what is left for it to do, all in
-- one statement, since most ticks find nothing: how many of the known recurring jobs are planned; how many of
-- them need a hand (due, or planned by a clock that has been set back since) or are forgotten (nobody knows
-- them, and nobody has queued them for an hour); whether anything is old enough to be cleared away; whether this
-- is a copy that is paused.
INSERT INTO workers (holder, ticked_at, claimed_at, polling_since)
VALUES (:holder, now_ms(), now_ms() - CAST(:claimed_ms_ago AS bigint), now_ms() - CAST(:polling_ms AS bigint))
ON CONFLICT (holder) DO UPDATE
SET ticked_at = now_ms(),
    claimed_at = coalesce(now_ms() - CAST(:claimed_ms_ago AS bigint), workers.claimed_at),
    polling_since = now_ms() - CAST(:polling_ms AS bigint)
RETURNING now_ms() AS now,
    (SELECT count(*) FROM installation WHERE paused_since IS NOT NULL) AS paused,
    (SELECT count(*) FROM recurring
        WHERE replace(:known, '|' || definition || '|', '') <> :known) AS planned,
    (SELECT count(*) FROM recurring
        WHERE CASE WHEN replace(:known, '|' || definition || '|', '') <> :known
            THEN next_at <= now_ms() OR planned_at > now_ms()
            ELSE next_at < now_ms() - 3600000 END) AS unsettled,
    CASE WHEN (SELECT min(finished_at) FROM jobs WHERE state = 'succeeded' AND finished_at IS NOT NULL) < now_ms() - :keep_ms
        OR (SELECT min(finished_at) FROM jobs WHERE state = 'failed' AND finished_at IS NOT NULL) < now_ms() - :keep_failed_ms
        OR (SELECT min(finished_at) FROM jobs WHERE state = 'dead' AND finished_at IS NOT NULL) < now_ms() - :keep_failed_ms
        OR (SELECT min(old.ticked_at) FROM workers old) < now_ms() - 86400000
    THEN 1 ELSE 0 END AS has_old

-- name: forget
-- Workers that have not ticked for an hour. They are looked for once a day has passed, so that cron's ticks,
-- each with a name of its own, don't cost a statement each.
DELETE FROM workers WHERE ticked_at < (SELECT now_ms()) - 3600000

-- name: newest
-- For people; bounded.
SELECT holder, ticked_at, claimed_at, polling_since FROM workers ORDER BY ticked_at DESC, holder LIMIT :most
