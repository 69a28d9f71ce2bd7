-- name: waves
-- Which of these remote ids are of waves: a wave's campaign of the event's own account, or what went for it by hand.
-- Each by its index; the ids come as one JSON list.
SELECT r.remote_id, w.id AS wave_id, p.list, w.sent_at, now_ms() AS now
FROM connections k
JOIN remote_campaigns r ON r.account = k.account AND r.remote_id IN (SELECT value FROM json_each(:remote_ids))
JOIN waves w ON w.campaign_id = r.campaign_id
JOIN ramps p ON p.id = w.ramp_id
WHERE k.id = :connection_id
UNION
SELECT w.broadcast_id, w.id, p.list, w.sent_at, now_ms()
FROM connections k
JOIN waves w ON w.broadcast_id IN (SELECT value FROM json_each(:remote_ids))
JOIN ramps p ON p.id = w.ramp_id
JOIN connections o ON o.id = p.connection_id AND o.account = k.account
WHERE k.id = :connection_id

-- name: add
-- By key: each person once for each wave, and only ever worse. Another order of the same events ends the same.
INSERT INTO wave_fates (wave_id, person, fate) VALUES (:wave_id, :person, :fate)
ON CONFLICT (wave_id, person) DO UPDATE SET fate = excluded.fate WHERE excluded.fate > wave_fates.fate

-- name: figures
-- In people, by the key's first half; whoever complained had got it. The waves come as one JSON list.
SELECT wave_id, sum(CASE WHEN fate IN (2, 4) THEN 1 ELSE 0 END) AS delivered,
    sum(CASE WHEN fate IN (1, 3) THEN 1 ELSE 0 END) AS bounced,
    sum(CASE WHEN fate = 4 THEN 1 ELSE 0 END) AS complained
FROM wave_fates WHERE wave_id IN (SELECT value FROM json_each(:wave_ids))
GROUP BY wave_id
