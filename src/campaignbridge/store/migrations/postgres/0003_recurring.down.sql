DROP TRIGGER jobs_wake_workers ON jobs;

DROP FUNCTION wake_workers();

DROP TABLE workers;

DROP TABLE recurring;
