"""A tick: what it does, what it costs, and the long-running worker around the same steps."""

import pytest

from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.job import Request, Retry
from campaignbridge.engine.runtime import Runtime
from campaignbridge.engine.tick import PURGE_CHUNK, tick
from campaignbridge.store.unit import Store
from support.stores import Counting, Diary, claim, claim_one, enqueue, together

pytest_plugins = ["support.stores"]

LEASE_MS = 120_000
DAY_MS = 24 * 3_600_000


@pytest.fixture
def counted(home):
    """Return a store whose statements are counted, and the list of their names."""
    database = Counting(home.open())
    return Store(database), database.names


def test_an_idle_tick_costs_at_most_five_statements(counted):
    store, names = counted
    diary = Diary()
    worker = diary.worker(store, diary.handler())
    tick(worker)
    assert 0 < len(names) <= 5, names


@pytest.mark.parametrize("retry_safe", [True, False])
@pytest.mark.parametrize("outcome", [None, Retry("busy")])
def test_a_tick_with_three_batches_queued_is_bounded_by_its_batch(counted, retry_safe, outcome):
    store, names = counted
    for number in range(30):
        enqueue(store, f"job_{number}")
    diary = Diary()
    worker = diary.worker(store, diary.handler(outcome, retry_safe=retry_safe))
    names.clear()
    assert tick(worker, batch=10).ran == 10
    assert len(names) <= 5 + 3 * 10, names
    assert len(diary.ran) == 10


def test_a_tick_over_expired_leases_costs_three_statements_for_each_job_too(home, counted):
    store, names = counted
    for number in range(10):
        enqueue(store, f"job_{number}")
    claim(store, "gone")
    home.pass_ms(LEASE_MS + 1_000)
    diary = Diary()
    worker = diary.worker(store, diary.handler())
    names.clear()
    assert tick(worker, batch=10).ran == 10
    assert len(names) <= 5 + 3 * 10, names
    assert len(diary.ran) == 10


def test_a_tick_goes_on_after_what_it_took_over_until_its_batch_is_full(home, store):
    for number in range(3):
        enqueue(store, f"old_{number}")
    claim(store, "gone")
    home.pass_ms(LEASE_MS + 1_000)
    for number in range(10):
        enqueue(store, f"job_{number}")
    diary = Diary()
    assert tick(diary.worker(store, diary.handler()), batch=10).ran == 10
    assert set(diary.ran[:3]) == {"old_0", "old_1", "old_2"}


def test_a_tick_runs_no_more_than_its_batch(store):
    for number in range(30):
        enqueue(store, f"job_{number}")
    diary = Diary()
    worker = diary.worker(store, diary.handler())
    assert [tick(worker, batch=7).ran for _ in range(6)] == [7, 7, 7, 7, 2, 0]
    assert len(set(diary.ran)) == 30


def test_two_ticks_at_once_are_harmless(home, store):
    for number in range(60):
        enqueue(store, f"job_{number}")
    diary = Diary()

    def run(number):
        worker = diary.worker(store, diary.handler(retry_safe=False), holder=f"w{number}")
        while tick(worker).ran:
            pass

    together(home, 4, run)
    assert sorted(diary.ran) == sorted(f"job_{number}" for number in range(60))
    assert diary.logged == []


def test_a_tick_purges_old_jobs_in_bounded_chunks(home, store):
    with store.unit() as unit:
        unit.jobs.enqueue_many(
            (f"job_{n}", Request(type="work", target=f"t{n}")) for n in range(PURGE_CHUNK + 20)
        )
    home.rows("UPDATE jobs SET state = 'succeeded', finished_at = now_ms() - ?", 8 * DAY_MS)
    diary = Diary()
    worker = diary.worker(store, diary.handler())
    assert [tick(worker).purged for _ in range(3)] == [PURGE_CHUNK, 20, 0]


def test_a_job_that_fails_does_not_keep_its_neighbours_from_running(home, store):
    for number in range(5):
        enqueue(store, f"job_{number}", at=number)

    def run(job):
        if job.id == "job_1":
            raise RuntimeError

    diary = Diary()
    tick(diary.worker(store, diary.handler(run)))
    assert len(diary.ran) == 5
    states = [row["state"] for row in home.rows("SELECT state FROM jobs ORDER BY id")]
    assert states == ["succeeded", "queued", "succeeded", "succeeded", "succeeded"]


# the long-running worker


class Broken:
    """A database that is gone for as long as the test says."""

    def __init__(self, database):
        self.database = database
        self.gone = False

    def transaction(self, *, write=True):
        if self.gone:
            raise StoreGone("The store can't be used now.")
        return self.database.transaction(write=write)

    def close(self):
        self.database.close()


def test_what_a_worker_lost_hold_of_while_the_store_was_gone_is_not_kept_alive_by_its_heartbeats(home):
    """The store is gone when the first of a batch wants to finish: the worker lives on, the batch must not hang."""
    database = Broken(home.open())
    store = Store(database)
    for number in range(3):
        enqueue(store, f"job_{number}", at=number)

    def run(job):
        database.gone = True

    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler(run)))
    with pytest.raises(StoreGone):
        runtime._one_batch()
    database.gone = False
    for _ in range(4):
        home.pass_ms(LEASE_MS // 3)
        runtime.renew()
    assert claim_one(home.store(), "b").taken_over


def test_heartbeats_of_a_worker_process_keep_what_it_has_in_hand(home, store):
    enqueue(store)
    second = home.store()

    def long(job):
        for _ in range(10):
            home.pass_ms(LEASE_MS // 3)
            runtime.renew()
            assert claim(second, "b") == []

    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler(long)))
    assert runtime._one_batch()
    assert diary.ran == ["job_1"]
    assert home.job("job_1")["state"] == "succeeded"
    assert runtime.in_hand == {}


def test_a_worker_that_is_told_to_stop_finishes_what_runs_and_gives_the_rest_back(home, store):
    for number in range(4):
        enqueue(store, f"job_{number}", at=number)

    def run(job):
        runtime.stopping.set()

    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler(run, retry_safe=False)))
    assert runtime._one_batch()
    assert diary.ran == ["job_0"]
    rows = home.rows("SELECT id, state, attempts FROM jobs ORDER BY id")
    assert [(row["state"], row["attempts"]) for row in rows] == [("succeeded", 1)] + [("queued", 0)] * 3


def test_a_worker_whose_clock_differs_from_the_stores_stops_claiming_and_starts_again(home):
    store = home.store(ahead_ms=31_000)
    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler()))
    runtime._check_skew()
    assert runtime.skewed.is_set()
    home.pass_ms(-31_000)
    runtime._check_skew()
    assert not runtime.skewed.is_set()


def test_the_offset_of_a_test_is_no_difference_of_clocks(home):
    store = home.store(ahead_ms=600_000)
    diary = Diary()
    runtime = Runtime(diary.worker(store, diary.handler()), clock_offset_ms=600_000)
    runtime._check_skew()
    assert not runtime.skewed.is_set()


@pytest.mark.parametrize("leases", [[], [600_000], [30_000, 120_000]])
def test_a_heart_beats_three_times_in_the_shortest_lease(leases, sqlite_home):
    diary = Diary()
    handlers = [diary.handler(type=f"work{n}", lease_ms=lease) for n, lease in enumerate(leases)]
    runtime = Runtime(diary.worker(sqlite_home.store(), *handlers))
    assert runtime._beat_every_s() == min([LEASE_MS, *leases]) / 3_000
