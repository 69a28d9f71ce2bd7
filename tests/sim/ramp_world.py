"""A world with a ramp: an audience of ours, approved content, small waves, and somebody who looks after them."""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from campaignbridge.bridge import Bridge
from campaignbridge.domain.audience import Suppressed
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.gate import Verdict
from campaignbridge.domain.ramp import Closed, Plan, Wave
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.aiming import Aim
from campaignbridge.flows.ramp_tick import run_now
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices, look_at
from campaignbridge.sandbox import Request
from campaignbridge.store.unit import Unit
from sim.invariants import BEFORE, Violation
from sim.machine import HOUR, HTML, KEY, MINUTE, OPERATOR, RESEND_HTML, START, Machine
from sim.ramp_invariants import SLUG, RampInvariants, check_ramp
from sim.schedule import Actor, Strike

CROWD = "crowd"
PEOPLE, TIERS, CHUNK = 20, (7, 9), 3
WHY = "because the simulation says so"
UNGUARDED_INDEXES = ("waves_one_open", "waves_one_per_tier", "waves_labels", "assignments_live")
IN_FLIGHT_MS = 16 * MINUTE  # workers of the chaos go home after so long: a lease ended long before
DAYS = 6


@dataclass(slots=True)
class Stop:
    """A pause, an abort or a trip, and the wave that it said it couldn't stop."""

    at_ms: int
    wave: str | None


@dataclass(slots=True)
class RampMachine(Machine):
    """One world with one ramp, set up and never ticked."""

    previous: bool = False  # a wave came before the ramp, whose figures turn bad when somebody says so
    unindexed: bool = False  # for mutants: without the indexes that carry a ramp's safety
    wanted: int = 1  # sent waves, until the run is over
    stops: list[Stop] = field(default_factory=list)
    told_gone: dict[str, int] = field(default_factory=dict)  # campaigns of waves recorded as gone by hand
    suppressed: dict[str, int] = field(default_factory=dict)
    ramps: RampInvariants = field(default_factory=RampInvariants)

    def __post_init__(self) -> None:
        Machine.__post_init__(self)
        self.push_chunk = CHUNK
        self.html = RESEND_HTML if self.on_resend else HTML
        if self.previous:
            mail_before(self)
        dump, now = _set_up(self.provider, self.seed, self.previous)
        self.memory.restore(dump)
        self.schedule.now = max(self.schedule.now, now)
        self.look_on()
        if self.unindexed:
            for name in UNGUARDED_INDEXES:
                self.memory.connection.execute(f"DROP INDEX {name}")

    def look_on(self) -> None:
        """Check a ramp's invariants after each commit from now on."""
        self.ramps = RampInvariants(self.sandbox)
        self.memory.after_commit.append(self.ramps.after_commit)

    def restored(self, data: bytes) -> None:
        Machine.restored(self, data)
        self.look_on()
        self.ramps.know(self.memory.connection)

    @property
    def crowd_list(self) -> str:
        """Return the list at the provider on which our people are."""
        return self.sandbox.team.list_id if self.on_resend else "a1b2c3"

    def resumed_after(self, since_ms: int, until_ms: int) -> bool:
        """Say whether somebody let the ramp go on between two moments."""
        return bool(
            self.rows(
                "SELECT 1 FROM ramp_log WHERE outcome IN ('resumed', 'wave_resumed')"
                f" AND at BETWEEN {since_ms} AND {until_ms}"
            )
        )

    # what is done at somebody else's point
    def puppet(self) -> Bridge:
        """Start a process that does what it does in no time: nobody runs meanwhile."""
        return self.bridge(Puppet("puppet", self.schedule))

    def unit(self, look: Callable[[Unit], object]) -> object:
        """Read the store as our own code does."""
        with self.puppet().wiring.store.reading() as unit:
            return look(unit)

    def wave_now(self) -> Wave | None:
        """Return the newest wave of ours."""
        waves = [one for one in waves_of(self.puppet()) if one.tier is not None]
        return waves[-1] if waves else None

    # the end
    def rest(self, *, strict: bool | None = None) -> None:
        """End all faults; one worker and one operator go on until enough waves were sent, or nobody can."""
        self.sandbox.faults.clear()
        self.spawn("calm", _looks_after)
        self.run()
        self.check(told=True)
        check_ramp(self, strict=self.strict if strict is None else strict)

    def enough(self, waves: list[Wave]) -> bool:
        """Say whether as many waves went as were wanted, and are known to have."""
        sent = [one for one in waves if one.closed is not None and one.closed is not Closed.DISCARDED]
        moving = self.rows("SELECT count(*) AS n FROM campaigns WHERE state IN ('sending', 'unknown')")
        return len([one for one in sent if one.tier is not None]) >= self.wanted and not moving[0]["n"]


