"""The watch: follows every campaign that moves by itself, or has an unresolved request, to its end.

The truth is on the campaign's row: `look_at`, or the reason why looking stopped. One job for each such
campaign executes it, by the same rules and reads as an operator's reconcile. It may wake early, never late.
It can be run again at any time: all it does is read at the provider and write down what follows.
"""

from campaignbridge.domain import cadence
from campaignbridge.domain.errors import (
    Conflict,
    CopyPaused,
    InvalidInput,
    InvalidState,
    LeaseLost,
    Locked,
    NotFound,
    StoreGone,
)
from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome
from campaignbridge.flows.reconcile import look
from campaignbridge.flows.wiring import Wiring

FAILED_MS = 60 * cadence.MINUTE_MS  # until the next look after one that failed again and again
FLAGGED_MISSES = 7  # about an hour without a reading
SHORTLY_MS = 15_000  # the campaign is locked, or somebody was faster


def watch_handler(wiring: Wiring) -> Handler:
    """Return the handler of `watch_campaign` jobs."""
    return Handler(
        type="watch_campaign",
        run=lambda job: watch(wiring, job),
        abandoned=lambda job: put_off(wiring, job),
        retry_safe=True,
    )


def put_off(wiring: Wiring, job: Job) -> None:
    """Tell a person of a campaign whose watch failed again and again; it goes on an hour later."""
    campaign_id = _campaign_of(job)
    with wiring.store.unit() as unit:
        if unit.campaigns.postpone(campaign_id, flag="watch_failed", look_in_ms=FAILED_MS):
            unit.events.add("watch_failed", campaign_id=campaign_id, actor=None)
            wiring.wake_watch(unit, campaign_id, in_ms=FAILED_MS)
            return
        dossier = unit.campaigns.get(campaign_id)
        look_at = dossier.campaign.look_at
        if look_at is not None:  # a later wish, say of a fresh intent, is not this job's to put off
            wiring.wake_watch(unit, campaign_id, in_ms=look_at - dossier.now)


def watch(wiring: Wiring, job: Job) -> JobOutcome:
    """Look at one campaign if it is time; return when to come back."""
    campaign_id = _campaign_of(job)
    try:
        with wiring.store.reading() as unit:
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
    except (Conflict, CopyPaused, LeaseLost, StoreGone):
        return Again(after_ms=SHORTLY_MS)
    except InvalidInput:
        # This worker can't open the connection, say for want of its key; another one may.
        return _after_miss(wiring, job, "connection_unusable", 0)
    if seen.news == "no_reading":
        return _after_miss(wiring, job, None, seen.retry_after or 0)
    return Done() if seen.look_at is None else Again(at=seen.look_at, payload={})


def _after_miss(wiring: Wiring, job: Job, flag: str | None, retry_after_s: int) -> Again:
    """Come back later: an outage, however long, uses up no attempts and is never undercut.

    Readings that have been missing for long are flagged while the watch goes on.
    """
    misses = int(job.payload.get("misses") or 0) + 1
    wait_ms = max(cadence.after_misses(misses), 1000 * retry_after_s)
    if misses >= FLAGGED_MISSES:
        flag = flag or "no_reading"
    if flag is not None:
        with wiring.store.unit() as unit:
            unit.campaigns.flag(unit.campaigns.get(_campaign_of(job)).campaign, flag)
    return Again(after_ms=wait_ms, payload={"misses": misses})


def _campaign_of(job: Job) -> str:
    return job.target.partition(":")[2]
