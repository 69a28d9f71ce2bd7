"""Who runs when: actors are greenlets in one thread, and they switch only at named points."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from greenlet import getcurrent, greenlet

FOREVER = 1 << 62


class Crash(BaseException):
    """The process ends here. Not an Exception: nobody may catch it and go on."""


@dataclass(frozen=True, slots=True)
class Strike:
    """What befalls an actor at one of its points, named by number or by label (then the first such one).

    `crash` ends it. `freeze` stops it for `ms` while everybody else goes on; `stop` does so with its clocks.
    `step` sets its host's wall clock. `lost` makes a COMMIT's answer get lost, `gone` makes the store
    unreachable; both only at points of the store. `hand` is somebody else's hand at the provider, just then.
    """

    kind: str
    ms: int = 0
    hand: Callable[[], object] | None = None
    hand_in: Callable[[Any], object] | None = None  # the same, told the world that it reaches into


@dataclass(slots=True)
class Actor:
    """One process on one host."""

    name: str
    schedule: "Schedule"
    strikes: dict[int | str, Strike] = field(default_factory=dict)
    skew_ms: int = 0  # of its host's wall clock
    stopped_ms: int = (
        0  # how long its host's clocks stood still, as in a machine that was paused from outside
    )
    identity: str = ""  # of its process, new on every start
    points: list[str] = field(default_factory=list)
    wakes_at: int = 0
    dead: bool = False
    ended: bool = False
    error: BaseException | None = None
    flow: greenlet | None = None

    def alive(self) -> None:
        """End here if the process is dead: its `finally` blocks can neither write nor call."""
        if self.dead:
            raise Crash

    def point(self, label: str, *, may_switch: bool = True) -> Strike | None:
        """Stand at a named point: perhaps be struck, perhaps let somebody else run."""
        self.alive()
        strike = self.strikes.get(len(self.points)) or self.strikes.pop(label, None)
        self.points.append(label)
        if strike is not None and (strike.hand is not None or strike.hand_in is not None):
            try:
                if strike.hand is not None:
                    strike.hand()
                if strike.hand_in is not None:
                    strike.hand_in(self.schedule.world)
            except Exception as error:  # noqa: BLE001  a hand's own mistake is no answer of the provider's
                self.schedule.fail(error)
        if strike is not None and strike.kind == "step":
            self.skew_ms += strike.ms
        if strike is not None and strike.kind == "crash":
            self.dead = True
            raise Crash
        if strike is not None and strike.kind in ("freeze", "stop"):
            if strike.kind == "stop":
                self.stopped_ms += strike.ms
            if may_switch:
                self.sleep(strike.ms)
            else:
                self.schedule.now += strike.ms  # it holds the write lock: everybody else waits for it
        elif may_switch:
            self.schedule.switch(self)
        return strike

    def sleep(self, ms: int) -> None:
        """Let virtual time pass for this actor."""
        self.wakes_at = self.schedule.now + ms
        self.schedule.switch(self)
        self.alive()


class Schedule:
    """A seeded scheduler and the virtual time of the world, in milliseconds."""

    def __init__(self, seed: int, *, now: int) -> None:
        self.random = random.Random(seed)
        self.now = now
        self.actors: list[Actor] = []
        self.running: Actor = Actor("nobody", self)
        self.failed: BaseException | None = None
        self.world: Any = None  # whose schedule this is
        self._home = getcurrent()

    def spawn(
        self,
        name: str,
        work: Callable[[Actor], None],
        *,
        strikes: dict[int | str, Strike] | None = None,
        at: int = 0,
        skew_ms: int = 0,
    ) -> Actor:
        """Add an actor that starts at `at` milliseconds from now."""
        actor = Actor(name, self, dict(strikes or {}), skew_ms, wakes_at=self.now + at)
        self.actors.append(actor)

        def body() -> None:
            try:
                actor.alive()
                work(actor)
            except Crash:
                actor.dead = True
            except BaseException as error:  # noqa: BLE001  handed to whoever started the run
                actor.error = error
                for other in self.actors:  # the run has failed: nobody goes on
                    other.dead = True
                    other.wakes_at = self.now
            actor.ended = True

        actor.flow = greenlet(body, parent=self._home)
        return actor

    def run(self) -> None:
        """Run until every actor has ended; raise the first error that one of them left."""
        while (actor := self._choose()) is not None:
            self.running = actor
            assert actor.flow is not None
            actor.flow.switch()
        if self.failed is not None:
            raise self.failed
        for actor in self.actors:
            if actor.error is not None:
                raise actor.error

    def fail(self, error: BaseException) -> None:
        """End the run here: nobody goes on, and no handler may take the error for one of its own."""
        self.failed = self.failed or error
        for actor in self.actors:
            actor.dead = True
            actor.wakes_at = self.now
        raise Crash

    def switch(self, actor: Actor) -> None:
        """Let the scheduler say who runs next; return when it is this actor."""
        assert actor.flow is getcurrent(), "an actor gives way itself"
        self._home.switch()

    def _choose(self) -> Actor | None:
        waiting = [actor for actor in self.actors if not actor.ended]
        if not waiting:
            return None
        ready = [actor for actor in waiting if actor.wakes_at <= self.now]
        if not ready:
            self.now = min(actor.wakes_at for actor in waiting)
            ready = [actor for actor in waiting if actor.wakes_at <= self.now]
        return ready[0] if len(ready) == 1 else self.random.choice(ready)
