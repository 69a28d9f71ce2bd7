"""Read models: what people and programs are shown. Nothing here changes anything."""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.ledger import Attempt
from campaignbridge.domain.lock import campaign_key
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier

S = State


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that could be done with a campaign, or why it can't be done now."""

    name: str
    what: str
    allowed: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CampaignView:
    """All that is shown of one campaign."""

    dossier: Dossier
    snapshot: Snapshot
    attempts: tuple[Attempt, ...]
    lock: Row | None  # who holds it now
    actions: tuple[Action, ...]


def show(wiring: Wiring, campaign_id: str, *, actor: Actor) -> CampaignView:
    """Return all that is known of one campaign."""
    actor.require("read")
    with wiring.store.reading() as unit:
        dossier = unit.campaigns.get(campaign_id)
        key = campaign_key(campaign_id)
        held = [row for row in unit.locks.held() if row["key"] == key and row["held_until"] >= row["now"]]
        return CampaignView(
            dossier=dossier,
            snapshot=unit.campaigns.snapshot(dossier.campaign),
            attempts=tuple(unit.ledger.of_campaign(campaign_id)),
            lock=held[0] if held else None,
            actions=actions(dossier, actor),
        )


def newest(wiring: Wiring, *, actor: Actor, most: int = 50) -> list[Row]:
    """Return the newest campaigns."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.campaigns.newest(most=most)


def timeline(wiring: Wiring, campaign_id: str, *, actor: Actor) -> list[Row]:
    """Return what happened to a campaign, oldest first."""
    actor.require("read")
    with wiring.store.reading() as unit:
        unit.campaigns.get(campaign_id)
        return unit.events.of_campaign(campaign_id)


def locks(wiring: Wiring, *, actor: Actor) -> list[Row]:
    """Return every lock that is held or was left behind."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.locks.held()


def jobs(wiring: Wiring, *, actor: Actor, state: str = "", most: int = 50) -> list[Row]:
    """Return the newest jobs."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.jobs.newest(state=state, most=most)


def job(wiring: Wiring, job_id: str, *, actor: Actor) -> Row:
    """Return one job."""
    actor.require("read")
    with wiring.store.reading() as unit:
        row = unit.jobs.get(job_id)
    if row is None:
        raise NotFound(f"There is no job {job_id[:40]}.", todo="jobs list shows what there is.")
    return row


RULES: tuple[tuple[str, str, str, frozenset[State]], ...] = (
    ("submit", "hand it in for review", "author", frozenset({S.DRAFT})),
    ("approve", "approve exactly this content", "approve", frozenset({S.READY_FOR_REVIEW})),
    ("revoke", "take the approval back", "approve", frozenset({S.APPROVED})),
    ("draft", "make its draft at the provider", "manage", frozenset({S.APPROVED})),
    ("send", "send it; this cannot be undone", "deliver", frozenset({S.PROVIDER_DRAFT})),
)


def actions(dossier: Dossier, actor: Actor) -> tuple[Action, ...]:
    """Return what may be done now, and why the rest may not."""
    campaign, remote = dossier.campaign, dossier.remote
    found: list[Action] = []
    for name, what, right, states in RULES:
        why_not = ""
        if right not in actor.rights and "admin" not in actor.rights:
            why_not = f"you have no right to {right}"
        elif campaign.open_attempt is not None:
            why_not = "an earlier request is not confirmed"
        elif campaign.state not in states and not _pending_content(name, dossier):
            why_not = f"it is {campaign.state.value}"
        elif name == "send" and remote is not None and remote.went:
            why_not = "it may have gone already"
        elif name == "send" and remote is not None and remote.content_pending:
            why_not = "its content is not known to be uploaded; ask for the draft again"
        found.append(Action(name, what, not why_not, why_not))
    moving = campaign.open_attempt or campaign.look_at is not None or campaign.stopped_reason or campaign.flag
    reachable = campaign.open_attempt is not None or (remote is not None and remote.remote_id is not None)
    reads = bool(moving) and reachable
    found.append(
        Action(
            "reconcile",
            "read the provider now; changes nothing there",
            reads,
            "" if reads else "nothing to settle",
        )
    )
    return tuple(found)


def _pending_content(name: str, dossier: Dossier) -> bool:
    return (
        name == "draft"
        and dossier.campaign.state is S.PROVIDER_DRAFT
        and dossier.remote is not None
        and dossier.remote.content_pending
    )
