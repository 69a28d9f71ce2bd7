"""With a hundred thousand campaigns, Status and the collecting of notices read what they show, and little more."""

import json
import re

import pytest

from campaignbridge.flows.status import LISTED, NEXT
from campaignbridge.store.sql import catalogue
from campaignbridge.store.status import COUNTED
from flows.test_plans import MANY, SERIES, postgres_cost, sqlite_cost
from support import postgres
from support.stores import home_of, seed_campaign

pytest_plugins = ["support.stores"]

FEWER = 20_000  # attempts and jobs

CAMPAIGNS = """
INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, approved_fingerprint,
    owner, look_at, scheduled_for, state_changed_at, created_at) {series}
SELECT 'c' || n, 'n', 'con_1', 'a',
    CASE WHEN n % 500 = 0 THEN 'scheduled' WHEN n % 10 = 0 THEN 'archived' WHEN n % 11 = 0 THEN 'draft' ELSE 'sent' END,
    1, 1, 1, 'f', 'o', CASE WHEN n % 500 = 0 THEN now_ms() + 86400000 + n END,
    CASE WHEN n % 500 = 0 THEN now_ms() + 86400000 + n END, 1, n
FROM s
"""
ATTEMPTS = """
INSERT INTO attempts (id, campaign_id, operation, key, request_hash, status, account, generation, from_state,
    deadline_at, created_at) {series}
SELECT 'a' || n, 'c' || n, 'send', 'k', 'h', CASE WHEN n % 500 = 0 THEN 'unknown' ELSE 'succeeded' END, 'acc_1', 1,
    'provider_draft', 1, now_ms() - n * 1000
FROM s
"""
JOBS = """
INSERT INTO jobs (id, type, target, dedupe_key, payload, state, attempts, max_attempts, run_at, last_error, created_at,
    updated_at, finished_at) {series}
SELECT 'f' || n, 'work', 't' || n, 'work:t' || n, '', CASE WHEN n % 100 = 0 THEN 'dead' ELSE 'succeeded' END,
    1, 5, n, CASE WHEN n % 100 = 0 THEN 'handler_exception' END, 1, 1, n
FROM s
"""
NEEDY = (
    "UPDATE campaigns SET flag = 'sent_zero' WHERE state = 'sent' AND created_at % 1000 = 7",
    """UPDATE campaigns SET look_at = NULL, stopped_reason = 'credential_refused'
    WHERE state = 'scheduled' AND created_at % 5000 = 0""",
    """UPDATE campaigns SET state_changed_at = (SELECT now_ms()) - 10800000
    WHERE state = 'sent' AND created_at % 50 = 7""",
    "INSERT INTO webhook_endpoints (connection_id, secret_hash, made_at, heard_at) VALUES ('con_1', 'h', 1, 2)",
    "INSERT INTO notices (kind, target, reason, made_at) SELECT kind, target, reason, 1 FROM needs WHERE n = 1",
)
CASES = {
    "status.totals": {"most_literal": COUNTED},
    "status.needs": {"most_literal": LISTED},
    "status.states": {"most_literal": COUNTED},
    "status.scheduled": {"most": NEXT},
    "status.connections": {"most": LISTED},
    "status.unresolved": {},
    "notices.untold": {"most": 21},
    "notices.clear": {},
    "notices.cover": {},
    "notices.of_id": {"id": "ntc_1"},
}
SEEN = """SELECT relallvisible >= relpages AS seen FROM pg_class
WHERE relname = 'campaigns' AND relnamespace = current_schema()::regnamespace"""
COUNTING = {"status.states"}  # up to 10,001 entries of an index for each state


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def full(request, tmp_path_factory):
    """Return a database with a hundred thousand campaigns and a few hundred needs."""
    if request.param == "sqlite":
        with home_of("sqlite", str(tmp_path_factory.mktemp("plans") / "store.db")) as home:
            yield fill(home)
        return
    with (
        postgres.fresh_schema(request.getfixturevalue("postgres_server")) as url,
        home_of("postgres", url) as home,
    ):
        yield fill(home)


def fill(home):
    seed_campaign(home)
    if home.dialect == "postgres":  # an autovacuum in between would decide which pages count as all visible
        for table in ("campaigns", "attempts", "jobs"):
            home.rows(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    for text, count in ((CAMPAIGNS, MANY), (ATTEMPTS, FEWER), (JOBS, FEWER)):
        home.rows(text.format(series=SERIES[home.dialect].format(count=count)))
    for text in NEEDY:
        home.rows(text)
    home.rows("ANALYZE")
    if home.dialect == "postgres":
        for _ in range(
            100
        ):  # a snapshot that somebody else still holds keeps pages from counting as all visible
            home.rows("VACUUM campaigns")
            if home.rows(SEEN)[0]["seen"]:
                break
    assert home.rows("SELECT count(*) AS n FROM campaigns WHERE need IS NOT NULL")[0]["n"] > LISTED
    return home


@pytest.mark.parametrize("name", CASES)
def test_no_statement_reads_the_campaigns_from_end_to_end(full, name):
    text = catalogue(full.dialect)[name].filled(CASES[name])
    if full.dialect == "sqlite":
        plan, thousands = sqlite_cost(full, text, CASES[name])
        whole = [line for line in plan if re.match(r"SCAN (c|campaigns|jobs|attempts)\b", line)]
        assert not [line for line in whole if "INDEX" not in line], plan
        assert thousands <= (600 if name in COUNTING else 60), plan
        return
    for generic in (False, True):
        plan, pages = postgres_cost(full, text, CASES[name], generic=generic)
        scanned = {node.get("Relation Name") for node in plan if node["Node Type"] == "Seq Scan"}
        assert not scanned & {"campaigns", "jobs", "attempts"}, json.dumps(plan[0], indent=1)
        assert pages <= (6_000 if name in COUNTING else 2_000), json.dumps(plan[0], indent=1)


def test_a_count_ends_at_its_bound(full):
    with full.store().reading() as unit:
        states = unit.status.states()
    assert states["sent"] == COUNTED
    assert states["scheduled"] == MANY // 500


def test_one_read_of_everything_would_be_noticed(full):
    text = "SELECT count(*) AS n FROM campaigns WHERE stopped_reason IS NOT NULL OR flag IS NOT NULL"
    if full.dialect == "sqlite":
        assert sqlite_cost(full, text, {})[1] > 60
    else:
        plan, _ = postgres_cost(full, text, {}, generic=True)
        assert "Seq Scan" in {node["Node Type"] for node in plan}
