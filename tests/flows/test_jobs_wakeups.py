"""Wake-ups and idleness: a hint where the store can give one, polling as the truth, and what idleness costs."""

import threading
from contextlib import contextmanager

import psycopg
import pytest

from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.job import Again, Request
from campaignbridge.domain.recurring import Every, Recurring
from campaignbridge.engine.runtime import BATCH, POLL_S, TICK_EVERY_S, Runtime
from campaignbridge.flows.health import look
from campaignbridge.store.postgres import Postgres
from campaignbridge.store.unit import Store
from support import postgres
from support.stores import (
    PATIENCE_S,
    Counting,
    Diary,
    claim_one,
    enqueue,
    home_of,
    until,
)

pytest_plugins = ["support.stores"]

HOUR_S = 3_600


@pytest.fixture
def ear(postgres_home):
    """Return a listener that stands."""
    listener = postgres_home.open().listener()
    assert listener.wait(0), "what was told before it stood isn't known"
    yield listener
    listener.close()


def heard(listener):
    """Say whether anything has been told by now; a notification is delivered before its COMMIT is answered."""
    return listener.wait(0.05)


# what is told


def test_a_job_that_is_due_is_told_when_its_transaction_commits(postgres_home, ear):
    store = postgres_home.store()
    with store.unit() as unit:
        unit.jobs.enqueue("job_1", Request(type="work", target="t"))
        assert not heard(ear), "nobody may look for what isn't there yet"
    assert heard(ear)
    assert not heard(ear)


