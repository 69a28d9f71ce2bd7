"""One irreversible call, at most once.

1. Open a fresh connection. If that fails, nothing happened and nothing is recorded.
2. Check that the lease outlives the call (`held.require`), and note the time.
3. Commit the intent: the lock is still ours for the whole call; a pending attempt, the only unresolved one;
   the campaign's version and state as they were checked; the content claimed; the watch queued. The watch is
   born with the intent: from here on the request has an owner, whatever becomes of this process.
4. No call when the COMMIT's answer is unknown, or when more than 5 s went by since step 2.
5. Call exactly once. An exception is an ambiguous answer.
6. Record the outcome, lease or not, for as long as 30 s: it is bound to the attempt alone.

Invariants: a request that may have left has a committed attempt; an attempt is settled once; an accepted
request is never recorded as failed. Not prevented: a freeze of this machine between steps 4 and 5, and bytes
that wait in somebody's queue. The settle window and two readings (see `domain.evidence`) are for those.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, assert_never

from campaignbridge.domain import cadence
from campaignbridge.domain.campaign import State
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import (
    CommitUnknown,
    Conflict,
    ProviderFailed,
    Refusal,
    StoreGone,
    Unconfirmed,
)
from campaignbridge.domain.ledger import (
    ACCEPTED_STATE,
    DIAL_LIMIT_MS,
    FIRST_BYTE_MS,
    LEASE_MARGIN_MS,
    MUTATION_LIMIT_MS,
    READ_LIMIT_MS,
    SETTLE_MS,
    Attempt,
    Operation,
    Status,
)
from campaignbridge.domain.provider import Accepted, Ambiguous, Outcome, Refused, RemoteStatus
from campaignbridge.flows.holding import Held, lease_lost
from campaignbridge.ports import Line, Mark, Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

T = TypeVar("T")

RECORD_FOR_MS = 30_000
RECORD_PAUSE_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is about to be asked for, and what must still be true when it is."""

    dossier: Dossier  # as it was checked
    operation: Operation
    key: str
    request_hash: str
    actor: str | None
    claims: Snapshot | None = None  # the content that no other campaign may be sending


def perform(
    held: Held, provider: Provider, intent: Intent, call: Callable[[Line], Outcome[T]]
) -> tuple[Attempt, T]:
    """Make one request at most once; return its attempt and what was accepted.

    Raises `ProviderFailed` (definite: nothing happened), `Unconfirmed` (it may have taken effect: the watch
    settles it), `LeaseLost` or `Conflict` (nobody was contacted), `StoreGone` (nothing was done).
    """
    line = provider.dial(limit_ms=DIAL_LIMIT_MS)
    if isinstance(line, Refused):
        raise not_reached(provider, line)
    try:
        held.require(MUTATION_LIMIT_MS + LEASE_MARGIN_MS)
        checked = held.wiring.clock.mark()
        attempt = _commit_intent(held, intent)
        if too_late(held, checked):
            _record_not_called(held, attempt)
            raise lease_lost()
        outcome = _call_once(call, line)
    finally:
        line.close()
    if isinstance(outcome, Refused):
        outcome = _second_look(provider, attempt, outcome)
    record(held, attempt, outcome)
    match outcome:
        case Accepted(value):
            return attempt, value
        case Refused():
            raise refused(provider, outcome, attempt)
        case Ambiguous():
            raise unconfirmed(provider, attempt)
        case _:
            assert_never(outcome)


def too_late(held: Held, checked: Mark) -> bool:
    """Say whether the check of the lease is too long ago for the first byte to leave now."""
    return held.wiring.clock.since_ms(checked) > FIRST_BYTE_MS


def _commit_intent(held: Held, intent: Intent) -> Attempt:
    attempt = _attempt_of(held, intent)
    try:
        with held.wiring.store.unit() as unit:
            return _write_intent(unit, held, intent, attempt)
    except CommitUnknown:
        # It may have been committed: then it is settled as not called once the store answers, else the
        # watch finds it after its window. Either way nobody is called.
        _record_not_called(held, attempt)
        raise


def _attempt_of(held: Held, intent: Intent) -> Attempt:
    campaign = intent.dossier.campaign
    remote = intent.dossier.remote
    return Attempt(
        id=held.wiring.new_id("att"),
        campaign_id=campaign.id,
        operation=intent.operation,
        key=intent.key,
        request_hash=intent.request_hash,
        status=Status.PENDING,
        retryable=False,
        account=campaign.account,
        generation=campaign.generation,
        remote_id=remote.remote_id if remote else None,
        from_state=campaign.state,
        deadline_at=0,
        actor=intent.actor,
        created_at=0,
        answered_at=None,
        settled_at=None,
        error_code=None,
    )


