"""A long-running worker process: the only file with threads and signals.

Each of N threads claims and runs; one more keeps all of their leases alive with one statement. SIGTERM and
SIGINT drain: nothing more is claimed, what runs is finished, what was claimed and never started goes back.
A worker whose clock differs from the store's by more than 30 s stops claiming and says so. On a paused copy nothing
can be claimed; it says so, too.
"""

import logging
import signal
import threading
import time
from dataclasses import dataclass, field
from types import FrameType

from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.job import LEASE_MS, Job
from campaignbridge.engine.tick import tick
from campaignbridge.engine.worker import Worker

LOG = logging.getLogger("campaignbridge.worker")
BATCH = 5
SKEW_LIMIT_MS = 30_000
TICK_EVERY_S = 60.0


@dataclass(slots=True)
class Runtime:
    """The threads of one worker process."""

    worker: Worker
    threads: int = 2
    poll_s: float = 1.0
    clock_offset_ms: int = 0  # the store's, in the demo and tests
    stopping: threading.Event = field(default_factory=threading.Event)
    drained: threading.Event = field(default_factory=threading.Event)
    skewed: threading.Event = field(default_factory=threading.Event)
    paused: threading.Event = field(default_factory=threading.Event)
    in_hand: dict[tuple[str, int], Job] = field(
        default_factory=dict
    )  # what is claimed and neither ended nor given up

    def run(self) -> None:
        """Work until told to stop."""
        self._listen_to_signals()
        self._check_skew()
        beat = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        crew = [threading.Thread(target=self._work, name=f"worker-{n}") for n in range(self.threads)]
        for thread in (beat, *crew):
            thread.start()
        for thread in crew:
            while thread.is_alive():
                thread.join(timeout=0.2)
        self.drained.set()  # only now: what was still running kept its lease
        beat.join(timeout=5)
        assert self.stopping.is_set(), "the worker's threads ended without being told to"

    def _listen_to_signals(self) -> None:
        def stop(_signal: int, _frame: FrameType | None) -> None:
            self.stopping.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)

    def _work(self) -> None:
        while not self.stopping.is_set():
            try:
                worked = not self.skewed.is_set() and self._one_batch()
            except StoreGone:
                LOG.warning("the store can't be used now; trying again")
                worked = False
            except Exception as error:  # noqa: BLE001  one bad job must not end the worker
                LOG.error("a bug: %s; going on", type(error).__name__)  # noqa: TRY400  no text: it may hold data
                worked = False
            if not worked:
                self.stopping.wait(self.poll_s)
        self.worker.store.database.close()

    def _one_batch(self) -> bool:
        claimed = self.worker.claim(BATCH)
        mine = {(one.job.id, one.job.fence): one.job for one in claimed}
        self.in_hand.update(mine)
        try:
            for one in claimed:
                if self.stopping.is_set():
                    self.worker.give_back(one.job)
                else:
                    self.worker.run(one)
        finally:
            # What an error left unfinished gets no more heartbeats: its lease ends, and somebody takes it.
            for key in mine:
                del self.in_hand[key]
        return bool(claimed)

    def renew(self) -> None:
        """Keep alive the leases of what is in hand, and of nothing else."""
        jobs = list(self.in_hand.values())
        if jobs:
            with self.worker.store.unit() as unit:
                unit.jobs.renew_all(jobs, holder=self.worker.holder, lease_ms=LEASE_MS)

    def _beat(self) -> None:
        last_tick = time.monotonic()
        while not self.drained.wait(self._beat_every_s()):
            try:
                self.renew()
                self._check_skew()
                if time.monotonic() - last_tick >= TICK_EVERY_S:
                    tick(self.worker, batch=0)
                    last_tick = time.monotonic()
            except StoreGone:
                # Not renewed isn't lost: what runs goes on, but nothing starts once its lease is over.
                LOG.warning("leases could not be renewed; trying again")
            except Exception as error:  # noqa: BLE001  without a heartbeat, work would be taken over
                LOG.error("a bug: %s; going on", type(error).__name__)  # noqa: TRY400
        self.worker.store.database.close()

    def _beat_every_s(self) -> float:
        leases = [handler.lease_ms for handler in self.worker.handlers.values()]
        return min([LEASE_MS, *leases]) / 3000  # a third of the shortest lease

    def _check_skew(self) -> None:
        with self.worker.store.unit() as unit:
            theirs = unit.now_ms() - self.clock_offset_ms
            paused = unit.identity.paused
        self._note_pause(paused=paused)
        skew_ms = abs(theirs - time.time_ns() // 1_000_000)
        if skew_ms > SKEW_LIMIT_MS:
            LOG.error("this host's clock differs from the store's by %d s: not claiming", skew_ms // 1000)
            self.skewed.set()
        elif self.skewed.is_set():
            LOG.warning("this host's clock agrees with the store's again: claiming")
            self.skewed.clear()

    def _note_pause(self, *, paused: bool) -> None:
        if paused and not self.paused.is_set():
            LOG.error("the store is a copy of another installation, and paused: nothing can be claimed")
            self.paused.set()
        elif not paused and self.paused.is_set():
            LOG.warning("the store was made the real one: claiming")
            self.paused.clear()
