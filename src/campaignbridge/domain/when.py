"""When to send: what a person meant, as one instant, on the provider's grid."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from campaignbridge.domain.errors import InvalidInput

LEAST_AHEAD_MS = 10 * 60_000
MOST_AHEAD_MS = 366 * 24 * 3_600_000
LAST_CALL_MS = 2 * 60_000  # from here to the send time nothing is unscheduled any more

# A whole moment: a day alone, or a week's number, is not taken for midnight. Seconds may be left out.
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?", re.ASCII | re.IGNORECASE
)


def instant_of(text: str, zone: str | None) -> int:
    """Return the instant in epoch milliseconds that a person wrote; raise `InvalidInput` when it isn't one.

    RFC 3339 with an explicit offset, or a local time and the name of its zone. A local time that a clock change
    skips, or repeats, is refused rather than guessed.
    """
    if not _FORM.fullmatch(text):
        raise _malformed()
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise _malformed() from None
    if moment.tzinfo is not None:
        if zone is not None:
            raise InvalidInput("The time has an offset and a zone.", todo="Give one of the two.")
        return _milliseconds(moment)
    if zone is None:
        raise InvalidInput(
            "The time has no offset, so it could be any of 38 instants.",
            todo="Write 2026-12-01T09:00:00+01:00, or add --zone Europe/Berlin.",
        )
    return _local(moment, zone)


def require_zone(zone: str) -> ZoneInfo:
    """Return the time zone, or raise `InvalidInput` when there is none of this name."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput("There is no such time zone.", todo="Use a name such as Europe/Berlin.") from None


def _local(moment: datetime, zone: str) -> int:
    place = require_zone(zone)
    first, second = moment.replace(tzinfo=place, fold=0), moment.replace(tzinfo=place, fold=1)
    if first.utcoffset() == second.utcoffset():
        return _milliseconds(first)
    back = first.astimezone(UTC).astimezone(place).replace(tzinfo=None)
    what = "happens twice" if back == moment else "does not happen"
    raise InvalidInput(
        f"On that day the clocks change: this local time {what} in {zone}.",
        todo="Write the time with its offset instead, such as +01:00.",
    )


def require_sendable_at(at_ms: int, *, now_ms: int, grid_ms: int) -> None:
    """Raise `InvalidInput` unless a send time is on the grid, at least 10 minutes and at most a year ahead."""
    if at_ms % grid_ms:
        raise InvalidInput(
            f"The provider sends only every {grid_ms // 60_000} minutes.",
            todo="Choose a time on that grid, such as the full or the half hour.",
        )
    if at_ms < now_ms + LEAST_AHEAD_MS:
        raise InvalidInput(
            "The send time must be at least 10 minutes ahead.", todo="Choose a later one, or send it now."
        )
    if at_ms > now_ms + MOST_AHEAD_MS:
        raise InvalidInput("The send time is more than a year ahead.", todo="Choose an earlier one.")


def iso(at_ms: int) -> str:
    """Return an instant as RFC 3339 in UTC, to the second."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _milliseconds(moment: datetime) -> int:
    try:
        return int((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
    except OverflowError:
        raise _malformed() from None


def _malformed() -> InvalidInput:
    return InvalidInput(
        "The send time can't be read.", todo="Write it as 2026-12-01T09:00:00+01:00, or with --zone."
    )
