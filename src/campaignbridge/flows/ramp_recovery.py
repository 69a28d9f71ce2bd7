"""Recovering a wave by hand: each command with its precondition, each refusal with the command that is right instead.

Commands carry wave and run as they were shown, and compare them: what changed since is refused. Nothing here un-marks
anybody who was mailed, and no state has no way out.
"""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import TERMINAL, State
from campaignbridge.domain.errors import InProgress, InvalidInput, InvalidState, ProviderFailed
from campaignbridge.domain.ledger import READ_LIMIT_MS, Operation
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Observation,
    Outcome,
    Refused,
    RemoteStatus,
)
from campaignbridge.flows.aiming import (
    Aim,
    Looked,
    changed,
    done,
    holding_delivery,
    keep,
    look_at,
    note,
    status,
)
from campaignbridge.flows.ramp_given import require_broadcast, require_past, require_reason
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.reconcile import look
from campaignbridge.flows.resolving import Ruling, Verdict, resolve
from campaignbridge.flows.retiring import require_unsendable
from campaignbridge.flows.stepping import queue_step
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier

WENT = frozenset({State.SENDING, State.SENT})
UNDECIDED = frozenset({"send_unconfirmed", "force_released", "step_failed", "campaign_stopped"})
AT_REST = frozenset({State.APPROVED, State.PROVIDER_DRAFT, State.CANCELLED, State.FAILED})


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
    looked = look_at(wiring, ref, aim)
    _require_undecided(looked)
    if looked.dossier is not None:
        _require_past_window(looked.dossier)
    if broadcast_id is not None:
        require_broadcast(broadcast_id)
    require_past(sent_at, now_ms=looked.wave.now)
    if mailed is not None and mailed < 1:
        raise InvalidInput("Somebody was mailed, or the wave did not go.", todo="Say how many: --mailed N.")
    facts, seen = _filled(wiring, looked, broadcast_id, sent_at, mailed)
    if looked.dossier is not None and _settled_by_it(wiring, looked.dossier, aim, facts, seen, actor):
        return facts  # its wave followed in that transaction
    with holding_delivery(wiring, look_at(wiring, ref, aim), actor) as (looked, held):
        if held is not None and looked.dossier is not None and _is_another(looked.dossier, facts):
            require_unsendable(held, looked.dossier)
        with wiring.store.unit() as unit:
            keep(unit, looked, held)
            _require_undecided(looked)
            if not unit.waves.finish_by_hand(
                looked.wave, broadcast_id=facts.broadcast_id, sent_at=facts.sent_at, mailed=facts.mailed
            ):
                raise changed(looked.ramp)
            done(unit, looked, (actor, aim), "finished_by_hand", mailed=facts.mailed)
    return facts


def _require_undecided(looked: Looked) -> None:
    if looked.wave.failed is None and looked.ramp.facts.needs_operator not in UNDECIDED:
        raise InvalidState(
            f"{looked.wave.label} is going its way: nothing of it has failed.",
            todo=f"To take it out of the run's hands first: ramps force-release {looked.ramp.slug}",
        )


def _settled_by_it(  # noqa: PLR0917  the facts of one change
    wiring: Wiring,
    dossier: Dossier,
    aim: Aim,
    facts: Finished,
    seen: Outcome[Observation],
    actor: Actor,
) -> bool:
    """Settle the wave's own campaign by what went: it did, or another object. Say whether its wave is closed by that.

    Our own is taken for gone only if the provider doesn't show that it still is to go.
    """
    campaign, remote = dossier.campaign, dossier.remote
    if dossier.attempt is not None and dossier.attempt.operation is Operation.CREATE:
        campaign.require_settled()  # a draft that may have been made could still be sent
    shown = seen.value.status if isinstance(seen, Accepted) else None
    if shown in (RemoteStatus.DRAFT, RemoteStatus.SCHEDULED):
        word = "a draft" if shown is RemoteStatus.DRAFT else "scheduled"
        raise InvalidState(
            f"The provider shows this very broadcast as {word}: it did not go.",
            todo="Go on with it (ramps resume-wave), or name the broadcast that went: --broadcast-id ID",
        )
    if remote is None or remote.remote_id != facts.broadcast_id:
        if campaign.open_attempt is not None:
            _require_not_gone(wiring, dossier)
            _rule(wiring, campaign.id, Verdict.NOT_SENT, aim, actor)
        return False
    if campaign.open_attempt is not None:
        _rule(wiring, campaign.id, Verdict.SENT, aim, actor)
        return True
    if shown in (RemoteStatus.SENDING, RemoteStatus.SENT) and campaign.state not in TERMINAL:
        return look(wiring, campaign.id, actor=actor.name).state in WENT
    if shown is None and not (isinstance(seen, Refused) and seen.category is Category.MISSING):
        raise ProviderFailed(
            "The provider gave no usable answer about this broadcast of ours: it may still be a draft.",
            todo="Repeat the command in a little while, or name the broadcast that went: --broadcast-id ID",
        )
    return False


def _require_not_gone(wiring: Wiring, dossier: Dossier) -> None:
    """Raise when the provider shows that our own object went, before a person calls it not sent."""
    assert dossier.remote is not None, "what was asked to go is known there"
    assert dossier.remote.remote_id is not None
    seen = open_reader(wiring, dossier.connection).inspect(dossier.remote.remote_id, limit_ms=READ_LIMIT_MS)
    if isinstance(seen, Accepted) and seen.value.status not in (RemoteStatus.DRAFT, RemoteStatus.UNTRACKED):
        raise InvalidState(
            f"The provider calls our own {dossier.remote.remote_id} {seen.value.raw_status}: it may have gone, too.",
            todo=f"Let its record decide: campaigns reconcile {dossier.campaign.id}",
        )


