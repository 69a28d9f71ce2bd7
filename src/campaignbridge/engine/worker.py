"""Running claimed jobs: what is safe to repeat is repeated, what isn't never is.

For each claimed job, in this order:
1. No handler for its type: dead, `no_handler`.
2. Exhausted (its lease ended on its last attempt): `abandoned` hook; dead, `attempts_exhausted`; not run.
3. Taken over after it was started, and not retry-safe: `abandoned` hook; dead, `abandoned`; not run.
4. Not retry-safe: marked as started by one committed update that needs a live lease. Retry-safe: its lease is
   renewed if it is short. Either way, a lease that is over means that somebody else may have the job: left.
5. Run; its outcome is recorded by fence and holder. Zero rows: it was taken over, and nothing is recorded.

Invariant: a job whose handler isn't retry-safe is started at most once.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import assert_never

from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.job import (
    LEASE_MS,
    Again,
    Done,
    Fail,
    Handler,
    Job,
    JobOutcome,
    JobState,
    Retry,
    backoff_ms,
    encode_payload,
    job_id,
    require_code,
)
from campaignbridge.domain.recurring import Recurring
from campaignbridge.ports import Chance, Clock, Mark
from campaignbridge.store.unit import Store

Handlers = Mapping[str, Handler]
Log = Callable[[str, Job], None]


@dataclass(slots=True)
class Worker:
    """One worker of one process. `holder` is new on every start and never reused. Threads may share it."""

    store: Store
    handlers: Handlers
    clock: Clock
    chance: Chance
    holder: str
    log: Log
    recurring: tuple[Recurring, ...] = ()
    last_claim: Mark | None = None  # before the last one that the store answered

    @property
    def lease_ms(self) -> int:
        """How long a claim and a heartbeat last: as long as the handler with the longest lease needs."""
        return max((handler.lease_ms for handler in self.handlers.values()), default=LEASE_MS)

    def claimed_ms_ago(self) -> int | None:
        """Return how long ago this worker last asked for work and was answered."""
        return None if self.last_claim is None else self.clock.since_ms(self.last_claim)

    def new_id(self) -> str:
        """Return a fresh id for a job."""
        return job_id(self.clock.mark().wall_ms, self.chance.token(8))

    def claim(self, batch: int) -> list["Claimed"]:
        """Claim up to `batch` jobs, or one alone whose lease ended under somebody else."""
        mark, lease_ms = self.clock.mark(), self.lease_ms
        with self.store.unit() as unit:
            jobs = unit.jobs.claim(holder=self.holder, batch=batch, lease_ms=lease_ms)
        self.last_claim = mark
        return [Claimed(job, mark, lease_ms) for job in jobs]

    def run(self, claimed: "Claimed") -> None:
        """Run one claimed job and record its outcome."""
        job = claimed.job
        handler = self.handlers.get(job.type)
        if handler is None:
            self._end(job, JobState.DEAD, "no_handler")
        elif job.exhausted:
            self._abandon(job, handler, "attempts_exhausted")
        elif abandoned_midway(job, handler):
            self._abandon(job, handler, "abandoned")
        elif self._start(claimed, handler):
            self._record(job, handler, self._outcome(job, handler))
        else:
            self.log("lease_lost", job)

    def give_back(self, job: Job) -> None:
        """Return a job that was claimed and never started."""
        with self.store.unit() as unit:
            unit.jobs.give_back(job)

    def _start(self, claimed: "Claimed", handler: Handler) -> bool:
        if handler.retry_safe and claimed.remaining_ms(self.clock) > claimed.lease_ms // 2:
            return True
        with self.store.unit() as unit:
            if handler.retry_safe:
                return unit.jobs.renew(claimed.job, lease_ms=handler.lease_ms)
            return unit.jobs.start(claimed.job, lease_ms=handler.lease_ms)

    def _outcome(self, job: Job, handler: Handler) -> JobOutcome | None:
        try:
            answer = handler.run(job)
            return _checked(asyncio.run(answer) if isinstance(answer, Coroutine) else answer)
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  only a stable code of it is kept
            self.log("handler_exception", job)
            return None

    def _record(self, job: Job, handler: Handler, outcome: JobOutcome | None) -> None:
        match outcome:
            case None if handler.retry_safe:
                self._retry(job, handler, "handler_exception", None)
            case None:
                self._abandon(job, handler, "abandoned")
            case Done():
                with self.store.unit() as unit:
                    recorded = unit.jobs.finish(job)
                self._noted(job, recorded)
            case Fail(code):
                self._end(job, JobState.FAILED, code)
            case Retry(code, after_ms):
                self._retry(job, handler, code, after_ms)
            case Again():
                with self.store.unit() as unit:
                    recorded = unit.jobs.again(job, outcome)
                self._noted(job, recorded)
            case _:
                assert_never(outcome)

    def _retry(self, job: Job, handler: Handler, code: str, after_ms: int | None) -> None:
        if job.attempts >= job.max_attempts:
            self._abandon(job, handler, code)
            return
        delay_ms = backoff_ms(job.attempts, self.chance.fraction()) if after_ms is None else after_ms
        with self.store.unit() as unit:
            recorded = unit.jobs.retry(job, code, delay_ms=delay_ms)
        self._noted(job, recorded)

    def _abandon(self, job: Job, handler: Handler, code: str) -> None:
        if handler.abandoned is not None:
            try:
                handler.abandoned(job)
            except StoreGone:
                self.log("abandoned_hook_failed", job)
                return  # its lease ends, and whoever takes it over tells the hook again
            except Exception:  # noqa: BLE001  the job still ends
                self.log("abandoned_hook_failed", job)
        self._end(job, JobState.DEAD, code)

    def _end(self, job: Job, state: JobState, code: str) -> None:
        with self.store.unit() as unit:
            recorded = unit.jobs.end(job, state, code, fresh_id=self.new_id())
        self._noted(job, recorded)

    def _noted(self, job: Job, recorded: bool) -> None:  # noqa: FBT001
        if not recorded:
            self.log("taken_over", job)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claimed job with its local count-down, from before the claim was asked for."""

    job: Job
    mark: Mark
    lease_ms: int

    def remaining_ms(self, clock: Clock) -> int:
        """Return how long the lease lasts at least, unless it was renewed since."""
        return self.lease_ms - clock.since_ms(self.mark)


def abandoned_midway(job: Job, handler: Handler) -> bool:
    """Say whether a job may have been half done by a worker that is gone."""
    return job.taken_over and job.started and not handler.retry_safe


def _checked(outcome: JobOutcome) -> JobOutcome:
    """Return what a handler returned; raise when it can't be recorded, as if the handler had raised."""
    match outcome:
        case Done():
            pass
        case Again():
            encode_payload(outcome.payload or {})
        case Fail(code) | Retry(code, _):
            require_code(code)
        case _:
            assert_never(outcome)
    return outcome
