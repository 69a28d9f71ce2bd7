"""What the world's changes tell webhooks: a campaign that ended, a person who came, left or changed."""

from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.mail_events import contact, mails, told
from campaignbridge.sandbox.outcome import Word
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.world import World

LEFT = ("unsubscribed", "archived")


def campaign(world: World, ended: Campaign, status: str, at_ms: int) -> None:
    """Announce that a campaign was sent, or stopped."""
    if status == "sent" or ended.emails_sent:
        mails(world, ended, at_ms)
    data = {"id": ended.id, "subject": ended.text("subject_line"), "status": status, "reason": ""}
    _announce(world, "campaign", ended.list_id, data, at_ms, source="admin")


def mail(world: World, mailing: Campaign, receiver: Person, word: Word, at_ms: int) -> None:
    """Announce what was heard of one mail, where the provider tells of single mails."""
    told(world, mailing, receiver, word, at_ms)


def person(  # one argument for each thing that an event tells
    world: World,
    list_id: str,
    before: Person | None,
    after: Person,
    at_ms: int,
    *,
    source: str,
    campaign_id: str = "",
) -> None:
    """Announce how a member changed, to each provider's webhooks in its own words."""
    contact(world, list_id, before, after, at_ms)
    kind, said = _said(before, after)
    data = {**said, "email": after.email, **({"campaign_id": campaign_id} if campaign_id else {})}
    if kind not in ("cleaned", "upemail"):
        merges = {"EMAIL": after.email, **after.merge_fields}
        data |= {"id": after.hash[:10], "email_type": after.email_type, "ip_opt": "192.0.2.1"}
        data |= {f"merges.{name}": value for name, value in merges.items()}
    _announce(world, kind, list_id, data, at_ms, source=source)


def _said(before: Person | None, after: Person) -> tuple[str, dict[str, str]]:
    was = "" if before is None else before.status
    if before is not None and before.email.lower() != after.email.lower():
        return "upemail", {"new_email": after.email, "old_email": before.email, "new_id": after.hash[:10]}
    if after.status == "cleaned" and was != "cleaned":
        return "cleaned", {"reason": "hard"}
    if after.status in LEFT and was != after.status:
        reason = "abuse" if after.reason == "Abuse complaint" else "manual"
        return "unsubscribe", {
            "action": "delete" if after.status == "archived" else "unsub",
            "reason": reason,
        }
    if after.status == "subscribed" and was != "subscribed":
        return "subscribe", {}
    return "profile", {}


def _announce(
    world: World, kind: str, list_id: str, data: dict[str, str], at_ms: int, *, source: str
) -> None:
    lag_ms = world.behaviour.webhook_lag_ms
    world.hooks.announce(kind, list_id, data, at_ms, source=source, lag_ms=lag_ms)
