"""Calls about what became of a campaign's mails. Reading a report too early is a 404."""

from collections import Counter
from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import delivery, links
from campaignbridge.sandbox.call import Call, iso
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.outcome import BOUNCES, FATES, Mailed, Record
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.wire import Response

_REPORTED = frozenset({"sending", "sent", "canceling", "canceled"})
_NOTHING = {"open_rate": 0, "click_rate": 0}


def listing(call: Call) -> Response:
    """Page through reports, newest first."""
    offset, count = call.window()
    as_of = call.seen_ms if call.quirks.stale_ms else None
    known = call.world.campaigns(call.account.account_id, as_of)
    found = [item for item in reversed(known) if _is_ready(call, item)]
    shown = {
        "reports": [_report(call, item) for item in found[offset : offset + count]],
        "total_items": len(found),
        "_links": links("reports", ""),
    }
    return call.answer(shown)


def one(call: Call) -> Response:
    """Tell the figures of one delivery."""
    return call.answer(_report(call, _reported(call)))


def sent_to(call: Call) -> Response:
    """Page through who was mailed, and whether it bounced: the only proof per recipient."""
    campaign = _reported(call)
    offset, count = call.window()
    mailed, sent = _mailed(call, campaign)
    page = mailed.receipts(offset, count, sent, call.seen_ms) if mailed is not None else []
    shown = {
        "sent_to": [_receipt(call, campaign, record) for record in page],
        "campaign_id": campaign.id,
        "total_items": min(sent, mailed.size) if mailed is not None else 0,
        "_links": links(f"reports/{campaign.id}/sent-to", f"reports/{campaign.id}"),
    }
    return call.answer(shown)


def unsubscribed(call: Call) -> Response:
    """Page through who left because of this campaign."""
    campaign = _reported(call)
    offset, count = call.window()
    mailed, sent = _mailed(call, campaign)
    found = mailed.records(("unsubscribed",), sent, call.seen_ms) if mailed is not None else []
    shown = {
        "unsubscribes": [
            {
                **_who(call, campaign, record.person),
                "timestamp": iso(record.at_ms),
                "reason": "None given",
                "_links": links(
                    f"reports/{campaign.id}/unsubscribed/{record.person.hash}",
                    f"reports/{campaign.id}/unsubscribed",
                ),
            }
            for record in found[offset : offset + count]
        ],
        "campaign_id": campaign.id,
        "total_items": len(found),
        "_links": links(f"reports/{campaign.id}/unsubscribed", f"reports/{campaign.id}"),
    }
    return call.answer(shown)


def abuse_reports(call: Call) -> Response:
    """Tell who complained; not paged."""
    campaign = _reported(call)
    mailed, sent = _mailed(call, campaign)
    found = mailed.records(("abuse",), sent, call.seen_ms) if mailed is not None else []
    shown = {
        "abuse_reports": [
            {
                "id": number,
                **_who(call, campaign, record.person),
                "date": iso(record.at_ms),
                "_links": links(
                    f"reports/{campaign.id}/abuse-reports/{number}", f"reports/{campaign.id}/abuse-reports"
                ),
            }
            for number, record in enumerate(found, start=1)
        ],
        "campaign_id": campaign.id,
        "total_items": len(found),
        "_links": links(f"reports/{campaign.id}/abuse-reports", f"reports/{campaign.id}"),
    }
    return call.answer(shown)


def _is_ready(call: Call, campaign: Campaign) -> bool:
    lag = call.world.behaviour.report_lag_ms
    ended = campaign.done_ms is not None and call.seen_ms >= campaign.done_ms + lag
    return campaign.status in _REPORTED and (lag == 0 or ended)


def _reported(call: Call) -> Campaign:
    campaign = call.campaign_seen()
    if not _is_ready(call, campaign):
        raise problems.missing()
    return campaign


def _mailed(call: Call, campaign: Campaign) -> tuple[Mailed | None, int]:
    sent = 0 if call.quirks.sent_zero else campaign.emails_sent_at(call.seen_ms)
    return call.world.deliveries.get(campaign.id), sent


def _who(call: Call, campaign: Campaign, person: Person) -> dict[str, Any]:
    return {
        "email_id": person.hash,
        "email_address": person.email,
        "merge_fields": {"FNAME": "", "LNAME": "", **person.merge_fields},
        "vip": person.vip,
        "campaign_id": campaign.id,
        "list_id": campaign.list_id,
        "list_is_active": call.world.audience(campaign.account_id, campaign.list_id) is not None,
    }


def _receipt(call: Call, campaign: Campaign, record: Record) -> dict[str, Any]:
    return {
        **_who(call, campaign, record.person),
        "status": record.fate if record.fate in BOUNCES else "sent",
        "open_count": 0,
        "last_open": "",
        "gmt_offset": 0,
        "_links": links(
            f"reports/{campaign.id}/sent-to/{record.person.hash}", f"reports/{campaign.id}/sent-to"
        ),
    }


def _report(call: Call, campaign: Campaign) -> dict[str, Any]:
    mailed, sent = _mailed(call, campaign)
    heard = mailed.heard(sent, call.seen_ms) if mailed is not None else ()
    counts = dict.fromkeys(FATES, 0) | Counter(word.fate for word in heard)
    audience = call.world.audience(campaign.account_id, campaign.list_id)
    return {
        "id": campaign.id,
        "campaign_title": campaign.text("title"),
        "type": campaign.type,
        "list_id": campaign.list_id,
        "list_is_active": audience is not None,
        "list_name": audience.name if audience is not None else "",
        "subject_line": campaign.text("subject_line"),
        "preview_text": campaign.text("preview_text"),
        "emails_sent": sent,
        "abuse_reports": counts["abuse"],
        "unsubscribed": counts["unsubscribed"],
        "send_time": iso(campaign.send_ms),
        "bounces": {"hard_bounces": counts["hard"], "soft_bounces": counts["soft"], "syntax_errors": 0},
        "forwards": {"forwards_count": 0, "forwards_opens": 0},
        "opens": {"opens_total": 0, "unique_opens": 0, "open_rate": 0, "last_open": ""},
        "clicks": {
            "clicks_total": 0,
            "unique_clicks": 0,
            "unique_subscriber_clicks": 0,
            "click_rate": 0,
            "last_click": "",
        },
        "facebook_likes": {"recipient_likes": 0, "unique_likes": 0, "facebook_likes": 0},
        "list_stats": {"sub_rate": 0, "unsub_rate": 0, **_NOTHING},
        "timeseries": [],
        "ecommerce": {"total_orders": 0, "total_spent": 0, "total_revenue": 0},
        "delivery_status": delivery(campaign, sent),
        "_links": links(f"reports/{campaign.id}", "reports"),
    }
