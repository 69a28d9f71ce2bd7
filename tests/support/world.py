"""One world for tests of flows: a real store, a sandbox behind real HTTP, the real adapter, time that is moved.

A test module asks for the fixture with `pytest_plugins = ["support.stores", "support.world"]`. Only the clocks
are moved and only the provider is a fake, by the network. PYTEST_DONT_REWRITE: test modules import this before
pytest sees it as a plugin.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import pytest

from campaignbridge.bootstrap import assemble, provider_opener
from campaignbridge.bridge import Bridge
from campaignbridge.domain.actor import RIGHTS, Actor, with_all_rights
from campaignbridge.domain.errors import Refusal, StoreGone
from campaignbridge.domain.lock import campaign_key
from campaignbridge.flows.authoring import NewCampaign
from campaignbridge.flows.delivery import Confirmation
from campaignbridge.flows.holding import nothing_else, working_on
from campaignbridge.host import HostChance, HostClock, process_identity
from campaignbridge.providers.registry import open_provider
from campaignbridge.sandbox import Fault, Request, Sandbox, SandboxServer
from campaignbridge.settings import Settings
from campaignbridge.store.unit import Store
from support.stores import PATIENCE_S, Counting, Home, MovedClock

KEY = "0123456789abcdef0123456789abcdef-us1"
KEY_ENV = "SANDBOX_KEY"
AUDIENCE, PEOPLE, BOUND = "a1b2c3", 24_318, 30_000
HTML = "<h1>News</h1><p>Read it.</p><p><a href='*|UNSUB|*'>Unsubscribe</a></p>"
DANA = with_all_rights("cli:dana")
ERIN = Actor("cli:erin", RIGHTS - {"admin"})
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
SENDING_MS = 60_000  # how long the sandbox takes to mail everybody

DRAFT = [
    "GET list_campaigns",
    "GET account",
    "POST create",
    "GET inspect",
    "PATCH update",
    "PUT content",
]
GUARD = ["GET inspect", "PATCH update", "PUT content", "GET inspect"]
SEND = [*GUARD, "POST send"]
READS = {"dial", "inspect", "find_by_token", "verify", "audience"}


@contextmanager
def refused(code: str) -> Iterator[pytest.ExceptionInfo]:
    """Expect a refusal with this code."""
    with pytest.raises(Refusal) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code}: {caught.value.what}"


class Witness:
    """The real adapter; what is asked of it is written down, and something may happen just before or after."""

    def __init__(self, provider, world: "World") -> None:
        self._provider = provider
        self._world = world

    def __getattr__(self, name: str):
        value = getattr(self._provider, name)
        if not callable(value):
            return value

        def call(*args, **facts):
            self._world.calls.append(name)
            happening = self._world.due(name)
            if happening and happening.before:
                happening.what()
            answer = value(*args, **facts)
            if happening and not happening.before:
                happening.what()
            return answer

        return call


@dataclass
class Happening:
    """What befalls the world around a call."""

    name: str
    skip: int
    what: Callable[[], object]
    before: bool = True


class Costs(Counting):
    """Counts transactions beside statements."""

    def __init__(self, database) -> None:
        super().__init__(database)
        self.transactions = 0

    @contextmanager
    def transaction(self, *, write=True):
        self.transactions += 1
        with super().transaction(write=write) as tx:
            yield tx


class Broken:
    """A database that refuses everything while it is down."""

    def __init__(self, database) -> None:
        self.database = database
        self.down = False

    @contextmanager
    def transaction(self, *, write=True):
        if self.down:
            raise StoreGone("The store is down.")
        with self.database.transaction(write=write) as tx:
            yield tx

    def close(self) -> None:
        self.database.close()


@dataclass
class World:
    """One installation and one provider."""

    home: Home
    sandbox: Sandbox
    server: SandboxServer
    clock: MovedClock = field(default_factory=MovedClock)
    calls: list[str] = field(default_factory=list)  # methods of providers, in order
    _happenings: list[Happening] = field(default_factory=list)
    _by_hand: set[int] = field(default_factory=set)
    _heard: int = 0
    _starts: int = 0
    _bridge: Bridge | None = None

    # processes

    def process(self, *, store: Store | None = None, separated: bool = False) -> Bridge:
        """Start a process: its own handle on the store, and an identity that no other start has."""
        self._starts += 1

        opener = provider_opener(Settings(), self.clock)
        return assemble(
            store or self.home.store(),
            lambda connection: Witness(opener(connection), self),
            self.clock,
            HostChance(),
            f"host:{self._starts}:aaaa",
            separated,
        )

    @property
    def key(self) -> str:
        """What the environment variable of the connection holds."""
        return os.environ.get(KEY_ENV, "")

    @key.setter
    def key(self, value: str) -> None:
        os.environ[KEY_ENV] = value

    @property
    def bridge(self) -> Bridge:
        if self._bridge is None:
            self._bridge = self.process()
        return self._bridge

    @contextmanager
    def held(self, campaign_id: str, operation: str = "send") -> Iterator[None]:
        """Let another worker hold the campaign's lock."""
        other = self.process()
        with working_on(other.wiring, campaign_id, operation, actor="cli:other", also=nothing_else):
            yield

    def abandon(self, campaign_id: str, operation: str = "send") -> None:
        """Leave the campaign's lock behind, as a worker does that dies."""
        dead = self.process().wiring
        with dead.store.unit() as unit:
            unit.locks.acquire(
                campaign_key(campaign_id), holder=dead.holder, operation=operation, actor="cli:other"
            )

    # time

    def later(self, *, ms: int = 0, seconds: float = 0, minutes: float = 0, hours: float = 0) -> None:
        """Let time pass for the store, this host and the provider."""
        ms += int(seconds * 1000 + minutes * MINUTE_MS + hours * HOUR_MS)
        self.home.pass_ms(ms)
        self.clock.pass_ms(ms)
        self.sandbox.settle()

    def now(self) -> int:
        with self.bridge.wiring.store.unit() as unit:
            return unit.now_ms()

    def next_due(self) -> int | None:
        """Return when the next unfinished job is due."""
        (row,) = self.home.rows(
            "SELECT min(coalesce(lease_until, run_at)) AS due FROM jobs WHERE state IN ('queued', 'claimed')"
        )
        return row["due"]

    def run(self, *, hours: float = 30, bridge: Bridge | None = None) -> int:
        """Tick whenever something is due, until nothing is within that time; return how often it was."""
        until = self.now() + int(hours * HOUR_MS)
        for ticks in range(300):
            due = self.next_due()
            if due is None or due > until:
                return ticks
            self.step(due, bridge)
        raise AssertionError("it never comes to rest")

    def step(self, due: int | None = None, bridge: Bridge | None = None) -> None:
        """Go to the moment when the next job is due, and tick once."""
        due = self.next_due() if due is None else due
        assert due is not None, "nothing is due, ever"
        self.later(ms=max(0, due - self.now()) + 1)
        (bridge or self.bridge).tick()

    def look(self) -> None:
        """Step until the provider was asked something."""
        before = len(self.calls)
        while len(self.calls) == before:
            self.step()

    # campaigns

    def create(self, **changes) -> str:
        facts = {
            "name": "November letter",
            "connection": "news",
            "audience": AUDIENCE,
            "subject": "What we shipped",
            "from_name": "Dana",
            "from_email": "news@acme.example",
            "content": HTML.encode(),
            **changes,
        }
        return self.bridge.create(NewCampaign(**facts), actor=DANA).campaign.id

    def approved(self, *, bound: int = BOUND, **changes) -> str:
        campaign_id = self.create(**changes)
        _, checked = self.bridge.submit(campaign_id, actor=DANA)
        self.bridge.approve(campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=bound)
        return campaign_id

    def drafted(self, **changes) -> str:
        campaign_id = self.approved(**changes)
        self.draft(campaign_id)
        self.heard()
        return campaign_id

    def sending(self, **changes) -> str:
        """Return a campaign whose send was accepted."""
        campaign_id = self.drafted(**changes)
        self.send(campaign_id)
        self.heard()
        return campaign_id

    def doubted(self, kind: str = "accept_then_drop", **changes) -> str:
        """Return a campaign whose send had no usable answer."""
        campaign_id = self.drafted(**changes)
        self.fault("send", kind)
        with refused("reconciliation_required"):
            self.send(campaign_id)
        self.heard()
        return campaign_id

    def draft(self, campaign_id: str, key: str = "d1", *, bridge=None, version=None, actor=DANA):
        return (bridge or self.bridge).hand_off(campaign_id, actor=actor, key=key, expected_version=version)

    def send(
        self,
        campaign_id: str,
        key: str = "s1",
        *,
        recipients: int = PEOPLE,
        audience: str = AUDIENCE,
        actor: Actor = DANA,
        bridge: Bridge | None = None,
        version: int | None = None,
    ):
        return (bridge or self.bridge).send(
            campaign_id,
            actor=actor,
            key=key,
            confirmed=Confirmation(recipients=recipients, audience=audience),
            expected_version=version,
        )

    def slot(self, *, in_minutes: float = 60) -> int:
        """Return the next moment on the provider's grid that is at least so far ahead."""
        quarter = 15 * MINUTE_MS
        return -(-(self.now() + int(in_minutes * MINUTE_MS)) // quarter) * quarter

    def schedule(
        self,
        campaign_id: str,
        key: str = "p1",
        *,
        at_ms: int | None = None,
        recipients: int = PEOPLE,
        audience: str = AUDIENCE,
        actor: Actor = DANA,
        bridge: Bridge | None = None,
        version: int | None = None,
    ):
        return (bridge or self.bridge).schedule(
            campaign_id,
            actor=actor,
            key=key,
            confirmed=Confirmation(recipients=recipients, audience=audience),
            at_ms=self.slot() if at_ms is None else at_ms,
            expected_version=version,
        )

    def unschedule(self, campaign_id: str, key: str = "u1", *, actor=DANA, bridge=None, version=None):
        return (bridge or self.bridge).unschedule(campaign_id, actor=actor, key=key, expected_version=version)

    def cancel(self, campaign_id: str, key: str = "c1", *, actor=DANA, bridge=None, version=None):
        return (bridge or self.bridge).cancel(campaign_id, actor=actor, key=key, expected_version=version)

    def test(self, campaign_id: str, key: str = "t1", *addresses: str, actor=DANA, bridge=None):
        return (bridge or self.bridge).send_test(
            campaign_id, actor=actor, key=key, addresses=addresses or ("ann@acme.example",)
        )

    def scheduled(self, *, in_minutes: float = 60, **changes) -> str:
        """Return a campaign whose schedule was accepted."""
        campaign_id = self.drafted(**changes)
        self.schedule(campaign_id, at_ms=self.slot(in_minutes=in_minutes))
        self.heard()
        return campaign_id

    def reconcile(self, campaign_id: str, bridge: Bridge | None = None):
        return (bridge or self.bridge).reconcile(campaign_id, actor=DANA)

    # what is known

    def dossier(self, campaign_id: str):
        return self.bridge.show(campaign_id, actor=DANA).dossier

    def campaign(self, campaign_id: str):
        return self.dossier(campaign_id).campaign

    def state(self, campaign_id: str) -> str:
        return self.campaign(campaign_id).state.value

    def remote(self, campaign_id: str):
        return self.dossier(campaign_id).remote

    def remote_id(self, campaign_id: str) -> str:
        return self.remote(campaign_id).remote_id

    def attempts(self, campaign_id: str, operation: str = "send") -> list:
        view = self.bridge.show(campaign_id, actor=DANA)
        return [one for one in view.attempts if one.operation.value == operation]

    def statuses(self, campaign_id: str, operation: str = "send") -> list[str]:
        return [one.status.value for one in self.attempts(campaign_id, operation)]

    def actions(self, campaign_id: str) -> list[str]:
        view = self.bridge.show(campaign_id, actor=DANA)
        return [one.name for one in view.actions if one.allowed]

    def events(self, campaign_id: str, kind: str = "") -> list:
        rows = self.bridge.timeline(campaign_id, actor=DANA)
        return [row for row in rows if kind in ("", row["kind"])]

    def jobs(self) -> list[dict]:
        """Return every job but the sweep's."""
        return self.home.rows("SELECT * FROM jobs WHERE type <> 'sweep' ORDER BY id")

    def ledger(self, campaign_id: str) -> tuple:
        """Return what a refusal must leave as it is."""
        campaign = self.campaign(campaign_id)
        return campaign.state, campaign.version, campaign.open_attempt, self.attempts(campaign_id)

    # the provider

    def fault(self, operation: str, kind: str, **facts) -> None:
        self.sandbox.faults.add(Fault(operation, kind, **facts))

    def heard(self) -> list[str]:
        """Return the requests that the provider got from us since this was last asked."""
        seen = self.sandbox.truth.requests()
        new, self._heard = seen[self._heard :], len(seen)
        return [f"{one.method} {one.operation}" for one in new if id(one) not in self._by_hand]

    def by_hand(self, method: str, path: str, body: dict | None = None) -> dict:
        """Do something at the provider as a person who is logged in there."""
        request = Request(
            method,
            f"/3.0{path}",
            headers={"authorization": f"Bearer {KEY}"},
            body=json.dumps(body or {}).encode(),
        )
        answer, _ = self.sandbox.handle(request)
        self._by_hand.add(id(self.sandbox.truth.requests()[-1]))
        assert answer.status in (200, 204), answer.body
        return json.loads(answer.body or b"{}")

    def send_by_hand(self, campaign_id: str) -> None:
        self.by_hand("POST", f"/campaigns/{self.remote_id(campaign_id)}/actions/send")

    def schedule_by_hand(self, campaign_id: str, *, in_minutes: int = 60) -> int:
        """Schedule a draft at the provider; return the moment."""
        quarter = 15 * MINUTE_MS
        at_ms = -(-(self.now() + in_minutes * MINUTE_MS) // quarter) * quarter
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(at_ms // 1000))
        place = f"/campaigns/{self.remote_id(campaign_id)}/actions/schedule"
        self.by_hand("POST", place, {"schedule_time": stamp})
        return at_ms

    def rewrite(self, remote_id: str, **changes) -> None:
        """Make the provider tell something else of a campaign from now on."""
        provider = self.sandbox.world
        current = provider.current(remote_id)
        provider.put(replace(current, **changes), provider.advance())

    def sends(self, campaign_id: str | None = None) -> int:
        """Return how often the provider really began to mail."""
        self.sandbox.settle()
        which = None if campaign_id is None else self.dossier(campaign_id).stem
        return self.sandbox.truth.sends_accepted(which)

    def posts(self) -> int:
        """Return how many send requests of ours reached the provider."""
        seen = self.sandbox.truth.requests()
        return sum(1 for one in seen if one.operation == "send" and id(one) not in self._by_hand)

    # what happens in between

    def meanwhile(self, name: str, what: Callable[[], object], *, nth: int = 1, before: bool = True) -> None:
        """Have something happen just before (or after) the nth call of a provider's method from now."""
        self._happenings.append(Happening(name, nth - 1, what, before))

    def due(self, name: str) -> Happening | None:
        for happening in self._happenings:
            if happening.name != name:
                continue
            if happening.skip:
                happening.skip -= 1
                continue
            self._happenings.remove(happening)
            return happening
        return None

    # the program

    def program(self, *arguments: str) -> tuple[int, str, str]:
        """Run the command line as people do; return its exit code and what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "campaignbridge", *arguments],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def environment(self) -> dict[str, str]:
        outside = {name: text for name, text in os.environ.items() if not name.startswith("CAMPAIGNBRIDGE_")}
        return {
            **outside,
            "CAMPAIGNBRIDGE_DATABASE": self.home.where,
            KEY_ENV: KEY,
            "TZ": "UTC",
        }


@contextmanager
def world_of(home: Home) -> Iterator[World]:
    """Put a world around a store."""
    sandbox = Sandbox(lambda: time.time_ns() // 1_000_000 + home.offset_ms, 7, keys=(KEY,))
    sandbox.world.behave(sending_ms=SENDING_MS)
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv(KEY_ENV, KEY)
        server = stack.enter_context(SandboxServer(sandbox))
        world = World(home, sandbox, server)
        world.bridge.add_connection(
            "news", provider="mailchimp", key_env=KEY_ENV, base_url=server.url, actor=DANA
        )
        world.heard()
        world.calls.clear()
        yield world


@pytest.fixture
def world(home) -> Iterator[World]:
    """Return a world, on SQLite and on PostgreSQL."""
    with world_of(home) as ready:
        yield ready


@pytest.fixture
def sqlite_world(sqlite_home) -> Iterator[World]:
    with world_of(sqlite_home) as ready:
        yield ready


@pytest.fixture
def postgres_world(postgres_home) -> Iterator[World]:
    with world_of(postgres_home) as ready:
        yield ready


def process_bridge(home: Home, url: str) -> Bridge:
    """Assemble a bridge inside a process of its own, on its host's own clocks."""
    clock, chance = HostClock(), HostChance()

    def opener(_connection):
        return open_provider("mailchimp", key=KEY, base_url=url, clock=clock)

    return assemble(home.store(), opener, clock, chance, process_identity(chance))


def confirmation() -> Confirmation:
    return Confirmation(recipients=PEOPLE, audience=AUDIENCE)


def outcome_of(ask: Callable[[], object]) -> str:
    """Return "accepted", or the code of the refusal."""
    try:
        ask()
    except Refusal as refusal:
        return refusal.code
    return "accepted"


# what a process of its own does: the main functions of a `Child`


def child_sends(home: Home, parent, url: str, campaign_id: str, key: str = "s1") -> str:
    """Send as soon as the parent says so."""
    bridge = process_bridge(home, url)
    bridge.show(campaign_id, actor=DANA)
    parent.say("ready")
    parent.wait()
    return outcome_of(lambda: bridge.send(campaign_id, actor=DANA, key=key, confirmed=confirmation()))


def child_drafts(home: Home, parent, url: str, campaign_id: str, key: str = "d1") -> str:
    bridge = process_bridge(home, url)
    parent.say("ready")
    parent.wait()
    return outcome_of(lambda: bridge.hand_off(campaign_id, actor=DANA, key=key))


def child_ticks(home: Home, _parent, url: str) -> int:
    return process_bridge(home, url).tick().ran


# waiting for a fact in another process, bounded and without a clock

PAUSE = threading.Event()


def waiting_until(fact: Callable[[], object], *, every_s: float = 0.01) -> None:
    """Wait for something that another process brings about."""
    for _ in range(int(PATIENCE_S / every_s)):
        if fact():
            return
        PAUSE.wait(every_s)
    raise AssertionError("it never came true")
