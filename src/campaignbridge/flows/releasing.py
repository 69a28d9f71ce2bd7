"""An operator's hand on locks and jobs."""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.content import require_one_line
from campaignbridge.domain.errors import InvalidInput, InvalidState, NotFound, ValidationFailed
from campaignbridge.flows.wiring import Wiring

SHORTEST_REASON, LONGEST_REASON = 10, 300


def release_lock(wiring: Wiring, key: str, *, fence: int, reason: str, actor: Actor) -> None:
    """Free a lock whose lease ended, or that is held further ahead than any lease lasts.

    `fence` is the one that the person who decides has seen: with another one, nothing is freed.
    """
    actor.require("admin")
    require_one_line(reason, field="reason", limit=LONGEST_REASON)
    if len(reason.strip()) < SHORTEST_REASON:
        raise InvalidInput(
            f"The reason has fewer than {SHORTEST_REASON} characters.",
            todo="Say why; it is kept in the audit trail.",
        )
    with wiring.store.unit() as unit:
        if unit.locks.free(key, fence=fence):
            unit.events.add(
                "lock_released",
                campaign_id=key.removeprefix("campaign:") if key.startswith("campaign:") else None,
                actor=actor.name,
                key=key,
                fence=fence,
                reason=reason,
            )
            return
        found = [row for row in unit.locks.held() if row["key"] == key]
        if not found:
            raise NotFound(f"Nobody holds {key[:80]}.", todo="locks list shows what is held.")
        if found[0]["fence"] != fence:
            raise ValidationFailed(
                f"{fence} is not the fence of {key[:80]}. Nothing was freed.",
                todo="Look at it again: locks list shows what is held now.",
            )
        raise unit.locks.refusal(key)


def requeue_job(wiring: Wiring, job_id: str, *, safe_types: frozenset[str], actor: Actor) -> None:
    """Queue a failed or dead job anew; only of a type that is safe to repeat."""
    actor.require("admin")
    with wiring.store.unit() as unit:
        row = unit.jobs.get(job_id)
        if row is None:
            raise NotFound(f"There is no job {job_id[:40]}.", todo="jobs list shows what there is.")
        if row["type"] not in safe_types:
            raise InvalidState(
                f"A {row['type']} job is not safe to repeat.", todo="Look at what it worked on instead."
            )
        if not unit.jobs.requeue(job_id):
            raise InvalidState(
                f"Job {job_id} is {row['state']}, or another one does its work already.",
                todo="Only a failed or dead job can be queued anew.",
            )
        unit.events.add("job_requeued", campaign_id=None, actor=actor.name, job=job_id)
