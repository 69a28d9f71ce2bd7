"""When to look again."""

import pytest

from campaignbridge.domain import cadence

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (0, 5 * MINUTE),
        (29 * MINUTE, 5 * MINUTE),
        (60 * MINUTE, 10 * MINUTE),
        (6 * HOUR, HOUR),
        (90 * HOUR, HOUR),
    ],
)
def test_a_campaign_being_sent_is_looked_at_every_five_minutes_and_later_hourly(age: int, wait: int) -> None:
    assert cadence.while_sending(age_ms=age) == wait


def test_a_scheduled_campaign_is_not_looked_at_before_two_minutes_after_its_time() -> None:
    assert cadence.while_scheduled(send_time_ms=10 * HOUR, now_ms=9 * HOUR) == HOUR + 2 * MINUTE
    assert cadence.while_scheduled(send_time_ms=10 * HOUR, now_ms=10 * HOUR + 2 * MINUTE) == 5 * MINUTE
    assert cadence.while_scheduled(send_time_ms=None, now_ms=0) == 5 * MINUTE


def test_failed_readings_are_repeated_after_one_to_sixty_minutes() -> None:
    waits = [cadence.after_misses(misses) // MINUTE for misses in (1, 2, 3, 4, 5, 6, 7, 8, 500)]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (None, None),
        (0, HOUR),
        (HOUR - 1, 1),
        (HOUR, 23 * HOUR),
        (24 * HOUR - 5, 5),
        (24 * HOUR, None),
        (90 * HOUR, None),
    ],
)
def test_an_absence_is_read_again_an_hour_and_a_day_after_it_was_settled(
    age: int | None, wait: int | None
) -> None:
    assert cadence.recheck(age) == wait
