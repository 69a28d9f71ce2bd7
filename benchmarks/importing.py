"""A CSV of people into an empty audience: ours against a hand-written loop that only parses and loads.

The raw loop trusts its file: no address is checked, nobody is looked up, nothing is counted, and it can't be
resumed. It fills the same table with the same indexes, in transactions of as many rows, each in a process of
its own so that the peak of memory is its own.
"""

import csv
import json
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psycopg

from benchmarks.stores import fresh, server
from campaignbridge.domain.actor import with_all_rights
from campaignbridge.flows import importing
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices, look_at
from support.stores import Home, wiring

COLUMNS = "audience_id, identity, email, attributes, locale, zone, lot, import_id, created_at, updated_at"


def measure(database: str, rows: int, rounds: int) -> Iterator[dict]:
    with server(database) as place, server("sqlite") as folder:
        path = f"{folder}/people.csv"
        write(path, rows)
        for number in range(rounds):
            for who in ("raw", "ours") if number % 2 == 0 else ("ours", "raw"):
                with fresh(database, place) as home:
                    yield {"who": who, **in_process(who, home, path)}


def write(path: str, rows: int) -> None:
    dice = random.Random(1)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["email", "first name", "city"])
        for row in range(rows):
            person = f"Person.{dice.getrandbits(24):x}.{row:x}@example{row % 97}.com"
            lines.writerow([person, f"Name{row % 5000}", f"City {row % 300}"])


def in_process(who: str, home: Home, path: str) -> dict:
    order = [sys.executable, "-m", "benchmarks.importing", who, home.dialect, home.where, path]
    return json.loads(subprocess.run(order, check=True, capture_output=True, text=True).stdout)


def ours(home: Home, path: str) -> None:
    actor = with_all_rights("bench")
    parts = wiring(home.store())
    importing.make_audience(parts, "big", actor=actor)
    table = look_at(path, Choices())
    importing.import_contacts(
        parts, table, "big", rejects=RejectsFile(path), tell=lambda *_: None, actor=actor
    )


def raw(home: Home, path: str) -> None:
    dice = random.Random(2)
    with Path(path).open(encoding="utf-8", newline="") as file:
        parsed = csv.reader(file)
        names = next(parsed)

        def contact(row: list[str]) -> tuple:
            email = row[0].strip()
            told = json.dumps(dict(zip(names[1:], row[1:], strict=True)))
            return (1, email.lower(), email, told, None, None, dice.getrandbits(63), 1, 0, 0)

        load = into_postgres if home.dialect == "postgres" else into_sqlite
        load(home.where, map(contact, parsed))


def into_sqlite(where: str, contacts: Iterator[tuple]) -> None:
    connection = sqlite3.connect(where, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    while batch := list(islice(contacts, importing.BATCH)):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            f"INSERT INTO contacts ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", batch
        )
        connection.execute("COMMIT")
    connection.close()


def into_postgres(where: str, contacts: Iterator[tuple]) -> None:
    with psycopg.connect(where) as connection:
        while batch := list(islice(contacts, importing.BATCH)):
            with connection.cursor() as cursor, cursor.copy(f"COPY contacts ({COLUMNS}) FROM STDIN") as copy:
                for row in batch:
                    copy.write_row(row)
            connection.commit()


def main() -> None:
    who, dialect, where, path = sys.argv[1:]
    home = Home(dialect, where)
    wall, cpu = time.perf_counter(), time.process_time()
    {"raw": raw, "ours": ours}[who](home, path)
    seconds, spent = time.perf_counter() - wall, time.process_time() - cpu
    home.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": spent, "peak_mb": peak}))


if __name__ == "__main__":
    main()
