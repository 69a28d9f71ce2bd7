"""When to look again. Pure functions of the store's clock, in milliseconds."""

MINUTE_MS = 60_000
EARLY_LOOK_MS = 30_000  # after an ambiguous answer: positive evidence settles at once
SECOND_READING_MS = 60_000
RECHECKS_MS = (60 * MINUTE_MS, 24 * 60 * MINUTE_MS)  # after "not applied", in case it comes late
INCOMPLETE_FLAG_MS = 60 * MINUTE_MS
SENT_ZERO_FLAG_MS = 30 * MINUTE_MS
LATE_FLAG_MS = 30 * MINUTE_MS
LONG_SENDING_FLAG_MS = 24 * 60 * MINUTE_MS


def while_sending(*, age_ms: int) -> int:
    """Return the delay to the next look at a campaign being sent: 5 minutes, backing off to an hour."""
    return min(max(age_ms // 6, 5 * MINUTE_MS), 60 * MINUTE_MS)


def while_scheduled(*, send_time_ms: int | None, now_ms: int) -> int:
    """Return the delay to the next look at a scheduled campaign: 2 minutes after its time, then every 5."""
    if send_time_ms is None or send_time_ms + 2 * MINUTE_MS <= now_ms:
        return 5 * MINUTE_MS
    return send_time_ms + 2 * MINUTE_MS - now_ms


def after_misses(misses: int) -> int:
    """Return the delay after `misses` failed readings in a row: 1, 2, 4 ... 60 minutes."""
    return min(1 << min(max(misses - 1, 0), 6), 60) * MINUTE_MS


def recheck(age_ms: int | None) -> int | None:
    """Return the delay to the next reading of a verdict of absence that is `age_ms` old; None: none is due."""
    if age_ms is None:
        return None
    return next((due - age_ms for due in RECHECKS_MS if due > age_ms), None)


def after_event(*, woken_at: int | None, now_ms: int) -> int:
    """Return when an event may have a campaign looked at: at most once a minute. `woken_at`: the look before."""
    if woken_at is None or woken_at <= now_ms - MINUTE_MS:
        return now_ms
    return woken_at if woken_at > now_ms else woken_at + MINUTE_MS
