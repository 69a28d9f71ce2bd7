ALTER TABLE installation ADD COLUMN place text;

ALTER TABLE installation ADD COLUMN paused_since bigint;

-- a copy that is paused says why
ALTER TABLE installation ADD COLUMN paused_reason text CHECK ((paused_since IS NULL) = (paused_reason IS NULL));
