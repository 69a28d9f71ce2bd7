"""Exploring: a strike at every point, all pairs of crashes, every earlier state of the store, a swarm."""

import random
from collections.abc import Iterator
from functools import partial

from campaignbridge.bridge import Bridge
from campaignbridge.flows.sweep import EVERY_S
from campaignbridge.sandbox import Fault
from campaignbridge.store.sql import Catalogue
from sim.invariants import Violation
from sim.machine import MINUTE, OPERATOR, Machine
from sim.people import (
    cancels,
    does_all,
    reconciles,
    schedules_all,
    sends,
    sends_once,
    ticks,
    unschedules,
)
from sim.scenarios import ALL, WORKERS, Part, Scenario, Strikes, Tally
from sim.schedule import Strike

CRASH = Strike("crash")
LAST = ("net.before POST send", "net.before POST campaigns")  # between the last check and the write
LOSS_MS = 2 * 1000 * EVERY_S + 2 * MINUTE  # until the sweep has found what lost its job
LONG = 700_000  # longer than a lease, and than a settle window


def run(
    tally: Tally,
    scenario: Scenario,
    seed: int,
    strikes: Strikes,
    *,
    locks: bool = True,
    repeated_send: str = "accepted_again",
) -> dict[str, list[str]]:
    """Run once and note a violation; return the points that each process stood at."""
    tally.runs += 1
    try:
        _, actors = scenario.run(seed, strikes, locks=locks, repeated_send=repeated_send)
    except Violation as violation:
        where = ";".join(
            f"{name}:{at}:{strike.kind}" for name, ats in strikes.items() for at, strike in ats.items()
        )
        tally.violations.append(f"{scenario.name} SIM_SEED={seed} SIM_CRASH={where or '-'}: {violation}")
        return {}
    return {name: actor.points for name, actor in actors.items()}


def every_crash(scenario: Scenario, seed: int, *, locks: bool = True) -> Tally:
    """Crash each struck process at each of its points."""
    tally = Tally()
    base = run(tally, scenario, seed, {}, locks=locks)
    for name in scenario.struck:
        for at in range(len(base.get(name, []))):
            run(tally, scenario, seed, {name: {at: CRASH}}, locks=locks)
            tally.crash_points += 1
    return tally


