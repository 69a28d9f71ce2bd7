"""Authoring: content is frozen, checked, submitted and approved. All of it is local but one reading.

Every change is a compare-and-set on the version that was looked at, with its audit event in the same
transaction. What is approved is an exact fingerprint of stored bytes, for a number of recipients at most.
"""

import re
from dataclasses import dataclass
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import EDITABLE, Approval, Campaign, State, may_move
from campaignbridge.domain.content import (
    MAX_NAME,
    MAX_SUBJECT,
    Problem,
    Snapshot,
    fingerprint,
    preflight,
    require_address,
    require_one_line,
)
from campaignbridge.domain.discovery import Cached
from campaignbridge.domain.errors import Conflict, InvalidInput, Refusal, ValidationFailed
from campaignbridge.domain.ledger import COUNT_LIMIT_MS, READ_LIMIT_MS
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Envelope,
    MergeField,
    Refused,
    RemoteAudience,
)
from campaignbridge.flows.connecting import find_connection
from campaignbridge.flows.fields import field_problems
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.refusals import not_reached, refused, unreadable
from campaignbridge.flows.render import render
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

_AUDIENCE = re.compile(r"[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_-]{1,64})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCampaign:
    """What a campaign is created from. `content` is a file's bytes, HTML or Markdown."""

    name: str
    connection: str  # id or label
    audience: str
    subject: str
    from_name: str
    from_email: str
    content: bytes
    markdown: bool = False
    preview_text: str = ""
    reply_to: str = ""  # default: the From address


@dataclass(frozen=True, slots=True)
class Checked:
    """What preflight found."""

    problems: tuple[Problem, ...]
    audience: RemoteAudience | None
    fingerprint: str

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What keeps the content from being submitted."""
        return tuple(problem for problem in self.problems if problem.error)


def create(wiring: Wiring, new: NewCampaign, *, actor: Actor) -> Dossier:
    """Create a draft with frozen content; raise `InvalidInput` for what could never be sent."""
    actor.require("author")
    require_one_line(new.name, field="name", limit=MAX_NAME)
    require_audience(new.audience)
    envelope = Envelope(
        subject=require_one_line(new.subject, field="subject", limit=MAX_SUBJECT),
        preview_text=require_one_line(new.preview_text, field="preview text", limit=MAX_SUBJECT, empty=True),
        from_name=require_one_line(new.from_name, field="sender name", limit=100),
        from_email=require_address(new.from_email, field="From address"),
        reply_to=require_address(new.reply_to or new.from_email, field="reply-to address"),
    )
    rendered = render(new.content, markdown=new.markdown)
    connection = find_connection(wiring, new.connection)
    campaign_id = wiring.new_id("cmp")
    digest = fingerprint(envelope, rendered.html, rendered.text)
    with wiring.store.unit() as unit:
        unit.campaigns.create(
            campaign_id=campaign_id,
            name=new.name,
            connection_id=connection.id,
            audience=new.audience,
            owner=actor.name,
        )
        unit.campaigns.add_snapshot(
            campaign_id=campaign_id,
            revision=1,
            envelope=envelope,
            html=rendered.html,
            text=rendered.text,
            fingerprint=digest,
            by=actor.name,
        )
        unit.events.add("created", campaign_id=campaign_id, actor=actor.name, version=1, fingerprint=digest)
        return unit.campaigns.get(campaign_id)


def check(wiring: Wiring, campaign_id: str, *, actor: Actor) -> Checked:
    """Run preflight: the stored content, and whether the audience exists at the provider."""
    actor.require("read")
    with wiring.store.reading() as unit:
        dossier = unit.campaigns.get(campaign_id)
        content = unit.discoveries.content_and_fields(dossier.campaign)
    return _check(wiring, dossier, *content, actor)


def submit(
    wiring: Wiring, campaign_id: str, *, actor: Actor, expected_version: int | None = None
) -> tuple[Dossier, Checked]:
    """Hand a draft in for review; raise `ValidationFailed` with the first thing that is wrong."""
    actor.require("author")
    with wiring.store.reading() as unit:
        dossier = unit.campaigns.get(campaign_id)
        content = unit.discoveries.content_and_fields(dossier.campaign)
    campaign = dossier.campaign
    _require_editable(campaign, State.READY_FOR_REVIEW, expected_version, doing="be submitted")
    checked = _check(wiring, dossier, *content, actor)
    for problem in checked.errors:
        raise ValidationFailed(problem.what, todo=problem.todo, problem=problem.code)
    with wiring.store.unit() as unit:
        _edit(unit, campaign, State.READY_FOR_REVIEW, "submitted", actor)
        return unit.campaigns.get(campaign_id), checked


def approve(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    approved: str,
    max_recipients: int,
    expected_version: int | None = None,
) -> Dossier:
    """Approve exactly the content with this fingerprint, for at most so many recipients."""
    actor.require("approve")
    if not 1 <= max_recipients <= 100_000_000:
        raise InvalidInput(
            "--max-recipients is a number from 1 to 100,000,000.",
            todo="Give the most people who may get this.",
        )
    with wiring.store.unit() as unit:
        dossier = unit.campaigns.get(campaign_id)
        campaign = dossier.campaign
        _require_editable(campaign, State.APPROVED, expected_version, doing="be approved")
        snapshot = unit.campaigns.snapshot(campaign)
        if snapshot.fingerprint != approved:
            raise Refusal(
                "The fingerprint is not that of the present content.",
                code="approval_not_allowed",
                todo=f"Look at the content (campaigns show {campaign_id}) and approve its fingerprint.",
                fingerprint=snapshot.fingerprint,
            )
        approval = Approval(actor.name, 0, snapshot.fingerprint, max_recipients)
        _edit(
            unit,
            campaign,
            State.APPROVED,
            "approved",
            actor,
            approval=approval,
            fingerprint=snapshot.fingerprint,
            max_recipients=max_recipients,
        )
        return unit.campaigns.get(campaign_id)


def revoke(wiring: Wiring, campaign_id: str, *, actor: Actor, expected_version: int | None = None) -> Dossier:
    """Take an approval back, before anything stands at the provider."""
    actor.require("approve")
    with wiring.store.unit() as unit:
        campaign = unit.campaigns.get(campaign_id).campaign
        campaign.require_free()
        campaign.require_settled()
        campaign.require_version(expected_version)
        campaign.require_state(State.APPROVED, doing="have its approval taken back")
        _edit(unit, campaign, State.READY_FOR_REVIEW, "approval_revoked", actor)
        return unit.campaigns.get(campaign_id)


def require_audience(ref: str) -> None:
    """Raise `InvalidInput` unless this can be an audience's id at a provider."""
    if not _AUDIENCE.fullmatch(ref):
        raise InvalidInput(
            "The audience is the provider's id of a list, or list:segment.",
            todo="Copy the id from the provider, such as a1b2c3.",
        )


def content_problems(provider: Reader, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Return what stands against the content itself at this provider."""
    return preflight(
        snapshot.envelope, snapshot.html, snapshot.text, rules=provider.content_rules, label=provider.label
    )


def _uncounted(label: str) -> Problem:
    return Problem(
        "audience_uncounted",
        error=True,
        what=f"{label} tells no number, and the audience couldn't be counted within a minute.",
        todo="Have the account's rate limit raised there, or mail in waves of smaller segments.",
    )


def _check(
    wiring: Wiring, dossier: Dossier, snapshot: Snapshot, fields: Cached[MergeField], actor: Actor
) -> Checked:
    provider = open_reader(wiring, dossier.connection)
    problems = list(content_problems(provider, snapshot))
    limit_ms = COUNT_LIMIT_MS if "count" in provider.capabilities else READ_LIMIT_MS
    try:
        outcome = provider.audience(dossier.campaign.audience, limit_ms=limit_ms)
    except ValueError:  # not the form of this provider's ids
        outcome = Refused("malformed_reference", Category.MISSING)
    audience = None
    match outcome:
        case Accepted(value):
            audience = value
            if audience.contacts is None:
                problems.append(_uncounted(provider.label))
            else:
                with wiring.store.unit() as unit:
                    unit.discoveries.put_audience(dossier.campaign.account, audience)
            problems += field_problems(wiring, provider, dossier, snapshot, fields, actor=actor.name)
        case Refused(category=Category.MISSING):
            problems.append(
                Problem(
                    "audience_unknown",
                    error=True,
                    what=f"{provider.label} knows no audience {dossier.campaign.audience}.",
                    todo="Create the campaign anew with the id of an audience that exists there.",
                )
            )
        case Refused(category=Category.UNREACHABLE):
            raise not_reached(provider, outcome)
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)
    problems.sort(key=lambda problem: not problem.error)
    return Checked(tuple(problems), audience, snapshot.fingerprint)


def _require_editable(campaign: Campaign, target: State, expected: int | None, *, doing: str) -> None:
    campaign.require_free()
    campaign.require_settled()
    campaign.require_version(expected)
    reviewed = EDITABLE - {
        State.APPROVED
    }  # what stands at the provider is withdrawn before it is approved anew
    sources = tuple(state for state in State if state in reviewed and may_move(state, target))
    campaign.require_state(*sources, doing=doing)


def _edit(
    unit: Unit,
    campaign: Campaign,
    state: State,
    event: str,
    actor: Actor,
    *,
    approval: Approval | None = None,
    **data: object,
) -> None:
    if not unit.campaigns.edit(campaign, state, approval=approval):
        raise Conflict(
            f"Somebody changed {campaign.id} meanwhile.",
            todo=f"Look at it again (campaigns show {campaign.id}) and repeat.",
        )
    unit.events.add(
        event,
        campaign_id=campaign.id,
        actor=actor.name,
        version=campaign.version + 1,
        **data,  # type: ignore[arg-type]
    )
