"""Real processes that import are ended by kill -9 in the middle; the next one goes on, and nobody is twice."""

import csv
import random
from pathlib import Path

import pytest

from support.contacts import Desk, big, child_imports
from support.stores import Child

pytest_plugins = ["support.stores"]

ROWS = 3_000
BATCH = 100


@pytest.mark.parametrize("seed", [1, 2])
def test_an_import_that_is_killed_again_and_again_ends_with_everybody_once(home, tmp_path, seed):
    dice = random.Random(seed)
    desk = Desk(home, tmp_path)
    path = desk.file(big(ROWS, seed=seed))
    heard = 0
    for _ in range(3):
        child = Child(home, child_imports, str(tmp_path), path, BATCH)
        try:
            for _ in range(dice.randint(1, 7)):
                heard = child.hear()
        finally:
            child.kill()  # wherever it is by now: reading, writing rejects, in a transaction, committing
            child.close()
    assert heard < ROWS, "it was killed before its end"
    (mark,) = home.rows("SELECT rows_read, finished_at FROM imports")
    assert mark["rows_read"] >= heard
    assert mark["finished_at"] is None
    last = Child(home, child_imports, str(tmp_path), path, BATCH)
    try:
        while not isinstance(done := last.hear(), dict):
            pass
    finally:
        last.close()
    people = ROWS - 10 - ROWS // 100
    assert (done["added"], done["merged"], done["unchanged"], done["rejected"]) == (
        people,
        0,
        ROWS // 100,
        10,
    )
    assert done["resumed_at"] == mark["rows_read"]
    assert done["repeated"] == ROWS // 100
    found = home.rows("SELECT count(*) AS n, count(DISTINCT identity) AS people FROM contacts")
    assert found == [{"n": people, "people": people}]
    assert home.rows("SELECT people FROM audiences") == [{"people": people}]
    with Path(done["rejects"]).open(encoding="utf-8", newline="") as file:
        lines = [row[0] for row in csv.reader(file)][1:]
    assert len(lines) == len(set(lines)) == 10
    (event,) = home.rows("SELECT kind FROM audit_events WHERE kind = 'contacts_imported'")
    assert event
