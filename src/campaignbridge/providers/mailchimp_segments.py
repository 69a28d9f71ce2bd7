"""Static segments at Mailchimp: find one, put people into it, take them out, list who is in it.

Putting people in takes two requests for a chunk:
1. `POST /lists/{id}` with `update_existing` false: strangers are subscribed, and whoever is on the list already, in
   whatever status, is an error there and left alone. So nobody who left is ever subscribed again.
2. `POST /lists/{id}/segments/{n}` adds all who weren't refused. Somebody who left may be in a segment; a campaign
   to it mails only those who are subscribed.
Both answer 200 with the losers inside. Each may be repeated; the first that can't be told ends the chunk.
"""

from collections.abc import Callable, Iterable

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    ContactResult,
    FoundSegment,
    Listing,
    Member,
    NewContact,
    Outcome,
    Push,
    Pushed,
    Refused,
)
from campaignbridge.providers.answers import JsonObject, text, time_ms, whole

CHUNK = 500
KNOWN = "ERROR_CONTACT_EXISTS"
NOT_ON_LIST = "not_on_list"
MEMBER_FIELDS = "members.email_address,members.status,total_items"
SEGMENT_FIELDS = "segments.id,segments.name,segments.type,segments.created_at,total_items"
PAGE_SIZE = 1_000
MAX_PAGES = 1_000

Ask = Callable[[str, str, JsonObject], Outcome[JsonObject]]
Turn = Callable[[dict[str, str]], Outcome[JsonObject]]


def segment_body(name: str) -> JsonObject:
    """Return the body that makes an empty static segment."""
    return {"name": name, "static_segment": []}


def read_segment(body: JsonObject, list_id: str) -> FoundSegment | None:
    """Return a segment, or None if the object is none that people are put into one by one."""
    number = whole(body, "id")
    if number is None or number < 1 or body.get("type") != "static":
        return None
    try:
        return FoundSegment(f"{list_id}:{number}", str(number), time_ms(text(body, "created_at")))
    except ValueError:
        return None


def find(name: str, list_id: str, turn: Turn) -> Outcome[Listing[FoundSegment]]:
    """Find the static segments of exactly this name."""
    query = {"type": "static", "fields": SEGMENT_FIELDS}
    rows = _rows("segments", query, turn)
    if not isinstance(rows, Accepted):
        return rows
    found, complete = [], rows.value.complete
    for row in rows.value.items:
        if row.get("name") == name:
            segment = read_segment(row, list_id)
            if segment is None:
                complete = False
            else:
                found.append(segment)
    return Accepted(Listing(tuple(sorted(found, key=lambda one: (one.created_ms or 0, one.id))), complete))


def members(turn: Turn) -> Outcome[Listing[Member]]:
    """List everybody in a segment, those who left included."""
    included = dict.fromkeys(("include_cleaned", "include_transactional", "include_unsubscribed"), "true")
    rows = _rows("members", {**included, "fields": MEMBER_FIELDS}, turn)
    if not isinstance(rows, Accepted):
        return rows
    people: dict[str, Member] = {}
    for row in rows.value.items:
        address, status = text(row, "email_address"), text(row, "status")
        if "@" in address and status:
            people[address.lower()] = Member(
                address,
                mailable=status == "subscribed",
                left=status == "unsubscribed",
                given_up=status == "cleaned",
            )
    complete = rows.value.complete and len(people) == len(rows.value.items)
    return Accepted(Listing(tuple(people.values()), complete))


