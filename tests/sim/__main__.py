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
from dataclasses import replace
from functools import partial

from sim import ramp_explore as ramps
from sim.explore import (
    every_crash,
    every_loss,
    every_pair,
    every_restore,
    every_second_late,
    every_strike,
    late_application,
    swarm,
    twins,
)
from sim.invariants import Violation
from sim.mutants import Mutant, mutants
from sim.ramp_mutants import ramp_mutants
from sim.ramp_scenarios import HANDS, WAVES, with_hand
from sim.scenarios import ALL, HANDOFFS, SENDS, WATCHES, Strikes, Tally
from sim.schedule import Strike

SWARM, CHUNK = 300, 50
RAMP_SWARM, RAMP_CHUNK = 80, 20


def every_mutant() -> list[Mutant]:
    """Return the mutants of campaigns and of ramps."""
    return [*mutants(), *ramp_mutants()]


def mutant(number: int) -> Tally:
    """Run one mutant."""
    one = every_mutant()[number]
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
        *ramp_tasks(),
        *(partial(every_pair, scenario, 1, second="b", most=12) for scenario in (HANDOFFS[0], *SENDS[:2])),
        partial(every_pair, WATCHES[1], 1, second="w2", most=8),
        *(partial(every_crash, scenario, 1) for scenario in reversed(ALL)),
        *(partial(every_crash, scenario, 2, locks=False) for scenario in [HANDOFFS[0], *SENDS[:2]]),
        *(partial(every_strike, scenario, 1) for scenario in struck),
        *(partial(every_loss, scenario, 1, step=2) for scenario in (HANDOFFS[1], SENDS[1], WATCHES[1])),
        *(partial(swarm, range(start, start + CHUNK)) for start in range(1, worlds, CHUNK)),
        *(partial(every_restore, seed) for seed in (1, 2)),
        *(partial(twins, seed) for seed in range(20)),
        *(partial(mutant, number) for number in range(len(every_mutant()))),
        partial(late_application, 1, step_ms=10_000),
        partial(every_second_late, 1),
    ]


def ramp_tasks() -> list[Callable[[], Tally]]:
    """Return what is run of ramps."""
    plain = [one for one in WAVES if one.name.endswith("plain")]
    before = replace(plain[0], name=f"{plain[0].name}, one before", previous=True)
    worlds = int(os.environ.get("SIM_SWARM") or RAMP_SWARM)
    return [
        *(partial(ramps.every_crash, scenario, 1) for scenario in reversed(plain)),
        *(partial(ramps.some_pairs, scenario, 1, step=31, then=29) for scenario in plain),
        *(partial(ramps.every_strike, scenario, 1, step=6) for scenario in plain),
        *(partial(ramps.every_restore, provider, 1, step=4) for provider in ("mailchimp", "resend")),
        *(
            partial(ramps.every_hand, before if hand == "tripped" else scenario, hand, 1, step=step)
            for hand in HANDS
            for scenario, step in zip(plain, (13, 19), strict=True)
            if hand != "tripped" or scenario is plain[0]
        ),
        *(
            partial(ramps.every_hand, before if hand == "tripped" else scenario, hand, 1, send=True)
            for hand in ("paused", "aborted", "tripped", "discarded", "released")
            for scenario in plain
            if hand != "tripped" or scenario is plain[0]
        ),
        *(partial(ramps.every_crash, scenario, 1, step=17) for scenario in WAVES if scenario not in plain),
        *(
            partial(ramps.every_command, plain[0], 1, command, starts=(4_800, 6_900))
            for command in ramps.COMMANDS
        ),
        *(
            partial(ramps.ramp_swarm, range(start, start + RAMP_CHUNK))
            for start in range(1, worlds, RAMP_CHUNK)
        ),
    ]


SWARMS: dict[str, Callable[[range], Tally]] = {"swarm": swarm, "ramp swarm": ramps.ramp_swarm}


def replay(name: str, seed: int, crash: str) -> int:
    """Run one scenario again, exactly as it went; let its violation show."""
    if name in SWARMS:
        for violation in SWARMS[name](range(seed, seed + 1)).violations:
            raise Violation(violation)
    strikes: Strikes = {}
    hand = None
    for part in crash.split(";"):
        if part and part != "-":
            process, point, kind = part.split(":")
            if kind in HANDS:
                hand = with_hand(HANDS[kind], int(point), process)
            strikes.setdefault(process, {})[int(point)] = Strike(kind, 700_000)
    for wave in WAVES:
        if name in (wave.name, f"{wave.name}, one before"):
            replace(wave, previous=name != wave.name).run(seed, strikes, prepare=hand)
    for scenario in ALL:
        if scenario.name == name:
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
