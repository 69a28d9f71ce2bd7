"""Every seam on one page: Database, Provider, Clock, Chance, Handler.

Surfaces and flows are written against these; `bootstrap` picks what stands behind them. Tests and the
simulation use the real database, the real adapters and replace only clock, chance and socket.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.notice import Message
from campaignbridge.domain.provider import (
    Account,
    ContentRules,
    Draft,
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
    Report,
    Search,
    Sender,
)
from campaignbridge.domain.webhook import Heard, Unheard

Row = Mapping[str, Any]


class Transaction(Protocol):
    """One open transaction. Statements are named; their text is in `store/sql`."""

    def all(self, name: str, /, **params: object) -> list[Row]:
        """Return every row that the statement gives."""
        ...

    def one(self, name: str, /, **params: object) -> Row | None:
        """Return the only row, or None."""
        ...

    def run(self, name: str, /, **params: object) -> int:
        """Run a change and return how many rows it touched."""
        ...

    def each(self, name: str, rows: Iterable[Mapping[str, object]], /) -> int:
        """Run a change once for every row of parameters; return how many rows were touched."""
        ...

    def load(self, name: str, rows: Sequence[tuple[object, ...]], /) -> None:
        """Insert many rows by position, as fast as the database takes them. A clash of keys is a bug."""
        ...


class Database(Protocol):
    """The low seam: there is one store and there are two databases."""

    def transaction(self, *, write: bool = True) -> AbstractContextManager[Transaction]:
        """Open a transaction: commit when the block ends, roll back when it raises.

        Without `write` it only reads, and never waits for a writer.

        Raises `StoreGone` when the store can't be reached and `CommitUnknown` when the answer to the
        COMMIT was lost: then the change may or may not have happened.
        """
        ...

    def listener(self) -> "Listener | None":
        """Return what hears that a job became due, not connected yet; None where nobody can be told."""
        ...

    def close(self) -> None:
        """Close this thread's connection."""
        ...


class Listener(Protocol):
    """Hears that a job became due, for one thread. Only a hint: whoever listens polls, too."""

    def wait(self, timeout_s: float) -> bool:
        """Wait for a wake-up; False when none came in time. True, too, where one may have been missed.

        Costs the store nothing while it waits. Raises a `Refusal` when it can't hear; the next call begins anew.
        """
        ...

    def close(self) -> None:
        """Stop hearing."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in local time, taken on both local clocks."""

    boot_ms: int
    wall_ms: int


class Clock(Protocol):
    """Local time, for deadlines only. Every shared "now" is the store's `now_ms()`."""

    def mark(self) -> Mark:
        """Return the present point in local time."""
        ...

    def since_ms(self, mark: Mark) -> int:
        """Return the milliseconds since `mark`: the larger of boot time and wall clock.

        A suspended machine keeps counting, and a clock that was set back can't lengthen a lease.
        """
        ...

    def wait_ms(self, ms: int) -> None:
        """Let time pass before a local retry."""
        ...


class Chance(Protocol):
    """Where opaque ids and jitter come from."""

    def token(self, length: int) -> str:
        """Return `length` characters of [a-z0-9]."""
        ...

    def fraction(self) -> float:
        """Return a number in [0, 1)."""
        ...


class Line(Protocol):
    """One fresh connection to a provider, opened and not yet used. Good for one request."""

    def close(self) -> None:
        """Close abortively: whatever the kernel still holds is dropped."""
        ...


Pace = Callable[[int], "Refused | None"]
"""Waits for a request's turn, at most so many milliseconds; a refusal when there is none to be had in time."""


