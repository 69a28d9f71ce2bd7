"""What somebody aimed at: which run of which wave, as they looked at it, and that all is still so when they act.

1. Look: ramp, wave and its campaign, in one reading. A wave that is closed, or under another run, is refused.
2. Where a request must not begin meanwhile, hold the campaign's lock.
3. In the transaction that writes, keep campaign, ramp and wave, and compare them with what was looked at.
4. Clear the call for an operator that was looked at, and write down who did what, and why.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Conflict, InvalidState
from campaignbridge.domain.ramp import Closed, Ramp, Wave
from campaignbridge.flows.holding import Held, nothing_else, working_on
from campaignbridge.flows.ramping import wave_named
from campaignbridge.flows.refusals import lease_lost
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which run of which wave somebody looked at, and why they act."""

    label: str
    run_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What somebody looked at, before they acted."""

    ramp: Ramp
    wave: Wave
    dossier: Dossier | None  # of its campaign


def look_at(wiring: Wiring, ref: str, aim: Aim) -> Looked:
    """Return what there is to act on; raise when its wave is closed, or under another run than was aimed at."""
    with wiring.store.reading() as unit:
        ramp = unit.ramps.get(ref)
        wave = wave_named(unit, ramp, aim.label)
        dossier = unit.campaigns.get(wave.campaign_id) if wave.campaign_id else None
    if wave.closed is not None:
        over = {Closed.DISCARDED: "was written off", Closed.SENT: "has gone", Closed.SENT_LATE: "has gone"}
        raise InvalidState(
            f"{wave.label} {over[wave.closed]}: there is nothing to recover.", todo=status(ramp)
        )
    if wave.run_id != aim.run_id:
        raise changed(ramp)
    return Looked(ramp, wave, dossier)


@contextmanager
def holding_delivery(wiring: Wiring, looked: Looked, actor: Actor) -> Iterator[tuple[Looked, Held | None]]:
    """Hold the lock of the wave's campaign, if it has one: no request of it can begin before the block ends.

    What was looked at comes with the campaign as it is now.
    """
    if looked.dossier is None:
        yield looked, None
        return
    campaign_id = looked.dossier.campaign.id
    with working_on(wiring, campaign_id, "retire", actor=actor.name, also=nothing_else) as work:
        yield replace(looked, dossier=work.dossier), work.held


def keep(unit: Unit, looked: Looked, held: Held | None = None) -> None:
    """Keep campaign, ramp and wave until the transaction ends; raise unless all is as it was looked at.

    The campaign's row first, as whoever settles a request of it: so what was settled just now is seen.
    """
    if held is not None and not unit.locks.hold(held.lease, need_ms=0):
        raise lease_lost()
    if looked.dossier is not None:
        unit.campaigns.hold(looked.dossier.campaign.id)
    unit.ramps.hold(looked.ramp.id)
    ramp, wave = unit.ramps.get(looked.ramp.id), unit.waves.get(looked.wave.id)
    same = _compared(ramp, wave) == _compared(looked.ramp, looked.wave)
    if same and looked.dossier is not None:
        campaign, before = unit.campaigns.get(looked.dossier.campaign.id).campaign, looked.dossier.campaign
        same = (campaign.version, campaign.open_attempt) == (before.version, before.open_attempt)
    if not same:
        raise changed(looked.ramp)


def _compared(ramp: Ramp, wave: Wave) -> tuple[object, ...]:
    return (
        ramp.facts.ended,
        ramp.facts.needs_operator,
        wave.run_id,
        wave.closed,
        wave.failed,
        wave.campaign_id,
    )


def done(unit: Unit, looked: Looked, by: tuple[Actor, Aim], what: str, **facts: Any) -> None:
    """Clear the call for an operator that was looked at and answered, and write down who did what, and why."""
    called = looked.ramp.facts.needs_operator
    if called is not None and called != "stats_missing":
        unit.ramps.operator_done(looked.ramp.id, called)
    note(unit, looked, by, what, **facts)


def note(unit: Unit, looked: Looked, by: tuple[Actor, Aim], what: str, **facts: Any) -> None:
    """Write down who did what, and why, in the run log and as an audit event."""
    actor, aim = by
    ramp, wave = looked.ramp, looked.wave
    unit.ramps.log(ramp.id, what, wave_id=wave.id, actor=actor.name, reason=aim.reason, **facts)
    unit.events.add(
        f"ramp_{what}",
        campaign_id=None,
        actor=actor.name,
        ramp=ramp.slug,
        wave=wave.label,
        reason=aim.reason,
        **facts,
    )


def changed(ramp: Ramp) -> Conflict:
    """Return the refusal of what was aimed at something that has changed since."""
    return Conflict("Somebody changed this wave after you looked.", todo=status(ramp))


def status(ramp: Ramp) -> str:
    """Return what to do after a refusal."""
    return f"Look at it again: ramps status {ramp.slug}"
