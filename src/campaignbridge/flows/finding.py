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
    Case,
    Early,
    Finding,
    First,
    Follow,
    NotApplied,
    Same,
    Stop,
    remembered,
    unconfirmed_zero,
)
from campaignbridge.domain.ledger import Attempt, Operation, Status
from campaignbridge.domain.provider import Found, Observation
from campaignbridge.flows import adoption
from campaignbridge.flows.content_claim import follow_content
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

SHORTLY_MS = 5 * cadence.MINUTE_MS
WENT = frozenset({State.SENDING, State.SENT})


class Writer:
    """One finding on its way into the store."""

    def __init__(
        self,
        unit: Unit,
        wiring: Wiring,
        dossier: Dossier,
        seen: Observation | None,
        actor: str | None,
        *,
        retires: bool = False,
    ) -> None:
        self.unit = unit
        self.wiring = wiring
        self.dossier = dossier
        self.seen = seen
        self.actor = actor
        self.retires = retires  # the provider can make a draft unsendable

    def settled(
        self, status: Status, target: State, *, code: str | None = None, absent: bool = False
    ) -> None:
        """Close the open attempt and take the campaign to `target`."""
        attempt, campaign = self.dossier.attempt, self.dossier.campaign
        assert attempt is not None
        failed = status is Status.FAILED
        require(
            self.unit.ledger.settle(attempt.id, status, answered=False, error_code=code, retryable=failed)
        )
        look_in_ms = cadence.recheck(0) if absent else self.next_look(target)
        delivered = attempt.operation is Operation.SEND and not failed
        absent_at = self.dossier.now if absent else None
        self.observed(reconciled=True, went=delivered or target in WENT, absent_at=absent_at)
        flag = follow_content(self.unit, self.dossier, target, attempt_id=attempt.id)
        flag = flag or self.flag(target, attempt=None)
        require(
            self.unit.campaigns.settle(
                campaign.id,
                attempt.id,
                target,
                look_in_ms=look_in_ms,
                flag=flag,
                scheduled_for=self.send_time(target),
            )
        )
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
        absent_at: int | None = None,
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
            absent_at=absent_at,
        )

    def watch(self, look_in_ms: int | None, *, stopped: str | None = None) -> None:
        """Move the watch; no version is consumed."""
        campaign = self.dossier.campaign
        require(
            self.unit.campaigns.watch(
                campaign,
                look_in_ms=look_in_ms,
                stopped_reason=stopped,
                flag=self.flag(campaign.state, attempt=self.dossier.attempt),
                scheduled_for=self.send_time(campaign.state),
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

    def send_time(self, state: State) -> int | None:
        """Return the send time that was read, for a state that has one."""
        return self.seen.send_time_ms if self.seen is not None and state is State.SCHEDULED else None

    def overdue_ms(self) -> int:
        """Return how long ago a scheduled campaign should have begun."""
        due = self.seen.send_time_ms if self.seen else None
        return 0 if due is None else self.dossier.now - due

    def flag(self, state: State, *, attempt: Attempt | None) -> str | None:
        """Return what a person should know while watching goes on."""
        now = self.dossier.now
        age = self.age_ms(state)
        if self.seen is not None and unconfirmed_zero(self.seen) and age >= cadence.SENT_ZERO_FLAG_MS:
            return "sent_zero"
        if state is State.SCHEDULED and self.overdue_ms() >= cadence.LATE_FLAG_MS:
            return "scheduled_late"
        if state is State.SENDING and age >= cadence.LONG_SENDING_FLAG_MS:
            return "sending_long"
        campaign = self.dossier.campaign
        if campaign.flag in ("send_refused", "schedule_differs") and campaign.state is state:
            return campaign.flag  # until the next request
        if attempt is not None and now - attempt.created_at >= cadence.INCOMPLETE_FLAG_MS:
            return "unconfirmed_long"
        return None


def write_finding(writer: Writer, finding: Finding) -> str:
    """Write a finding and return its news; raise `Conflict` when somebody was faster."""
    dossier = writer.dossier
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
            _first(writer, verdict)
            return "waiting"
        case Early():
            assert dossier.attempt is not None
            writer.observed(reconciled=False, absent_at=_absent_at(dossier))
            writer.watch(max(0, dossier.attempt.window_end - dossier.now))
            return "waiting"
        case CantTell():
            writer.observed(reconciled=False, absent_at=_absent_at(dossier))
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


def _not_applied(writer: Writer, target: State | None) -> None:
    attempt = writer.dossier.attempt
    assert attempt is not None
    delivers = attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    remote = writer.dossier.remote
    if delivers and writer.retires and remote is not None:
        writer.unit.remotes.spend(remote)
    writer.settled(Status.FAILED, target or attempt.from_state, code="not_applied", absent=delivers)


def _adopt(writer: Writer, found: Found) -> str:
    """Settle a lost create as what was found, whatever became of it there."""
    dossier, unit = writer.dossier, writer.unit
    attempt = dossier.attempt
    assert attempt is not None
    state = adoption.STATES[found.status]
    require(unit.ledger.settle(attempt.id, Status.SUCCEEDED, answered=False, remote_id=found.remote_id))
    adoption.identify(unit, dossier, found, state)
    look_in_ms = adoption.look_in_ms(state)
    flag = follow_content(unit, dossier, state, attempt_id=attempt.id)
    require(unit.campaigns.settle(dossier.campaign.id, attempt.id, state, look_in_ms=look_in_ms, flag=flag))
    writer.wake(look_in_ms)
    writer.event("reconciled", attempt_id=attempt.id, operation="create", applied=True, state=state.value)
    return "settled"


def _follow(writer: Writer, target: State, *, unexplained: bool) -> None:
    campaign = writer.dossier.campaign
    look_in_ms = writer.next_look(target)
    writer.observed(reconciled=True, went=target in WENT)
    flag = follow_content(writer.unit, writer.dossier, target, attempt_id="")
    flag = flag or writer.flag(target, attempt=None)
    require(
        writer.unit.campaigns.follow(
            campaign, target, look_in_ms=look_in_ms, flag=flag, scheduled_for=writer.send_time(target)
        )
    )
    writer.wake(look_in_ms)
    writer.event(
        "followed", state=target.value, unexplained=unexplained and not _cancelled_by_us(writer, target)
    )


def _cancelled_by_us(writer: Writer, target: State) -> bool:
    """Say whether an accepted cancel of ours is why it was stopped."""
    campaign = writer.dossier.campaign
    return target is State.CANCELLED and any(
        one.operation is Operation.CANCEL
        and one.status is Status.SUCCEEDED
        and one.generation == campaign.generation
        for one in writer.unit.ledger.of_campaign(campaign.id)
    )


def _same(writer: Writer) -> str:
    """Nothing new: look again at the state's cadence, or when the next reading of an absence is due."""
    dossier = writer.dossier
    state, absent_at = dossier.campaign.state, _absent_at(dossier)
    if state is State.PROVIDER_DRAFT:
        look_in_ms = cadence.recheck(None if absent_at is None else dossier.now - absent_at)
        writer.observed(reconciled=True, absent_at=absent_at if look_in_ms is not None else None)
        writer.watch(look_in_ms)
    else:
        writer.observed(reconciled=True, went=state in WENT)
        writer.watch(writer.next_look(state))
        before, now = dossier.campaign.scheduled_for, writer.send_time(state)
        if before is not None and now is not None and before != now:  # none of our requests moves a time
            writer.event("followed", state=state.value, unexplained=True, scheduled_for=now)
    return "same"


def _first(writer: Writer, verdict: Absence) -> None:
    """Remember the first reading of an absence, and read once more a minute after it was answered."""
    dossier = writer.dossier
    case = case_of(dossier)
    wait_ms = cadence.SECOND_READING_MS
    if remembered(case, verdict) and case.negative is not None:
        wait_ms = max(0, case.negative.answered_at + wait_ms - dossier.now)
    writer.observed(reconciled=False, negative=verdict, absent_at=_absent_at(dossier))
    writer.watch(wait_ms)


def _stop(writer: Writer, reason: str) -> None:
    """Stop looking: only a person can go on. The same reason again leaves no second event."""
    campaign, remote = writer.dossier.campaign, writer.dossier.remote
    negative = remote.negative.verdict if remote is not None and remote.negative is not None else None
    if negative is not None and negative.value != reason:
        negative = None  # a reading in between said something else
    writer.observed(reconciled=False, negative=negative, absent_at=_absent_at(writer.dossier))
    writer.watch(None, stopped=reason)
    if campaign.stopped_reason != reason:
        writer.event("watch_stopped", reason=reason)


def _absent_at(dossier: Dossier) -> int | None:
    return dossier.remote.absent_at if dossier.remote else None


def case_of(dossier: Dossier) -> Case:
    """Return what is known locally before a reading is judged."""
    remote = dossier.remote
    return Case(
        state=dossier.campaign.state,
        attempt=dossier.attempt,
        negative=remote.negative if remote else None,
        went=remote.went if remote else False,
    )
