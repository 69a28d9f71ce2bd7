ALTER TABLE campaigns DROP COLUMN webhook_woken_at;

DROP TABLE webhook_events;

DROP TABLE webhook_endpoints;
