"""With hundreds of thousands of rows the hot statements use their indexes, and read little.

The plan is asked for, and the statement is also run and measured: an index that is walked from end to end
looks good in a plan.
"""

# ruff: noqa: PT012  a block that fails, and is rolled back as a whole, is what is tested

import json
import os
import re

import pytest

from campaignbridge.domain.job import Request
from campaignbridge.engine.tick import KEEP_FAILED_MS, KEEP_SUCCEEDED_MS, PURGE_CHUNK
from campaignbridge.store.sql import catalogue
from support import postgres
from support.stores import home_of, seed_campaign

pytest_plugins = ["support.stores"]

MANY = int(os.environ.get("CAMPAIGNBRIDGE_PLAN_ROWS", "100000"))  # of each kind
FUTURE_MS = 10 * 24 * 3_600_000

JOB = "id, type, target, dedupe_key, payload, state, attempts, max_attempts, run_at, created_at, updated_at"
SERIES = {
    "sqlite": "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count})",
    "postgres": "WITH s (n) AS (SELECT generate_series(1, {count}))",
}
QUEUED = f"""
INSERT INTO jobs ({JOB}) {{series}}
SELECT 'q' || n, 'work', 't' || n, 'work:t' || n, '', 'queued', 0, 5, now_ms() + {FUTURE_MS} + n, 1, 1 FROM s
"""
FINISHED = f"""
INSERT INTO jobs ({JOB}, finished_at) {{series}}
SELECT 'f' || n, 'work', 't' || n, 'work:t' || n, '',
    CASE WHEN n % 2 = 0 THEN 'succeeded' WHEN n % 4 = 1 THEN 'failed' ELSE 'dead' END,
    1, 5, n, 1, 1, now_ms() - n - CASE WHEN n % 2 = 0 THEN 0 ELSE {KEEP_SUCCEEDED_MS} END
FROM s
"""
LOCKS = """
INSERT INTO locks (key, fence, acquired_at, held_until) {series} SELECT 'campaign:c' || n, 1, 1, 1 FROM s
"""
CAMPAIGNS = """
INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner,
    state_changed_at, created_at, look_at) {series}
SELECT 'c' || n, 'n', 'con_1', 'a', 'draft', 1, 1, 1, 'o', 1, n, CASE WHEN n % 100 = 0 THEN n END FROM s
"""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def full(request, tmp_path_factory):
    """Return a database with many jobs queued for later and many finished, a thousand of many campaigns to look at."""
    if request.param == "sqlite":
        opened = home_of("sqlite", str(tmp_path_factory.mktemp("plans") / "store.db"))
        with opened as home:
            yield fill(home)
        return
    with (
        postgres.fresh_schema(request.getfixturevalue("postgres_server")) as url,
        home_of("postgres", url) as home,
    ):
        yield fill(home)


def fill(home):
    seed_campaign(home)
    for texts, count in (((QUEUED, FINISHED, CAMPAIGNS), MANY), ((LOCKS,), 5_000)):
        for text in texts:
            home.rows(text.format(series=SERIES[home.dialect].format(count=count)))
    home.rows("ANALYZE")
    assert home.rows("SELECT count(*) AS n FROM jobs") == [{"n": 2 * MANY}]
    return home


CASES = {
    "jobs.claim": {"holder": "a", "lease_ms": 120_000, "batch_literal": 10},
    "jobs.enqueue": {
        "id": "new", "type": "work", "target": "t7", "dedupe_key": "work:t7", "payload": "{}", "max_attempts": 5,
        "run_at": None, "delay_ms": 0,
    },
    "jobs.purge": {
        "keep_ms": KEEP_SUCCEEDED_MS, "keep_failed_ms": KEEP_FAILED_MS, "chunk_literal": PURGE_CHUNK,
    },
    "jobs.finish": {"id": "q7", "fence": 1, "holder": "a"},
    "jobs.renew_all": {"holder": "a", "lease_ms": 120_000, "in_hand": ",q7:1,"},
    "jobs.requeue": {"id": "f7"},
    "jobs.figures": {"late_ms": 300_000, "most_literal": 200},
    "jobs.ended_badly": {"most_literal": 100},
    "jobs.newest": {"after_id": "~", "most": 50},
    "jobs.queued": {"after_place": -1, "after_id": "", "most": 50},
    "jobs.claimed": {"after_place": -1, "after_id": "", "most": 50},
    "jobs.ended": {"state": "dead", "after_place": 1 << 62, "after_id": "", "most": 50},
    "workers.ticked": {
        "holder": "a", "claimed_ms_ago": 7, "polling_ms": None, "known": "|x|", "keep_ms": KEEP_SUCCEEDED_MS,
        "keep_failed_ms": KEEP_FAILED_MS,
    },
    "locks.acquire": {"key": "campaign:c7", "holder": "a", "operation": "send", "actor": None, "ttl_ms": 300_000},
    "campaigns.get": {"id": "c7"},
    "campaigns.unwatched": {"most_literal": 1_000},
}  # fmt: skip
# A thousand campaigns to look at, each with the question whether it has a job.
THOUSANDS = {"campaigns.unwatched": 60}
PAGES = {"campaigns.unwatched": 6_000}