@dataclass(slots=True)
class Puppet(Actor):
    """A process that takes no turn from anybody: all that it does happens at one moment."""

    def point(self, label: str, *, may_switch: bool = True) -> Strike | None:
        self.points.append(label)
        return None

    def sleep(self, ms: int) -> None:
        self.schedule.now += ms


def mail_before(machine: Machine) -> str:
    """Mail a wave in the provider's own pages; a fifth of it bounces, as its report will say one day."""
    world = machine.sandbox.world
    machine.sandbox.add_list(BEFORE, "Wave 0", 120)
    kept = world.behaviour.sending_ms
    world.behave(hard_bounces=200, sending_ms=0)
    settings = {"subject_line": "Hello", "title": "before", "from_name": "Dana"}
    made = as_owner(
        machine,
        "POST",
        "campaigns",
        {
            "type": "regular",
            "recipients": {"list_id": BEFORE},
            "settings": {**settings, "reply_to": "news@acme.example"},
        },
    )
    as_owner(machine, "PUT", f"campaigns/{made['id']}/content", {"html": HTML})
    as_owner(machine, "POST", f"campaigns/{made['id']}/actions/send", {})
    machine.sandbox.settle()
    world.behave(hard_bounces=0, sending_ms=kept, report_lag_ms=1000 * HOUR)
    return str(made["id"])


def as_owner(machine: Machine, method: str, path: str, body: Mapping[str, object]) -> dict[str, object]:
    """Do something in the provider's own pages; return its answer."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    answer, _ = machine.sandbox.handle(
        Request.parse(method, f"/3.0/{path}", headers, json.dumps(body).encode())
    )
    return json.loads(answer.body) if answer.body else {}


@lru_cache(maxsize=8)
def _set_up(provider: str, seed: int, previous: bool) -> tuple[bytes, int]:
    """Return the store of a world whose ramp was just set up, and its time."""
    machine = Machine(seed, provider=provider)
    machine.html = RESEND_HTML if machine.on_resend else HTML
    before = mail_before(machine) if previous else None
    machine.author(drafted=False)

    def author(world: Machine, bridge: Bridge) -> None:
        bridge.make_audience(CROWD, actor=OPERATOR)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "people.csv"
            file.write_text("email\n" + "".join(f"p{n}@example.com\n" for n in range(PEOPLE)), "utf-8")
            table = look_at(str(file), Choices())
            bridge.import_contacts(table, CROWD, rejects=RejectsFile(str(file)), actor=OPERATOR)
        new = ramping.NewRamp(
            slug=SLUG,
            connection="sim",
            audience=CROWD,
            content=world.campaign_id,
            plan=Plan(tiers=TIERS, prefix="wave", offset=1 if before else 0),
            list="" if world.on_resend else "a1b2c3",
            allow_small_tiers=True,
            previous_broadcast=before,
            previous_sent_at=START - 24 * HOUR if before else None,
        )
        ramping.init(bridge.wiring, new, actor=OPERATOR)
        if before:
            ramping.waive(bridge.wiring, SLUG, "wave-1", actor=OPERATOR, reason=WHY)

    machine.spawn("author", author)
    machine.run()
    return machine.memory.dump(), machine.schedule.now


def waves_of(bridge: Bridge) -> list[Wave]:
    """Return the ramp's waves, oldest first."""
    with bridge.wiring.store.reading() as unit:
        return unit.waves.of_ramp(unit.ramps.get(SLUG).id)


def aim_at(wave: Wave) -> Aim:
    """Return the aim of somebody who has just looked."""
    return Aim(label=wave.label, run_id=wave.run_id, reason=WHY)


# people and machines
def runs(machine: Machine, bridge: Bridge) -> None:
    """Have the ramp ticked, once."""
    attempt(machine, lambda: run_now(bridge.wiring, SLUG, actor=OPERATOR))


def works(machine: Machine, bridge: Bridge) -> None:
    """Work whenever a job is due, until everybody has gone home and nothing is due any more."""
    actor = machine.schedule.running
    until = machine.schedule.now + IN_FLIGHT_MS
    while machine.schedule.now < until:
        attempt(machine, bridge.tick)
        due = machine.next_job()
        if (due is None or due > until) and machine.only_workers_left():
            return
        wait_ms = MINUTE if due is None else due - machine.schedule.now
        actor.sleep(min(max(wait_ms, 700), 2 * MINUTE))


