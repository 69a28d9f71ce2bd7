"""On PostgreSQL: a send or schedule paused before each of its statements while somebody cancels, and the reverse.

The second one comes with the same clock, and with a clock by which the first one's lock is over: then it takes
the lock, and what is refused or settled must still agree with what the provider really did.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
import pytest

from campaignbridge.domain.errors import Refusal
from campaignbridge.store.postgres import Postgres, PostgresTransaction
from campaignbridge.store.unit import Store
from support.stores import PATIENCE_S
from support.world import MINUTE_MS, PEOPLE, waiting_until

pytestmark = pytest.mark.postgres
pytest_plugins = ["support.stores", "support.world"]

POINTS = 24


@dataclass
class Pauses:
    """Stops its process before the n-th statement, until told to go on."""

    at: int
    count: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def step(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.reached.set()
            assert self.go_on.wait(PATIENCE_S)


class PausingTransaction(PostgresTransaction):
    """A transaction that may pause between two of its statements."""

    pauses: Pauses

    def all(self, name, /, **params):
        self.pauses.step()
        return super().all(name, **params)

    def run(self, name, /, **params):
        self.pauses.step()
        return super().run(name, **params)


class PausingPostgres(Postgres):
    """PostgreSQL whose transactions pause where they are told to."""

    def __init__(self, url: str, pauses: Pauses, *, offset_ms: int) -> None:
        super().__init__(url, offset_ms=offset_ms)
        self._pauses = pauses

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[PostgresTransaction]:
        with super().transaction(write=write) as tx:
            pausing = PausingTransaction(tx._connection, tx._statements)
            pausing.pauses = self._pauses
            yield pausing


def blocked(world) -> bool:
    with psycopg.connect(world.home.where, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND application_name = 'campaignbridge'"
        ).fetchone()
    return bool(row and row[0])


def in_thread(world, ask, bridge, campaign_id) -> threading.Thread:
    def body() -> None:
        try:
            with suppress(Refusal):
                ask(campaign_id, bridge=bridge)
        finally:
            bridge.close()
            world.bridge.close()  # this thread may have asked it for the time

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


def overlap(world, first, second, campaign_id, at, *, ahead_ms) -> int:
    """Run the first up to its n-th statement, the second as far as it gets, then both to their end."""
    pauses = Pauses(at)
    paused = world.process(
        store=Store(PausingPostgres(world.home.where, pauses, offset_ms=world.home.offset_ms))
    )
    one = in_thread(world, first, paused, campaign_id)
    waiting_until(lambda: pauses.reached.is_set() or not one.is_alive())
    later = Postgres(world.home.where, offset_ms=world.home.offset_ms + ahead_ms)
    other = in_thread(world, second, world.process(store=Store(later)), campaign_id)
    waiting_until(lambda: not other.is_alive() or blocked(world))
    pauses.go_on.set()
    one.join(PATIENCE_S)
    other.join(PATIENCE_S)
    assert not one.is_alive()
    assert not other.is_alive()
    return pauses.count


def as_it_really_is(world, campaign_id, context) -> None:
    """Follow the campaign to its end; what is said of it in the end is what happened."""
    world.run()
    state, began = world.state(campaign_id), world.sends(campaign_id)
    stem = world.dossier(campaign_id).stem
    assert began <= 1, context
    assert world.campaign(campaign_id).open_attempt is None, context
    if began == 0:
        assert state in ("cancelled", "provider_draft"), (context, state)
        return
    stopped = world.sandbox.truth.events("cancelled", stem)
    assert state == ("cancelled" if stopped else "sent"), (context, state)
    if stopped:
        assert world.remote(campaign_id).emails_sent == stopped[0].recipients < PEOPLE, context


def through(world, first, second, *, prepare, ahead_ms) -> None:
    statements = 0
    for at in range(1, POINTS + 1):
        campaign_id = prepare(subject=f"Letter {at}")
        statements = max(statements, overlap(world, first, second, campaign_id, at, ahead_ms=ahead_ms))
        as_it_really_is(world, campaign_id, f"paused before statement {at}, {ahead_ms} ms ahead")
        if at > statements:
            break
    assert 5 <= statements < POINTS
    assert world.sandbox.truth.duplicates() == 0


AHEAD = pytest.mark.parametrize("ahead_ms", [0, 6 * MINUTE_MS], ids=["same clock", "lock over"])


@AHEAD
def test_a_send_paused_before_any_statement_while_it_is_cancelled_ends_as_what_happened(
    postgres_world, ahead_ms
):
    world = postgres_world
    world.sandbox.world.behave(sending_ms=60 * MINUTE_MS)
    through(world, world.send, world.cancel, prepare=world.drafted, ahead_ms=ahead_ms)


@AHEAD
def test_a_cancel_paused_before_any_statement_while_it_is_sent_ends_as_what_happened(
    postgres_world, ahead_ms
):
    world = postgres_world
    world.sandbox.world.behave(sending_ms=60 * MINUTE_MS)
    through(world, world.cancel, world.send, prepare=world.drafted, ahead_ms=ahead_ms)


@AHEAD
def test_a_cancel_of_a_running_send_paused_before_any_statement_while_it_is_looked_at_ends_as_what_happened(
    postgres_world, ahead_ms
):
    world = postgres_world
    world.sandbox.world.behave(sending_ms=60 * MINUTE_MS)
    through(world, world.cancel, world.reconcile, prepare=world.doubted, ahead_ms=ahead_ms)


def test_a_schedule_paused_before_any_statement_while_it_is_cancelled_ends_as_what_happened(postgres_world):
    world = postgres_world
    through(world, world.schedule, world.cancel, prepare=world.drafted, ahead_ms=0)
