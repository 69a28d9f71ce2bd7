"""One call that adds or changes many members of a list: a 200 with losers inside."""

from dataclasses import dataclass, field
from typing import Any

from campaignbridge.sandbox import announcing, problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import Call
from campaignbridge.sandbox.member_json import uploaded
from campaignbridge.sandbox.membership import Turned, changed, email_of, newcomer
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.wire import Response
from campaignbridge.sandbox.world import Audience

_MOST = 500


@dataclass(slots=True)
class _Sorted:
    new: list[Person] = field(default_factory=list)
    updated: list[Person] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)

    def turn(self, email: str, error: str, code: str = "ERROR_GENERIC", *, where: str = "") -> None:
        self.errors.append(
            {"email_address": email, "error": error, "error_code": code, "field": where, "field_message": ""}
        )


def upload(call: Call) -> Response:
    """Add or change up to 500 members; who isn't taken is named among the errors."""
    audience, body = call.audience(), call.body()
    given = body.get("members")
    if not isinstance(given, list) or len(given) > _MOST:
        raise problems.invalid(("members", f"Schema describes array of at most {_MOST} items."))
    for name in ("update_existing", "sync_tags"):
        if not isinstance(body.get(name, False), bool):
            raise problems.invalid((name, "Schema describes boolean, another type found instead."))
    done = _Sorted()
    seen: set[str] = set()
    for item in given:
        if not isinstance(item, dict):
            raise problems.invalid(("members", "Schema describes object, another type found instead."))
        _take(call, audience, item, done, seen, update=body.get("update_existing", False))
    count = len(done.new) + len(done.updated)
    if count:
        call.world.note_list("members_changed", audience, call.at_ms, people=count, by=call.by)
    return call.answer(_shown(call, audience, done))


def _take(
    call: Call, audience: Audience, item: dict[str, Any], done: _Sorted, seen: set[str], *, update: bool
) -> None:
    people = call.world.roster.people(audience.id)
    named = item.get("email_address")
    name = named if isinstance(named, str) else ""
    try:
        email = email_of(item)
        if email.lower() in seen:
            done.turn(name, "Duplicate items found in the request.")
            return
        seen.add(email.lower())
        there = people.get(email)
        if there is None or there.status == "archived":
            done.new.append(people.put(newcomer(email, item, item.get("status"), call.at_ms)))
            announcing.person(call.world, audience.id, there, done.new[-1], call.at_ms, source="api")
        elif not update:
            text = f"{email} is already a list member, do you want to update? "
            done.turn(name, f"{text}please provide update_existing:true", "ERROR_CONTACT_EXISTS")
        else:
            done.updated.append(people.put(changed(there, item, call.at_ms)))
            announcing.person(call.world, audience.id, there, done.updated[-1], call.at_ms, source="api")
    except Turned as turned:
        fields = turned.problem.errors
        done.turn(name, turned.problem.detail, where=fields[0][0] if fields else "")


def _shown(call: Call, audience: Audience, done: _Sorted) -> dict[str, Any]:
    return {
        "new_members": [uploaded(call, audience, person) for person in done.new],
        "updated_members": [uploaded(call, audience, person) for person in done.updated],
        "errors": done.errors,
        "total_created": len(done.new),
        "total_updated": len(done.updated),
        "error_count": len(done.errors),
        "_links": links(f"lists/{audience.id}", "lists"),
    }
