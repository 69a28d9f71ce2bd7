"""Calls about the members of a list: page through them, add, read, put, change and archive one."""

from dataclasses import dataclass, replace

from campaignbridge.sandbox import announcing, problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import NO_CONTENT, Call
from campaignbridge.sandbox.member_json import member as shown_member
from campaignbridge.sandbox.membership import STATUSES, Turned, changed, email_of, newcomer
from campaignbridge.sandbox.people import Person, email_hash
from campaignbridge.sandbox.wire import Response
from campaignbridge.sandbox.world import Audience


def listing(call: Call) -> Response:
    """Page through members, those who joined first at the front; archived ones only when asked for."""
    audience = call.audience()
    people = call.world.roster.people(audience.id)
    offset, count = call.window()
    asked = _Filter.of(call)
    if people.untouched and asked == _Filter():
        page, total = people.stretch(offset, count), people.subscribed
    else:
        found = [person for person in people.everyone() if asked.fits(person)]
        page, total = found[offset : offset + count], len(found)
    shown = {
        "members": [shown_member(call, audience, person) for person in page],
        "list_id": audience.id,
        "total_items": total,
        "_links": links(f"lists/{audience.id}/members", f"lists/{audience.id}"),
    }
    return call.answer(shown)


def one(call: Call) -> Response:
    """Tell about one member, by hash or address."""
    audience = call.audience()
    return call.answer(shown_member(call, audience, _there(call, audience)))


def add(call: Call) -> Response:
    """Add somebody new. Whoever is there already is refused, archived ones excepted."""
    audience, body = call.audience(), call.body()
    people = call.world.roster.people(audience.id)
    try:
        email = email_of(body)
        there = people.get(email)
        if there is not None and there.status != "archived":
            raise problems.member_exists(email)
        person = newcomer(email, body, body.get("status"), call.at_ms)
    except Turned as turned:
        raise turned.problem from None
    return _stored(call, audience, there, person)


def put(call: Call) -> Response:
    """Add or change somebody; `status_if_new` counts for new ones only."""
    audience, body = call.audience(), call.body()
    people = call.world.roster.people(audience.id)
    key = call.path["member"]
    there = people.get(key)
    try:
        email = email_of(body)
        holder = people.get(email)
        if holder is not None and (there is None or holder.email.lower() != there.email.lower()):
            raise problems.member_exists(email)
        if there is None:
            if key.lower() not in (email_hash(email), email.lower()):
                raise problems.invalid(("email_address", "The address and the subscriber hash differ."))
            status = body.get("status_if_new") or body.get("status")
            person = newcomer(email, body, status, call.at_ms)
        else:
            person = changed(there, body, call.at_ms)
    except Turned as turned:
        raise turned.problem from None
    if there is not None and there.email.lower() != email.lower():
        people.rename(person, email)
        person = replace(person, email=email)
    return _stored(call, audience, there, person)


def update(call: Call) -> Response:
    """Change somebody who is there; what isn't named stays."""
    audience = call.audience()
    there = _there(call, audience)
    try:
        person = changed(there, call.body(), call.at_ms)
    except Turned as turned:
        raise turned.problem from None
    return _stored(call, audience, there, person)


def archive(call: Call) -> Response:
    """Take somebody off the list. A second time is refused, with an Allow header."""
    audience = call.audience()
    person = _there(call, audience)
    if person.status in ("archived", "cleaned", "pending"):
        raise problems.not_removable()
    gone = replace(person, status="archived", changed_ms=call.at_ms)
    call.world.roster.people(audience.id).put(gone)
    announcing.person(call.world, audience.id, person, gone, call.at_ms, source="api")
    call.world.note_list("members_changed", audience, call.at_ms, people=1, by=call.by)
    return NO_CONTENT


@dataclass(frozen=True, slots=True)
class _Filter:
    """What a listing asks for."""

    status: str = ""
    since_ms: int | None = None
    before_ms: int | None = None

    @classmethod
    def of(cls, call: Call) -> "_Filter":
        status = call.choice("status", (*STATUSES, "archived"))
        return cls(status, call.moment("since_last_changed"), call.moment("before_last_changed"))

    def fits(self, person: Person) -> bool:
        right = person.status == self.status if self.status else person.status != "archived"
        since = self.since_ms is None or person.changed_ms >= self.since_ms
        return right and since and (self.before_ms is None or person.changed_ms <= self.before_ms)


def _there(call: Call, audience: Audience) -> Person:
    found = call.world.roster.people(audience.id).get(call.path["member"])
    if found is None:
        raise problems.missing()
    return found


def _stored(call: Call, audience: Audience, before: Person | None, person: Person) -> Response:
    call.world.roster.people(audience.id).put(person)
    announcing.person(call.world, audience.id, before, person, call.at_ms, source="api")
    call.world.note_list("members_changed", audience, call.at_ms, people=1, by=call.by)
    return call.answer(shown_member(call, audience, person))
