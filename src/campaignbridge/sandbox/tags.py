"""Calls about the tags of a member: a tag is a static segment."""

from dataclasses import replace

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import NO_CONTENT, Call, iso
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.roster import Segment
from campaignbridge.sandbox.wire import Response
from campaignbridge.sandbox.world import Audience

_MOST = 100
_LONGEST = 100


def listing(call: Call) -> Response:
    """Page through a member's tags."""
    audience = call.audience()
    email = _member(call, audience).email.lower()
    offset, count = call.window()
    carried = [item for item in call.world.roster.segments(audience.id) if email in item.members]
    shown = {
        "tags": [
            {"id": item.id, "name": item.name, "date_added": iso(item.members[email])}
            for item in carried[offset : offset + count]
        ],
        "total_items": len(carried),
        "_links": links(
            f"lists/{audience.id}/members/{call.path['member']}/tags", f"lists/{audience.id}/members"
        ),
    }
    return call.answer(shown)


def change(call: Call) -> Response:
    """Put tags on a member or take them off; a tag that isn't there yet is made."""
    audience = call.audience()
    email = _member(call, audience).email.lower()
    given = call.body().get("tags")
    if not isinstance(given, list) or len(given) > _MOST:
        raise problems.invalid(("tags", f"Schema describes array of at most {_MOST} items."))
    wanted = []
    for item in given:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
            raise problems.invalid(("tags.name", "Schema describes string, another type found instead."))
        if item.get("status") not in ("active", "inactive"):
            raise problems.invalid(("tags.status", "Value is not one of: active, inactive."))
        wanted.append((name, item["status"] == "active"))
    for name, active in wanted:
        _mark(call, audience, email, name, active=active)
    return NO_CONTENT


def _mark(call: Call, audience: Audience, email: str, name: str, *, active: bool) -> None:
    roster = call.world.roster
    found = roster.named(audience.id, name)
    if found is not None and found.options is not None:
        raise problems.bad_request("This name belongs to a saved segment.")
    if found is None:
        if not active:
            return
        if roster.full():
            raise problems.bad_request("This sandbox holds no more segments.")
        found = Segment(roster.next_id(), audience.id, name, call.at_ms, call.at_ms)
    members = {key: added for key, added in found.members.items() if key != email}
    if active:
        members[email] = found.members.get(email, call.at_ms)
    tagged = roster.put(replace(found, members=members, updated_ms=call.at_ms), call.at_ms)
    call.world.note_list(
        "segment_changed", audience, call.at_ms, title=name, people=len(tagged.members), by=call.by
    )


def _member(call: Call, audience: Audience) -> Person:
    found = call.world.roster.people(audience.id).get(call.path["member"])
    if found is None:
        raise problems.missing()
    return found
