"""The kill-gate at its edges: strictly above trips, a full sample that mostly bounced trips, one complaint never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.gate import Figures, Thresholds, Verdict, judge

USUAL = Thresholds()
COUNTS = st.integers(0, 2_000_000)
FIGURES = st.builds(Figures, COUNTS, COUNTS, COUNTS)


@pytest.mark.parametrize(
    ("delivered", "bounced", "complained", "verdict"),
    [
        (99, 0, 0, Verdict.WAITING),
        (100, 0, 0, Verdict.PASSED),
        (10_000, 400, 0, Verdict.PASSED),  # exactly 4 %
        (10_000, 401, 0, Verdict.TRIPPED),
        (50, 450, 0, Verdict.TRIPPED),
        (0, 100, 0, Verdict.TRIPPED),
        (0, 99, 0, Verdict.WAITING),
        (100, 0, 1, Verdict.PASSED),
        (1_249, 0, 1, Verdict.PASSED),
        (2_499, 0, 2, Verdict.TRIPPED),
        (2_500, 0, 2, Verdict.PASSED),  # exactly 0.08 %
        (2_501, 0, 2, Verdict.PASSED),
        (98, 1, 50, Verdict.WAITING),
    ],
)
def test_a_rate_trips_only_strictly_above_its_threshold(delivered, bounced, complained, verdict):
    assert judge(Figures(delivered, bounced, complained), USUAL) is verdict


def test_a_waiver_holds_until_a_count_is_more_than_a_quarter_worse():
    bad = Figures(1_000, 80, 0)
    assert judge(bad, USUAL) is Verdict.TRIPPED
    assert judge(bad, USUAL, waived=bad) is Verdict.WAIVED
    assert judge(Figures(1_000, 100, 0), USUAL, waived=bad) is Verdict.WAIVED
    assert judge(Figures(1_000, 101, 0), USUAL, waived=bad) is Verdict.TRIPPED
    assert judge(Figures(1_000, 80, 1), USUAL, waived=bad) is Verdict.WAIVED
    assert judge(Figures(1_000, 80, 2), USUAL, waived=bad) is Verdict.TRIPPED


def test_figures_that_got_much_worse_than_a_waiver_and_still_pass_have_passed():
    assert judge(Figures(100_000, 200, 0), USUAL, waived=Figures(10, 1, 0)) is Verdict.PASSED


@given(FIGURES, FIGURES)
def test_more_deliveries_alone_never_trip_and_more_bounces_alone_never_untrip(one, more):
    if judge(one, USUAL) is Verdict.TRIPPED:
        worse = Figures(one.delivered, one.bounced + more.bounced, one.complained + more.complained)
        assert judge(worse, USUAL) is Verdict.TRIPPED
    if judge(one, USUAL) is Verdict.PASSED:
        better = Figures(one.delivered + more.delivered, one.bounced, one.complained)
        assert judge(better, USUAL) is Verdict.PASSED


@given(FIGURES, FIGURES)
def test_a_late_report_never_lowers_a_count(one, late):
    kept = one.at_least(late)
    assert kept.at_least(one) == kept.at_least(late) == kept


@given(st.lists(FIGURES, max_size=5))
def test_the_total_of_waves_is_their_sum(waves):
    total = sum(waves, Figures())
    assert total.delivered == sum(one.delivered for one in waves)