class Undone(Exception):
    """Rolls a measurement back."""


def sqlite_cost(home, text, params):
    """Return the plan's lines and how many thousand steps of SQLite's machine the statement took."""
    steps = []
    with pytest.raises(Undone), home.open().transaction() as tx:
        connection = tx._connection
        plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", params)]
        connection.set_progress_handler(lambda: steps.append(1), 1_000)
        connection.execute(text, params).fetchall()
        connection.set_progress_handler(None, 0)
        raise Undone
    return plan, len(steps)


def nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def postgres_cost(home, text, params, *, generic):
    """Return the plan's nodes and how many pages the statement touched, its plan made for any parameters or not."""
    names = list(dict.fromkeys(re.findall(r"%\(([a-z_]+)\)s", text)))
    prepared = text.replace("%%", "%")
    for number, name in enumerate(names, start=1):
        prepared = prepared.replace(f"%({name})s", f"${number}")
    database = home.open()
    with pytest.raises(Undone), database.transaction() as tx:
        connection = tx._connection
        mode = "force_generic_plan" if generic else "force_custom_plan"
        connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
        connection.execute(f"PREPARE measured AS {prepared}".encode())
        values = [params[name] for name in names]
        literals = ", ".join("NULL" if value is None else repr(value) for value in values)
        arguments = f"({literals})" if values else ""
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE measured{arguments}"
        (plan,) = connection.execute(explain.encode()).fetchone()["QUERY PLAN"]
        connection.execute("DEALLOCATE measured")
        raise Undone
    plan = plan["Plan"]
    return list(nodes(plan)), plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("name", CASES)
def test_a_hot_statement_uses_an_index_and_reads_little(full, name):
    statement = catalogue(full.dialect)[name]
    text = statement.filled(CASES[name])
    if full.dialect == "sqlite":
        plan, thousands = sqlite_cost(full, text, CASES[name])
        scans = [line for line in plan if re.match(r"SCAN (jobs|locks|c\b|campaigns)", line)]
        # The index of what is unfinished holds nothing else, and the walk along it is bounded.
        assert not [line for line in scans if not re.search(r"USING .*INDEX jobs_(due|leased)$", line)], plan
        assert thousands <= THOUSANDS.get(name, 20), plan
        return
    for generic in (False, True):
        plan, pages = postgres_cost(full, text, CASES[name], generic=generic)
        scanned = {node.get("Relation Name") for node in plan if node["Node Type"] == "Seq Scan"}
        assert not scanned & {"jobs", "locks", "campaigns"}, json.dumps(plan[0], indent=1)
        assert pages <= PAGES.get(name, 200), json.dumps(plan[0], indent=1)


@pytest.mark.parametrize("due", [10, 5_000])
def test_a_claim_costs_the_same_with_many_jobs_due(full, due):
    full.rows(
        "UPDATE jobs SET run_at = 1 WHERE id IN (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT ?)",
        due,
    )
    text = catalogue(full.dialect)["jobs.claim"].filled(CASES["jobs.claim"])
    if full.dialect == "sqlite":
        assert sqlite_cost(full, text, CASES["jobs.claim"])[1] <= 20
    else:
        assert postgres_cost(full, text, CASES["jobs.claim"], generic=True)[1] <= 1_000


def test_an_enqueue_finds_its_duplicate_among_many(full):
    with full.store().unit() as unit:
        assert unit.jobs.enqueue("new", Request(type="work", target="t7")) == "q7"


def test_a_purge_that_reads_every_kept_row_would_be_noticed(full):
    """One condition for all kinds looks like an index in the plan, and walks it from end to end."""
    text = (
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state IN ('succeeded', 'failed', 'dead') "
        "AND finished_at < (SELECT now_ms()) - CASE WHEN state = 'succeeded' THEN 604800000 ELSE 7776000000 END "
        "ORDER BY finished_at, id LIMIT 500)"
    )
    if full.dialect == "sqlite":
        assert sqlite_cost(full, text, {})[1] > 20
    else:
        assert postgres_cost(full, text, {}, generic=True)[1] > 200
