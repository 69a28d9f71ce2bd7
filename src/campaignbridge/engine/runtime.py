"""A long-running worker process: the only file with threads and signals.

Each of N threads claims and runs. They ask for work in turn: whoever has the turn polls, and the others wait
behind it, so that an idle process costs one poll and not one for each thread. One more thread keeps all of
their leases alive with one statement, and ticks once a minute; where the store can tell that a job became due,
another one listens. Polling is the truth: what is not heard is found at the next poll.

SIGTERM and SIGINT drain: nothing more is claimed, what runs is finished, what was claimed and never started
goes back. A worker whose clock differs from the store's by more than 30 s stops claiming and says so.
On a paused copy nothing can be claimed; it says so, too.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

from campaignbridge.domain.errors import Refusal, StoreGone
from campaignbridge.domain.job import LEASE_MS, Job
from campaignbridge.engine.tick import tick
from campaignbridge.engine.worker import Claimed, Worker
from campaignbridge.ports import Listener, Mark

LOG = logging.getLogger("campaignbridge.worker")
BATCH = 5
SKEW_LIMIT_MS = 30_000
TICK_EVERY_S = 60.0
# One statement in 5 s and two a minute are 0.24 a second: under the 0.3 that an idle worker may cost. A job
# that nobody was told of (SQLite, a lost connection, one that was queued for later) waits so long at most.
POLL_S = 5.0
BEAT_AGAIN_S = 5.0  # after a heartbeat that failed
LISTEN_S = 1.0  # how soon a listener sees that it is to stop
DEAF_S = (1.0, 60.0)  # the first and the longest pause before listening is tried again


@dataclass(slots=True)
class Runtime:
    """The threads of one worker process."""

    worker: Worker
    threads: int = 2
    poll_s: float = POLL_S
    clock_offset_ms: int = 0  # the store's, in the demo and tests
    seconds: Callable[[], float] = time.monotonic
    stopping: threading.Event = field(default_factory=threading.Event)
    woken: threading.Event = field(default_factory=threading.Event)  # there may be work
    drained: threading.Event = field(default_factory=threading.Event)
    skewed: threading.Event = field(default_factory=threading.Event)
    turn: threading.Lock = field(default_factory=threading.Lock)  # to ask for work
    deaf_since: Mark | None = None  # since when wake-ups that there should be are not heard
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
        listener = self.worker.store.database.listener()
        if listener is not None:
            self.deaf_since = self.worker.clock.mark()
            threading.Thread(target=self._listen, args=(listener,), name="listener", daemon=True).start()
        for thread in (beat, *crew):
            thread.start()
        for thread in crew:
            while thread.is_alive():
                thread.join(timeout=0.2)
        self.drained.set()  # only now: what was still running kept its lease
        beat.join(timeout=5)
        assert self.stopping.is_set(), "the worker's threads ended without being told to"

    def stop(self) -> None:
        """Drain, then end. May be called from a signal's handler, and more than once."""
        self.stopping.set()
        self.woken.set()

    def _listen_to_signals(self) -> None:
        def stop(_signal: int, _frame: FrameType | None) -> None:
            self.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)

    def _work(self) -> None:
        while not self.stopping.is_set():
            claimed = self._next_batch()
            self._going_on(partial(self._run, claimed))
        self.worker.store.database.close()

    def _next_batch(self) -> list[Claimed]:
        """Wait for this thread's turn, then for work; return none when told to stop."""
        claimed: list[Claimed] = []

        def claim() -> None:
            claimed.extend(self._claim())

        with self.turn:
            while not self.stopping.is_set():
                self.woken.clear()  # before the claim: what comes during it wakes us again
                if not self.skewed.is_set():
                    self._going_on(claim)
                if claimed:
                    break
                if not self.stopping.is_set():
                    self.woken.wait(self.poll_s)
        return claimed

    def _going_on(self, step: Callable[[], object]) -> bool:
        """Do a step of a thread that has to go on, whatever befalls it; return whether it went well."""
        try:
            step()
        except StoreGone:
            LOG.warning("the store can't be used now; trying again")
        except Exception as error:  # noqa: BLE001  one bad job must not end the worker
            LOG.error("a bug: %s; going on", type(error).__name__)  # noqa: TRY400  no text: it may hold data
        else:
            return True
        return False

    def _one_batch(self) -> bool:
        claimed = self._claim()
        self._run(claimed)
        return bool(claimed)

    def _claim(self) -> list[Claimed]:
        claimed = self.worker.claim(BATCH)
        self.in_hand.update({(one.job.id, one.job.fence): one.job for one in claimed})
        return claimed

    def _run(self, claimed: list[Claimed]) -> None:
        try:
            for one in claimed:
                if self.stopping.is_set():
                    self.worker.give_back(one.job)
                else:
                    self.worker.run(one)
        finally:
            # What an error left unfinished gets no more heartbeats: its lease ends, and somebody takes it.
            for one in claimed:
                del self.in_hand[one.job.id, one.job.fence]

    def renew(self) -> None:
        """Keep alive the leases of what is in hand, and of nothing else."""
        jobs = list(self.in_hand.values())
        if jobs:
            with self.worker.store.unit() as unit:
                unit.jobs.renew_all(jobs, holder=self.worker.holder, lease_ms=self.worker.lease_ms)

    def _beat(self) -> None:
        """Renew and tick, each when it is due, until the last job has ended.

        Not renewed isn't lost: what runs goes on, but nothing starts once its lease is over.
        """
        next_beat = next_tick = self.seconds()
        while not self.drained.wait(max(0.0, min(next_beat, next_tick) - self.seconds())):
            if self.seconds() >= next_beat:
                renewed = self._going_on(self.renew)
                next_beat = self.seconds() + (self._beat_every_s() if renewed else BEAT_AGAIN_S)
            if self.seconds() >= next_tick:
                next_tick = self.seconds() + TICK_EVERY_S
                self._going_on(self._tick)
        self.worker.store.database.close()

    def _tick(self) -> None:
        self._check_skew()
        since = self.deaf_since
        polling_ms = None if since is None else self.worker.clock.since_ms(since)
        if tick(self.worker, batch=0, polling_ms=polling_ms).queued:
            self.woken.set()

    def _beat_every_s(self) -> float:
        leases = [handler.lease_ms for handler in self.worker.handlers.values()]
        return min([LEASE_MS, *leases]) / 3000  # a third of the shortest lease

    def _listen(self, listener: Listener) -> None:
        pause_s, longest_s = DEAF_S
        while not self.stopping.is_set():
            try:
                heard = listener.wait(LISTEN_S)
            except Refusal:
                if self.deaf_since is None:
                    self.deaf_since = self.worker.clock.mark()
                    LOG.warning("wake-ups can't be heard now: polling only")
                self.stopping.wait(pause_s)
                pause_s = min(2 * pause_s, longest_s)
                continue
            self.deaf_since, pause_s = None, DEAF_S[0]
            if heard:
                self.woken.set()
        listener.close()

    def _check_skew(self) -> None:
        with self.worker.store.unit() as unit:
            standing = unit.identity.standing()
            theirs = (standing.now if standing else unit.now_ms()) - self.clock_offset_ms
        self._note_pause(paused=standing is not None and standing.paused)
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