def _rule(wiring: Wiring, campaign_id: str, verdict: Verdict, aim: Aim, actor: Actor) -> None:
    ruling = Ruling(verdict=verdict, evidence=aim.reason)
    resolve(wiring, campaign_id, actor=actor, ruling=ruling, while_checked=True)


def _filled(
    wiring: Wiring, looked: Looked, broadcast_id: str | None, sent_at: int | None, mailed: int | None
) -> tuple[Finished, Outcome[Observation]]:
    """Return what it is recorded with, and what the provider says of that object."""
    seen: Outcome[Observation] = Ambiguous(reason="not_asked")
    remote = looked.dossier.remote if looked.dossier else None
    broadcast_id = broadcast_id or (remote.remote_id if remote else None)
    if broadcast_id is not None:
        with wiring.store.reading() as unit:
            connection = unit.accounts.find(looked.ramp.connection_id)
        assert connection is not None, "a ramp has its connection"
        seen = open_reader(wiring, connection).inspect(broadcast_id, limit_ms=READ_LIMIT_MS)
        if isinstance(seen, Accepted):
            sent_at = sent_at if sent_at is not None else seen.value.send_time_ms
            mailed = mailed if mailed is not None else seen.value.emails_sent
    mailed = mailed if mailed is not None else looked.wave.verified
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
    return Finished(broadcast_id, sent_at, mailed), seen


def _is_another(dossier: Dossier, facts: Finished) -> bool:
    """Say whether what went is another object than ours, which then must not go as well."""
    remote = dossier.remote
    return remote is not None and remote.remote_id not in (None, facts.broadcast_id)


def discard(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor, return_contacts: bool) -> int:
    """Write an unmailed wave off, under a fresh label next time; return how many people went back to the pool."""
    actor.require("admin")
    require_reason(aim.reason)
    with holding_delivery(wiring, look_at(wiring, ref, aim), actor) as (looked, held):
        if held is not None and looked.dossier is not None:
            _require_settled(looked.dossier)
            if looked.dossier.campaign.state not in AT_REST:
                raise InvalidState(
                    "This wave was mailed, or is about to be: it can't be written off.",
                    todo=status(looked.ramp),
                )
            require_unsendable(held, looked.dossier)
        with wiring.store.unit() as unit:
            keep(unit, looked, held)
            if not unit.waves.discard(looked.wave):
                raise changed(looked.ramp)
            unit.ramps.rotate(looked.ramp.id)
            returned = (
                unit.assignments.release_all(looked.wave.id, code="discarded") if return_contacts else 0
            )
            done(unit, looked, (actor, aim), "wave_discarded", returned=returned)
            return returned


def clear_failure(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor) -> None:
    """Reopen a wave of which nothing exists anywhere else; fails closed on any marker."""
    actor.require("operate")
    require_reason(aim.reason)
    looked = look_at(wiring, ref, aim)
    ramp, wave = looked.ramp, looked.wave
    if wave.marked:
        raise InvalidState(
            "Something of this wave may exist at the provider, so it is not begun anew.",
            todo=f"Go on with it: ramps resume-wave {ramp.slug}; or write it off: ramps recover {ramp.slug} "
            "--discard-and-rotate",
        )
    with wiring.store.unit() as unit:
        keep(unit, looked)
        fresh = wiring.chance.token(12)
        if not unit.waves.reopen(wave, fresh_run=fresh):
            raise changed(ramp)
        unit.assignments.release(
            wave.id, [one.contact_id for one in unit.assignments.members(wave.id)], code="reopened"
        )
        done(unit, looked, (actor, aim), "failure_cleared")
        queue_step(wiring, unit, wave.id, fresh)


def force_release(wiring: Wiring, ref: str, aim: Aim, *, actor: Actor) -> None:
    """Displace the run of an open wave: its markers stay, its writes touch nothing, and an operator is needed."""
    actor.require("admin")
    require_reason(aim.reason)
    looked = look_at(wiring, ref, aim)
    with wiring.store.unit() as unit:
        unit.ramps.hold(looked.ramp.id)
        fresh = wiring.chance.token(12)
        if not unit.waves.displace(looked.wave, fresh_run=fresh):
            raise changed(looked.ramp)
        unit.ramps.need_operator(looked.ramp.id, "force_released")
        note(unit, looked, (actor, aim), "force_released")


def resume_wave(
    wiring: Wiring, ref: str, aim: Aim, *, actor: Actor, accept_underfilled: bool = False
) -> None:
    """Go on with an unfinished wave under a new run; nothing of it may be unconfirmed."""
    actor.require("deliver")
    require_reason(aim.reason)
    looked = look_at(wiring, ref, aim)
    ramp, wave, dossier = looked.ramp, looked.wave, looked.dossier
    if ramp.plan.awaits_consent(wave) and not accept_underfilled:
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
        keep(unit, looked)
        fresh = wiring.chance.token(12)
        # Somebody agrees to what was found, and not beforehand.
        agreed = actor.name if ramp.plan.awaits_consent(wave) else None
        if not unit.waves.displace(wave, fresh_run=fresh, underfilled_by=agreed):
            raise changed(ramp)
        done(unit, looked, (actor, aim), "wave_resumed")
        queue_step(wiring, unit, wave.id, fresh)


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
