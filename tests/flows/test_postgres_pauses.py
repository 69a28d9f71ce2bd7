"""On PostgreSQL transactions overlap: each is paused before each of its statements while a competitor runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
import pytest

from campaignbridge.bootstrap import assemble, prepare
from campaignbridge.bridge import Bridge
from campaignbridge.domain.actor import with_all_rights
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.authoring import NewCampaign
from campaignbridge.flows.delivery import Confirmation
from campaignbridge.host import HostChance, HostClock
from campaignbridge.ports import Provider, Row
from campaignbridge.providers.registry import open_provider
from campaignbridge.sandbox import Sandbox, SandboxServer
from campaignbridge.store.postgres import Postgres, PostgresTransaction
from campaignbridge.store.unit import Store

pytestmark = pytest.mark.postgres

ME = with_all_rights("cli:dana")
POINTS = 24  # at least as many statements as a send and a draft have


@dataclass
class Pauses:
    """Stops the thread that it was made for before its n-th statement, until told to go on."""

    at: int
    count: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def step(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.reached.set()
            assert self.go_on.wait(20)


class PausingTransaction(PostgresTransaction):
    """A transaction that may pause between two of its statements."""

    pauses: Pauses

    def all(self, name: str, /, **params: object) -> list[Row]:
        self.pauses.step()
        return super().all(name, **params)

    def run(self, name: str, /, **params: object) -> int:
        self.pauses.step()
        return super().run(name, **params)


class PausingPostgres(Postgres):
    """PostgreSQL whose transactions pause where they are told to."""

    def __init__(self, url: str, pauses: Pauses) -> None:
        super().__init__(url)
        self._pauses = pauses

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[PostgresTransaction]:
        with super().transaction(write=write) as tx:
            pausing = PausingTransaction(tx._connection, tx._statements)
            pausing.pauses = self._pauses
            yield pausing


@dataclass
class World:
    """A sandbox and a schema."""

    url: str
    sandbox: Sandbox
    base_url: str
    opened: list[Postgres] = field(default_factory=list)

    def close(self) -> None:
        """Close this thread's connections."""
        for database in self.opened:
            database.close()

    def bridge(self, name: str, pauses: Pauses | None = None) -> Bridge:
        clock = HostClock()

        def opener(_connection: Connection) -> Provider:
            return open_provider("mailchimp", key=self.sandbox.key, base_url=self.base_url, clock=clock)

        database = PausingPostgres(self.url, pauses) if pauses else Postgres(self.url)
        self.opened.append(database)
        return assemble(Store(database), opener, clock, HostChance(), name)

    def blocked(self) -> bool:
        """Say whether somebody waits for a lock now."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND application_name = 'campaignbridge'"
            ).fetchone()
        return bool(row and row[0])


@pytest.fixture
def world(postgres_url: str) -> Iterator[World]:
    sandbox = Sandbox(lambda: time.time_ns() // 1_000_000, 3)
    sandbox.world.behave(repeated_send="accepted_again", sending_ms=0)
    database = Postgres(postgres_url)
    prepare(Store(database))
    database.close()
    with SandboxServer(sandbox) as server:
        made = World(postgres_url, sandbox, server.url)
        yield made
        made.close()


def new_campaign(bridge: Bridge, number: int, *, drafted: bool) -> str:
    new = NewCampaign(
        name=f"letter {number}",
        connection="acme",
        audience="a1b2c3",
        subject=f"News {number}",
        from_name="Dana",
        from_email="news@acme.example",
        content=f"<p>{number}</p><a href='*|UNSUB|*'>bye</a>".encode(),
    )
    campaign_id = bridge.create(new, actor=ME).campaign.id
    _, checked = bridge.submit(campaign_id, actor=ME)
    bridge.approve(campaign_id, actor=ME, approved=checked.fingerprint, max_recipients=30_000)
    if drafted:
        bridge.hand_off(campaign_id, actor=ME, key="draft")
    return campaign_id


def sending(bridge: Bridge, campaign_id: str, key: str) -> None:
    with suppress(Refusal):
        bridge.send(
            campaign_id, actor=ME, key=key, confirmed=Confirmation(recipients=24_318, audience="a1b2c3")
        )


def drafting(bridge: Bridge, campaign_id: str, key: str) -> None:
    with suppress(Refusal):
        bridge.hand_off(campaign_id, actor=ME, key=key)


def reconciling(bridge: Bridge, campaign_id: str, _key: str) -> None:
    with suppress(Refusal):
        bridge.reconcile(campaign_id, actor=ME)


def ticking(bridge: Bridge, campaign_id: str, _key: str) -> None:
    with bridge.wiring.store.unit() as unit:
        if unit.campaigns.look_now(campaign_id):
            bridge.wiring.wake_watch(unit, campaign_id, in_ms=0)
    bridge.tick()


def in_thread(
    work: Callable[[Bridge, str, str], None], bridge: Bridge, campaign_id: str, key: str
) -> threading.Thread:
    def body() -> None:
        try:
            work(bridge, campaign_id, key)
        finally:
            bridge.close()

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


def overlap(
    world: World, first: Callable[..., None], second: Callable[..., None], campaign_id: str, at: int
) -> int:
    """Run the first one up to its n-th statement, the second one as far as it gets, then both to their end."""
    pauses = Pauses(at)
    one = in_thread(first, world.bridge(f"one-{at}", pauses), campaign_id, "one")
    while one.is_alive() and not pauses.reached.wait(0.01):
        pass
    other = in_thread(second, world.bridge(f"other-{at}"), campaign_id, "other")
    for _ in range(1_000):
        other.join(0.01)
        if not other.is_alive() or world.blocked():
            break
    pauses.go_on.set()
    one.join(20)
    other.join(20)
    assert not one.is_alive()
    assert not other.is_alive()
    return pauses.count


@pytest.mark.parametrize("competitor", [sending, reconciling, ticking], ids=lambda work: work.__name__)
def test_a_send_paused_before_any_statement_is_still_made_once(
    world: World, competitor: Callable[..., None]
) -> None:
    author = world.bridge("author")
    author.add_connection("acme", provider="mailchimp", key_env="X", base_url=world.base_url, actor=ME)
    statements = 0
    for at in range(1, POINTS + 1):
        campaign_id = new_campaign(author, at, drafted=True)
        statements = max(statements, overlap(world, sending, competitor, campaign_id, at))
        assert world.sandbox.truth.duplicates() == 0
        state = author.show(campaign_id, actor=ME).dossier.campaign.state.value
        assert state in ("sending", "sent"), f"paused before statement {at}: {state}"
    assert world.sandbox.truth.sends_accepted() == POINTS
    assert 15 <= statements <= POINTS


@pytest.mark.parametrize("competitor", [drafting, reconciling], ids=lambda work: work.__name__)
def test_a_handoff_paused_before_any_statement_makes_one_draft(
    world: World, competitor: Callable[..., None]
) -> None:
    author = world.bridge("author")
    author.add_connection("acme", provider="mailchimp", key_env="X", base_url=world.base_url, actor=ME)
    for at in range(1, POINTS + 1):
        campaign_id = new_campaign(author, at, drafted=False)
        overlap(world, drafting, competitor, campaign_id, at)
        assert len(world.sandbox.truth.events("created")) == at
        assert author.show(campaign_id, actor=ME).dossier.campaign.state.value == "provider_draft"


def test_twins_paused_before_any_statement_of_the_first_send_only_one(world: World) -> None:
    author = world.bridge("author")
    author.add_connection("acme", provider="mailchimp", key_env="X", base_url=world.base_url, actor=ME)
    for at in range(1, POINTS + 1):
        first = new_campaign(author, at, drafted=True)
        second = new_campaign(author, at, drafted=True)
        overlap(world, sending, lambda bridge, _id, key, twin=second: sending(bridge, twin, key), first, at)
        assert len(world.sandbox.truth.events("send_accepted")) == at
