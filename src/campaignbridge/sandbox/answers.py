"""What Mailchimp's objects look like in JSON: names, types and empty values as its API gives them."""

from collections.abc import Mapping
from typing import Any

from campaignbridge.sandbox.call import Call, iso
from campaignbridge.sandbox.campaign import STARTED, Campaign
from campaignbridge.sandbox.world import Audience

_SETTINGS: Mapping[str, Any] = {
    "title": "",
    "use_conversation": False,
    "to_name": "",
    "folder_id": "",
    "authenticate": True,
    "auto_footer": False,
    "inline_css": False,
    "auto_tweet": False,
    "fb_comments": True,
    "timewarp": False,
    "template_id": 0,
    "drag_and_drop": False,
}
_TRACKING: Mapping[str, Any] = {
    "opens": True,
    "html_clicks": True,
    "text_clicks": False,
    "goal_tracking": False,
    "ecomm360": False,
    "google_analytics": "",
    "clicktale": "",
}
ROOT = "https://us1.api.mailchimp.com"
_UNSET_WHEN_EMPTY = ("subject_line", "preview_text", "from_name", "reply_to")


def campaign_json(call: Call, campaign: Campaign) -> dict[str, Any]:
    """Return a campaign as this call is told about it."""
    sent = 0 if call.quirks.sent_zero else campaign.emails_sent_at(call.seen_ms)
    settings = {**_SETTINGS, **campaign.settings}
    shown: dict[str, Any] = {
        "id": campaign.id,
        "web_id": 1_000_000 + campaign.number,
        "type": campaign.type,
        "create_time": iso(campaign.created_ms),
        "archive_url": f"http://eepurl.example/{campaign.id}",
        "long_archive_url": f"https://us1.campaign-archive.example/?id={campaign.id}",
        "status": campaign.status,
        "emails_sent": sent,
        "send_time": iso(campaign.send_ms),
        "content_type": "template" if campaign.content is None else "html",
        "needs_block_refresh": False,
        "resendable": campaign.status == "sent",
        "recipients": _recipients(call, campaign),
        "settings": {
            name: value for name, value in settings.items() if value or name not in _UNSET_WHEN_EMPTY
        },
        "tracking": {**_TRACKING, **campaign.tracking},
        "delivery_status": delivery(campaign, sent),
        "_links": links(f"campaigns/{campaign.id}", "campaigns"),
    }
    if campaign.parent_id:
        shown["parent_campaign_id"] = campaign.parent_id
    if campaign.status in STARTED:
        shown["report_summary"] = {
            "opens": 0,
            "unique_opens": 0,
            "open_rate": 0,
            "clicks": 0,
            "subscriber_clicks": 0,
            "click_rate": 0,
            "ecommerce": {"total_orders": 0, "total_spent": 0, "total_revenue": 0},
        }
    return shown


def content_json(campaign: Campaign) -> dict[str, Any]:
    """Return what a campaign would mail; without text parts as long as it has none."""
    shown: dict[str, Any] = {"_links": links(f"campaigns/{campaign.id}/content", f"campaigns/{campaign.id}")}
    if campaign.content is None:
        return {"html": "", **shown}
    content = campaign.content
    archive = content.html.replace("*|MC:SUBJECT|*", campaign.text("subject_line"))
    return {"plain_text": content.plain_text, "html": content.html, "archive_html": archive, **shown}


def list_json(call: Call, audience: Audience) -> dict[str, Any]:
    """Return an audience. Its contact data is empty: the sandbox knows nobody."""
    campaigns = [item for item in call.world.campaigns(audience.account_id) if item.list_id == audience.id]
    sends = [item.send_ms for item in campaigns if item.status == "sent" and item.send_ms is not None]
    return {
        "id": audience.id,
        "web_id": audience.web_id,
        "name": audience.name,
        "contact": dict.fromkeys(
            ("company", "address1", "address2", "city", "state", "zip", "country", "phone"), ""
        ),
        "permission_reminder": "You asked the sandbox for this.",
        "use_archive_bar": True,
        "campaign_defaults": {
            "from_name": audience.from_name,
            "from_email": audience.from_email,
            "subject": "",
            "language": "en",
        },
        "notify_on_subscribe": "",
        "notify_on_unsubscribe": "",
        "date_created": iso(audience.created_ms),
        "list_rating": 0,
        "email_type_option": False,
        "subscribe_url_short": "",
        "subscribe_url_long": "",
        "beamer_address": "",
        "visibility": "prv",
        "double_optin": False,
        "has_welcome": False,
        "marketing_permissions": False,
        "modules": [],
        "stats": _stats(call, audience, len(campaigns), max(sends, default=None)),
        "_links": links(f"lists/{audience.id}", "lists"),
    }


def links(path: str, parent: str) -> list[dict[str, str]]:
    """Return the two links that every object has."""
    return [
        {"rel": "parent", "href": f"{ROOT}/3.0/{parent}", "method": "GET"},
        {"rel": "self", "href": f"{ROOT}/3.0/{path}", "method": "GET"},
    ]


def _recipients(call: Call, campaign: Campaign) -> dict[str, Any]:
    audience = call.world.audience(campaign.account_id, campaign.list_id)
    shown: dict[str, Any] = {
        "list_id": campaign.list_id,
        "list_is_active": audience is not None,
        "list_name": audience.name if audience is not None else "",
        "segment_text": "",
        "recipient_count": call.world.recipient_count(campaign, call.seen_ms),
    }
    if campaign.segment_opts is not None:
        shown["segment_opts"] = call.world.roster.spelled_out(campaign.list_id, campaign.segment_opts)
    return shown


def delivery(campaign: Campaign, sent: int) -> dict[str, Any]:
    """Return how far a delivery has come; while there is none, only that."""
    words = {"sending": "delivering", "sent": "delivered", "canceling": "canceling", "canceled": "canceled"}
    if campaign.status not in words:
        return {"enabled": False}
    stopped = campaign.status in ("canceling", "canceled")
    return {
        "enabled": True,
        "can_cancel": campaign.status == "sending",
        "status": words[campaign.status],
        "emails_sent": sent,
        "emails_canceled": (campaign.recipients or 0) - campaign.emails_sent if stopped else 0,
    }


def _stats(call: Call, audience: Audience, campaigns: int, last_ms: int | None) -> dict[str, Any]:
    members = call.world.subscribed(audience)
    return {
        "member_count": members,
        "total_contacts": members,
        "unsubscribe_count": 0,
        "cleaned_count": 0,
        "member_count_since_send": 0,
        "unsubscribe_count_since_send": 0,
        "cleaned_count_since_send": 0,
        "campaign_count": campaigns,
        "campaign_last_sent": iso(last_ms),
        "merge_field_count": 2,
        "avg_sub_rate": 0,
        "avg_unsub_rate": 0,
        "target_sub_rate": 0,
        "open_rate": 0,
        "click_rate": 0,
        "last_sub_date": "",
        "last_unsub_date": "",
    }
