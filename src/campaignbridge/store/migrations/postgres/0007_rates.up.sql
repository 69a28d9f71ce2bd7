ALTER TABLE account_limits ADD COLUMN calls_per_s integer CHECK (calls_per_s BETWEEN 1 AND 1000);

-- until when turns were given out, in microseconds
ALTER TABLE account_limits ADD COLUMN turn_us bigint NOT NULL DEFAULT 0;

-- a send or schedule of it may have left and was settled as not applied: it is retired, and never sent
ALTER TABLE remote_campaigns ADD COLUMN spent integer NOT NULL DEFAULT 0;

-- since when it is being made unsendable: it read as a draft before, and is never sent
ALTER TABLE remote_campaigns ADD COLUMN retiring_at bigint;