def test_what_is_rolled_back_is_never_told(postgres_home, ear):
    def torn():
        with postgres_home.store().unit() as unit:
            unit.jobs.enqueue("job_1", Request(type="work", target="t"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        torn()
    assert not heard(ear)


def test_a_job_for_later_is_told_only_when_somebody_wants_it_now(postgres_home, ear):
    store = postgres_home.store()
    enqueue(store, "job_1", target="t", delay_ms=60_000)
    assert not heard(ear)
    enqueue(store, "job_2", target="t")
    assert heard(ear)


def test_many_jobs_of_one_transaction_are_told_once(postgres_home, ear):
    with postgres_home.store().unit() as unit:
        unit.jobs.enqueue_many((f"job_{n}", Request(type="work", target=f"t{n}")) for n in range(500))
    assert heard(ear)
    assert not heard(ear)


def test_claims_heartbeats_and_ends_tell_nobody_and_a_requeue_does(postgres_home, ear):
    store = postgres_home.store()
    enqueue(store)
    assert heard(ear)
    job = claim_one(store)
    with store.unit() as unit:
        unit.jobs.renew_all([job], holder="a", lease_ms=60_000)
        unit.jobs.start(job, lease_ms=60_000)
        unit.jobs.again(job, Again(after_ms=60_000))
    with store.unit() as unit:
        unit.jobs.purge(keep_ms=0, keep_failed_ms=0, chunk=10)
    assert not heard(ear)
    postgres_home.rows("UPDATE jobs SET state = 'dead', finished_at = 1")
    with store.unit() as unit:
        assert unit.jobs.requeue("job_1")
    assert heard(ear)


def test_installations_in_one_database_do_not_wake_each_other(postgres_home, postgres_server, ear):
    with postgres.fresh_schema(postgres_server) as url, home_of("postgres", url) as other:
        enqueue(other.store())
        assert not heard(ear)
    enqueue(postgres_home.store())
    assert heard(ear)


def test_a_listener_whose_connection_was_lost_says_so_and_hears_again(postgres_home):
    listener = postgres_home.open().listener()
    assert listener.wait(0)
    ended = postgres_home.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%campaignbridge%'"
    )
    assert len(ended) >= 1
    with pytest.raises(StoreGone):
        until(lambda: listener.wait(0.05))
    enqueue(postgres_home.store())
    assert listener.wait(0), "it may have missed something, so there may be work"
    enqueue(postgres_home.store(), "job_2")
    assert heard(listener)
    listener.close()


def test_a_file_tells_nobody_and_costs_nothing(sqlite_home):
    assert sqlite_home.open().listener() is None


# a worker that waits


class Waits:
    """Stands where threads wait: time passes at once, and the test says what happens meanwhile."""

    def __init__(self, meanwhile=lambda: None):
        self.now_s = 0.0
        self.meanwhile = meanwhile
        self.told = False

    def set(self):
        self.told = True

    def clear(self):
        self.told = False

    def is_set(self):
        return self.told

    def wait(self, timeout):
        if not self.told:
            self.now_s += timeout
            self.meanwhile()
        return self.told


def test_an_idle_worker_costs_at_most_three_statements_in_ten_seconds(home):
    """One hour of each loop, with the waits that they ask for and no other time."""
    database = Counting(home.open())
    diary = Diary()
    worker = diary.worker(Store(database), diary.handler(lease_ms=30_000))
    polling, beating = Waits(), Waits()
    runtime = Runtime(worker, threads=8, seconds=lambda: beating.now_s, woken=polling, drained=beating)

    def an_hour_of_polling():
        if polling.now_s >= HOUR_S:
            runtime.stop()

    def an_hour_of_beats():
        if beating.now_s >= HOUR_S:
            beating.set()

    polling.meanwhile, beating.meanwhile = an_hour_of_polling, an_hour_of_beats
    assert runtime._next_batch() == []
    polls = list(database.names)
    assert set(polls) == {"jobs.claim"}
    assert len(polls) == HOUR_S / POLL_S
    runtime._beat()
    assert len(database.names) - len(polls) <= 2 * (HOUR_S / TICK_EVERY_S + 1)
    print(f"an idle worker: {len(database.names) / HOUR_S:.3f} statements a second")
    assert len(database.names) <= 0.3 * HOUR_S


def test_idle_threads_of_a_process_poll_in_turn_and_not_each(home):
    database = Counting(home.open())
    diary = Diary()
    runtime = Runtime(diary.worker(Store(database), diary.handler()), threads=8)
    polling = threading.Event()

    class Held(Waits):
        def wait(self, timeout):
            polling.set()
            while not runtime.stopping.wait(PATIENCE_S):
                pass

    runtime.woken = Held()
    crew = [threading.Thread(target=runtime._work) for _ in range(8)]
    for thread in crew:
        thread.start()
    assert polling.wait(PATIENCE_S)
    until(lambda: sum(thread.is_alive() for thread in crew) == 8)
    assert database.names == ["jobs.claim"]
    runtime.stop()
    for thread in crew:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert database.names == ["jobs.claim"], "a drained worker claims no more"


def test_a_wake_up_during_a_claim_is_not_slept_through(home, store):
    """A job comes right after the claim found nothing: the worker looks again without a wait."""
    diary = Diary()
    waits = Waits()
    worker = diary.worker(store, diary.handler())

    class Racing(Counting):
        def close(self):
            pass

        @contextmanager
        def transaction(self, *, write=True):
            with super().transaction(write=write) as tx:
                yield tx
            if len(self.names) == 1:
                enqueue(store)
                waits.set()

    worker.store = Store(Racing(home.open()))
    runtime = Runtime(worker, woken=waits)
    assert len(runtime._next_batch()) == 1
    assert waits.now_s == 0


def test_a_store_that_is_gone_is_asked_again_at_the_next_poll(home, store):
    class Gone:
        def __init__(self, database):
            self.database, self.times = database, 3

        def transaction(self, *, write=True):
            self.times -= 1
            if self.times >= 0:
                raise StoreGone("The store can't be used now.")
            return self.database.transaction(write=write)

        def close(self):
            self.database.close()

    enqueue(store)
    diary = Diary()
    waits = Waits()
    runtime = Runtime(diary.worker(Store(Gone(home.open())), diary.handler()), woken=waits)
    assert len(runtime._next_batch()) == 1
    assert waits.now_s == 3 * POLL_S


def test_a_worker_whose_clock_is_off_polls_no_more_and_goes_on_once_it_is_right(home):
    enqueue(home.store(ahead_ms=31_000))
    store = home.store(ahead_ms=31_000)
    diary = Diary()
    waits = Waits()
    runtime = Runtime(diary.worker(store, diary.handler()), woken=waits)
    runtime._check_skew()

    def set_right():
        assert home.job("job_1")["state"] == "queued"
        home.pass_ms(-31_000)
        runtime._check_skew()
        home.pass_ms(31_000)

    waits.meanwhile = set_right
    assert len(runtime._next_batch()) == 1
    assert waits.now_s == POLL_S


def test_a_heartbeat_that_failed_is_tried_again_well_before_the_lease_ends(home):
    class Gone:
        def __init__(self, database):
            self.database, self.gone = database, 0

        def transaction(self, *, write=True):
            if self.gone > 0:
                self.gone -= 1
                raise StoreGone("The store can't be used now.")
            return self.database.transaction(write=write)

        def close(self):
            self.database.close()

    store = home.store()
    enqueue(store)
    diary = Diary()
    gate = Gone(home.open())
    beats = Waits()
    runtime = Runtime(diary.worker(Store(gate), diary.handler()), seconds=lambda: beats.now_s, drained=beats)
    runtime._claim()
    before = home.job("job_1")["lease_until"]
    gate.gone = 2  # the first renewal, and the tick's look at the clock
    passed = []

    def pass_time():
        passed.append(beats.now_s)
        if home.job("job_1")["lease_until"] > before or beats.now_s > 100:
            beats.set()

    home.pass_ms(1_000)
    beats.meanwhile = pass_time
    runtime._beat()
    assert passed[:2] == [0.0, 5.0], "tried again after five seconds, and not after a third of the lease"
    assert len(passed) == 3, "the second try renewed it"


def test_recurring_jobs_that_a_worker_process_queued_wake_its_own_threads(home, store):
    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler()))
    runtime.worker.recurring = (Recurring("sweep", "work", "all", Every(300)),)
    runtime._tick()
    assert not runtime.woken.is_set()
    home.pass_ms(301_000)
    runtime.clock_offset_ms = 301_000
    runtime._tick()
    assert runtime.woken.is_set()


