"""The jobs of a ramp: one that ticks, and one for each run of an open wave."""

from campaignbridge.domain.job import Request
from campaignbridge.domain.ramp import Ramp, Wave
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit

TICK, STEP = "ramp_tick", "wave_step"


def queue_tick(wiring: Wiring, unit: Unit, ramp_id: str) -> None:
    """Have a ramp tick at the next time of its cron."""
    unit.jobs.enqueue(wiring.new_id("job"), tick_request(ramp_id))


def queue_step(wiring: Wiring, unit: Unit, wave_id: str, run_id: str, *, in_ms: int = 0) -> None:
    """Queue the next step of a wave's run."""
    unit.jobs.enqueue(wiring.new_id("job"), step_request(wave_id, run_id), delay_ms=in_ms)


def wake_open_wave(wiring: Wiring, unit: Unit, ramp: Ramp) -> None:
    """Queue the next step of the wave that is open, if one is."""
    for wave in unit.waves.of_ramp(ramp.id):
        if wave.closed is None and wave.failed is None:
            queue_step(wiring, unit, wave.id, wave.run_id)


def tick_request(ramp_id: str) -> Request:
    """Return the job that ticks one ramp; one unfinished at a time. Its first run only finds out when."""
    return Request(type=TICK, target=f"ramp:{ramp_id}", payload={"planned": False}, max_attempts=50)


def step_request(wave_id: str, run_id: str) -> Request:
    """Return the job that takes a wave's run one step further; one unfinished at a time."""
    return Request(
        type=STEP, target=f"wave:{wave_id}", payload={"run": run_id}, dedupe_key=f"{STEP}:{wave_id}:{run_id}"
    )


def wave_of(job_target: str) -> str:
    """Return the id behind a job's target."""
    return job_target.partition(":")[2]


def is_open(wave: Wave, run_id: object) -> bool:
    """Say whether a wave still waits for this run."""
    return wave.closed is None and wave.run_id == run_id
