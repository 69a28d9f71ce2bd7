"""A provider behind its account's gate: every call takes a slot, and every answer is heard.

A mutation takes its slot when its line is dialled, before the caller's last check of the lease: nothing slow
stands between that check and the first byte. What a gate refuses was never sent.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from campaignbridge.domain.provider import (
    Accepted,
    Account,
    ContactResult,
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
from campaignbridge.ports import Gate, Line, Pace, Provider

T = TypeVar("T")
CALL_MS = 30_000  # a mutation's slot is held while its line is open, at most this long beyond dialling


class LimitedLine:
    """A line that gives its slot back when it is closed, with what came of the request."""

    def __init__(self, line: Line, gate: Gate, slot: int) -> None:
        self.line = line
        self.outcome: Outcome[Any] | None = None
        self._gate = gate
        self._slot: int | None = slot

    def close(self) -> None:
        """Close the line abortively, and give the slot back once."""
        self.line.close()
        if self._slot is not None:
            slot, self._slot = self._slot, None
            self._gate.leave(slot, self.outcome)


class Limited:
    """One account at one provider, behind its gate; see `ports.Provider` for each call."""

    def __init__(self, inner: Provider, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate
        self.slug = inner.slug
        self.label = inner.label
        self.capabilities = inner.capabilities
        self.schedule_grid_ms = inner.schedule_grid_ms
        self.content_rules = inner.content_rules
        self.calls_per_s = inner.calls_per_s
        self.push_chunk = inner.push_chunk
        if inner.calls_per_s is not None:
            inner.pace_with(gate.turn)

    def pace_with(self, pace: Pace) -> None:
        """Ask for a turn before each request."""
        self._inner.pace_with(pace)

    def dial(self, *, limit_ms: int) -> Line | Refused:
        """Take an urgent slot, then open a fresh connection."""
        slot = self._gate.enter(hold_ms=limit_ms + CALL_MS, urgent=True)
        if isinstance(slot, Refused):
            return slot
        line = self._inner.dial(limit_ms=limit_ms)
        if isinstance(line, Refused):
            self._gate.leave(slot, line)
            return line
        return LimitedLine(line, self._gate, slot)

    def create_draft(self, line: Line, draft: Draft, *, limit_ms: int) -> Outcome[str]:
        """Create a draft."""
        return _noted(line, self._inner.create_draft(_bare(line), draft, limit_ms=limit_ms))

    def send(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery of a draft, now."""
        return _noted(line, self._inner.send(_bare(line), remote_id, limit_ms=limit_ms))

    def schedule(self, line: Line, remote_id: str, at_ms: int, *, limit_ms: int) -> Outcome[None]:
        """Ask for the delivery of a draft at a moment."""
        return _noted(line, self._inner.schedule(_bare(line), remote_id, at_ms, limit_ms=limit_ms))

    def unschedule(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Take back a scheduled delivery."""
        return _noted(line, self._inner.unschedule(_bare(line), remote_id, limit_ms=limit_ms))

    def cancel(self, line: Line, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Ask to stop a delivery under way."""
        return _noted(line, self._inner.cancel(_bare(line), remote_id, limit_ms=limit_ms))

    def send_test(
        self, line: Line, remote_id: str, addresses: tuple[str, ...], *, limit_ms: int
    ) -> Outcome[None]:
        """Mail a draft to these addresses."""
        return _noted(line, self._inner.send_test(_bare(line), remote_id, addresses, limit_ms=limit_ms))

    def sync_draft(self, remote_id: str, draft: Draft, *, limit_ms: int) -> Outcome[None]:
        """Assert a draft anew."""
        return self._ask(
            lambda: self._inner.sync_draft(remote_id, draft, limit_ms=limit_ms), limit_ms, urgent=True
        )

    def retire(self, remote_id: str, *, limit_ms: int) -> Outcome[None]:
        """Make a draft unsendable."""
        return self._ask(lambda: self._inner.retire(remote_id, limit_ms=limit_ms), limit_ms, urgent=True)

    def create_segment(self, line: Line, name: str, *, audience: str, limit_ms: int) -> Outcome[FoundSegment]:
        """Create a static segment."""
        return _noted(
            line, self._inner.create_segment(_bare(line), name, audience=audience, limit_ms=limit_ms)
        )

    def add_contacts(self, segment: str, contacts: tuple[NewContact, ...], *, limit_ms: int) -> Push:
        """Put people into a segment."""
        addresses = [contact.address for contact in contacts]
        return self._push(
            addresses, lambda: self._inner.add_contacts(segment, contacts, limit_ms=limit_ms), limit_ms
        )

    def remove_contacts(self, segment: str, addresses: tuple[str, ...], *, limit_ms: int) -> Push:
        """Take people out of a segment."""
        return self._push(
            list(addresses),
            lambda: self._inner.remove_contacts(segment, addresses, limit_ms=limit_ms),
            limit_ms,
        )

    def inspect(self, remote_id: str, *, limit_ms: int) -> Outcome[Observation]:
        """Read one remote campaign."""
        return self._ask(lambda: self._inner.inspect(remote_id, limit_ms=limit_ms), limit_ms, urgent=True)

    def find_by_token(self, stem: str, *, since_ms: int, audience: str, limit_ms: int) -> Outcome[Search]:
        """Find every remote campaign with this token."""
        return self._ask(
            lambda: self._inner.find_by_token(stem, since_ms=since_ms, audience=audience, limit_ms=limit_ms),
            limit_ms,
            urgent=True,
        )

    def verify(self, *, limit_ms: int) -> Outcome[Account]:
        """Read which account the credential opens."""
        return self._ask(lambda: self._inner.verify(limit_ms=limit_ms), limit_ms)

    def audience(self, ref: str, *, limit_ms: int) -> Outcome[RemoteAudience]:
        """Read one audience."""
        return self._ask(lambda: self._inner.audience(ref, limit_ms=limit_ms), limit_ms)

    def readiness(self, remote_id: str, *, limit_ms: int) -> Outcome[tuple[str, ...]]:
        """Read what stands against delivering a draft."""
        return self._ask(lambda: self._inner.readiness(remote_id, limit_ms=limit_ms), limit_ms)

    def audiences(self, *, limit_ms: int) -> Outcome[Listing[RemoteAudience]]:
        """List the audiences of the account."""
        return self._ask(lambda: self._inner.audiences(limit_ms=limit_ms), limit_ms)

    def segments(self, audience: str, *, limit_ms: int) -> Outcome[Listing[RemoteSegment]]:
        """List the segments of an audience."""
        return self._ask(lambda: self._inner.segments(audience, limit_ms=limit_ms), limit_ms)

    def merge_fields(self, audience: str, *, limit_ms: int) -> Outcome[Listing[MergeField]]:
        """List the fields that content may mention."""
        return self._ask(lambda: self._inner.merge_fields(audience, limit_ms=limit_ms), limit_ms)

    def mentioned_fields(self, content: str) -> frozenset[str]:
        """Return the fields that content mentions."""
        return self._inner.mentioned_fields(content)

    def senders(self, *, limit_ms: int) -> Outcome[Listing[Sender]]:
        """List who mail may come from."""
        return self._ask(lambda: self._inner.senders(limit_ms=limit_ms), limit_ms)

    def report(self, remote_id: str, *, limit_ms: int) -> Outcome[Report]:
        """Read a campaign's figures."""
        return self._ask(lambda: self._inner.report(remote_id, limit_ms=limit_ms), limit_ms)

    def count(self, audience: str, *, limit_ms: int) -> Outcome[int]:
        """Count whom a campaign would reach."""
        return self._ask(lambda: self._inner.count(audience, limit_ms=limit_ms), limit_ms, urgent=True)

    def recipients(
        self, remote_id: str, kind: RecipientKind, *, most: int, limit_ms: int
    ) -> Outcome[Listing[Recipient]]:
        """Read the provider's record of a campaign."""
        return self._ask(
            lambda: self._inner.recipients(remote_id, kind, most=most, limit_ms=limit_ms),
            limit_ms,
            urgent=kind is RecipientKind.SENT,  # it proves a delivery; the others are lists for people
        )

    def find_segment(self, name: str, *, audience: str, limit_ms: int) -> Outcome[Listing[FoundSegment]]:
        """Find segments by name."""
        return self._ask(
            lambda: self._inner.find_segment(name, audience=audience, limit_ms=limit_ms), limit_ms
        )

    def segment_members(self, segment: str, *, limit_ms: int) -> Outcome[Listing[Member]]:
        """List everybody in a segment."""
        return self._ask(lambda: self._inner.segment_members(segment, limit_ms=limit_ms), limit_ms)

    def _push(self, addresses: list[str], call: Callable[[], Push], limit_ms: int) -> Push:
        """Ask for a chunk in an ordinary slot; without one, nothing was tried for anybody."""
        slot = self._gate.enter(hold_ms=limit_ms, urgent=False)
        if isinstance(slot, Refused):
            return Push(tuple(ContactResult(address) for address in addresses), slot)
        outcome: Outcome[Any] | None = None
        try:
            push = call()
            outcome = push.ended_by or Accepted(None)
        finally:
            self._gate.leave(slot, outcome)
        return push

    def _ask(self, call: Callable[[], Outcome[T]], limit_ms: int, *, urgent: bool = False) -> Outcome[T]:
        slot = self._gate.enter(hold_ms=limit_ms, urgent=urgent)
        if isinstance(slot, Refused):
            return slot
        outcome: Outcome[T] | None = None
        try:
            outcome = call()
        finally:
            self._gate.leave(slot, outcome)
        return outcome


def _noted(line: Line, outcome: Outcome[T]) -> Outcome[T]:
    assert isinstance(line, LimitedLine), "a line is used with the provider that dialled it"
    line.outcome = outcome
    return outcome


def _bare(line: Line) -> Line:
    assert isinstance(line, LimitedLine), "a line is used with the provider that dialled it"
    return line.line
