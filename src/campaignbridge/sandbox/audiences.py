"""Calls about the account and its audiences: ping, account, lists, list, merge fields."""

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import links, list_json
from campaignbridge.sandbox.call import Call, iso
from campaignbridge.sandbox.wire import Response
from campaignbridge.sandbox.world import Audience


def ping(call: Call) -> Response:
    """Say that the service lives and the key opens something."""
    return call.answer({"health_status": "Everything's Chimpy!"})


def account(call: Call) -> Response:
    """Tell whose key this is."""
    owned = call.world.audiences(call.account.account_id)
    shown = {
        "account_id": call.account.account_id,
        "login_id": call.account.account_id[:12],
        "account_name": call.account.name,
        "email": "owner@sandbox.example",
        "first_name": "Sandbox",
        "last_name": "Owner",
        "username": "sandbox",
        "avatar_url": "",
        "role": "owner",
        "member_since": iso(0),
        "pricing_plan_type": "monthly",
        "first_payment": iso(0),
        "account_timezone": "UTC",
        "account_industry": "",
        "contact": dict.fromkeys(("company", "addr1", "addr2", "city", "state", "zip", "country"), ""),
        "pro_enabled": True,
        "last_login": iso(0),
        "total_subscribers": sum(item.members for item in owned),
        "industry_stats": {"open_rate": 0, "bounce_rate": 0, "click_rate": 0},
        "_links": links("", ""),
    }
    return call.answer(shown)


def lists(call: Call) -> Response:
    """Page through the account's audiences."""
    offset, count = call.window()
    owned = call.world.audiences(call.account.account_id)
    shown = {
        "lists": [list_json(call, item) for item in owned[offset : offset + count]],
        "total_items": len(owned),
        "constraints": {"may_create": False, "max_instances": 1, "current_total_instances": len(owned)},
        "_links": links("lists", ""),
    }
    return call.answer(shown)


def one(call: Call) -> Response:
    """Tell about one audience."""
    return call.answer(list_json(call, _audience(call)))


def merge_fields(call: Call) -> Response:
    """Tell the merge fields, the same two for every audience."""
    audience = _audience(call)
    offset, count = call.window()
    names = (("FNAME", "First Name"), ("LNAME", "Last Name"))
    found = [
        {
            "merge_id": number,
            "tag": tag,
            "name": name,
            "type": "text",
            "required": False,
            "default_value": "",
            "public": True,
            "display_order": number + 1,
            "options": {"size": 25},
            "help_text": "",
            "list_id": audience.id,
            "_links": links(
                f"lists/{audience.id}/merge-fields/{number}", f"lists/{audience.id}/merge-fields"
            ),
        }
        for number, (tag, name) in enumerate(names, start=1)
    ]
    shown = {
        "merge_fields": found[offset : offset + count],
        "list_id": audience.id,
        "total_items": len(found),
        "_links": links(f"lists/{audience.id}/merge-fields", f"lists/{audience.id}"),
    }
    return call.answer(shown)


def _audience(call: Call) -> Audience:
    found = call.world.audience(call.account.account_id, call.subject)
    if found is None:
        raise problems.missing()
    return found