class Reader(Protocol):
    """One account at one provider, as whoever only reads sees it: nothing here can mail or change anything.

    `limit_ms` is one total for dialling, write and read; reads may be repeated at will.
    """

    slug: str
    label: str  # "Mailchimp"
    # of "schedule", "cancel", "test"; "retire": it can make a draft unsendable by a call that it refuses on
    # anything else; "recipients": its record of who was mailed is at hand at once, for the background to look
    # at; "count": recipients are counted apart, by `count`
    capabilities: frozenset[str]
    schedule_grid_ms: int  # a scheduled moment is a multiple of it, in epoch milliseconds
    content_rules: ContentRules
    calls_per_s: int | None  # what it allows an account by default; None: no such limit is known
    push_chunk: int  # how many contacts `add_contacts` and `remove_contacts` take at once

    def inspect(self, remote_id: str, *, limit_ms: int) -> Outcome[Observation]:
        """Read one remote campaign."""
        ...

    def find_by_token(self, stem: str, *, since_ms: int, audience: str, limit_ms: int) -> Outcome[Search]:
        """Find every remote campaign whose title carries `[{stem}.g<generation>]`, in any status.

        And those that have a part after the stem, `[{stem}.<part>.g<generation>]`, which is told: with the installation
        as the stem they are all of its campaigns.
        """
        ...

    def verify(self, *, limit_ms: int) -> Outcome[Account]:
        """Read which account the credential opens."""
        ...

    def audience(self, ref: str, *, limit_ms: int) -> Outcome[RemoteAudience]:
        """Read one audience."""
        ...

    def readiness(self, remote_id: str, *, limit_ms: int) -> Outcome[tuple[str, ...]]:
        """Read what the provider says still stands against delivering a draft, in its words, for people.

        At most 10 sentences of 200 printable characters, without addresses. None of them is no promise that
        a send will be accepted.
        """
        ...

    def audiences(self, *, limit_ms: int) -> Outcome[Listing[RemoteAudience]]:
        """List the audiences of the account. This and the other listings read pages under one limit."""
        ...

    def segments(self, audience: str, *, limit_ms: int) -> Outcome[Listing[RemoteSegment]]:
        """List the segments of an audience; of the whole audience where `audience` is itself a segment."""
        ...

    def merge_fields(self, audience: str, *, limit_ms: int) -> Outcome[Listing[MergeField]]:
        """List the fields that content for this audience may mention."""
        ...

    def mentioned_fields(self, content: str) -> frozenset[str]:
        """Return the tags of audience fields that content mentions, in capitals. Contacts nobody."""
        ...

    def senders(self, *, limit_ms: int) -> Outcome[Listing[Sender]]:
        """List who mail may come from, as far as the provider tells."""
        ...

    def report(self, remote_id: str, *, limit_ms: int) -> Outcome[Report]:
        """Read a campaign's figures. A report that isn't there (yet) is refused as `MISSING`, never zeros."""
        ...

    def count(self, audience: str, *, limit_ms: int) -> Outcome[int]:
        """Count whom a campaign to this audience would reach; for providers whose campaigns don't tell.

        Refused as `too_many` where the end of the list wasn't reached within the limit: never a part of it.
        """
        ...

    def recipients(
        self, remote_id: str, kind: RecipientKind, *, most: int, limit_ms: int
    ) -> Outcome[Listing[Recipient]]:
        """Read the first `most` people of one kind in the provider's own record of a campaign.

        Nobody in it proves little: a record lags. Somebody in it proves that the campaign went. Refused as
        `MISSING` where there is no record (yet), and for a kind that the provider doesn't record.
        """
        ...

    def find_segment(self, name: str, *, audience: str, limit_ms: int) -> Outcome[Listing[FoundSegment]]:
        """Find the segments of exactly this name, oldest first. Several may have it."""
        ...

    def segment_members(self, segment: str, *, limit_ms: int) -> Outcome[Listing[Member]]:
        """List everybody in a segment. Complete only if its end was reached and each entry was read."""
        ...


