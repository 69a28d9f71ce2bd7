"""Exploring ramps: a crash, a freeze, a lost answer and each hand at every point of a wave; pairs, restores, swarm."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from campaignbridge.bridge import Bridge
from campaignbridge.sandbox import Fault
from sim.explore import CRASH, LAST, LONG, _random_strikes
from sim.invariants import Violation
from sim.machine import Machine
from sim.ramp_scenarios import (
    HANDS,
    STEPPERS,
    TICKS,
    Hand,
    RampScenario,
    aborts,
    clears,
    discards,
    finishes,
    pauses,
    releases,
    releases_and_resumes,
    resumes_wave,
    ticks_again,
    with_hand,
)
from sim.ramp_world import RampMachine, attempt, runs, suppresses, works
from sim.scenarios import Part, Strikes, Tally
from sim.schedule import Strike

SEND = "net.before POST send"


def run(
    tally: Tally,
    scenario: RampScenario,
    seed: int,
    strikes: Strikes,
    *,
    repeated_send: str = "accepted_again",
    prepare: Callable[[RampMachine], Strikes] | None = None,
    what: str = "",
) -> dict[str, list[str]]:
    """Run once and note a violation; return the points that each process stood at."""
    tally.runs += 1
    try:
        _, actors = scenario.run(seed, strikes, repeated_send=repeated_send, prepare=prepare)
    except Violation as violation:
        where = what or ";".join(
            f"{name}:{at}:{strike.kind}" for name, ats in strikes.items() for at, strike in ats.items()
        )
        tally.violations.append(f"{scenario.name} SIM_SEED={seed} SIM_CRASH={where or '-'}: {violation}")
        return {}
    return {name: actor.points for name, actor in actors.items()}


def busy(points: list[str]) -> int:
    """Return how many points a process stood at until its last request was answered: then it is idle."""
    return max((at for at, label in enumerate(points) if label.startswith("net.")), default=0) + 7


def every_crash(scenario: RampScenario, seed: int, *, step: int = 1) -> Tally:
    """Crash each struck process at each of its points, or at every few."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    for name in scenario.struck:
        points = base.get(name, [])
        for at in range(seed % step, min(busy(points), len(points)), step):
            run(tally, scenario, seed, {name: {at: CRASH}})
            tally.crash_points += 1
    return tally


def every_strike(scenario: RampScenario, seed: int, *, step: int = 1) -> Tally:
    """At each point: a freeze longer than lease and window, a store that is gone, a COMMIT's answer lost."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    for name in scenario.struck:
        points = base.get(name, [])
        for at in range(seed % step, min(busy(points), len(points)), step):
            label = points[at]
            kinds = [Strike("freeze", LONG)]
            if label.startswith("tx."):
                kinds += [Strike("gone"), Strike("lost")]
            for strike in kinds:
                # What no client can prevent: a freeze between the last check and the write.
                last = strike.kind == "freeze" and label in (*LAST, "net.before POST broadcasts")
                run(
                    tally,
                    scenario.unguarded() if last else scenario,
                    seed,
                    {name: {at: strike}},
                    repeated_send="refused" if last else "accepted_again",
                )
                tally.strikes += 1
    return tally


def every_hand(scenario: RampScenario, hand: str, seed: int, *, step: int = 1, send: bool = False) -> Tally:
    """Somebody does one thing at each point of the worker, or at every few; `send`: at each of its send alone."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    points = base.get("w1", [])
    first = seed % step
    if send and SEND in points:
        first = max(at for at in range(points.index(SEND)) if points[at].startswith("net.before GET")) - 12
    for at in range(first, min(busy(points), len(points)), step):
        if points[at] == "tx.commit":
            continue  # nobody else writes while a transaction is open
        run(tally, scenario, seed, {}, prepare=with_hand(HANDS[hand], at), what=f"w1:{at}:{hand}")
        tally.strikes += 1
    return tally


