"""Locks under real concurrency: threads, processes, and PostgreSQL's row-lock waits."""

import threading
from contextlib import contextmanager

import pytest

from campaignbridge.domain.errors import Locked
from campaignbridge.domain.lock import LOCK_TTL_MS
from support.stores import PATIENCE_S, in_processes, together, until, waiting_for

pytest_plugins = ["support.stores"]

KEY = "campaign:cmp_a"


def try_to_acquire(store, holder):
    try:
        with store.unit() as unit:
            return unit.locks.acquire(KEY, holder=holder, operation="send", actor=None).fence
    except Locked:
        return 0


def race(home, parent, number):
    store = home.store()
    with store.unit() as unit:
        unit.now_ms()  # connected before the start
    parent.say("ready")
    parent.wait()
    return try_to_acquire(store, f"p{number}")


def test_of_twenty_threads_that_race_for_a_free_lock_one_wins(home, store):
    fences = together(home, 20, lambda number: try_to_acquire(store, f"t{number}"))
    assert sorted(fences) == [0] * 19 + [1]


def test_of_twenty_threads_that_race_for_an_expired_lock_one_wins(home, store):
    try_to_acquire(store, "gone")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    fences = together(home, 20, lambda number: try_to_acquire(store, f"t{number}"))
    assert sorted(fences) == [0] * 19 + [2]


def test_of_eight_processes_that_race_for_an_expired_lock_one_wins(home, store):
    try_to_acquire(store, "gone")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    fences = in_processes(home, 8, race)
    assert sorted(fences) == [0] * 7 + [2]
    (row,) = home.rows("SELECT holder, fence FROM locks")
    assert row == {"holder": f"p{fences.index(2)}", "fence": 2}


def test_without_the_guard_every_racer_wins(home):
    store = home.mutant("locks.acquire", "WHERE locks.held_until < now_ms()")
    fences = together(home, 8, lambda number: try_to_acquire(store, f"t{number}"))
    assert 0 not in fences


@contextmanager
def in_thread(home, work):
    """Run `work` beside the test; the test may look at what came out once the block has ended."""
    found = []

    def run():
        try:
            found.append(work())
        finally:
            home.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield found
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def pid_of(unit) -> int:
    return unit._tx._connection.info.backend_pid


@pytest.fixture
def held(postgres_home):
    """Return a store, and a lease that has a minute left."""
    store = postgres_home.store()
    with store.unit() as unit:
        lease = unit.locks.acquire(KEY, holder="a", operation="send", actor=None)
    postgres_home.pass_ms(LOCK_TTL_MS - 60_000)
    return store, lease


def test_hold_keeps_a_takeover_waiting_until_commit(postgres_home, held):
    store, lease = held
    late = postgres_home.store(ahead_ms=120_000)  # for this one the lease is over
    with store.unit() as unit:
        assert unit.locks.hold(lease, need_ms=10_000)
        waiter = in_thread(postgres_home, lambda: try_to_acquire(late, "b"))
        found = waiter.__enter__()
        until(waiting_for(postgres_home, pid_of(unit)))
        assert found == [], "it waits for the row"
    waiter.__exit__(None, None, None)
    assert found == [2]


def test_without_hold_the_takeover_does_not_wait(postgres_home, held):
    store, _lease = held
    late = postgres_home.store(ahead_ms=120_000)
    with store.unit() as unit:
        unit.now_ms()
        with in_thread(postgres_home, lambda: try_to_acquire(late, "b")) as found:
            pass
        assert found == [2]


def test_now_is_read_after_a_wait_for_the_row(postgres_home, held):
    """A takeover that starts while the lease is over, and waits while it is renewed, must see the renewal."""
    store, lease = held
    late = postgres_home.store(ahead_ms=61_000)
    with store.unit() as unit:
        assert unit.locks.renew(lease)
        waiter = in_thread(postgres_home, lambda: try_to_acquire(late, "b"))
        found = waiter.__enter__()
        until(waiting_for(postgres_home, pid_of(unit)))
    waiter.__exit__(None, None, None)
    assert found == [0]


MOVABLE_CLOCK = """
CREATE TABLE ahead (ms bigint);
INSERT INTO ahead VALUES (0);
CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + (SELECT ms FROM ahead)
$$
"""


def wait_while_time_passes(home, store):
    """Have a takeover wait for the row of a live lease, let the lease end meanwhile; return what it got."""
    home.rows(MOVABLE_CLOCK)
    holder = home.store()
    try_to_acquire(holder, "a")
    with holder.unit() as unit:
        unit._tx._connection.execute("SELECT 1 FROM locks WHERE key = %s FOR UPDATE", (KEY,))
        waiter = in_thread(home, lambda: try_to_acquire(store, "b"))
        found = waiter.__enter__()
        until(waiting_for(home, pid_of(unit)))
        home.rows("UPDATE ahead SET ms = ?", LOCK_TTL_MS + 60_000)
    waiter.__exit__(None, None, None)
    return found


def test_a_lease_that_ends_while_a_takeover_waits_for_the_row_is_taken(postgres_home):
    assert wait_while_time_passes(postgres_home, postgres_home.store()) == [2]


def test_a_now_that_is_read_before_the_wait_misses_that_the_lease_ended(postgres_home):
    early = postgres_home.mutant(
        "locks.acquire", "WHERE locks.held_until < now_ms()", "WHERE locks.held_until < excluded.acquired_at"
    )
    assert wait_while_time_passes(postgres_home, early) == [0]
