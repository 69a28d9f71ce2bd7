"""Speak with one Resend account: broadcasts, segments, contacts.

Resend refuses to delete a broadcast that is no draft, so a draft whose send is in doubt can be made unsendable
(`retire`): its id is the fence that Resend itself checks. It has no idempotency key on broadcasts; `send` on create
is in none of our requests. What each answer means is in `resend_wire.classify`.
"""

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
    Draft,
    Found,
    FoundSegment,
    Listing,
    Member,
    MergeField,
    NewContact,
    Observation,
    Outcome,
    Push,
    Recipient,
    RecipientKind,
    Refused,
    RemoteAudience,
    RemoteSegment,
    RemoteStatus,
    Report,
    Search,
    Sender,
)
from campaignbridge.providers import resend_listings as listings
from campaignbridge.providers import resend_wire as wire
from campaignbridge.providers.answers import JsonObject, cleaned_name, forget, text
from campaignbridge.providers.resend_contacts import TOO_MANY, Contacts
from campaignbridge.providers.resend_speech import Speech
from campaignbridge.providers.resend_tags import mentioned_fields
from campaignbridge.providers.transport import Line, Transport

MEMBERS_MAX = 1_000_000

T = TypeVar("T")


class Resend:
    """One Resend account, as a `ports.Provider`."""

    slug = "resend"
    label = "Resend"
    capabilities = frozenset({"schedule", "cancel", "test", "retire", "recipients", "count"})
    schedule_grid_ms = 60_000
    content_rules = wire.CONTENT_RULES
    calls_per_s: int | None = 2  # for a team, whatever its number of keys; Resend raises it on request
    push_chunk = 20  # one to three requests for each

    def __init__(self, transport: Transport, key: str) -> None:
        """Take the way and the key. Raises `ValueError`, without the key, if no header can carry it."""
        if not key.startswith("re_") or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(
                "This is no Resend API key: it begins with re_, and is plain ASCII without spaces."
            )
        self._transport = transport
        self._speech = Speech(transport, key)
        self._contacts = Contacts(self._speech)

    def __repr__(self) -> str:
        """Name the host, never the key."""
        return f"<Resend at {self._transport.host}>"

    def pace_with(self, pace: ports.Pace) -> None:
        """Ask for a turn before each request."""
        self._transport.pace = pace

    def dial(self, *, limit_ms: int) -> Line | Refused:
        """Open a fresh connection, TLS included."""
        return self._transport.dial(limit_ms=limit_ms)

    def create_draft(self, line: ports.Line, draft: Draft, *, limit_ms: int) -> Outcome[str]:
        """Create a broadcast with its whole content and return its id. Creating again makes a second one."""
        return self._speech.say(
            line,
            "POST",
            "/broadcasts",
            wire.create_body(draft),
            wire.is_own_id,
            status=201,
            limit_ms=limit_ms,
        )

    def send(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery now. What a second send on the same id answers is documented nowhere."""
        return self._act(line, remote_id, "send", {}, limit_ms=limit_ms)

    def schedule(self, line: ports.Line, remote_id: str, at_ms: int, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery at a moment."""
        return self._act(line, remote_id, "send", {"scheduled_at": wire.iso(at_ms)}, limit_ms=limit_ms)

    def unschedule(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Take back the moment of a delivery: a draft again. If it began meanwhile, this stops it."""
        return self._act(line, remote_id, "cancel", None, limit_ms=limit_ms)

    def cancel(self, line: ports.Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask to stop a queued delivery. What has left has left."""
        return self._act(line, remote_id, "cancel", None, limit_ms=limit_ms)

    def send_test(
        self, line: ports.Line, remote_id: str, addresses: tuple[str, ...], *, limit_ms: int
    ) -> Outcome[None]:
        """Mail the broadcast's present content as an ordinary e-mail: Resend has no test of a broadcast.

        Two requests: the content is read on a connection of its own, then mailed on the line. Properties and the
        unsubscribe link stand in it as they are written. The addresses go into the body of the one request.
        """
        left_ms = self._transport.countdown(limit_ms)
        read = self._speech.get(_broadcast(remote_id), {}, lambda body: body, limit_ms=left_ms())
        if isinstance(read, Ambiguous):
            return Refused(
                "unreadable_draft", Category.UNREACHABLE
            )  # only read: nothing can have been mailed
        if isinstance(read, Refused):
            return read
        body = wire.test_body(read.value, addresses)
        if body is None or read.value.get("id") != remote_id:
            return Refused("empty_draft", Category.REJECTED)
        outcome = self._speech.say(line, "POST", "/emails", body, wire.is_own_id, limit_ms=left_ms())
        if isinstance(outcome, Refused):
            return replace(outcome, detail=forget(outcome.detail, addresses))
        return Accepted(None) if isinstance(outcome, Accepted) else outcome

    def sync_draft(self, remote_id: str, draft: Draft, *, limit_ms: int) -> Outcome[None]:
        """Assert name, envelope and content in one request, which Resend refuses on anything but a draft."""
        outcome = self._speech.ask(
            "PATCH",
            _broadcast(remote_id),
            wire.update_body(draft),
            lambda body: body if body.get("id") == remote_id else None,
            limit_ms=limit_ms,
        )
        return Accepted(None) if isinstance(outcome, Accepted) else outcome

    def retire(self, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Delete a draft. Resend's documents disagree on whether it refuses on a scheduled one: see the port."""
        outcome = self._speech.ask(
            "DELETE",
            _broadcast(remote_id),
            None,
            lambda body: True if body.get("deleted") is True else None,
            limit_ms=limit_ms,
        )
        return Accepted(None) if isinstance(outcome, Accepted) else outcome

    def inspect(self, remote_id: str, *, limit_ms: int) -> Outcome[Observation]:
        """Read one broadcast; of a sent one also how many were mailed, where its metrics tell that yet."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        left_ms = self._transport.countdown(limit_ms)
        seen = self._speech.get(
            _broadcast(remote_id),
            {},
            lambda body: _with_start(body, wire.read_observation(body, remote_id)),
            limit_ms=left_ms(),
        )
        if not isinstance(seen, Accepted):
            return seen
        observation, since = seen.value
        if observation.status is not RemoteStatus.SENT:
            return Accepted(observation)
        report = self._report(remote_id, since, limit_ms=left_ms())
        mailed = report.value.emails_sent if isinstance(report, Accepted) else None
        return Accepted(replace(observation, emails_sent=mailed))

    def find_by_token(
        self,
        stem: str,
        *,
        since_ms: int,  # noqa: ARG002
        audience: str,  # noqa: ARG002
        limit_ms: int,
    ) -> Outcome[Search]:
        """Find every broadcast whose name ends in `[{stem}.g<generation>]`, in any status and segment.

        Resend filters by nothing, so all broadcasts are paged through; a page that fails is the outcome.
        """
        listed = self._listing(listings.broadcasts(stem), limit_ms=limit_ms)
        if not isinstance(listed, Accepted):
            return listed
        found = tuple(one for one in listed.value.items if isinstance(one, Found))
        return Accepted(Search(found, listed.value.complete))

    def verify(self, *, limit_ms: int) -> Outcome[Account]:
        """Read which account the key opens. Resend names none: it is known by its oldest sending domain."""
        listed = self._listing(listings.domains(), limit_ms=limit_ms)
        if not isinstance(listed, Accepted):
            return listed
        if not listed.value.complete:
            return Ambiguous("unreadable", 200)
        oldest = min(listed.value.items, key=lambda one: (one.created_ms, one.id), default=None)
        if oldest is None:
            return Refused(
                "no_domain", Category.REJECTED, 200, detail="This Resend account has no sending domain yet."
            )
        return Accepted(Account(oldest.id, oldest.name))

    def audience(self, ref: str, *, limit_ms: int) -> Outcome[RemoteAudience]:
        """Read one segment, and count whom it would reach where its end is within the limit."""
        path = f"/segments/{wire.require_segment(ref)}"
        left_ms = self._transport.countdown(limit_ms)
        name = self._speech.get(
            path, {}, lambda body: text(body, "name") if body.get("id") == ref else None, limit_ms=left_ms()
        )
        if not isinstance(name, Accepted):
            return name
        counted = self.count(ref, limit_ms=left_ms())
        if not isinstance(counted, Accepted) and counted != TOO_MANY:
            return counted
        people = counted.value if isinstance(counted, Accepted) else None
        return Accepted(RemoteAudience(ref, cleaned_name(name.value), people))

    def readiness(self, remote_id: str, *, limit_ms: int) -> Outcome[tuple[str, ...]]:  # noqa: ARG002
        """Return nothing: Resend has no checklist, and its refusals tell their reason. Nobody is asked."""
        assert wire.is_id(remote_id), "a remote id comes from Resend"
        return Accepted(())

    def audiences(self, *, limit_ms: int) -> Outcome[Listing[RemoteAudience]]:
        """List the segments: each of them is what a broadcast can go to."""
        return self._listing(listings.audiences(), limit_ms=limit_ms)

    def segments(self, audience: str, *, limit_ms: int) -> Outcome[Listing[RemoteSegment]]:
        """List the segments of the account, the audience among them."""
        wire.require_segment(audience)
        return self._listing(listings.segments(), limit_ms=limit_ms)

    def merge_fields(self, audience: str, *, limit_ms: int) -> Outcome[Listing[MergeField]]:
        """List the contact properties of the account, and the two names that every contact may have."""
        wire.require_segment(audience)
        listed = self._listing(listings.properties(), limit_ms=limit_ms)
        if not isinstance(listed, Accepted):
            return listed
        return Accepted(Listing((*listings.NAMES, *listed.value.items), listed.value.complete))

    def mentioned_fields(self, content: str) -> frozenset[str]:
        """Return the contact properties that content mentions."""
        return mentioned_fields(content)

    def senders(self, *, limit_ms: int) -> Outcome[Listing[Sender]]:
        """List the sending domains: any address of a verified one may send."""
        listed = self._listing(listings.domains(), limit_ms=limit_ms)
        return Accepted(listings.senders(listed.value)) if isinstance(listed, Accepted) else listed

    def report(self, remote_id: str, *, limit_ms: int) -> Outcome[Report]:
        """Read a broadcast's figures since it was made; while Resend counts nothing for it there is none."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        left_ms = self._transport.countdown(limit_ms)
        since = self._speech.get(
            _broadcast(remote_id),
            {},
            lambda body: _since(body) if body.get("id") == remote_id else None,
            limit_ms=left_ms(),
        )
        if not isinstance(since, Accepted):
            return since
        return self._report(remote_id, since.value, limit_ms=left_ms())

    def count(self, audience: str, *, limit_ms: int) -> Outcome[int]:
        """Count a segment's people who haven't left, by listing them all, 100 a request."""
        return self._contacts.count(wire.require_segment(audience), limit_ms=limit_ms)

    def recipients(
        self, remote_id: str, kind: RecipientKind, *, most: int, limit_ms: int
    ) -> Outcome[Listing[Recipient]]:
        """Read whom Resend's own record of a broadcast names."""
        if not wire.is_id(remote_id):
            return NO_SUCH
        return self._listing(listings.recipients(remote_id, kind.value, most=most), limit_ms=limit_ms)

    def create_segment(
        self, line: ports.Line, name: str, *, audience: str, limit_ms: int
    ) -> Outcome[FoundSegment]:
        """Create a segment of the account. Names aren't unique at Resend."""
        if audience:
            wire.require_segment(audience)
        made = self._speech.say(
            line, "POST", "/segments", {"name": name}, wire.is_own_id, status=201, limit_ms=limit_ms
        )
        return Accepted(FoundSegment(made.value, made.value, None)) if isinstance(made, Accepted) else made

    def find_segment(self, name: str, *, audience: str, limit_ms: int) -> Outcome[Listing[FoundSegment]]:
        """Find the segments of this name among all of the account, oldest first."""
        if audience:  # segments stand alone here
            wire.require_segment(audience)
        listed = self._listing(listings.named_segments(name), limit_ms=limit_ms)
        if not isinstance(listed, Accepted):
            return listed
        found = [one for one in listed.value.items if isinstance(one, FoundSegment)]
        found.sort(key=lambda one: (one.created_ms or 0, one.id))
        return Accepted(Listing(tuple(found), listed.value.complete))

    def segment_members(self, segment: str, *, limit_ms: int) -> Outcome[Listing[Member]]:
        """List everybody in a segment, 100 a request."""
        return self._listing(
            listings.members(wire.require_segment(segment), most=MEMBERS_MAX), limit_ms=limit_ms
        )

    def add_contacts(self, segment: str, contacts: tuple[NewContact, ...], *, limit_ms: int) -> Push:
        """Put people into a segment one by one; see `resend_contacts`."""
        assert len(contacts) <= self.push_chunk, "the caller cuts into chunks"
        return self._contacts.add(wire.require_segment(segment), contacts, limit_ms=limit_ms)

    def remove_contacts(self, segment: str, addresses: tuple[str, ...], *, limit_ms: int) -> Push:
        """Take people out of a segment one by one."""
        assert len(addresses) <= self.push_chunk, "the caller cuts into chunks"
        return self._contacts.remove(wire.require_segment(segment), addresses, limit_ms=limit_ms)

    def _report(self, remote_id: str, since: str, *, limit_ms: int) -> Outcome[Report]:
        query = listings.metrics_query(remote_id, since)
        rows = self._speech.get("/emails/metrics", query, listings.read_metrics, limit_ms=limit_ms)
        if not isinstance(rows, Accepted):
            return rows
        report = listings.report_of(rows.value, remote_id)
        return Refused("no_report", Category.MISSING, 200) if report is None else Accepted(report)

    def _act(
        self, line: ports.Line, remote_id: str, action: str, body: JsonObject | None, *, limit_ms: int
    ) -> Outcome[None]:
        """Ask for one of a broadcast's actions. Its answer is an id; of which object, isn't said reliably."""
        path = f"{_broadcast(remote_id)}/{action}"
        outcome = self._speech.say(line, "POST", path, body, wire.is_own_id, limit_ms=limit_ms)
        return Accepted(None) if isinstance(outcome, Accepted) else outcome

    def _listing(self, collection: listings.Collection[T], *, limit_ms: int) -> Outcome[Listing[T]]:
        left_ms = self._transport.countdown(limit_ms)

        def turn(query: dict[str, str]) -> Outcome[listings.Page]:
            return self._speech.get(collection.path, query, listings.read_page, limit_ms=left_ms())

        return listings.gather(collection, turn)


def open_resend(
    *,
    key: str,
    base_url: str | None,
    clock: ports.Clock,
    backend: httpcore2.NetworkBackend | None = None,
    allow_hosts: frozenset[str] = frozenset(),
) -> Resend:
    """Open an account at Resend's host, or at `base_url`.

    Resend's own API host and loopback are always allowed; others only in `allow_hosts`. Raises `ValueError` with
    one sentence for people, without the key. Contacts nobody.
    """
    url = wire.API_URL if base_url is None else base_url
    allowed = allow_hosts | {wire.API_HOST} if _host(url) == wire.API_HOST else allow_hosts
    return Resend(Transport(url, clock, backend, allow_hosts=allowed), key)


def _host(url: str) -> str:
    # Only a look, before the address is checked for good: what can't be read is nobody's own host.
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _broadcast(remote_id: str) -> str:
    assert wire.is_id(remote_id), "a remote id comes from Resend"
    return f"/broadcasts/{remote_id}"


def _since(body: JsonObject) -> str | None:
    """Return since when a broadcast can have figures, or None where it doesn't say when it was made."""
    try:
        return wire.iso(wire.time_ms(text(body, "created_at")))
    except ValueError:
        return None


def _with_start(body: JsonObject, observation: Observation | None) -> tuple[Observation, str] | None:
    return None if observation is None else (observation, _since(body) or "")
