"""Directed schedules: each shows what one guard of the protocol is for, when it is missing."""

from collections.abc import Callable
from typing import Any

from campaignbridge.bridge import Bridge
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.job import Done, Handler, Job, JobOutcome, Request
from campaignbridge.flows.waves import LEASE_MS
from campaignbridge.sandbox import Fault
from campaignbridge.store.sql import Catalogue
from sim.explore import CRASH, LONG, author_twin, twins
from sim.invariants import Violation
from sim.machine import HOUR, KEY, MINUTE, OPERATOR, RESEND_HTML, Machine
from sim.people import does_all, hands_off, renews, sends, sends_once, ticks, waits
from sim.scenarios import LOST, SENDS, WORKERS, Part, Scenario
from sim.schedule import Strike

Schedule = Callable[[Catalogue | None], None]
SEED = 7


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
    lease_ms = LEASE_MS  # the longest of any handler: what a worker claims for
    machine.spawn("w1", ticks, strikes={EFFECT: Strike("freeze", lease_ms + 30_000)})
    machine.spawn("w2", ticks, at=lease_ms + 1_000, strikes={EFFECT: Strike("freeze", 60_000)})
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
    hand = Strike("hand", hand=lambda: machine.by_hand("POST", f"campaigns/{remote_id}/actions/send"))
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
    machine.by_hand("PATCH", f"campaigns/{remote_id}", b'{"recipients": {"list_id": "other1"}}')
    machine.spawn("a", sends_once)
    machine.run()
    machine.calm()


def applied_after_the_window(statements: Catalogue | None) -> None:
    """The provider applies a send ten minutes after it was asked for; nobody asks again."""
    Scenario(
        "very late",
        (Part("w1", ticks), Part("a", waits)),
        ("w1",),
        before=(Fault("send", "apply_late", ms=600_000, answer="drop"),),
        strict=False,
    ).run(SEED, statements=statements)


def renewed_before_a_late_send(statements: Catalogue | None) -> None:
    """At Resend a send applies a quarter of an hour late; by then its draft was replaced, and the new one sent."""
    Scenario(
        "renewed before a late send",
        (Part("a", renews), Part("b", waits), Part("w1", ticks)),
        ("a",),
        before=(Fault("send", "apply_late", ms=900_000, answer="drop"),),
        most_drafts=2,
        strict=False,
        html=RESEND_HTML,
        provider="resend",
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


def late_answer_and_a_second_sender(statements: Catalogue | None) -> None:
    """A frozen process's send is accepted at last, while a second sender stands right before its own intent."""
    scenario = Scenario(
        "late answer",
        (Part("a", sends_once), Part("b", _sends_too, at=420_000), *WORKERS),
        ("a",),
        strict=False,
    )
    dialled = before(SEND, "net.connect", PLAIN)
    scenario.run(
        SEED,
        {"a": {SEND: Strike("stop", 422_000)}, "b": {dialled: Strike("freeze", 5_000)}},
        statements=statements,
    )


def _mailed_once(machine: Machine) -> None:
    mailed = len(machine.sandbox.truth.events("mailed"))
    if mailed > 1:
        raise Violation(f"I1: the same content went {mailed} times to the same audience")


def _remote_id(machine: Machine, campaign_id: str) -> str:
    rows = machine.rows("SELECT campaign_id, remote_id FROM remote_campaigns")
    return next(row["remote_id"] for row in rows if row["campaign_id"] == campaign_id)


def sent_by_hand_then_its_twin(statements: Catalogue | None) -> None:
    """A draft is sent in the provider's own pages, and followed; then its twin is sent here."""
    machine = Machine(SEED, statements=statements, strict=False)
    machine.author(drafted=True)
    twin = author_twin(machine)
    machine.by_hand("POST", f"campaigns/{_remote_id(machine, machine.campaign_id)}/actions/send")
    machine.spawn("b", _reconciles_once)
    machine.run()
    machine.spawn("a", lambda world, bridge: sends(world, bridge, twin))
    machine.spawn("w1", ticks)
    machine.run()
    machine.calm()
    _mailed_once(machine)


def twin_goes_while_the_claim_is_held(statements: Catalogue | None) -> None:
    """A send that was never applied holds the claim while its twin is sent by hand; then it is freed."""
    machine = Machine(SEED, statements=statements, strict=False)
    machine.author(drafted=True)
    first, twin = machine.campaign_id, author_twin(machine)
    machine.faults(Fault("send", "refuse_5xx", status=503))
    machine.spawn("first", sends_once)
    machine.run()
    machine.by_hand("POST", f"campaigns/{_remote_id(machine, twin)}/actions/send")
    machine.campaign_id = twin
    machine.spawn("b", _reconciles_once)
    machine.run()
    machine.spawn("a", lambda world, bridge: sends(world, bridge, first))
    machine.spawn("w1", ticks)
    machine.run()
    machine.calm()
    _mailed_once(machine)


def watch_stopped_before_the_answer(statements: Catalogue | None) -> None:
    """A process freezes with the answer in its hands; meanwhile the key is refused, and the watch stops."""
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=True)
    points = _points(PLAIN, "a")
    recording = next(
        at for at in range(points.index("net.after POST send"), len(points)) if points[at] == "tx.begin"
    )
    machine.spawn("a", sends_once, strikes={recording: Strike("freeze", 20 * MINUTE)})

    def refuses_the_key(world: Machine, _bridge: Bridge) -> None:
        actor = world.schedule.running
        actor.sleep(2 * MINUTE)
        world.key = "f" * 32 + "-us1"
        actor.sleep(10 * MINUTE)
        world.key = KEY

    machine.spawn("hand", refuses_the_key)
    machine.spawn("w1", _ticks_anew)
    machine.run()
    machine.calm()


