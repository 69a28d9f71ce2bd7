"""Writing down what a reading proved: one transaction, conditional on what was known before.

Zero rows anywhere mean that somebody was faster: the whole finding is rolled back.
"""

from typing import assert_never

from campaignbridge.domain import cadence
from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import Conflict
from campaignbridge.domain.evidence import (
    Absence,
    Adopt,
    Applied,
    CantTell,
    Early,
    Finding,
    First,
    Follow,
    NotApplied,
    Same,
    Stop,
    unconfirmed_zero,
)
from campaignbridge.domain.ledger import Attempt, Operation, Status
from campaignbridge.domain.provider import Found, Observation
from campaignbridge.flows import adoption
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

KEEP_SENT_MS = 30 * 24 * 3_600_000  # the same content doesn't go to the same audience again so soon
SHORTLY_MS = 5 * cadence.MINUTE_MS
WENT = frozenset({State.SENDING, State.SENT})


class _Writer:
    """One finding on its way into the store."""

    def __init__(
        self, unit: Unit, wiring: Wiring, dossier: Dossier, seen: Observation | None, actor: str | None
    ) -> None:
        self.unit = unit
        self.wiring = wiring
        self.dossier = dossier
        self.seen = seen
        self.actor = actor

    def settled(
        self, status: Status, target: State, *, code: str | None = None, rechecks: bool = False
    ) -> None:
        """Close the open attempt and take the campaign to `target`."""
        attempt, campaign = self.dossier.attempt, self.dossier.campaign
        assert attempt is not None
        failed = status is Status.FAILED
        require(
            self.unit.ledger.settle(attempt.id, status, answered=False, error_code=code, retryable=failed)
        )
        look_in_ms = cadence.recheck(0) if rechecks else self.next_look(target)
        require(
            self.unit.campaigns.settle(
                campaign.id, attempt.id, target, look_in_ms=look_in_ms, flag=self.flag(target, attempt=None)
            )
        )
        delivered = attempt.operation is Operation.SEND and not failed
        self.observed(reconciled=True, went=delivered or target in WENT, rechecks=0 if rechecks else None)
        self.content(target)
        self.wake(look_in_ms)
        self.event(
            "reconciled",
            attempt_id=attempt.id,
            operation=attempt.operation.value,
            applied=status is Status.SUCCEEDED,
            state=target.value,
        )

    def observed(
        self,
        *,
        reconciled: bool,
        went: bool = False,
        negative: Absence | None = None,
        rechecks: int | None = None,
    ) -> None:
        """Record the reading itself."""
        attempt, remote = self.dossier.attempt, self.dossier.remote
        if remote is None:
            return
        self.unit.remotes.observe(
            remote,
            self.seen,
            reconciled=reconciled,
            went=went,
            negative=(attempt.id if attempt else None, negative) if negative else None,
            rechecks=rechecks,
        )

    def content(self, target: State) -> None:
        """Hold the content's claim as long as the state asks for."""
        campaign_id = self.dossier.campaign.id
        if target is State.PROVIDER_DRAFT:
            self.unit.ledger.keep_content(campaign_id, keep_ms=-1)
        elif target in (State.SENT, State.FAILED, State.CANCELLED):
            self.unit.ledger.keep_content(campaign_id, keep_ms=KEEP_SENT_MS)

    def watch(self, look_in_ms: int | None, *, stopped: str | None = None) -> None:
        """Move the watch; no version is consumed."""
        campaign = self.dossier.campaign
        require(
            self.unit.campaigns.watch(
                campaign,
                look_in_ms=look_in_ms,
                stopped_reason=stopped,
                flag=self.flag(campaign.state, attempt=self.dossier.attempt),
            )
        )
        self.wake(look_in_ms)

    def wake(self, look_in_ms: int | None) -> None:
        """Queue the next look."""
        if look_in_ms is not None:
            self.wiring.wake_watch(self.unit, self.dossier.campaign.id, in_ms=look_in_ms)

    def event(self, kind: str, **data: object) -> None:
        """Append the audit event; the background's has no actor."""
        self.unit.events.add(
            kind,
            campaign_id=self.dossier.campaign.id,
            actor=self.actor,
            provider_says=self.seen.raw_status if self.seen else None,
            **data,  # type: ignore[arg-type]
        )

    def next_look(self, state: State) -> int | None:
        """Return the delay that a settled state's cadence asks for."""
        if state is State.SENDING:
            return cadence.while_sending(age_ms=self.age_ms(state))
        if state is State.SCHEDULED:
            return cadence.while_scheduled(
                send_time_ms=self.seen.send_time_ms if self.seen else None, now_ms=self.dossier.now
            )
        return None

    def age_ms(self, state: State) -> int:
        """Return how long the campaign has been in a state; 0 when it only comes to it now."""
        campaign = self.dossier.campaign
        return self.dossier.now - campaign.state_changed_at if campaign.state is state else 0

    def flag(self, state: State, *, attempt: Attempt | None) -> str | None:
        """Return what a person should know while watching goes on."""
        campaign, now = self.dossier.campaign, self.dossier.now
        if campaign.flag == "possible_double":
            return campaign.flag  # only a person clears it
        age = self.age_ms(state)
        if self.seen is not None and unconfirmed_zero(self.seen) and age >= cadence.SENT_ZERO_FLAG_MS:
            return "sent_zero"
        if state is State.SENDING and age >= cadence.LONG_SENDING_FLAG_MS:
            return "sending_long"
        if attempt is not None and now - attempt.created_at >= cadence.INCOMPLETE_FLAG_MS:
            return "unconfirmed_long"
        return None


