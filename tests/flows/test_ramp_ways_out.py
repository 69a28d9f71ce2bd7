"""From every state there is a way out: each reason has a help page, and what is advised works until it has ended."""

import pytest

from campaignbridge.cli.pages import PAGES
from campaignbridge.cli.ramp_portrait import help_code
from campaignbridge.cli.ramp_words import FAILED, HELP
from campaignbridge.domain.need import RAMPS
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery
from support.ramps import WHY
from support.rampwalk import failed, follow, started, status, steps
from support.world import DANA

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]

# Reasons that a step gives, each where its step is; others come from a provider or a refusal.
WALKS = [
    *((reason, "picked") for reason in ("nobody_left", "rate_limited", "http_403")),
    *((reason, "segment_created") for reason in ("too_many_refused", "strangers_in_segment")),
    *((reason, "pushed") for reason in ("nobody_in_segment", "strangers_in_segment")),
    *((reason, "verified") for reason in ("no_draft", "validation_failed")),
    *((reason, "draft_ready") for reason in ("nobody_in_segment", "strangers_in_segment")),
    *((reason, "looked") for reason in ("count_differs", "no_draft", "send_refused", "audience_drift")),
]


@pytest.mark.parametrize(("reason", "step"), WALKS)
def test_a_wave_that_failed_comes_to_an_end_by_what_is_advised(lite, reason, step):
    started(lite)
    steps(lite, step)
    failed(lite, reason)
    view = status(lite)
    assert help_code(view) in PAGES, help_code(view)
    follow(lite)
    assert [one for one in lite.waves() if one.closed is None] == [], lite.log()
    assert lite.nobody_twice() == 100


def test_every_reason_why_a_wave_fails_has_a_page():
    assert {HELP.get(reason, reason) for reason in FAILED} | set(RAMPS) <= set(PAGES)


def test_a_drained_pool_that_was_taken_from_its_run_still_asks_before_fewer_are_mailed(lite):
    started(lite, people=120, tiers=(300,))
    lite.work()
    ramp_recovery.force_release(lite.wiring, "winter", lite.aim(), actor=DANA)
    assert status(lite).advice.command == 'ramps resume-wave winter --accept-underfilled --reason "..."'
    follow(lite)
    assert lite.waves()[0].closed is Closed.SENT
    assert lite.nobody_twice() == 120


@pytest.mark.parametrize("step", ["picked", "pushed", "looked"])
@pytest.mark.parametrize("fact", ["paused", "aborted", "tripped"])
def test_a_wave_that_failed_under_another_fact_comes_to_an_end_too(lite, fact, step):
    started(lite)
    steps(lite, step)
    failed(lite, "http_403")
    bridge = lite.world.bridge
    if fact == "paused":
        bridge.pause_ramp("winter", reason=WHY, actor=DANA)
    elif fact == "aborted":
        bridge.abort_ramp("winter", reason=WHY, actor=DANA)
    else:
        with lite.wiring.store.unit() as unit:
            unit.ramps.trip(unit.ramps.get("winter").id, {"wave": None})
    follow(lite)
    assert [one for one in lite.waves() if one.closed is None] == [], lite.log()
    assert lite.nobody_twice() == (0 if fact == "aborted" else 100)
