"""What an import and a look at one person ask of the store goes by an index, however many people there are."""

import json
import re
from contextlib import suppress

from campaignbridge.store.sql import catalogue
from support.contacts import Desk
from support.stores import Home

pytest_plugins = ["support.stores"]

PEOPLE = 20_000
SOME = json.dumps([f"p{number}@example.com" for number in range(50)])
CASES = {
    "audiences.known": {"audience_id": 1, "identities": SOME},
    "audiences.of_person": {"identity": "p7@example.com"},
    "audiences.change": {"id": 7, "attributes": "{}", "locale": None, "zone": None},
    "audiences.erase": {"identity": "p7@example.com", "erased": "erased:00"},
    "suppressions.among": {"identities": SOME},
    "suppressions.any_erased": {},
}


class Undone(Exception):
    """Rolls a measurement back."""


def plan_of(home: Home, name: str) -> list[str]:
    text = catalogue(home.dialect)[name].filled(CASES[name])
    with suppress(Undone), home.open().transaction() as tx:
        if home.dialect == "sqlite":
            lines = [
                row["detail"] for row in tx._connection.execute(f"EXPLAIN QUERY PLAN {text}", CASES[name])
            ]
        else:
            rows = tx._connection.execute(f"EXPLAIN {text}".encode(), CASES[name]).fetchall()
            lines = [row["QUERY PLAN"] for row in rows]
        raise Undone
    return lines


def test_no_statement_of_an_import_looks_through_all_people(home, tmp_path):
    Desk(home, tmp_path).bring(b"email\n" + b"".join(b"p%d@example.com\n" % n for n in range(PEOPLE)))
    home.rows(
        "INSERT INTO suppressions (identity, reason, rank, source, at) "
        "SELECT identity, 'manual', 1, 'by_hand', 1 FROM contacts"
    )
    home.rows("ANALYZE")
    for name in CASES:
        plan = plan_of(home, name)
        assert plan, name
        found = [line for line in plan if re.search(r"SCAN (c|e|s|contacts|suppressions)\b(?! USING)", line)]
        found += [line for line in plan if re.search(r"Seq Scan on (contacts|suppressions)", line)]
        assert not found, (name, plan)
