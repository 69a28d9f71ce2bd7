"""What a reading at the provider proves about a campaign and its unresolved request.

Pure functions of the local state, the open attempt and its age, and what was read. Two rules carry them:
positive evidence settles at once; no verdict of absence rests on one reading.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from campaignbridge.domain.cadence import SECOND_READING_MS
from campaignbridge.domain.campaign import EDITABLE, State, may_move
from campaignbridge.domain.ledger import Attempt, Operation
from campaignbridge.domain.provider import Found, Observation, RemoteStatus

S = State


class Verdict(StrEnum):
    """What one reading says about an open attempt."""

    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    CANT_TELL = "cant_tell"


class Absence(StrEnum):
    """Verdicts that take two readings. The value is the reason shown when checks stop on it."""

    NOT_APPLIED = "not_applied"
    NOT_CREATED = "not_created"
    MISSING = "missing"
    UNTRACKED = "untracked"
    CONTRADICTION = "contradiction"


# attempt -> where the provider says it is -> what that proves. Whatever isn't listed is applied.
VERDICTS: dict[Operation, dict[State, Verdict]] = {  # a test is never open, so it isn't here
    Operation.CREATE: {},
    Operation.SCHEDULE: {S.PROVIDER_DRAFT: Verdict.NOT_APPLIED},
    Operation.UNSCHEDULE: {
        S.SCHEDULED: Verdict.NOT_APPLIED,
        S.SENDING: Verdict.NOT_APPLIED,
        S.SENT: Verdict.NOT_APPLIED,
        S.FAILED: Verdict.NOT_APPLIED,
    },
    Operation.SEND: {S.PROVIDER_DRAFT: Verdict.NOT_APPLIED, S.SCHEDULED: Verdict.CANT_TELL},
    Operation.CANCEL: {
        S.PROVIDER_DRAFT: Verdict.NOT_APPLIED,
        S.SCHEDULED: Verdict.NOT_APPLIED,
        S.SENDING: Verdict.CANT_TELL,
        S.SENT: Verdict.NOT_APPLIED,
        S.FAILED: Verdict.NOT_APPLIED,
    },
}


@dataclass(frozen=True, slots=True)
class Negative:
    """The first reading of a verdict of absence, as remembered on the remote row."""

    attempt_id: str | None
    verdict: Absence
    answered_at: int


@dataclass(frozen=True, slots=True)
class Case:
    """What is known locally before a reading is judged."""

    state: State
    attempt: Attempt | None  # the open one
    negative: Negative | None
    went: bool  # a send of this generation was accepted, or it was seen sending


@dataclass(frozen=True, slots=True)
class Seen:
    """The provider showed the remote campaign."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class Gone:
    """The provider answered that there is no such campaign."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The provider was searched for the token of a campaign whose remote id is not known."""

    found: tuple[Found, ...]
    complete: bool


Reading = Seen | Gone | Searched


@dataclass(frozen=True, slots=True)
class Applied:
    """The open attempt took effect; the campaign goes to `target`."""

    target: State


@dataclass(frozen=True, slots=True)
class Adopt:
    """The lost create took effect as this remote campaign."""

    found: Found


@dataclass(frozen=True, slots=True)
class NotApplied:
    """The open attempt did not take effect, proven by two readings."""

    target: State | None  # None: the campaign stays where it is


@dataclass(frozen=True, slots=True)
class Follow:
    """No attempt is open; the provider's record moved on."""

    target: State
    unexplained: bool  # no request of ours explains it: somebody acted at the provider


@dataclass(frozen=True, slots=True)
class Same:
    """Nothing new."""


@dataclass(frozen=True, slots=True)
class First:
    """The first reading of an absence: remember it and read once more."""

    verdict: Absence


@dataclass(frozen=True, slots=True)
class Early:
    """Inside the settle window nothing but positive evidence counts."""


@dataclass(frozen=True, slots=True)
class CantTell:
    """This reading proves nothing; keep watching."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Only a person can go on."""

    reason: str


Finding = Applied | Adopt | NotApplied | Follow | Same | First | Early | CantTell | Stop


def unconfirmed_zero(observation: Observation) -> bool:
    """Say whether the provider calls it sent, but to nobody of a known, positive number."""
    return (
        observation.status is RemoteStatus.SENT
        and observation.emails_sent == 0
        and bool(observation.recipient_count)
    )


