"""Running jobs: every row of the table of what becomes of a job, and what never happens twice."""

import pytest

from campaignbridge.domain.job import Again, Done, Fail, Retry, backoff_ms
from campaignbridge.engine.tick import tick
from campaignbridge.host import HostChance, process_identity
from support.stores import MINUTE_MS, Diary, MovedClock, claim_one, enqueue

pytest_plugins = ["support.stores"]

LEASE_MS = 120_000
CANARY = "canary-7f3a mail@person.example"


@pytest.fixture
def diary():
    return Diary()


def explode(job):
    raise RuntimeError(CANARY)


def fate(home, job_id="job_1"):
    row = home.job(job_id)
    return row["state"], row["last_error"]


def die_in_mid_job(worker):
    """Claim one job and start it as a worker does, then vanish."""
    (claimed,) = worker.claim(1)
    assert worker._start(claimed, worker.handlers[claimed.job.type])
    return claimed.job


# the table


def test_a_job_without_a_handler_is_dead(home, store, diary):
    enqueue(store, type="stranger")
    tick(diary.worker(store, diary.handler()))
    assert fate(home) == ("dead", "no_handler")
    assert diary.ran == []


def test_a_job_that_did_its_work_has_succeeded(home, store, diary):
    enqueue(store)
    tick(diary.worker(store, diary.handler(Done())))
    assert fate(home) == ("succeeded", None)
    assert home.job("job_1")["finished_at"] is not None


def test_a_job_that_can_never_succeed_has_failed_for_good(home, store, diary):
    enqueue(store)
    worker = diary.worker(store, diary.handler(Fail("address_gone")))
    tick(worker)
    home.pass_ms(24 * 60 * MINUTE_MS)
    tick(worker)
    assert fate(home) == ("failed", "address_gone")
    assert diary.ran == ["job_1"]


@pytest.mark.parametrize("retry_safe", [True, False])
def test_a_job_that_may_succeed_later_goes_back_with_backoff_or_the_given_delay(
    home, store, diary, retry_safe
):
    for job_id, outcome, wait_ms in (
        ("job_1", Retry("busy"), MINUTE_MS),
        ("job_2", Retry("busy", 5_000), 5_000),
    ):
        enqueue(store, job_id)
        tick(diary.worker(store, diary.handler(outcome, retry_safe=retry_safe)))
        row = home.job(job_id)
        assert (row["state"], row["last_error"], row["attempts"]) == ("queued", "busy", 1)
        assert row["run_at"] - row["updated_at"] == pytest.approx(wait_ms, abs=50)
        assert row["started_at"] is None


def test_a_job_without_attempts_left_is_dead_with_its_last_error(home, store, diary):
    enqueue(store, max_attempts=2)
    outcomes = iter([Retry("busy"), Retry("still_busy")])
    worker = diary.worker(store, diary.handler(lambda job: next(outcomes)))
    tick(worker)
    home.pass_ms(2 * MINUTE_MS)
    tick(worker)
    assert fate(home) == ("dead", "still_busy")


def test_backoff_doubles_from_one_minute_to_an_hour_and_then_the_job_is_dead(home, store, diary):
    enqueue(store, max_attempts=9)
    worker = diary.worker(store, diary.handler(explode))
    waits = []
    for _ in range(9):
        tick(worker)
        row = home.job("job_1")
        if row["state"] == "queued":
            waits.append(round((row["run_at"] - row["updated_at"]) / MINUTE_MS, 1))
            home.pass_ms(row["run_at"] - row["updated_at"] - 1_000)
            assert tick(worker).ran == 0, "not a second too early"
            home.pass_ms(1_000)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert fate(home) == ("dead", "handler_exception")
    assert len(diary.ran) == 9


def test_jitter_only_ever_lengthens_the_wait():
    for attempts in range(1, 60):
        base = min(MINUTE_MS * 2 ** (attempts - 1), 60 * MINUTE_MS)
        waits = [backoff_ms(attempts, fraction) for fraction in (0.0, 0.5, 0.999)]
        assert waits[0] == base
        assert waits == sorted(waits)
        assert base < waits[2] <= base * 1.1


