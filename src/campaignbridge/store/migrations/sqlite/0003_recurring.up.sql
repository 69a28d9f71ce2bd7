-- Recurring jobs: when each is queued next. A definition that changed is another row.
CREATE TABLE recurring (
    definition text PRIMARY KEY,
    next_at integer NOT NULL,
    planned_at integer NOT NULL
);

-- What really ran: the last completed tick and the last claim of every worker, cron's ticks included.
CREATE TABLE workers (
    holder text PRIMARY KEY,
    ticked_at integer NOT NULL,
    claimed_at integer,
    polling_since integer
);

CREATE INDEX workers_by_tick ON workers (ticked_at);
