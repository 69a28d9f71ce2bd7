"""Adopting a remote campaign that was found by its token instead of made just now."""

from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import Unconfirmed
from campaignbridge.domain.ledger import Attempt
from campaignbridge.domain.provider import Found, RemoteStatus
from campaignbridge.flows.content_claim import follow_content
from campaignbridge.flows.refusals import overtaken
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

STATES: dict[RemoteStatus, State] = {
    RemoteStatus.DRAFT: State.PROVIDER_DRAFT,
    RemoteStatus.SCHEDULED: State.SCHEDULED,
    RemoteStatus.SENDING: State.SENDING,
    RemoteStatus.CANCELLING: State.SENDING,
    RemoteStatus.SENT: State.SENDING,  # a search has no figures: the next look says whether anybody was mailed
    RemoteStatus.CANCELLED: State.CANCELLED,
    RemoteStatus.FAILED: State.FAILED,
}
WENT = frozenset({State.SENDING, State.SENT, State.CANCELLED, State.FAILED})


def state_of(found: Found, dossier: Dossier) -> State:
    """Return what the campaign becomes; raise `Unconfirmed` when only a person can say."""
    state = STATES.get(found.status)
    if state is None or found.generation != dossier.campaign.generation:
        raise Unconfirmed(
            "The provider has this campaign already, in a state that can't be taken over by itself.",
            todo="Look at it at the provider; if it is not yours to send, delete it there and repeat.",
            reason="untracked" if state is None else "contradiction",
        )
    return state


def look_in_ms(state: State) -> int | None:
    """Return when to look at an adopted campaign: at once where it moves by itself."""
    return 0 if state in (State.SCHEDULED, State.SENDING) else None


def identify(unit: Unit, dossier: Dossier, found: Found, state: State) -> None:
    """Record which remote campaign it is. Its content is uploaded anew before it is ever sent."""
    campaign = dossier.campaign
    unit.remotes.begin(campaign)
    known = unit.remotes.identify(
        campaign.id,
        campaign.generation,
        found.remote_id,
        status=found.status.value,
        went=state in WENT,
        content_pending=state is State.PROVIDER_DRAFT,
    )
    if not known:
        raise Unconfirmed(
            "The provider shows another campaign with our mark than the one that is known.",
            todo="Delete the wrong one at the provider, then reconcile.",
            reason="duplicate_drafts",
        )


def adopt_unasked(unit: Unit, wiring: Wiring, dossier: Dossier, found: Found, attempt: Attempt) -> State:
    """Adopt what a handoff found, as a create that succeeded without a request; return the new state."""
    campaign = dossier.campaign
    state = state_of(found, dossier)
    adopted = unit.ledger.adopted(attempt)
    identify(unit, dossier, found, state)
    flag = follow_content(unit, dossier, state, attempt_id=attempt.id)
    if not adopted or not unit.campaigns.follow(campaign, state, look_in_ms=look_in_ms(state), flag=flag):
        raise overtaken(campaign.id)
    if look_in_ms(state) is not None:
        wiring.wake_watch(unit, campaign.id, in_ms=0)
    unit.events.add(
        "draft_adopted",
        campaign_id=campaign.id,
        actor=attempt.actor,
        version=campaign.version + 1,
        attempt_id=attempt.id,
        status=found.status.value,
    )
    return state
