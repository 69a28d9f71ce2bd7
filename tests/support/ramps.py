"""A ramp in a world: an audience of ours, a content, and what a ramp's jobs do while time passes.

The fixture `ramp` gives one at Mailchimp and one at Resend, on SQLite and on PostgreSQL. PYTEST_DONT_REWRITE.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from campaignbridge.domain.audience import Suppressed
from campaignbridge.domain.provider import NewContact
from campaignbridge.domain.ramp import Plan
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.ramp_recovery import Aim
from campaignbridge.flows.ramp_tick import run_now
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices, look_at
from campaignbridge.store.unit import Store
from support.resend import resend_world_of
from support.stores import Home
from support.world import AUDIENCE, DANA, SENDING_MS, World, world_of

WHY = "because a test says so"
DAY_H = 24


class Died(BaseException):
    """A process was killed: nothing of it runs any more, and its job stays claimed until its lease ends."""


class Dying:
    """A database whose process is killed before, or just after, its nth transaction from now."""

    def __init__(self, database) -> None:
        self.database = database
        self.left: int | None = None
        self.after = False

    @contextmanager
    def transaction(self, *, write=True):
        if self.left is not None:
            self.left -= 1
            if self.left < 0 and not self.after:
                raise Died
        with self.database.transaction(write=write) as tx:
            yield tx
        if self.left is not None and self.left < 0:
            raise Died

    def listener(self):
        return self.database.listener()

    def close(self) -> None:
        self.database.close()


class Backup:
    """A copy of a SQLite store, to go back to."""

    def __init__(self, world: World, place: Path) -> None:
        self.world, self.place = world, str(place)
        self._copy(world.home.where, self.place)

    def restore(self) -> None:
        self.world.home.close()
        self._copy(self.place, self.world.home.where)

    def _copy(self, source: str, target: str) -> None:
        with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
            there.backup(here)


@dataclass
class Ramping:
    """One world, and ramps in it."""

    world: World
    folder: Path
    container: str  # at the provider, where its segments belong to one
    content: str = ""

    @property
    def wiring(self):
        return self.world.bridge.wiring

    def people(self, count: int, *, slug: str = "crowd", first: int = 0) -> None:
        """Import so many people."""
        file = self.folder / f"{slug}-{first}.csv"
        rows = "".join(f"p{number}@example.com,P{number}\n" for number in range(first, first + count))
        file.write_text(f"email,FNAME\n{rows}", "utf-8")
        self.world.bridge.make_audience(slug, actor=DANA)
        self.world.bridge.import_contacts(
            look_at(str(file), Choices()), slug, rejects=RejectsFile(str(file)), actor=DANA
        )

    def init(self, slug: str = "winter", *, tiers=(100, 150), prefix="wave", audience="crowd", **changes):
        """Set a ramp up whose content is approved."""
        plan = {name: changes.pop(name) for name in list(changes) if name in Plan.__dataclass_fields__}
        self.content = self.content or self.world.approved()
        new = ramping.NewRamp(
            slug=slug,
            connection=self.world.campaign(self.content).connection_id,
            audience=audience,
            content=self.content,
            plan=Plan(tiers=tiers, prefix=prefix, **plan),
            list=self.container,
            **changes,
        )
        ramp = ramping.init(self.wiring, new, actor=DANA)
        self.world.heard()
        return ramp

    def tick(self, slug: str = "winter", bridge=None) -> str:
        return run_now((bridge or self.world.bridge).wiring, slug, actor=DANA)

    def work(self, *, hours: float = 3) -> None:
        """Run every job that comes due within so many hours."""
        self.world.run(hours=hours)

    def wave(self, slug: str = "winter", **changes):
        """Start the next wave and let its jobs run."""
        outcome = self.tick(slug)
        assert outcome == "wave_claimed", outcome
        self.work(**changes)

    def next_day(self, slug: str = "winter") -> None:
        self.world.later(hours=DAY_H)
        self.wave(slug)

    def ramp(self, slug: str = "winter"):
        with self.wiring.store.reading() as unit:
            return unit.ramps.get(slug)

    def waves(self, slug: str = "winter"):
        with self.wiring.store.reading() as unit:
            return unit.waves.of_ramp(unit.ramps.get(slug).id)

    def opened(self, slug: str = "winter"):
        (wave,) = [one for one in self.waves(slug) if one.closed is None]
        return wave

    def aim(self, slug: str = "winter") -> Aim:
        wave = self.opened(slug)
        return Aim(label=wave.label, run_id=wave.run_id, reason=WHY)

    def counts(self, wave) -> dict[str, int]:
        with self.wiring.store.reading() as unit:
            return unit.assignments.counts(wave.id)

    def log(self, slug: str = "winter") -> list[str]:
        """Return every outcome in the run log, oldest first."""
        with self.wiring.store.reading() as unit:
            rows = unit.ramps.log_of(unit.ramps.get(slug).id, most=1_000)
        return [row["outcome"] for row in reversed(rows)]

    def resume_wave(self, slug: str = "winter", **changes) -> None:
        ramp_recovery.resume_wave(self.wiring, slug, self.aim(slug), actor=DANA, **changes)

    def until(self, step: str, slug: str = "winter") -> None:
        """Let jobs run until the open wave is at this step."""
        for _ in range(60):
            if self.opened(slug).step.value == step:
                return
            self.world.step()
        raise AssertionError(f"it never came to {step}: {self.log(slug)}")

    def started(self, step: str, slug: str = "winter") -> None:
        """Start the next wave and let it come to a step."""
        assert self.tick(slug) == "wave_claimed"
        self.until(step, slug)

    def campaign(self, slug: str = "winter") -> str:
        """Return the campaign of the newest wave."""
        return self.waves(slug)[-1].campaign_id

    def suppress(self, *addresses: str, reason: str = "complaint") -> None:
        self.world.bridge.suppress(addresses, reason=Suppressed(reason), source="a test", actor=DANA)

    def provider(self):
        """Return the adapter, as another process has it."""
        connection_id = self.ramp().connection_id
        with self.wiring.store.reading() as unit:
            connection = unit.accounts.find(connection_id)
        return self.wiring.open_provider(connection)

    def inside(self, segment: str) -> set[str]:
        """Return who is in a segment at the provider."""
        return {one.address for one in self.provider().segment_members(segment, limit_ms=10_000).value.items}

    def chosen(self) -> str:
        """Return somebody of the open wave."""
        wave = self.opened()
        with self.wiring.store.reading() as unit:
            return unit.assignments.members(wave.id)[0].email

    def logged_at(self, outcome: str, slug: str = "winter") -> int:
        """Return when something was first logged."""
        ramp_id = self.ramp(slug).id
        with self.wiring.store.reading() as unit:
            rows = unit.ramps.log_of(ramp_id, most=1_000)
        return min(row["at"] for row in rows if row["outcome"] == outcome)

    def put(self, segment: str, *addresses: str) -> None:
        """Put somebody into a segment, as a person or a late request does."""
        people = tuple(NewContact(address) for address in addresses)
        assert self.provider().add_contacts(segment, people, limit_ms=10_000).ended_by is None

    def take(self, segment: str, *addresses: str) -> None:
        assert self.provider().remove_contacts(segment, addresses, limit_ms=10_000).ended_by is None

    def behave(self, **changes) -> None:
        self.world.sandbox.world.behave(sending_ms=SENDING_MS, **changes)

    def dying(self, database=None):
        """Return a process that dies when it is told to: at its nth transaction, before it begins."""
        dying = Dying(database or self.world.home.open())
        return dying, self.world.process(store=Store(dying))

    def survive(self, bridge) -> bool:
        """Let a process work until it dies or has nothing to do; say whether it died."""
        try:
            self.world.run(hours=3, bridge=bridge)
        except Died:
            return True
        return False

    def nobody_twice(self) -> int:
        """Assert that the provider mailed nobody twice; return how many people it mailed."""
        sandbox = self.world.sandbox
        sandbox.settle()
        assert sandbox.truth.duplicates() == 0
        everybody = [
            person.email.lower()
            for delivery in sandbox.world.deliveries.values()
            if delivery.receivers is not None
            for person in delivery.receivers
        ]
        assert len(everybody) == len(set(everybody))
        return len(everybody)


def mailchimp_of(home: Home, folder: Path) -> Iterator[Ramping]:
    with world_of(home) as world:
        yield Ramping(world, folder, AUDIENCE)


def resend_of(home: Home, folder: Path) -> Iterator[Ramping]:
    with resend_world_of(home) as world:
        yield Ramping(world, folder, "")


WORLDS = {"mailchimp": mailchimp_of, "resend": resend_of}


@pytest.fixture(params=WORLDS)
def ramp(request, home, tmp_path) -> Iterator[Ramping]:
    yield from WORLDS[request.param](home, tmp_path)


@pytest.fixture(params=WORLDS)
def lite(request, sqlite_home, tmp_path) -> Iterator[Ramping]:
    """Return a ramp at each provider, on SQLite, where the store makes no difference."""
    yield from WORLDS[request.param](sqlite_home, tmp_path)


@pytest.fixture
def one(sqlite_home, tmp_path) -> Iterator[Ramping]:
    """Return a ramp at Mailchimp on SQLite, where the provider makes no difference."""
    yield from mailchimp_of(sqlite_home, tmp_path)
