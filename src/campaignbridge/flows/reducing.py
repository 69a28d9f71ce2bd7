"""Reducing: unschedule and cancel. They can only make fewer people get a mail.

1. Under the campaign's lock, read what the provider shows: nothing is asked for that can't apply any more.
2. What was never asked of the provider is cancelled here alone.
3. On an unresolved send or schedule, the reading settles that first, under the same lock; a draft proves
   nothing by one reading, so there it is made unsendable where the provider can, and else one waits.
4. `once`: intent, one POST, outcome. An accepted cancel is not yet cancelled: a reading says how many were mailed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import InProgress, InvalidState, Refusal
from campaignbridge.domain.evidence import Applied, Seen, judge
from campaignbridge.domain.ledger import (
    MUTATION_LIMIT_MS,
    Attempt,
    Operation,
    Status,
    request_hash,
    require_key,
)
from campaignbridge.domain.provider import Observation, Outcome, RemoteStatus
from campaignbridge.domain.when import LAST_CALL_MS
from campaignbridge.flows.finding import Writer, case_of, require, write_finding
from campaignbridge.flows.guard import read
from campaignbridge.flows.holding import Held, Work, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import Intent, perform
from campaignbridge.flows.refusals import lease_lost
from campaignbridge.flows.replay import answer_replay
from campaignbridge.flows.retiring import make_unsendable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Line, Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

LOCAL = frozenset({State.DRAFT, State.READY_FOR_REVIEW, State.APPROVED, State.PROVIDER_DRAFT})


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came of it. `asked` is the operation asked of the provider, None when none was needed."""

    asked: Operation | None
    attempt_id: str | None
    state: State
    replay: bool = False


def unschedule(
    wiring: Wiring, campaign_id: str, *, actor: Actor, key: str, expected_version: int | None = None
) -> Reduced:
    """Take a scheduled campaign off the provider's schedule; refused from 2 minutes before its time on."""
    actor.require("deliver")
    require_key(key)
    with _working(wiring, campaign_id, Operation.UNSCHEDULE, actor, key) as work:
        try:
            campaign = work.dossier.campaign
            if replayed := _replayed(work, Operation.UNSCHEDULE):
                return replayed
            campaign.require_settled()
            campaign.require_version(expected_version)
            campaign.require_state(State.SCHEDULED, doing="be unscheduled")
            provider = wiring.open_provider(work.dossier.connection)
            seen = read(provider, work.dossier)
            asked = _hash(work.dossier, Operation.UNSCHEDULE)
            return _unschedule(
                work.held, work.dossier, provider, seen, actor=actor.name, key=key, asked=asked
            )
        except Refusal as refusal:
            if "attempt" not in refusal.facts:
                note_refusal(wiring, work.dossier, "unschedule", actor, refusal)
            raise


def cancel(
    wiring: Wiring, campaign_id: str, *, actor: Actor, key: str, expected_version: int | None = None
) -> Reduced:
    """Stop a campaign wherever it is: here, off the schedule, or in the middle of being sent."""
    actor.require("deliver")
    require_key(key)
    with _working(wiring, campaign_id, Operation.CANCEL, actor, key) as work:
        try:
            campaign = work.dossier.campaign
            if replayed := _replayed(work, Operation.CANCEL):
                return replayed
            if campaign.open_attempt is None:
                campaign.require_version(expected_version)
            if campaign.state in LOCAL and campaign.open_attempt is None:
                return _cancel_here(work, actor)
            return _cancel_there(work, actor=actor.name, key=key)
        except Refusal as refusal:
            if "attempt" not in refusal.facts:
                note_refusal(wiring, work.dossier, "cancel", actor, refusal)
            raise


@contextmanager
def _working(
    wiring: Wiring, campaign_id: str, operation: Operation, actor: Actor, key: str
) -> Iterator[Work[Attempt | None]]:
    def also(unit: Unit, dossier: Dossier) -> Attempt | None:
        earlier = unit.ledger.replay(campaign_id, operation, key)
        if earlier is None and operation is Operation.CANCEL:  # of a scheduled one, it was asked for as this
            taken_off = unit.ledger.replay(campaign_id, Operation.UNSCHEDULE, key)
            if taken_off is not None and taken_off.request_hash == _hash(dossier, operation):
                return taken_off
        return earlier

    with working_on(wiring, campaign_id, operation.value, actor=actor.name, also=also) as work:
        yield work


def _replayed(work: Work[Attempt | None], operation: Operation) -> Reduced | None:
    earlier = answer_replay(work.also, _hash(work.dossier, operation))
    if earlier is None:
        return None
    return Reduced(earlier.operation, earlier.id, work.dossier.campaign.state, replay=True)


def _hash(dossier: Dossier, operation: Operation) -> str:
    return request_hash(operation.value, dossier.campaign.id)


