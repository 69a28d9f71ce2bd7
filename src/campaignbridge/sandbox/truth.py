"""The truth log: what really happened at the provider, whatever its client was told.

Guarantees: append-only; holds no API key, no request body, no query and no e-mail address. Accepted
mutations are kept for ever, requests up to a bound (the oldest go first, and their number is told).
"""

import json
import re
import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal[
    "created",
    "updated",
    "content",
    "test_mailed",
    "scheduled",
    "unscheduled",
    "send_accepted",
    "mailed",
    "cancelled",
    "deleted",
    "archived",
    "segment_created",
    "segment_changed",
    "segment_deleted",
    "members_changed",
]

_REQUESTS_KEPT = 50_000
_BRACKETED = re.compile(r"\[([^\[\]]+)\]")
_GENERATION = re.compile(r"\.g\d+$")
_ADDRESS = re.compile(r"[^\s<>\[\]]+@[^\s<>\[\]]+")
_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9._-]{0,24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Event:
    """One accepted mutation, at the moment when it took effect."""

    at_ms: int
    kind: Kind
    account: str
    campaign: str
    title: str
    audience: str
    recipients: int = 0
    html_sha256: str = ""  # of what was mailed; only on `mailed` and `test_mailed`
    by: str = "request"  # or "schedule", "late"

    @property
    def logical(self) -> str:
        """The campaign that the author means: the title's token without its generation, or the remote id."""
        return token_stem(self.title) or self.campaign


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as received. `status` is what the client got to read, None when it got nothing."""

    at_ms: int
    method: str
    path: str
    operation: str
    status: int | None
    fault: str = ""


def token_stem(title: str) -> str:
    """Return what stands in the title's last square brackets, without a trailing `.g<generation>`."""
    found = _BRACKETED.findall(title)
    return _GENERATION.sub("", found[-1].strip()) if found else ""


def masked(text: str) -> str:
    """Return a text without what looks like an address."""
    return _ADDRESS.sub("(address)", text)


class TruthLog:
    """Append-only and safe to share between threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._requests: deque[Seen] = deque(maxlen=_REQUESTS_KEPT)
        self._received = 0

    def note(self, event: Event) -> None:
        """Append an accepted mutation. Whatever looks like an address in the title is masked."""
        clean = masked(event.title)
        with self._lock:
            self._events.append(Event(**{**asdict(event), "title": clean}) if clean != event.title else event)

    def see(self, seen: Seen) -> None:
        """Append a request. Path segments that could be a key or an address are masked."""
        path = "/".join(
            part if _PLAIN_SEGMENT.fullmatch(part) else "(masked)" for part in seen.path.split("/")
        )
        with self._lock:
            self._received += 1
            self._requests.append(
                Seen(seen.at_ms, seen.method[:16], path[:200], seen.operation, seen.status, seen.fault)
            )

    def events(self, kind: Kind | None = None, campaign: str | None = None) -> tuple[Event, ...]:
        """Return mutations in order. `campaign` is a remote id or a token stem."""
        with self._lock:
            return tuple(
                event
                for event in self._events
                if (kind is None or event.kind == kind)
                and (campaign is None or campaign in (event.campaign, event.logical))
            )

    def requests(self) -> tuple[Seen, ...]:
        """Return the requests that are still kept, oldest first."""
        with self._lock:
            return tuple(self._requests)

    def sends_accepted(self, campaign: str | None = None) -> int:
        """Count deliveries that began, by a request, late, or because a scheduled moment came."""
        return len(self.events("send_accepted", campaign))

    def mailed(self, campaign: str | None = None) -> int:
        """Count deliveries that really mailed somebody or ended; a cancelled one counts if any mail left."""
        return len(self.events("mailed", campaign))

    def duplicates(self) -> int:
        """Count accepted sends beyond the first of each logical campaign, whatever remote objects they used."""
        groups = Counter((event.account, event.logical) for event in self.events("send_accepted"))
        return sum(count - 1 for count in groups.values())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        seen = self.requests()
        with self._lock:
            forgotten = self._received - len(self._requests)
        return {
            "sends_accepted": self.sends_accepted(),
            "mailed": self.mailed(),
            "duplicates": self.duplicates(),
            "events": [asdict(event) for event in self.events()],
            "requests": [asdict(row) for row in seen],
            "requests_forgotten": max(forgotten, 0),
        }

    def to_json(self) -> str:
        """Return `as_dict` as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)
