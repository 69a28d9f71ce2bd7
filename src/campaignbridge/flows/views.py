"""Read models: what people and programs are shown. Nothing here changes anything."""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import EDITABLE, TERMINAL, State, require_separation
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import Forbidden, InvalidInput, NotFound
from campaignbridge.domain.ledger import Attempt, Operation
from campaignbridge.domain.lock import LOCK_TTL_MS, campaign_key
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier

S = State
OVERTAKEN = frozenset({Operation.SEND, Operation.SCHEDULE})  # what a cancel may overtake
CANCELLABLE = EDITABLE | {S.PROVIDER_DRAFT, S.SCHEDULED, S.SENDING, S.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that could be done with a campaign, or why it can't be done now."""

    name: str
    what: str
    allowed: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who looks at a campaign next: `watching` (at `look_at`), `stopped` (for `reason`), or nobody has to (`idle`)."""

    state: str
    look_at: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CampaignView:
    """All that is shown of one campaign."""

    dossier: Dossier
    snapshot: Snapshot
    attempts: tuple[Attempt, ...]
    lock: Row | None  # who holds it now
    actions: tuple[Action, ...]
    audience: Row | None  # its name and size as preflight last read them

    @property
    def watch(self) -> Watch:
        """Who looks at it next."""
        campaign = self.dossier.campaign
        if campaign.stopped_reason is not None:
            return Watch("stopped", reason=campaign.stopped_reason)
        return Watch("idle") if campaign.look_at is None else Watch("watching", look_at=campaign.look_at)


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
            actions=actions(dossier, actor, separated=wiring.duties_separated),
            audience=unit.discoveries.audience(dossier.campaign.account, dossier.campaign.audience),
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
    """Return every lock that is held or was left behind, each with its `state` and its holder's `host`."""
    actor.require("read")
    with wiring.store.reading() as unit:
        rows = unit.locks.held()
    return [{**row, "state": lock_state(row), "host": str(row["holder"]).partition(":")[0]} for row in rows]


def lock_state(row: Row) -> str:
    """Return `held`, `left_behind` (its time is over), or `overlong` (longer ahead than any lease lasts)."""
    if row["held_until"] < row["now"]:
        return "left_behind"
    return "overlong" if row["held_until"] > row["now"] + LOCK_TTL_MS else "held"


def jobs(wiring: Wiring, *, actor: Actor, state: str = "", most: int = 50, cursor: str = "") -> list[Row]:
    """Return a page of jobs, ids and codes only; `cursor` is that of the last row of the page before."""
    actor.require("read")
    place, dot, job_id = cursor.partition(".")
    if cursor and not (dot and place.isascii() and place.isdigit() and len(place) < 19 and len(job_id) < 100):
        raise InvalidInput("The cursor is none of ours.", todo="Take next_cursor of the page before.")
    with wiring.store.reading() as unit:
        rows = unit.jobs.newest(state=state, most=most, after=(int(place), job_id) if cursor else None)
    return [
        {
            **{name: value for name, value in row.items() if name != "place"},
            "cursor": f"{row['place']}.{row['id']}",
        }
        for row in rows
    ]


def job(wiring: Wiring, job_id: str, *, safe_types: frozenset[str], actor: Actor) -> Row:
    """Return one job, ids and codes only, with `requeue`: whether it may be queued anew, and why not."""
    actor.require("read")
    with wiring.store.reading() as unit:
        row = unit.jobs.get(job_id)
    if row is None:
        raise NotFound(f"There is no job {job_id[:40]}.", todo="jobs list shows what there is.")
    why_not = ""
    if row["state"] not in ("dead", "failed"):
        why_not = f"it is {row['state']}"
    elif row["type"] not in safe_types:
        why_not = "its kind is not safe to repeat"
    elif "admin" not in actor.rights:
        why_not = "only an administrator may"
    return {**row, "requeue": {"allowed": not why_not, "why_not": why_not}}


RULES: tuple[tuple[str, str, str, frozenset[State]], ...] = (
    ("content", "freeze another content", "author", EDITABLE),
    ("submit", "hand it in for review", "author", frozenset({S.DRAFT})),
    ("approve", "approve exactly this content", "approve", frozenset({S.READY_FOR_REVIEW})),
    ("revoke", "take the approval back", "approve", frozenset({S.APPROVED})),
    ("draft", "make its draft at the provider", "manage", frozenset({S.APPROVED})),
    ("test", "mail the draft to a few addresses", "test", frozenset({S.PROVIDER_DRAFT})),
    ("schedule", "send it at a later time", "deliver", frozenset({S.PROVIDER_DRAFT})),
    ("send", "send it; this cannot be undone", "deliver", frozenset({S.PROVIDER_DRAFT})),
    (
        "retire",
        "make its draft unsendable, so that a new one can be made",
        "deliver",
        EDITABLE | {S.PROVIDER_DRAFT},
    ),
    ("withdraw", "take the draft back, to edit it", "manage", frozenset({S.PROVIDER_DRAFT})),
    ("unschedule", "take it off the schedule", "deliver", frozenset({S.SCHEDULED})),
    ("cancel", "stop it for good", "deliver", CANCELLABLE),
    ("archive", "put it away", "manage", EDITABLE | {S.FAILED}),
    ("duplicate", "make a draft with the same content", "author", frozenset(State)),
)
DELIVERIES = frozenset({"test", "schedule", "send"})
OF_WAVES = frozenset({"unschedule", "cancel"})  # what may be asked of a wave's campaign by hand


def actions(dossier: Dossier, actor: Actor, *, separated: bool = False) -> tuple[Action, ...]:
    """Return what may be done now, and why the rest may not. With `separated` duties, the approver can't deliver."""
    found = []
    for name, what, right, states in RULES:
        why_not = _why_not(name, right, states, dossier, actor)
        if not why_not and name in ("schedule", "send"):
            why_not = _own_approval(dossier, actor, separated=separated)
        found.append(Action(name, what, not why_not, why_not))
    return (*found, _reconciling(dossier, actor), _resolving(dossier, actor))


def _own_approval(dossier: Dossier, actor: Actor, *, separated: bool) -> str:
    try:
        require_separation(dossier.campaign.approval, actor.name, separated=separated)
    except Forbidden:
        return "whoever approved it may not send it"
    return ""


def _why_not(name: str, right: str, states: frozenset[State], dossier: Dossier, actor: Actor) -> str:
    campaign, remote = dossier.campaign, dossier.remote
    if campaign.wave is not None and name not in OF_WAVES:
        return f"it is {campaign.wave.label} of the ramp {campaign.wave.ramp}"
    if right not in actor.rights and "admin" not in actor.rights:
        return f"you have no right to {right}"
    overtakes = dossier.attempt is not None and dossier.attempt.operation in OVERTAKEN
    if campaign.open_attempt is not None and not (name == "cancel" and overtakes):
        return "an earlier request is not confirmed"
    if campaign.state not in states and not (name == "draft" and _pending_content(dossier)):
        return f"it is {campaign.state.value}"
    if remote is None:
        return "nothing of it stands at the provider" if name == "retire" else ""
    if why_not := _of_remote(name, dossier, remote):
        return why_not
    if name in ("schedule", "send") and dossier.content_holder is not None:
        return f"{dossier.content_holder} has the same content for the same audience"
    return ""


def _of_remote(name: str, dossier: Dossier, remote: RemoteCampaign) -> str:
    """Return what stands against it because of what stands, or went, at the provider."""
    if name == "retire" and remote.remote_id is None:
        return "nothing of it stands at the provider"
    if name in DELIVERIES | {"retire"} and remote.went:
        return "it may have gone already"
    if name in ("schedule", "send") and not remote.sendable:
        return "an earlier send of this draft was in doubt; retire it first"
    if name in DELIVERIES and _pending_content(dossier):
        return "its content is not known to be uploaded; make its draft first"
    if name == "withdraw" and (remote.went or remote.absent_at is not None):
        return "a send of it is still being looked at"
    return ""


def _reconciling(dossier: Dossier, actor: Actor) -> Action:
    campaign, remote = dossier.campaign, dossier.remote
    reachable = campaign.open_attempt is not None or (remote is not None and remote.remote_id is not None)
    why_not = ""
    if not {"operate", "admin"} & actor.rights:
        why_not = "you have no right to operate"
    elif campaign.state in TERMINAL:
        why_not = f"it is {campaign.state.value}"
    elif not reachable:
        why_not = "nothing of it stands at the provider"
    return Action("reconcile", "read the provider now; changes nothing there", not why_not, why_not)


def _resolving(dossier: Dossier, actor: Actor) -> Action:
    why_not = ""
    if "admin" not in actor.rights:
        why_not = "only an administrator may"
    elif dossier.campaign.stopped_reason is None and dossier.campaign.flag != "watch_failed":
        why_not = "only when the provider can never tell"
    elif dossier.attempt is not None and dossier.now < dossier.attempt.window_end:
        why_not = "its request may still take effect"
    return Action("resolve", "settle it by hand, with evidence", not why_not, why_not)


def _pending_content(dossier: Dossier) -> bool:
    return (
        dossier.campaign.state is S.PROVIDER_DRAFT
        and dossier.remote is not None
        and dossier.remote.content_pending
    )
