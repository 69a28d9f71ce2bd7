"""A ramp's tick: the gate first, then the first thing that stands against the next wave, else its claim.

Claim before any side effect: one insert of the wave, conditional on an active ramp, the expected tier and no open wave,
in one transaction with the first job of its run. Of two ticks, a tick and a manual run, or a job that is delivered
twice, exactly one wins, and the others leave without touching anything. Every outcome is logged.
"""

from collections.abc import Callable

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome
from campaignbridge.domain.ramp import Closed, Moment, Ramp, Wave, decide
from campaignbridge.domain.recurring import Cron
from campaignbridge.flows.gating import judge_ramp
from campaignbridge.flows.mirroring import queue_mirrors
from campaignbridge.flows.stepping import TICK, queue_step, wave_of
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit

NextAt = Callable[[Cron, int], int]
"""The first time of an expression after a moment, in epoch milliseconds."""


def tick_handler(wiring: Wiring, next_at: NextAt) -> Handler:
    """Return the handler of `ramp_tick` jobs. It may run twice: a claim is made once, and a judgement only reads."""
    return Handler(type=TICK, run=lambda job: run_tick(wiring, job, next_at), retry_safe=True)


def run_tick(wiring: Wiring, job: Job, next_at: NextAt) -> JobOutcome:
    """Tick a ramp because its time has come; come back at its next one. A ramp without a cron is run by hand."""
    ramp_id = wave_of(job.target)
    try:
        with wiring.store.reading() as unit:
            ramp = unit.ramps.get(ramp_id)
        if ramp.cron is None or ramp.facts.ended is not None:
            return Done()
        if job.payload.get("planned"):
            tick(wiring, ramp_id)
        with wiring.store.reading() as unit:
            ramp = unit.ramps.get(ramp_id)
    except NotFound:
        return Done()
    if ramp.cron is None or ramp.facts.ended is not None:
        return Done()
    return Again(at=next_at(Cron(ramp.cron, ramp.zone), ramp.now), payload={"planned": True})


def run_now(wiring: Wiring, ref: str, *, actor: Actor) -> str:
    """Tick a ramp now, because somebody asks for it; return the outcome."""
    actor.require("deliver")
    with wiring.store.reading() as unit:
        ramp = unit.ramps.get(ref)
    return tick(wiring, ramp.id, actor=actor.name)


def tick(wiring: Wiring, ramp_id: str, *, actor: str | None = None) -> str:
    """Judge, decide, and claim the next wave if nothing stands against it; return the outcome."""
    judged = judge_ramp(wiring, ramp_id)
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp_id)
        ramp = unit.ramps.get(ramp_id)
        waves = unit.waves.of_ramp(ramp_id)
        queue_mirrors(wiring, unit, waves)
        awaits = judged.awaits or any(wave.sent_at is not None and wave.verdict is None for wave in waves)
        outcome = decide(_moment(wiring, ramp, waves, awaits=awaits), ramp.plan)
        if outcome == "complete" and unit.ramps.end(ramp.id, "complete"):
            unit.events.add("ramp_complete", campaign_id=None, actor=None, ramp=ramp.slug)
        if outcome == "start":
            return _claim(wiring, unit, ramp, waves, actor)
        unit.ramps.log(ramp.id, outcome, wave_id=_open_id(waves), actor=actor, **_holding(waves))
        return outcome


def _holding(waves: list[Wave]) -> dict[str, object]:
    """Return which wave holds the ramp, since when, and how long it has been idle."""
    wave = next((one for one in waves if one.closed is None), None)
    if wave is None:
        return {}
    return {
        "label": wave.label,
        "run": wave.run_id,
        "age_ms": wave.now - wave.opened_at,
        "idle_ms": wave.now - wave.activity_at,
    }


def _moment(wiring: Wiring, ramp: Ramp, waves: list[Wave], *, awaits: bool) -> Moment:
    sent = [wave.sent_at for wave in waves if wave.sent_at is not None]
    opened = next((wave for wave in waves if wave.closed is None), None)
    tier = current_tier(waves) + 1
    return Moment(
        facts=ramp.facts,
        now=ramp.now,
        last_sent_at=max(sent, default=None),
        awaits_figures=awaits,
        next_tier=tier if tier < len(ramp.plan.tiers) else None,
        open_label=opened.label if opened else None,
        idle_ms=ramp.now - opened.activity_at if opened else 0,
        delegated=not (wiring.duties_separated and ramp.approved_by == ramp.delegated_by),
    )


def current_tier(waves: list[Wave]) -> int:
    """Return the highest tier with a sent wave; -1 at first."""
    return max(
        (wave.tier for wave in waves if wave.closed is Closed.SENT and wave.tier is not None), default=-1
    )


def _claim(wiring: Wiring, unit: Unit, ramp: Ramp, waves: list[Wave], actor: str | None) -> str:
    tier = current_tier(waves) + 1
    label = ramp.plan.label(tier)
    if any(wave.label == label for wave in waves):
        unit.ramps.need_operator(ramp.id, "label_collides")
        unit.ramps.log(ramp.id, "label_collides", actor=actor, label=label)
        return "label_collides"
    wave_id, run_id = wiring.new_id("wav"), wiring.chance.token(12)
    requested = ramp.plan.tiers[tier]
    if not unit.waves.claim(
        wave_id, ramp_id=ramp.id, tier=tier, label=label, run_id=run_id, requested=requested
    ):
        return _claim_refused(unit, ramp, tier, actor)
    queue_step(wiring, unit, wave_id, run_id)
    unit.ramps.log(ramp.id, "wave_claimed", wave_id=wave_id, actor=actor, label=label, requested=requested)
    return "wave_claimed"


def _claim_refused(unit: Unit, ramp: Ramp, tier: int, actor: str | None) -> str:
    """Say why somebody else was faster; nothing was touched."""
    waves = unit.waves.of_ramp(ramp.id)
    outcome = "claim_refused"
    if _open_id(waves) is not None:
        outcome = "wave_in_flight"
    elif current_tier(waves) + 1 != tier:
        outcome = "tier_moved"
    unit.ramps.log(ramp.id, outcome, wave_id=_open_id(waves), actor=actor, **_holding(waves))
    return outcome


def _open_id(waves: list[Wave]) -> str | None:
    return next((wave.id for wave in waves if wave.closed is None), None)
