"""A ramp's tick: what it says in which order, and when it comes."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from campaignbridge.domain.gate import Figures
from campaignbridge.domain.ramp import Facts, Moment, Plan, decide
from campaignbridge.domain.recurring import Cron
from campaignbridge.engine.recurring import next_after
from campaignbridge.flows import ramping
from campaignbridge.flows.ramp_tick import tick
from support.ramps import WHY
from support.stores import together
from support.world import DANA, HOUR_MS

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]
PLAN = Plan(tiers=(100, 200), prefix="wave")
READY = {
    "facts": Facts(),
    "now": 100 * HOUR_MS,
    "last_sent_at": 10 * HOUR_MS,
    "awaits_figures": False,
    "next_tier": 1,
    "open_label": None,
}
# Each stands alone, and before all that come after it.
ORDER = [
    ("ended", {"facts": Facts(ended="aborted", paused_at=1, gate_tripped_at=1, needs_operator="x")}),
    ("paused", {"facts": Facts(paused_at=1, gate_tripped_at=1, needs_operator="x")}),
    ("gate_tripped", {"facts": Facts(gate_tripped_at=1, needs_operator="x")}),
    ("needs_operator", {"facts": Facts(needs_operator="x"), "last_sent_at": 99 * HOUR_MS}),
    ("awaiting_age", {"last_sent_at": 82 * HOUR_MS + 1, "awaits_figures": True}),
    ("awaiting_stats", {"awaits_figures": True, "next_tier": None}),
    ("complete", {"next_tier": None, "delegated": False}),
    ("stalled", {"open_label": "wave-1", "idle_ms": 15 * 60_000, "next_tier": None}),
    ("wave_in_flight", {"open_label": "wave-1", "idle_ms": 15 * 60_000 - 1, "delegated": False}),
    ("delegation_lost", {"delegated": False}),
    ("start", {"last_sent_at": 82 * HOUR_MS}),
    ("start", {"last_sent_at": None}),
]


@pytest.mark.parametrize(("outcome", "changes"), ORDER)
def test_the_first_thing_that_stands_against_a_wave_is_what_a_tick_says(outcome, changes):
    assert decide(Moment(**{**READY, **changes}), PLAN) == outcome


def test_every_outcome_is_in_the_run_log_with_who_holds_the_ramp(one):
    one.people(300)
    one.init()
    said = [one.tick(), one.tick()]
    one.world.later(minutes=16)
    said.append(one.tick())
    assert said == ["wave_claimed", "wave_in_flight", "stalled"]
    assert one.log()[-3:] == said
    ramp_id = one.ramp().id
    with one.wiring.store.reading() as unit:
        newest = unit.ramps.log_of(ramp_id, most=1)[0]
    assert newest["data"]["label"] == "wave-1"
    assert newest["data"]["run"] == one.opened().run_id
    assert newest["data"]["age_ms"] >= 16 * 60_000
    assert newest["data"]["idle_ms"] >= 16 * 60_000


@pytest.mark.parametrize(
    ("zone", "day", "local"),
    [
        ("Europe/Berlin", (2027, 3, 28), "03:00"),  # 02:30 doesn't exist: the first valid instant
        ("Europe/Berlin", (2027, 10, 31), "02:30"),
        ("America/New_York", (2027, 3, 14), "03:00"),
        ("America/New_York", (2026, 11, 1), "02:30"),
    ],
)
def test_on_the_day_of_a_clock_change_a_ramp_ticks_once_in_its_zone(zone, day, local):
    place = ZoneInfo(zone)
    cron = Cron("30 2 * * *", zone)
    midnight = int(datetime(*day, tzinfo=place).timestamp() * 1000)
    first = next_after(cron, now_ms=midnight)
    second = next_after(cron, now_ms=first)
    assert datetime.fromtimestamp(first / 1000, place).strftime("%H:%M") == local
    assert datetime.fromtimestamp(first / 1000, place).date() == datetime(*day, tzinfo=place).date()
    assert datetime.fromtimestamp(second / 1000, place).day != day[2]


def test_a_ramp_runs_to_its_end_by_its_cron_alone(lite):
    lite.people(400)
    lite.init(tiers=(100, 150), cron="0 9 * * *", zone="Europe/Berlin")
    lite.work(hours=24 * 5)
    assert lite.ramp().facts.ended == "complete", lite.log()
    assert lite.nobody_twice() == 250


def test_a_cron_tick_and_manual_runs_at_once_claim_one_wave(ramp):
    ramp.people(300)
    ramp.init(cron="0 9 * * *")
    ramp.world.bridge.tick()
    ramp.world.later(ms=ramp.world.next_due() - ramp.world.now() + 1)
    bridges = [ramp.world.process() for _ in range(4)]
    ramp_id = ramp.ramp().id

    def run(number):
        if number == 0:
            return bridges[0].tick()
        return tick(bridges[number].wiring, ramp_id)

    together(ramp.world.home, 4, run)
    assert len(ramp.waves()) == 1
    ramp.work()
    assert ramp.nobody_twice() == 100


def test_a_wave_that_is_sent_without_a_verdict_stops_the_next_one(one):
    one.people(400)
    one.init(tiers=(100, 150), min_age_ms=0)
    one.wave()
    one.world.fault("report", "refuse_5xx", times=None)
    assert one.tick() == "awaiting_stats"
    with one.wiring.store.unit() as unit:
        assert unit.waves.of_ramp(one_id(unit))[0].figures == Figures()


def one_id(unit):
    return unit.ramps.get("winter").id


def test_a_paused_ramp_logs_its_ticks_and_changes_nothing(one):
    one.people(300)
    one.init()
    ramping.pause(one.wiring, "winter", actor=DANA, reason=WHY)
    assert one.tick() == "paused"
    assert one.log()[-1] == "paused"
    assert one.waves() == []
    ramping.resume(one.wiring, "winter", actor=DANA, reason=WHY)
    assert one.tick() == "wave_claimed"
