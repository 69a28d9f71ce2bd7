"""One call as a handler of Resend's side sees it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from campaignbridge.sandbox.call import Quirks
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.resend import errors
from campaignbridge.sandbox.resend.team import Team, Teams
from campaignbridge.sandbox.roster import Segment
from campaignbridge.sandbox.wire import Request, Response
from campaignbridge.sandbox.world import World

T = TypeVar("T")
_DEFAULT_LIMIT, _MOST = 20, 100
_YEAR_10000_MS = 253_402_300_800_000


@dataclass(frozen=True, slots=True)
class Call:
    """A routed and authenticated request. `at_ms` is the moment at which it takes effect."""

    world: World
    teams: Teams
    team: Team
    request: Request
    at_ms: int
    path: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = field(default_factory=Quirks)
    by: str = "request"

    @property
    def seen_ms(self) -> int:
        """The moment whose state a read tells."""
        return self.at_ms - self.quirks.stale_ms

    @property
    def as_of(self) -> int | None:
        """The moment for lookups: none unless the reading is a stale one."""
        return self.seen_ms if self.quirks.stale_ms else None

    def body(self) -> dict[str, Any]:
        """Return the JSON object sent, empty when there is none. Raises Wrong."""
        try:
            value = json.loads(self.request.body or b"{}")
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (ValueError, RecursionError):
            raise errors.Wrong(400, "validation_error", "The body is no JSON.") from None
        if not isinstance(value, dict):
            raise errors.Wrong(400, "validation_error", "The body must be an object.")
        return value

    def broadcast(self) -> Campaign:
        """Return the broadcast in the path as it is. Raises Wrong when there is none."""
        found = self.world.find(self.team.account.account_id, self.path["id"])
        if found is None:
            raise errors.missing("Broadcast")
        return found

    def broadcast_seen(self) -> Campaign:
        """Return the broadcast in the path as a read tells it. Raises Wrong when there is none."""
        found = self.world.find(self.team.account.account_id, self.path["id"], self.as_of)
        if found is None:
            raise errors.missing("Broadcast")
        return found

    def segment(self, ident: str, *, seen: bool = False) -> Segment:
        """Return a segment. Raises Wrong when there is none."""
        found = self.teams.segment(self.team, ident, self.as_of if seen else None)
        if found is None:
            raise errors.missing("Segment")
        return found

    def page(self, rows: Sequence[T], ident: Callable[[T], str], show: Callable[[T], Any]) -> Response:
        """Answer with one page behind or before an id."""
        query = self.request.query
        limit = self._limit()
        ids = [ident(row) for row in rows]
        start = 0
        if "after" in query:
            start = ids.index(query["after"]) + 1 if query["after"] in ids else len(ids)
        end = start + limit
        if "before" in query:
            end = ids.index(query["before"]) if query["before"] in ids else 0
            start = max(0, end - limit)
        more = start > 0 if "before" in query else end < len(rows)
        data = [show(row) for row in rows[start:end]]
        return answer({"object": "list", "has_more": more, "data": data})

    def _limit(self) -> int:
        text = self.request.query.get("limit", str(_DEFAULT_LIMIT))
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= _MOST:
            raise errors.invalid(f"`limit` must be between 1 and {_MOST}.")
        return int(text)


def answer(value: Mapping[str, Any], status: int = 200) -> Response:
    """Return an object."""
    return Response(status, errors.JSON, json.dumps(value, ensure_ascii=False).encode())


def stamp(at_ms: int | None) -> str | None:
    """Write a time as Resend does: a space, as many digits of the fraction as it takes, a short offset."""
    if at_ms is None:
        return None
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    fraction = f"{at_ms % 1000:03d}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' + fraction if fraction else ''}+00"


def milliseconds(text: object) -> int:
    """Read an ISO 8601 time. Raises Wrong; words such as "in 1 min" aren't read here."""
    found = -1
    if isinstance(text, str):
        try:
            moment = datetime.fromisoformat(text)
            found = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            found = -1
    if not 0 <= found < _YEAR_10000_MS:
        raise errors.invalid("`scheduled_at` is no time in ISO 8601.")
    return found


def text_in(body: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    """Return a text of the body, "" when absent. Raises Wrong."""
    value = body.get(name)
    if value is None or value == "":
        if needed:
            raise errors.lacking(name)
        return ""
    if not isinstance(value, str):
        raise errors.invalid(f"The `{name}` must be a string.")
    return value
