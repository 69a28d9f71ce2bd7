"""When a recurring job comes next: intervals that don't drift, cron in its own zone, and days of clock changes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.recurring import Cron, Every, Recurring
from campaignbridge.engine.recurring import next_after, require_usable

HOUR_MS = 3_600_000
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def at(text):
    return int(datetime.fromisoformat(text).timestamp()) * 1000


def told(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def run_of(schedule, since, count):
    """Return the next occurrences, each asked for at the one before: as ticks on time do."""
    now, found = at(since), []
    for _ in range(count):
        now = next_after(schedule, now_ms=now, last_ms=now)
        found.append(told(now))
    return found


def test_an_interval_is_counted_from_the_occurrence_and_not_from_when_somebody_came():
    first = next_after(Every(300), now_ms=1_000_000)
    assert first == 1_300_000
    assert next_after(Every(300), now_ms=first + 7_000, last_ms=first) == first + 300_000


def test_after_a_gap_an_interval_goes_on_in_its_old_rhythm_at_the_first_time_ahead():
    assert next_after(Every(300), now_ms=1_300_000 + 6 * HOUR_MS + 1, last_ms=1_300_000) == (
        1_300_000 + 6 * HOUR_MS + 300_000
    )


@given(st.integers(1, 100_000), st.integers(0, 10**13), st.integers(-(10**6), 10**10))
def test_the_next_time_of_an_interval_is_ahead_within_one_step_and_in_rhythm(seconds, last, later):
    found = next_after(Every(seconds), now_ms=last + later, last_ms=last)
    assert found > last
    assert found > last + later
    assert (found - last) % (seconds * 1000) == 0
    assert found - max(last, last + later) <= seconds * 1000


def test_cron_is_read_in_its_own_zone():
    assert run_of(Cron("30 9 * * MON", BERLIN), "2026-07-01T00:00+00:00", 2) == [
        "2026-07-06 07:30",
        "2026-07-13 07:30",
    ]
    assert run_of(Cron("30 9 * * *"), "2026-07-01T09:30+00:00", 1) == ["2026-07-02 09:30"]


def test_a_daily_time_keeps_its_local_hour_across_a_clock_change():
    assert run_of(Cron("0 9 * * *", BERLIN), "2026-03-27T12:00+00:00", 3) == [
        "2026-03-28 08:00",
        "2026-03-29 07:00",
        "2026-03-30 07:00",
    ]


@pytest.mark.parametrize(
    ("zone", "expression", "since", "expected"),
    [
        # 02:30 is skipped in Berlin on 29 March and in New York on 8 March: 03:00 is the first valid instant
        (BERLIN, "30 2 * * *", "2026-03-28T12:00+00:00", ["2026-03-29 01:00", "2026-03-30 00:30"]),
        (NEW_YORK, "30 2 * * *", "2026-03-07T12:00+00:00", ["2026-03-08 07:00", "2026-03-09 06:30"]),
        (BERLIN, "30 1 * * *", "2026-03-28T12:00+00:00", ["2026-03-29 00:30", "2026-03-29 23:30"]),
        # 02:30 is repeated in Berlin on 25 October, 01:30 in New York on 1 November: the first of the two
        (BERLIN, "30 2 * * *", "2026-10-24T12:00+00:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00+00:00", ["2026-11-01 05:30", "2026-11-02 06:30"]),
        (NEW_YORK, "30 2 * * *", "2026-10-31T12:00+00:00", ["2026-11-01 07:30", "2026-11-02 07:30"]),
    ],
)
def test_a_fixed_time_comes_exactly_once_on_the_day_of_a_clock_change(zone, expression, since, expected):
    assert run_of(Cron(expression, zone), since, 2) == expected


@pytest.mark.parametrize("minute", range(0, 60, 7))
def test_a_restart_between_the_two_times_of_a_repeated_hour_does_not_run_it_again(minute):
    """The second 01:xx in New York on 1 November 2026 begins at 06:00 UTC."""
    now = at(f"2026-11-01T06:{minute:02}+00:00")
    assert told(next_after(Cron("30 1 * * *", NEW_YORK), now_ms=now)) == "2026-11-02 06:30"


def test_a_star_in_the_minute_follows_real_time_through_a_repeated_hour():
    now = at("2026-11-01T06:01+00:00")
    assert told(next_after(Cron("*/10 1 * * *", NEW_YORK), now_ms=now)) == "2026-11-01 06:10"


def test_what_runs_each_half_hour_follows_real_time_through_a_clock_change():
    assert run_of(Cron("*/30 * * * *", BERLIN), "2026-10-25T00:00+00:00", 5) == [
        f"2026-10-25 {time}" for time in ("00:30", "01:00", "01:30", "02:00", "02:30")
    ]
    assert run_of(Cron("*/30 * * * *", BERLIN), "2026-03-29T00:00+00:00", 4) == [
        f"2026-03-29 {time}" for time in ("00:30", "01:00", "01:30", "02:00")
    ]


@given(
    st.sampled_from(
        ["30 2 * * *", "*/7 * * * *", "0 1-3 * * *", "59 23 28-31 * *", "15 1,2 * * SUN", "0 0 29 2 *"]
    ),
    st.sampled_from([BERLIN, NEW_YORK, "UTC", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.integers(0, 4_000_000_000),
)
def test_the_next_time_of_a_cron_expression_is_always_ahead(expression, zone, now_s):
    assert next_after(Cron(expression, zone), now_ms=now_s * 1000) > now_s * 1000


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "@daily", "61 * * * *", "0 24 * * *", "0 0 31 2 *", "0 0 30 FEB *", "x * * * *",
     "0 0 0 * *", "*/0 * * * *", "5-1 * * * *", "1\t* * * *", "| * * * *", "0," * 60 + "0 * * * *"],
)  # fmt: skip
def test_a_cron_expression_that_is_none_or_never_comes_is_refused(expression):
    with pytest.raises(InvalidInput):
        require_usable([Recurring("sweep", "work", "all", Cron(expression))])


@pytest.mark.parametrize(
    "zone", ["", "Nowhere/Town", "../etc/passwd", "Europe", "Europe/", "+01:00", "Mars|Base"]
)
def test_a_zone_that_there_is_not_is_refused(zone):
    with pytest.raises(InvalidInput):
        require_usable([Recurring("sweep", "work", "all", Cron("0 0 * * *", zone))])


@pytest.mark.parametrize("seconds", [0, -1, 367 * 24 * 3_600])
def test_an_interval_out_of_bounds_is_refused(seconds):
    with pytest.raises(InvalidInput):
        Every(seconds)


def test_definitions_have_names_of_their_own_and_what_a_job_can_be():
    one = Recurring("sweep", "work", "all", Every(60))
    with pytest.raises(InvalidInput):
        require_usable([one, Recurring("sweep", "work", "other", Every(60))])
    with pytest.raises(InvalidInput):
        require_usable([Recurring(f"n{number}", "work", "all", Every(60)) for number in range(101)])
    for name, kind, target in (("Sweep", "work", "all"), ("sweep", "Work", "all"), ("sweep", "work", "ALL")):
        with pytest.raises(InvalidInput):
            Recurring(name, kind, target, Every(60))
