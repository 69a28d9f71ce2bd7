"""Mutants: the protocol with one guard removed, each with the schedule that shows what the guard is for.

Every schedule runs twice: with the guard nothing may happen, without it an invariant must break. A mutant that
its schedule doesn't catch means that the guard is superfluous, or that the model is too kind.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from campaignbridge.bridge import Bridge
from campaignbridge.domain import cadence, evidence
from campaignbridge.domain.errors import CommitUnknown, InvalidState, Refusal
from campaignbridge.domain.job import Done, Handler, Job, JobOutcome, Request
from campaignbridge.domain.ledger import Attempt, Operation
from campaignbridge.domain.provider import Ambiguous, Category, Found, Refused, RemoteStatus
from campaignbridge.engine import worker
from campaignbridge.flows import guard, handoff, once
from campaignbridge.flows.wiring import Wiring
from campaignbridge.sandbox import Fault
from campaignbridge.sandbox import Request as Ask
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.sql import Catalogue, catalogue
from sim.explore import CRASH, LONG, twins
from sim.invariants import Violation
from sim.machine import HOUR, KEY, MINUTE, OPERATOR, Machine
from sim.people import does_all, sends, sends_once, ticks, waits
from sim.scenarios import HANDOFFS, LOST, SENDS, WORKERS, Part, Scenario, edited
from sim.schedule import Strike

Schedule = Callable[[Catalogue | None], None]
SEED = 7


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard removed: by other code in its place, or by another text of its statement."""

    name: str
    schedule: Schedule
    code: tuple[tuple[object, str, Any], ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    def caught(self) -> str:
        """Return what went wrong without the guard, or raise when nothing did, or when it did with it."""
        self.schedule(None)
        statements = edited(catalogue("sqlite"), self.texts) if self.texts else None
        try:
            with ExitStack() as stack:
                for place, name, instead in self.code:
                    stack.enter_context(_replaced(place, name, instead))
                self.schedule(statements)
        except Violation as violation:
            return str(violation)
        raise AssertionError(f"nobody notices that a guard is missing: {self.name}")


@contextmanager
def _replaced(place: object, name: str, instead: Any) -> Iterator[None]:
    kept = vars(place)[name]
    setattr(place, name, instead)
    try:
        yield
    finally:
        setattr(place, name, kept)


# schedules
def plays(
    scenario: Scenario, strikes: dict[str, dict[int | str, Strike]] | None = None, **options: Any
) -> Schedule:
    """Run one scenario."""

    def schedule(statements: Catalogue | None) -> None:
        scenario.run(SEED, strikes, statements=statements, **options)

    return schedule


def before(label: str, kind: str, scenario: Scenario, name: str = "a") -> int:
    """Return the number of the last point of a kind that a process stands at before another one."""
    _, actors = scenario.run(SEED)
    points = actors[name].points
    end = points.index(label)
    return max(at for at in range(end) if points[at] == kind)


SEND = "net.before POST send"
PLAIN = next(one for one in SENDS if one.name == "send plain")
LAST_MOMENT = Scenario(
    "send applied at the last moment",
    (Part("a", sends), Part("b", sends, at=50), *WORKERS),
    ("a",),
    faults=(Fault("send", "apply_late", ms=310_000, answer="withhold"),),
)


def crash_after_the_post(statements: Catalogue | None) -> None:
    """The process dies right after its POST, which the provider applies at the end of the settle window."""
    LAST_MOMENT.run(SEED, {"a": {"net.after POST send": CRASH}}, statements=statements)


def lost_commit_then_crash(statements: Catalogue | None) -> None:
    """The intent is rolled back, but its COMMIT's answer gets lost; then the process dies after the POST."""
    at = before(SEND, "tx.commit", LAST_MOMENT)
    strikes = {"a": {at: Strike("lost"), "net.after POST send": CRASH}}
    LAST_MOMENT.run(SEED, strikes, statements=statements)


def freeze_after_the_intent(statements: Catalogue | None) -> None:
    """The process freezes for longer than any window between its COMMIT and its POST."""
    at = before(SEND, "tx.committed", PLAIN)
    PLAIN.run(SEED, {"a": {at: Strike("freeze", LONG)}}, statements=statements)


def zombie_intent(statements: Catalogue | None) -> None:
    """A process freezes past its lease just before its intent, while somebody else holds the lock."""
    scenario = Scenario(
        "zombie intent",
        (Part("a", sends_once), Part("b", _reconciles_once, at=303_000)),
        ("a",),
    )
    at = before(SEND, "tx.begin", PLAIN)
    strikes = {"a": {at: Strike("freeze", 310_000)}, "b": {"net.connect": Strike("freeze", 60_000)}}
    scenario.run(SEED, strikes, statements=statements)


def zombie_release(statements: Catalogue | None) -> None:
    """A process freezes past its lease and ends, while somebody else holds the lock."""
    scenario = Scenario(
        "zombie release",
        (Part("a", sends_once), Part("b", _reconciles_once, at=303_000)),
        ("a",),
    )
    strikes = {
        "a": {"net.after GET %s": Strike("freeze", 1), "net.connect": Strike("freeze", 310_000)},
        "b": {"net.connect": Strike("freeze", 60_000)},
    }
    scenario.run(SEED, strikes, statements=statements)


def _reconciles_once(machine: Machine, bridge: Bridge) -> None:
    try:
        bridge.reconcile(machine.campaign_id, actor=OPERATOR)
    except Refusal as refusal:
        machine.refusals.append(refusal.code)


def two_without_locks(statements: Catalogue | None) -> None:
    """Two operators pass every check; the second one's intent comes after the first one's answer."""
    scenario = Scenario(
        "two at once", (Part("a", sends_once, at=1_000), Part("b", _sends_too), *WORKERS), ("a",)
    )
    dialled = before(SEND, "net.connect", PLAIN)
    scenario.run(SEED, {"b": {dialled: Strike("freeze", 5_000)}}, statements=statements, locks=False)


def _sends_too(machine: Machine, bridge: Bridge) -> None:
    try:
        bridge.send(machine.campaign_id, actor=OPERATOR, key="too", confirmed=machine.confirmation())
    except Refusal as refusal:
        machine.refusals.append(refusal.code)


def stale_after_the_window(statements: Catalogue | None) -> None:
    """The send went, its answer was lost, and the provider's reads lag until after the settle window."""
    Scenario(
        "stale reads",
        (Part("a", sends, at=1_000), *WORKERS),
        ("a",),
        before=(Fault("send", LOST),),
        faults=(Fault("inspect", "stale_read", ms=600_000, times=2),),
    ).run(SEED, statements=statements)


def restored_to_before_the_draft(statements: Catalogue | None) -> None:
    """Everything was done; then the store is put back to before the draft was made."""
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=False)
    dump = machine.memory.dump()
    machine.spawn("first", does_all)
    machine.run()
    machine.restored(dump)
    machine.spawn("a", does_all)
    machine.spawn("w1", ticks)
    machine.run()
    machine.calm()
    if len(machine.sandbox.truth.events("mailed")) > 1:
        raise Violation("I1: mailed twice after a restore")


