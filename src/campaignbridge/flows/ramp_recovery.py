"""Recovering a wave by hand: each command with its precondition, each refusal with the command that is right instead.

Commands carry wave and run as they were shown, and compare them: what changed since is refused. Nothing here un-marks
anybody who was mailed, and no state has no way out.
"""

from dataclasses import dataclass
from typing import Any

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import Conflict, InProgress, InvalidInput, InvalidState
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Accepted, Observation, RemoteStatus
from campaignbridge.domain.ramp import Closed, Ramp, Wave
from campaignbridge.flows.ramping import require_broadcast, require_reason, wave_named
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.reconcile import look
from campaignbridge.flows.resolving import Ruling, Verdict, resolve
from campaignbridge.flows.retiring import require_unsendable
from campaignbridge.flows.stepping import queue_step
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

WENT = frozenset({State.SENDING, State.SENT})
UNDECIDED = frozenset({"send_unconfirmed", "force_released", "step_failed", "campaign_stopped"})
AT_REST = frozenset({State.APPROVED, State.PROVIDER_DRAFT, State.CANCELLED, State.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which run of which wave somebody looked at, and why they act."""

    label: str
    run_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """What a wave that went out by hand is recorded with."""

    broadcast_id: str
    sent_at: int
    mailed: int


def finish_by_hand(
    wiring: Wiring,
    ref: str,
    aim: Aim,
    *,
    actor: Actor,
    broadcast_id: str | None = None,
    sent_at: int | None = None,
    mailed: int | None = None,
) -> Finished:
    """Record that an open wave did go out. What isn't given is filled in from our markers and the provider's record."""
    actor.require("admin")
    require_reason(aim.reason)
    ramp, wave, dossier = _look(wiring, ref, aim)
    if wave.failed is None and ramp.facts.needs_operator not in UNDECIDED:
        raise InvalidState(
            f"{wave.label} is going its way: nothing of it has failed.",
            todo=f"To take it out of the run's hands first: ramps force-release {ramp.slug}",
        )
    if dossier is not None:
        _require_past_window(dossier)
    if broadcast_id is not None:
        require_broadcast(broadcast_id)
    if mailed is not None and mailed < 1:
        raise InvalidInput("Somebody was mailed, or the wave did not go.", todo="Say how many: --mailed N.")
    facts, seen = _filled(wiring, ramp, wave, dossier, broadcast_id, sent_at, mailed)
    if dossier is not None and _settled_by_it(wiring, dossier, aim, facts, seen, actor):
        return facts  # its wave followed in that transaction
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp.id)
        if not unit.waves.finish_by_hand(
            wave, broadcast_id=facts.broadcast_id, sent_at=facts.sent_at, mailed=facts.mailed
        ):
            raise _changed(ramp)
        _done(unit, ramp, wave, (actor, aim), "finished_by_hand", mailed=facts.mailed)
    return facts


def _settled_by_it(  # noqa: PLR0917  the facts of one change
    wiring: Wiring,
    dossier: Dossier,
    aim: Aim,
    facts: Finished,
    seen: Observation | None,
    actor: Actor,
) -> bool:
    """Settle the wave's own campaign by what went: it did, or another object, and ours is made unsendable first.

    Say whether its wave is closed by that.
    """
    campaign = dossier.campaign
    if _is_another(dossier, facts):
        if campaign.open_attempt is not None:
            _rule(wiring, campaign.id, Verdict.NOT_SENT, aim, actor)
        require_unsendable(wiring, _fresh(wiring, campaign.id), actor)
        return False
    if campaign.open_attempt is not None:
        _rule(wiring, campaign.id, Verdict.SENT, aim, actor)
        return True
    if seen is not None and seen.status is RemoteStatus.DRAFT:
        raise InvalidState(
            "The provider shows this very broadcast as a draft: it did not go.",
            todo="Go on with it (ramps resume-wave), or name the broadcast that went: --broadcast-id ID",
        )
    if seen is not None and seen.status in (RemoteStatus.SENDING, RemoteStatus.SENT):
        return look(wiring, campaign.id, actor=actor.name).state in WENT
    return False


def _rule(wiring: Wiring, campaign_id: str, verdict: Verdict, aim: Aim, actor: Actor) -> None:
    ruling = Ruling(verdict=verdict, evidence=aim.reason)
    resolve(wiring, campaign_id, actor=actor, ruling=ruling, while_checked=True)


def _fresh(wiring: Wiring, campaign_id: str) -> Dossier:
    with wiring.store.reading() as unit:
        return unit.campaigns.get(campaign_id)


def _filled(  # noqa: PLR0917  each of them may be missing
    wiring: Wiring,
    ramp: Ramp,
    wave: Wave,
    dossier: Dossier | None,
    broadcast_id: str | None,
    sent_at: int | None,
    mailed: int | None,
) -> tuple[Finished, Observation | None]:
    observed: Observation | None = None
    remote = dossier.remote if dossier else None
    broadcast_id = broadcast_id or (remote.remote_id if remote else None)
    if broadcast_id is not None:
        with wiring.store.reading() as unit:
            connection = unit.accounts.find(ramp.connection_id)
        assert connection is not None, "a ramp has its connection"
        seen = open_reader(wiring, connection).inspect(broadcast_id, limit_ms=READ_LIMIT_MS)
        if isinstance(seen, Accepted):
            observed = seen.value
            sent_at = sent_at if sent_at is not None else seen.value.send_time_ms
            mailed = mailed if mailed is not None else seen.value.emails_sent
    mailed = mailed if mailed is not None else wave.verified
    missing = [
        name
        for name, value in (
            ("--broadcast-id", broadcast_id),
            ("--sent-at", sent_at),
            ("--mailed", mailed),
        )
        if value is None
    ]
    if missing:
        raise InvalidInput(
            f"Neither our markers nor the provider say all of it: {', '.join(missing)} is missing.",
            todo="Add it from the provider's own pages.",
            missing=missing,
        )
    assert broadcast_id is not None
    assert sent_at is not None
    assert mailed is not None
    return Finished(broadcast_id, sent_at, mailed), observed


def _is_another(dossier: Dossier, facts: Finished) -> bool:
    """Say whether what went is another object than ours, which then must not go as well."""
    remote = dossier.remote
    return remote is not None and remote.remote_id not in (None, facts.broadcast_id)


def discard(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor, return_contacts: bool) -> int:
    """Write an unmailed wave off, under a fresh label next time; return how many people went back to the pool."""
    actor.require("admin")
    require_reason(aim.reason)
    ramp, wave, dossier = _look(wiring, ref, aim)
    if dossier is not None:
        _require_settled(dossier)
        if dossier.campaign.state not in AT_REST:
            raise InvalidState(
                "This wave was mailed, or is about to be: it can't be written off.", todo=_status(ramp)
            )
        require_unsendable(wiring, dossier, actor)
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp.id)
        if not unit.waves.discard(wave):
            raise _changed(ramp)
        unit.ramps.rotate(ramp.id)
        returned = unit.assignments.release_all(wave.id, code="discarded") if return_contacts else 0
        _done(unit, ramp, wave, (actor, aim), "wave_discarded", returned=returned)
        return returned


def clear_failure(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor) -> None:
    """Reopen a wave of which nothing exists anywhere else; fails closed on any marker."""
    actor.require("operate")
    require_reason(aim.reason)
    ramp, wave, _ = _look(wiring, ref, aim)
    if wave.marked:
        raise InvalidState(
            "Something of this wave may exist at the provider, so it is not begun anew.",
            todo=f"Go on with it: ramps resume-wave {ramp.slug}; or write it off: ramps recover {ramp.slug} "
            "--discard-and-rotate",
        )
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp.id)
        fresh = wiring.chance.token(12)
        if not unit.waves.reopen(wave, fresh_run=fresh):
            raise _changed(ramp)
        unit.assignments.release(
            wave.id, [one.contact_id for one in unit.assignments.members(wave.id)], code="reopened"
        )
        _done(unit, ramp, wave, (actor, aim), "failure_cleared")
        queue_step(wiring, unit, wave.id, fresh)


def force_release(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor) -> None:
    """Displace the run of an open wave: its markers stay, its writes touch nothing, and an operator is needed."""
    actor.require("admin")
    require_reason(aim.reason)
    ramp, wave, _ = _look(wiring, ref, aim)
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp.id)
        fresh = wiring.chance.token(12)
        if not unit.waves.displace(wave, fresh_run=fresh):
            raise _changed(ramp)
        unit.ramps.need_operator(ramp.id, "force_released")
        _note(unit, ramp, wave, (actor, aim), "force_released")


def resume_wave(
    wiring: Wiring, ref: str, aim: Aim, *, actor: Actor, accept_underfilled: bool = False
) -> None:
    """Go on with an unfinished wave under a new run; nothing of it may be unconfirmed."""
    actor.require("deliver")
    require_reason(aim.reason)
    ramp, wave, dossier = _look(wiring, ref, aim)
    if wave.failed == "pool_drained" and not accept_underfilled:
        raise InvalidState(
            f"Only {wave.picked:,} of {wave.requested:,} people were found for {wave.label}.",
            todo=f"Add --accept-underfilled to mail them all the same, or: ramps abort {ramp.slug}",
        )
    if dossier is not None:
        _require_settled(dossier)
        if dossier.campaign.state in (State.CANCELLED, State.FAILED):
            raise InvalidState(
                "This wave's campaign was stopped for good.",
                todo=f"Write the wave off: ramps recover {ramp.slug} --discard-and-rotate",
            )
    with wiring.store.unit() as unit:
        unit.ramps.hold(ramp.id)
        fresh = wiring.chance.token(12)
        agreed = actor.name if accept_underfilled else None
        if not unit.waves.displace(wave, fresh_run=fresh, underfilled_by=agreed):
            raise _changed(ramp)
        _done(unit, ramp, wave, (actor, aim), "wave_resumed")
        queue_step(wiring, unit, wave.id, fresh)


def _look(wiring: Wiring, ref: str, aim: Aim) -> tuple[Ramp, Wave, Dossier | None]:
    with wiring.store.reading() as unit:
        ramp = unit.ramps.get(ref)
        wave = wave_named(unit, ramp, aim.label)
        dossier = unit.campaigns.get(wave.campaign_id) if wave.campaign_id else None
    if wave.closed is not None:
        over = {Closed.DISCARDED: "was written off", Closed.SENT: "has gone", Closed.SENT_LATE: "has gone"}
        raise InvalidState(
            f"{wave.label} {over[wave.closed]}: there is nothing to recover.", todo=_status(ramp)
        )
    if wave.run_id != aim.run_id:
        raise _changed(ramp)
    return ramp, wave, dossier


def _require_settled(dossier: Dossier) -> None:
    _require_past_window(dossier)
    dossier.campaign.require_settled()


def _require_past_window(dossier: Dossier) -> None:
    attempt = dossier.attempt
    if attempt is not None and dossier.now < attempt.window_end:
        people = dossier.campaign.approval.max_recipients if dossier.campaign.approval else 0
        raise InProgress(
            f"A request of this wave may still take effect: up to {people:,} people.",
            todo="Nothing has to be done: it is looked at by itself.",
            retry_after=-(-(attempt.window_end - dossier.now) // 1000),
            people=people,
            until=attempt.window_end,
        )


def _done(unit: Unit, ramp: Ramp, wave: Wave, by: tuple[Actor, Aim], what: str, **facts: Any) -> None:
    """Clear the call for an operator that was answered, and write down who did what, and why."""
    called = unit.ramps.get(ramp.id).facts.needs_operator
    if called is not None and called != "stats_missing":
        unit.ramps.operator_done(ramp.id, called)
    _note(unit, ramp, wave, by, what, **facts)


def _note(unit: Unit, ramp: Ramp, wave: Wave, by: tuple[Actor, Aim], what: str, **facts: Any) -> None:
    actor, aim = by
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


def _changed(ramp: Ramp) -> Conflict:
    return Conflict("Somebody changed this wave after you looked.", todo=_status(ramp))


def _status(ramp: Ramp) -> str:
    return f"Look at it again: ramps status {ramp.slug}"
