DROP TABLE notices;

DROP VIEW needs;

DROP INDEX jobs_dead;

DROP INDEX attempts_unresolved;

DROP INDEX campaigns_next;

DROP INDEX campaigns_of_state;

DROP INDEX campaigns_waiting_for_key;

DROP INDEX campaigns_in_need;

DROP TRIGGER campaigns_need_a_person;

ALTER TABLE campaigns DROP COLUMN need_since;

ALTER TABLE campaigns DROP COLUMN need;
