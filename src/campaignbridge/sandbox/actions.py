"""Calls that act on a campaign: test, schedule, unschedule, send, cancel, pause, replicate, resend."""

from dataclasses import replace

from campaignbridge.sandbox import checklist, mailing, problems
from campaignbridge.sandbox.answers import campaign_json
from campaignbridge.sandbox.call import NO_CONTENT, Call, milliseconds
from campaignbridge.sandbox.campaign import DRAFTS, STARTED, Campaign
from campaignbridge.sandbox.wire import Response

_QUARTER_MS = 15 * 60_000
_TIMEWARP_MS = 24 * 3_600_000
_MOST_TESTERS = 200
_SHORTCUTS = ("to_non_openers", "to_new_subscribers", "to_non_clickers")


def test(call: Call) -> Response:
    """Mail the content to the named addresses. They are counted, never kept."""
    campaign = call.campaign()
    body = call.body()
    addresses = body.get("test_emails")
    if not isinstance(addresses, list) or not 0 < len(addresses) <= _MOST_TESTERS:
        raise problems.invalid(("test_emails", "Schema describes a list of addresses."))
    if not all(isinstance(item, str) and "@" in item for item in addresses):
        raise problems.invalid(("test_emails", "An address is not valid."))
    if body.get("send_type") not in ("html", "plaintext"):
        raise problems.invalid(("send_type", "Value is not one of the accepted values: html, plaintext."))
    lacking = checklist.missing_for_test(campaign)
    if lacking:
        raise problems.bad_request(f'This campaign cannot be tested:" {lacking[0]}"')
    sha256 = mailing.html_sha256(campaign)
    call.world.note("test_mailed", campaign, call.at_ms, recipients=len(addresses), sha256=sha256, by=call.by)
    return NO_CONTENT


def schedule(call: Call) -> Response:
    """Set the moment of a draft's delivery: a quarter of an hour in the future. The reason of a no is empty."""
    campaign = _marked(call)
    if call.world.behaviour.schedule_gate != "allowed":
        raise problems.plan_gate("scheduling")
    body = call.body()
    if not isinstance(body.get("schedule_time"), str):
        raise problems.invalid(("schedule_time", "Schema describes string, another type found instead."))
    slot = milliseconds(body["schedule_time"], "schedule_time")
    if not isinstance(body.get("timewarp", False), bool):
        raise problems.invalid(("timewarp", "Schema describes boolean, another type found instead."))
    earliest = call.at_ms + (_TIMEWARP_MS if body.get("timewarp") else 1)
    variant = call.world.behaviour.repeated_schedule
    again = campaign.status == "schedule" and variant != "refused"
    possible = slot % _QUARTER_MS == 0 and slot >= earliest and (again or campaign.status in DRAFTS)
    if not possible or not checklist.is_ready(call.world, campaign, call.at_ms):
        raise problems.bad_request(problems.NOT_SCHEDULABLE)
    if again and variant == "silent_204":
        return NO_CONTENT
    scheduled = replace(campaign, status="schedule", send_ms=slot)
    call.world.put(scheduled, call.at_ms)
    size = call.world.recipient_count(scheduled, call.at_ms)
    call.world.note("scheduled", scheduled, call.at_ms, recipients=size, by=call.by)
    mailing.await_slot(call.world, scheduled)
    return NO_CONTENT


def unschedule(call: Call) -> Response:
    """Take back a moment that hasn't come. Which status follows is a variant of the world."""
    campaign = call.campaign()
    if campaign.status in DRAFTS and call.world.behaviour.repeated_unschedule == "silent_204":
        return NO_CONTENT
    if campaign.status != "schedule":
        raise problems.bad_request("This campaign is not scheduled.")
    free = replace(campaign, status=call.world.behaviour.unscheduled_status, send_ms=None)
    call.world.put(free, call.at_ms)
    call.world.note("unscheduled", free, call.at_ms, by=call.by)
    return NO_CONTENT