def some_pairs(scenario: RampScenario, seed: int, *, step: int, then: int) -> Tally:
    """Crash both workers: the first at every few of its points, the second at every few of its own; a third goes on."""
    tally = Tally()
    third = replace(scenario, parts=(*scenario.parts, Part("w3", works, at=330_000)))
    base = run(tally, third, seed, {})
    for at in range(seed % step, min(busy(base.get("w1", [])), len(base.get("w1", []))), step):
        points = run(tally, third, seed, {"w1": {at: CRASH}}).get("w2", [])
        for second in range((at // step) % then, min(busy(points), len(points)), then):
            run(tally, third, seed, {"w1": {at: CRASH}, "w2": {second: CRASH}})
            tally.pairs += 1
    return tally


COMMANDS = {
    "release": releases,
    "release and resume": releases_and_resumes,
    "resume": resumes_wave,
    "discard": discards,
    "clear": clears,
    "finish": finishes,
    "pause": pauses,
    "abort": aborts,
    "tick": ticks_again,
}


def every_command(scenario: RampScenario, seed: int, command: str, *, starts: Iterable[int]) -> Tally:
    """An operator's command is crashed, and frozen for a while, at each of its points, while workers go on."""
    tally = Tally()

    def gives(machine: Machine, bridge: Bridge) -> None:
        assert isinstance(machine, RampMachine)
        attempt(machine, lambda: COMMANDS[command](machine, bridge))

    for start in starts:
        world = replace(scenario, parts=(*scenario.parts, Part("op", gives, at=start)), struck=("op",))
        points = run(tally, world, seed, {}).get("op", [])
        for at, label in enumerate(points):
            kinds = [CRASH, Strike("freeze", 2_500)]
            if label.startswith("tx."):
                kinds.append(Strike("lost"))
            for strike in kinds:
                run(
                    tally,
                    world,
                    seed,
                    {"op": {at: strike}},
                    what=f"{command} at {start} op:{at}:{strike.kind}",
                )
                tally.strikes += 1
    return tally


def every_restore(provider: str, seed: int, *, step: int = 1) -> Tally:
    """Put the store back to each of the commits of a wave that went, and go on: nobody is mailed twice."""
    tally = Tally()
    dumps = _wave_that_went(provider, seed)[1]
    for number in range(seed % step, len(dumps), step):
        tally.runs += 1
        tally.restores += 1
        try:
            machine = _wave_that_went(provider, seed)[0]
            machine.restored(dumps[number])
            machine.chance.random.seed(seed + 1000 + number)
            for part in (*TICKS, *STEPPERS):
                machine.spawn(part.name, part.work, at=part.at)
            machine.run()
            machine.wanted = 2
            machine.rest()
        except Violation as violation:
            tally.violations.append(f"restore at {provider} to commit {number} SIM_SEED={seed}: {violation}")
    return tally


def _wave_that_went(provider: str, seed: int) -> tuple[RampMachine, list[bytes]]:
    machine = RampMachine(seed, provider=provider)
    dumps = [machine.memory.dump()]

    def keep(_connection: object, _actor: object, ran: list[object]) -> None:
        if ran:
            dumps.append(machine.memory.dump())

    machine.memory.after_commit.append(keep)
    for part in (*TICKS, STEPPERS[0]):
        machine.spawn(part.name, part.work, at=part.at)
    machine.run()
    return machine, dumps


def ramp_swarm(seeds: range) -> Tally:
    """Random worlds with a ramp: ticks, workers, an operator who does anything at any time, strikes and faults."""
    tally = Tally()
    for seed in seeds:
        tally.runs += 1
        tally.swarm += 1
        try:
            _one_of_the_swarm(seed)
        except Violation as violation:
            tally.violations.append(f"ramp swarm SIM_SEED={seed}: {violation}")
    return tally


def _one_of_the_swarm(seed: int) -> None:
    chance = random.Random(seed)
    frozen = chance.random() < 0.3
    machine = RampMachine(
        seed % 16,  # few set-ups, many courses
        provider=chance.choice(["mailchimp", "resend"]),
        repeated_send="refused" if frozen else "accepted_again",
        strict=not frozen,
        wanted=chance.choice([1, 1, 1, 2]),
    )
    machine.schedule.random.seed(seed)
    machine.chance.random.seed(seed)
    machine.faults(*_random_faults(chance, machine.provider))
    for number in range(chance.randint(1, 3)):
        machine.spawn(f"t{number}", runs, at=chance.randrange(0, 3_000))
    for number in range(chance.randint(1, 3)):
        machine.spawn(
            f"w{number}",
            works,
            strikes=dict(_random_strikes(chance, 250, frozen=frozen)),
            at=chance.randrange(0, 5_000),
            skew_ms=chance.choice([0, 0, -400_000, 400_000]),
        )
    for number in range(chance.choice([0, 0, 1, 2])):
        command = COMMANDS[chance.choice([name for name in COMMANDS if name != "finish"])]
        machine.spawn(
            f"op{number}",
            partial(_gives, command=command),
            strikes=dict(_random_strikes(chance, 20, frozen=frozen)),
            at=chance.choice([chance.randrange(0, 12_000), chance.randrange(0, 600_000)]),
        )
    if chance.random() < 0.3:
        machine.spawn("p", lambda world, bridge: suppresses(world, bridge, 3), at=chance.randrange(0, 9_000))
    machine.run()
    machine.rest()


def _gives(machine: Machine, bridge: Bridge, *, command: Hand) -> None:
    assert isinstance(machine, RampMachine)
    attempt(machine, lambda: command(machine, bridge))


def _random_faults(chance: random.Random, provider: str) -> Iterator[Fault]:
    pushes = ("batch_members", "change_segment_members")
    if provider == "resend":
        pushes = ("add_member", "add_segment_member", "remove_segment_member")
    for operation in (
        "create_segment",
        "segments",
        "segment_members",
        "create",
        "update",
        "inspect",
        "send",
        *pushes,
    ):
        if chance.random() < 0.3:
            kinds = [
                Fault(operation, "drop_before"),
                Fault(operation, "accept_then_drop", after=chance.choice([0, 0, 1, 2])),
                Fault(operation, "accept_then_withhold"),
                Fault(operation, "refuse_5xx", status=503, times=chance.choice([1, 3])),
                Fault(operation, "status_429", retry_after=3),
                Fault(operation, "garbled", applied=True),
                Fault(operation, "truncated"),
                Fault(operation, "hang"),
            ]
            if operation in ("create_segment", "create", "send", *pushes):
                kinds.append(
                    Fault(operation, "apply_late", ms=chance.randrange(1_000, 299_000), answer="withhold")
                )
            else:
                kinds.append(Fault(operation, "stale_read", ms=chance.randrange(1_000, 60_000)))
            yield chance.choice(kinds)
