"""A real worker process is killed by SIGKILL in mid-job; another one comes after its lease."""

import pytest

from campaignbridge.engine.tick import tick
from campaignbridge.host import HostChance, HostClock, process_identity
from support.stores import Child, Diary, enqueue, in_processes

pytest_plugins = ["support.stores"]

LEASE_MS = 120_000


def work_until_killed(home, parent, retry_safe, deadly):
    """Tick with a handler that tells the parent that it is inside, then blocks; `deadly` names the job."""

    def run(job):
        if job.id == deadly:
            parent.say("inside")
            parent.wait()

    diary = Diary()
    worker = diary.worker(
        home.store(),
        diary.handler(run, retry_safe=retry_safe),
        holder=process_identity(HostChance()),
        clock=HostClock(),
    )
    tick(worker)
    return diary.ran


def kill_in_mid_job(home, retry_safe, deadly="job_0"):
    child = Child(home, work_until_killed, retry_safe, deadly)
    try:
        assert child.hear() == "inside"
        child.kill()
        assert child.process.returncode == -9
    finally:
        child.close()


def second_worker(home, retry_safe):
    diary = Diary()
    tick(
        diary.worker(
            home.store(), diary.handler(retry_safe=retry_safe), holder=process_identity(HostChance())
        )
    )
    return diary


def test_a_safe_job_whose_worker_was_killed_runs_again_after_its_lease(home, store):
    enqueue(store, "job_0")
    kill_in_mid_job(home, retry_safe=True)
    assert second_worker(home, retry_safe=True).ran == [], "its lease is still live"
    home.pass_ms(LEASE_MS + 1_000)
    diary = second_worker(home, retry_safe=True)
    assert (diary.ran, diary.abandoned) == (["job_0"], [])
    row = home.job("job_0")
    assert (row["state"], row["attempts"], row["fence"]) == ("succeeded", 2, 2)


def test_an_unsafe_job_whose_worker_was_killed_is_never_run_again(home, store):
    enqueue(store, "job_0")
    kill_in_mid_job(home, retry_safe=False)
    home.pass_ms(LEASE_MS + 1_000)
    first, second = second_worker(home, retry_safe=False), second_worker(home, retry_safe=False)
    assert first.ran + second.ran == []
    assert first.abandoned + second.abandoned == ["job_0"], "the hook is called once"
    row = home.job("job_0")
    assert (row["state"], row["last_error"]) == ("dead", "abandoned")


@pytest.mark.parametrize("retry_safe", [True, False])
def test_the_rest_of_a_killed_workers_batch_is_run_by_the_next(home, store, retry_safe):
    for number in range(5):
        enqueue(store, f"job_{number}", at=number)
    kill_in_mid_job(home, retry_safe=retry_safe, deadly="job_1")
    home.pass_ms(LEASE_MS + 1_000)
    diary = second_worker(home, retry_safe)
    rest = ["job_2", "job_3", "job_4"]
    assert sorted(diary.ran) == (["job_1", *rest] if retry_safe else rest)
    rows = home.rows("SELECT id, state FROM jobs ORDER BY id")
    states = ["succeeded", "succeeded" if retry_safe else "dead", *["succeeded"] * 3]
    assert [row["state"] for row in rows] == states


def test_a_job_that_kills_every_process_that_runs_it_ends_dead(home, store):
    enqueue(store, "job_0", at=0, max_attempts=2)
    enqueue(store, "job_1", at=1, max_attempts=2)
    for _ in range(2):
        kill_in_mid_job(home, retry_safe=True)
        home.pass_ms(LEASE_MS + 1_000)
    diary = second_worker(home, retry_safe=True)
    assert diary.ran == ["job_1"]
    assert home.job("job_0")["last_error"] == "attempts_exhausted"
    assert home.job("job_1")["state"] == "succeeded"


def drain(home, parent, number):
    diary = Diary()
    worker = diary.worker(
        home.store(),
        diary.handler(retry_safe=False),
        holder=process_identity(HostChance()),
        clock=HostClock(),
    )
    parent.say("ready")
    parent.wait()
    while tick(worker).ran:
        pass
    return diary.ran


def test_worker_processes_that_race_run_each_unsafe_job_once(home, store):
    for number in range(60):
        enqueue(store, f"job_{number}")
    shares = in_processes(home, 3, drain)
    assert sorted(job for share in shares for job in share) == sorted(f"job_{number}" for number in range(60))
