"""With many events and campaigns stored, what each event costs stays small: every statement uses its index."""

import json
import re

import pytest

from campaignbridge.flows import webhooks
from campaignbridge.store.sql import catalogue
from flows.test_plans import SERIES, postgres_cost, sqlite_cost
from support import postgres
from support.stores import home_of, seed_campaign

pytest_plugins = ["support.stores"]

KEY = {"connection_id": "con_1", "kind": "campaign", "audience": "l", "subject": "s70", "fired_at": 70}
EVENTS = """
INSERT INTO webhook_events (connection_id, kind, audience, subject, fired_at, remote_id, status, verified, received_at,
    parked, due_at, settled_at, outcome) {series}
SELECT CASE WHEN n <= {{ours}} THEN 'con_1' ELSE 'con_2' END, 'campaign', 'l', 's' || n, n, 's' || n, 'sent', 0,
    now_ms() - n, CASE WHEN n <= 1000 THEN 1 ELSE 0 END, CASE WHEN n <= 1500 THEN now_ms() + n END,
    CASE WHEN n > 1500 THEN now_ms() - n END, CASE WHEN n > 1500 THEN 'finished' END FROM s
"""
CAMPAIGNS = """
INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner,
    state_changed_at, created_at) {series}
SELECT 'c' || n, 'n', 'con_1', 'l', 'draft', 1, 1, 1, 'o', 1, n FROM s
"""
REMOTES = """
INSERT INTO remote_campaigns (campaign_id, generation, account, remote_id) {series}
SELECT 'c' || n, 1, 'acc_1', 's' || n FROM s
"""
RAMPS = """
INSERT INTO ramps (id, slug, name, connection_id, list, audience_id, plan, label_offset, filters, seed, source_campaign,
    source_revision, approved_by, approved_at, approved_fingerprint, zone, delegated_by, ended, ended_at, created_at)
    {series}
SELECT 'r' || n, 'r' || n, 'n', 'con_1', 'l', n, '{{}}', 0, '{{}}', 's', 'c1', 1, 'a', 1, 'f', 'UTC', 'o',
    'complete', 1, 1 FROM s
"""
WAVES = """
INSERT INTO waves (id, ramp_id, tier, label, run_id, step, closed, closed_at, sent_at, requested, since, campaign_id,
    broadcast_id, opened_at, activity_at) {series}
SELECT 'w' || n, 'r' || n, 0, 'l', 'x', 'looked', 'sent', 1, 1, 1, 1, 'c' || n,
    CASE WHEN n % 7 = 0 THEN 'b' || n END, 1, 1 FROM s
"""
FATES = """
INSERT INTO wave_fates (wave_id, person, fate) {series}
SELECT 'w' || (1 + n % 500), 'p' || n, 2 FROM s
"""
CASES = {
    "webhooks.keep": {
        **KEY,
        "subject": "new",
        "remote_id": "new",
        "status": "sent",
        "verified": 0,
        "most": webhooks.MOST_WAITING,
        "outcome": None,
    },
    "fates.waves": {
        "connection_id": "con_1",
        "remote_ids": json.dumps([f"s{n}" for n in range(4_000, 4_100)]),
    },
    "fates.add": {"wave_id": "w70", "person": "p70", "fate": 4},
    "fates.figures": {"wave_ids": json.dumps(["w1", "w2", "w3"])},
    "webhooks.known": KEY,
    "webhooks.due": {"connection_id": "con_1", "most": webhooks.BATCH},
    "webhooks.match": {"connection_id": "con_1", "remote_id": "s4000"},
    "webhooks.wake": {"id": "c70", "slot": 1, "woken_before": 0, "verified": 0},
    "webhooks.told_of": {"connection_id": "con_1", "remote_id": "nobody"},
    "webhooks.settle": {**KEY, "outcome": "woke"},
    "webhooks.defer": {**KEY, "delay_ms": 15_000},
    "webhooks.park": {**KEY, "keep_ms": webhooks.KEEP_PARKED_MS},
    "webhooks.overflow": {
        "connection_id": "con_1",
        "most_literal": webhooks.MOST_PARKED,
        "chunk_literal": 500,
    },
    "webhooks.trim": {"connection_id": "con_1", "most_literal": webhooks.MOST_SETTLED, "chunk_literal": 500},
    "webhooks.purge": {"connection_id": "con_1", "keep_ms": webhooks.KEEP_SETTLED_MS, "chunk_literal": 500},
    "webhooks.next_at": {"connection_id": "con_1", "keep_ms": webhooks.KEEP_SETTLED_MS},
}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def full(request, tmp_path_factory):
    """Return a database with as many events as a connection may have, more of another, and thousands of campaigns."""
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
    home.rows(
        "INSERT INTO connections (id, provider, label, account, key_env, created_at) "
        "VALUES ('con_2', 'mailchimp', 'other', 'acc_2', 'KEY', 1)"
    )
    events = EVENTS.replace("{{ours}}", str(webhooks.MOST_SETTLED + 1_500))
    for text, count in (
        (events, 80_000),
        (CAMPAIGNS, 5_000),
        (REMOTES, 5_000),
        (RAMPS, 5_000),
        (WAVES, 5_000),
        (FATES, 50_000),
    ):
        home.rows(text.format(series=SERIES[home.dialect].format(count=count)))
    home.rows("ANALYZE")
    return home


@pytest.mark.parametrize("name", CASES)
def test_a_statement_about_events_uses_an_index_and_reads_little(full, name):
    text = catalogue(full.dialect)[name].filled(CASES[name])
    if full.dialect == "sqlite":
        plan, thousands = sqlite_cost(full, text, CASES[name])
        assert not [
            line
            for line in plan
            if re.match(r"SCAN (webhook_events|w\b|r\b|c\b|p\b|campaigns|waves|wave_fates)", line)
        ], plan
        assert thousands <= (300 if name == "webhooks.trim" else 40), plan  # it counts to its bound
        return
    for generic in (False, True):
        plan, pages = postgres_cost(full, text, CASES[name], generic=generic)
        scanned = {node.get("Relation Name") for node in plan if node["Node Type"] == "Seq Scan"}
        large = {"webhook_events", "remote_campaigns", "campaigns", "waves", "wave_fates", "ramps"}
        assert not scanned & large, json.dumps(plan[0], indent=1)
        assert pages <= 2_000, json.dumps(plan[0], indent=1)