def both_twins(statements: Catalogue | None) -> None:
    """Two campaigns with the same content are sent at the same time."""
    for violation in twins(SEED, statements=statements).violations:
        raise Violation(violation)


def zombie_worker(statements: Catalogue | None) -> None:
    """A worker freezes in a job for longer than its lease, and wakes while another one is at it."""
    machine, _ = _with_a_job(statements, retry_safe=True)
    machine.spawn("w1", ticks, strikes={EFFECT: Strike("freeze", 150_000)})
    machine.spawn("w2", ticks, at=121_000, strikes={EFFECT: Strike("freeze", 60_000)})
    machine.run()


def _points(scenario: Scenario, name: str) -> list[str]:
    _, actors = scenario.run(SEED)
    return actors[name].points


def two_workers(statements: Catalogue | None) -> None:
    """Two workers tick at the same time."""
    Scenario(
        "two workers", (Part("w1", ticks), Part("w2", ticks)), ("w1",), before=(Fault("send", LOST),)
    ).run(SEED, {"w1": {"net.connect": Strike("freeze", 30_000)}}, statements=statements)


def two_operators(statements: Catalogue | None) -> None:
    """A second operator presses Send while the first one's is at work."""
    PLAIN.run(SEED, {"a": {"net.connect": Strike("freeze", 3_000)}}, statements=statements)


