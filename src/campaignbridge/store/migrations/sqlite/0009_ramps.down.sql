DROP TRIGGER waves_close_after_an_abort;

DROP TRIGGER waves_wait_for_their_campaign;

DROP TRIGGER waves_go_with_their_campaign;

ALTER TABLE campaigns DROP COLUMN wave_id;

DROP TABLE ramp_log;

DROP TABLE assignments;

DROP TABLE waves;

DROP TABLE ramp_exclusions;

DROP TABLE ramps;
