-- name: about
-- By keys: what the ramp picks from, and whose content it mails.
SELECT a.slug AS audience, a.people, c.name AS content
FROM ramps r JOIN audiences a ON a.id = r.audience_id JOIN campaigns c ON c.id = r.source_campaign
WHERE r.id = :ramp_id

-- name: jobs
-- The unfinished tick of a ramp and the unfinished step of its open wave, by the unique index of their keys.
SELECT type, state, run_at, holder, lease_until, attempts, last_error FROM jobs
WHERE dedupe_key IN (:tick_key, :step_key) AND state IN ('queued', 'claimed')
ORDER BY type

-- name: waves_of_page
-- The waves of the ramps that are listed; each has few.
SELECT id, ramp_id, tier, label, run_id, step, failed, closed, requested, picked, underfilled_by, since,
    asked_at, segment_id, exported_at, pushing_until, verified, campaign_id, by_hand, broadcast_id, sent_at,
    verdict, delivered, bounced, complained, figures_at, waived, opened_at, activity_at, closed_at, now_ms() AS now
FROM waves
WHERE ramp_id IN (SELECT id FROM (SELECT id FROM ramps
    ORDER BY CASE WHEN ended IS NULL THEN 0 ELSE 1 END, created_at DESC, id LIMIT :most_literal) AS page)
ORDER BY opened_at, id

-- name: ticks_of_page
-- When each of the ramps that are listed ticks next, by the unique index of the jobs' keys.
SELECT page.id, j.run_at
FROM (SELECT id FROM ramps
    ORDER BY CASE WHEN ended IS NULL THEN 0 ELSE 1 END, created_at DESC, id LIMIT :most_literal) AS page
JOIN jobs j ON j.dedupe_key = 'ramp_tick:ramp:' || page.id AND j.state IN ('queued', 'claimed')

-- name: left
-- Drafts of a ramp's waves that were written off, and that nobody has proven to be unsendable; a wave's campaign has
-- few generations. What went is none of them.
SELECT w.label, w.id AS wave_id, c.id AS campaign_id, x.remote_id
FROM waves w
JOIN campaigns c ON c.id = w.campaign_id
JOIN remote_campaigns x ON x.campaign_id = c.id
WHERE w.ramp_id = :ramp_id AND w.closed = 'discarded' AND x.remote_id IS NOT NULL AND x.retired_at IS NULL
    AND x.went = 0 AND coalesce(x.observed_status, 'draft') IN ('draft', 'scheduled', 'untracked')
ORDER BY w.opened_at, w.id, x.generation

-- name: of_person
-- Which waves somebody was picked for, by the index of assignments of a contact; newest last. With what the
-- provider's signed events said of their mail.
SELECT r.slug AS ramp, w.label, w.closed, a.status, a.code, a.at, w.sent_at, f.fate
FROM audiences d
JOIN contacts c ON c.audience_id = d.id AND c.identity = :identity
JOIN assignments a ON a.contact_id = c.id
JOIN waves w ON w.id = a.wave_id
JOIN ramps r ON r.id = w.ramp_id
LEFT JOIN wave_fates f ON f.wave_id = w.id AND f.person = :person
ORDER BY a.at, w.id
LIMIT :most_literal
