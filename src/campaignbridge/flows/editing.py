"""Editing: another content or audience, taking a draft back, copying, putting away. All of it is local.

Each is a compare-and-set on the version that was looked at, while no request is open, with its audit event in
the same transaction.
"""

import hashlib

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import EDITABLE, Campaign, State
from campaignbridge.domain.content import MAX_NAME, MAX_SUBJECT, fingerprint, require_one_line
from campaignbridge.domain.errors import Conflict, InvalidState
from campaignbridge.domain.ledger import require_key
from campaignbridge.domain.provider import Envelope
from campaignbridge.flows.authoring import require_audience
from campaignbridge.flows.render import render
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"


def set_content(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    content: bytes,
    markdown: bool,
    subject: str | None = None,
    preview_text: str | None = None,
    expected_version: int | None = None,
) -> Dossier:
    """Freeze another revision of the content; an approval is dropped, and the campaign is a draft again."""
    actor.require("author")
    rendered = render(content, markdown=markdown)
    with wiring.store.unit() as unit:
        campaign = _editable(unit, campaign_id, expected_version, doing="get another content")
        old = unit.campaigns.snapshot(campaign).envelope
        envelope = Envelope(
            subject=old.subject
            if subject is None
            else require_one_line(subject, field="subject", limit=MAX_SUBJECT),
            preview_text=old.preview_text
            if preview_text is None
            else require_one_line(preview_text, field="preview text", limit=MAX_SUBJECT, empty=True),
            from_name=old.from_name,
            from_email=old.from_email,
            reply_to=old.reply_to,
        )
        digest = fingerprint(envelope, rendered.html, rendered.text)
        unit.campaigns.add_snapshot(
            campaign_id=campaign_id,
            revision=campaign.revision + 1,
            envelope=envelope,
            html=rendered.html,
            text=rendered.text,
            fingerprint=digest,
            by=actor.name,
        )
        _require(
            unit.campaigns.edit(campaign, State.DRAFT, approval=None, revision=campaign.revision + 1),
            campaign,
        )
        _event(unit, campaign, actor, "content_changed", fingerprint=digest, revision=campaign.revision + 1)
        return unit.campaigns.get(campaign_id)


def set_audience(
    wiring: Wiring, campaign_id: str, *, actor: Actor, audience: str, expected_version: int | None = None
) -> Dossier:
    """Choose another audience, while no draft stands at the provider: its audience is never swapped there."""
    actor.require("author")
    require_audience(audience)
    with wiring.store.unit() as unit:
        campaign = _editable(unit, campaign_id, expected_version, doing="get another audience")
        remote = unit.campaigns.get(campaign_id).remote
        if remote is not None and remote.remote_id is not None:
            raise InvalidState(
                "A draft for the old audience stands at the provider, and is never given another one.",
                todo=f"Make a new campaign of it: campaigns duplicate {campaign_id}",
            )
        state = State.READY_FOR_REVIEW if campaign.state is State.APPROVED else campaign.state
        _require(unit.campaigns.edit(campaign, state, approval=None, audience=audience), campaign)
        _event(unit, campaign, actor, "audience_changed", audience=audience)
        return unit.campaigns.get(campaign_id)


def withdraw(
    wiring: Wiring, campaign_id: str, *, actor: Actor, expected_version: int | None = None
) -> Dossier:
    """Take a draft back from the provider's side: it is approved again, and may be edited.

    The draft stays there, unsent; the next handoff finds it by its token and uploads whatever is approved then.
    """
    actor.require("manage")
    with wiring.store.unit() as unit:
        dossier = unit.campaigns.get(campaign_id)
        campaign = dossier.campaign
        campaign.require_free()
        campaign.require_settled()
        campaign.require_version(expected_version)
        campaign.require_state(State.PROVIDER_DRAFT, doing="be withdrawn")
        if dossier.remote is not None and (dossier.remote.went or dossier.remote.absent_at is not None):
            raise InvalidState(
                "A send of this draft was asked for, and it is still being looked at.",
                todo=f"Wait for that, or make a new campaign of it: campaigns duplicate {campaign_id}",
            )
        _require(unit.campaigns.edit(campaign, State.APPROVED, approval=campaign.approval), campaign)
        _event(unit, campaign, actor, "withdrawn")
        return unit.campaigns.get(campaign_id)


def archive(
    wiring: Wiring, campaign_id: str, *, actor: Actor, expected_version: int | None = None
) -> Dossier:
    """Put a campaign away that was never sent."""
    actor.require("manage")
    with wiring.store.unit() as unit:
        campaign = unit.campaigns.get(campaign_id).campaign
        campaign.require_free()
        campaign.require_settled()
        campaign.require_version(expected_version)
        campaign.require_state(*EDITABLE, State.FAILED, doing="be archived")
        _require(unit.campaigns.edit(campaign, State.ARCHIVED, approval=campaign.approval), campaign)
        _event(unit, campaign, actor, "archived")
        return unit.campaigns.get(campaign_id)


def duplicate(
    wiring: Wiring, campaign_id: str, *, actor: Actor, key: str, name: str | None = None
) -> Dossier:
    """Make a draft with the same content and audience. The same key makes the same one, once.

    Nothing of the delivery's history is copied. Not offered while a request of the source is open.
    """
    actor.require("author")
    require_key(key)
    copy_id = f"cmp_{_derived(campaign_id, key)}"
    with wiring.store.unit() as unit:
        source = unit.campaigns.get(campaign_id).campaign
        source.require_free()
        source.require_settled()
        snapshot = unit.campaigns.snapshot(source)
        title = require_one_line(
            name or f"{source.name[: MAX_NAME - 7]} (copy)", field="name", limit=MAX_NAME
        )
        created = unit.campaigns.create(
            campaign_id=copy_id,
            name=title,
            connection_id=source.connection_id,
            audience=source.audience,
            owner=actor.name,
        )
        if created:
            unit.campaigns.add_snapshot(
                campaign_id=copy_id,
                revision=1,
                envelope=snapshot.envelope,
                html=snapshot.html,
                text=snapshot.text,
                fingerprint=snapshot.fingerprint,
                by=actor.name,
            )
            unit.events.add(
                "created",
                campaign_id=copy_id,
                actor=actor.name,
                version=1,
                fingerprint=snapshot.fingerprint,
                source=campaign_id,
            )
        return unit.campaigns.get(copy_id)


def _derived(campaign_id: str, key: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"{campaign_id}\n{key}".encode()).digest()[:10], "big")
    letters = ""
    for _ in range(12):
        number, digit = divmod(number, len(_DIGITS))
        letters += _DIGITS[digit]
    return letters


def _editable(unit: Unit, campaign_id: str, expected: int | None, *, doing: str) -> Campaign:
    campaign = unit.campaigns.get(campaign_id).campaign
    campaign.require_free()
    campaign.require_settled()
    campaign.require_version(expected)
    campaign.require_state(*EDITABLE, doing=doing)
    return campaign


def _require(changed: bool, campaign: Campaign) -> None:  # noqa: FBT001  reads as prose at its only kind of call
    if not changed:
        raise Conflict(
            f"Somebody changed {campaign.id} meanwhile.",
            todo=f"Look at it again (campaigns show {campaign.id}) and repeat.",
        )


def _event(unit: Unit, campaign: Campaign, actor: Actor, kind: str, **data: object) -> None:
    unit.events.add(
        kind,
        campaign_id=campaign.id,
        actor=actor.name,
        version=campaign.version + 1,
        **data,  # type: ignore[arg-type]
    )
