"""What a member looks like in JSON. Three calls show three different selections of the same fields."""

from typing import Any

from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import Call, iso
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.world import Audience

_ONLY_ON_LISTS = ("contact_id", "web_id", "consents_to_one_to_one_messaging", "source")
_NOT_IN_SEGMENTS = ("tags_count", "tags")
_PLACE = {"latitude": 0, "longitude": 0, "gmtoff": 0, "dstoff": 0, "country_code": "", "timezone": ""}


def member(call: Call, audience: Audience, person: Person) -> dict[str, Any]:
    """Return a member as the calls below `/lists/{id}/members` show it."""
    marked = [
        {"id": item.id, "name": item.name}
        for item in call.world.roster.segments(audience.id)
        if item.options is None and person.email.lower() in item.members
    ]
    known = person.hash
    fields = {"FNAME": "", "LNAME": "", **person.merge_fields}
    shown: dict[str, Any] = {
        "id": known,
        "email_address": person.email,
        "unique_email_id": known[:10],
        "contact_id": known[::-1],
        "full_name": f"{fields['FNAME']} {fields['LNAME']}".strip(),
        "web_id": int(known[:7], 16),
        "email_type": person.email_type,
        "status": person.status,
        "consents_to_one_to_one_messaging": True,
        "merge_fields": fields,
        "stats": {"avg_open_rate": 0, "avg_click_rate": 0},
        "ip_signup": "",
        "timestamp_signup": "",
        "ip_opt": "192.0.2.1",
        "timestamp_opt": iso(person.joined_ms),
        "member_rating": 2,
        "last_changed": iso(person.changed_ms),
        "language": person.language,
        "vip": person.vip,
        "email_client": "",
        "location": {**_PLACE, "region": ""},
        "source": person.source,
        "tags_count": len(marked),
        "tags": marked,
        "list_id": audience.id,
        "_links": links(f"lists/{audience.id}/members/{known}", f"lists/{audience.id}/members"),
    }
    if person.status == "unsubscribed":
        shown["unsubscribe_reason"] = person.reason or "N/A (Unsubscribed by an admin)"
    return shown


def uploaded(call: Call, audience: Audience, person: Person) -> dict[str, Any]:
    """Return a member as the batch calls show it."""
    left_out = {*_ONLY_ON_LISTS, "full_name", "unsubscribe_reason"}
    shown = {name: value for name, value in member(call, audience, person).items() if name not in left_out}
    return {**shown, "location": dict(_PLACE)}


def in_segment(call: Call, audience: Audience, person: Person) -> dict[str, Any]:
    """Return a member as the calls below `/segments/{id}/members` show it."""
    left_out = {*_ONLY_ON_LISTS, *_NOT_IN_SEGMENTS, "unsubscribe_reason"}
    shown = {name: value for name, value in member(call, audience, person).items() if name not in left_out}
    return {**shown, "location": dict(_PLACE)}
