-- name: pick
-- Whom a wave mails next, in the audience's own order from one place to another: nobody erased or suppressed, nobody
-- who is or was in this ramp, nobody whom an excluded ramp mailed or holds, and only who passes the filters. The
-- index on (audience, lot) gives the order, so that the walk ends when enough are found; it has ended before the first
-- row is inserted, since they are then sorted by key.
INSERT INTO assignments (wave_id, contact_id, ramp_id, status, at)
SELECT :wave_id, walk.id, :ramp_id, 'assigned', now_ms()
FROM (
    SELECT c.id
    FROM contacts c
    WHERE c.audience_id = :audience_id AND c.lot >= :from_lot AND c.lot <= :until_lot AND c.erased_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity)
        AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.contact_id = c.id
            AND a.ramp_id = :ramp_id AND a.status IN ('assigned', 'in_segment', 'refused'))
        AND NOT EXISTS (SELECT 1 FROM ramp_exclusions e
            JOIN ramps o ON o.id = e.excluded_id
            JOIN contacts x ON x.audience_id = o.audience_id AND x.identity = c.identity
            JOIN assignments a ON a.contact_id = x.id AND a.ramp_id = e.excluded_id
            WHERE e.ramp_id = :ramp_id AND a.status IN ('assigned', 'in_segment'))
        AND (CAST(:locale AS text) IS NULL OR c.locale = :locale OR c.locale LIKE :locale || '-%')
        AND NOT EXISTS (SELECT 1 FROM json_each(:attributes) f
            WHERE coalesce(json_extract(c.attributes, '$."' || f.key || '"'), '') <> f.value)
        AND NOT EXISTS (SELECT 1 FROM json_each(:not_in) n
            JOIN contacts x ON x.audience_id = n.value AND x.identity = c.identity)
    ORDER BY c.lot
    LIMIT :most_literal
) AS walk
WHERE walk.id IS NOT NULL
ORDER BY walk.id
ON CONFLICT (wave_id, contact_id) DO UPDATE SET status = 'assigned', code = NULL, tries = 0, try_at = NULL,
    at = excluded.at
WHERE assignments.status = 'released'

-- name: by_index
-- SQLite goes by its indexes anyway.
SELECT 1 AS n

-- name: adopt
-- A segment that was there already: its members are this wave's, whatever was picked, but for who is live in another
-- wave of the ramp. By the unique identity.
INSERT INTO assignments (wave_id, contact_id, ramp_id, status, at)
SELECT :wave_id, c.id, :ramp_id, 'in_segment', now_ms()
FROM contacts c
WHERE c.audience_id = :audience_id AND c.identity IN (SELECT value FROM json_each(:identities))
    AND NOT EXISTS (SELECT 1 FROM assignments o WHERE o.contact_id = c.id AND o.ramp_id = :ramp_id
        AND o.wave_id <> :wave_id AND o.status IN ('assigned', 'in_segment'))
ON CONFLICT (wave_id, contact_id) DO UPDATE SET status = 'in_segment', code = NULL, at = excluded.at

-- name: counts
-- Of one wave, by its index.
SELECT status, count(*) AS n FROM assignments WHERE wave_id = :wave_id GROUP BY status

-- name: counts_of_ramp
-- Of all waves of a ramp.
SELECT wave_id, status, count(*) AS n FROM assignments
WHERE wave_id IN (SELECT id FROM waves WHERE ramp_id = :ramp_id) GROUP BY wave_id, status

-- name: to_push
-- Who is to be put into the segment now: picked, and not put off. By the index of what is to be pushed; whoever was
-- suppressed or erased since the pick is told, and goes nowhere.
SELECT a.contact_id, c.email, c.identity, c.attributes,
    CASE WHEN c.erased_at IS NOT NULL OR EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity) THEN 1
        ELSE 0 END AS gone
FROM assignments a JOIN contacts c ON c.id = a.contact_id
WHERE a.wave_id = :wave_id AND a.status = 'assigned' AND coalesce(a.try_at, 0) <= (SELECT now_ms())
ORDER BY a.contact_id
LIMIT :most_literal

-- name: next_try
-- When the first of those who were put off is due.
SELECT min(try_at) AS at FROM assignments WHERE wave_id = :wave_id AND status = 'assigned'

-- name: pushed
-- One contact's result: by key, and only while the contact is still to be pushed.
UPDATE assignments
SET status = :status, code = :code, tries = tries + 1, at = now_ms(),
    try_at = now_ms() + CAST(:again_in_ms AS bigint)
WHERE wave_id = :wave_id AND contact_id = :contact_id AND status = 'assigned'

-- name: release
-- Back to the pool, for a reason: by key, and never what went.
UPDATE assignments SET status = 'released', code = :code, at = now_ms()
WHERE wave_id = :wave_id AND contact_id = :contact_id AND status IN ('assigned', 'in_segment')
    AND EXISTS (SELECT 1 FROM waves w WHERE w.id = assignments.wave_id AND (w.closed IS NULL OR w.closed = 'discarded'))

-- name: release_all
-- After a discard, where it is proven that nobody was asked to mail them.
UPDATE assignments SET status = 'released', code = :code, at = now_ms()
WHERE wave_id = :wave_id AND status IN ('assigned', 'in_segment')
    AND EXISTS (SELECT 1 FROM waves w WHERE w.id = assignments.wave_id AND w.closed = 'discarded')
    AND NOT EXISTS (SELECT 1 FROM waves w JOIN attempts t ON t.campaign_id = w.campaign_id
        WHERE w.id = assignments.wave_id AND t.operation IN ('send', 'schedule'))

-- name: push_again
-- Who should be in the segment and isn't: pushed once more.
UPDATE assignments SET status = 'assigned', code = 'missing', try_at = NULL, at = now_ms()
WHERE wave_id = :wave_id AND contact_id = :contact_id AND status = 'in_segment'

-- name: confirm
-- Who is in the segment by its member list, though the push was never answered.
UPDATE assignments SET status = 'in_segment', code = NULL, at = now_ms()
WHERE wave_id = :wave_id AND contact_id = :contact_id AND status = 'assigned'

-- name: leave
-- Who is in the segment and can't be mailed there: the provider's list says that they left. Not tried again by this ramp.
UPDATE assignments SET status = 'refused', code = 'left', at = now_ms()
WHERE wave_id = :wave_id AND contact_id = :contact_id AND status IN ('assigned', 'in_segment')

-- name: members
-- Whom we count as in the segment, or as to be put there; page by page.
SELECT a.contact_id, a.status, a.tries, c.email, c.identity
FROM assignments a JOIN contacts c ON c.id = a.contact_id
WHERE a.wave_id = :wave_id AND a.status IN ('assigned', 'in_segment') AND a.contact_id > :after
ORDER BY a.contact_id
LIMIT :most_literal

-- name: refused
-- Whom the provider took into no segment, in the order of the wave's own key; an erased person is nobody any more.
SELECT c.email, a.code
FROM assignments a JOIN contacts c ON c.id = a.contact_id
WHERE a.wave_id = :wave_id AND a.status = 'refused' AND c.erased_at IS NULL
ORDER BY a.contact_id
LIMIT :most_literal

-- name: suppressed_since
-- Who was suppressed since the pick and still is in the segment: from the wave's people into the short list.
SELECT a.contact_id, c.email
FROM assignments a JOIN contacts c ON c.id = a.contact_id
WHERE a.wave_id = :wave_id AND a.status IN ('assigned', 'in_segment')
    AND (c.erased_at IS NOT NULL OR EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity))
ORDER BY a.contact_id
LIMIT :most_literal
