"""Calls about the segments of a list: static ones (tags), whose members are named, and saved ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import NO_CONTENT, Call, iso
from campaignbridge.sandbox.member_json import in_segment, uploaded
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.roster import Options, Segment, unknown_condition
from campaignbridge.sandbox.truth import Kind
from campaignbridge.sandbox.wire import Response, is_address
from campaignbridge.sandbox.world import Audience

_CHUNK = 500
_LONGEST_NAME = 100


def listing(call: Call) -> Response:
    """Page through a list's segments, oldest first."""
    audience = call.audience()
    offset, count = call.window()
    kind = call.choice("type", ("saved", "static", "fuzzy"))
    since, before = call.moment("since_created_at"), call.moment("before_created_at")
    found = [
        item
        for item in call.world.roster.segments(audience.id, _as_of(call))
        if kind in ("", item.type)
        and (since is None or item.created_ms >= since)
        and (before is None or item.created_ms <= before)
    ]
    shown = {
        "segments": [_shown(call, item) for item in found[offset : offset + count]],
        "list_id": audience.id,
        "total_items": len(found),
        "_links": links(f"lists/{audience.id}/segments", f"lists/{audience.id}"),
    }
    return call.answer(shown)


def one(call: Call) -> Response:
    """Tell about one segment."""
    return call.answer(_shown(call, _segment(call, call.audience(), _as_of(call))))


def create(call: Call) -> Response:
    """Create a segment. Its name must be new on this list: the only natural key there is."""
    audience, body = call.audience(), call.body()
    name = _name(body)
    if body.get("static_segment") is not None and body.get("options") is not None:
        raise problems.invalid(("options", "Use either static_segment or options."))
    options, members = _options(body), _named(call, audience, body)
    if call.world.roster.named(audience.id, name) is not None:
        raise problems.bad_request(problems.NAME_TAKEN)
    if call.world.roster.full():
        raise problems.bad_request("This sandbox holds no more segments.")
    number = call.world.roster.next_id()
    made = Segment(number, audience.id, name, call.at_ms, call.at_ms, members or {}, options)
    made = _lagging(call, made, None)
    return call.answer(_shown(call, _stored(call, audience, made, "segment_created")))


def update(call: Call) -> Response:
    """Rename a segment, replace a saved one's conditions, or a static one's members (`[]` empties it)."""
    audience, body = call.audience(), call.body()
    segment = _segment(call, audience)
    if "name" in body:
        name = _name(body)
        holder = call.world.roster.named(audience.id, name)
        if holder is not None and holder.id != segment.id:
            raise problems.bad_request(problems.NAME_TAKEN)
        segment = replace(segment, name=name)
    options, members, before = _options(body), _named(call, audience, body), segment
    if (options is not None and segment.options is None) or (members is not None and segment.options):
        raise problems.invalid(("", "A segment stays static or saved as it was created."))
    if options is not None:
        segment = replace(segment, options=options)
    if members is not None:
        segment = replace(segment, members={**members, **_kept(segment.members, members)})
    changed = _lagging(call, replace(segment, updated_ms=call.at_ms), before)
    return call.answer(_shown(call, _stored(call, audience, changed, "segment_changed")))


def delete(call: Call) -> Response:
    """Delete a segment; its members stay on the list."""
    audience = call.audience()
    segment = _segment(call, audience)
    call.world.roster.remove(segment, call.at_ms)
    call.world.note_list("segment_deleted", audience, call.at_ms, title=segment.name, by=call.by)
    return NO_CONTENT


def change_members(call: Call) -> Response:
    """Add and remove up to 500 each. Strangers are named among the errors; nothing but strangers is a 400."""
    audience, body = call.audience(), call.body()
    segment = _static(_segment(call, audience))
    adding, removing = (_addresses(body, name, _CHUNK) for name in ("members_to_add", "members_to_remove"))
    added, unknown = _sorted(call, audience, adding)
    if adding and not added and not removing:
        raise problems.invalid(("members_to_add", "None of the emails provided were subscribed to the list."))
    removed, strangers = _sorted(call, audience, removing)
    gone = [person for person in removed if person.email.lower() in segment.members]
    members = dict(segment.members)
    for person in gone:
        members.pop(person.email.lower(), None)
    fresh = [person for person in added if person.email.lower() not in members]
    members.update({person.email.lower(): call.at_ms for person in fresh})
    changed = _lagging(call, replace(segment, members=members, updated_ms=call.at_ms), segment)
    _stored(call, audience, changed, "segment_changed")
    errors = [
        {"email_addresses": found, "error": "Email addresses do not exist in list"}
        for found in (unknown, strangers)
        if found
    ]
    shown = {
        "members_added": [uploaded(call, audience, person) for person in fresh],
        "members_removed": [uploaded(call, audience, person) for person in gone],
        "errors": errors,
        "total_added": len(fresh),
        "total_removed": len(gone),
        "error_count": len(unknown) + len(strangers),
        "_links": links(f"lists/{audience.id}/segments/{segment.id}", f"lists/{audience.id}/segments"),
    }
    return call.answer(shown)


