"""One tick: a batch of jobs, then what recurs, then the clearing away of old rows. Meant for once a minute.

1. Claim and run up to `batch` jobs.
2. In one transaction: record that this worker completed a tick and when it last claimed, and queue the
   recurring jobs that are due. One statement when none is.
3. With some of the batch left, claim and run what was just queued.
4. Clear away what is old, if there is any, in bounded chunks.

An idle tick is two statements. Two ticks at once are harmless. The cost is bounded by the batch, not by what is
queued.
"""

from dataclasses import dataclass

from campaignbridge.engine.recurring import known_text, settle
from campaignbridge.engine.worker import Worker
from campaignbridge.ports import Row

DAY_MS = 24 * 3_600_000
KEEP_SUCCEEDED_MS = 7 * DAY_MS
KEEP_FAILED_MS = 90 * DAY_MS
PURGE_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick did."""

    ran: int
    queued: int  # recurring jobs that were due
    purged: int
    paused: bool = False  # the store is a copy that nobody has adopted: nothing runs


def tick(worker: Worker, *, batch: int = 10, polling_ms: int | None = None) -> Ticked:
    """Run up to `batch` jobs that are due, queue what recurs, and purge what ended long ago.

    `polling_ms` is for how long this worker has heard no wake-ups, if it should hear them.
    """
    ran = _work(worker, batch)
    row, queued = _complete(worker, polling_ms)
    if queued and ran < batch:
        ran += _work(worker, batch - ran)
    return Ticked(ran, queued, _purge(worker) if row["has_old"] else 0, paused=bool(row["paused"]))


def _work(worker: Worker, batch: int) -> int:
    # A job whose lease ended under somebody else is claimed alone, so claiming goes on until the batch is full
    # or nothing is due.
    ran = 0
    while ran < batch:
        claimed = worker.claim(batch - ran)
        for one in claimed:
            worker.run(one)
        ran += len(claimed)
        if not any(one.job.taken_over for one in claimed):
            break
    return ran


def _complete(worker: Worker, polling_ms: int | None) -> tuple[Row, int]:
    with worker.store.unit() as unit:
        row = unit.workers.ticked(
            worker.holder,
            claimed_ms_ago=worker.claimed_ms_ago(),
            polling_ms=polling_ms,
            known=known_text(worker.recurring),
            keep_ms=KEEP_SUCCEEDED_MS,
            keep_failed_ms=KEEP_FAILED_MS,
        )
        queued = 0
        if row["unsettled"] or row["planned"] < len(worker.recurring):
            queued = settle(unit, worker.recurring, worker.new_id, now_ms=row["now"])
    return row, queued


def _purge(worker: Worker) -> int:
    with worker.store.unit() as unit:
        unit.workers.forget()
        return unit.jobs.purge(keep_ms=KEEP_SUCCEEDED_MS, keep_failed_ms=KEEP_FAILED_MS, chunk=PURGE_CHUNK)
