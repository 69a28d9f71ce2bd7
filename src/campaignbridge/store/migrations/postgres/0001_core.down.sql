DROP VIEW attempts_readable;

DROP VIEW campaigns_readable;

DROP TABLE jobs;

DROP TABLE account_slots;

DROP TABLE account_limits;

DROP TABLE locks;

DROP TABLE audit_events;

DROP TABLE content_claims;

DROP TABLE remote_campaigns;

DROP TABLE attempts;

DROP TABLE snapshots;

DROP TABLE campaigns;

DROP TABLE connections;

DROP TABLE installation;

DROP FUNCTION snapshots_are_frozen();

DROP FUNCTION attempts_settle_once();

DROP FUNCTION now_ms();
