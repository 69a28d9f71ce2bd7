"""What a reading proves: the tables of verdicts, the two readings, and random triples."""

from collections import Counter
from itertools import product
from random import Random

import pytest

from campaignbridge.domain.campaign import State, may_move
from campaignbridge.domain.evidence import (
    Absence,
    Adopt,
    Applied,
    CantTell,
    Case,
    Early,
    First,
    Follow,
    Gone,
    Negative,
    NotApplied,
    Same,
    Searched,
    Seen,
    Stop,
    judge,
    target_of,
    unconfirmed_zero,
)
from campaignbridge.domain.ledger import SETTLE_MS, Attempt, Operation, Status
from campaignbridge.domain.provider import Found, Observation, RemoteStatus

DEADLINE = 1_000_000
WINDOW_END = DEADLINE + SETTLE_MS
FROM = {
    Operation.CREATE: State.APPROVED,
    Operation.SCHEDULE: State.PROVIDER_DRAFT,
    Operation.UNSCHEDULE: State.SCHEDULED,
    Operation.SEND: State.PROVIDER_DRAFT,
    Operation.CANCEL: State.SENDING,
}
SEEN_AS = {
    State.PROVIDER_DRAFT: RemoteStatus.DRAFT,
    State.SCHEDULED: RemoteStatus.SCHEDULED,
    State.SENDING: RemoteStatus.SENDING,
    State.SENT: RemoteStatus.SENT,
    State.CANCELLED: RemoteStatus.CANCELLED,
    State.FAILED: RemoteStatus.FAILED,
}
# The verdicts, written out on their own: + applied, - not applied, ? can't tell yet.
VERDICTS = {
    Operation.CREATE: "++++++",
    Operation.SCHEDULE: "-+++++",
    Operation.UNSCHEDULE: "+---+-",
    Operation.SEND: "-?++++",
    Operation.CANCEL: "--?-+-",
}


def attempt(operation: Operation = Operation.SEND, *, from_state: State | None = None) -> Attempt:
    return Attempt(
        id="att_1",
        campaign_id="cmp_1",
        operation=operation,
        key="k",
        request_hash="h",
        status=Status.UNKNOWN,
        retryable=False,
        account="acc",
        generation=1,
        remote_id="r1",
        from_state=from_state or FROM[operation],
        deadline_at=DEADLINE,
        actor="dana",
        created_at=DEADLINE - 30_000,
        answered_at=None,
        settled_at=None,
        error_code=None,
    )


def seen(status: RemoteStatus, *, emails: int | None = 10, recipients: int | None = 10) -> Seen:
    return Seen(
        Observation(
            remote_id="r1",
            status=status,
            raw_status="raw",
            audience="a1",
            title="t",
            subject="s",
            from_name="f",
            reply_to="r",
            recipient_count=recipients,
            emails_sent=emails,
            send_time_ms=None,
        )
    )


def case(
    state: State = State.UNKNOWN,
    open_attempt: Attempt | None = None,
    negative: Negative | None = None,
    *,
    went: bool = False,
) -> Case:
    return Case(state=state, attempt=open_attempt, negative=negative, went=went)


def found(status: RemoteStatus = RemoteStatus.DRAFT, remote_id: str = "r1", generation: int = 1) -> Found:
    return Found(remote_id=remote_id, generation=generation, status=status, created_ms=0)


CELLS = [
    (operation, target, mark)
    for operation, marks in VERDICTS.items()
    for target, mark in zip(SEEN_AS, marks, strict=True)
]


@pytest.mark.parametrize(("operation", "target", "mark"), CELLS)
def test_each_operation_is_judged_by_the_table(operation: Operation, target: State, mark: str) -> None:
    finding = judge(case(open_attempt=attempt(operation)), seen(SEEN_AS[target]), began_at=WINDOW_END)
    match mark:
        case "+":
            legal = target is FROM[operation] or may_move(FROM[operation], target, adopted=True)
            assert finding == (Applied(target) if legal else First(Absence.CONTRADICTION))
        case "-":
            assert finding == First(Absence.NOT_APPLIED)
        case _:
            assert finding == CantTell()


@pytest.mark.parametrize("status", [RemoteStatus.SENDING, RemoteStatus.SENT, RemoteStatus.CANCELLED])
def test_positive_evidence_settles_at_once_even_inside_the_window(status: RemoteStatus) -> None:
    finding = judge(case(open_attempt=attempt()), seen(status), began_at=DEADLINE - 20_000)
    assert isinstance(finding, Applied)


@pytest.mark.parametrize("began_at", [DEADLINE - 20_000, DEADLINE, WINDOW_END - 1])
def test_inside_the_window_no_absence_counts(began_at: int) -> None:
    open_attempt = attempt()
    for reading in (seen(RemoteStatus.DRAFT), Gone(), seen(RemoteStatus.UNTRACKED)):
        assert judge(case(open_attempt=open_attempt), reading, began_at=began_at) == Early()
    create = attempt(Operation.CREATE)
    assert judge(case(open_attempt=create), Searched((), complete=True), began_at=began_at) == Early()


