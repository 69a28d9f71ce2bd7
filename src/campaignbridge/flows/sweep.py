"""The sweep: whatever is to be looked at has a job that looks, whatever became of the last one.

1. One indexed query finds campaigns that have a time for the next look and no unfinished watch.
2. One bulk statement queues a watch for each, at that time.

It reads and writes our own store only, and can be run again at any time. What stopped with a reason has no next look,
so it is never found. A crash between the two leaves the next sweep the same work.
"""

from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome
from campaignbridge.flows.wiring import Wiring, watch_request

EVERY_S = 300
MOST = 1_000  # in one run; more is found by the next one, at once


def sweep_handler(wiring: Wiring) -> Handler:
    """Return the handler of the `sweep` job."""
    return Handler(type="sweep", run=lambda job: sweep(wiring, job), retry_safe=True)


def sweep(wiring: Wiring, _job: Job) -> JobOutcome:
    """Queue a watch for every campaign that should have one and hasn't."""
    with wiring.store.unit() as unit:
        unwatched = unit.campaigns.unwatched(most=MOST)
        if unwatched:
            fresh = {wiring.new_id("job"): found for found in unwatched}
            unit.jobs.enqueue_many(
                [(job_id, watch_request(campaign_id)) for job_id, (campaign_id, _) in fresh.items()],
                at={job_id: look_at for job_id, (_, look_at) in fresh.items()},
            )
    return Again(after_ms=0) if len(unwatched) == MOST else Done()
