"""What came of a request: written down once, lease or not, for as long as the attempt is unresolved.

It is repeated for 30 s while the store is gone; after that the attempt stays pending, and the watch settles it.
A COMMIT whose answer got lost is repeated too: an answer that is recorded already is recognised by its time.
"""

from collections.abc import Callable
from typing import TypeVar, assert_never

from campaignbridge.domain import cadence
from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.ledger import ACCEPTED_STATE, Attempt, Operation, Status
from campaignbridge.domain.provider import Accepted, Ambiguous, Outcome, Refused, RemoteStatus
from campaignbridge.flows.content_claim import follow_content
from campaignbridge.flows.holding import Held
from campaignbridge.flows.refusals import unrecorded
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit

T = TypeVar("T")

STATUS_OF = {
    State.PROVIDER_DRAFT: RemoteStatus.DRAFT,
    State.SCHEDULED: RemoteStatus.SCHEDULED,
    State.SENDING: RemoteStatus.SENDING,
}
RECORD_FOR_MS = 30_000
RECORD_PAUSE_MS = 500


def record(held: Held, attempt: Attempt, outcome: Outcome[T]) -> None:
    """Write down what came of a request.

    Raises `Unconfirmed` when that fails: nothing that may have taken effect escapes as "failed".
    """
    try:
        recorded = insist(held.wiring, lambda unit: _write_outcome(unit, held, attempt, outcome))
    except Exception as error:
        raise unrecorded(attempt) from error
    if not recorded:
        raise unrecorded(attempt)


def record_not_called(held: Held, attempt: Attempt) -> None:
    """Settle an intent that nobody was called for. Without an answer from the store, the watch will."""
    insist(held.wiring, lambda unit: _write_not_called(unit, held, attempt))


def insist(wiring: Wiring, write: Callable[[Unit], None]) -> bool:
    """Write in a transaction of its own, again and again while the store is gone; False after 30 s."""
    began = wiring.clock.mark()
    while True:
        try:
            with wiring.store.unit() as unit:
                write(unit)
        except StoreGone:
            if wiring.clock.since_ms(began) >= RECORD_FOR_MS:
                return False
            wiring.clock.wait_ms(RECORD_PAUSE_MS)
        else:
            return True


def _write_outcome(unit: Unit, held: Held, attempt: Attempt, outcome: Outcome[T]) -> None:
    match outcome:
        case Accepted(value):
            _write_accepted(unit, held, attempt, value)
        case Refused():
            _write_refused(unit, held, attempt, outcome)
        case Ambiguous():
            _write_ambiguous(unit, held, attempt, outcome)
        case _:
            assert_never(outcome)


def _write_accepted(unit: Unit, held: Held, attempt: Attempt, value: object) -> None:
    created = attempt.operation is Operation.CREATE
    remote_id = str(value) if created else None
    if not unit.ledger.settle(attempt.id, Status.SUCCEEDED, answered=True, remote_id=remote_id):
        _write_late(unit, held, attempt, accepted=True, value=value)
        return
    _write_remote(unit, attempt, value)
    state = ACCEPTED_STATE[attempt.operation]
    look_in_ms = _first_look(unit, attempt, state)
    settled = unit.campaigns.settle(
        attempt.campaign_id, attempt.id, state, look_in_ms=look_in_ms, scheduled_for=attempt.schedule_at
    )
    assert settled, "the campaign's open attempt is this one while it is unresolved"
    if look_in_ms is not None:  # also where the watch of the intent has stopped meanwhile
        held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=look_in_ms)
    unit.events.add(
        f"{attempt.operation.value}_accepted",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
    )


def _first_look(unit: Unit, attempt: Attempt, state: State) -> int | None:
    """Return the delay to the first look at what was accepted."""
    match state:
        case State.SENDING if attempt.operation is Operation.CANCEL:
            return cadence.EARLY_LOOK_MS
        case State.SENDING:
            return cadence.while_sending(age_ms=0)
        case State.SCHEDULED:
            return cadence.while_scheduled(send_time_ms=attempt.schedule_at, now_ms=unit.now_ms())
        case _:
            return None


def _write_remote(unit: Unit, attempt: Attempt, value: object) -> None:
    """Record what an accepted request makes of the remote campaign."""
    if attempt.operation is Operation.UNSCHEDULE:
        unit.ledger.free_content(attempt.campaign_id)
    if attempt.operation is not Operation.CREATE:
        state = ACCEPTED_STATE[attempt.operation]
        unit.remotes.accepted(
            attempt.campaign_id,
            attempt.generation,
            status=STATUS_OF[state].value,
            went=state is State.SENDING,
        )
        return
    known = unit.remotes.identify(
        attempt.campaign_id,
        attempt.generation,
        str(value),
        status=RemoteStatus.DRAFT.value,
        went=False,
        content_pending=True,
    )
    if not known:  # another one took its place: this one is never sent, and a person may delete it
        unit.events.add(
            "draft_orphaned",
            campaign_id=attempt.campaign_id,
            actor=attempt.actor,
            attempt_id=attempt.id,
            remote_id=str(value),
        )