def send(call: Call) -> Response:
    """Mail a draft now. What a repeated send does is a variant of the world."""
    campaign = _marked(call)
    if campaign.status in STARTED:
        return _send_again(call, campaign)
    early = campaign.status == "schedule" and call.world.behaviour.send_scheduled == "accepted"
    if campaign.status not in DRAFTS and not early:
        raise problems.bad_request("Cannot send this campaign in its present status.")
    if not checklist.is_ready(call.world, campaign, call.at_ms):
        raise problems.bad_request(problems.NOT_READY + _tail(call, campaign))
    mailing.begin(call.world, campaign, call.at_ms, by=call.by)
    return NO_CONTENT


def cancel(call: Call) -> Response:
    """Stop a delivery under way; what has left has left."""
    campaign = call.campaign()
    if call.world.behaviour.cancel_gate != "allowed":
        raise problems.plan_gate("cancelling")
    stopped = campaign.status in ("canceling", "canceled")
    if stopped and call.world.behaviour.repeated_cancel == "silent_204":
        return NO_CONTENT
    if campaign.status != "sending":
        raise problems.bad_request("This campaign is not being sent.")
    mailing.cancel(call.world, campaign, call.at_ms, by=call.by)
    return NO_CONTENT


def replicate(call: Call) -> Response:
    """Make a new draft of any campaign: a second object that can be sent, with the same token in its title."""
    return _copied(call, call.campaign(), "(copy 01)", call.by)


def create_resend(call: Call) -> Response:
    """Make a new draft of a sent campaign for those who missed it, or refuse: a variant of the world."""
    origin = call.campaign()
    if call.body().get("shortcut_type", _SHORTCUTS[0]) not in _SHORTCUTS:
        raise problems.invalid(("shortcut_type", f"Value is not one of: {', '.join(_SHORTCUTS)}."))
    if origin.status != "sent" or call.world.behaviour.create_resend == "refused":
        raise problems.bad_request("This campaign is not eligible for a resend.")
    return _copied(call, origin, "(resend)", "resend")


def only_rss(call: Call) -> Response:
    """Refuse to pause or resume: there are only regular and plain-text campaigns here."""
    raise problems.bad_request(
        f"Only RSS campaigns can be paused or resumed, not {call.campaign().type} ones."
    )


def _copied(call: Call, origin: Campaign, mark: str, by: str) -> Response:
    if call.world.full():
        raise problems.bad_request("This sandbox holds no more campaigns.")
    copy = Campaign(
        id=call.world.digest("campaign", 10),
        number=call.world.next_number(),
        account_id=origin.account_id,
        type=origin.type,
        created_ms=call.at_ms,
        list_id=origin.list_id,
        segment_opts=origin.segment_opts,
        mailed_opts=origin.segment_opts,
        settings={**origin.settings, "title": f"{origin.text('title')} {mark}"},
        tracking=origin.tracking,
        content=origin.content,
        parent_id=origin.id,
        counted_ms=call.at_ms + call.quirks.count_lag_ms if call.quirks.count_lag_ms else 0,
        mails_nobody=call.quirks.sent_zero,
    )
    call.world.put(copy, call.at_ms)
    call.world.note("created", copy, call.at_ms, by=by)
    return call.answer(campaign_json(call, copy))


def _send_again(call: Call, campaign: Campaign) -> Response:
    match call.world.behaviour.repeated_send:
        case "accepted_again":
            mailing.begin(call.world, campaign, call.at_ms, by=call.by)
        case "silent_204":
            pass
        case _:
            raise problems.bad_request("Cannot send this campaign: it has already been sent.")
    return NO_CONTENT


def _tail(call: Call, campaign: Campaign) -> str:
    """Return what sometimes stands behind a refusal to send."""
    if checklist.is_counting(call.world, campaign, call.at_ms):
        return " recipients not ready"
    return " address(es) not verified" if checklist.is_unverified(call.world, campaign) else ""


def _marked(call: Call) -> Campaign:
    campaign = call.campaign()
    return replace(campaign, mails_nobody=campaign.mails_nobody or call.quirks.sent_zero)