def target_of(observation: Observation) -> State | None:
    """Return the local state that a reading stands for, or None for a status that we don't know."""
    match observation.status:
        case RemoteStatus.DRAFT:
            return S.PROVIDER_DRAFT
        case RemoteStatus.SCHEDULED:
            return S.SCHEDULED
        case RemoteStatus.SENDING | RemoteStatus.CANCELLING:
            return S.SENDING
        case RemoteStatus.SENT:
            # sent to nobody of a positive number stays unconfirmed: it is watched on as sending
            return S.SENDING if unconfirmed_zero(observation) else S.SENT
        case RemoteStatus.CANCELLED:
            return S.CANCELLED
        case RemoteStatus.FAILED:
            return S.FAILED
        case RemoteStatus.UNTRACKED:
            return None
        case _:
            assert_never(observation.status)


def judge(case: Case, reading: Reading, *, began_at: int) -> Finding:
    """Return what a reading proves. `began_at` is the store's clock before the provider was asked."""
    match reading:
        case Searched():
            return _judge_search(case, reading, began_at)
        case Gone():
            return _absence(case, Absence.MISSING, began_at)
        case Seen(observation):
            target = target_of(observation)
            if target is None:
                return _absence(case, Absence.UNTRACKED, began_at)
            if case.attempt is None:
                return _follow(case, target, began_at)
            return _settle(case, case.attempt, target, began_at)
        case _:
            assert_never(reading)


def vetoed(finding: NotApplied, *, mailed: bool | None, told: bool) -> Finding:
    """Return what a delivery's "not applied" comes to once the provider's own record and events were asked.

    `mailed`: the record names somebody, nobody, or couldn't be read. `told`: a verified event says that it went.
    """
    if mailed:
        return Applied(S.SENDING)
    if told:
        return Stop(Absence.CONTRADICTION.value)
    return finding if mailed is False else CantTell()


def _judge_search(case: Case, search: Searched, began_at: int) -> Finding:
    if len(search.found) > 1:
        return Stop("duplicate_drafts")
    if search.found:
        found = search.found[0]
        if found.status is RemoteStatus.UNTRACKED:
            return _absence(case, Absence.UNTRACKED, began_at)
        if case.attempt is not None and found.generation != case.attempt.generation:
            return _absence(case, Absence.CONTRADICTION, began_at)
        return Adopt(found)
    if not search.complete:
        return CantTell()
    return _absence(case, Absence.NOT_CREATED, began_at)


def _settle(case: Case, attempt: Attempt, target: State, began_at: int) -> Finding:
    match VERDICTS[attempt.operation].get(target, Verdict.APPLIED):
        case Verdict.APPLIED:
            adopted = attempt.operation is Operation.CREATE
            if target is attempt.from_state or may_move(attempt.from_state, target, adopted=adopted):
                return Applied(target)
            return _absence(case, Absence.CONTRADICTION, began_at)
        case Verdict.NOT_APPLIED:
            if case.went and target is S.PROVIDER_DRAFT:
                return _absence(case, Absence.CONTRADICTION, began_at)
            return _absence(case, Absence.NOT_APPLIED, began_at, target=target)
        case Verdict.CANT_TELL:
            return CantTell()
        case never:
            assert_never(never)


def _follow(case: Case, target: State, began_at: int) -> Finding:
    if case.went and target is S.PROVIDER_DRAFT:
        return _absence(case, Absence.CONTRADICTION, began_at)
    if target is case.state or (target is S.PROVIDER_DRAFT and case.state in EDITABLE):
        return Same()  # a draft that was withdrawn stays there, unsent
    if not may_move(case.state, target):
        return _absence(case, Absence.CONTRADICTION, began_at)
    ours = (case.state, target) in {
        (S.SCHEDULED, S.SENDING),
        (S.SCHEDULED, S.SENT),
        (S.SENDING, S.SENT),
    }
    return Follow(target, unexplained=not ours)


def _absence(case: Case, verdict: Absence, began_at: int, *, target: State | None = None) -> Finding:
    """Return the finding of a verdict that takes two readings, both begun after the window."""
    if case.attempt is not None and began_at < case.attempt.window_end:
        return Early()
    if not second_reading(case, verdict, began_at):
        return First(verdict)
    match verdict:
        case Absence.NOT_APPLIED:
            return NotApplied(target)
        case Absence.NOT_CREATED:
            return NotApplied(None)
        case Absence.MISSING | Absence.UNTRACKED | Absence.CONTRADICTION:
            return Stop(verdict.value)
        case _:
            assert_never(verdict)


def remembered(case: Case, verdict: Absence) -> bool:
    """Say whether the remembered reading has the same verdict, for the same attempt."""
    first = case.negative
    attempt_id = case.attempt.id if case.attempt else None
    return first is not None and first.verdict is verdict and first.attempt_id == attempt_id


def second_reading(case: Case, verdict: Absence, began_at: int) -> bool:
    """Say whether a reading confirms the remembered one: a minute after that one was answered, or later."""
    first = case.negative
    return (
        first is not None and remembered(case, verdict) and began_at >= first.answered_at + SECOND_READING_MS
    )
