"""The text search over campaigns."""

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import campaign_json, links
from campaignbridge.sandbox.call import Call
from campaignbridge.sandbox.wire import Response

_SEARCHED = ("title", "subject_line", "preview_text", "from_name")
_MOST = 100


def campaigns(call: Call) -> Response:
    """Find campaigns whose texts contain the query, newest first. It isn't paged: 100 are shown."""
    query = call.request.query.get("query", "").strip().lower()
    if not query:
        raise problems.invalid(("query", "This value should not be blank."))
    as_of = call.seen_ms if call.quirks.stale_ms else None
    known = call.world.campaigns(call.account.account_id, as_of)
    found = [item for item in reversed(known) if any(query in item.text(name).lower() for name in _SEARCHED)]
    shown = {
        "results": [
            {"campaign": campaign_json(call, item), "snippet": item.text("title")[:80]}
            for item in found[:_MOST]
        ],
        "total_items": len(found),
        "_links": links("search-campaigns", ""),
    }
    return call.answer(shown)
