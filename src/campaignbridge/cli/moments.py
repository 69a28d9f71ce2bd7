"""Times for people: in the local zone, with the date only when it isn't today's; ages in words."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def clock_time(at_ms: int, now_ms: int, *, seconds: bool = True) -> str:
    """Return `14:02:36`, `29 Nov 14:02:36` on another day, with the year in another year."""
    at, now = _local(at_ms), _local(now_ms)
    day = ""
    if at.year != now.year:
        day = f"{at.day} {at:%b %Y} "
    elif at.date() != now.date():
        day = f"{at.day} {at:%b} "
    return f"{day}{at:%H:%M:%S}" if seconds else f"{day}{at:%H:%M}"


def dated(at_ms: int, *, seconds: bool = True) -> str:
    """Return `29 Nov 14:02:36`."""
    at = _local(at_ms)
    return f"{at.day} {at:%b} {at:%H:%M:%S}" if seconds else f"{at.day} {at:%b} {at:%H:%M}"


def zoned(at_ms: int, zone: str | None = None) -> str:
    """Return `1 Dec 2026 09:00 CET`: an instant in the local zone, or the named one."""
    at = _local(at_ms) if zone is None else _utc(at_ms).astimezone(ZoneInfo(zone))
    return _with_zone(at)


def instant(at_ms: int, zone: str | None = None) -> str:
    """Return `1 Dec 2026 09:00 CET (1 Dec 2026 08:00 UTC)`; the second part only where it says more."""
    there, utc = zoned(at_ms, zone), _with_zone(_utc(at_ms))
    return there if there == utc else f"{there} ({utc})"


def age(ms: int) -> str:
    """Return how long that is, in one unit: `3 s`, `5 min`, `23 h`, `2 days`."""
    if ms < MINUTE_MS:
        return f"{max(0, ms) // 1000} s"
    if ms < 2 * HOUR_MS:
        return f"{ms // MINUTE_MS} min"
    if ms < 2 * DAY_MS:
        return f"{ms // HOUR_MS} h"
    return f"{ms // DAY_MS} days"


def _with_zone(at: datetime) -> str:
    seconds = f"{at:%S}"
    clock = f"{at:%H:%M}" if seconds == "00" else f"{at:%H:%M}:{seconds}"
    return f"{at.day} {at:%b %Y} {clock} {at:%Z}"


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _local(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000).astimezone()
