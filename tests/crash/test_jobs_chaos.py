"""Many jobs, four worker processes, and kill -9 at random: every job ends, and no unsafe one starts twice.

Small in every run; `make chaos` plays it at its full size, or give CAMPAIGNBRIDGE_CHAOS_JOBS, _SECONDS and _SEED.
Workers are real processes with the real runtime: threads, heartbeats, signals. Each handler writes a line
before it does anything, with one write that outlives its process; those lines are compared with the store.
"""

import json
import os
import random
import select
import signal
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest

from campaignbridge.domain.job import Done, Handler, Request
from campaignbridge.engine.runtime import Runtime
from campaignbridge.engine.worker import Worker
from campaignbridge.host import HostChance, HostClock, process_identity
from support.stores import Child

pytest_plugins = ["support.stores"]

JOBS = int(os.environ.get("CAMPAIGNBRIDGE_CHAOS_JOBS", "8000"))  # more than are done while it kills
SECONDS = float(os.environ.get("CAMPAIGNBRIDGE_CHAOS_SECONDS", "4"))
SEED = int(os.environ.get("CAMPAIGNBRIDGE_CHAOS_SEED", "20261129"))
DRAIN_S = 60 + JOBS / 100  # an upper bound that only a failing run reaches
LEASE_MS = 2_000
POLL_S = 0.25
PROCESSES = 4
BETWEEN_KILLS_S = (0.1, 0.7)

pytestmark = pytest.mark.timeout(60 + SECONDS + 2 * DRAIN_S)


def work(home, diary):
    """Be a worker until told to stop."""
    book = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(what, job):
        os.write(book, f"{what} {job.type} {job.id}\n".encode())

    def handler(name, *, retry_safe):
        def run(job):
            note("ran", job)
            return Done()

        return Handler(
            type=name,
            run=run,
            retry_safe=retry_safe,
            abandoned=lambda job: note("abandoned", job),
            lease_ms=LEASE_MS,
        )

    handlers = {"safe": handler("safe", retry_safe=True), "unsafe": handler("unsafe", retry_safe=False)}
    holder = process_identity(HostChance())
    worker = Worker(home.store(), handlers, HostClock(), HostChance(), holder, lambda event, job: None)
    Runtime(worker, threads=2, poll_s=POLL_S).run()


def fork_worker(home, diary):
    """Fork a worker from this process, which has nothing open."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(home, diary)
        code = 0
    except BaseException:  # noqa: BLE001  the supervisor sees the exit code
        traceback.print_exc()
    finally:
        os._exit(code)


def let_pass(seconds):
    select.select([], [], [], seconds)


def unfinished(home):
    return home.rows("SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'claimed')")[0]["n"]


def supervise(home, _parent, diary, seconds, seed):
    """Keep four workers alive while killing them; then let them drain the queue, and end them politely."""
    chance = random.Random(seed)
    began = time.monotonic()
    crew = [fork_worker(home, diary) for _ in range(PROCESSES)]
    kills = 0
    while time.monotonic() < began + seconds:
        let_pass(chance.uniform(*BETWEEN_KILLS_S))
        struck = chance.randrange(PROCESSES)
        os.kill(crew[struck], signal.SIGKILL)
        _, status = os.waitpid(crew[struck], 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        crew[struck] = fork_worker(home, diary)
        kills += 1
    left = unfinished(home)
    until = time.monotonic() + DRAIN_S
    while unfinished(home) and time.monotonic() < until:
        let_pass(0.2)
    drained_s = time.monotonic() - began
    for pid in crew:
        os.kill(pid, signal.SIGTERM)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in crew]
    return {"kills": kills, "left_after_kills": left, "seconds": round(drained_s, 1), "exit_codes": codes}


def test_of_many_jobs_under_random_kills_every_one_ends_and_no_unsafe_one_starts_twice(
    home, store, tmp_path, record_property
):
    with store.unit() as unit:
        unit.jobs.enqueue_many(
            (f"job_{n:06}", Request(type="unsafe" if n % 2 else "safe", target=f"t{n}", max_attempts=50))
            for n in range(JOBS)
        )
    home.close()
    diary = str(tmp_path / "diary")
    supervisor = Child(home, supervise, diary, SECONDS, SEED)
    try:
        told = supervisor.hear()
    finally:
        supervisor.close()
    noted = Counter(tuple(line.split()) for line in Path(diary).read_text("utf-8").splitlines())
    rows = home.rows("SELECT id, type, state, last_error, fence FROM jobs")
    ends = Counter((row["type"], row["state"], row["last_error"]) for row in rows)
    times = {row["id"]: noted["ran", row["type"], row["id"]] for row in rows}
    unsafe = [row for row in rows if row["type"] == "unsafe"]
    figures = {
        "chaos": home.dialect,
        "jobs": JOBS,
        "seed": SEED,
        **told,
        "ended": sum(n for (_, state, _), n in ends.items() if state not in ("queued", "claimed")),
        "succeeded": sum(n for (_, state, _), n in ends.items() if state == "succeeded"),
        "abandoned": ends["unsafe", "dead", "abandoned"],
        "claimed_again": sum(row["fence"] > 1 for row in rows),
        "safe_run_again": sum(times[row["id"]] > 1 for row in rows if row["type"] == "safe"),
        "unsafe_started_twice": sum(times[row["id"]] > 1 for row in unsafe),
    }
    record_property("chaos", json.dumps(figures))
    assert figures["ended"] == len(rows) == JOBS
    assert figures["unsafe_started_twice"] == 0
    assert set(ends) <= {
        ("safe", "succeeded", None), ("unsafe", "succeeded", None), ("unsafe", "dead", "abandoned"),
    }  # fmt: skip
    for row in rows:
        if row["state"] == "succeeded":
            assert times[row["id"]] >= 1, "what is recorded as done was done"
        else:
            assert noted["abandoned", "unsafe", row["id"]] >= 1, "whoever looks after it was told"
    assert told["exit_codes"] == [0] * PROCESSES, "those who were told to stop did so in order"
    assert told["kills"] >= SECONDS / BETWEEN_KILLS_S[1] / 2
    assert figures["claimed_again"] > 0, "no kill met a job: nothing was tested"
