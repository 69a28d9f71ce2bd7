"""Drafts of waves that were written off with their ramp: made unsendable, or named until they are gone.

Whoever is in the segment of such a draft may still be mailed by a person at the provider, so they count as mailed when
another ramp is set up.
"""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.holding import nothing_else, working_on
from campaignbridge.flows.retiring import require_unsendable
from campaignbridge.flows.wiring import Wiring


def retire_leftovers(wiring: Wiring, ramp_id: str, *, actor: Actor) -> Refusal | None:
    """Make every draft unsendable that is left of a ramp; return why the first of those that aren't isn't, or None."""
    with wiring.store.reading() as unit:
        left = unit.ramp_reads.left(ramp_id)
    refusal: Refusal | None = None
    for one in left:
        outcome = "draft_retired"
        try:
            with working_on(
                wiring, one["campaign_id"], "retire", actor=actor.name, also=nothing_else
            ) as work:
                require_unsendable(work.held, work.dossier)
        except Refusal as why:
            outcome, refusal = "draft_left", refusal or why
        with wiring.store.unit() as unit:
            unit.ramps.log(
                ramp_id, outcome, wave_id=one["wave_id"], actor=actor.name, remote_id=one["remote_id"]
            )
    return refusal
