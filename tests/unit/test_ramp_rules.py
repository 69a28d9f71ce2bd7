"""What a tick of a ramp decides, and which plans are refused at the start."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.gate import Thresholds
from campaignbridge.domain.ramp import IDLE_MS, MIN_AGE_MS, Facts, Moment, Plan, decide, require_plan

PLAN = Plan(tiers=(500, 1_500, 5_000), prefix="wave")
READY = Moment(
    facts=Facts(), now=10**12, last_sent_at=None, awaits_figures=False, next_tier=0, open_label=None
)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "start"),
        ({"facts": Facts(ended="aborted")}, "ended"),
        ({"facts": Facts(paused_at=1)}, "paused"),
        ({"facts": Facts(gate_tripped_at=1)}, "gate_tripped"),
        ({"facts": Facts(needs_operator="stats_missing")}, "needs_operator"),
        ({"facts": Facts(paused_at=1, gate_tripped_at=1)}, "paused"),
        ({"last_sent_at": 10**12 - MIN_AGE_MS + 1}, "awaiting_age"),
        ({"last_sent_at": 10**12 - MIN_AGE_MS}, "start"),
        ({"awaits_figures": True}, "awaiting_stats"),
        ({"next_tier": None}, "complete"),
        ({"open_label": "wave-1"}, "wave_in_flight"),
        ({"open_label": "wave-1", "idle_ms": IDLE_MS - 1}, "wave_in_flight"),
        ({"open_label": "wave-1", "idle_ms": IDLE_MS}, "stalled"),
        ({"open_label": "wave-3", "next_tier": None}, "wave_in_flight"),
        ({"delegated": False}, "delegation_lost"),
    ],
)
def test_the_first_hit_decides(change, outcome):
    assert decide(replace(READY, **change), PLAN) == outcome


MOMENTS = st.builds(
    Moment,
    facts=st.builds(
        Facts,
        st.sampled_from([None, "complete", "aborted"]),
        st.sampled_from([None, 1]),
        st.sampled_from([None, 1]),
        st.sampled_from([None, "pool_drained"]),
    ),
    now=st.just(10**12),
    last_sent_at=st.sampled_from([None, 10**12 - 1, 1]),
    awaits_figures=st.booleans(),
    next_tier=st.sampled_from([None, 0, 2]),
    open_label=st.sampled_from([None, "wave-1"]),
    idle_ms=st.sampled_from([0, IDLE_MS]),
    delegated=st.booleans(),
)


@given(MOMENTS)
def test_a_wave_starts_only_while_nothing_at_all_stands_against_it(moment):
    allowed = (
        moment.facts.active
        and not moment.awaits_figures
        and moment.open_label is None
        and moment.next_tier is not None
        and moment.delegated
        and moment.last_sent_at != 10**12 - 1
    )
    assert (decide(moment, PLAN) == "start") == allowed


def test_labels_count_on_from_the_waves_that_came_before():
    assert [PLAN.label(tier) for tier in range(3)] == ["wave-1", "wave-2", "wave-3"]
    assert replace(PLAN, offset=4).label(0) == "wave-5"


@pytest.mark.parametrize(
    "change",
    [
        {"tiers": ()},
        {"tiers": (0,)},
        {"tiers": (-5,)},
        {"tiers": (500, 1.5)},
        {"tiers": (True,)},
        {"tiers": (99,)},
        {"tiers": (500,) * 51},
        {"offset": -1},
        {"prefix": ""},
        {"prefix": "Wave"},
        {"prefix": "-wave"},
        {"prefix": "w" * 41},
        {"thresholds": Thresholds(bounce_ppm=0)},
        {"thresholds": Thresholds(bounce_ppm=1_000_000)},
        {"thresholds": Thresholds(complaint_ppm=0)},
        {"min_fill_ppm": -1},
        {"max_refused_ppm": 1_000_000},
        {"min_age_ms": -1},
        {"prefix": "w" * 40, "offset": 10**25},
    ],
)
def test_a_plan_that_could_never_run_or_be_judged_is_refused(change):
    with pytest.raises(InvalidInput):
        require_plan(replace(PLAN, **change), allow_small_tiers=False)


def test_small_tiers_are_taken_when_somebody_insists():
    small = replace(PLAN, tiers=(50, 100))
    assert require_plan(small, allow_small_tiers=True) is small
    assert require_plan(replace(PLAN, max_refused_ppm=0), allow_small_tiers=False)


def test_underfilled_and_refused_are_compared_as_shares():
    assert not PLAN.underfilled(requested=500, picked=250)
    assert PLAN.underfilled(requested=500, picked=249)
    assert not PLAN.too_many_refused(tried=99, refused=99)
    assert not PLAN.too_many_refused(tried=100, refused=5)
    assert PLAN.too_many_refused(tried=100, refused=6)
    assert replace(PLAN, max_refused_ppm=0).too_many_refused(tried=100, refused=1)
