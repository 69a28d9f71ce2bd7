"""Exploring ramps: a crash, a freeze, a lost answer and each hand at every point of a wave; pairs; restores; a swarm."""

from collections.abc import Callable

from sim.explore import CRASH, LAST, LONG
from sim.invariants import Violation
from sim.ramp_scenarios import (
    HANDS,
    RampScenario,
    with_hand,
)
from sim.ramp_world import RampMachine
from sim.scenarios import Strikes, Tally
from sim.schedule import Strike


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


def every_hand(scenario: RampScenario, hand: str, seed: int, *, step: int = 1) -> Tally:
    """Somebody does one thing at each point of the worker."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    points = base.get("w1", [])
    for at in range(seed % step, min(busy(points), len(points)), step):
        if points[at] == "tx.commit":
            continue  # nobody else writes while a transaction is open
        run(tally, scenario, seed, {}, prepare=with_hand(HANDS[hand], at), what=f"w1:{at}:{hand}")
        tally.strikes += 1
    return tally
