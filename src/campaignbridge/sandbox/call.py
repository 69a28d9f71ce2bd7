"""One call as a handler sees it: who asks, when, for what, and under which ordered quirks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.wire import Request, Response
from campaignbridge.sandbox.world import Account, Audience, World

_MAX_COUNT = 1_000
_MAX_OFFSET = 1_000_000
_YEAR_10000_MS = 253_402_300_800_000


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a fault makes the provider tell, or turn out to do, differently."""

    stale_ms: int = 0
    count_lag_ms: int = 0
    sent_zero: bool = False
    vanish: bool = False
    archive: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A routed and authenticated request. `at_ms` is the moment at which it takes effect."""

    world: World
    account: Account
    request: Request
    at_ms: int
    path: Mapping[str, str] = field(default_factory=dict)  # the ids in it; the first one is `id`
    quirks: Quirks = field(default_factory=Quirks)
    by: str = "request"

    @property
    def seen_ms(self) -> int:
        """The moment whose state a read tells."""
        return self.at_ms - self.quirks.stale_ms

    @property
    def subject(self) -> str:
        """The first id in the path, "" when there is none."""
        return self.path.get("id", "")

    def body(self) -> dict[str, Any]:
        """Return the JSON object sent. Raises Problem."""
        try:
            value = json.loads(self.request.body or b"{}")
            value = {} if value is None else value  # Mailchimp's own SDK sends `null` for no body
            if b"\\u" in self.request.body:
                json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (ValueError, RecursionError):
            detail = "We encountered an unspecified JSON parsing error."
            raise problems.Problem(400, "JSON Parse Error", detail) from None
        if not isinstance(value, dict):
            raise problems.invalid(("", "Schema describes object, another type found instead."))
        return value

    def part(self, body: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return an object within the body, empty when absent. Raises Problem."""
        value = body.get(name, {})
        if not isinstance(value, dict):
            raise problems.invalid((name, "Schema describes object, another type found instead."))
        return value

    def campaign(self) -> Campaign:
        """Return the campaign in the path as it is. Raises Problem when there is none."""
        found = self.world.find(self.account.account_id, self.subject)
        if found is None:
            raise problems.missing()
        return found

    def campaign_seen(self) -> Campaign:
        """Return the campaign in the path as a read tells it. Raises Problem when there is none."""
        as_of = self.seen_ms if self.quirks.stale_ms else None
        found = self.world.find(self.account.account_id, self.subject, as_of)
        if found is None:
            raise problems.missing()
        return found

    def audience(self) -> Audience:
        """Return the list in the path. Raises Problem when there is none."""
        found = self.world.audience(self.account.account_id, self.subject)
        if found is None:
            raise problems.missing()
        return found

    def window(self) -> tuple[int, int]:
        """Return offset and count. Raises Problem."""
        return self._whole("offset", 0, _MAX_OFFSET), self._whole("count", 10, _MAX_COUNT)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a query parameter with a closed set of values, "" when absent. Raises Problem."""
        value = self.request.query.get(name, "")
        if value and value not in allowed:
            raise problems.invalid((name, f"Value is not one of the accepted values: {', '.join(allowed)}."))
        return value

    def moment(self, name: str) -> int | None:
        """Return a time in the query as epoch milliseconds, None when absent. Raises Problem."""
        value = self.request.query.get(name)
        return None if not value else milliseconds(value, name)

    def answer(self, value: Mapping[str, Any]) -> Response:
        """Return 200 with this object, cut down to `fields` / without `exclude_fields`."""
        wanted, unwanted = self._paths("fields"), self._paths("exclude_fields")
        if wanted and unwanted:
            raise problems.invalid(("fields", "Use either fields or exclude_fields."))
        shown: Any = value
        if wanted:
            shown = _keep(value, wanted)
        elif unwanted:
            shown = _leave_out(value, unwanted)
        headers = {"Content-Type": "application/json; charset=utf-8"}
        return Response(200, headers, json.dumps(shown, ensure_ascii=False).encode())

    def _paths(self, name: str) -> list[list[str]]:
        value = self.request.query.get(name, "")
        return [path.strip().split(".") for path in value.split(",") if path.strip()]

    def _whole(self, name: str, default: int, most: int) -> int:
        value = self.request.query.get(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdigit() or len(value) > 9 or int(value) > most:
            raise problems.invalid((name, f"Schema describes integer between 0 and {most}."))
        return int(value)


NO_CONTENT = Response(204)


def milliseconds(text: str, field_name: str) -> int:
    """Read an ISO 8601 time, UTC when it names no offset. Raises Problem."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        found = int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        found = -1
    if not 0 <= found < _YEAR_10000_MS:
        raise problems.invalid((field_name, "This value is not a valid datetime."))
    return found


def iso(at_ms: int | None) -> str:
    """Write a time as Mailchimp does: whole seconds, +00:00, and "" for none."""
    return "" if at_ms is None else datetime.fromtimestamp(at_ms // 1000, tz=UTC).isoformat()


def _keep(value: Any, paths: list[list[str]]) -> Any:  # any JSON value
    if isinstance(value, list):
        return [_keep(item, paths) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept: dict[str, Any] = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] == name]
        if below:
            kept[name] = inner if [] in below else _keep(inner, below)
    return kept


def _leave_out(value: Any, paths: list[list[str]]) -> Any:  # any JSON value
    if isinstance(value, list):
        return [_leave_out(item, paths) for item in value]
    if not isinstance(value, Mapping):
        return value
    left: dict[str, Any] = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] == name]
        if [] not in below:
            left[name] = _leave_out(inner, below) if below else inner
    return left