class Provider(Reader, Protocol):
    """One account at one provider. Calls are made once; nothing is repeated behind the caller.

    A mutation takes a `Line` that the caller opened beforehand, so that nothing slow stands between
    the caller's last check and the first byte. `limit_ms` is one total for write and read. Repeatable writes
    dial for themselves; their limit covers dialling too.
    """

    def pace_with(self, pace: Pace) -> None:
        """Ask `pace` for a turn before each request from now on."""
        ...

    def dial(self, *, limit_ms: int) -> "Line | Refused":
        """Open a fresh connection, TLS included."""
        ...

    # mutations: one request each, never repeated by the transport
    def create_draft(self, line: Line, draft: Draft, *, limit_ms: int) -> Outcome[str]:
        """Create a draft and return its remote id."""
        ...

    def send(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery of a draft, now."""
        ...

    def schedule(self, line: Line, remote_id: str, at_ms: int, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery of a draft at a moment on `schedule_grid_ms`, in epoch milliseconds."""
        ...

    def unschedule(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Take back a scheduled delivery that hasn't begun."""
        ...

    def cancel(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask to stop a delivery under way. What has left has left; how much it was takes a read."""
        ...

    def send_test(
        self, line: Line, remote_id: str, addresses: tuple[str, ...], *, limit_ms: int
    ) -> Outcome[None]:
        """Mail the content of a draft to these addresses, which then stand in no outcome, log or exception."""
        ...

    def create_segment(self, line: Line, name: str, *, audience: str, limit_ms: int) -> Outcome[FoundSegment]:
        """Create an empty static segment. Creating again may make a second one: find it first."""
        ...

    # repeatable writes
    def sync_draft(self, remote_id: str, draft: Draft, *, limit_ms: int) -> Outcome[None]:
        """Assert title, envelope and content of a draft anew. Never touches its audience."""
        ...

    def retire(self, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Make a draft unsendable, where the provider can; for others it is refused as `cant_retire`.

        Accepted: it is gone. That proves "not sent" only with a reading as draft before it and no record of a
        recipient after. Refused as `MISSING`: it was gone already. Another refusal: it is no draft any more.
        """
        ...

    def add_contacts(self, segment: str, contacts: tuple[NewContact, ...], *, limit_ms: int) -> Push:
        """Put people into a segment, new ones into the audience first. Nobody is ever subscribed again.

        At most `push_chunk`; one result for each, in their order. It may be repeated.
        """
        ...

    def remove_contacts(self, segment: str, addresses: tuple[str, ...], *, limit_ms: int) -> Push:
        """Take people out of a segment; they stay in the audience. It may be repeated."""
        ...


class NoticeTarget(Protocol):
    """One place where notices go."""

    def tell(self, message: Message, *, limit_ms: int) -> str | None:
        """Hand it over once, within the limit; return None when it was taken, else a stable code of why not.

        Not taken may still have been read: whoever tries again uses the same id. The code names no secret.
        """
        ...


class WebhookReader(Protocol):
    """What a provider posts to us, read without its key. Header names are lower-case; the body is raw."""

    def parse_webhook(self, headers: Mapping[str, str], body: bytes) -> Heard | Unheard:
        """Return the event of a request, or why there is none."""
        ...

    def is_authentic(self, headers: Mapping[str, str], body: bytes, signing_key: Secret, now_ms: int) -> bool:
        """Say whether this key signed the raw body within 300 s of now. Takes the same time for any digest."""
        ...


class Gate(Protocol):
    """The way to one account, shared by all workers: few calls at once, and patience when it asks for it."""

    def enter(self, *, hold_ms: int, urgent: bool) -> "int | Refused":
        """Take a slot for at most `hold_ms`; `Refused` when the account is paused or too busy for now.

        A few slots are kept for urgent calls: deliveries and the readings that belong to them.
        """
        ...

    def turn(self, limit_ms: int) -> "Refused | None":
        """Wait for this request's turn, at most `limit_ms`; `Refused` when too many wait already.

        A turn isn't given back, whatever becomes of its request.
        """
        ...

    def leave(self, slot: int, outcome: Outcome[Any] | None) -> None:
        """Give the slot back, and learn from what the provider answered, or didn't; None: it wasn't asked."""
        ...