@pytest.mark.parametrize(
    ("reading", "verdict", "confirmed"),
    [
        (seen(RemoteStatus.DRAFT), Absence.NOT_APPLIED, NotApplied(State.PROVIDER_DRAFT)),
        (Gone(), Absence.MISSING, Stop("missing")),
        (seen(RemoteStatus.UNTRACKED), Absence.UNTRACKED, Stop("untracked")),
    ],
)
def test_an_absence_takes_a_second_reading_a_minute_after_the_first_was_answered(
    reading: Seen | Gone, verdict: Absence, confirmed: object
) -> None:
    open_attempt = attempt()
    assert judge(case(open_attempt=open_attempt), reading, began_at=WINDOW_END) == First(verdict)
    first = Negative("att_1", verdict, answered_at=WINDOW_END + 200)
    known = case(open_attempt=open_attempt, negative=first)
    assert judge(known, reading, began_at=WINDOW_END + 60_199) == First(verdict)
    assert judge(known, reading, began_at=WINDOW_END + 60_200) == confirmed


@pytest.mark.parametrize(
    "negative",
    [
        Negative("att_0", Absence.NOT_APPLIED, WINDOW_END),  # of another attempt
        Negative("att_1", Absence.MISSING, WINDOW_END),  # with another verdict
        Negative(None, Absence.NOT_APPLIED, WINDOW_END),  # of no attempt
    ],
)
def test_a_first_reading_of_something_else_confirms_nothing(negative: Negative) -> None:
    known = case(open_attempt=attempt(), negative=negative)
    finding = judge(known, seen(RemoteStatus.DRAFT), began_at=WINDOW_END + 600_000)
    assert finding == First(Absence.NOT_APPLIED)


def test_what_went_never_becomes_a_draft_again() -> None:
    open_attempt = attempt()
    first = Negative("att_1", Absence.CONTRADICTION, WINDOW_END)
    known = case(open_attempt=open_attempt, negative=first, went=True)
    assert judge(known, seen(RemoteStatus.DRAFT), began_at=WINDOW_END + 60_000) == Stop("contradiction")
    followed = case(State.PROVIDER_DRAFT, went=True)
    assert judge(followed, seen(RemoteStatus.DRAFT), began_at=0) == First(Absence.CONTRADICTION)


def test_a_lost_create_is_adopted_whatever_became_of_it() -> None:
    create = case(State.APPROVED, attempt(Operation.CREATE))
    for status in (RemoteStatus.DRAFT, RemoteStatus.SCHEDULED, RemoteStatus.SENT):
        one = found(status)
        assert judge(create, Searched((one,), complete=False), began_at=0) == Adopt(one)


def test_several_matches_of_a_lost_create_stop_for_a_person() -> None:
    create = case(State.APPROVED, attempt(Operation.CREATE))
    several = Searched((found(), found(remote_id="r2")), complete=True)
    assert judge(create, several, began_at=0) == Stop("duplicate_drafts")


def test_a_create_is_proven_not_made_only_by_two_complete_searches() -> None:
    open_attempt = attempt(Operation.CREATE)
    none, partial = Searched((), complete=True), Searched((), complete=False)
    assert judge(case(open_attempt=open_attempt), partial, began_at=WINDOW_END + 10**9) == CantTell()
    assert judge(case(open_attempt=open_attempt), none, began_at=WINDOW_END) == First(Absence.NOT_CREATED)
    first = Negative("att_1", Absence.NOT_CREATED, WINDOW_END)
    known = case(open_attempt=open_attempt, negative=first)
    assert judge(known, none, began_at=WINDOW_END + 60_000) == NotApplied(None)


@pytest.mark.parametrize("one", [found(RemoteStatus.UNTRACKED), found(generation=2)])
def test_a_match_that_cannot_be_taken_over_stops_only_after_two_searches(one: Found) -> None:
    open_attempt = attempt(Operation.CREATE)
    first = judge(case(open_attempt=open_attempt), Searched((one,), complete=True), began_at=WINDOW_END)
    assert isinstance(first, First)
    known = case(open_attempt=open_attempt, negative=Negative("att_1", first.verdict, WINDOW_END))
    second = judge(known, Searched((one,), complete=True), began_at=WINDOW_END + 60_000)
    assert second == Stop(first.verdict.value)


