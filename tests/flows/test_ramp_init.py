"""Setting a ramp up: what can't run, can't be judged, or would mail somebody twice is refused."""

from datetime import UTC, datetime

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.gate import Thresholds
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramping
from campaignbridge.flows.ramp_tick import run_now
from support.ramps import WHY
from support.stores import together
from support.world import DANA, HOUR_MS, outcome_of, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]
BAD = [
    {"tiers": ()},
    {"tiers": (0,)},
    {"tiers": (100, -1)},
    {"tiers": (100.5,)},
    {"tiers": (True,)},
    {"tiers": (50, 100)},
    {"prefix": ""},
    {"prefix": "Wave"},
    {"prefix": "wave_1"},
    {"prefix": "w" * 41},
    {"offset": -1},
    {"offset": 3},
    {"offset": 3, "previous_broadcast": "b-1"},
    {"offset": 3, "previous_sent_at": 1},
    {"previous_broadcast": "b-1", "previous_sent_at": 1},
    {"offset": 3, "previous_broadcast": "no such id", "previous_sent_at": 1},
    {"offset": 10**40, "previous_broadcast": "b", "previous_sent_at": 1},
    {"thresholds": Thresholds(0, 800)},
    {"thresholds": Thresholds(1_000_000, 800)},
    {"thresholds": Thresholds(40_000, -1)},
    {"min_fill_ppm": 1_000_001},
    {"max_refused_ppm": -1},
    {"min_age_ms": -1},
    {"cron": "every day"},
    {"cron": "0 9 * * *", "zone": "Mars"},
    {"slug": "Winter Ramp"},
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_a_ramp_that_could_never_run_or_be_judged_is_refused(one, changes):
    one.people(10)
    with refused("invalid_input"):
        one.init(**changes)
    with one.wiring.store.reading() as unit:
        assert unit.ramps.all(most=10) == []


def test_small_tiers_are_allowed_on_purpose(one):
    one.people(10)
    assert one.init(tiers=(50,), allow_small_tiers=True).plan.tiers == (50,)


def test_a_ramp_with_an_offset_judges_the_wave_that_went_before(lite):
    lite.people(300)
    sent_at = lite.world.now() - HOUR_MS
    lite.init(offset=3, previous_broadcast="b-1", previous_sent_at=sent_at)
    assert lite.tick() == "awaiting_age"
    lite.world.later(hours=18)
    assert lite.tick() == "awaiting_stats"
    ramping.waive(lite.wiring, "winter", "wave-3", actor=DANA, reason=WHY)
    lite.wave()
    assert lite.waves()[1].label == "wave-4"


def test_a_wave_that_came_before_did_not_go_in_the_future(one):
    one.people(300)
    with refused("invalid_input"):
        one.init(offset=3, previous_broadcast="b-1", previous_sent_at=one.world.now() + HOUR_MS)


def test_content_that_is_not_approved_is_refused(one):
    one.people(10)
    one.content = one.world.create()
    with refused("invalid_state"):
        one.init(tiers=(100,))


def test_one_audience_has_one_ramp_that_goes_on(ramp):
    ramp.people(300)
    ramp.init()
    with refused("invalid_state"):
        ramp.init("summer")
    ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    ramp.init("summer")


def test_of_two_ramps_set_up_at_once_on_an_audience_one_is_refused(ramp):
    ramp.people(300)
    ramp.content = ramp.world.approved()
    outcomes = together(ramp.world.home, 4, lambda number: outcome_of(lambda: ramp.init(f"ramp-{number}")))
    assert outcomes.count("accepted") == 1
    assert set(outcomes) <= {"accepted", "conflict", "invalid_state"}


def test_after_a_ramp_that_mailed_somebody_a_new_one_must_say_what_it_means(lite):
    lite.people(300)
    lite.init()
    lite.wave()
    ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY)
    with refused("invalid_input"):
        lite.init("summer", tiers=(200,))
    lite.init("summer", tiers=(200,), exclude_ramps=("winter",))
    lite.wave("summer")
    assert lite.nobody_twice() == 300


