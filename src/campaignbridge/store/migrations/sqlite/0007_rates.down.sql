ALTER TABLE remote_campaigns DROP COLUMN retiring_at;

ALTER TABLE remote_campaigns DROP COLUMN spent;

ALTER TABLE account_limits DROP COLUMN turn_us;

ALTER TABLE account_limits DROP COLUMN calls_per_s;
