"""What Resend's webhooks are told: word of single mails and of contacts, as JSON. `courier` signs it."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.outcome import ARRIVED, DELAYED, Word
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.world import World

EVENTS = (
    "email.sent",
    "email.scheduled",
    "email.delivered",
    "email.delivery_delayed",
    "email.complained",
    "email.bounced",
    "email.opened",
    "email.clicked",
    "email.failed",
    "email.suppressed",
    "contact.created",
    "contact.updated",
    "contact.deleted",
)
MOST_TOLD = 200  # people of one delivery of whom nothing but good is told
_KINDS = {
    "hard": "email.bounced",
    "soft": "email.bounced",
    "abuse": "email.complained",
    DELAYED: "email.delivery_delayed",
    ARRIVED: "email.delivered",
}


def new_key(digits: str) -> str:
    """Return a signing secret as svix writes it."""
    return "whsec_" + base64.b64encode(digits.encode()).decode()


def mails(world: World, ended: Campaign, at_ms: int) -> None:
    """Tell of the first mails of a delivery that ended: sent, and delivered unless something else is heard of it."""
    mailed = world.deliveries.get(ended.id)
    if mailed is None or not world.hooks.of_list(ended.list_id):
        return
    troubled = mailed.troubled()
    for place, person in enumerate(mailed.page(0, MOST_TOLD, mailed.size)):
        _tell(world, ended, person, "email.sent", at_ms)
        if place not in troubled:
            _tell(world, ended, person, "email.delivered", at_ms)


def told(world: World, mailing: Campaign, person: Person, word: Word, at_ms: int) -> None:
    """Tell what was heard of one mail; of everybody, since these are few."""
    kind = _KINDS.get(word.fate)
    if kind is not None and world.hooks.of_list(mailing.list_id):
        _tell(world, mailing, person, kind, at_ms, fate=word.fate)


def contact(world: World, list_id: str, before: Person | None, after: Person, at_ms: int) -> None:
    """Tell how a contact came, changed or went."""
    if not world.hooks.of_list(list_id):
        return
    kind = "contact.created" if before is None else "contact.updated"
    data = {
        "id": after.hash,
        "audience_id": list_id,
        "segment_ids": [],
        "created_at": moment(after.joined_ms),
        "updated_at": moment(at_ms),
        "email": after.email,
        "first_name": after.merge_fields.get("first_name", ""),
        "last_name": after.merge_fields.get("last_name", ""),
        "unsubscribed": after.status != "subscribed",
    }
    kind = "contact.deleted" if after.status == "archived" else kind
    world.hooks.announce(kind, list_id, data, at_ms, source="api", lag_ms=world.behaviour.webhook_lag_ms)


def _tell(world: World, ended: Campaign, person: Person, kind: str, at_ms: int, *, fate: str = "") -> None:
    world.hooks.announce(
        kind,
        ended.list_id,
        _data(ended, person, fate, kind, at_ms),
        at_ms,
        source="api",
        lag_ms=world.behaviour.webhook_lag_ms,
    )


def moment(at_ms: int) -> str:
    """Write a time as events do."""
    stamp = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _data(ended: Campaign, person: Person, fate: str, kind: str, at_ms: int) -> Mapping[str, Any]:
    data: dict[str, Any] = {
        "broadcast_id": ended.id,
        "email_id": person.hash,
        "created_at": moment(at_ms),
        "from": ended.text("from"),
        "to": [person.email],
        "subject": ended.text("subject_line"),
    }
    if kind == "email.bounced":
        bounce = "Permanent" if fate == "hard" else "Transient"
        data["bounce"] = {
            "type": bounce,
            "subType": "General",
            "message": "made up",
            "diagnosticCode": [],
        }
    return data
