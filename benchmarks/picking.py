"""Pick people for a wave: by the statement that a wave runs, against one hand-written INSERT ... SELECT.

The hand-written one sorts everybody by a hash. A tenth of the people is taken by a filter. Both fill a table like the
real one; the plan of ours goes to stderr.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import psycopg

from benchmarks.stores import fresh, server
from campaignbridge.flows.wave_people import place_of
from campaignbridge.store.assignments import TOP
from campaignbridge.store.sql import Statement, catalogue
from campaignbridge.store.unit import Store

PICK = 25_000
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
RAW = f"""INSERT INTO picked (wave_id, contact_id, ramp_id, status, at)
SELECT 'w', c.id, 'r', 'assigned', 0 FROM contacts c
WHERE c.audience_id = 1 AND c.erased_at IS NULL AND c.locale = 'en'
    AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity)
    AND NOT EXISTS (SELECT 1 FROM picked a WHERE a.contact_id = c.id AND a.ramp_id = 'r')
ORDER BY HASHED LIMIT {PICK}"""
HASHED = {"sqlite": "abs((c.id * 2654435761 + 7) % 4294967291)", "postgres": "hashint8extended(c.id, 7)"}
PICKED = {
    "sqlite": "CREATE TABLE picked (wave_id text, contact_id integer, ramp_id text, status text, code text, "
    "tries integer NOT NULL DEFAULT 0, try_at integer, at integer, PRIMARY KEY (wave_id, contact_id))",
    "postgres": "CREATE TABLE picked (LIKE assignments INCLUDING ALL)",
}
INDEXES = (
    "CREATE UNIQUE INDEX picked_live ON picked (ramp_id, contact_id) WHERE status IN ('assigned', 'in_segment')",
    "CREATE INDEX picked_of_contacts ON picked (contact_id, ramp_id)",
    "CREATE INDEX picked_to_push ON picked (wave_id, try_at, contact_id) WHERE status = 'assigned'",
)
START = place_of("a ramp's seed")
FACTS = {"wave_id": "w", "ramp_id": "r", "audience_id": 1, "locale": "en", "attributes": "{}", "not_in": "[]"}


class Undone(Exception):
    """Whatever was picked is rolled back."""


def _pick(store: Store) -> int:
    ramp, wave = SimpleNamespace(id="r", audience_id=1, filters={"locale": "en"}), SimpleNamespace(id="w")
    count = 0
    with suppress(Undone), store.unit() as unit:
        count = unit.assignments.pick(ramp, wave, start=START, most=PICK)
        raise Undone
    return count


def _explain(connection, database: str, statement: Statement) -> None:
    text = statement.filled({"most_literal": PICK})
    facts = {**FACTS, "from_lot": START, "until_lot": TOP - 1}
    if database == "sqlite":
        connection.create_function("now_ms", 0, lambda: 0)
    connection.execute(catalogue(database)["assignments.by_index"].text)
    explain = "EXPLAIN (ANALYZE, BUFFERS)" if database == "postgres" else "EXPLAIN QUERY PLAN"
    rows = connection.execute(f"{explain} {text}", facts).fetchall()
    print(*(row[-1] for row in rows), sep="\n", file=sys.stderr)
    connection.rollback()


def measure(database: str, rows: int, rounds: int) -> Iterator[dict]:
    with server(database) as place, fresh(database, place) as home:
        connect = psycopg.connect if database == "postgres" else sqlite3.connect
        connection = connect(home.where)
        connection.execute(FILL[database].replace("ROWS", str(rows)))
        connection.execute(PICKED[database])
        for text in INDEXES if database == "sqlite" else ():
            connection.execute(text)
        connection.commit()
        connection.execute("ANALYZE")
        connection.commit()
        raw = RAW.replace("HASHED", HASHED[database])
        texts = dict(catalogue(database))
        mine = texts["assignments.pick"]
        texts["assignments.pick"] = Statement(mine.text.replace("assignments", "picked"), mine.literals)
        store = Store(home.open(statements=texts))
        _explain(connection, database, texts["assignments.pick"])
        for number in range(rounds):
            for who in ("raw", "ours") if number % 2 == 0 else ("ours", "raw"):
                wall, cpu = time.perf_counter(), time.process_time()
                if who == "raw":
                    count = connection.execute(raw).rowcount
                    connection.rollback()
                else:
                    count = _pick(store)
                assert count == min(PICK, rows - rows // 10), count
                yield {
                    "who": who,
                    "seconds": time.perf_counter() - wall,
                    "cpu": time.process_time() - cpu,
                    "peak_mb": 0,
                }
        connection.close()
