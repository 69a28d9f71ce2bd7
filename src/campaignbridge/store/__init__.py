"""Remembers. The only folder with SQL: named statements in `sql/`, shared by both databases.

`sql/postgres/` holds the few that must differ. Read `unit` first (a transaction and its repositories),
then `sql/campaigns.sql`. What may not live here: decisions, and calls to anybody but the database.
"""
