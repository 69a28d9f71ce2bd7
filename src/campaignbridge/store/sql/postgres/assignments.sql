-- name: pick
-- Whom a wave mails next; see the shared text. JSON is read by PostgreSQL's own functions.
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
        AND NOT EXISTS (SELECT 1 FROM json_each_text(CAST(:attributes AS json)) f
            WHERE coalesce(CAST(c.attributes AS json) ->> f.key, '') <> f.value)
        AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(CAST(:not_in AS json)) n
            JOIN contacts x ON x.audience_id = CAST(n.value AS bigint) AND x.identity = c.identity)
    ORDER BY c.lot
    LIMIT :most_literal
) AS walk
WHERE walk.id IS NOT NULL
ORDER BY walk.id
ON CONFLICT (wave_id, contact_id) DO UPDATE SET status = 'assigned', code = NULL, tries = 0, try_at = NULL,
    at = excluded.at
WHERE assignments.status = 'released'

-- name: by_index
-- For this transaction alone. Before the tables were analysed, PostgreSQL takes them for empty and looks through all of
-- the assignments for each contact: with 25,000 of them that is a minute instead of a tenth of a second.
SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
    set_config('statement_timeout', '120s', true)

-- name: adopt
-- A segment that was there already: its members are this wave's. By the unique identity.
INSERT INTO assignments (wave_id, contact_id, ramp_id, status, at)
SELECT :wave_id, c.id, :ramp_id, 'in_segment', now_ms()
FROM contacts c
WHERE c.audience_id = :audience_id
    AND c.identity IN (SELECT value FROM json_array_elements_text(CAST(:identities AS json)))
    AND NOT EXISTS (SELECT 1 FROM assignments o WHERE o.contact_id = c.id AND o.ramp_id = :ramp_id
        AND o.wave_id <> :wave_id AND o.status IN ('assigned', 'in_segment'))
ON CONFLICT (wave_id, contact_id) DO UPDATE SET status = 'in_segment', code = NULL, at = excluded.at
