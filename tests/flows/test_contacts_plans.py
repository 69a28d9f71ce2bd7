"""What an import and a look at one person ask of the store goes by an index, however many people there are."""

import json
import re
from contextlib import suppress

from campaignbridge.domain.audience import Suppressed
from campaignbridge.flows.people import suppress as suppress_people
from campaignbridge.store.sql import catalogue
from support.contacts import ACTOR, Desk
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


# What decision 25 says of a pick, as a ramp writes it.
WALK = """
INSERT INTO picked (contact_id)
WITH walk AS MATERIALIZED (
    SELECT * FROM ({branch} AND c.lot >= {seed} ORDER BY c.lot LIMIT {most}) AS behind
    UNION ALL
    SELECT * FROM ({branch} AND c.lot < {seed} ORDER BY c.lot LIMIT {most}) AS around
    LIMIT {most}
)
SELECT id FROM walk ORDER BY id
"""
ELIGIBLE = """SELECT c.id FROM contacts c WHERE c.audience_id = 1 AND c.erased_at IS NULL AND c.locale = 'de'
    AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.identity = c.identity)
    AND NOT EXISTS (SELECT 1 FROM picked p WHERE p.contact_id = c.id)"""


def test_waves_by_lots_take_everybody_once_in_the_order_of_the_seed(home, tmp_path):
    desk = Desk(home, tmp_path)
    rows = "".join(f"p{n}@example.com,{'de' if n % 3 else 'en'}\n" for n in range(600))
    desk.bring(f"email,lang\n{rows}".encode())
    suppress_people(
        desk.wiring, [f"p{n}@example.com" for n in range(0, 600, 7)], reason=Suppressed.BOUNCE, actor=ACTOR
    )
    home.rows("CREATE TABLE picked (contact_id bigint PRIMARY KEY)")
    people = desk.contacts()
    wanted = [people[f"p{n}@example.com"] for n in range(600) if n % 3 and n % 7]
    for seed in (0, 1 << 61, (1 << 63) - 1):
        ordered = [row["id"] for row in sorted(wanted, key=lambda row: (row["lot"] - seed) % (1 << 63))]
        seen = []
        while wave := picked_by(home, seed, 90, seen):
            assert wave == set(ordered[len(seen) : len(seen) + 90])
            seen += wave
        assert sorted(seen) == sorted(ordered)
        home.rows("DELETE FROM picked")


def picked_by(home, seed: int, most: int, before: list[int]) -> set[int]:
    home.rows(WALK.format(seed=seed, most=most, branch=ELIGIBLE))
    return {row["contact_id"] for row in home.rows("SELECT contact_id FROM picked")} - set(before)