def test_a_retry_safe_handler_that_raises_is_tried_again(home, store, diary):
    enqueue(store)
    tick(diary.worker(store, diary.handler(explode)))
    assert fate(home) == ("queued", "handler_exception")
    assert diary.abandoned == []


def test_an_unsafe_handler_that_raises_is_abandoned_and_not_tried_an_hour_later(home, store, diary):
    enqueue(store)
    worker = diary.worker(store, diary.handler(explode, retry_safe=False))
    tick(worker)
    assert fate(home) == ("dead", "abandoned")
    home.pass_ms(61 * MINUTE_MS)
    tick(worker)
    assert diary.ran == diary.abandoned == ["job_1"]


def test_exception_messages_are_stored_nowhere(home, store, diary):
    enqueue(store, "job_1")
    enqueue(store, "job_2", type="unsafe")
    worker = diary.worker(
        store,
        diary.handler(explode),
        diary.handler(explode, type="unsafe", retry_safe=False, hook=explode),
    )
    tick(worker)
    home.pass_ms(24 * 60 * MINUTE_MS)
    tick(worker)
    assert diary.ran == ["job_1", "job_2", "job_1"]
    everything = home.everything()
    assert "handler_exception" in everything
    assert "canary" not in everything
    assert "RuntimeError" not in everything


@pytest.mark.parametrize(
    "garbage",
    [Fail("Not a code: " + CANARY), Retry("NO"), Again(after_ms=1, payload={"token": CANARY}), "done", 7],
)
def test_what_a_handler_returns_and_nobody_can_record_counts_as_its_exception(home, store, diary, garbage):
    """The rest of the batch runs all the same."""
    enqueue(store, "job_1", at=1)
    enqueue(store, "job_2", at=2)
    enqueue(store, "job_3", at=3, type="unsafe")
    worker = diary.worker(
        store,
        diary.handler(lambda job: garbage if job.id == "job_1" else Done()),
        diary.handler(lambda job: garbage, type="unsafe", retry_safe=False),
    )
    tick(worker)
    assert fate(home) == ("queued", "handler_exception")
    assert fate(home, "job_2") == ("succeeded", None)
    assert fate(home, "job_3") == ("dead", "abandoned")
    assert "canary" not in home.everything()


def test_a_hook_that_raises_is_logged_and_the_job_still_ends(home, store, diary):
    enqueue(store)
    tick(diary.worker(store, diary.handler(explode, retry_safe=False, hook=explode)))
    assert fate(home) == ("dead", "abandoned")
    assert ("abandoned_hook_failed", "job_1") in diary.logged


# a worker that is gone


def test_a_safe_job_of_a_worker_that_is_gone_runs_again(home, store, diary):
    enqueue(store)
    worker = diary.worker(store, diary.handler())
    die_in_mid_job(worker)
    home.pass_ms(LEASE_MS + 1_000)
    tick(diary.worker(store, diary.handler(), holder="b"))
    assert diary.ran == ["job_1"]
    assert fate(home) == ("succeeded", None)
    assert home.job("job_1")["attempts"] == 2


def test_an_unsafe_job_that_was_started_is_not_run_again_and_its_hook_is_called_once(home, store, diary):
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    die_in_mid_job(diary.worker(store, handler))
    home.pass_ms(LEASE_MS + 1_000)
    for holder in ("b", "c"):
        tick(diary.worker(store, handler, holder=holder))
        home.pass_ms(LEASE_MS + 1_000)
    assert (diary.ran, diary.abandoned) == ([], ["job_1"])
    assert fate(home) == ("dead", "abandoned")


def test_removing_the_takeover_guard_runs_half_done_work_again(home, store, diary, monkeypatch):
    """The guard is a decision of the worker: without it the same crash runs the handler a second time."""
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    die_in_mid_job(diary.worker(store, handler))
    home.pass_ms(LEASE_MS + 1_000)
    monkeypatch.setattr("campaignbridge.engine.worker.abandoned_midway", lambda job, handler: False)
    unmarked = home.mutant("jobs.start", "AND started_at IS NULL")
    tick(diary.worker(unmarked, handler, holder="b"))
    assert diary.ran == ["job_1"]


