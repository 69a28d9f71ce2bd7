"""Read what Resend lists and counts: segments, contacts, domains, properties, recipients, metrics.

Pure functions and one loop over pages: nothing here talks to anybody. Pages go by the id of the last entry, so
what is made or deleted meanwhile shifts none of them. An entry that doesn't look as described is left out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from campaignbridge.domain.provider import (
    Accepted,
    FoundSegment,
    Listing,
    Member,
    MergeField,
    Outcome,
    Recipient,
    RemoteAudience,
    RemoteSegment,
    Report,
    Sender,
)
from campaignbridge.providers.answers import JsonObject, cleaned_name, text, whole
from campaignbridge.providers.resend_wire import is_id, matching, time_ms

PAGE_SIZE = 100
LISTING_MAX = 1_000

_DOMAIN = re.compile(r"(?=.{3,253}\Z)[\w-]{1,63}(?:\.[\w-]{1,63})+")
_PROPERTY = re.compile(r"[A-Za-z0-9_]{1,100}")
_ADDRESS = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
# Every contact has these, and no listing of properties names them.
NAMES = (
    MergeField("FIRST_NAME", "first_name", "string", required=False, default=""),
    MergeField("LAST_NAME", "last_name", "string", required=False, default=""),
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing: its entries, and whether there is more behind them."""

    rows: list[JsonObject]
    last: str  # what the next page begins behind; empty where there is none
    more: bool
    whole: bool  # each entry is an object with an id


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """One kind of listing: where it is, and how an entry is read."""

    path: str
    read: Callable[[JsonObject], T | None]
    query: Mapping[str, str] = field(default_factory=dict)
    most: int = LISTING_MAX


def read_page(body: JsonObject) -> Page | None:
    """Return one page, or None if the object is none."""
    rows = body.get("data")
    if not isinstance(rows, list):
        return None
    known: list[JsonObject] = [row for row in rows if isinstance(row, dict) and text(row, "id")]
    last = text(known[-1], "id") if known and len(known) == len(rows) else ""
    more = body.get("has_more")
    if not isinstance(more, bool):  # the published description of some listings lacks it
        more = len(rows) >= PAGE_SIZE
    return Page(known, last, more, len(known) == len(rows))


def gather(collection: Collection[T], turn: Callable[[dict[str, str]], Outcome[Page]]) -> Outcome[Listing[T]]:
    """Turn page after page and return the listing; a page that fails is the outcome of the whole.

    Complete only if the end was reached, each entry was valid, and none came twice.
    """
    items: list[T] = []
    seen: set[str] = set()
    read = 0
    query = {**collection.query, "limit": str(PAGE_SIZE)}
    while True:
        page = turn(query)
        if not isinstance(page, Accepted):
            return page
        room = collection.most - read
        rows = page.value.rows[:room]
        read += len(rows)
        for row in rows:
            item = collection.read(row) if text(row, "id") not in seen else None
            seen.add(text(row, "id"))
            if item is not None:
                items.append(item)
        cut = len(rows) < len(page.value.rows) or (page.value.more and read >= collection.most)
        ended = not page.value.more or cut or not page.value.last
        if ended:
            complete = page.value.whole and not page.value.more and not cut and len(items) == read
            return Accepted(Listing(tuple(items), complete))
        query["after"] = page.value.last


def audiences() -> Collection[RemoteAudience]:
    """Return how segments are listed as audiences; how many are in one isn't told."""

    def read(row: JsonObject) -> RemoteAudience | None:
        name = cleaned_name(text(row, "name"))
        return RemoteAudience(text(row, "id"), name, None) if is_id(text(row, "id")) and name else None

    return Collection("/segments", read)


def segments() -> Collection[RemoteSegment]:
    """Return how segments are listed."""

    def read(row: JsonObject) -> RemoteSegment | None:
        segment, name = text(row, "id"), cleaned_name(text(row, "name"))
        return RemoteSegment(segment, segment, name, None, "static") if is_id(segment) and name else None

    return Collection("/segments", read)


def named_segments(name: str) -> Collection[FoundSegment | bool]:
    """Return how the segments of one name are found; others are `False`, so that completeness can be told."""

    def read(row: JsonObject) -> FoundSegment | bool | None:
        segment = text(row, "id")
        if not is_id(segment) or not isinstance(row.get("name"), str):
            return None
        if row["name"] != name:
            return False
        try:
            return FoundSegment(segment, segment, time_ms(text(row, "created_at")))
        except ValueError:
            return None

    return Collection("/segments", read, most=20_000)