def _write_intent(unit: Unit, held: Held, intent: Intent, attempt: Attempt) -> Attempt:
    campaign = intent.dossier.campaign
    if not unit.locks.hold(held.lease, need_ms=MUTATION_LIMIT_MS + LEASE_MARGIN_MS):
        raise lease_lost()
    deadline_at = unit.ledger.insert(attempt, deadline_ms=FIRST_BYTE_MS + MUTATION_LIMIT_MS)
    if deadline_at is None:
        raise _overtaken(campaign.id)
    if not unit.campaigns.claim(campaign, attempt.id, look_at=deadline_at + SETTLE_MS):
        raise _overtaken(campaign.id)
    if intent.operation is Operation.CREATE:
        unit.remotes.begin(campaign)
    if intent.claims is not None and not unit.ledger.claim_content(
        account=campaign.account,
        audience=campaign.audience,
        fingerprint=intent.claims.fingerprint,
        campaign_id=campaign.id,
        attempt_id=attempt.id,
    ):
        raise sent_elsewhere(None)
    # No later than any look that an outcome asks for, so that an accepted one need not queue it anew.
    held.wiring.wake_watch(unit, campaign.id, in_ms=cadence.while_sending(age_ms=0))
    unit.events.add(
        f"{intent.operation.value}_requested",
        campaign_id=campaign.id,
        actor=intent.actor,
        version=campaign.version + 1,
        attempt_id=attempt.id,
    )
    return attempt


def _call_once(call: Callable[[Line], Outcome[T]], line: Line) -> Outcome[T]:
    try:
        return call(line)
    except Exception as error:  # noqa: BLE001  whatever it was, the request may have left
        return Ambiguous(reason=f"exception_{type(error).__name__.lower()}")


def _second_look(provider: Provider, attempt: Attempt, refusal: Refused) -> Refused | Ambiguous:
    """Return a refusal that can be believed: a 4xx on a send can mean that it already went."""
    delivers = attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    if not delivers or not refusal.may_mean_already_done or attempt.remote_id is None:
        return refusal
    try:
        seen = provider.inspect(attempt.remote_id, limit_ms=READ_LIMIT_MS)
    except Exception:  # noqa: BLE001  without a reading the refusal isn't believed
        return Ambiguous(reason=f"refused_{refusal.code}", status=refusal.status)
    if isinstance(seen, Accepted) and seen.value.status is RemoteStatus.DRAFT:
        return refusal
    return Ambiguous(reason=f"refused_{refusal.code}", status=refusal.status)


def record(held: Held, attempt: Attempt, outcome: Outcome[T]) -> None:
    """Write down what came of a request, repeating for 30 s while the store is gone.

    Raises `Unconfirmed` when that fails: the attempt then stays pending, and the watch settles it.
    """
    wiring = held.wiring
    began = wiring.clock.mark()
    while True:
        try:
            with wiring.store.unit() as unit:
                _write_outcome(unit, held, attempt, outcome)
        except StoreGone as error:
            if wiring.clock.since_ms(began) >= RECORD_FOR_MS:
                raise _unrecorded(attempt) from error
            wiring.clock.wait_ms(RECORD_PAUSE_MS)
        except Exception as error:
            raise _unrecorded(attempt) from error
        else:
            return


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
    state = ACCEPTED_STATE[attempt.operation]
    if created:
        unit.remotes.identify(
            attempt.campaign_id,
            attempt.generation,
            str(value),
            status=RemoteStatus.DRAFT.value,
            went=False,
            content_pending=True,
        )
    else:
        unit.remotes.accepted(
            attempt.campaign_id, attempt.generation, status=state.value, went=state is State.SENDING
        )
    look_in_ms = cadence.while_sending(age_ms=0) if state is State.SENDING else None
    settled = unit.campaigns.settle(attempt.campaign_id, attempt.id, state, look_in_ms=look_in_ms)
    assert settled, "the campaign's open attempt is this one while it is unresolved"
    unit.events.add(
        f"{attempt.operation.value}_accepted",
        campaign_id=attempt.campaign_id,
        actor=attempt.actor,
        attempt_id=attempt.id,
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


def _write_late(
    unit: Unit, held: Held, attempt: Attempt, *, accepted: bool, value: object = None
) -> None:
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
    if not double:
        return
    # It took effect after it had been taken for not applied: a person must look, and the watch too.
    unit.campaigns.alarm(attempt.campaign_id, "possible_double")
    if attempt.operation is Operation.CREATE:
        unit.remotes.identify(
            attempt.campaign_id,
            attempt.generation,
            str(value),
            status=RemoteStatus.DRAFT.value,
            went=False,
            content_pending=True,
        )
    else:
        unit.remotes.accepted(
            attempt.campaign_id,
            attempt.generation,
            status=ACCEPTED_STATE[attempt.operation].value,
            went=attempt.operation is Operation.SEND,
        )
    if unit.campaigns.look_now(attempt.campaign_id):
        held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=0)