def _write_refused(unit: Unit, held: Held, attempt: Attempt, outcome: Refused) -> None:
    settled = unit.ledger.settle(
        attempt.id, Status.FAILED, answered=True, error_code=outcome.code, retryable=outcome.retryable
    )
    if not settled:
        _write_late(unit, held, attempt, accepted=False)
        return
    # Read again in an hour and in a day: a 4xx may have been the second answer to a request that went.
    delivers = attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    again = outcome.may_mean_already_done and delivers
    _close(unit, held, attempt, absent=again, flag="send_refused" if delivers else None)
    unit.events.add(
        f"{attempt.operation.value}_refused",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
        code=outcome.code,
        detail=outcome.detail,
    )


def _write_ambiguous(unit: Unit, held: Held, attempt: Attempt, outcome: Ambiguous) -> None:
    if not unit.ledger.settle(attempt.id, Status.UNKNOWN, answered=True, error_code=outcome.reason):
        _write_late(unit, held, attempt, accepted=False)
        return
    state = attempt.from_state if attempt.operation is Operation.CREATE else State.UNKNOWN
    doubted = unit.campaigns.doubt(attempt.campaign_id, attempt.id, state, look_in_ms=cadence.EARLY_LOOK_MS)
    assert doubted, "the campaign's open attempt is this one while it is unresolved"
    held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=cadence.EARLY_LOOK_MS)
    unit.events.add(
        f"{attempt.operation.value}_unconfirmed",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
        reason=outcome.reason,
        bytes_out=outcome.bytes_out,
    )


def _write_late(unit: Unit, held: Held, attempt: Attempt, *, accepted: bool, value: object = None) -> None:
    """Record an answer to an attempt that was settled before it came."""
    stored = unit.ledger.get(attempt.id)
    if stored is None or stored.answered_at is not None:
        return  # never committed, or this very answer was: the COMMIT's own answer got lost
    double = accepted and stored.status is Status.FAILED
    unit.events.add(
        "late_outcome",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
        accepted=accepted,
        settled_as=stored.status.value,
        possible_double=double,
    )
    if double:
        _write_double(unit, held, attempt, value)


def _write_double(unit: Unit, held: Held, attempt: Attempt, value: object) -> None:
    """Record what took effect after it had been taken for not applied: a person must look, and the watch."""
    _write_remote(unit, attempt, value)
    if attempt.operation in (Operation.SEND, Operation.SCHEDULE):
        dossier = unit.campaigns.get(attempt.campaign_id)
        follow_content(unit, dossier, ACCEPTED_STATE[attempt.operation], attempt_id=attempt.id)
    if unit.campaigns.alarm(attempt.campaign_id, "possible_double"):
        held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=0)


def _write_not_called(unit: Unit, held: Held, attempt: Attempt) -> None:
    failed = unit.ledger.settle(
        attempt.id, Status.FAILED, answered=False, error_code="not_called", retryable=True
    )
    if not failed:
        return  # the intent was never committed, or is settled by now
    _close(unit, held, attempt, absent=False, flag=None)
    unit.events.add(
        f"{attempt.operation.value}_not_called",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
    )


def _close(unit: Unit, held: Held, attempt: Attempt, *, absent: bool, flag: str | None) -> None:
    """Put the campaign back where it was before a request that did nothing.

    Readings that are due because of this request, or still of an earlier one, are made.
    """
    dossier = unit.campaigns.get(attempt.campaign_id)
    campaign = dossier.campaign
    age_ms = unit.remotes.absent(attempt.campaign_id, attempt.generation, fresh=absent)
    look_in_ms = cadence.recheck(age_ms)
    scheduled_for = campaign.scheduled_for if attempt.from_state is State.SCHEDULED else None
    if attempt.from_state is State.SCHEDULED:
        look_in_ms = cadence.while_scheduled(send_time_ms=scheduled_for, now_ms=dossier.now)
    elif attempt.from_state is State.SENDING:
        look_in_ms = cadence.while_sending(age_ms=dossier.now - campaign.state_changed_at)
    settled = unit.campaigns.settle(
        attempt.campaign_id,
        attempt.id,
        attempt.from_state,
        look_in_ms=look_in_ms,
        flag=flag,
        scheduled_for=scheduled_for,
    )
    assert settled, "the campaign's open attempt is this one while it is unresolved"
    if attempt.operation in (Operation.SEND, Operation.SCHEDULE):
        unit.ledger.free_content(attempt.campaign_id)
    if look_in_ms is not None:
        held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=look_in_ms)