def members(segment: str, *, most: int) -> Collection[Member]:
    """Return how the people of a segment are listed."""

    def read(row: JsonObject) -> Member | None:
        address, left = text(row, "email"), row.get("unsubscribed")
        if not _ADDRESS.fullmatch(address) or not isinstance(left, bool):
            return None
        return Member(address, mailable=not left, left=left)

    return Collection("/contacts", read, {"segment_id": segment}, most)


def properties() -> Collection[MergeField]:
    """Return how contact properties are listed."""

    def read(row: JsonObject) -> MergeField | None:
        key, kind, fallback = text(row, "key"), text(row, "type"), row.get("fallback_value")
        if not _PROPERTY.fullmatch(key) or not _PROPERTY.fullmatch(kind):
            return None
        default = "" if fallback is None else cleaned_name(str(fallback))
        return MergeField(key.upper(), key, kind, required=False, default=default)

    return Collection("/contact-properties", read)


@dataclass(frozen=True, slots=True)
class Domain:
    """A sending domain of an account."""

    id: str
    name: str
    created_ms: int
    verified: bool


def domains() -> Collection[Domain]:
    """Return how sending domains are listed."""

    def read(row: JsonObject) -> Domain | None:
        name = text(row, "name").lower()
        if not is_id(text(row, "id")) or not _DOMAIN.fullmatch(name):
            return None
        try:
            created_ms = time_ms(text(row, "created_at"))
        except ValueError:
            return None
        return Domain(text(row, "id"), name, created_ms, text(row, "status") == "verified")

    return Collection("/domains", read)


def senders(found: Listing[Domain]) -> Listing[Sender]:
    """Return domains as senders: any address of one may send."""
    return Listing(
        tuple(Sender(domain.name, verified=domain.verified) for domain in found.items), found.complete
    )


def recipients(remote_id: str, kind: str, *, most: int) -> Collection[Recipient]:
    """Return how the people of a broadcast's record are listed."""

    def read(row: JsonObject) -> Recipient | None:
        address, bounce = text(row, "email"), text(row, "bounce_type")
        if not _ADDRESS.fullmatch(address):
            return None
        return Recipient(address, None if bounce not in ("permanent", "transient") else bounce == "permanent")

    return Collection(f"/broadcasts/{remote_id}/recipients", read, {"type": kind}, most)


def broadcasts(stem: str) -> Collection[object]:
    """Return how broadcasts are searched for a token: each entry is a match, or nothing to us."""

    def read(row: JsonObject) -> object | None:
        if not text(row, "status"):
            return None
        try:
            found = list(matching([row], stem))
        except ValueError:
            return None
        return found[0] if found else False

    return Collection("/broadcasts", read, most=20_000)


METRICS = (
    "sent,delivered,bounced_permanent,bounced_transient,bounced_undetermined,"
    "complained,unsubscribed,unique_opened"
)


def metrics_query(remote_id: str, since: str) -> dict[str, str]:
    """Return what asks for one broadcast's figures since a moment; without one, Resend tells six days only."""
    return {
        "broadcast_id": remote_id,
        "dimensions": "broadcast",
        "metrics": METRICS,
        "start_date": since,
    }


def read_metrics(body: JsonObject) -> list[JsonObject] | None:
    """Return the rows of an answer with figures, or None if it is none."""
    rows = body.get("data")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return rows


def report_of(rows: list[JsonObject], remote_id: str) -> Report | None:
    """Return the figures of one broadcast; None while there is no row of it, which is never zeros."""
    row = next((one for one in rows if one.get("broadcast_id") == remote_id), None)
    if row is None:
        return None
    soft = [_count(row, name) for name in ("bounced_transient", "bounced_undetermined")]
    told = [count for count in soft if count is not None]
    return Report(
        emails_sent=_count(row, "sent"),
        delivered=_count(row, "delivered"),
        hard_bounces=_count(row, "bounced_permanent"),
        soft_bounces=sum(told) if told else None,
        complaints=_count(row, "complained"),
        unsubscribed=_count(row, "unsubscribed"),
        opens=_count(row, "unique_opened"),
    )


def _count(body: JsonObject, name: str) -> int | None:
    value = whole(body, name)
    return value if value is not None and value >= 0 else None
