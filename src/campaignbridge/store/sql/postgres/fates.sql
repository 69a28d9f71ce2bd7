-- name: waves
-- As in the shared text.
SELECT r.remote_id, w.id AS wave_id, p.list, w.sent_at, now_ms() AS now
FROM connections k
JOIN remote_campaigns r ON r.account = k.account
    AND r.remote_id = ANY(ARRAY(SELECT json_array_elements_text(CAST(:remote_ids AS json))))
JOIN waves w ON w.campaign_id = r.campaign_id
JOIN ramps p ON p.id = w.ramp_id
WHERE k.id = :connection_id
UNION
SELECT w.broadcast_id, w.id, p.list, w.sent_at, now_ms()
FROM connections k
JOIN waves w ON w.broadcast_id = ANY(ARRAY(SELECT json_array_elements_text(CAST(:remote_ids AS json))))
JOIN ramps p ON p.id = w.ramp_id
JOIN connections o ON o.id = p.connection_id AND o.account = k.account
WHERE k.id = :connection_id

-- name: figures
-- As in the shared text.
SELECT wave_id, sum(CASE WHEN fate IN (2, 4) THEN 1 ELSE 0 END) AS delivered,
    sum(CASE WHEN fate IN (1, 3) THEN 1 ELSE 0 END) AS bounced,
    sum(CASE WHEN fate = 4 THEN 1 ELSE 0 END) AS complained
FROM wave_fates WHERE wave_id = ANY(ARRAY(SELECT json_array_elements_text(CAST(:wave_ids AS json))))
GROUP BY wave_id
