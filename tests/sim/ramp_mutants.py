"""Ramps with one guard removed, each with the schedule that shows what the guard is for."""

from contextlib import nullcontext
from typing import Any

from campaignbridge.domain.campaign import State
from campaignbridge.domain.job import JobOutcome
from campaignbridge.domain.ramp import Wave, decide
from campaignbridge.flows import ramp_recovery, ramp_tick, wave_delivery, wave_people
from campaignbridge.flows.gating import Judged, judge_ramp
from campaignbridge.flows.stepping import queue_step
from campaignbridge.flows.wave_people import Seen
from campaignbridge.flows.wave_run import WaveRun
from campaignbridge.store.ramps import Ramps
from campaignbridge.store.sql import catalogue
from campaignbridge.store.waves import Waves
from sim import ramp_directed as directed
from sim.mutants import Mutant, _without
from sim.ramp_scenarios import releases_and_resumes

_COMPARE = wave_people.compare
_OPEN = "\n    AND NOT EXISTS (SELECT 1 FROM waves w WHERE w.ramp_id = r.id AND w.closed IS NULL)"
_TIER = (
    "\n    AND coalesce((SELECT max(w.tier) FROM waves w WHERE w.ramp_id = r.id AND w.closed = 'sent'), -1)"
    "\n        = CAST(:tier AS bigint) - 1"
)
_LIVE = """
        AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.contact_id = c.id
            AND a.ramp_id = :ramp_id AND a.status IN ('assigned', 'in_segment', 'refused'))"""
_RESTS = """
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = waves.campaign_id
        AND (c.open_attempt IS NOT NULL OR c.state IN ('scheduled', 'sending', 'sent', 'unknown')))"""
_NEVER_ASKED = """
    AND NOT EXISTS (SELECT 1 FROM waves w JOIN attempts t ON t.campaign_id = w.campaign_id
        WHERE w.id = assignments.wave_id AND t.operation IN ('send', 'schedule'))"""


# code that stands in a guard's place
def _claim_anyway(wiring: Any, unit: Any, ramp: Any, waves: list[Wave], _actor: Any) -> str:
    tier = ramp_tick.current_tier(waves) + 1
    wave_id, run_id = wiring.new_id("wav"), wiring.chance.token(12)
    label = f"{ramp.plan.label(tier)}-{len(waves)}"
    unit.waves.claim(wave_id, ramp_id=ramp.id, tier=tier, label=label, run_id=run_id, requested=7)
    queue_step(wiring, unit, wave_id, run_id)
    return "wave_claimed"


def _decide_by_age(moment: Any, plan: Any) -> str:
    outcome = decide(moment, plan)
    return "start" if outcome == "stalled" else outcome


def _tick_in_two(wiring: Any, ramp_id: str, *, actor: str | None = None) -> str:
    judged = judge_ramp(wiring, ramp_id)
    with wiring.store.reading() as unit:
        ramp, waves = unit.ramps.get(ramp_id), unit.waves.of_ramp(ramp_id)
    outcome = decide(ramp_tick._moment(wiring, ramp, waves, awaits=judged.awaits), ramp.plan)
    if outcome != "start":
        return outcome
    with wiring.store.unit() as unit:
        return _claim_anyway(wiring, unit, ramp, waves, actor)


def _compare_by_count(going: WaveRun, provider: Any) -> Seen | JobOutcome:
    assert going.wave.segment_id is not None
    members = wave_people.members_of(provider, going.wave.segment_id)
    with going.wiring.store.reading() as unit:
        ours = unit.assignments.members(going.wave.id)
    if len(members) == len(ours):
        return Seen([one.contact_id for one in ours], [])
    return _COMPARE(going, provider)


def _without_run(*names: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name in names:
        texts |= _without(f"waves.{name}", " AND run_id = :run_id")
    return texts


def ramp_mutants() -> list[Mutant]:
    """Return every mutant of ramps."""
    claim = _without("waves.claim", _OPEN, _TIER)
    hold = catalogue("sqlite")["waves.hold_job"].text.partition("\nWHERE")[0] + "\nWHERE id = :job_id"
    by_count = tuple((place, "compare", _compare_by_count) for place in (wave_people, wave_delivery))
    return [
        Mutant(
            "a wave is claimed on what was read before",
            "I4",
            directed.two_ticks,
            ((ramp_tick, "tick", _tick_in_two),),
            claim,
        ),
        Mutant(
            "an idle wave is overridden",
            "I4",
            directed.idle_wave,
            ((ramp_tick, "decide", _decide_by_age), (ramp_tick, "_claim", _claim_anyway)),
            claim,
        ),
        Mutant(
            "a step writes for whatever run",
            "I2",
            directed.with_hand_at(directed.PUSHED, releases_and_resumes, directed.ALONE),
            texts=_without_run(
                "is_of_run", "advance", "start_push", "stop_push", "fail", "keep_segment", "ask"
            ),
        ),
        Mutant(
            "a step writes by whatever job",
            "I2",
            directed.zombie_pusher,
            texts={"waves.hold_job": f"{hold} AND :fence = :fence AND :holder = :holder AND :need_ms >= 0"},
        ),
        Mutant(
            "a send's intent doesn't hold the ramp",
            "I4",
            directed.paused_before_the_intent,
            ((Ramps, "allow", lambda *_args, **_more: True),),
        ),
        Mutant(
            "a push leaves no marker",
            "I5",
            directed.second_wave,
            texts=_without("waves.start_push", "exported_at = coalesce(exported_at, now_ms()), "),
        ),
        Mutant(
            "a push that may still land is not waited for",
            "I10",
            directed.late_push,
            ((wave_people, "_still_landing", lambda _wave: None),),
        ),
        Mutant(
            "somebody who is in a wave is picked",
            "I4",
            directed.second_wave,
            texts=_without("assignments.pick", _LIVE),
        ),
        Mutant("a segment is verified by its count", "I10", directed.swapped_member, by_count),
        Mutant(
            "who may have been mailed is given back",
            "I4",
            directed.discarded_after_the_send,
            (
                (ramp_recovery, "AT_REST", frozenset(State)),
                (ramp_recovery, "_require_settled", lambda *_: None),
                (ramp_recovery, "require_unsendable", lambda *_: None),
                (
                    ramp_recovery,
                    "holding_delivery",
                    lambda _wiring, looked, _actor: nullcontext((looked, None)),
                ),
            ),
            {**_without("waves.discard", _RESTS), **_without("assignments.release_all", _NEVER_ASKED)},
        ),
        Mutant(
            "the gate isn't judged before a send",
            "I4",
            directed.bad_figures_before_the_send,
            ((wave_delivery, "judge_ramp", lambda *_: Judged(awaits=False, tripped=False)),),
        ),
        Mutant(
            "the sweep looks for no waves",
            "I8",
            directed.jobs_lost,
            ((Waves, "unattended", lambda *_args, **_more: []),),
        ),
    ]
