"""A ramp's waves: ticked by two, worked on by two, under each fault of the provider, and with hands that interfere."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from campaignbridge.bridge import Bridge
from campaignbridge.domain.ramp import Wave
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.leaving import unstoppable
from campaignbridge.flows.ramp_tick import run_now
from campaignbridge.sandbox import Fault
from campaignbridge.store.sql import Catalogue
from sim.machine import OPERATOR
from sim.ramp_invariants import SLUG
from sim.ramp_world import WHY, RampMachine, Stop, aim_at, attempt, runs, suppresses, waves_of, works
from sim.scenarios import LOST, Part, Strikes
from sim.schedule import Actor, Strike

TICKS = (Part("t1", runs), Part("t2", runs, at=3))
STEPPERS = (Part("w1", works, at=10), Part("w2", works, at=40))
ENOUGH = 700_000  # longer than a job's lease, and than a settle window


@dataclass(frozen=True, slots=True)
class RampScenario:
    """A world with a ramp to run, again and again, with strikes at every point of its processes."""

    name: str
    provider: str
    parts: tuple[Part, ...] = (*TICKS, *STEPPERS)
    struck: tuple[str, ...] = ("w1",)
    faults: tuple[Fault, ...] = ()
    previous: bool = False
    wanted: int = 1
    strict: bool = True

    def unguarded(self) -> "RampScenario":
        """Return it for a strike that no client can prevent: a request that leaves after its window."""
        return replace(self, strict=False)

    def run(
        self,
        seed: int,
        strikes: Strikes | None = None,
        *,
        statements: Catalogue | None = None,
        repeated_send: str = "accepted_again",
        unindexed: bool = False,
        prepare: Callable[[RampMachine], Strikes] | None = None,
    ) -> tuple[RampMachine, dict[str, Actor]]:
        """Run it once, until enough waves went or an operator gave up, and check everything."""
        machine = RampMachine(
            seed,
            statements=statements,
            repeated_send=repeated_send,
            strict=self.strict,
            provider=self.provider,
            previous=self.previous,
            unindexed=unindexed,
            wanted=self.wanted,
        )
        machine.faults(*self.faults)
        struck = prepare(machine) if prepare is not None else strikes or {}
        actors = {
            part.name: machine.spawn(part.name, part.work, strikes=struck.get(part.name), at=part.at)
            for part in self.parts
        }
        machine.run()
        machine.rest()
        return machine, actors


_FAULTY: dict[str, dict[str, tuple[str, ...]]] = {
    "mailchimp": {
        "segment": ("create_segment",),
        "upload": ("batch_members",),
        "push": ("change_segment_members",),
        "draft": ("create",),
        "content": ("content",),
        "send": ("send",),
    },
    "resend": {
        "segment": ("create_segment",),
        "upload": ("add_member",),
        "push": ("add_segment_member",),
        "draft": ("create",),
        "content": ("update",),
        "send": ("send",),
    },
}


def _faults_of(provider: str) -> list[tuple[str, tuple[Fault, ...]]]:
    found: list[tuple[str, tuple[Fault, ...]]] = [("plain", ())]
    for what, operations in _FAULTY[provider].items():
        for one in operations:
            found += [
                (f"{what} lost", (Fault(one, LOST),)),
                (f"{what} never applied", (Fault(one, "refuse_5xx", status=503),)),
                (f"{what} applied late", (Fault(one, "apply_late", ms=150_000, answer="withhold"),)),
            ]
    push = _FAULTY[provider]["push"][0]
    found += [
        ("second push lost", (Fault(push, LOST, after=1),)),
        ("push throttled", (Fault(push, "status_429", retry_after=20, times=2),)),
        ("send throttled", (Fault("send", "status_429", retry_after=7),)),
        ("members stale", (Fault("segment_members", "stale_read", ms=60_000, times=2),)),
        (
            "segments stale",
            (Fault("segments", "stale_read", ms=60_000, times=2), Fault("create_segment", LOST)),
        ),
        ("members failing", (Fault("segment_members", "refuse_5xx", status=500, times=3),)),
        (
            "all lost once",
            tuple(Fault(ops[0], LOST) for ops in _FAULTY[provider].values()),
        ),
    ]
    if provider == "mailchimp":  # Resend tells no number that a client could wait for
        found.append(("counts lag", (Fault(push, "count_lag", ms=45_000, times=None),)))
    return found


WAVES = [
    RampScenario(f"wave at {provider}, {label}", provider, faults=faults)
    for provider in ("mailchimp", "resend")
    for label, faults in _faults_of(provider)
]


# hands that interfere: each does its one thing at a single moment
def hand_of(act: Callable[[RampMachine, Bridge], object]) -> Callable[[RampMachine], Callable[[], object]]:
    """Return what somebody's hand does in a world; what is refused is noted."""
    return lambda machine: lambda: attempt(machine, lambda: act(machine, machine.puppet()))


