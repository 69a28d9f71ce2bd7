DROP TABLE suppressions;

DROP TABLE contacts;

DROP TABLE imports;

DROP TABLE audiences;

DROP TABLE person_key;
