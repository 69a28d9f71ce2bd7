"""When to send: what a person wrote is one instant, or it is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.when import LEAST_AHEAD_MS, MOST_AHEAD_MS, instant_of, iso, require_sendable_at

NOON = 1_796_126_400_000  # 2026-12-01T12:00:00Z
QUARTER_MS = 15 * 60_000
LAST_MS = 253_402_300_799_000  # the last second of the year 9999


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T12:00:00Z",
        "2026-12-01T12:00:00+00:00",
        "2026-12-01T13:00:00+01:00",
        "2026-12-01T07:00:00-05:00",
        "2026-12-01T17:45:00+05:45",
        "2026-12-01T12:00Z",
        "2026-12-01 12:00:00Z",
        "2026-12-01T12:00:00.000Z",
    ],
)
def test_a_time_with_an_offset_is_one_instant(text: str) -> None:
    assert instant_of(text, None) == NOON


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-12-01T13:00:00", "Europe/Berlin"),
        ("2026-12-01T07:00", "America/New_York"),
        ("2026-12-01T12:00:00", "UTC"),
        ("2026-12-01 17:45", "Asia/Kathmandu"),
    ],
)
def test_a_local_time_and_its_zone_are_one_instant(text: str, zone: str) -> None:
    assert instant_of(text, zone) == NOON


def test_a_local_time_follows_the_zone_through_the_year() -> None:
    assert iso(instant_of("2026-07-01T09:00", "Europe/Berlin")) == "2026-07-01T07:00:00Z"
    assert iso(instant_of("2026-12-01T09:00", "Europe/Berlin")) == "2026-12-01T08:00:00Z"


@pytest.mark.parametrize("text", ["2026-12-01T12:00:00", "2026-12-01T12:00", "2026-12-01 12:00"])
def test_a_time_without_offset_or_zone_is_refused_and_says_how_to_write_it(text: str) -> None:
    with pytest.raises(InvalidInput, match="no offset") as no:
        instant_of(text, None)
    assert "--zone" in no.value.todo


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "tomorrow 9:00",
        "2026-12-01",  # a day is no moment: midnight would be a guess
        "2026-12",
        "12:00",
        "09:00:00+01:00",
        "20261201T120000",
        "20261201T120000Z",
        "2026-W49-2T12:00:00+01:00",
        "2026-12-01T12",
        "2026-12-01T12:00:00+01",
        "2026-12-01T12:00:00+0100",
        "2026-12-01T12:00:00+01:00:30",
        "2026-12-01T12:00:00+25:00",
        "2026-12-01T25:00:00Z",
        "2026-12-01T12:60:00Z",
        "2026-12-01T12:00:60Z",
        "2026-02-30T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-12-01T12:00:00 Europe/Berlin",
        "2026-12-01T12:00:00z\n",
        " 2026-12-01T12:00:00Z",
        "10000-01-01T00:00:00Z",
        "99999999999999-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "-2026-12-01T12:00:00Z",
        "1796126400000",
        "٢٠٢٦-12-01T12:00:00Z",
        "2026-12-01T12:00:00\x00Z",
        "2026-12-01T12:00:00\ud800",
    ],
)
def test_what_is_no_time_is_refused_whether_with_a_zone_or_without(text: str, zone: str | None) -> None:
    with pytest.raises(InvalidInput):
        instant_of(text, zone)


def test_an_offset_and_a_zone_together_are_refused() -> None:
    with pytest.raises(InvalidInput, match="an offset and a zone"):
        instant_of("2026-12-01T12:00:00+01:00", "Europe/Berlin")


@pytest.mark.parametrize(
    "zone",
    [
        "Berlin", "Europe", "Europe/", "Mars/Base", "", " ", ".", "..", "../etc/passwd", "/etc/localtime",
        "+01:00", "Europe/Berlin\x00", "x" * 5_000, "Europe/Berlin\n", "\ud800",
    ],
)  # fmt: skip
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput, match="no such time zone"):
        instant_of("2026-12-01T12:00:00", zone)


@pytest.mark.parametrize(
    ("local", "zone"),
    [
        ("2026-03-08T02:30:00", "America/New_York"),
        ("2026-03-08T02:00:00", "America/New_York"),
        ("2026-03-08T02:59:59", "America/New_York"),
        ("2026-03-29T02:30:00", "Europe/Berlin"),
        ("2026-03-29T02:00:00", "Europe/Berlin"),
        ("9999-03-28T02:30:00", "Europe/Berlin"),
    ],
)
def test_a_local_time_that_the_clock_change_skips_is_refused(local: str, zone: str) -> None:
    with pytest.raises(InvalidInput, match="does not happen") as no:
        instant_of(local, zone)
    assert "offset" in no.value.todo


@pytest.mark.parametrize(
    ("local", "zone"),
    [
        ("2026-11-01T01:30:00", "America/New_York"),
        ("2026-11-01T01:00:00", "America/New_York"),
        ("2026-11-01T01:59:59", "America/New_York"),
        ("2026-10-25T02:30:00", "Europe/Berlin"),
        ("2026-10-25T02:00:00", "Europe/Berlin"),
    ],
)
def test_a_local_time_that_happens_twice_is_refused(local: str, zone: str) -> None:
    with pytest.raises(InvalidInput, match="happens twice"):
        instant_of(local, zone)


@pytest.mark.parametrize(
    ("local", "zone", "utc"),
    [
        ("2026-03-08T01:59:59", "America/New_York", "2026-03-08T06:59:59Z"),
        ("2026-03-08T03:00:00", "America/New_York", "2026-03-08T07:00:00Z"),
        ("2026-11-01T00:59:59", "America/New_York", "2026-11-01T04:59:59Z"),
        ("2026-11-01T02:00:00", "America/New_York", "2026-11-01T07:00:00Z"),
        ("2026-03-29T01:59:59", "Europe/Berlin", "2026-03-29T00:59:59Z"),
        ("2026-03-29T03:00:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("2026-10-25T01:59:59", "Europe/Berlin", "2026-10-24T23:59:59Z"),
        ("2026-10-25T03:00:00", "Europe/Berlin", "2026-10-25T02:00:00Z"),
    ],
)
def test_just_before_and_after_a_clock_change_a_local_time_is_one_instant(
    local: str, zone: str, utc: str
) -> None:
    assert iso(instant_of(local, zone)) == utc


def test_with_its_offset_either_of_two_equal_local_times_can_be_meant() -> None:
    first = instant_of("2026-10-25T02:30:00+02:00", None)
    assert instant_of("2026-10-25T02:30:00+01:00", None) - first == 3_600_000


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_year_at_the_edge_of_the_calendar_is_far_off_and_no_crash(text: str) -> None:
    with pytest.raises(InvalidInput):
        require_sendable_at(instant_of(text, None), now_ms=NOON, grid_ms=1)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize("text", ["9999-12-31T23:59:59", "0001-01-01T00:00:00"])
def test_a_local_year_at_the_edge_of_the_calendar_is_far_off_and_no_crash(text: str, zone: str) -> None:
    with pytest.raises(InvalidInput):
        require_sendable_at(instant_of(text, zone), now_ms=NOON, grid_ms=1)


@pytest.mark.parametrize("off", [1, 999, 60_000, QUARTER_MS - 1])
def test_a_time_off_the_grid_is_refused(off: int) -> None:
    with pytest.raises(InvalidInput, match="every 15 minutes"):
        require_sendable_at(NOON + 4 * QUARTER_MS + off, now_ms=NOON, grid_ms=QUARTER_MS)


def test_from_ten_minutes_to_a_year_ahead_a_time_can_be_had_and_not_a_millisecond_beyond() -> None:
    for ahead in (LEAST_AHEAD_MS, 24 * 3_600_000, 365 * 24 * 3_600_000, MOST_AHEAD_MS):
        require_sendable_at(NOON + ahead, now_ms=NOON, grid_ms=1)
    for ahead in (LEAST_AHEAD_MS - 1, 0, -1, -NOON):
        with pytest.raises(InvalidInput, match="10 minutes"):
            require_sendable_at(NOON + ahead, now_ms=NOON, grid_ms=1)
    for ahead in (MOST_AHEAD_MS + 1, LAST_MS, 10**18):
        with pytest.raises(InvalidInput, match="more than a year"):
            require_sendable_at(NOON + ahead, now_ms=NOON, grid_ms=1)


def test_a_moment_inside_a_second_is_kept_to_the_millisecond() -> None:
    assert instant_of("2026-12-01T12:00:00.25Z", None) == NOON + 250


@given(st.integers(min_value=0, max_value=LAST_MS // 1000).map(lambda seconds: seconds * 1000))
def test_what_is_written_down_is_read_as_the_same_instant(at_ms: int) -> None:
    assert instant_of(iso(at_ms), None) == at_ms


@given(
    st.integers(min_value=NOON // 1000, max_value=NOON // 1000 + 40 * 366 * 24 * 3600),
    st.integers(min_value=-14 * 60, max_value=14 * 60),
)
def test_an_offset_moves_what_is_written_and_not_the_instant(seconds: int, offset: int) -> None:
    sign, size = ("-", -offset) if offset < 0 else ("+", offset)
    local = iso((seconds + offset * 60) * 1000).removesuffix("Z")
    assert instant_of(f"{local}{sign}{size // 60:02d}:{size % 60:02d}", None) == seconds * 1000
