"""Speak with one Mailchimp account (Marketing API 3.0).

Mailchimp has no idempotency key and deletes campaigns in any state, so there is no `retire`: a draft whose
send is in doubt stays where it is, as the evidence. What each answer means is in `mailchimp_wire.classify`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

import httpcore2

from campaignbridge import ports
from campaignbridge.domain.provider import (
    NO_SUCH,
    Accepted,
    Account,
    Ambiguous,
    Category,
    ContentRules,
    Draft,
    Found,
    Listing,
    MergeField,
    Observation,
    Outcome,
    Recipient,
    RecipientKind,
    Refused,
    RemoteAudience,
    RemoteSegment,
    Report,
    Search,
    Sender,
)
from campaignbridge.providers import mailchimp_listings as listings
from campaignbridge.providers import mailchimp_record as record
from campaignbridge.providers import mailchimp_wire as wire
from campaignbridge.providers.answers import (
    JsonObject,
    child,
    cleaned_name,
    forget,
    text,
    whole,
)
from campaignbridge.providers.mailchimp_segment_calls import SegmentCalls
from campaignbridge.providers.mailchimp_speech import Speech
from campaignbridge.providers.mailchimp_tags import mentioned_fields
from campaignbridge.providers.transport import Answer, Line, Transport

PAGE_SIZE = 1000
MAX_PAGES = 20

T = TypeVar("T")


class Mailchimp(SegmentCalls):
    """One Mailchimp account, as a `ports.Provider`."""

    slug = "mailchimp"
    label = "Mailchimp"
    capabilities = frozenset({"schedule", "cancel", "test"})
    schedule_grid_ms = 15 * 60_000
    content_rules = ContentRules("*|UNSUB|*", separate_replies=False, comments_hide=True)
    calls_per_s: int | None = None  # Mailchimp limits calls at once, not calls in a second

    def __init__(self, transport: Transport, key: str) -> None:
        """Take the way and the key. Raises `ValueError`, without the key, if no header can carry it."""
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("A Mailchimp API key is plain ASCII without spaces.")
        self._transport = transport
        self._speech = Speech(transport, key)

    def __repr__(self) -> str:
        """Name the host, never the key."""
        return f"<Mailchimp at {self._transport.host}>"

    def pace_with(self, pace: ports.Pace) -> None:
        """Ask for a turn before each request."""
        self._transport.pace = pace

    def dial(self, *, limit_ms: int) -> Line | Refused:
        """Open a fresh connection, TLS included."""
        return self._transport.dial(limit_ms=limit_ms)

    def create_draft(self, line: ports.Line, draft: Draft, *, limit_ms: int) -> Outcome[str]:
        """Create a regular campaign and return its id. Creating again makes a second one."""
        answer = self._speech.say(line, "POST", "/campaigns", wire.create_body(draft), limit_ms=limit_ms)
        return self._speech.judge(answer, _read_new_id, reading=False)

    def send(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery now. What a second send on the same id answers is documented nowhere."""
        return self._act(line, remote_id, "send", None, limit_ms=limit_ms)

    def schedule(self, line: ports.Line, remote_id: str, at_ms: int, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery at a quarter of an hour. Some plans refuse it, others the reason of a refusal."""
        assert at_ms % self.schedule_grid_ms == 0, "the moment was checked against the grid before"
        return self._act(line, remote_id, "schedule", wire.schedule_body(at_ms), limit_ms=limit_ms)

    def unschedule(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Take back the moment of a delivery. Afterwards the campaign reads as `save` or `paused`."""
        return self._act(line, remote_id, "unschedule", None, limit_ms=limit_ms)

    def cancel(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask to stop a delivery under way, which most plans can't. What has left has left."""
        return self._act(line, remote_id, "cancel-send", None, limit_ms=limit_ms)

    def send_test(
        self, line: ports.Line, remote_id: str, addresses: tuple[str, ...], *, limit_ms: int
    ) -> Outcome[None]:
        """Mail the HTML form to these addresses.

        They go into the body of the one request and nowhere else: Mailchimp's words about it are kept without
        them, in whatever form it repeats them.
        """
        body = wire.test_send_body(addresses)
        outcome = self._act(line, remote_id, "test", body, limit_ms=limit_ms)
        if isinstance(outcome, Refused):
            return replace(outcome, detail=forget(outcome.detail, addresses))
        return outcome

    def sync_draft(self, remote_id: str, draft: Draft, *, limit_ms: int) -> Outcome[None]:
        """Assert settings, then content, each on its own connection, both within `limit_ms`.

        Never the recipients: Mailchimp keeps the old audience when segments are swapped on a draft. The
        first outcome that isn't accepted ends it; then the settings may be new and the content old.
        """
        path = _campaign(remote_id)
        left_ms = self._transport.countdown(limit_ms)
        settings: JsonObject = {"settings": wire.settings_body(draft)}
        answer = self._speech.write("PATCH", path, settings, limit_ms=left_ms())
        patched = self._speech.judge(
            answer, lambda body: body if body.get("id") == remote_id else None, reading=False
        )
        if not isinstance(patched, Accepted):
            return patched
        answer = self._speech.write("PUT", f"{path}/content", wire.content_body(draft), limit_ms=left_ms())
        uploaded = self._speech.judge(answer, lambda body: body, reading=False)
        return Accepted(None) if isinstance(uploaded, Accepted) else uploaded

    def inspect(self, remote_id: str, *, limit_ms: int) -> Outcome[Observation]:
        """Read one campaign. The count of recipients lags behind changes of the audience."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        answer = self._speech.get(_campaign(remote_id), {"fields": wire.CAMPAIGN_FIELDS}, limit_ms=limit_ms)
        return self._speech.judge(answer, lambda body: wire.read_observation(body, remote_id), reading=True)

    def find_by_token(self, stem: str, *, since_ms: int, audience: str, limit_ms: int) -> Outcome[Search]:
        """Find every campaign of the list whose title ends in `[{stem}.g<generation>]`, in any status.

        Complete only if as many different campaigns were read as the last page announces, within 20 pages.
        A page that fails is the outcome of the whole search.
        """
        left_ms = self._transport.countdown(limit_ms)
        query = {
            "since_create_time": wire.since_text(since_ms),
            "list_id": wire.split_audience(audience)[0],
            "fields": wire.SEARCH_FIELDS,
            # Oldest first: what is created meanwhile comes last instead of shifting the pages.
            "sort_field": "create_time",
            "sort_dir": "ASC",
            "count": str(PAGE_SIZE),
        }
        found: dict[str, Found] = {}
        seen: set[str] = set()
        offset = total = 0
        for _ in range(MAX_PAGES):
            answer = self._speech.get("/campaigns", {**query, "offset": str(offset)}, limit_ms=left_ms())
            page = self._speech.judge(answer, lambda body: _read_matches(body, stem), reading=True)
            if not isinstance(page, Accepted):
                return page
            ids, matches, total = page.value
            seen.update(ids)
            found.update((match.remote_id, match) for match in matches)
            offset += len(ids)
            if offset >= total or not ids:
                break
        return Accepted(Search(tuple(found.values()), complete=len(seen) == offset == total))

    def verify(self, *, limit_ms: int) -> Outcome[Account]:
        """Read which account the key opens."""
        answer = self._speech.get("/", {"fields": "account_id,account_name"}, limit_ms=limit_ms)
        return self._speech.judge(answer, _read_account, reading=True)

    def audience(self, ref: str, *, limit_ms: int) -> Outcome[RemoteAudience]:
        """Read one list, or one saved segment of it."""
        list_id, segment = wire.split_audience(ref)
        if segment is None:
            path, fields = f"/lists/{list_id}", "id,name,stats.member_count"
        else:
            path, fields = f"/lists/{list_id}/segments/{segment}", "id,name,member_count"
        answer = self._speech.get(path, {"fields": fields}, limit_ms=limit_ms)
        return self._speech.judge(answer, lambda body: _read_audience(body, ref), reading=True)

    def readiness(self, remote_id: str, *, limit_ms: int) -> Outcome[tuple[str, ...]]:
        """Read the errors of the send checklist: the reasons that a 400 to send or schedule doesn't tell."""
        query = {"fields": "is_ready,items.type,items.heading,items.details"}
        answer = self._speech.get(f"{_campaign(remote_id)}/send-checklist", query, limit_ms=limit_ms)
        return self._speech.judge(
            answer, lambda body: wire.read_errors(body, self._speech.hide), reading=True
        )

    def audiences(self, *, limit_ms: int) -> Outcome[Listing[RemoteAudience]]:
        """List the lists of the account, oldest first."""
        return self._listing("/lists", listings.AUDIENCES, self._transport.countdown(limit_ms))

    def segments(self, audience: str, *, limit_ms: int) -> Outcome[Listing[RemoteSegment]]:
        """List tags (static) and saved segments of a list. A "fuzzy" one is left out, so never complete."""
        list_id, _ = wire.split_audience(audience)
        left_ms = self._transport.countdown(limit_ms)
        return self._listing(f"/lists/{list_id}/segments", listings.segments_of(list_id), left_ms)

    def merge_fields(self, audience: str, *, limit_ms: int) -> Outcome[Listing[MergeField]]:
        """List the merge fields of a list. EMAIL is none of them, and every contact has it."""
        list_id, _ = wire.split_audience(audience)
        left_ms = self._transport.countdown(limit_ms)
        return self._listing(f"/lists/{list_id}/merge-fields", listings.MERGE_FIELDS, left_ms)

    def mentioned_fields(self, content: str) -> frozenset[str]:
        """Return the merge fields that content mentions."""
        return mentioned_fields(content)

    def senders(self, *, limit_ms: int) -> Outcome[Listing[Sender]]:
        """List the sending domains; where there are none to be had, the default senders of the lists.

        Mailchimp names no verified single addresses: a sender that isn't listed may still be good.
        """
        left_ms = self._transport.countdown(limit_ms)
        answer = self._speech.get("/verified-domains", {}, limit_ms=left_ms())
        domains = self._speech.judge(answer, listings.read_domains, reading=True)
        if not _has_nothing(domains):
            return domains
        senders = self._listing("/lists", listings.DEFAULT_SENDERS, left_ms)
        return Accepted(listings.without_doubles(senders.value)) if isinstance(senders, Accepted) else senders

    def report(self, remote_id: str, *, limit_ms: int) -> Outcome[Report]:
        """Read the figures of a campaign; for minutes after a delivery there may be none, or old ones."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        answer = self._speech.get(
            f"/reports/{remote_id}", {"fields": listings.REPORT_FIELDS}, limit_ms=limit_ms
        )
        return self._speech.judge(answer, lambda body: listings.read_report(body, remote_id), reading=True)

    def retire(self, remote_id: str, *, limit_ms: int) -> Outcome[None]:  # noqa: ARG002
        """Refuse: Mailchimp deletes a campaign in any state, so nothing would be proven. Nobody is asked."""
        assert wire.is_id(remote_id), "a remote id comes from Mailchimp"
        return Refused("cant_retire", Category.REJECTED)

    def count(self, audience: str, *, limit_ms: int) -> Outcome[int]:
        """Read how many a list or segment has; a campaign's own count is the one that matters."""
        found = self.audience(audience, limit_ms=limit_ms)
        if not isinstance(found, Accepted):
            return found
        contacts = found.value.contacts
        return Ambiguous("unreadable", 200) if contacts is None else Accepted(contacts)

    def recipients(
        self, remote_id: str, kind: RecipientKind, *, most: int, limit_ms: int
    ) -> Outcome[Listing[Recipient]]:
        """Read whom a campaign's record names; see `mailchimp_record`. Bounces take a page of each 1,000 mailed."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        left_ms = self._transport.countdown(limit_ms)

        def ask(part: str, query: dict[str, str]) -> Outcome[JsonObject]:
            answer = self._speech.get(f"/reports/{remote_id}/{part}", query, limit_ms=left_ms())
            return self._speech.judge(answer, lambda body: body, reading=True)

        return record.read(kind, ask, most=most)

    def _listing(
        self, path: str, collection: listings.Collection[T], left_ms: Callable[[], int]
    ) -> Outcome[Listing[T]]:
        def turn(query: dict[str, str]) -> Outcome[listings.Page]:
            return self._speech.judge(
                self._speech.get(path, query, limit_ms=left_ms()), collection.page, reading=True
            )

        return listings.gather(collection, turn)

    def _act(
        self, line: ports.Line, remote_id: str, action: str, body: JsonObject | None, *, limit_ms: int
    ) -> Outcome[None]:
        """Ask for one of a campaign's actions, whose only documented success is an empty 204."""
        path = f"{_campaign(remote_id)}/actions/{action}"
        answer = self._speech.say(line, "POST", path, body, limit_ms=limit_ms)
        if isinstance(answer, Answer) and answer.status == 204:
            return Accepted(None)
        return self._speech.otherwise(answer, reading=False)


def open_mailchimp(
    *,
    key: str,
    base_url: str | None,
    clock: ports.Clock,
    backend: httpcore2.NetworkBackend | None = None,
    allow_hosts: frozenset[str] = frozenset(),
) -> Mailchimp:
    """Open an account at the host its key names, or at `base_url`.

    Mailchimp's own API hosts and loopback are always allowed; others only in `allow_hosts`. Raises
    `ValueError` with one sentence for people, without the key. Contacts nobody.
    """
    url = wire.base_url_of(key) if base_url is None else base_url
    host = _host(url)
    allowed = allow_hosts | {host} if wire.is_api_host(host) else allow_hosts
    return Mailchimp(Transport(url, clock, backend, allow_hosts=allowed), key)


def _host(url: str) -> str:
    # Only a look, before the address is checked for good: what can't be read is nobody's own host.
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _campaign(remote_id: str) -> str:
    assert wire.is_id(remote_id), "a remote id comes from Mailchimp"
    return f"/campaigns/{remote_id}"


def _has_nothing(domains: Outcome[Listing[Sender]]) -> bool:
    """Tell whether an account answered that it has no domains, or that these aren't for this key."""
    match domains:
        case Accepted(value=listing):
            return listing.complete and not listing.items
        case Refused(category=category, status=status):
            return category in (Category.MISSING, Category.REJECTED) or (
                category is Category.CREDENTIAL and status == 403
            )
    return False


def _read_new_id(body: JsonObject) -> str | None:
    remote_id = text(body, "id")
    return remote_id if wire.is_id(remote_id) else None


def _read_matches(body: JsonObject, stem: str) -> tuple[list[str], list[Found], int] | None:
    page = wire.read_page(body)
    if page is None:
        return None
    rows, total = page
    try:
        return [text(row, "id") for row in rows], list(wire.matching(rows, stem)), total
    except ValueError:
        return None


def _read_account(body: JsonObject) -> Account | None:
    account_id = text(body, "account_id")
    return Account(account_id, cleaned_name(text(body, "account_name"))) if account_id else None


def _read_audience(body: JsonObject, ref: str) -> RemoteAudience | None:
    # A list keeps its count under `stats`, a segment on top.
    contacts = whole(child(body, "stats") or body, "member_count")
    if contacts is None:
        return None
    return RemoteAudience(ref, cleaned_name(text(body, "name")), contacts)
