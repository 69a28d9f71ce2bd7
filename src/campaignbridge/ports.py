"""Every seam on one page: Database, Provider, Clock, Chance, Handler.

Surfaces and flows are written against these; `bootstrap` picks what stands behind them. Tests and the
simulation use the real database, the real adapters and replace only clock, chance and socket.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.provider import (
    Account,
    Draft,
    Listing,
    MergeField,
    Observation,
    Outcome,
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


class Database(Protocol):
    """The low seam: there is one store and there are two databases."""

    def transaction(self, *, write: bool = True) -> AbstractContextManager[Transaction]:
        """Open a transaction: commit when the block ends, roll back when it raises.

        Without `write` it only reads, and never waits for a writer.

        Raises `StoreGone` when the store can't be reached and `CommitUnknown` when the answer to the
        COMMIT was lost: then the change may or may not have happened.
        """
        ...

    def close(self) -> None:
        """Close this thread's connection."""
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


class Reader(Protocol):
    """One account at one provider, as whoever only reads sees it: nothing here can mail or change anything.

    `limit_ms` is one total for dialling, write and read; reads may be repeated at will.
    """

    slug: str
    label: str  # "Mailchimp"
    capabilities: frozenset[str]  # of "retire", "schedule", "cancel", "test"
    schedule_grid_ms: int  # a scheduled moment is a multiple of it, in epoch milliseconds

    def inspect(self, remote_id: str, *, limit_ms: int) -> Outcome[Observation]:
        """Read one remote campaign."""
        ...

    def find_by_token(self, stem: str, *, since_ms: int, audience: str, limit_ms: int) -> Outcome[Search]:
        """Find every remote campaign whose title carries `[{stem}.g<generation>]`, in any status."""
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


class Provider(Reader, Protocol):
    """One account at one provider. Calls are made once; nothing is repeated behind the caller.

    A mutation takes a `Line` that the caller opened beforehand, so that nothing slow stands between
    the caller's last check and the first byte. `limit_ms` is one total for write and read. Repeatable writes
    dial for themselves; their limit covers dialling too.
    """

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

    # repeatable writes
    def sync_draft(self, remote_id: str, draft: Draft, *, limit_ms: int) -> Outcome[None]:
        """Assert title, envelope and content of a draft anew. Never touches its audience."""
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

    def leave(self, slot: int, outcome: Outcome[Any] | None) -> None:
        """Give the slot back, and learn from what the provider answered, or didn't; None: it wasn't asked."""
        ...
