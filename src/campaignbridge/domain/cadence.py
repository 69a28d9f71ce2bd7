"""When to look again. Pure functions of the store's clock, in milliseconds."""

MINUTE_MS = 60_000
EARLY_LOOK_MS = 30_000  # after an ambiguous answer: positive evidence settles at once
SECOND_READING_MS = 60_000
RECHECKS_MS = (60 * MINUTE_MS, 24 * 60 * MINUTE_MS)  # after "not applied", in case it comes late
INCOMPLETE_FLAG_MS = 60 * MINUTE_MS
SENT_ZERO_FLAG_MS = 30 * MINUTE_MS
LONG_SENDING_FLAG_MS = 24 * 60 * MINUTE_MS


def while_sending(*, since_ms: int, now_ms: int) -> int:
    """Return the next look at a campaign that is being sent: every 5 minutes, backing off to hourly."""
    age = max(0, now_ms - since_ms)
    return now_ms + min(max(age // 6, 5 * MINUTE_MS), 60 * MINUTE_MS)


def after_ambiguity(*, window_end_ms: int, now_ms: int) -> int:
    """Return the first look after an answer that told nothing."""
    return min(now_ms + EARLY_LOOK_MS, max(window_end_ms, now_ms))


def after_misses(misses: int) -> int:
    """Return the delay after `misses` failed readings in a row: 1, 2, 4 ... 60 minutes."""
    return min(1 << min(max(misses - 1, 0), 6), 60) * MINUTE_MS


def recheck(done: int, *, now_ms: int) -> int | None:
    """Return when to read again after a verdict of absence, or None when it was read often enough."""
    return now_ms + RECHECKS_MS[done] if done < len(RECHECKS_MS) else None
