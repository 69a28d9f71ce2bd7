"""Who may send a content to an audience: one campaign at a time, and nobody for 30 days after it went.

The claim is taken by the intent of a send (`once`), and by every reading that shows a campaign on its way
without one: sent in the provider's own pages, adopted, or applied after it had been given up. A claim that is
freed goes to whichever other campaign is on its way with the same content.
"""

from campaignbridge.domain.campaign import State
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.ledger import KEEP_SENT_MS
from campaignbridge.store.unit import Unit

ON_ITS_WAY = frozenset({State.SCHEDULED, State.SENDING, State.SENT, State.CANCELLED, State.FAILED})
OVER = frozenset({State.SENT, State.CANCELLED, State.FAILED})


def follow_content(unit: Unit, dossier: Dossier, target: State, *, attempt_id: str) -> str | None:
    """Make the claim what a campaign's new state asks for; return the flag for a person when a twin holds it."""
    campaign = dossier.campaign
    if target is State.PROVIDER_DRAFT:
        unit.ledger.free_content(campaign.id)
        return None
    if target not in ON_ITS_WAY or campaign.approval is None:
        return None
    claimed = unit.ledger.claim_content(
        account=campaign.account,
        audience=campaign.audience,
        fingerprint=campaign.approval.fingerprint,
        campaign_id=campaign.id,
        attempt_id=attempt_id,
    )
    if not claimed:
        unit.events.add("possible_double_content", campaign_id=campaign.id, actor=None)
        return "possible_double_content"
    if target in OVER:
        unit.ledger.keep_content(campaign.id, keep_ms=KEEP_SENT_MS)
    return None
