"""What stands between a draft and its sending, as the send-checklist tells it and as actions enforce it."""

from collections.abc import Iterator
from dataclasses import dataclass

from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.world import World

VERIFIED_DOMAINS = ("sandbox.example",)


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist. `type` is success, warning or error."""

    type: str
    id: int
    heading: str
    details: str


def items(world: World, campaign: Campaign, at_ms: int) -> list[Item]:
    """Return the checklist of a campaign at that moment."""
    return [
        *_audience(world, campaign, at_ms),
        *_envelope(campaign),
        *_sender(world, campaign),
        *_content(campaign),
    ]


def is_ready(world: World, campaign: Campaign, at_ms: int) -> bool:
    """Say whether nothing on the checklist is an error."""
    return all(item.type != "error" for item in items(world, campaign, at_ms))


def is_counting(world: World, campaign: Campaign, at_ms: int) -> bool:
    """Say whether the only thing in the way is that the audience is still being counted."""
    return at_ms < campaign.counted_ms and is_ready(world, campaign, campaign.counted_ms)


def is_unverified(world: World, campaign: Campaign) -> bool:
    """Say whether the sender's domain is one that the account may not send from, where that matters."""
    domain = campaign.text("reply_to").lower().rpartition("@")[2]
    return world.behaviour.unverified_sender == "refused" and domain not in VERIFIED_DOMAINS


def missing_for_test(campaign: Campaign) -> list[str]:
    """Return what a test mail lacks, in words."""
    return [item.details for item in (*_envelope(campaign), *_content(campaign)) if item.type == "error"]


def _audience(world: World, campaign: Campaign, at_ms: int) -> Iterator[Item]:
    audience = world.audience(campaign.account_id, campaign.list_id)
    count = world.recipient_count(campaign, at_ms)
    if audience is None:
        yield Item("error", 501, "List", "No list has been chosen.")
    elif count <= 0:
        yield Item("error", 502, "List", f"Nobody on {audience.name} would receive this.")
    else:
        yield Item("success", 506, "List", f"This goes to {audience.name}. ({count} recipients)")


def _envelope(campaign: Campaign) -> Iterator[Item]:
    subject, name, reply_to = (campaign.text(key) for key in ("subject_line", "from_name", "reply_to"))
    if subject:
        yield Item("success", 115, "Subject line", f'"{subject}"')
    else:
        yield Item("error", 113, "Subject line", "A subject line must be entered.")
    if not name:
        yield Item("error", 117, "From name", "A From Name must be entered.")
    if "@" in reply_to:
        yield Item("success", 604, "Replies", f"Replies go to {reply_to}.")
    else:
        yield Item("error", 601, "Replies", "A reply-to address must be entered.")


def _sender(world: World, campaign: Campaign) -> Iterator[Item]:
    if "@" in campaign.text("reply_to") and is_unverified(world, campaign):
        yield Item("error", 605, "From address", "The domain of the from address is not verified.")


def _content(campaign: Campaign) -> Iterator[Item]:
    content = campaign.content
    if content is None or not (content.html or campaign.type == "plaintext"):
        yield Item("error", 101, "Content", "The campaign has no content.")
        return
    if content.html:
        yield Item("success", 107, "HTML email", "This is an HTML email.")
    yield Item("success", 800, "Plain-text email", "A plain-text version is included.")
    if content.footer_added:
        yield Item("warning", 102, "Footer added", "A footer with an unsubscribe link has been added.")
