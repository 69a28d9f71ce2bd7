ALTER TABLE installation DROP COLUMN paused_reason;

ALTER TABLE installation DROP COLUMN paused_since;

ALTER TABLE installation DROP COLUMN place;