@pytest.mark.parametrize(
    ("state", "status", "finding"),
    [
        (State.SENDING, RemoteStatus.SENDING, Same()),
        (State.SENDING, RemoteStatus.SENT, Follow(State.SENT, unexplained=False)),
        (State.SENDING, RemoteStatus.CANCELLED, Follow(State.CANCELLED, unexplained=True)),
        (State.SCHEDULED, RemoteStatus.SENDING, Follow(State.SENDING, unexplained=False)),
        (State.PROVIDER_DRAFT, RemoteStatus.SCHEDULED, Follow(State.SCHEDULED, unexplained=True)),
        (State.PROVIDER_DRAFT, RemoteStatus.SENT, Follow(State.SENT, unexplained=True)),
        (State.SENT, RemoteStatus.DRAFT, First(Absence.CONTRADICTION)),
        (State.SENDING, RemoteStatus.SCHEDULED, First(Absence.CONTRADICTION)),
    ],
)
def test_without_an_open_attempt_the_provider_is_followed_along_the_table(
    state: State, status: RemoteStatus, finding: object
) -> None:
    assert judge(case(state), seen(status), began_at=0) == finding


def test_sent_to_nobody_of_a_positive_number_stays_sending() -> None:
    nobody = seen(RemoteStatus.SENT, emails=0).observation
    assert unconfirmed_zero(nobody)
    assert target_of(nobody) is State.SENDING
    assert target_of(seen(RemoteStatus.SENT, emails=0, recipients=0).observation) is State.SENT
    assert target_of(seen(RemoteStatus.SENT, emails=None).observation) is State.SENT


def random_reading(chance: Random) -> Seen | Gone | Searched:
    kind = chance.randrange(3)
    if kind == 0:
        status, emails, recipients = (
            chance.choice(each) for each in ([*RemoteStatus], [None, 0, 5], [None, 0, 5])
        )
        return seen(status, emails=emails, recipients=recipients)
    if kind == 1:
        return Gone()
    hits = [
        found(chance.choice([*RemoteStatus]), chance.choice(["r1", "r2"])) for _ in range(chance.randrange(3))
    ]
    return Searched(tuple(hits), complete=chance.random() < 0.5)


def random_moment(chance: Random) -> int:
    """Return a moment around the ends that matter, to the millisecond half of the time."""
    near = chance.choice([DEADLINE, WINDOW_END, WINDOW_END + 60_000])
    return (
        near + chance.choice([-1, 0, 1])
        if chance.random() < 0.5
        else near + chance.randrange(-30_000, 400_000)
    )


def random_case(chance: Random) -> Case:
    open_attempt, negative = None, None
    if chance.random() < 0.8:
        open_attempt = attempt(chance.choice([*FROM]))
    if chance.random() < 0.7:
        who = chance.choice(["att_1", "att_0", None])
        negative = Negative(who, chance.choice([*Absence]), random_moment(chance))
    return case(chance.choice([*State]), open_attempt, negative, went=chance.random() < 0.5)


def test_no_triple_of_many_random_ones_is_settled_against_the_evidence() -> None:
    chance, findings = Random(20_261_129), Counter[str]()
    while findings.total() < 20_000:
        known, reading, began_at = random_case(chance), random_reading(chance), random_moment(chance)
        lost_create = known.attempt is not None and known.attempt.operation is Operation.CREATE
        if lost_create or not isinstance(reading, Searched):  # one searches for a lost create only
            findings[type(check_triple(known, reading, began_at)).__name__] += 1
    assert {"NotApplied", "Applied", "Follow", "First", "Stop", "Adopt", "CantTell", "Early"} <= set(findings)


def check_triple(known: Case, reading: Seen | Gone | Searched, began_at: int) -> object:
    """Judge one triple, assert what no finding may say, and return the finding."""
    open_attempt = known.attempt
    finding = judge(known, reading, began_at=began_at)
    positive = isinstance(reading, Seen) and reading.observation.status in (
        RemoteStatus.SENDING,
        RemoteStatus.SENT,
    )
    if isinstance(finding, NotApplied):
        assert open_attempt is not None
        assert began_at >= open_attempt.window_end
        assert known.negative is not None
        assert known.negative.attempt_id == open_attempt.id
        assert began_at - known.negative.answered_at >= 60_000
        # A send that the provider shows as gone is never offered for sending again.
        assert not (open_attempt.operation is Operation.SEND and positive)
        assert not (open_attempt.operation is Operation.SEND and known.went)
    if isinstance(finding, Applied):
        assert open_attempt is not None
        assert not (
            open_attempt.operation is Operation.SEND
            and isinstance(reading, Seen)
            and reading.observation.status is RemoteStatus.DRAFT
        )
    if isinstance(finding, Follow):
        assert open_attempt is None
        assert may_move(known.state, finding.target)
    if isinstance(finding, Stop) and finding.reason != "duplicate_drafts":
        assert known.negative is not None
        assert began_at - known.negative.answered_at >= 60_000
    return finding


def test_every_pair_of_state_and_status_is_judged_without_an_error() -> None:
    for state, status, operation in product(State, RemoteStatus, [None, *FROM]):
        open_attempt = None if operation is None else attempt(operation, from_state=state)
        judge(case(state, open_attempt), seen(status), began_at=WINDOW_END)