def every_strike(scenario: Scenario, seed: int) -> Tally:
    """At each point: a freeze longer than lease and window, a store that is gone, a COMMIT's answer lost."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    for name in scenario.struck:
        for at, label in enumerate(base.get(name, [])):
            kinds = [Strike("freeze", LONG)]
            if label.startswith("tx."):
                kinds += [Strike("gone"), Strike("lost")]
            for strike in kinds:
                # A freeze between the last check and the write is what no client can prevent: there the
                # provider's own refusal of a second send is relied on. Everywhere else it isn't.
                last = strike.kind == "freeze" and label in LAST
                run(
                    tally,
                    scenario.unguarded() if last else scenario,
                    seed,
                    {name: {at: strike}},
                    repeated_send="refused" if last else "accepted_again",
                )
                tally.strikes += 1
    return tally


def every_loss(scenario: Scenario, seed: int, *, step: int = 1) -> Tally:
    """Every job that nobody has claimed is lost at each point of a process: the sweep finds what has none."""
    tally = Tally()
    base = run(tally, scenario, seed, {})
    for name in scenario.struck:
        points = base.get(name, [])
        for at in range(seed % step, len(points), step):
            if points[at] != "tx.commit":  # nobody else writes while a transaction is open
                run(tally, scenario, seed, {name: {at: Strike("hand", hand_in=_lose_jobs)}})
                tally.strikes += 1
    return tally


def _lose_jobs(machine: Machine) -> None:
    machine.invariants.sweeping_until = machine.schedule.now + LOSS_MS
    machine.memory.connection.execute("DELETE FROM jobs WHERE state = 'queued'")


def every_pair(scenario: Scenario, seed: int, *, second: str, most: int = 1_000) -> Tally:
    """Crash the first struck process at each point, and another one at each of its own, up to `most`.

    A worker's later points are idle ticks: the first ones hold all that it does for a campaign.
    """
    tally = Tally()
    first = scenario.struck[0]
    base = run(tally, scenario, seed, {})
    for at in range(len(base.get(first, []))):
        points = run(tally, scenario, seed, {first: {at: CRASH}})
        for then in range(min(most, len(points.get(second, [])))):
            run(tally, scenario, seed, {first: {at: CRASH}, second: {then: CRASH}})
            tally.pairs += 1
    return tally


def late_application(seed: int, *, step_ms: int = 5_000) -> Tally:
    """A send or create that takes effect at each moment of the settle window."""
    tally = Tally()
    for scenario in ALL:
        if not scenario.name.endswith("applied late") or scenario.before:
            continue
        operation = scenario.faults[0].operation
        for ms in range(0, 300_000, step_ms):
            late = Scenario(
                f"{scenario.name} by {ms} ms",
                scenario.parts,
                scenario.struck,
                scenario.drafted,
                faults=(Fault(operation, "apply_late", ms=ms, answer="withhold"),),
            )
            run(tally, late, seed, {})
            tally.strikes += 1
    return tally


def every_second_late(seed: int, *, seconds: int = 325) -> Tally:
    """A send that takes effect at each second until its window ends, and then nothing but ticks."""
    tally = Tally()
    for second in range(seconds):
        late = Scenario(
            f"applied after {second} s, then ticks alone",
            (Part("a", sends_once), *WORKERS),
            ("a",),
            faults=(Fault("send", "apply_late", ms=1000 * second, answer="withhold"),),
        )
        run(tally, late, seed, {})
        tally.strikes += 1
    return tally


def every_restore(seed: int) -> Tally:
    """Put the store back to each of its commits after everything was done, and let people go on."""
    tally = Tally()
    machine = Machine(seed)
    dumps: list[bytes] = []
    machine.author(drafted=False)
    machine.memory.after_commit.append(lambda *_: dumps.append(machine.memory.dump()))
    dumps.append(machine.memory.dump())
    machine.spawn("first", does_all)
    machine.run()
    for number in range(len(dumps)):
        tally.runs += 1
        tally.restores += 1
        try:
            _go_on_from(dumps, number, seed)
        except Violation as violation:
            tally.violations.append(f"restore to commit {number} SIM_SEED={seed}: {violation}")
    return tally


def _go_on_from(dumps: list[bytes], number: int, seed: int) -> None:
    machine = Machine(seed)
    machine.author(drafted=False)
    machine.spawn("first", does_all)
    machine.run()
    machine.restored(dumps[number])
    machine.chance.random.seed(seed + 1000 + number)
    machine.spawn("a", does_all)
    machine.spawn("w1", ticks)
    machine.run()
    machine.calm()
    created = len(machine.sandbox.truth.events("created"))
    if created > 1 or machine.sends_asked() > 1:
        raise Violation(f"I1: {created} drafts and {machine.sends_asked()} sends of one campaign")


def author_twin(machine: Machine) -> str:
    """Author a second campaign with the same content, up to its draft; return its id."""
    made: list[str] = []

    def author(world: Machine, bridge: Bridge) -> None:
        made.append(world.new_campaign(bridge))
        bridge.hand_off(made[0], actor=OPERATOR, key="twin")

    machine.spawn("author", author)
    machine.run()
    return made[0]


def twins(seed: int, *, statements: Catalogue | None = None) -> Tally:
    """Two campaigns with the same content for the same audience are sent at the same time: one may go."""
    tally = Tally(runs=1)
    machine = Machine(seed, statements=statements)
    machine.author(drafted=True)
    first = machine.campaign_id
    second = author_twin(machine)
    machine.spawn("a", partial(sends, campaign_id=first))
    machine.spawn("b", partial(sends, campaign_id=second))
    machine.spawn("w1", ticks)
    try:
        machine.run()
        machine.calm()
        mailed = len(machine.sandbox.truth.events("mailed"))
        if mailed != 1:
            raise Violation(f"I1: the same content went {mailed} times to the same audience")
    except Violation as violation:
        tally.violations.append(f"twins SIM_SEED={seed}: {violation}")
    return tally


def swarm(seeds: range) -> Tally:
    """Random worlds: several people, several workers, random strikes, random faults of the provider."""
    tally = Tally()
    for seed in seeds:
        tally.runs += 1
        tally.swarm += 1
        try:
            _one_of_the_swarm(seed)
        except Violation as violation:
            tally.violations.append(f"swarm SIM_SEED={seed}: {violation}")
    return tally


def _one_of_the_swarm(seed: int) -> None:
    chance = random.Random(seed)
    frozen, handled = chance.random() < 0.3, chance.random() < 0.2
    machine = Machine(
        seed,
        # What no client can prevent, a provider's refusal of a second send has to.
        repeated_send="refused" if frozen or handled else "accepted_again",
        sending_ms=chance.choice([500, 60_000, 2_000_000]),
        strict=not (frozen or handled),
    )
    machine.author(drafted=chance.random() < 0.5)
    targets = [machine.campaign_id]
    if chance.random() < 0.3:
        targets.append(author_twin(machine))
    machine.faults(*_random_faults(chance))
    for number in range(chance.randint(1, 3)):
        target = chance.choice(targets)
        machine.spawn(
            f"person{number}",
            chance.choice(
                [
                    *[partial(does_all, campaign_id=target)] * 4,
                    reconciles,
                    schedules_all,
                    unschedules,
                    cancels,
                ]
            ),
            strikes=dict(_random_strikes(chance, 80, frozen=frozen)),
            at=chance.randrange(0, 20_000),
        )
    for number in range(chance.randint(1, 2)):
        machine.spawn(
            f"worker{number}",
            ticks,
            strikes=dict(_random_strikes(chance, 200, frozen=frozen)),
            at=chance.randrange(0, 20_000),
            skew_ms=chance.choice([0, 0, -400_000, 400_000]),
        )
    if handled:
        machine.spawn("hand", partial(_a_hand_at_the_provider, chance=chance))
    if chance.random() < 0.15:
        machine.spawn("sky", _an_outage, at=chance.randrange(0, 400_000))
    machine.run()
    machine.calm(told=handled or frozen)
    _check_world(machine, targets, frozen=frozen, handled=handled)


def _check_world(machine: Machine, targets: list[str], *, frozen: bool, handled: bool) -> None:
    truth = machine.sandbox.truth
    mailed = truth.events("mailed")
    flagged = any(
        str(row["flag"]).startswith("possible_double") for row in machine.rows("SELECT flag FROM campaigns")
    )
    # What somebody sends by hand from a draft that nobody asked about isn't seen from here.
    if len(mailed) > 1 and not handled and not (flagged and frozen):
        raise Violation(f"I1: one content was mailed {len(mailed)} times")
    created = len(truth.events("created"))
    if created > len(targets) and not frozen:
        raise Violation(f"I1: {created} drafts were created for {len(targets)} campaigns")


def _a_hand_at_the_provider(machine: Machine, _bridge: Bridge, *, chance: random.Random) -> None:
    """Somebody sends or deletes one of our drafts in the provider's own pages, at a moment of their own."""
    machine.schedule.running.sleep(chance.randrange(500, 500_000))
    known = machine.rows("SELECT remote_id FROM remote_campaigns WHERE remote_id IS NOT NULL")
    if not known:
        return
    remote_id = chance.choice(known)["remote_id"]
    if chance.random() < 0.6:
        machine.by_hand("POST", f"campaigns/{remote_id}/actions/send")
    else:
        machine.by_hand("DELETE", f"campaigns/{remote_id}")


