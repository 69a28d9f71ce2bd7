"""A wave's run: seven short steps, each recorded, so that another worker goes on where one died.

picking -> picked -> segment_created -> pushed -> verified -> draft_ready -> looked -> (its campaign goes)

1. Every write of a step repeats run, step and the fence and holder of its job: a run that was displaced, or a worker
   whose job was taken over, touches zero rows. That is a hard no-op with one line in the log.
2. What happened at the provider is persisted right after it did, before it is judged.
3. From the draft on, the delivery is the campaign's: its locks, attempts, guard and watch. The intent of its send also
   holds ramp and job. However the campaign comes to be sending or sent, its wave closes in that transaction.

A step of a ramp that isn't active ends its job; whatever lets the ramp go on queues the next one.
"""

from collections.abc import Callable

from campaignbridge.domain.errors import (
    Conflict,
    InProgress,
    LeaseLost,
    Locked,
    ProviderFailed,
    Refusal,
    StoreGone,
    Unconfirmed,
)
from campaignbridge.domain.job import Done, Handler, Job, JobOutcome
from campaignbridge.domain.ramp import Ramp, Run, Step, Wave
from campaignbridge.flows import wave_delivery, wave_people, wave_segment
from campaignbridge.flows.stepping import STEP, is_open, wave_of
from campaignbridge.flows.wave_run import Halt, WaveRun
from campaignbridge.flows.wiring import Wiring

LEASE_MS = 300_000  # a step makes several calls, each of which must end within the lease
STEPS: dict[Step, Callable[[WaveRun], JobOutcome]] = {
    Step.PICKING: wave_people.pick,
    Step.PICKED: wave_segment.make_segment,
    Step.SEGMENT_CREATED: wave_people.push,
    Step.PUSHED: wave_people.verify,
    Step.VERIFIED: wave_delivery.make_draft,
    Step.DRAFT_READY: wave_delivery.look_again,
    Step.LOOKED: wave_delivery.send,
}


def step_handler(wiring: Wiring) -> Handler:
    """Return the handler of `wave_step` jobs.

    It may run twice: each step is recorded, idempotent at the provider, or proven by reading there; the send is the
    campaign's, which is asked for once.
    """
    return Handler(
        type=STEP,
        run=lambda job: run_step(wiring, job),
        abandoned=lambda job: give_up(wiring, job),
        retry_safe=True,
        lease_ms=LEASE_MS,
    )


def run_step(wiring: Wiring, job: Job) -> JobOutcome:
    """Take a wave one step further; return when to come back."""
    wave_id, run_id = wave_of(job.target), str(job.payload.get("run"))
    with wiring.store.reading() as unit:
        wave = unit.waves.get(wave_id)
        ramp = unit.ramps.get(wave.ramp_id)
    if not is_open(wave, run_id):
        return _displaced(wiring, ramp, wave)
    if not ramp.facts.active or wave.failed is not None:
        return Done()
    assert job.holder is not None, "a claimed job has its holder"
    run = Run(ramp.id, wave.id, run_id, job.id, job.fence, job.holder)
    going = WaveRun(wiring, ramp, wave, run, tries=int(job.payload.get("tries") or 0))
    try:
        return _take(going)
    except Halt:
        return _displaced(wiring, ramp, wave)


def _take(going: WaveRun) -> JobOutcome:
    """Take the step; say what follows from a refusal."""
    try:
        return STEPS[going.wave.step](going)
    except (Locked, InProgress) as wait:
        return going.later(1000 * int(wait.facts.get("retry_after") or 1))
    except (Conflict, LeaseLost, StoreGone, Unconfirmed):
        return going.later(30_000)
    except ProviderFailed as failed:
        return going.provider_failed(failed)
    except Refusal as refusal:
        return _waits(going, refusal) or going.fail(refusal.code)


def _waits(going: WaveRun, refusal: Refusal) -> JobOutcome | None:
    """Return when to try again after a refusal that passes by itself; None for one that doesn't."""
    if refusal.code in ("rate_limited", "refresh_in_progress"):
        return going.later(1000 * int(refusal.facts.get("retry_after") or 30))
    return None


def _displaced(wiring: Wiring, ramp: Ramp, wave: Wave) -> Done:
    """Leave without a trace but for one line in the log."""
    with wiring.store.unit() as unit:
        unit.ramps.log(ramp.id, "step_displaced", wave_id=wave.id)
    return Done()


def give_up(wiring: Wiring, job: Job) -> None:
    """Call for an operator: a step failed again and again."""
    with wiring.store.unit() as unit:
        wave = unit.waves.get(wave_of(job.target))
        if is_open(wave, job.payload.get("run")) and unit.ramps.need_operator(wave.ramp_id, "step_failed"):
            unit.ramps.log(wave.ramp_id, "step_failed", wave_id=wave.id, step=wave.step.value)
