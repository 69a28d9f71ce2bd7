"""`events list`: by domain and reason, with nobody's address, for a wave and for a campaign."""

import re

import pytest

from cli.program import campaign
from cli.test_ramps import initing, ready, sent, tripped  # noqa: F401  a fixture

DAYS_MS = 20 * 24 * 3_600_000
ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")


@pytest.fixture
def mailed(ready, server):  # noqa: F811
    """A program whose first wave went to a hundred people, many of whom didn't like it."""
    server.sandbox.world.behave(hard_bounces=200, soft_bounces=200, unsubscribes=200, complaints=200)
    assert ready.run(*initing(ready)).code == 0
    assert ready.run("ramps", "run", "winter", "--confirm-wave", "wave-1").code == 0
    ready.wave = sent(ready)
    now_ms = server.sandbox.world._now_ms
    server.sandbox.world._now_ms = lambda: now_ms() + DAYS_MS
    server.sandbox.settle()
    return ready


def test_a_wave_is_listed_by_domain_and_reason_and_nobody_stands_there_in_clear(mailed):
    done = mailed.run("events", "list", "--ramp", "winter", "--wave", "wave-1")
    assert (done.code, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first.startswith("winter   wave-1   news (Mailchimp, sandbox)   read ")
    table = done.out.partition("\n\n")[2]
    assert re.search(r"domain +complaint +bounce +unsubscribe\nexample\.com +\d+ +\d+ +\d+\n", table), table
    assert re.search(r"\nkind +reason +person\n", table)
    assert re.search(r"\nbounce +for good +p?…@example\.com\n", table)
    assert re.search(r"\nbounce +may pass +p?…@example\.com\n", table)
    assert not ADDRESS.search(done.out)
    assert all(len(line) <= 80 for line in [first, *rest])


def test_json_has_each_of_them_with_kind_reason_and_domain(mailed):
    document = mailed.run("events", "list", "--ramp", "winter", "--kind", "bounce", "--json").document
    assert (document["ramp"], document["wave"], document["campaign"]) == (
        "winter",
        "wave-1",
        mailed.wave.campaign_id,
    )
    assert document["next_cursor"] is None
    people = document["events"]
    assert document["kinds"] == {"bounce": {"people": len(people), "complete": True}}
    assert {one["reason"] for one in people} == {"permanent", "transient"}
    assert {(one["kind"], one["domain"]) for one in people} == {("bounce", "example.com")}
    assert all(one["person"].endswith("…@example.com") for one in people)


def test_a_limit_cuts_each_kind_and_says_so(mailed):
    done = mailed.run("events", "list", "--ramp", "winter", "--kind", "bounce", "--limit", "2")
    assert done.out.count("…@example.com") == 2
    assert "That is not everybody. --limit 1000 shows more." in done.words
    assert mailed.run("events", "list", "--ramp", "winter", "--limit", "0").code == 2
    assert mailed.run("events", "list", "--ramp", "winter", "--limit", "1001").code == 2


def test_a_campaign_is_listed_too_and_whom_nothing_befell_is_nobody(mailed):
    of = ("events", "list", "--campaign", mailed.wave.campaign_id)
    document = mailed.run(*of, "--json").document
    assert (document["ramp"], document["wave"]) == (None, None)
    assert set(document["kinds"]) == {"complaint", "bounce", "unsubscribe"}
    assert len(document["events"]) > 10
    nobody = mailed.run("events", "list", "--ramp", "winter", "--kind", "refused")
    assert nobody.code == 0
    assert "Nobody, as far as the record tells." in nobody.words


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--wave", "wave-1"),
        ("--ramp", "winter", "--campaign", "cmp_x"),
        ("--campaign", "cmp_x", "--wave", "wave-1"),
    ],
)
def test_it_takes_either_a_ramp_or_a_campaign(connected, flags):
    done = connected.run("events", "list", *flags, "--json")
    assert (done.code, done.document["code"]) == (2, "usage")


def test_a_wave_that_has_not_gone_and_a_draft_have_no_events(ready):  # noqa: F811
    assert ready.run(*initing(ready)).code == 0
    done = ready.run("events", "list", "--ramp", "winter", "--json")
    assert (done.code, done.document["code"]) == (3, "invalid_state")
    done = ready.run("events", "list", "--campaign", campaign(ready, "provider_draft"), "--json")
    assert (done.code, done.document["code"]) == (3, "not_found")


def test_a_ramp_that_its_gate_stopped_names_the_list_of_that_wave(mailed):
    tripped(mailed)
    shown = mailed.run("ramps", "status", "winter")
    line = next(line for line in shown.out.splitlines() if line.startswith("Look"))
    _, _, command = line.partition("campaignbridge ")
    assert command == "events list --ramp winter --wave wave-1"
    assert mailed.run(*command.split()).code == 0
