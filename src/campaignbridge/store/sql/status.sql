-- name: totals
-- The store's clock, and how many things need a person; counting ends at a bound.
SELECT now_ms() AS now,
    (SELECT count(*) FROM (SELECT 1 FROM needs LIMIT :most_literal) AS counted) AS needs

-- name: needs
-- What needs a person, longest first, a page of it; with what it is called and where it belongs.
SELECT n.kind, n.target, n.reason, n.since, n.n, n.example, c.name AS campaign, p.name AS ramp, k.label,
    k.provider, k.base_url
FROM (SELECT kind, target, reason, since, n, example FROM needs
    ORDER BY since, kind, target, reason LIMIT :most_literal) n
LEFT JOIN campaigns c ON n.kind = 'campaign' AND c.id = n.target
LEFT JOIN ramps p ON n.kind = 'ramp' AND p.slug = n.target
LEFT JOIN connections k ON k.id = CASE n.kind WHEN 'connection' THEN n.target WHEN 'ramp' THEN p.connection_id
    ELSE c.connection_id END
ORDER BY n.since, n.kind, n.target, n.reason

-- name: states
-- How many campaigns are in each state; counting each ends at a bound, along the index.
WITH states (state) AS (VALUES ('draft'), ('ready_for_review'), ('approved'), ('provider_draft'), ('scheduled'),
    ('sending'), ('unknown'), ('sent'), ('failed'), ('cancelled'), ('archived'))
SELECT s.state, (SELECT count(*) FROM (SELECT 1 FROM campaigns c WHERE c.state = s.state
    ORDER BY c.created_at, c.id LIMIT :most_literal) AS counted) AS n
FROM states s

-- name: scheduled
-- What goes out next, by the provider's time.
SELECT c.id, c.name, c.scheduled_for, k.label
FROM campaigns c JOIN connections k ON k.id = c.connection_id
WHERE c.state = 'scheduled' AND c.scheduled_for IS NOT NULL
ORDER BY c.scheduled_for, c.id LIMIT :most

-- name: connections
-- For people, by label, with how many campaigns wait for a key that works.
SELECT k.id, k.label, k.provider, k.base_url, k.verified_at, k.refused_at, k.refused_code, k.disconnected_at,
    (SELECT count(*) FROM campaigns c WHERE c.connection_id = k.id
        AND c.stopped_reason IN ('credential_refused', 'other_account')) AS waiting
FROM connections k ORDER BY k.label LIMIT :most

-- name: unresolved
-- Requests without a confirmed outcome, by age; the index holds no others. Tests reach nobody but the tester.
SELECT status,
    sum(CASE WHEN created_at > now_ms() - 300000 THEN 1 ELSE 0 END) AS under_5_min,
    sum(CASE WHEN created_at <= now_ms() - 300000 AND created_at > now_ms() - 3600000 THEN 1 ELSE 0 END)
        AS under_1_h,
    sum(CASE WHEN created_at <= now_ms() - 3600000 AND created_at > now_ms() - 86400000 THEN 1 ELSE 0 END)
        AS under_1_day,
    sum(CASE WHEN created_at <= now_ms() - 86400000 THEN 1 ELSE 0 END) AS older
FROM attempts WHERE status IN ('pending', 'unknown') AND operation <> 'test'
GROUP BY status ORDER BY status