def attempt(machine: Machine, act: Callable[[], object]) -> bool:
    """Do something that may be refused; say whether it was done."""
    try:
        act()
    except Refusal as refusal:
        machine.refusals.append(refusal.code)
        return False
    return True


def suppresses(machine: Machine, bridge: Bridge, number: int) -> None:
    """Have somebody never mailed again."""
    assert isinstance(machine, RampMachine)
    address = f"p{number}@example.com"
    bridge.suppress([address], reason=Suppressed("complaint"), actor=OPERATOR)
    machine.suppressed.setdefault(address, machine.schedule.now)


def _looks_after(machine: Machine, bridge: Bridge) -> None:
    """Work, and do what the ramp asks an operator for, until enough waves went, or the days are over."""
    assert isinstance(machine, RampMachine)
    actor = machine.schedule.running
    until = machine.schedule.now + DAYS * 24 * HOUR
    operator = Operator(machine, bridge)
    while machine.schedule.now < until:
        bridge.tick()
        waves = waves_of(bridge)
        if machine.enough(waves):
            return
        operator.acts(waves)
        if operator.done:
            return
        due = machine.next_job()
        stuck = [one for one in waves if one.closed is None and one.now - one.activity_at > 3 * HOUR]
        if due is None and stuck and operator.idle:
            return
        wait_ms = 6 * MINUTE if due is None else due - machine.schedule.now
        actor.sleep(min(max(wait_ms, 1_000), HOUR))


@dataclass(slots=True)
class Operator:
    """Somebody who does what is recommended, and the next thing when that is refused; at last they give up."""

    machine: RampMachine
    bridge: Bridge
    tried: dict[str, int] = field(default_factory=dict)
    done: bool = False
    idle: bool = False  # nobody was asked for anything

    def acts(self, waves: list[Wave]) -> None:
        """Do one thing that the ramp waits for."""
        wiring = self.bridge.wiring
        with wiring.store.reading() as unit:
            ramp = unit.ramps.get(SLUG)
        facts = ramp.facts
        opened = next((one for one in waves if one.closed is None), None)
        if facts.ended is not None:
            self.done = opened is None or self._tries("ended") > 40
        elif facts.gate_tripped_at is not None:
            ramping.clear_gate(wiring, SLUG, actor=OPERATOR, reason=WHY)
        elif facts.needs_operator is not None:
            self._recovers(opened, facts.needs_operator)
        elif facts.paused_at is not None:
            ramping.resume(wiring, SLUG, actor=OPERATOR, reason=WHY)
        elif opened is None:
            self._goes_on(waves, ramp.now)
        self.idle = facts.active and opened is not None

    def _goes_on(self, waves: list[Wave], now: int) -> None:
        went = [one for one in waves if one.sent_at is not None]
        for one in went:
            if one.verdict in (None, Verdict.WAITING):
                ramping.waive(self.bridge.wiring, SLUG, one.label, actor=OPERATOR, reason=WHY)
        if not went or now - max(one.sent_at or 0 for one in went) > 18 * HOUR:
            attempt(self.machine, lambda: run_now(self.bridge.wiring, SLUG, actor=OPERATOR))

    def _recovers(self, opened: Wave | None, reason: str) -> None:
        wiring = self.bridge.wiring
        if opened is None:
            if self._tries(f"nothing open, {reason}") > 3:
                raise Violation(f"I8: the ramp needs an operator ({reason}), and no command helps")
            return
        aim, by = aim_at(opened), OPERATOR
        ways: list[Callable[[], object]] = [
            lambda: ramp_recovery.resume_wave(wiring, SLUG, aim, actor=by, accept_underfilled=True),
            lambda: ramp_recovery.clear_failure(wiring, SLUG, aim, actor=by),
            lambda: ramp_recovery.discard(wiring, SLUG, aim, actor=by, return_contacts=False),
        ]
        tries = self._tries(f"recover {opened.id}")
        if tries > 60:
            raise Violation(
                f"I8: {opened.label} ({opened.step.value}, {opened.failed}) has no way out: {reason}"
            )
        for way in ways[0 if tries <= 4 else 2 :]:
            if attempt(self.machine, way):
                return
            if self.machine.refusals[-1] in ("in_progress", "locked", "unconfirmed"):
                return

    def _tries(self, what: str) -> int:
        self.tried[what] = self.tried.get(what, 0) + 1
        return self.tried[what]
