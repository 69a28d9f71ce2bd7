"""Directed schedules of ramps: each shows what one guard is for, when it is missing."""

from collections.abc import Callable
from dataclasses import replace

from campaignbridge.bridge import Bridge
from campaignbridge.flows.ramp_tick import run_now
from campaignbridge.sandbox import Fault
from campaignbridge.store.sql import Catalogue
from sim.explore import CRASH
from sim.invariants import Violation
from sim.machine import MINUTE, OPERATOR, Machine
from sim.ramp_invariants import SLUG
from sim.ramp_scenarios import (
    ENOUGH,
    RampScenario,
    discards,
    hand_of,
    pauses,
)
from sim.ramp_world import RampMachine, as_owner, attempt, runs, suppresses, works
from sim.scenarios import LOST, Part, Strikes
from sim.schedule import Strike

Schedule = Callable[[Catalogue | None], None]
SEED = 7
PUSH = "net.before POST 1"  # people on their way into Mailchimp's segment 1
PUSHED = "net.after POST 1"
SEND = "net.before POST send"
PLAIN = RampScenario("a wave", "mailchimp")
ALONE = RampScenario("a wave of one worker", "mailchimp", parts=(Part("t1", runs), Part("w1", works, at=10)))


def with_hand_at(
    label: str, hand: Callable[[RampMachine, Bridge], object], scenario: RampScenario = PLAIN
) -> Schedule:
    """Somebody does one thing when a worker first stands at a point."""

    def schedule(statements: Catalogue | None) -> None:
        def prepare(machine: RampMachine) -> Strikes:
            act = hand_of(hand)(machine)
            done: list[bool] = []

            def once() -> None:
                if not done:
                    done.append(True)
                    act()

            return {name: {label: Strike("hand", hand=once)} for name in ("w1", "w2")}

        scenario.run(SEED, statements=statements, prepare=prepare)

    return schedule


def two_ticks(statements: Catalogue | None) -> None:
    """Two ticks overlap in every order that a few seeds give."""
    for seed in range(1, 13):
        PLAIN.run(seed, statements=statements, unindexed=statements is not None)


def idle_wave(statements: Catalogue | None) -> None:
    """A worker dies in the middle of a push; twenty minutes later the ramp is ticked."""
    RampScenario(
        "idle",
        "mailchimp",
        parts=(Part("t1", runs), Part("w1", works, at=10), Part("t2", runs, at=20 * MINUTE)),
    ).run(SEED, {"w1": {PUSH: CRASH}}, statements=statements, unindexed=statements is not None)


def zombie_pusher(statements: Catalogue | None) -> None:
    """A worker freezes in a push for longer than its lease, and wakes while another one has the job."""
    RampScenario(
        "zombie",
        "mailchimp",
        parts=(Part("t1", runs), Part("w1", works, at=10), Part("w2", works, at=301_000)),
    ).run(
        SEED,
        {"w1": {PUSHED: Strike("freeze", ENOUGH)}, "w2": {PUSHED: Strike("freeze", ENOUGH)}},
        statements=statements,
    )


def late_push(statements: Catalogue | None) -> None:
    """A push lands minutes late, after somebody of it was suppressed and taken out; then the wave goes."""
    RampScenario(
        "late push",
        "mailchimp",
        parts=(
            Part("t1", runs),
            Part("w1", works, at=10),
            Part("w2", works, at=40),
            Part("p", _complains, at=60_000),
        ),
        faults=(Fault("change_segment_members", "apply_late", ms=350_000, answer="withhold"),),
    ).run(SEED, {"w1": {PUSHED: CRASH}, "w2": {SEND: Strike("freeze", 50_000)}}, statements=statements)


def _complains(machine: Machine, bridge: Bridge) -> None:
    first = machine.rows(
        "SELECT c.email FROM assignments a JOIN contacts c ON c.id = a.contact_id ORDER BY a.contact_id LIMIT 1"
    )
    suppresses(machine, bridge, int(first[0]["email"].partition("@")[0][1:]))


def paused_before_the_intent(statements: Catalogue | None) -> None:
    """Somebody pauses the ramp in the instant before a send's intent."""
    _, actors = ALONE.run(SEED)
    points = actors["w1"].points
    at = max(at for at in range(points.index(SEND)) if points[at] == "tx.begin")
    ALONE.run(
        SEED,
        statements=statements,
        prepare=lambda machine: {"w1": {at: Strike("hand", hand=hand_of(pauses)(machine))}},
    )


def bad_figures_before_the_send(statements: Catalogue | None) -> None:
    """While a wave's draft is made, the figures of the wave before turn bad; nobody ticks."""

    def prepare(machine: RampMachine) -> Strikes:
        turn = Strike("hand", hand=lambda: machine.sandbox.world.behave(report_lag_ms=0))
        return {"w1": {"net.before POST campaigns": turn}}

    machine, _ = replace(ALONE, previous=True).run(SEED, statements=statements, prepare=prepare)
    log = [row["outcome"] for row in machine.rows("SELECT outcome FROM ramp_log ORDER BY id")]
    if "gate_tripped" not in log[: log.index("wave_sent")]:
        raise Violation("I4: a wave went though its ramp's figures were known to be bad")


def second_wave(statements: Catalogue | None) -> None:
    """One wave goes, and then the next one."""
    replace(PLAIN, wanted=2).run(SEED, statements=statements, unindexed=statements is not None)


def swapped_member(statements: Catalogue | None) -> None:
    """Somebody swaps one of ours for a stranger in the segment, so that its count is right."""

    def prepare(machine: RampMachine) -> Strikes:
        def swap() -> None:
            (segment,) = [
                one
                for one in machine.sandbox.world.roster._segments.values()
                if one.name.startswith("simhouse.")
            ]
            ours = next(iter(segment.members))
            body = {"members_to_add": ["person5@example.invalid"], "members_to_remove": [ours]}
            as_owner(machine, "POST", f"lists/a1b2c3/segments/{segment.id}", body)

        return {"w1": {PUSHED: Strike("hand", hand=swap)}}

    ALONE.run(SEED, statements=statements, prepare=prepare)


def discarded_after_the_send(statements: Catalogue | None) -> None:
    """A send's answer is lost; at that moment somebody writes the wave off, and the ramp is ticked."""

    def act(machine: RampMachine, bridge: Bridge) -> None:
        attempt(machine, lambda: discards(machine, bridge))
        run_now(bridge.wiring, SLUG, actor=OPERATOR)

    lossy = replace(PLAIN, faults=(Fault("send", LOST),))
    with_hand_at("net.after POST send", act, lossy)(statements)


def jobs_lost(statements: Catalogue | None) -> None:
    """Every queued job is lost while a wave is pushed; its worker dies, too."""

    def prepare(machine: RampMachine) -> Strikes:
        def lose() -> None:
            machine.memory.connection.execute("DELETE FROM jobs")

        return {"w1": {PUSHED: Strike("crash", hand=lose)}}

    ALONE.run(SEED, statements=statements, prepare=prepare)
