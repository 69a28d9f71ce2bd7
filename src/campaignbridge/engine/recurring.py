"""Queueing what recurs: each occurrence once, however many workers look and however late they are.

1. A definition that is new is planned: its first occurrence is the first one after now.
2. One that is due is moved on to the first occurrence after now, by compare-and-set on the one that was seen;
   the worker that moved it queues the job in the same transaction. So after a gap of hours one job comes.
3. One that was planned in the future (the store's clock has been set back since) is planned anew.
4. One that nobody has moved on for an hour after it was due is forgotten: no code knows it any more.

All on the store's clock. The next occurrence of `Every` is counted from the one that was seen, not from when
a worker came to it.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import assert_never
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.recurring import MOST_DEFINITIONS, Cron, Every, Recurring, Schedule
from campaignbridge.store.unit import Unit

_TRIES = 200  # a repeated hour has 60 minutes that lie behind, and a schedule has nothing worse


def require_usable(definitions: Iterable[Recurring]) -> tuple[Recurring, ...]:
    """Return the definitions in the order of their texts; raise `InvalidInput` for one that never comes."""
    ordered = tuple(sorted(definitions, key=lambda one: one.definition))
    if len({one.name for one in ordered}) < len(ordered) or len(ordered) > MOST_DEFINITIONS:
        raise InvalidInput(
            f"Recurring jobs have names of their own, and there are {MOST_DEFINITIONS} at most.",
            todo="Rename or merge some.",
        )
    for one in ordered:
        next_after(one.schedule, now_ms=0)
    return ordered


def known_text(definitions: Iterable[Recurring]) -> str:
    """Return all definitions as one text in which each stands between bars."""
    return "".join(f"|{one.definition}|" for one in definitions)


def settle(unit: Unit, definitions: tuple[Recurring, ...], new_id: Callable[[], str], *, now_ms: int) -> int:
    """Plan, queue and forget what calls for it, in this transaction; return how many jobs were queued."""
    rows = {row["definition"]: row for row in unit.recurring.all()}
    queued = 0
    for one in definitions:
        row = rows.pop(one.definition, None)
        if row is None or row["planned_at"] > now_ms:
            unit.recurring.plan(one.definition, next_at=next_after(one.schedule, now_ms=now_ms))
        elif row["next_at"] <= now_ms:
            occurrence = row["next_at"]
            following = next_after(one.schedule, now_ms=now_ms, last_ms=occurrence)
            if unit.recurring.advance(one.definition, occurrence=occurrence, next_at=following):
                unit.jobs.enqueue(new_id(), one.request)
                queued += 1
    for definition in rows:
        unit.recurring.forget(definition)
    return queued


def next_after(schedule: Schedule, *, now_ms: int, last_ms: int | None = None) -> int:
    """Return the first occurrence after now, in epoch milliseconds. `last_ms` is the one before, if any."""
    match schedule:
        case Every(seconds):
            step = seconds * 1000
            last = now_ms if last_ms is None else last_ms
            return last + step * (max(0, now_ms - last) // step + 1)
        case Cron():
            return _next_of_cron(schedule, now_ms)
        case _:
            assert_never(schedule)


def _next_of_cron(cron: Cron, now_ms: int) -> int:
    try:
        place = ZoneInfo(cron.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"There is no time zone {cron.zone!a} here.", todo="Use an IANA name, or install tzdata."
        ) from None
    try:
        moments = CronSim(cron.expression, datetime.fromtimestamp(now_ms // 1000, UTC).astimezone(place))
        for _ in range(_TRIES):
            at = int(next(moments).timestamp()) * 1000
            # In a repeated hour a fixed time is counted from local times, so some lie behind.
            if at > now_ms:
                return at
    except CronSimError as error:
        raise InvalidInput(
            f"{cron.expression!a} is no cron expression ({error}).", todo="Correct that field."
        ) from None
    except (StopIteration, OverflowError):
        pass
    raise InvalidInput(f"{cron.expression!a} never comes.", todo="Name a day that there is.")
