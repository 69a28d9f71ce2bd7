DROP TRIGGER waves_follow_their_campaign ON campaigns;

DROP FUNCTION waves_follow;

ALTER TABLE campaigns DROP COLUMN wave_id;

DROP TABLE ramp_log;

DROP TABLE assignments;

DROP TABLE waves;

DROP TABLE ramp_exclusions;

DROP TABLE ramps;
