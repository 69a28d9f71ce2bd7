"""Put people into a segment at Resend and take them out again, one by one.

1. Attach the address to the segment. Whom Resend knows is in it now, and nothing else about them has changed.
2. A 404 means a stranger, or no such segment: create the contact, without `unsubscribed` and without segments.
   A create of somebody whom Resend knows would be no harm for its missing field alone, and is avoided all the same:
   whether it subscribes again somebody who left is documented nowhere.
3. Attach again. A 404 now means that the segment isn't there.

Each request may be repeated. The first one that can't be told ends the chunk: the provider is slow or away.
"""

from collections.abc import Callable
from urllib.parse import quote

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    ContactResult,
    NewContact,
    Outcome,
    Push,
    Pushed,
    Refused,
)
from campaignbridge.providers import resend_listings as listings
from campaignbridge.providers.answers import JsonObject
from campaignbridge.providers.resend_speech import Speech

NAME_FIELDS = {"FIRST_NAME": "first_name", "LAST_NAME": "last_name"}
COUNTED_MAX = 1_000_000
TOO_MANY = Refused("too_many", Category.REJECTED)  # to be counted within the limit


class Contacts:
    """The people of one account."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    def count(self, segment: str, *, limit_ms: int) -> Outcome[int]:
        """Count the people of a segment who haven't left; refused where its end wasn't reached in time."""
        left_ms = self._speech.transport.countdown(limit_ms)
        collection = listings.members(segment, most=COUNTED_MAX)

        def turn(query: dict[str, str]) -> Outcome[listings.Page]:
            if left_ms() <= 0:
                return TOO_MANY
            page = self._speech.get(collection.path, query, listings.read_page, limit_ms=left_ms())
            return TOO_MANY if isinstance(page, Ambiguous) and left_ms() <= 0 else page

        listed = listings.gather(collection, turn)
        if not isinstance(listed, Accepted):
            return listed
        if not listed.value.complete:
            return Ambiguous("unreadable", 200)
        return Accepted(sum(member.mailable for member in listed.value.items))

    def add(self, segment: str, contacts: tuple[NewContact, ...], *, limit_ms: int) -> Push:
        """Put people into a segment."""
        left_ms = self._speech.transport.countdown(limit_ms)
        results: list[ContactResult] = []
        for contact in contacts:
            outcome = self._add(segment, contact, left_ms)
            results.append(_result(contact.address, outcome, Pushed.IN_SEGMENT))
            if _ends(outcome):
                return _ended(results, [one.address for one in contacts], outcome)
        return Push(tuple(results))

    def remove(self, segment: str, addresses: tuple[str, ...], *, limit_ms: int) -> Push:
        """Take people out of a segment; somebody who isn't in it is out, too."""
        left_ms = self._speech.transport.countdown(limit_ms)
        results: list[ContactResult] = []
        for address in addresses:
            outcome: Outcome[object] = self._speech.ask(
                "DELETE", _membership(address, segment), None, _deleted, limit_ms=left_ms()
            )
            if isinstance(outcome, Refused) and outcome.category is Category.MISSING:
                outcome = Accepted(None)
            results.append(_result(address, outcome, Pushed.OUT))
            if _ends(outcome):
                return _ended(results, list(addresses), outcome)
        return Push(tuple(results))

    def _add(self, segment: str, contact: NewContact, left_ms: Callable[[], int]) -> Outcome[object]:
        attached = self._attach(segment, contact.address, left_ms())
        if not (isinstance(attached, Refused) and attached.category is Category.MISSING):
            return attached
        made: Outcome[object] = self._speech.ask(
            "POST", "/contacts", _new(contact), lambda body: body, status=201, limit_ms=left_ms()
        )
        known = isinstance(made, Refused) and made.status in (409, 422)
        if not isinstance(made, Accepted) and not known:
            return made
        again = self._attach(segment, contact.address, left_ms())
        # Refused for a reason of its own, and unknown all the same: the create tells why.
        return made if known and isinstance(again, Refused) and again.category is Category.MISSING else again

    def _attach(self, segment: str, address: str, limit_ms: int) -> Outcome[object]:
        return self._speech.ask(
            "POST", _membership(address, segment), None, lambda body: body, limit_ms=limit_ms
        )


def _membership(address: str, segment: str) -> str:
    return f"/contacts/{quote(address, safe='')}/segments/{segment}"


def _deleted(body: JsonObject) -> bool | None:
    return True if body.get("deleted") is True else None


def _new(contact: NewContact) -> JsonObject:
    """Return the body of a create: never `unsubscribed`."""
    body: dict[str, object] = {"email": contact.address}
    others: dict[str, str] = {}
    for name, value in contact.fields.items():
        if name.upper() in NAME_FIELDS:
            body[NAME_FIELDS[name.upper()]] = value
        else:
            others[name.lower()] = value
    if others:
        body["properties"] = others
    return body


def _ends(outcome: Outcome[object]) -> bool:
    """Say whether going on would only add to it: no answer, patience asked for, the key or the segment gone."""
    match outcome:
        case Accepted():
            return False
        case Refused(category=category):
            return category is not Category.REJECTED
        case Ambiguous():
            return True


def _result(address: str, outcome: Outcome[object], done: Pushed) -> ContactResult:
    match outcome:
        case Accepted():
            return ContactResult(address, done)
        case Refused(category=Category.REJECTED, code=code):
            return ContactResult(address, Pushed.REFUSED, code)
        case Refused(code=code):
            return ContactResult(address, Pushed.UNTRIED, code)
        case Ambiguous(reason=reason):
            return ContactResult(address, Pushed.UNCLEAR, reason)


def _ended(results: list[ContactResult], addresses: list[str], outcome: Outcome[object]) -> Push:
    rest = [ContactResult(address) for address in addresses[len(results) :]]
    assert not isinstance(outcome, Accepted)
    return Push((*results, *rest), outcome)
