"""Mailchimp's own record of a campaign: whom it mailed, and who bounced, complained or left because of it.

Bounces have no listing of their own: they are found by paging through everybody who was mailed, 1,000 a request.
Complaints come in one answer without pages.
"""

from collections.abc import Callable
from dataclasses import dataclass

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Listing,
    Outcome,
    Recipient,
    RecipientKind,
    Refused,
)
from campaignbridge.providers.answers import JsonObject, text, whole

PAGE_SIZE = 1_000
MAX_PAGES = 50

Ask = Callable[[str, dict[str, str]], Outcome[JsonObject]]

_BOUNCES = {"hard": True, "soft": False}
_STATUSES = {"sent", *_BOUNCES}


@dataclass(frozen=True, slots=True)
class _Part:
    """Where a kind is recorded, and which of the people there are of it."""

    path: str
    rows: str
    fields: str
    paged: bool = True
    among: frozenset[str] | None = None  # the statuses that count; None: everybody there


_PARTS = {
    RecipientKind.SENT: _Part("sent-to", "sent_to", "email_address,status", among=frozenset(_STATUSES)),
    RecipientKind.DELIVERED: _Part("sent-to", "sent_to", "email_address,status", among=frozenset({"sent"})),
    RecipientKind.BOUNCED: _Part("sent-to", "sent_to", "email_address,status", among=frozenset(_BOUNCES)),
    RecipientKind.COMPLAINED: _Part("abuse-reports", "abuse_reports", "email_address", paged=False),
    RecipientKind.UNSUBSCRIBED: _Part("unsubscribed", "unsubscribes", "email_address"),
}


def read(kind: RecipientKind, ask: Ask, *, most: int) -> Outcome[Listing[Recipient]]:
    """Return the first `most` people of a kind; complete only if the end was reached and each entry was read.

    A page that fails is the outcome of the whole. Whom Mailchimp itself held back is recorded nowhere.
    """
    part = _PARTS.get(kind)
    if part is None:
        return Refused("no_record", Category.MISSING)
    found: dict[str, Recipient] = {}
    offset = total = 0
    sound = True
    for _ in range(MAX_PAGES if part.paged else 1):
        page = ask(part.path, _query(part, offset))
        if not isinstance(page, Accepted):
            return page
        rows, announced = page.value.get(part.rows), whole(page.value, "total_items")
        if not isinstance(rows, list) or announced is None:
            return Ambiguous("unreadable", 200)
        total = announced
        offset += len(rows)
        sound = sum(_keep(part, row, found) for row in rows) == len(rows) and sound
        if not rows or offset >= total or len(found) > most:
            break
    ended = offset == total and len(found) <= most
    return Accepted(Listing(tuple(found.values())[:most], complete=ended and sound))


def _query(part: _Part, offset: int) -> dict[str, str]:
    fields = ",".join(f"{part.rows}.{field}" for field in part.fields.split(","))
    pages = {"count": str(PAGE_SIZE), "offset": str(offset)} if part.paged else {}
    return {"fields": f"{fields},total_items", **pages}


def _keep(part: _Part, row: object, found: dict[str, Recipient]) -> bool:
    """Take an entry among the people if it is one of them; say whether it could be read."""
    if not isinstance(row, dict):
        return False
    address, status = text(row, "email_address"), text(row, "status")
    if "@" not in address or (part.among is not None and status not in _STATUSES):
        return False
    if part.among is None or status in part.among:
        found[address.lower()] = Recipient(address, _BOUNCES.get(status))
    return True
