"""Run the whole simulation on all cores and close with one line; exit 1 when anything was violated.

`SIM_SEED=… SIM_CRASH=process:point:kind SIM_NAME=…` replays one run, as a violation's line names it.
`SIM_SWARM=N` runs N random worlds instead of the usual number.
"""

import logging
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from sim.explore import (
    every_crash,
    every_pair,
    every_restore,
    every_second_late,
    every_strike,
    late_application,
    swarm,
    twins,
)
from sim.mutants import mutants
from sim.scenarios import ALL, HANDOFFS, SENDS, WATCHES, Scenario, Strikes, Tally
from sim.schedule import Strike

SWARM = 1_000
CHUNK = 100


def mutant(number: int) -> Tally:
    """Run one mutant."""
    one = mutants()[number]
    try:
        one.caught()
    except AssertionError as error:
        return Tally(runs=2, mutants=1, violations=[f"mutant {one.name}: {error}"])
    return Tally(runs=2, mutants=1, caught=1)


def tasks() -> list[Callable[[], Tally]]:
    """Return all that is to be run, the longest first."""
    struck = [*HANDOFFS[:1], HANDOFFS[4], SENDS[0], SENDS[1], SENDS[6], WATCHES[1]]
    worlds = int(os.environ.get("SIM_SWARM") or SWARM)
    return [
        *(partial(every_pair, HANDOFFS[0], seed, second="b") for seed in (1,)),
        *(
            partial(every_pair, scenario, seed, second="b")
            for scenario, seed in ((SENDS[0], 1), (SENDS[0], 2), (SENDS[1], 1))
        ),
        *(partial(every_pair, WATCHES[1], seed, second="w2", most=30) for seed in (1,)),
        *(partial(every_crash, scenario, 1) for scenario in reversed(ALL)),
        *(partial(every_crash, scenario, 2, locks=False) for scenario in [*HANDOFFS[:2], *SENDS[:6]]),
        *(partial(every_strike, scenario, 1) for scenario in struck),
        *(partial(swarm, range(start, start + CHUNK)) for start in range(1, worlds, CHUNK)),
        *(partial(every_restore, seed) for seed in (1, 2)),
        *(partial(twins, seed) for seed in range(20)),
        *(partial(mutant, number) for number in range(len(mutants()))),
        partial(late_application, 1),
        partial(every_second_late, 1),
    ]


def replay(name: str, seed: int, crash: str) -> int:
    """Run one scenario again, exactly as it went; let its violation show."""
    scenario: Scenario = next(one for one in ALL if one.name == name)
    strikes: Strikes = {}
    for part in crash.split(";"):
        if part and part != "-":
            process, point, kind = part.split(":")
            strikes.setdefault(process, {})[int(point)] = Strike(kind, 700_000)
    scenario.run(seed, strikes)
    print(f"sim: {name} seed {seed} {crash}: nothing was violated")
    return 0


def _quiet() -> None:
    logging.disable(logging.CRITICAL)  # workers say what befalls jobs, and here everything does


def main() -> int:
    """Run everything, or replay one run."""
    if os.environ.get("SIM_NAME"):
        return replay(os.environ["SIM_NAME"], int(os.environ["SIM_SEED"]), os.environ.get("SIM_CRASH", "-"))
    began = time.monotonic()
    total = Tally()
    with ProcessPoolExecutor(max_workers=os.cpu_count(), initializer=_quiet) as pool:
        for future in [pool.submit(task) for task in tasks()]:
            part = future.result()
            total.add(part)
            for violation in part.violations[:20]:
                print(f"VIOLATION {violation}", flush=True)
    print(
        f"sim: {total.runs:,} runs, {total.crash_points:,} crash points, {total.pairs:,} pairs, "
        f"{total.strikes:,} other strikes, {total.restores} restores, {total.swarm:,} random worlds, "
        f"violations {len(total.violations)}, mutants caught {total.caught} of {total.mutants}, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if total.violations or total.caught != total.mutants else 0


if __name__ == "__main__":
    sys.exit(main())
