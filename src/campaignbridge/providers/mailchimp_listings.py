"""Read what Mailchimp lists and counts: audiences, segments, merge fields, senders, reports.

Pure functions and one loop over pages: nothing here talks to anybody. An entry that doesn't look as
described is left out, never guessed at.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from campaignbridge.domain.provider import (
    Accepted,
    Listing,
    MergeField,
    Outcome,
    RemoteAudience,
    RemoteSegment,
    Report,
    Sender,
)
from campaignbridge.providers.answers import JsonObject, child, cleaned_name, text, whole
from campaignbridge.providers.mailchimp_wire import is_id

LISTING_MAX = 1000
PAGE_SIZE = 500
MAX_PAGES = 20

REPORT_FIELDS = (
    "id,emails_sent,abuse_reports,unsubscribed,"
    "bounces.hard_bounces,bounces.soft_bounces,bounces.syntax_errors,opens.unique_opens"
)

_TAG = re.compile(r"[A-Za-z0-9_:.-]{1,50}")
_FIELD_TYPE = re.compile(r"[a-z_]{1,30}")
_DOMAIN = re.compile(r"(?=.{3,253}\Z)[\w-]{1,63}(?:\.[\w-]{1,63})+")
_LOCAL_PART = re.compile(r"[^\s@<>,;()\"\x00-\x1f\x7f]{1,64}")
_KINDS = {"static", "saved"}  # of "fuzzy", the third one, nobody says how it could be mailed

T = TypeVar("T")
Page = tuple[list[object], int]


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """One kind of listing: the name of its array, the fields to ask for, and how an entry is read."""

    name: str
    fields: str
    read: Callable[[JsonObject], tuple[str, T] | None]  # what tells entries apart, and the entry
    order: Mapping[str, str]

    def page(self, body: JsonObject) -> Page | None:
        """Return the entries of one page and the total it announces, or None if it can't be read."""
        rows, total = body.get(self.name), whole(body, "total_items")
        return (rows, total) if isinstance(rows, list) and total is not None else None

    def query(self, offset: int) -> dict[str, str]:
        """Return what asks for the page that begins at `offset`."""
        fields = ",".join(f"{self.name}.{field}" for field in self.fields.split(","))
        count = min(PAGE_SIZE, LISTING_MAX - offset)
        return {
            "fields": f"{fields},total_items",
            **self.order,
            "count": str(count),
            "offset": str(offset),
        }


def gather(collection: Collection[T], turn: Callable[[dict[str, str]], Outcome[Page]]) -> Outcome[Listing[T]]:
    """Turn page after page and return the listing; a page that fails is the outcome of the whole.

    Complete only if as many different, valid entries were read as the last page announces.
    """
    items: dict[str, T] = {}
    offset = total = 0
    for _ in range(MAX_PAGES):
        page = turn(collection.query(offset))
        if not isinstance(page, Accepted):
            return page
        rows, total = page.value
        rows = rows[: LISTING_MAX - offset]
        items.update(filter(None, (collection.read(row) for row in rows if isinstance(row, dict))))
        offset += len(rows)
        if not rows or offset >= min(total, LISTING_MAX):
            break
    return Accepted(Listing(tuple(items.values()), complete=len(items) == offset == total))


def segments_of(list_id: str) -> Collection[RemoteSegment]:
    """Return how the segments of one list are listed."""

    def read(row: JsonObject) -> tuple[str, RemoteSegment] | None:
        number, members = whole(row, "id"), whole(row, "member_count")
        name, kind = cleaned_name(text(row, "name")), text(row, "type")
        if number is None or number < 1 or members is None or members < 0 or not name or kind not in _KINDS:
            return None
        segment = RemoteSegment(f"{list_id}:{number}", str(number), name, members, kind)
        return segment.id, segment

    return Collection("segments", "id,name,member_count,type", read, {})


