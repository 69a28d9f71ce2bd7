-- Recurring jobs: when each is queued next. A definition that changed is another row.
CREATE TABLE recurring (
    definition text COLLATE "C" PRIMARY KEY,
    next_at bigint NOT NULL,
    planned_at bigint NOT NULL
);

-- What really ran: the last completed tick and the last claim of every worker, cron's ticks included.
CREATE TABLE workers (
    holder text COLLATE "C" PRIMARY KEY,
    ticked_at bigint NOT NULL,
    claimed_at bigint,
    polling_since bigint
);

CREATE INDEX workers_by_tick ON workers (ticked_at);

-- A job that is due wakes the workers when its transaction commits, whoever queued it. Only a hint: they poll.
CREATE FUNCTION wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('campaignbridge_' || md5(TG_TABLE_SCHEMA), '');
    RETURN NULL;
END
$$;

CREATE TRIGGER jobs_wake_workers AFTER INSERT OR UPDATE OF run_at ON jobs
FOR EACH ROW WHEN (NEW.state = 'queued' AND NEW.run_at <= now_ms()) EXECUTE FUNCTION wake_workers();
