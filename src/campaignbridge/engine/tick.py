"""One tick: a batch of jobs, then the clearing away of old ones. Meant for once a minute, from cron.

Two ticks at once are harmless. The cost is bounded by the batch, not by what is queued.
"""

from dataclasses import dataclass

from campaignbridge.engine.worker import Worker

DAY_MS = 24 * 3_600_000
KEEP_SUCCEEDED_MS = 7 * DAY_MS
KEEP_FAILED_MS = 90 * DAY_MS
PURGE_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick did."""

    ran: int
    purged: int
    paused: bool = False  # the store is a copy that nobody has adopted: nothing runs


def tick(worker: Worker, *, batch: int = 10) -> Ticked:
    """Run up to `batch` jobs that are due, and purge what ended long ago.

    A job whose lease ended under somebody else is claimed alone, so claiming goes on until the batch is full
    or nothing is due.
    """
    ran = 0
    while ran < batch:
        claimed = worker.claim(batch - ran)
        for one in claimed:
            worker.run(one)
        ran += len(claimed)
        if not any(one.job.taken_over for one in claimed):
            break
    with worker.store.unit() as unit:
        purged = unit.jobs.purge(keep_ms=KEEP_SUCCEEDED_MS, keep_failed_ms=KEEP_FAILED_MS, chunk=PURGE_CHUNK)
        paused = not ran and unit.identity.paused
    return Ticked(ran, purged, paused)