def test_even_without_the_takeover_guard_the_started_mark_keeps_it_from_running(
    home, store, diary, monkeypatch
):
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    die_in_mid_job(diary.worker(store, handler))
    home.pass_ms(LEASE_MS + 1_000)
    monkeypatch.setattr("campaignbridge.engine.worker.abandoned_midway", lambda job, handler: False)
    tick(diary.worker(store, handler, holder="b"), batch=1)
    assert diary.ran == []


def test_an_unsafe_job_that_was_claimed_and_never_started_is_run_by_the_next_worker(home, store, diary):
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    diary.worker(store, handler).claim(1)
    home.pass_ms(LEASE_MS + 1_000)
    tick(diary.worker(store, handler, holder="b"))
    assert (diary.ran, diary.abandoned) == (["job_1"], [])
    assert fate(home) == ("succeeded", None)


@pytest.mark.parametrize("retry_safe", [True, False])
def test_a_crash_on_the_last_attempt_ends_the_job(home, store, diary, retry_safe):
    enqueue(store, max_attempts=1)
    handler = diary.handler(retry_safe=retry_safe)
    die_in_mid_job(diary.worker(store, handler))
    home.pass_ms(LEASE_MS + 1_000)
    tick(diary.worker(store, handler, holder="b"))
    assert (diary.ran, diary.abandoned) == ([], ["job_1"])
    assert fate(home) == ("dead", "attempts_exhausted")


def test_a_worker_that_was_stopped_while_its_handler_ran_records_nothing_after_a_takeover(home, store, diary):
    """LEASE-1 without heartbeats: the second may take over, and the first one's outcome is refused."""
    enqueue(store)
    second = diary.worker(store, diary.handler(), holder="b")

    def slow(job):
        home.pass_ms(LEASE_MS + 1_000)
        second.run(second.claim(1)[0])
        return Fail("too_late")

    tick(diary.worker(store, diary.handler(slow)), batch=1)
    assert diary.ran == ["job_1", "job_1"]
    assert fate(home) == ("succeeded", None)
    assert ("taken_over", "job_1") in diary.logged