def write_finding(
    unit: Unit,
    wiring: Wiring,
    dossier: Dossier,
    finding: Finding,
    seen: Observation | None,
    actor: str | None,
) -> str:
    """Write a finding and return its news; raise `Conflict` when somebody was faster."""
    writer = _Writer(unit, wiring, dossier, seen, actor)
    match finding:
        case Applied(target):
            writer.settled(Status.SUCCEEDED, target)
            return "settled"
        case Adopt(found):
            return _adopt(writer, found)
        case NotApplied(target):
            _not_applied(writer, target)
            return "settled"
        case Follow(target, unexplained):
            _follow(writer, target, unexplained=unexplained)
            return "followed"
        case Same():
            return _same(writer)
        case First(verdict):
            writer.observed(reconciled=False, negative=verdict, rechecks=_rechecks(dossier))
            writer.watch(cadence.SECOND_READING_MS)
            return "waiting"
        case Early():
            assert dossier.attempt is not None
            writer.observed(reconciled=False)
            writer.watch(max(0, dossier.attempt.window_end - dossier.now))
            return "waiting"
        case CantTell():
            writer.observed(reconciled=False)
            writer.watch(SHORTLY_MS)
            return "waiting"
        case Stop(reason):
            _stop(writer, reason)
            return "stopped"
        case _:
            assert_never(finding)


def require(changed: bool) -> None:  # noqa: FBT001  reads as prose at its only kind of call
    """Raise `Conflict`, which rolls the finding back, unless a conditional statement found its row."""
    if not changed:
        raise Conflict(
            "Somebody changed the campaign while it was being looked at. Nothing was recorded.",
            todo="It is looked at again by itself.",
        )


def _not_applied(writer: _Writer, target: State | None) -> None:
    attempt = writer.dossier.attempt
    assert attempt is not None
    delivers = attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    writer.settled(Status.FAILED, target or attempt.from_state, code="not_applied", rechecks=delivers)


def _adopt(writer: _Writer, found: Found) -> str:
    """Settle a lost create as what was found, whatever became of it there."""
    dossier, unit = writer.dossier, writer.unit
    attempt = dossier.attempt
    assert attempt is not None
    state = adoption.STATES.get(found.status)
    if state is None or found.generation != attempt.generation:
        reason = Absence.UNTRACKED if state is None else Absence.CONTRADICTION
        _stop(writer, reason.value)
        return "stopped"
    require(unit.ledger.settle(attempt.id, Status.SUCCEEDED, answered=False, remote_id=found.remote_id))
    adoption.identify(unit, dossier, found, state)
    look_in_ms = adoption.look_in_ms(state)
    require(unit.campaigns.settle(dossier.campaign.id, attempt.id, state, look_in_ms=look_in_ms))
    writer.wake(look_in_ms)
    writer.event("reconciled", attempt_id=attempt.id, operation="create", applied=True, state=state.value)
    return "settled"


def _follow(writer: _Writer, target: State, *, unexplained: bool) -> None:
    campaign = writer.dossier.campaign
    look_in_ms = writer.next_look(target)
    require(
        writer.unit.campaigns.follow(
            campaign, target, look_in_ms=look_in_ms, flag=writer.flag(target, attempt=None)
        )
    )
    writer.observed(reconciled=True, went=target in WENT)
    writer.content(target)
    writer.wake(look_in_ms)
    writer.event("followed", state=target.value, unexplained=unexplained)


def _same(writer: _Writer) -> str:
    """Nothing new: look again at the state's cadence, or one recheck further."""
    state, done = writer.dossier.campaign.state, _rechecks(writer.dossier)
    if state is State.PROVIDER_DRAFT and done is not None and writer.actor is None:
        done += 1
        look_in_ms = cadence.recheck(done)
        writer.observed(reconciled=True, rechecks=done if look_in_ms is not None else None)
        writer.watch(look_in_ms)
        return "same"
    writer.observed(reconciled=True, went=state in WENT, rechecks=done)
    if state is State.PROVIDER_DRAFT and done is not None:
        return "same"  # a person's look leaves the rechecks where they are
    writer.watch(writer.next_look(state))
    return "same"


def _stop(writer: _Writer, reason: str) -> None:
    """Stop looking: only a person can go on. The same reason again leaves no second event."""
    campaign = writer.dossier.campaign
    writer.observed(reconciled=False)
    writer.watch(None, stopped=reason)
    if campaign.stopped_reason != reason:
        writer.event("watch_stopped", reason=reason)


def _rechecks(dossier: Dossier) -> int | None:
    return dossier.remote.rechecks if dossier.remote else None
