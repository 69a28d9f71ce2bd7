"""A ramp in a world: an audience of ours, a content, and what a ramp's jobs do while time passes.

The fixture `ramp` gives one at Mailchimp and one at Resend, on SQLite and on PostgreSQL. PYTEST_DONT_REWRITE.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from campaignbridge.domain.ramp import Plan
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.ramp_recovery import Aim
from campaignbridge.flows.ramp_tick import run_now
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices, look_at
from support.resend import resend_world_of
from support.stores import Home
from support.world import AUDIENCE, DANA, World, world_of

WHY = "because a test says so"
DAY_H = 24


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


@pytest.fixture
def one(sqlite_home, tmp_path) -> Iterator[Ramping]:
    """Return a ramp at Mailchimp on SQLite, where the provider makes no difference."""
    yield from mailchimp_of(sqlite_home, tmp_path)