def test_heartbeats_keep_a_long_job_from_a_second_worker(home, store, diary):
    """LEASE-1: ten minutes of work under a lease of two, with a beat every forty seconds."""
    enqueue(store)
    second = diary.worker(store, diary.handler(), holder="b")

    def long(job):
        for _ in range(15):
            home.pass_ms(LEASE_MS // 3)
            with store.unit() as unit:
                assert unit.jobs.renew_all([job], holder="a", lease_ms=LEASE_MS)
            assert second.claim(10) == []

    tick(diary.worker(store, diary.handler(long)))
    assert diary.ran == ["job_1"]
    assert fate(home) == ("succeeded", None)
    assert home.job("job_1")["attempts"] == 1


@pytest.mark.parametrize("retry_safe", [True, False])
def test_a_job_of_a_slow_batch_does_not_start_after_its_lease_was_taken_over(home, store, diary, retry_safe):
    for number in range(3):
        enqueue(store, f"job_{number}", at=number)
    clock = MovedClock()
    other = diary.worker(store, diary.handler(retry_safe=retry_safe), holder="b")

    def slow(job):
        if job.holder == "a" and job.id == "job_0":
            clock.pass_ms(LEASE_MS + 1_000)
            home.pass_ms(LEASE_MS + 1_000)
            for _ in range(3):  # each expired lease is claimed alone; job_0 is among them
                other.run(other.claim(10)[0])

    worker = diary.worker(store, diary.handler(slow, retry_safe=retry_safe), clock=clock)
    for claimed in worker.claim(3):
        worker.run(claimed)
    assert diary.ran.count("job_1") == diary.ran.count("job_2") == 1
    assert [entry for entry in diary.logged if entry[0] == "lease_lost"] == [
        ("lease_lost", "job_1"),
        ("lease_lost", "job_2"),
    ]


def test_without_the_check_before_the_start_a_taken_over_job_runs_twice(home, diary):
    guard = "AND state = 'claimed' AND fence = :fence AND holder = :holder AND lease_until > now_ms()"
    store = home.mutant("jobs.start", guard)
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    stopped = diary.worker(store, handler)
    (claimed,) = stopped.claim(1)
    home.pass_ms(LEASE_MS + 1_000)
    other = diary.worker(store, handler, holder="b")
    (taken,) = other.claim(1)
    stopped.run(claimed)
    with home.mutant("jobs.start", [guard, "AND started_at IS NULL"]).unit() as unit:
        assert unit.jobs.start(taken.job, lease_ms=LEASE_MS)
    assert diary.ran == ["job_1"], "the one whose lease was taken over ran"


def test_a_batch_that_waits_behind_a_slow_job_has_its_leases_renewed(home, store, diary):
    for number in range(2):
        enqueue(store, f"job_{number}", at=number)
    clock = MovedClock()

    def slow(job):
        clock.pass_ms(70_000)
        home.pass_ms(70_000)

    tick(diary.worker(store, diary.handler(slow), clock=clock))
    assert diary.ran == ["job_0", "job_1"]
    assert [fate(home, f"job_{number}")[0] for number in range(2)] == ["succeeded"] * 2


def test_a_suspended_host_does_not_start_what_it_had_claimed(home, store, diary):
    """LEASE-3d: on resume the deadline has passed, and that is seen before the next side effect."""
    enqueue(store)
    clock = MovedClock()
    worker = diary.worker(store, diary.handler(), clock=clock)
    (claimed,) = worker.claim(1)
    clock.boot_ms += 3 * LEASE_MS  # the wall clock of the host hasn't noticed yet
    home.pass_ms(3 * LEASE_MS)
    worker.run(claimed)
    assert diary.ran == []
    assert diary.logged == [("lease_lost", "job_1")]
    assert claim_one(store, "b").taken_over


def test_renewals_that_fail_for_longer_than_the_lease_keep_every_further_job_from_starting(
    home, store, diary
):
    """LEASE-5: the start itself asks, no callback has to have fired."""
    for number in range(4):
        enqueue(store, f"job_{number}", at=number)
    clock = MovedClock()
    worker = diary.worker(store, diary.handler(retry_safe=False), clock=clock)
    batch = worker.claim(4)
    worker.run(batch[0])
    clock.pass_ms(LEASE_MS + 1_000)
    home.pass_ms(LEASE_MS + 1_000)
    for claimed in batch[1:]:
        worker.run(claimed)
    assert diary.ran == ["job_0"]
    assert len(diary.logged) == 3


def test_a_sweeper_that_paused_between_its_read_and_its_write_changes_nothing(home, store, diary):
    """REC-2: it saw the job as abandoned; meanwhile the job was finished and a third worker claimed it anew."""
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    gone = die_in_mid_job(diary.worker(store, handler))
    home.pass_ms(LEASE_MS + 1_000)
    sweeper = diary.worker(store, handler, holder="sweeper")
    (read,) = sweeper.claim(1)
    home.pass_ms(LEASE_MS + 1_000)
    third = diary.worker(store, handler, holder="third")
    (taken,) = third.claim(1)
    third.run(taken)
    row = home.job("job_1")
    sweeper.run(read)
    with store.unit() as unit:
        assert not unit.jobs.finish(gone)
    assert home.job("job_1") == row
    assert ("taken_over", "job_1") in diary.logged


def test_a_worker_that_starts_anew_on_the_same_host_is_another_one(home, store, diary):
    """REC-4: its heartbeats keep nothing of its predecessor alive, and there is no list of workers to clear."""
    chance = HostChance()
    first, second = process_identity(chance), process_identity(chance)
    assert first != second
    assert first.rpartition(":")[0] == second.rpartition(":")[0], "the same host and pid"
    enqueue(store)
    handler = diary.handler(retry_safe=False)
    orphan = die_in_mid_job(diary.worker(store, handler, holder=first))
    home.pass_ms(LEASE_MS - 1_000)
    with store.unit() as unit:
        assert unit.jobs.renew_all([orphan], holder=second, lease_ms=LEASE_MS) == set()
    home.pass_ms(2_000)
    tick(diary.worker(store, handler, holder=second))
    assert diary.abandoned == ["job_1"]


def test_identities_never_repeat():
    chance = HostChance()
    assert len({process_identity(chance) for _ in range(2_000)}) == 2_000


# poison


class Killed(BaseException):
    """What a SIGKILL looks like from inside: nothing after it runs."""


def test_a_job_that_kills_its_worker_ends_dead_and_its_neighbours_lose_no_attempt(home, store, diary):
    """RETRY-1: next to a hundred healthy jobs; each death costs the poison one attempt, and nobody else any."""
    enqueue(store, "job_poison", at=0, max_attempts=3)

    def run(job):
        if job.id == "job_poison":
            raise Killed

    deaths = 0
    for start in range(6):
        worker = diary.worker(store, diary.handler(run), holder=f"w{start}")
        try:
            tick(worker)
        except Killed:
            deaths += 1
        if start == 0:  # what the first dead worker had claimed beside it
            for number in range(100):
                enqueue(store, f"job_{number:03}", at=number + 1)
        home.pass_ms(LEASE_MS + 1_000)
    assert deaths == 3
    assert fate(home, "job_poison") == ("dead", "attempts_exhausted")
    worker = diary.worker(store, diary.handler(run), holder="last")
    while tick(worker).ran:
        pass
    healthy = home.rows("SELECT state, attempts FROM jobs WHERE id <> 'job_poison'")
    assert len(healthy) == 100
    assert {(row["state"], row["attempts"]) for row in healthy} == {("succeeded", 1)}


def test_neighbours_of_the_batch_in_which_a_worker_died_are_claimed_one_by_one_and_end(home, store, diary):
    for number in range(5):
        enqueue(store, f"job_{number}", at=number, max_attempts=2)

    def run(job):
        if job.id == "job_0":
            raise Killed

    for start in range(3):
        with pytest.raises(Killed) if start < 2 else pytest.MonkeyPatch.context():
            tick(diary.worker(store, diary.handler(run), holder=f"w{start}"))
        home.pass_ms(LEASE_MS + 1_000)
    assert fate(home, "job_0") == ("dead", "attempts_exhausted")
    rows = home.rows("SELECT state, attempts FROM jobs WHERE id <> 'job_0'")
    assert [row["state"] for row in rows] == ["succeeded"] * 4
    assert max(row["attempts"] for row in rows) <= 2


# long watches and late cron


def test_a_thousand_times_again_uses_no_attempts(sqlite_home, diary):
    store = sqlite_home.store()
    enqueue(store, max_attempts=2)
    worker = diary.worker(store, diary.handler(Again(after_ms=0)))
    for _ in range(1_000):
        assert tick(worker, batch=1).ran == 1
    assert len(diary.ran) == 1_000
    row = sqlite_home.job("job_1")
    assert (row["state"], row["attempts"], row["fence"]) == ("queued", 0, 1_000)


@pytest.mark.postgres
def test_a_thousand_times_again_uses_no_attempts_on_postgresql(postgres_home, diary):
    store = postgres_home.store()
    enqueue(store, max_attempts=2)
    worker = diary.worker(store, diary.handler(Again(after_ms=0)))
    for _ in range(1_000):
        assert tick(worker, batch=1).ran == 1
    assert postgres_home.job("job_1")["attempts"] == 0


def test_again_forgets_the_attempts_and_the_error_of_earlier_trouble(home, store, diary):
    enqueue(store, max_attempts=3)
    outcomes = iter([Retry("busy", 0), Retry("busy", 0), Again(after_ms=0), Done()])
    worker = diary.worker(store, diary.handler(lambda job: next(outcomes)))
    for _ in range(3):
        tick(worker, batch=1)
    row = home.job("job_1")
    assert (row["attempts"], row["last_error"], row["state"]) == (0, None, "queued")


def test_after_a_gap_of_six_hours_two_quick_ticks_do_one_overdue_run(home, store, diary):
    enqueue(store)
    worker = diary.worker(store, diary.handler(Again(after_ms=MINUTE_MS)))
    tick(worker)
    home.pass_ms(6 * 60 * MINUTE_MS)
    assert [tick(worker).ran, tick(worker).ran] == [1, 0]
    assert len(diary.ran) == 2