def pauses(machine: RampMachine, bridge: Bridge) -> None:
    """Pause the ramp, and note what that said."""
    stopped = ramping.pause(bridge.wiring, SLUG, actor=OPERATOR, reason=WHY)
    machine.stops.append(Stop(machine.schedule.now, stopped.wave))


def aborts(machine: RampMachine, bridge: Bridge) -> None:
    """End the ramp, and note what that said."""
    stopped = ramping.abort(bridge.wiring, SLUG, actor=OPERATOR, reason=WHY)
    machine.stops.append(Stop(machine.schedule.now, stopped.wave))


def trips(machine: RampMachine, bridge: Bridge) -> None:
    """Have the figures of the wave before turn bad, and the ramp ticked."""
    machine.sandbox.world.behave(report_lag_ms=0)
    run_now(bridge.wiring, SLUG, actor=OPERATOR)
    with bridge.wiring.store.reading() as unit:
        stopped = unstoppable(unit, unit.ramps.get(SLUG))
    machine.stops.append(Stop(machine.schedule.now, stopped.wave))


def _opened(bridge: Bridge) -> Wave | None:
    return next((one for one in waves_of(bridge) if one.closed is None), None)


def releases(machine: RampMachine, bridge: Bridge) -> None:
    """Displace the run."""
    if (wave := _opened(bridge)) is not None:
        ramp_recovery.force_release(bridge.wiring, SLUG, aim_at(wave), actor=OPERATOR)


def releases_and_resumes(machine: RampMachine, bridge: Bridge) -> None:
    """Displace the run, and have another one go on at once."""
    releases(machine, bridge)
    resumes_wave(machine, bridge)


def resumes_wave(_machine: RampMachine, bridge: Bridge) -> None:
    """Have another run go on with the wave."""
    if (wave := _opened(bridge)) is not None:
        ramp_recovery.resume_wave(bridge.wiring, SLUG, aim_at(wave), actor=OPERATOR, accept_underfilled=True)


def discards(_machine: RampMachine, bridge: Bridge, *, back: bool = True) -> None:
    """Write the wave off."""
    if (wave := _opened(bridge)) is not None:
        ramp_recovery.discard(bridge.wiring, SLUG, aim_at(wave), actor=OPERATOR, return_contacts=back)


def clears(_machine: RampMachine, bridge: Bridge) -> None:
    """Begin the wave anew."""
    if (wave := _opened(bridge)) is not None:
        ramp_recovery.clear_failure(bridge.wiring, SLUG, aim_at(wave), actor=OPERATOR)


def finishes(_machine: RampMachine, bridge: Bridge) -> None:
    """Say that the wave went by other means."""
    if (wave := _opened(bridge)) is not None:
        ramp_recovery.finish_by_hand(
            bridge.wiring,
            SLUG,
            aim_at(wave),
            actor=OPERATOR,
            broadcast_id="0123456789",
            sent_at=wave.now,
            mailed=7,
        )


def suppresses_all(machine: RampMachine, bridge: Bridge) -> None:
    """Have a few people never mailed again."""
    for number in range(0, 20, 4):
        suppresses(machine, bridge, number)


def loses_jobs(machine: RampMachine, _bridge: Bridge) -> None:
    """Lose every job that nobody has claimed."""
    machine.memory.connection.execute("DELETE FROM jobs WHERE state = 'queued'")


def ticks_again(_machine: RampMachine, bridge: Bridge) -> None:
    """Have the ramp ticked once more."""
    run_now(bridge.wiring, SLUG, actor=OPERATOR)


Hand = Callable[[RampMachine, Bridge], object]
HANDS: dict[str, Hand] = {
    "paused": pauses,
    "aborted": aborts,
    "tripped": trips,
    "released": releases,
    "released and resumed": releases_and_resumes,
    "resumed": resumes_wave,
    "discarded": partial(discards, back=False),
    "discarded and returned": discards,
    "cleared": clears,
    "finished by hand": finishes,
    "suppressed": suppresses_all,
    "jobs lost": loses_jobs,
    "ticked again": ticks_again,
}


def with_hand(hand: Hand, at: int, name: str = "w1") -> Callable[[RampMachine], Strikes]:
    """Strike one process at one point with somebody else's hand."""
    return lambda machine: {name: {at: Strike("hand", hand=hand_of(hand)(machine))}}
