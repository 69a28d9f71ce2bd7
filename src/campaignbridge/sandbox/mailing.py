"""A delivery, from the moment when it can't be taken back until it is complete."""

import hashlib
from dataclasses import replace
from functools import partial

from campaignbridge.sandbox import announcing
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.outcome import Mailed
from campaignbridge.sandbox.world import World


def html_sha256(campaign: Campaign) -> str:
    """Return the hash of the HTML that is mailed: with the footer, if one was added."""
    return hashlib.sha256((campaign.content.html if campaign.content else "").encode()).hexdigest()


def begin(world: World, campaign: Campaign, at_ms: int, *, by: str) -> Campaign:
    """Start mailing, whatever the status was: the caller has decided. Completion follows by itself."""
    audience = replace(campaign, recipients=None)
    size = 0 if campaign.mails_nobody else world.recipient_count(audience, at_ms)
    until = at_ms + world.behaviour.sending_ms
    sending = replace(
        campaign, status="sending", send_ms=at_ms, done_ms=until, recipients=size, emails_sent=0
    )
    world.note("send_accepted", sending, at_ms, recipients=size, by=by)
    _address(world, campaign, size)
    world.later(until, partial(_finish, world, sending, by))
    return world.put(sending, at_ms)


def await_slot(world: World, campaign: Campaign) -> None:
    """Have a scheduled campaign mailed when its moment comes, if it still waits for that moment."""
    if campaign.send_ms is not None:
        world.later(campaign.send_ms, partial(_slot, world, campaign.id, campaign.send_ms))


def cancel(world: World, campaign: Campaign, at_ms: int, *, by: str) -> None:
    """Stop mailing. What had left by then has left, and the truth log says so."""
    gone = campaign.emails_sent_at(at_ms)
    if gone:
        world.note("mailed", campaign, at_ms, recipients=gone, sha256=html_sha256(campaign), by=by)
    world.note("cancelled", campaign, at_ms, recipients=gone, by=by)
    _settle(world, campaign, gone, at_ms)
    until = at_ms + world.behaviour.cancelling_ms
    world.put(replace(campaign, status="canceling", emails_sent=gone, done_ms=until), at_ms)
    world.later(until, partial(_cancelled, world, campaign.id))


def archive(world: World, campaign: Campaign, at_ms: int, *, by: str) -> None:
    """Put a campaign away, in whatever status. A delivery under way goes on."""
    world.put(replace(campaign, status="archived"), at_ms)
    world.note("archived", campaign, at_ms, by=by)


def _slot(world: World, campaign_id: str, slot_ms: int, at_ms: int) -> None:
    current = world.current(campaign_id)
    if current is not None and current.status == "schedule" and current.send_ms == slot_ms:
        begin(world, current, at_ms, by="schedule")


def _finish(world: World, mailing: Campaign, by: str, at_ms: int) -> None:
    current = world.current(mailing.id)
    if current is not None and current.status in ("canceling", "canceled"):
        return
    size = mailing.recipients or 0
    world.note("mailed", mailing, at_ms, recipients=size, sha256=html_sha256(mailing), by=by)
    _settle(world, mailing, size, at_ms)
    # Deleted meanwhile, or mailed again meanwhile: then this end changes no status.
    if current is not None and current.status == "sending" and current.send_ms == mailing.send_ms:
        world.put(replace(current, status="sent", emails_sent=size), at_ms)
        announcing.campaign(world, current, "sent", at_ms)


def _address(world: World, campaign: Campaign, size: int) -> None:
    """Fix who gets this delivery; people who join or leave later change nothing about it."""
    if world.audience(campaign.account_id, campaign.list_id) is None:
        return
    people = world.roster.people(campaign.list_id)
    plain = not campaign.mailed_opts and people.untouched
    receivers = None if plain else world.roster.receivers(campaign.list_id, campaign.mailed_opts)[:size]
    world.deliveries[campaign.id] = Mailed(campaign.id, people, size, receivers, world.behaviour.rates)


def _settle(world: World, campaign: Campaign, sent: int, at_ms: int) -> None:
    if campaign.id in world.deliveries:
        for before, after in world.deliveries[campaign.id].settle(sent, at_ms):
            announcing.person(
                world, campaign.list_id, before, after, at_ms, source="user", campaign_id=campaign.id
            )


def _cancelled(world: World, campaign_id: str, at_ms: int) -> None:
    current = world.current(campaign_id)
    if current is not None and current.status == "canceling":
        world.put(replace(current, status="canceled"), at_ms)
        announcing.campaign(world, current, "canceled", at_ms)
