"""What a refusal leaves: its audit event, and a look at what moved at the provider meanwhile."""

from contextlib import suppress

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Refusal, StoreGone
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier


def note_refusal(wiring: Wiring, dossier: Dossier, operation: str, actor: Actor, refusal: Refusal) -> None:
    """Leave an audit event of a request that was not made."""
    campaign_id = dossier.campaign.id
    with suppress(StoreGone), wiring.store.unit() as unit:
        unit.events.add(f"{operation}_not_made", campaign_id=campaign_id, actor=actor.name, code=refusal.code)
        if "observed" in refusal.facts and unit.campaigns.look_now(campaign_id):
            wiring.wake_watch(unit, campaign_id, in_ms=0)  # it moved at the provider: follow it
