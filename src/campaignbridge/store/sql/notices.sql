-- name: clear
-- What needs nobody any more is forgotten, so that it is told again when it comes back. A summary has no need of
-- its own: it is kept for a week. The list of needs is read once.
DELETE FROM notices
WHERE (kind <> 'more' AND (kind, target, reason) NOT IN (SELECT kind, target, reason FROM needs))
    OR (kind = 'more' AND made_at < (SELECT now_ms()) - 604800000)

-- name: untold
-- What needs a person and was not told yet, longest first. A notice that could not be delivered is no reason for
-- another one.
SELECT kind, target, reason FROM needs
WHERE (kind, target, reason) NOT IN (SELECT kind, target, reason FROM notices)
    AND NOT (kind = 'job' AND target = 'send_notice')
ORDER BY since, kind, target, reason LIMIT :most

-- name: make
-- One row for each need; zero rows: somebody else was faster, and tells it.
INSERT INTO notices (kind, target, reason, id, others, made_at)
VALUES (:kind, :target, :reason, :id, :others, now_ms())
ON CONFLICT DO NOTHING

-- name: cover
-- Everything else that was not told yet, in one statement: it is only counted, in the summary.
INSERT INTO notices (kind, target, reason, made_at)
SELECT kind, target, reason, now_ms() FROM needs
WHERE (kind, target, reason) NOT IN (SELECT kind, target, reason FROM notices)
    AND NOT (kind = 'job' AND target = 'send_notice')
ORDER BY kind, target, reason
ON CONFLICT DO NOTHING

-- name: of_id
-- A notice by its id, with its need as it is now; without one it was cleared meanwhile. A summary has none.
SELECT t.id, t.kind, t.others, t.made_at, n.target, n.reason, n.since, n.n, n.example, c.name AS campaign,
    p.name AS ramp, k.label, k.provider, k.base_url, now_ms() AS now
FROM notices t
LEFT JOIN needs n ON n.kind = t.kind AND n.target = t.target AND n.reason = t.reason
LEFT JOIN campaigns c ON n.kind = 'campaign' AND c.id = n.target
LEFT JOIN ramps p ON n.kind = 'ramp' AND p.slug = n.target
LEFT JOIN connections k ON k.id = CASE n.kind WHEN 'connection' THEN n.target WHEN 'ramp' THEN p.connection_id
    ELSE c.connection_id END
WHERE t.id = :id