EFFECT = "net.before EFFECT"


def _with_a_job(statements: Catalogue | None, *, retry_safe: bool) -> tuple[Machine, list[str]]:
    """Return a world with one job queued, whose handler stands at the point EFFECT and notes its runs."""
    machine = Machine(SEED, statements=statements)
    effects: list[str] = []

    def run(job: Job) -> JobOutcome:
        effects.append(job.id)
        machine.schedule.running.point(EFFECT)
        return Done()

    machine.handlers.append(Handler(type="effect", run=run, retry_safe=retry_safe))

    def enqueue(_world: Machine, bridge: Bridge) -> None:
        with bridge.wiring.store.unit() as unit:
            unit.jobs.enqueue("job_1", Request(type="effect", target="thing:1"))

    machine.spawn("author", enqueue)
    machine.run()
    return machine, effects


def unsafe_job_taken_over(statements: Catalogue | None) -> None:
    """A worker dies inside a handler that isn't safe to repeat; another one takes its job over."""
    machine, effects = _with_a_job(statements, retry_safe=False)
    machine.spawn("w1", ticks, strikes={EFFECT: CRASH})
    machine.spawn("w2", ticks, at=10_000)
    machine.run()
    if len(effects) > 1:
        raise Violation(f"I6: a job that isn't safe to repeat ran {len(effects)} times")


def sent_by_hand_meanwhile(statements: Catalogue | None) -> None:
    """Somebody presses Send at the provider in the instant before our request: ours is refused."""
    machine = Machine(SEED, statements=statements, repeated_send="refused", strict=False)
    machine.author(drafted=True)
    remote_id = machine.rows("SELECT remote_id FROM remote_campaigns")[0]["remote_id"]
    hand = Strike("hand", hand=lambda: _by_hand(machine, "POST", f"campaigns/{remote_id}/actions/send"))
    machine.spawn("a", sends_once, strikes={SEND: hand})
    machine.run()
    state = machine.rows("SELECT state FROM campaigns")[0]["state"]
    if state == "provider_draft":
        raise Violation("I5: it was sent, and is offered for sending again")
    machine.calm()


def audience_swapped(statements: Catalogue | None) -> None:
    """Somebody gives our draft another audience in the provider's own UI."""
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=True)
    machine.sandbox.add_list("other1", "Everybody", 24_318)
    remote_id = machine.rows("SELECT remote_id FROM remote_campaigns")[0]["remote_id"]
    _by_hand(machine, "PATCH", f"campaigns/{remote_id}", b'{"recipients": {"list_id": "other1"}}')
    machine.spawn("a", sends_once)
    machine.run()
    machine.calm()


def _by_hand(machine: Machine, method: str, path: str, body: bytes = b"") -> object:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    return machine.sandbox.handle(Ask.parse(method, f"/3.0/{path}", headers, body))


def applied_after_the_window(statements: Catalogue | None) -> None:
    """The provider applies a send ten minutes after it was asked for; nobody asks again."""
    Scenario(
        "very late",
        (Part("w1", ticks), Part("a", waits)),
        ("w1",),
        before=(Fault("send", "apply_late", ms=600_000, answer="drop"),),
        strict=False,
    ).run(SEED, statements=statements)


def woken_while_claimed(statements: Catalogue | None) -> None:
    """A send's intent asks for a look while the watch's job is still in a worker's hands."""
    scenario = Scenario(
        "woken while claimed",
        (Part("b", _sends_at_the_recheck), Part("w1", _ticks_for_two_hours)),
        ("w1",),
        before=(Fault("send", "refuse_5xx", status=503),),
    )
    points = _points(scenario, "w1")
    reads = [at for at, label in enumerate(points) if label.startswith("net.after GET")]
    for at in range(reads[3], min(reads[3] + 14, len(points))):
        scenario.run(SEED, {"w1": {at: Strike("freeze", 20_000)}}, statements=statements)