def members(call: Call) -> Response:
    """Page through who is in a segment: subscribed ones, and others as the query includes them."""
    audience = call.audience()
    segment = _segment(call, audience, _as_of(call))
    offset, count = call.window()
    wanted = {"subscribed", "pending"} | {
        status
        for status in ("cleaned", "transactional", "unsubscribed")
        if call.request.query.get(f"include_{status}") == "true"
    }
    found = [person for person in call.world.roster.members(segment) if person.status in wanted]
    shown = {
        "members": [in_segment(call, audience, person) for person in found[offset : offset + count]],
        "total_items": len(found),
        "_links": links(
            f"lists/{audience.id}/segments/{segment.id}/members", f"lists/{audience.id}/segments/{segment.id}"
        ),
    }
    return call.answer(shown)


def add_member(call: Call) -> Response:
    """Put one member of the list into a static segment."""
    audience = call.audience()
    segment = _static(_segment(call, audience))
    email = call.body().get("email_address")
    found, _ = _sorted(call, audience, [email] if isinstance(email, str) else [])
    if not found:
        raise problems.invalid(("email_address", "This address is not on the list."))
    key = found[0].email.lower()
    members_now = {**segment.members, key: segment.members.get(key, call.at_ms)}
    changed = _lagging(call, replace(segment, members=members_now, updated_ms=call.at_ms), segment)
    _stored(call, audience, changed, "segment_changed")
    return call.answer(in_segment(call, audience, found[0]))


def remove_member(call: Call) -> Response:
    """Take one member out of a static segment."""
    audience = call.audience()
    segment = _static(_segment(call, audience))
    person = call.world.roster.people(audience.id).get(call.path["member"])
    if person is None or person.email.lower() not in segment.members:
        raise problems.missing()
    left = {key: added for key, added in segment.members.items() if key != person.email.lower()}
    changed = _lagging(call, replace(segment, members=left, updated_ms=call.at_ms), segment)
    _stored(call, audience, changed, "segment_changed")
    return NO_CONTENT


def _as_of(call: Call) -> int | None:
    return call.seen_ms if call.quirks.stale_ms else None


def _segment(call: Call, audience: Audience, as_of_ms: int | None = None) -> Segment:
    text = call.path["segment"]
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
    found = call.world.roster.segment(audience.id, number, as_of_ms)
    if found is None:
        raise problems.missing()
    return found


def _static(segment: Segment) -> Segment:
    if segment.options is not None:
        raise problems.not_static(segment.id)
    return segment


def _shown(call: Call, segment: Segment) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": segment.id,
        "name": segment.name,
        "member_count": call.world.roster.member_count(segment),
        "type": segment.type,
        "created_at": iso(segment.created_ms),
        "updated_at": iso(segment.updated_ms),
        "list_id": segment.list_id,
        "_links": links(
            f"lists/{segment.list_id}/segments/{segment.id}", f"lists/{segment.list_id}/segments"
        ),
    }
    if segment.options is not None:
        shown["options"] = dict(segment.options)
    return shown


def _stored(call: Call, audience: Audience, segment: Segment, kind: Kind) -> Segment:
    call.world.roster.put(segment, call.at_ms)
    count = call.world.roster.member_count(segment)
    call.world.note_list(kind, audience, call.at_ms, title=segment.name, people=count, by=call.by)
    return segment


def _lagging(call: Call, segment: Segment, before: Segment | None) -> Segment:
    """Under the quirk, campaigns still see the count before this change for a while."""
    lag = call.quirks.count_lag_ms
    if not lag:
        return segment
    earlier = 0 if before is None else call.world.roster.member_count(before)
    return replace(segment, settled_ms=call.at_ms + lag, earlier=earlier)


def _kept(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    return {email: added for email, added in old.items() if email in new}


def _name(body: Mapping[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not 0 < len(name.strip()) <= _LONGEST_NAME:
        raise problems.invalid(("name", f"Schema describes string of 1 to {_LONGEST_NAME} characters."))
    return name


def _options(body: Mapping[str, Any]) -> Options | None:
    options = body.get("options")
    if options is None:
        return None
    conditions = options.get("conditions") if isinstance(options, dict) else None
    if not isinstance(conditions, list) or options.get("match") not in ("any", "all"):
        raise problems.invalid(("options", "Schema describes match and conditions."))
    if any(unknown_condition(item) for item in conditions):
        raise problems.invalid(("options.conditions", problems.UNKNOWN_CONDITION))
    return {"match": options["match"], "conditions": conditions}


def _named(call: Call, audience: Audience, body: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the members that a body names. Strangers are ignored, what is no address is refused."""
    if body.get("static_segment") is None:
        return None
    found, _ = _sorted(call, audience, _addresses(body, "static_segment", None))
    return {person.email.lower(): call.at_ms for person in found}


def _addresses(body: Mapping[str, Any], name: str, most: int | None) -> list[str]:
    given = body.get(name, [])
    if not isinstance(given, list) or (most is not None and len(given) > most):
        raise problems.invalid((name, f"Schema describes array of at most {most} addresses."))
    wrong = [item for item in given if not isinstance(item, str) or not is_address(item)]
    if wrong:
        text = f"Invalid email addresses given in {name}: {', '.join(str(item)[:80] for item in wrong[:20])}"
        raise problems.invalid((name, text))
    return given


def _sorted(call: Call, audience: Audience, emails: list[str]) -> tuple[list[Person], list[str]]:
    """Return who is on the list, each once, and the addresses of those who aren't."""
    people = call.world.roster.people(audience.id)
    known: dict[str, Person] = {}
    unknown: list[str] = []
    for email in emails:
        person = people.get(email)
        if person is None or person.status == "archived":
            unknown.append(email)
        else:
            known[email.lower()] = person
    return list(known.values()), unknown
