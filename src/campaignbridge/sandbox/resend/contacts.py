"""Calls about contacts and segments."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaignbridge.sandbox import announcing
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.resend import errors
from campaignbridge.sandbox.resend.call import Call, answer, stamp, text_in
from campaignbridge.sandbox.resend.team import contact_id, newest_first
from campaignbridge.sandbox.roster import Segment
from campaignbridge.sandbox.truth import Kind
from campaignbridge.sandbox.wire import Response, is_address

_LONGEST_NAME = 100


def add(call: Call) -> Response:
    """Add a contact. One that is known answers as if it were new; what else it does is a variant of the world."""
    body = call.body()
    email = text_in(body, "email", needed=True)
    if not is_address(email):
        raise errors.invalid("Invalid `email` field.")
    wanted = body.get("segments") or []
    if not isinstance(wanted, list):
        raise errors.invalid("The `segments` must be an array.")
    chosen = [call.segment(_segment_id(one)) for one in wanted]
    known = call.teams.person(call.team, email)
    variant = call.world.behaviour.repeated_contact
    if known is not None and variant == "refused":
        raise errors.Wrong(422, "validation_error", "Contact already exists.")
    if known is None:
        person = _with(Person(email, joined_ms=call.at_ms, source="API"), body, call.at_ms)
        _put(call, None, person)
        for segment in chosen:
            _put_in(call, segment, person)
    else:
        person = known
        if variant == "resubscribes":
            person = _with(replace(known, status="subscribed"), body, call.at_ms)
            _put(call, known, person)
    _note(call, "members_changed", "", 1)
    return answer({"object": "contact", "id": contact_id(person)}, 201)


def listing(call: Call) -> Response:
    """Page through contacts, of a segment or of the account."""
    ident = call.request.query.get("segment_id") or call.path.get("segment", "")
    if not ident:
        people = [
            one for one in call.world.roster.people(call.team.list_id).everyone() if one.status != "archived"
        ]
        members = None
    else:
        segment = call.segment(ident, seen=True)
        people, members = list(call.world.roster.members(segment)), dict(segment.members)
    return call.page(list(newest_first(people, members)), contact_id, _shown)


def one(call: Call) -> Response:
    """Tell about a contact."""
    person = _there(call)
    extra = {name: value for name, value in person.merge_fields.items() if name not in _NAMES}
    return answer({"object": "contact", **_shown(person), "properties": extra})


def update(call: Call) -> Response:
    """Change a contact."""
    person, body = _there(call), call.body()
    _put(call, person, _with(person, body, call.at_ms))
    _note(call, "members_changed", "", 1)
    return answer({"object": "contact", "id": contact_id(person)})


def remove(call: Call) -> Response:
    """Delete a contact; one that never existed is deleted, too."""
    key = call.path["contact"]
    person = call.teams.person(call.team, key)
    if person is not None:
        _put(call, person, replace(person, status="archived"))
        _note(call, "members_changed", "", 1)
    return answer({"object": "contact", "contact": key, "id": key, "deleted": True})


def segments_of(call: Call) -> Response:
    """Tell which segments a contact is in."""
    person = _there(call)
    found = [
        ident
        for ident in call.team.segments
        if person.email.lower() in call.segment(ident, seen=True).members
    ]
    return call.page(found, str, lambda ident: _segment_shown(call, ident))


def attach(call: Call) -> Response:
    """Put a contact into a segment; again is no harm."""
    person, segment = _there(call), call.segment(call.path["segment"])
    _put_in(call, segment, person)
    return answer(
        {
            "object": "contact_segment",
            "contact_id": contact_id(person),
            "segment_id": call.path["segment"],
        }
    )


def detach(call: Call) -> Response:
    """Take a contact out of a segment."""
    person, segment = _there(call), call.segment(call.path["segment"])
    key = person.email.lower()
    if key in segment.members:
        left = {email: added for email, added in segment.members.items() if email != key}
        _store(call, replace(segment, members=left, updated_ms=call.at_ms))
    return answer(
        {
            "object": "contact_segment",
            "contact_id": contact_id(person),
            "segment_id": call.path["segment"],
            "deleted": True,
        }
    )


def create_segment(call: Call) -> Response:
    """Make a segment. Another one may have its name."""
    name = text_in(call.body(), "name", needed=True)
    if len(name) > _LONGEST_NAME:
        raise errors.invalid(f"The `name` has at most {_LONGEST_NAME} characters.")
    if call.world.roster.full():
        raise errors.Wrong(403, "validation_error", "This sandbox holds no more segments.")
    ident = call.teams.add_segment(call.team, name, call.at_ms)
    _note(call, "segment_created", name, 0)
    return answer({"object": "segment", "id": ident, "name": name}, 201)


def segments(call: Call) -> Response:
    """Page through segments, newest first."""
    known = [
        ident for ident in call.team.segments if call.teams.segment(call.team, ident, call.as_of) is not None
    ]
    return call.page(known[::-1], str, lambda ident: _segment_shown(call, ident))


def segment(call: Call) -> Response:
    """Tell about a segment."""
    call.segment(call.path["segment"], seen=True)
    return answer({"object": "segment", **_segment_shown(call, call.path["segment"])})


def remove_segment(call: Call) -> Response:
    """Delete a segment; one that never existed is deleted, too."""
    ident = call.path["segment"]
    number = call.team.segments.pop(ident, None)
    found = None if number is None else call.world.roster.segment(call.team.list_id, number)
    if found is not None:
        call.world.roster.remove(found, call.at_ms)
        _note(call, "segment_deleted", found.name, 0)
    return answer({"object": "segment", "id": ident, "deleted": True})


_NAMES = ("first_name", "last_name")


def _there(call: Call) -> Person:
    person = call.teams.person(call.team, call.path["contact"])
    if person is None:
        raise errors.missing("Contact")
    return person


def _segment_id(value: object) -> str:
    ident = value.get("id") if isinstance(value, Mapping) else value
    if not isinstance(ident, str):
        raise errors.invalid("A segment is named by its id.")
    return ident


def _with(person: Person, body: Mapping[str, Any], at_ms: int) -> Person:
    fields = dict(person.merge_fields)
    for name in _NAMES:
        if name in body:
            fields[name] = text_in(body, name)
    extra = body.get("properties") or {}
    if not isinstance(extra, Mapping):
        raise errors.invalid("The `properties` must be an object.")
    fields.update({str(name): str(value) for name, value in extra.items()})
    status = person.status
    if isinstance(body.get("unsubscribed"), bool):
        status = "unsubscribed" if body["unsubscribed"] else "subscribed"
    return replace(person, merge_fields=fields, status=status, changed_ms=at_ms)


def _put(call: Call, before: Person | None, after: Person) -> None:
    """Keep a contact as it is now, and tell webhooks of it."""
    call.world.roster.people(call.team.list_id).put(after)
    announcing.person(call.world, call.team.list_id, before, after, call.at_ms, source="api")


def _put_in(call: Call, segment: Segment, person: Person) -> None:
    key = person.email.lower()
    if key not in segment.members:
        _store(call, replace(segment, members={**segment.members, key: call.at_ms}, updated_ms=call.at_ms))


def _store(call: Call, changed: Segment) -> None:
    lag, roster = call.quirks.count_lag_ms, call.world.roster
    if lag:  # under the quirk, a delivery still sees who was in it before
        before = roster.segment(changed.list_id, changed.id)
        count = roster.member_count(before) if before is not None else 0
        changed = replace(changed, settled_ms=call.at_ms + lag, earlier=count)
    roster.put(changed, call.at_ms)
    _note(call, "segment_changed", changed.name, roster.member_count(changed))


def _note(call: Call, kind: Kind, title: str, people: int) -> None:
    audience = call.world.audience(call.team.account.account_id, call.team.list_id)
    assert audience is not None, "an account has its list"
    call.world.note_list(kind, audience, call.at_ms, title=title, people=people, by=call.by)


def _shown(person: Person) -> dict[str, Any]:
    return {
        "id": contact_id(person),
        "email": person.email,
        "first_name": person.merge_fields.get("first_name") or None,
        "last_name": person.merge_fields.get("last_name") or None,
        "created_at": stamp(person.joined_ms),
        "unsubscribed": person.status != "subscribed",
    }


def _segment_shown(call: Call, ident: str) -> dict[str, Any]:
    found = call.segment(ident)
    return {"id": ident, "name": found.name, "created_at": stamp(found.created_ms)}
