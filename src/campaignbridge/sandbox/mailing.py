"""A delivery, from the moment when it can't be taken back until it is complete."""

import hashlib
from dataclasses import replace
from functools import partial

from campaignbridge.sandbox import announcing
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.outcome import Mailed, Word, draw
from campaignbridge.sandbox.world import World

_AFTERWARDS = {"hard": "cleaned", "unsubscribed": "unsubscribed", "abuse": "unsubscribed"}


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
    world.later(until, partial(_finish, world, sending, by))
    _await_word(world, sending, _address(world, sending, size), 0)
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
    if campaign.id in world.deliveries:
        world.deliveries[campaign.id].stop(gone)
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
    # Deleted meanwhile, or mailed again meanwhile: then this end changes no status.
    if current is not None and current.status == "sending" and current.send_ms == mailing.send_ms:
        world.put(replace(current, status="sent", emails_sent=size), at_ms)
        announcing.campaign(world, current, "sent", at_ms)


def _address(world: World, sending: Campaign, size: int) -> Mailed | None:
    """Fix who gets this delivery, and how each mail will fare; people who join or leave later change nothing."""
    if world.audience(sending.account_id, sending.list_id) is None:
        return None
    people = world.roster.people(sending.list_id)
    plain = not sending.mailed_opts and people.untouched
    receivers = None if plain else world.roster.receivers(sending.list_id, sending.mailed_opts)[:size]
    assert sending.send_ms is not None, "a delivery that began has its moments"
    assert sending.done_ms is not None, "a delivery that began has its moments"
    rates = world.outcomes_of(sending)
    words = draw(sending.id, size, receivers, sending.send_ms, sending.done_ms, rates)
    mailed = Mailed(people, size, receivers, words)
    world.deliveries[sending.id] = mailed
    return mailed


def _await_word(world: World, mailing: Campaign, mailed: Mailed | None, place: int) -> None:
    """Wait for what is heard next of a delivery: one thing at a time is due, however big it is."""
    if mailed is not None and place < len(mailed.words):
        world.later(mailed.words[place].at_ms, partial(_hear, world, mailing, mailed, place))


def _hear(world: World, mailing: Campaign, mailed: Mailed, place: int, at_ms: int) -> None:
    while place < len(mailed.words) and mailed.words[place].at_ms <= at_ms:
        _apply(world, mailing, mailed, mailed.words[place], at_ms)
        place += 1
    _await_word(world, mailing, mailed, place)


def _apply(world: World, mailing: Campaign, mailed: Mailed, word: Word, at_ms: int) -> None:
    """Let a bounce, a departure or a complaint change the list, and tell of it."""
    if word.place >= mailed.size:
        return  # it never left
    person = mailed.person(word.place)
    now = mailed.people.get(person.email)
    status = _AFTERWARDS.get(word.fate)
    if status is not None and now is not None and now.status == "subscribed":
        reason = "Abuse complaint" if word.fate == "abuse" else ""
        after = mailed.people.put(replace(now, status=status, changed_ms=at_ms, reason=reason))
        announcing.person(world, mailing.list_id, now, after, at_ms, source="user", campaign_id=mailing.id)
    announcing.mail(world, mailing, person, word, at_ms)


def _cancelled(world: World, campaign_id: str, at_ms: int) -> None:
    current = world.current(campaign_id)
    if current is not None and current.status == "canceling":
        world.put(replace(current, status="canceled"), at_ms)
        announcing.campaign(world, current, "canceled", at_ms)