def _ticks_anew(machine: Machine, bridge: Bridge) -> None:
    actor = machine.schedule.running
    until = machine.schedule.now + 30 * MINUTE
    while machine.schedule.now < until:
        machine.bridge(actor).tick()
        actor.sleep(MINUTE)


def key_of_another_account(statements: Catalogue | None) -> None:
    """A create's answer is lost; then the key is swapped for that of an account where nothing is to be found."""
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=False)
    other = "a" * 32 + "-us1"
    machine.sandbox.add_account(other, "Another account")
    machine.faults(Fault("create", LOST))
    machine.spawn("first", _drafts_once)
    machine.run()
    machine.sandbox.add_list("a1b2c3", "Customers EU", 24_318, key=other)
    machine.key = other
    machine.spawn("a", hands_off)
    machine.spawn("w1", ticks)
    machine.run()
    created = len(machine.sandbox.truth.events("created"))
    if created > 1:
        raise Violation(f"I1: {created} drafts were created for one campaign")


def _drafts_once(machine: Machine, bridge: Bridge) -> None:
    try:
        bridge.hand_off(machine.campaign_id, actor=OPERATOR, key="only")
    except Refusal as refusal:
        machine.refusals.append(refusal.code)


def paused_copy(statements: Catalogue | None) -> None:
    """A copy of the store, which nobody has adopted, is found by a worker; the store itself goes on elsewhere."""
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=True)
    machine.faults(Fault("send", LOST))
    machine.spawn("first", sends_once)
    machine.run()
    machine.memory.connection.execute(
        "UPDATE installation SET paused_since = now_ms(), paused_reason = 'backup' WHERE one = 1"
    )
    asked = len(machine.sandbox.truth.requests())
    machine.spawn("w1", ticks)
    machine.run()
    if len(machine.sandbox.truth.requests()) > asked:
        raise Violation("I1: a copy that nobody has adopted works")


def sent_from_a_paused_copy(statements: Catalogue | None) -> None:
    """Somebody sends, and the store turns out to be a copy in the instant before the intent."""
    at = before(SEND, "tx.begin", PLAIN)
    machine = Machine(SEED, statements=statements)
    machine.author(drafted=True)

    def pause() -> None:
        machine.memory.connection.execute(
            "UPDATE installation SET paused_since = now_ms(), paused_reason = 'backup' WHERE one = 1"
        )

    machine.spawn("a", sends_once, strikes={at: Strike("hand", hand=pause)})
    machine.run()
    if machine.sends_asked():
        raise Violation("I1: a copy that nobody has adopted sends")


def jobs_lost_while_sending(statements: Catalogue | None) -> None:
    """A process dies right after its send, and every queued job is lost."""
    lossy = next(one for one in SENDS if one.name == "send answer lost")

    def lose(machine: Machine) -> None:
        machine.invariants.sweeping_until = machine.schedule.now + 11 * MINUTE
        machine.memory.connection.execute("DELETE FROM jobs WHERE state = 'queued'")

    at = _points(lossy, "a").index("net.after POST send")
    alone = Scenario("jobs lost", (Part("a", sends_once), Part("w1", ticks)), ("a",), faults=lossy.faults)
    alone.run(SEED, {"a": {at: Strike("crash", hand_in=lose)}}, statements=statements)