RECHECK_MS = HOUR + 390_000  # after a send that was settled as not applied by its second reading


def _sends_at_the_recheck(machine: Machine, bridge: Bridge) -> None:
    actor = machine.schedule.running
    actor.sleep(RECHECK_MS + 2_000)
    until = machine.schedule.now + 4 * MINUTE
    while machine.schedule.now < until:
        try:
            bridge.send(
                machine.campaign_id,
                actor=OPERATOR,
                key=f"k{machine.schedule.now}",
                confirmed=machine.confirmation(),
            )
        except Refusal:
            actor.sleep(1_500)
        else:
            return


def _ticks_for_two_hours(machine: Machine, bridge: Bridge) -> None:
    actor = machine.schedule.running
    until = machine.schedule.now + 2 * HOUR
    while machine.schedule.now < until:
        bridge.tick()
        due = machine.next_job()
        actor.sleep(max(1_000, min((due or until) - machine.schedule.now, 10 * MINUTE)))


# code that stands in a guard's place
class _Sleepy(Wiring):
    """Wiring that wakes nobody."""

    __slots__ = ()

    def wake_watch(self, *_: object, **__: object) -> None:
        """Don't."""


def _intent_without_watch(unit: Any, held: Any, intent: Any, attempt: Any) -> Any:
    awake = held.wiring
    held.wiring = _Sleepy(
        awake.store, awake.open_provider, awake.clock, awake.chance, awake.holder, awake.duties_separated
    )
    try:
        return _WRITE_INTENT(unit, held, intent, attempt)
    finally:
        held.wiring = awake


def _intent_whatever_the_commit_said(held: Any, intent: Any) -> Any:
    attempt = once._attempt_of(held, intent)
    try:
        with held.wiring.store.unit() as unit:
            return once._write_intent(unit, held, intent, attempt)
    except CommitUnknown:
        return attempt


def _intent_unwritten(held: Any, intent: Any) -> Any:
    return (
        once._attempt_of(held, intent) if intent.operation is Operation.SEND else _COMMIT_INTENT(held, intent)
    )


def _doubt_is_failure(call: Any, line: Any) -> Any:
    outcome = _CALL_ONCE(call, line)
    return Refused("timeout", Category.UNREACHABLE) if isinstance(outcome, Ambiguous) else outcome


def _search_drafts_only(provider: Any, dossier: Any) -> Found | None:
    found = _SEARCH(provider, dossier)
    return found if found is not None and found.status is RemoteStatus.DRAFT else None


def _absence_at_any_time(case: Any, verdict: Any, began_at: int, *, target: Any = None) -> Any:
    attempt = case.attempt
    early = replace(attempt, deadline_at=-(10**15)) if attempt is not None else None
    return _ABSENCE(replace(case, attempt=early), verdict, began_at, target=target)


def _draft_of_anybody(seen: Any, _dossier: Any) -> None:
    if seen.status is not RemoteStatus.DRAFT:
        raise InvalidState("not a draft")


_COMMIT_INTENT = once._commit_intent
_WRITE_INTENT = once._write_intent
_CALL_ONCE = once._call_once
_SEARCH = handoff.search
_ABSENCE = evidence._absence

_TAKE_LIVE_LOCK = """INSERT INTO locks (key, fence, holder, operation, actor, interrupted, acquired_at, held_until)
    VALUES (:key, 1, :holder, :operation, :actor, NULL, now_ms(), now_ms() + :ttl_ms)
    ON CONFLICT (key) DO UPDATE SET fence = locks.fence + 1, holder = :holder, interrupted = locks.operation,
        operation = :operation, actor = :actor, acquired_at = now_ms(), held_until = now_ms() + :ttl_ms
    RETURNING fence, interrupted"""


def _without(name: str, *predicates: str) -> dict[str, str]:
    """Return a statement's text without some of its predicates."""
    text = catalogue("sqlite")[name].text
    for predicate in predicates:
        assert predicate in text, f"{name} has no {predicate!r}"
        text = text.replace(predicate, "")
    return {name: text}