def read_domains(body: JsonObject) -> Listing[Sender] | None:
    """Return the sending domains of an account, which come in one answer without pages."""
    rows, total = body.get("domains"), whole(body, "total_items")
    if not isinstance(rows, list):
        return None
    senders = [_read_domain(row) for row in rows[:LISTING_MAX] if isinstance(row, dict)]
    found = {sender.domain: sender for sender in senders if sender is not None}
    return Listing(tuple(found.values()), complete=len(found) == len(rows) and total in (None, len(rows)))


def without_doubles(senders: Listing[Sender]) -> Listing[Sender]:
    """Keep the first of the senders with the same address; lists often share one."""
    by_address: dict[str, Sender] = {}
    for sender in senders.items:
        by_address.setdefault(sender.email.lower(), sender)
    return Listing(tuple(by_address.values()), senders.complete)


def read_report(body: JsonObject, remote_id: str) -> Report | None:
    """Return a campaign's figures, or None if the object isn't the report of `remote_id`."""
    if body.get("id") != remote_id:
        return None
    bounces = child(body, "bounces")
    sent = _count(body, "emails_sent")
    hard, soft = _count(bounces, "hard_bounces"), _count(bounces, "soft_bounces")
    return Report(
        emails_sent=sent,
        delivered=_delivered(sent, hard, soft, _count(bounces, "syntax_errors") or 0),
        hard_bounces=hard,
        soft_bounces=soft,
        complaints=_count(body, "abuse_reports"),
        unsubscribed=_count(body, "unsubscribed"),
        opens=_count(child(body, "opens"), "unique_opens"),
    )


def _delivered(sent: int | None, hard: int | None, soft: int | None, broken: int) -> int | None:
    if sent is None or hard is None or soft is None:
        return None
    delivered = sent - hard - soft - broken
    return delivered if delivered >= 0 else None


def _count(body: JsonObject, name: str) -> int | None:
    value = whole(body, name)
    return value if value is not None and value >= 0 else None


def _read_audience(row: JsonObject) -> tuple[str, RemoteAudience] | None:
    list_id, name = text(row, "id"), cleaned_name(text(row, "name"))
    contacts = _count(child(row, "stats"), "member_count")
    if not is_id(list_id) or not name or contacts is None:
        return None
    return list_id, RemoteAudience(list_id, name, contacts)


def _read_merge_field(row: JsonObject) -> tuple[str, MergeField] | None:
    tag, kind, required = text(row, "tag"), text(row, "type"), row.get("required")
    name, default = cleaned_name(text(row, "name")), row.get("default_value", "")
    if not _TAG.fullmatch(tag) or not _FIELD_TYPE.fullmatch(kind) or not isinstance(required, bool):
        return None
    if not name or not isinstance(default, str):
        return None
    return tag, MergeField(tag, name, kind, required, cleaned_name(default))


def _read_domain(row: JsonObject) -> Sender | None:
    domain, verified = text(row, "domain").lower(), row.get("verified")
    if not _DOMAIN.fullmatch(domain) or not isinstance(verified, bool):
        return None
    return Sender(domain, verified=verified)


def _read_sender(row: JsonObject) -> tuple[str, Sender] | None:
    defaults = child(row, "campaign_defaults")
    local_part, _, domain = text(defaults, "from_email").rpartition("@")
    domain = domain.lower()
    if not is_id(text(row, "id")) or not _LOCAL_PART.fullmatch(local_part) or not _DOMAIN.fullmatch(domain):
        return None
    name = cleaned_name(text(defaults, "from_name"))
    return text(row, "id"), Sender(domain, f"{local_part}@{domain}", name)


# Oldest first: what is created meanwhile comes last instead of shifting the pages.
_OLDEST_FIRST = {"sort_field": "date_created", "sort_dir": "ASC"}

AUDIENCES = Collection("lists", "id,name,stats.member_count", _read_audience, _OLDEST_FIRST)
MERGE_FIELDS = Collection("merge_fields", "tag,name,type,required,default_value", _read_merge_field, {})
DEFAULT_SENDERS = Collection(
    "lists", "id,campaign_defaults.from_name,campaign_defaults.from_email", _read_sender, _OLDEST_FIRST
)
