DROP TABLE audience_readings;

DROP TABLE discoveries;
