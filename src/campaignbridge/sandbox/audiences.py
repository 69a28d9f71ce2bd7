"""Calls about audiences: lists, list, merge fields."""

from campaignbridge.sandbox.answers import links, list_json
from campaignbridge.sandbox.call import Call
from campaignbridge.sandbox.wire import Response


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
    return call.answer(list_json(call, call.audience()))


def merge_fields(call: Call) -> Response:
    """Tell the merge fields, the same two for every audience."""
    audience = call.audience()
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