def add(list_id: str, segment: int, contacts: tuple[NewContact, ...], ask: Ask) -> Push:
    """Put a chunk of people into a segment."""
    addresses = [contact.address for contact in contacts]
    uploaded = ask("POST", f"/lists/{list_id}", _upload_body(contacts))
    if not isinstance(uploaded, Accepted):
        return _all(addresses, uploaded)
    refused = _refused(uploaded.value)
    if refused is None:
        return _all(addresses, Ambiguous("unreadable", 200))
    rest = [address for address in addresses if address.lower() not in refused]
    if rest:
        added = ask("POST", f"/lists/{list_id}/segments/{segment}", {"members_to_add": rest})
        if not isinstance(added, Accepted):
            return _mixed(addresses, refused, added)
        refused |= dict.fromkeys(_strangers(added.value), NOT_ON_LIST)
    return Push(tuple(_result(address, refused) for address in addresses))


def remove(list_id: str, segment: int, addresses: tuple[str, ...], ask: Ask) -> Push:
    """Take a chunk of people out of a segment. A stranger isn't in it either."""
    removed = ask("POST", f"/lists/{list_id}/segments/{segment}", {"members_to_remove": list(addresses)})
    if not isinstance(removed, Accepted):
        return _all(addresses, removed)
    return Push(tuple(ContactResult(address, Pushed.OUT) for address in addresses))


def _upload_body(contacts: tuple[NewContact, ...]) -> JsonObject:
    return {
        "members": [
            {
                "email_address": contact.address,
                "status": "subscribed",
                "merge_fields": {name.upper(): value for name, value in contact.fields.items()},
            }
            for contact in contacts
        ],
        "update_existing": False,
        "skip_merge_validation": True,
    }


def _refused(body: JsonObject) -> dict[str, str] | None:
    """Return who wasn't taken, with Mailchimp's code; whoever is known already isn't among them."""
    errors = body.get("errors")
    if not isinstance(errors, list) or not isinstance(body.get("new_members"), list):
        return None
    if not all(isinstance(error, dict) and text(error, "email_address") for error in errors):
        return None
    codes = {text(error, "email_address").lower(): text(error, "error_code") or "refused" for error in errors}
    return {address: code for address, code in codes.items() if code != KNOWN}


def _strangers(body: JsonObject) -> list[str]:
    errors = body.get("errors")
    found: list[str] = []
    for error in errors if isinstance(errors, list) else ():
        named = error.get("email_addresses") if isinstance(error, dict) else None
        found += [one.lower() for one in named if isinstance(one, str)] if isinstance(named, list) else []
    return found


def _result(address: str, refused: dict[str, str]) -> ContactResult:
    code = refused.get(address.lower())
    if code is not None:
        return ContactResult(address, Pushed.REFUSED, code)
    return ContactResult(address, Pushed.IN_SEGMENT)


def _all(addresses: Iterable[str], ended_by: Refused | Ambiguous) -> Push:
    return _mixed(addresses, {}, ended_by)


def _mixed(addresses: Iterable[str], refused: dict[str, str], ended_by: Refused | Ambiguous) -> Push:
    """Return a chunk that ended early: who was refused before is refused, of the rest nothing is known."""
    if isinstance(ended_by, Ambiguous):
        came_to, code = Pushed.UNCLEAR, ended_by.reason
    else:
        came_to, code = Pushed.UNTRIED, ended_by.code
    results = [
        _result(address, refused) if address.lower() in refused else ContactResult(address, came_to, code)
        for address in addresses
    ]
    return Push(tuple(results), ended_by)


def _rows(name: str, query: dict[str, str], turn: Turn) -> Outcome[Listing[JsonObject]]:
    """Turn page after page; complete only if as many were read as the last page announces."""
    rows: list[JsonObject] = []
    offset = total = 0
    for _ in range(MAX_PAGES):
        page = turn({**query, "count": str(PAGE_SIZE), "offset": str(offset)})
        if not isinstance(page, Accepted):
            return page
        found, announced = page.value.get(name), whole(page.value, "total_items")
        if not isinstance(found, list) or announced is None:
            return Ambiguous("unreadable", 200)
        total = announced
        offset += len(found)
        rows += [row for row in found if isinstance(row, dict)]
        if not found or offset >= total:
            break
    return Accepted(Listing(tuple(rows), complete=len(rows) == offset == total))
