DROP TABLE workers;

DROP TABLE recurring;