# listening, as a thread of a worker


def listening(home, meanwhile):
    """Run the listening loop of a worker until `meanwhile` is done; return the runtime."""
    diary = Diary()
    runtime = Runtime(diary.worker(home.store(), diary.handler()))
    runtime.deaf_since = runtime.worker.clock.mark()
    thread = threading.Thread(target=runtime._listen, args=(runtime.worker.store.database.listener(),))
    thread.start()
    try:
        meanwhile(runtime)
    finally:
        runtime.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    return runtime


def test_a_worker_hears_of_a_job_and_after_a_lost_connection_again(postgres_home):
    def meanwhile(runtime):
        assert runtime.woken.wait(PATIENCE_S)
        until(lambda: runtime.deaf_since is None)
        runtime.woken.clear()
        enqueue(postgres_home.store())
        assert runtime.woken.wait(PATIENCE_S)
        runtime.woken.clear()
        postgres_home.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%campaignbridge%'"
        )
        assert runtime.woken.wait(PATIENCE_S), "it stands again, and may have missed something"
        until(lambda: runtime.deaf_since is None)
        runtime.woken.clear()
        enqueue(postgres_home.store(), "job_2")
        assert runtime.woken.wait(PATIENCE_S)

    listening(postgres_home, meanwhile)


def test_a_worker_that_can_not_listen_polls_on_and_its_health_says_since_when(postgres_home):
    class Deaf(Postgres):
        def listener(self):
            return self

        def wait(self, timeout_s):
            raise StoreGone("The database's wake-ups can't be heard.")

    diary = Diary()
    store = Store(Deaf(postgres_home.where))
    worker = diary.worker(store, diary.handler())
    runtime = Runtime(worker)
    pauses = Waits(lambda: pauses.now_s > 300 and pauses.set())
    runtime.stopping = pauses
    runtime._listen(store.database.listener())
    worker.clock.pass_ms(300_000)
    runtime._tick()
    with store.reading() as unit:
        (seen,) = look(unit).workers
    assert seen.ticked_at - seen.polling_since == 300_000
    runtime.deaf_since = None
    runtime._tick()
    with store.reading() as unit:
        assert look(unit).workers[0].polling_since is None
    store.database.close()


def test_a_worker_in_threads_runs_what_is_queued_while_it_waits(home):
    """The whole crew, in real threads: what was queued is run although no poll is due for an hour."""
    diary = Diary()
    done = threading.Event()

    def run(job):
        if len(diary.ran) == 3 * BATCH:
            done.set()

    runtime = Runtime(diary.worker(home.store(), diary.handler(run)), threads=3, poll_s=HOUR_S)
    crew = [threading.Thread(target=runtime._work) for _ in range(3)]
    listener = runtime.worker.store.database.listener()
    if listener is not None:
        crew.append(threading.Thread(target=runtime._listen, args=(listener,)))
    for thread in crew:
        thread.start()
    store = home.store()
    for number in range(3 * BATCH):
        enqueue(store, f"job_{number}")
    if listener is None:
        runtime.woken.set()
    assert done.wait(PATIENCE_S)
    runtime.stop()
    for thread in crew:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert sorted(diary.ran) == sorted(f"job_{number}" for number in range(3 * BATCH))


def test_jobs_that_an_older_program_queues_are_told_too(postgres_home):
    """A program of before knows nothing of wake-ups, and its jobs are told all the same: the schema does it."""
    with psycopg.connect(postgres_home.where, autocommit=True) as connection:
        channel = connection.execute("SELECT 'campaignbridge_' || md5(current_schema())").fetchone()[0]
        connection.execute(f'LISTEN "{channel}"')
        postgres_home.rows(
            "INSERT INTO jobs (id, type, target, payload, state, max_attempts, run_at, created_at, updated_at) "
            "VALUES ('j', 'work', 't', '{}', 'queued', 5, 1, 1, 1)"
        )
        assert len(list(connection.notifies(timeout=1, stop_after=1))) == 1