def _an_outage(machine: Machine, _bridge: Bridge) -> None:
    """The provider answers with errors for an hour and a half."""
    machine.faults(Fault("*", "refuse_5xx", status=503, times=None))
    machine.schedule.running.sleep(90 * MINUTE)
    machine.sandbox.faults.clear()


def _random_faults(chance: random.Random) -> Iterator[Fault]:
    for operation in ("create", "content", "update", "inspect", "list_campaigns", "account", "send"):
        if chance.random() < 0.4:
            yield chance.choice(
                [
                    Fault(operation, "drop_before"),
                    Fault(operation, "accept_then_drop"),
                    Fault(operation, "accept_then_withhold"),
                    Fault(operation, "refuse_5xx", status=503),
                    Fault(operation, "accept_then_5xx", status=504),
                    Fault(operation, "status_429", retry_after=3),
                    Fault(operation, "status_429", bare=True),
                    Fault(operation, "proxy_page", status=502),
                    Fault(operation, "garbled", applied=True),
                    Fault(operation, "truncated"),
                    Fault(operation, "slow", ms=3_000),
                    Fault(operation, "hang"),
                    *_delays(operation, chance),
                ]
            )


def _delays(operation: str, chance: random.Random) -> list[Fault]:
    if operation in ("create", "send"):
        return [Fault(operation, "apply_late", ms=chance.randrange(1000, 299_000), answer="withhold")]
    if operation == "inspect":
        stale = Fault(operation, "stale_read", ms=chance.randrange(1000, 60_000))
        return [stale, Fault(operation, "sent_zero"), Fault("create", "count_lag", ms=45_000)]
    return []


def _random_strikes(chance: random.Random, points: int, *, frozen: bool) -> Iterator[tuple[int, Strike]]:
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        kinds = [CRASH, Strike("lost"), Strike("gone"), Strike("step", chance.choice([-400_000, 400_000]))]
        if frozen:
            ms = chance.choice([4_000, 40_000, 310_000, LONG])
            kinds += [Strike("freeze", ms), Strike("stop", ms)]
        yield chance.randrange(points), chance.choice(kinds)
