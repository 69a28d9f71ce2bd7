"""The sweep: whatever is to be looked at has a job that looks, whatever became of the last one.

1. Three indexed queries find campaigns that have a time for the next look and no unfinished watch, open waves of active
   ramps that no job takes further, and ramps whose tick is gone.
2. One bulk statement queues a job for each, at its time.

It reads and writes our own store only, and can be run again at any time. What stopped with a reason has no next look,
so it is never found. A crash between the two leaves the next sweep the same work.
"""

from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome, Request
from campaignbridge.flows.stepping import step_request, tick_request
from campaignbridge.flows.wiring import Wiring, watch_request

EVERY_S = 300
MOST = 1_000  # in one run; more is found by the next one, at once


def sweep_handler(wiring: Wiring) -> Handler:
    """Return the handler of the `sweep` job."""
    return Handler(type="sweep", run=lambda job: sweep(wiring, job), retry_safe=True)


def sweep(wiring: Wiring, _job: Job) -> JobOutcome:
    """Queue a job for every campaign, wave and ramp that should have one and hasn't."""
    with wiring.store.unit() as unit:
        unwatched = unit.campaigns.unwatched(most=MOST)
        wanted: list[tuple[Request, int | None]] = [
            (watch_request(campaign_id), look_at) for campaign_id, look_at in unwatched
        ]
        waves, ramps = unit.waves.unattended(most=MOST), unit.ramps.without_tick(most=MOST)
        wanted += [(step_request(wave_id, run_id), None) for wave_id, run_id in waves]
        wanted += [(tick_request(ramp_id), None) for ramp_id in ramps]
        if wanted:
            fresh = {wiring.new_id("job"): one for one in wanted}
            unit.jobs.enqueue_many(
                [(job_id, request) for job_id, (request, _) in fresh.items()],
                at={job_id: at for job_id, (_, at) in fresh.items() if at is not None},
            )
    return Again(after_ms=0) if MOST in (len(unwatched), len(waves), len(ramps)) else Done()