def _record_not_called(held: Held, attempt: Attempt) -> None:
    """Settle an intent that nobody was called for. Without an answer from the store, the watch will."""
    wiring = held.wiring
    began = wiring.clock.mark()
    while True:
        try:
            with wiring.store.unit() as unit:
                failed = unit.ledger.settle(
                    attempt.id, Status.FAILED, answered=False, error_code="not_called", retryable=True
                )
                if failed:
                    _close(unit, held, attempt, absent=False, flag=None)
                    unit.events.add(
                        f"{attempt.operation.value}_not_called",
                        campaign_id=attempt.campaign_id,
                        actor=attempt.actor,
                        attempt_id=attempt.id,
                    )
        except StoreGone:
            if wiring.clock.since_ms(began) >= RECORD_FOR_MS:
                return
            wiring.clock.wait_ms(RECORD_PAUSE_MS)
        else:
            return


def _close(unit: Unit, held: Held, attempt: Attempt, *, absent: bool, flag: str | None) -> None:
    """Put the campaign back where it was before a request that did nothing.

    Readings that are due because of this request, or still of an earlier one, are made.
    """
    age_ms = unit.remotes.absent(attempt.campaign_id, attempt.generation, fresh=absent)
    look_in_ms = cadence.recheck(age_ms)
    settled = unit.campaigns.settle(
        attempt.campaign_id, attempt.id, attempt.from_state, look_in_ms=look_in_ms, flag=flag
    )
    assert settled, "the campaign's open attempt is this one while it is unresolved"
    unit.ledger.keep_content(attempt.campaign_id, keep_ms=-1)
    if look_in_ms is not None:
        held.wiring.wake_watch(unit, attempt.campaign_id, in_ms=look_in_ms)


def _overtaken(campaign_id: str) -> Refusal:
    return Conflict(
        f"Somebody changed {campaign_id} meanwhile, or another request of it is open. Nothing was sent.",
        todo=f"Look at it again: campaigns show {campaign_id}",
    )


def sent_elsewhere(holder: str | None) -> Refusal:
    """Return the refusal of content that another campaign is sending, or has just sent, to this audience."""
    return Refusal(
        "Another campaign is sending this very content to this audience, or did in the last 30 days.",
        code="already_sent_elsewhere",
        todo=f"Look at it first: campaigns show {holder}" if holder else "Look at it first: campaigns list",
        campaign=holder,
    )


def not_reached(provider: Provider, refusal: Refused) -> ProviderFailed:
    """Return the refusal of a call for which no connection was established."""
    return ProviderFailed(
        f"{provider.label} could not be reached ({refusal.code}). Nothing happened there.",
        todo="Check the network and the connection's address, then repeat the command.",
        provider={"code": refusal.code, "category": refusal.category.value, "retryable": True},
    )


def refused(provider: Provider, refusal: Refused, attempt: Attempt | None) -> ProviderFailed:
    """Return the refusal that tells what the provider said."""
    said = f": {refusal.detail}" if refusal.detail else f" ({refusal.code})"
    return ProviderFailed(
        f"{provider.label} refused{said.rstrip('.')}. Nothing was done there.",
        todo="Wait a little, then repeat with a new confirmation."
        if refusal.retryable
        else "Fix it, then repeat with a new confirmation.",
        provider={
            "code": refusal.code,
            "category": refusal.category.value,
            "retryable": refusal.retryable,
            "retry_after": refusal.retry_after_s,
        },
        attempt=attempt_facts(attempt, Status.FAILED) if attempt else None,
    )


def unconfirmed(provider: Provider, attempt: Attempt) -> Unconfirmed:
    """Return the refusal that says: it may have taken effect, nothing is repeated, it is being watched."""
    return Unconfirmed(
        f"Not confirmed. {provider.label} gave no usable answer, so this may have taken effect.",
        todo=f"Nothing is repeated; it is looked at by itself. campaigns show {attempt.campaign_id}",
        attempt=attempt_facts(attempt, Status.UNKNOWN),
    )


def _unrecorded(attempt: Attempt) -> Unconfirmed:
    return Unconfirmed(
        "The provider was asked, but its answer could not be saved.",
        todo=f"Nothing is repeated; it is looked at by itself. campaigns show {attempt.campaign_id}",
        attempt=attempt_facts(attempt, Status.PENDING),
    )


def attempt_facts(attempt: Attempt, status: Status) -> dict[str, object]:
    """Return what a program may know of an attempt."""
    return {"id": attempt.id, "operation": attempt.operation.value, "status": status.value}
