"""One irreversible call, at most once.

1. Open a fresh connection. If that fails, nothing happened and nothing is recorded.
2. Check that the lease outlives the call (`held.require`), and note the time.
3. Commit the intent: the lock is still ours for the whole call, and the store is no paused copy; a pending
   attempt, the only unresolved one; the campaign's version and state as they were checked; the content claimed;
   the watch queued. The watch is born with the intent: from here on the request has an owner, whatever becomes
   of this process.
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

from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import CommitUnknown
from campaignbridge.domain.ledger import (
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
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Outcome, Refused, RemoteStatus
from campaignbridge.flows.holding import Held
from campaignbridge.flows.outcome import record, record_not_called
from campaignbridge.flows.refusals import (
    barred,
    lease_lost,
    not_reached,
    overtaken,
    refused,
    sent_elsewhere,
    unconfirmed,
)
from campaignbridge.ports import Line, Mark, Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is about to be asked for, and what must still be true when it is."""

    dossier: Dossier  # as it was checked
    operation: Operation
    key: str
    request_hash: str
    actor: str | None
    claims: Snapshot | None = None  # the content that no other campaign may be sending
    again_after: str | None = None  # the campaign whose claim to the content is lifted, by naming it
    schedule_at: int | None = None  # what a schedule asks for


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
            record_not_called(held, attempt)
            raise lease_lost(attempt)
        outcome = _call_once(call, line)
        if isinstance(outcome, Refused):
            outcome = _second_look(provider, attempt, outcome)
        record(held, attempt, outcome)  # before anything else, giving the line's slot back included
    finally:
        line.close()
    match outcome:
        case Accepted(value):
            return attempt, value
        case Refused():
            raise refused(provider, outcome, attempt, unready=_unready(provider, attempt, outcome))
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
        record_not_called(held, attempt)
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
        schedule_at=intent.schedule_at,
    )


def _write_intent(unit: Unit, held: Held, intent: Intent, attempt: Attempt) -> Attempt:
    campaign = intent.dossier.campaign
    if not unit.locks.hold(held.lease, need_ms=MUTATION_LIMIT_MS + LEASE_MARGIN_MS, acts=True):
        raise barred(unit)
    deadline_at = unit.ledger.insert(attempt, deadline_ms=FIRST_BYTE_MS + MUTATION_LIMIT_MS)
    if deadline_at is None:
        raise overtaken(campaign.id)
    if intent.operation is Operation.CREATE:
        unit.remotes.begin(campaign)
    delivers = intent.operation in (Operation.SEND, Operation.SCHEDULE)
    if not unit.campaigns.claim(campaign, attempt.id, look_at=deadline_at + SETTLE_MS, delivers=delivers):
        raise overtaken(campaign.id)
    if intent.claims is not None and not unit.ledger.claim_content(
        account=campaign.account,
        audience=campaign.audience,
        fingerprint=intent.claims.fingerprint,
        campaign_id=campaign.id,
        attempt_id=attempt.id,
        after=intent.again_after,
    ):
        raise sent_elsewhere(unit.campaigns.get(campaign.id).content_holder)
    held.wiring.wake_watch(unit, campaign.id, in_ms=FIRST_BYTE_MS + MUTATION_LIMIT_MS + SETTLE_MS)
    unit.events.add(
        f"{intent.operation.value}_requested",
        campaign_id=campaign.id,
        actor=intent.actor,
        version=campaign.version + 1,
        attempt_id=attempt.id,
        **({"again_after": intent.again_after} if intent.again_after else {}),
    )
    return attempt


def _unready(provider: Provider, attempt: Attempt, refusal: Refused) -> tuple[str, ...]:
    """Return what the provider says stands against a delivery that it refused: its refusal often doesn't."""
    delivers = attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    if not delivers or refusal.category is not Category.REJECTED or attempt.remote_id is None:
        return ()
    try:
        outcome = provider.readiness(attempt.remote_id, limit_ms=READ_LIMIT_MS)
    except Exception:  # noqa: BLE001  only words for people; the refusal stands as it is recorded
        return ()
    return outcome.value if isinstance(outcome, Accepted) else ()


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
