"""Pick people for a wave: by the stored lots against one hand-written INSERT ... SELECT that sorts all by a hash.

A tenth of the people is taken by an exclusion. Both fill the same table; the plan of ours goes to stderr.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator

import psycopg

from benchmarks.stores import fresh, server

PICK = 25_000
SEED = 4_611_686_018_427_387_904
PEOPLE = """INSERT INTO contacts (
    audience_id, identity, email, attributes, locale, zone, lot, import_id, created_at, updated_at
)
SELECT 1, 'p' || i || '@example.com', 'p' || i || '@example.com', '{}', CASE i % 10 WHEN 0 THEN 'fr' ELSE 'en' END,
    NULL, LOT & 9223372036854775807, 1, 0, 0 FROM NUMBERS"""
FILL = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ROWS) "
    + PEOPLE.replace("LOT", "random()").replace("NUMBERS", "n"),
    "postgres": PEOPLE.replace("LOT", "hashint8extended(i, 7)").replace(
        "NUMBERS", "generate_series(1, ROWS) AS i"
    ),
}
ELIGIBLE = """c.audience_id = 1 AND c.erased_at IS NULL AND c.locale = 'en'
    AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity)
    AND NOT EXISTS (SELECT 1 FROM picked p WHERE p.contact_id = c.id)"""
BRANCH = f"SELECT c.id FROM contacts c WHERE c.lot SIDE {SEED} AND {ELIGIBLE} ORDER BY c.lot LIMIT {PICK}"
# Sorted by key, so that the walk has ended before the first row is inserted: PostgreSQL, told that `picked` is
# empty, looks through all of it for each contact, and would find it growing under its own hands. MATERIALIZED,
# because SQLite 3.40 moves the outer ORDER BY before the LIMIT of a UNION ALL inside, and then picks others.
OURS = f"""INSERT INTO picked (contact_id)
WITH walk AS MATERIALIZED (
    SELECT * FROM ({BRANCH.replace("SIDE", ">=")}) AS behind
    UNION ALL
    SELECT * FROM ({BRANCH.replace("SIDE", "<")}) AS around
    LIMIT {PICK}
)
SELECT id FROM walk ORDER BY id"""
RAW = f"INSERT INTO picked (contact_id) SELECT c.id FROM contacts c WHERE {ELIGIBLE} ORDER BY HASHED LIMIT {PICK}"
HASHED = {"sqlite": "abs((c.id * 2654435761 + 7) % 4294967291)", "postgres": "hashint8extended(c.id, 7)"}


def measure(database: str, rows: int, rounds: int) -> Iterator[dict]:
    with server(database) as place, fresh(database, place) as home:
        connect = psycopg.connect if database == "postgres" else sqlite3.connect
        connection = connect(home.where)
        connection.execute(FILL[database].replace("ROWS", str(rows)))
        connection.execute("CREATE TABLE picked (contact_id bigint PRIMARY KEY)")
        connection.commit()
        connection.execute("ANALYZE")
        connection.commit()
        explain = "EXPLAIN (ANALYZE, BUFFERS)" if database == "postgres" else "EXPLAIN QUERY PLAN"
        print(
            *(row[-1] for row in connection.execute(f"{explain} {OURS}").fetchall()),
            sep="\n",
            file=sys.stderr,
        )
        connection.rollback()
        raw = RAW.replace("HASHED", HASHED[database])
        for number in range(rounds):
            for who, text in (
                (("raw", raw), ("ours", OURS)) if number % 2 == 0 else (("ours", OURS), ("raw", raw))
            ):
                wall, cpu = time.perf_counter(), time.process_time()
                count = connection.execute(text).rowcount
                assert count == min(PICK, rows - rows // 10), count
                yield {
                    "who": who,
                    "seconds": time.perf_counter() - wall,
                    "cpu": time.process_time() - cpu,
                    "peak_mb": 0,
                }
                connection.rollback()
        connection.close()
