"""The watch: follows every campaign that moves by itself, or has an unresolved request, to its end.

The truth is on the campaign's row: `look_at`, or the reason why looking stopped. One job for each such
campaign executes it, by the same rules and reads as an operator's reconcile. It may wake early, never late.
It can be run again at any time: all it does is read at the provider and write down what follows.
"""

from campaignbridge.domain import cadence
from campaignbridge.domain.errors import Conflict, InvalidState, LeaseLost, Locked, NotFound
from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome
from campaignbridge.flows.reconcile import Reconciled, look
from campaignbridge.flows.wiring import Wiring

SHORTLY_MS = 15_000  # the campaign is locked, or somebody was faster


def watch_handler(wiring: Wiring) -> Handler:
    """Return the handler of `watch_campaign` jobs."""
    return Handler(type="watch_campaign", run=lambda job: watch(wiring, job), retry_safe=True)


def watch(wiring: Wiring, job: Job) -> JobOutcome:
    """Look at one campaign if it is time; return when to come back."""
    campaign_id = job.target.partition(":")[2]
    try:
        with wiring.store.unit() as unit:
            dossier = unit.campaigns.get(campaign_id)
        look_at = dossier.campaign.look_at
        if look_at is None:
            return Done()
        if look_at > dossier.now:
            return Again(at=look_at)
        seen = look(wiring, campaign_id, actor=None)
    except (NotFound, InvalidState):
        return Done()  # finished, or gone, since it was queued
    except Locked as locked:
        return Again(after_ms=min(SHORTLY_MS, 1000 * int(locked.facts["retry_after"])))
    except (Conflict, LeaseLost):
        return Again(after_ms=SHORTLY_MS)
    if seen.news == "no_reading":
        return _after_miss(job, seen)
    return Done() if seen.look_at is None else Again(at=seen.look_at, payload={})


def _after_miss(job: Job, seen: Reconciled) -> Again:
    """Come back later: an outage, however long, uses up no attempts and is never undercut."""
    misses = int(job.payload.get("misses") or 0) + 1
    wait_ms = max(cadence.after_misses(misses), 1000 * (seen.retry_after or 0))
    return Again(after_ms=wait_ms, payload={"misses": misses})