def mutants() -> list[Mutant]:
    """Return every mutant."""
    owner = " AND fence = :fence AND holder = :holder"
    late = next(one for one in SENDS if one.name == "send applied late")
    lost_create = next(one for one in HANDOFFS if one.name == "handoff answer lost")
    return [
        Mutant(
            "no pending row before the call",
            crash_after_the_post,
            ((once, "_commit_intent", _intent_unwritten),),
        ),
        Mutant(
            "an unknown COMMIT is taken for committed",
            lost_commit_then_crash,
            ((once, "_commit_intent", _intent_whatever_the_commit_said),),
        ),
        Mutant(
            "an ambiguous answer is taken for a failure",
            plays(late),
            ((once, "_call_once", _doubt_is_failure),),
        ),
        Mutant(
            "no look at the clock before the first byte",
            freeze_after_the_intent,
            ((once, "too_late", lambda *_: False),),
        ),
        Mutant(
            "the watch is queued with the outcome",
            plays(PLAIN),
            ((once, "_write_intent", _intent_without_watch),),
        ),
        Mutant(
            "no settle window",
            plays(late),
            ((Attempt, "window_end", property(lambda self: self.created_at)),),
        ),
        Mutant(
            "a reading inside the window counts", plays(late), ((evidence, "_absence", _absence_at_any_time),)
        ),
        Mutant(
            "one reading instead of two",
            stale_after_the_window,
            ((evidence, "second_reading", lambda *_: True),),
        ),
        Mutant("no reading later on", applied_after_the_window, ((cadence, "recheck", lambda _: None),)),
        Mutant(
            "a refused send is believed without a look",
            sent_by_hand_meanwhile,
            ((once, "_second_look", lambda _provider, _attempt, refusal: refusal),),
        ),
        Mutant(
            "the token comes from the attempt",
            plays(lost_create),
            ((Dossier, "token", property(lambda self: f"{self.stem}-{self.now}.g1")),),
        ),
        Mutant(
            "no search before a create", restored_to_before_the_draft, ((handoff, "search", lambda *_: None),)
        ),
        Mutant(
            "the search sees drafts only",
            restored_to_before_the_draft,
            ((handoff, "search", _search_drafts_only),),
        ),
        Mutant(
            "the draft's audience isn't compared",
            audience_swapped,
            ((guard, "require_draft", _draft_of_anybody),),
        ),
        Mutant(
            "no content claim",
            both_twins,
            texts=_without(
                "claims.take",
                "\nWHERE content_claims.until < now_ms() OR content_claims.campaign_id = :campaign_id",
            ),
        ),
        Mutant(
            "the check is outside of the lock",
            two_without_locks,
            texts=_without(
                "campaigns.claim", " AND version = :version AND state = :from_state AND open_attempt IS NULL"
            ),
        ),
        Mutant("a live lock is taken over", two_operators, texts={"locks.acquire": _TAKE_LIVE_LOCK}),
        Mutant(
            "no fence on what is written under a lock",
            zombie_intent,
            texts=_without("locks.hold", owner + " AND held_until >= now_ms() + :need_ms"),
        ),
        Mutant("a lock is released by whoever comes", zombie_release, texts=_without("locks.release", owner)),
        Mutant(
            "a job is ended by whoever comes",
            zombie_worker,
            texts={**_without("jobs.again", owner), **_without("jobs.finish", owner)},
        ),
        Mutant(
            "a live job is claimed",
            two_workers,
            texts={
                "jobs.claim": catalogue("sqlite")["jobs.claim"].text.replace(
                    "lease_until < (SELECT now_ms())", "1 = 1"
                )
            },
        ),
        Mutant("a wish for another run is dropped", woken_while_claimed, texts=_no_wish()),
        Mutant(
            "no takeover guard",
            unsafe_job_taken_over,
            ((worker, "abandoned_midway", lambda *_: False),),
            _without("jobs.start", "\n    AND started_at IS NULL"),
        ),
    ]


def _no_wish() -> dict[str, str]:
    text = catalogue("sqlite")["jobs.enqueue"].text
    start, end = text.index(",\n    rerun_at = CASE"), text.index(",\n    updated_at = now_ms()")
    return {"jobs.enqueue": text[:start] + text[end:]}