def _unschedule(
    held: Held, dossier: Dossier, provider: Provider, seen: Observation, *, actor: str, key: str, asked: str
) -> Reduced:
    if seen.status is not RemoteStatus.SCHEDULED:
        raise InvalidState(
            f"The provider calls this campaign {seen.raw_status}; only a scheduled one can be unscheduled.",
            todo=f"See what happened there: campaigns reconcile {dossier.campaign.id}",
            observed=seen.status.value,
        )
    due = seen.send_time_ms or dossier.campaign.scheduled_for
    if due is not None and dossier.now >= due - LAST_CALL_MS:
        raise InvalidState(
            "The send time is reached, so it can't be unscheduled any more.",
            todo="Cancel it once it is being sent, if the provider can.",
        )
    intent = Intent(
        dossier=dossier,
        operation=Operation.UNSCHEDULE,
        key=key,
        request_hash=asked,
        actor=actor,
    )

    def call(line: Line) -> Outcome[None]:
        return provider.unschedule(line, seen.remote_id, limit_ms=MUTATION_LIMIT_MS)

    attempt, _ = perform(held, provider, intent, call)
    return Reduced(Operation.UNSCHEDULE, attempt.id, State.PROVIDER_DRAFT)


def _cancel_here(work: Work[Attempt | None], actor: Actor) -> Reduced:
    """Cancel what was never asked to be sent. A draft at the provider stays there, unsent."""
    campaign = work.dossier.campaign
    with work.held.wiring.store.unit() as unit:
        if not unit.locks.hold(work.held.lease, need_ms=0):
            raise lease_lost()
        require(unit.campaigns.edit(campaign, State.CANCELLED, approval=campaign.approval))
        unit.events.add("cancelled", campaign_id=campaign.id, actor=actor.name, version=campaign.version + 1)
    return Reduced(None, None, State.CANCELLED)


def _cancel_there(work: Work[Attempt | None], *, actor: str, key: str) -> Reduced:
    held, dossier = work.held, work.dossier
    provider = held.wiring.open_provider(dossier.connection)
    if dossier.attempt is not None:
        _require_reducible(dossier.attempt, dossier)
    else:
        dossier.campaign.require_state(State.SCHEDULED, State.SENDING, doing="be cancelled")
    retires = dossier.attempt is not None and "retire" in provider.capabilities
    # Asked for before, without an answer: by now there may be nothing to read.
    asked_before = dossier.remote is not None and dossier.remote.retiring_at is not None
    if retires and asked_before and make_unsendable(held, dossier, provider):
        return _cancelled_by_retiring(held, dossier, actor)
    seen = read(provider, dossier)
    if retires and seen.status is RemoteStatus.DRAFT:
        if make_unsendable(held, dossier, provider):
            return _cancelled_by_retiring(held, dossier, actor)
        seen = read(provider, dossier)
    if dossier.attempt is not None:
        dossier = _settle_first(held, dossier, seen, actor)
    if dossier.campaign.state is State.SCHEDULED:
        asked = _hash(dossier, Operation.CANCEL)
        return _unschedule(held, dossier, provider, seen, actor=actor, key=key, asked=asked)
    dossier.campaign.require_state(State.SENDING, doing="be cancelled")
    if "cancel" not in provider.capabilities:
        raise InvalidState(
            f"{provider.label} can't stop what is being sent.", todo="Nothing more can be done here."
        )
    intent = Intent(
        dossier=dossier,
        operation=Operation.CANCEL,
        key=key,
        request_hash=_hash(dossier, Operation.CANCEL),
        actor=actor,
    )

    def call(line: Line) -> Outcome[None]:
        return provider.cancel(line, seen.remote_id, limit_ms=MUTATION_LIMIT_MS)

    attempt, _ = perform(held, provider, intent, call)
    return Reduced(Operation.CANCEL, attempt.id, State.SENDING)


def _cancelled_by_retiring(held: Held, dossier: Dossier, actor: str) -> Reduced:
    """Settle the open send or schedule: what it was about can't be sent any more, whenever it arrives."""
    attempt, campaign, remote = dossier.attempt, dossier.campaign, dossier.remote
    assert attempt is not None
    assert remote is not None
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        require(unit.ledger.settle(attempt.id, Status.FAILED, answered=False, error_code="retired"))
        require(unit.remotes.retired(remote))
        unit.ledger.free_content(campaign.id)
        require(unit.campaigns.settle(campaign.id, attempt.id, State.CANCELLED, look_in_ms=None))
        unit.events.add(
            "cancelled",
            campaign_id=campaign.id,
            actor=actor,
            version=campaign.version + 1,
            attempt_id=attempt.id,
            retired=True,
        )
    return Reduced(None, None, State.CANCELLED)


def _require_reducible(attempt: Attempt, dossier: Dossier) -> None:
    """Raise unless the open request is one that a cancel may overtake."""
    if attempt.operation not in (Operation.SEND, Operation.SCHEDULE):
        dossier.campaign.require_settled()


def _settle_first(held: Held, dossier: Dossier, seen: Observation, actor: str) -> Dossier:
    """Settle the open send or schedule by what the provider shows; raise `InProgress` while that tells nothing."""
    finding = judge(case_of(dossier), Seen(seen), began_at=dossier.now)
    if not isinstance(finding, Applied):
        raise InProgress(
            "Whether the earlier request takes effect is still open; there is nothing to stop yet.",
            todo="It is looked at by itself. Cancel again then.",
            retry_after=30,
        )
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        write_finding(Writer(unit, held.wiring, dossier, seen, actor), finding)
        return unit.campaigns.get(dossier.campaign.id)