def test_a_wave_that_was_written_off_counts_while_its_draft_could_still_be_sent(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.fault("inspect", "refuse_5xx", times=None)
    ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.world.sandbox.faults.clear()
    assert lite.waves()[0].closed is Closed.DISCARDED
    with refused("invalid_input"):
        lite.init("summer", tiers=(200,))
    lite.init("summer", tiers=(200,), exclude_ramps=("winter",))
    lite.world.send_by_hand(lite.campaign())
    lite.wave("summer")
    assert lite.nobody_twice() == 300
    lite.world.reconcile(lite.campaign())
    assert lite.waves()[0].closed is Closed.SENT_LATE


def test_a_wave_whose_draft_is_proven_to_be_unsendable_does_not_count(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    draft = lite.world.remote_id(lite.campaign())
    if lite.container:
        lite.world.by_hand("DELETE", f"/campaigns/{draft}")
    assert ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY).left == ()
    lite.init("summer", tiers=(300,))
    lite.wave("summer")
    assert lite.nobody_twice() == 300


def test_a_wave_that_somebody_scheduled_at_the_provider_keeps_another_ramp_from_being_set_up(one):
    one.people(300)
    one.init()
    one.started("looked")
    ramping.pause(one.wiring, "winter", actor=DANA, reason=WHY)
    at = datetime.fromtimestamp(one.world.slot() / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"/campaigns/{one.world.remote_id(one.campaign())}/actions/schedule"
    one.world.by_hand("POST", path, {"schedule_time": at})
    one.world.reconcile(one.campaign())
    assert one.world.state(one.campaign()) == "scheduled"
    ramping.abort(one.wiring, "winter", actor=DANA, reason=WHY)
    assert one.opened()
    with refused("invalid_state"):
        one.init("summer", tiers=(300,))
    one.work()
    assert one.waves()[0].closed is Closed.SENT
    with refused("invalid_input"):
        one.init("summer", tiers=(200,))


def test_who_is_mailed_again_is_so_because_somebody_said_it(one):
    one.people(150)
    one.init(tiers=(100,))
    one.wave()
    ramping.abort(one.wiring, "winter", actor=DANA, reason=WHY)
    one.init("summer", tiers=(150,), mail_again=True)
    one.wave("summer")
    assert one.waves("summer")[0].picked == 150


def test_a_person_in_two_audiences_is_left_out_by_identity(ramp):
    ramp.people(150)
    ramp.people(200, slug="others", first=100)
    ramp.init(tiers=(150,))
    ramp.wave()
    with refused("invalid_input"):
        ramp.init("summer", tiers=(200,), audience="others")
    ramp.init("summer", tiers=(200,), audience="others", exclude_ramps=("winter",))
    ramp.wave("summer")
    assert ramp.waves("summer")[0].picked == 150
    assert ramp.nobody_twice() == 300


def test_a_ramp_that_holds_people_of_an_audience_in_an_open_wave_is_named_by_the_next_one(one):
    one.people(150)
    one.people(200, slug="others", first=100)
    one.init(tiers=(150,))
    one.started("picked")
    with refused("invalid_input"):
        one.init("summer", tiers=(200,), audience="others")


def test_ramps_of_which_one_excludes_the_other_leave_out_each_others_people(lite):
    lite.people(200)
    lite.people(200, slug="others", first=100)
    lite.init(tiers=(20, 180), allow_small_tiers=True, min_fill_ppm=0, min_age_ms=0)
    lite.wave()
    ramping.waive(lite.wiring, "winter", "wave-1", actor=DANA, reason=WHY)
    lite.init("summer", tiers=(200,), audience="others", exclude_ramps=("winter",))
    lite.wave("summer")
    lite.wave()
    assert lite.waves()[1].picked == 200 - lite.waves("summer")[0].picked + 80, (
        "each of 300 is in one of them"
    )
    assert lite.nobody_twice() == 300


@pytest.mark.parametrize("step", ["picked", "pushed", "looked"])
def test_whom_an_excluded_ramp_holds_in_an_open_wave_is_left_out_too(one, step):
    one.people(150)
    one.people(200, slug="others", first=100)
    one.init("summer", tiers=(200,), audience="others")
    one.init(tiers=(150,), exclude_ramps=("summer",))
    one.started(step, "summer")
    one.wave()
    one.work()
    assert one.nobody_twice() == 300, (one.log(), one.log("summer"))


@pytest.mark.parametrize("step", ["pushed", "draft_ready", "looked"])
def test_who_was_erased_is_not_picked_and_taken_out_if_they_are_in_a_wave(lite, step):
    one = lite
    one.people(300)
    one.init()
    one.started(step)
    chosen = one.chosen()
    one.world.bridge.erase_person(chosen, actor=DANA)
    one.work()
    assert one.waves()[0].verified == 99, one.log()
    assert one.nobody_twice() == 99


def test_who_was_erased_and_came_back_still_counts_as_mailed(ramp):
    ramp.people(100)
    ramp.init(tiers=(50, 51), allow_small_tiers=True, min_age_ms=0)
    ramp.wave()
    bridge = ramp.world.bridge
    mailed = min(ramp.inside(ramp.waves()[0].segment_id))
    bridge.erase_person(mailed, actor=DANA)
    bridge.unsuppress([mailed], reason="erased", actor=DANA)
    ramp.people(101)
    ramping.waive(ramp.wiring, "winter", "wave-1", actor=DANA, reason=WHY)
    ramp.wave()
    assert ramp.waves()[1].picked == 51, "100 were there, 50 of them mailed, and one is new"
    assert ramp.nobody_twice() == 101


def test_a_ramp_with_a_cron_starts_at_its_time_and_not_when_it_is_set_up(ramp):
    ramp.people(300)
    ramp.init(cron="0 9 * * *", zone="Europe/Berlin")
    ramp.world.bridge.tick()
    assert ramp.waves() == []
    ramp.work(hours=24)
    (wave,) = ramp.waves()
    assert wave.closed is Closed.SENT
    local = (wave.opened_at + HOUR_MS) % (24 * HOUR_MS)  # November: one hour ahead
    assert 9 * HOUR_MS <= local < 9 * HOUR_MS + 120_000


def test_separated_duties_stop_a_ramp_whose_approver_activated_it(one):
    one.people(300)
    one.init()
    separated = one.world.process(separated=True)
    assert run_now(separated.wiring, "winter", actor=DANA) == "delegation_lost"
    assert one.waves() == []
    assert "delegation_lost" in one.log()


def test_rights_are_needed_to_set_up_run_and_stop(one):
    one.people(10)
    one.init(tiers=(100,))
    reader = Actor("cli:eve", frozenset({"read"}))
    for ask in (
        lambda: run_now(one.wiring, "winter", actor=reader),
        lambda: ramping.pause(one.wiring, "winter", actor=reader, reason=WHY),
        lambda: ramping.resume(one.wiring, "winter", actor=reader, reason=WHY),
        lambda: ramping.abort(one.wiring, "winter", actor=reader, reason=WHY),
        lambda: ramping.clear_gate(one.wiring, "winter", actor=reader, reason=WHY),
    ):
        with refused("forbidden"):
            ask()


def test_pause_gate_and_operator_are_facts_of_their_own(one):
    one.people(10)
    ramp = one.init(tiers=(100,))
    with one.wiring.store.unit() as unit:
        unit.ramps.pause(ramp.id)
        unit.ramps.trip(ramp.id, {})
        unit.ramps.need_operator(ramp.id, "wave_failed")
        unit.ramps.operator_done(ramp.id, "wave_failed")
        assert unit.ramps.get("winter").facts.gate_tripped_at is not None
        unit.ramps.clear_gate(unit.ramps.get("winter"), total_waived=None)
        facts = unit.ramps.get("winter").facts
    assert (facts.paused_at is not None, facts.gate_tripped_at, facts.needs_operator) == (True, None, None)
