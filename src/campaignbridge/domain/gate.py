"""The kill-gate: figures of what was mailed, and whether the ramp may go on. Integers throughout, no rounding.

A rate is of what was delivered, and trips only when it is strictly above its threshold. The sample is what was
delivered or bounced: a wave that mostly bounces trips instead of waiting for more deliveries.
"""

from dataclasses import dataclass
from enum import Enum

MILLION = 1_000_000
SAMPLE = 100
FEWEST_COMPLAINTS = 2  # a single one never trips: it would be above 0.08 % of anything under 1,250
WAIVED_PERCENT = 125  # a waiver holds until a count exceeds this much of what was waived


class Verdict(Enum):
    """What the figures say."""

    PASSED = "passed"
    WAITING = "waiting"  # too few to say
    TRIPPED = "tripped"
    WAIVED = "waived"  # would trip or wait, and a person decided to go on


@dataclass(frozen=True, slots=True)
class Figures:
    """What became of mail, in people. Counts only ever rise."""

    delivered: int = 0
    bounced: int = 0
    complained: int = 0

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            self.delivered + other.delivered,
            self.bounced + other.bounced,
            self.complained + other.complained,
        )

    def at_least(self, other: "Figures") -> "Figures":
        """Return the higher of each count: a late or repeated report never lowers one."""
        return Figures(
            max(self.delivered, other.delivered),
            max(self.bounced, other.bounced),
            max(self.complained, other.complained),
        )


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The most that may bounce or complain, in parts per million of what was delivered."""

    bounce_ppm: int = 40_000  # 4 %
    complaint_ppm: int = 800  # 0.08 %


USUAL = Thresholds()


def judge(figures: Figures, thresholds: Thresholds, *, waived: Figures | None = None) -> Verdict:
    """Return what the figures say; a waiver of earlier figures holds until one of the bad counts is much worse."""
    if waived is not None and not _much_worse(figures, waived):
        return Verdict.WAIVED
    if figures.delivered + figures.bounced < SAMPLE:
        return Verdict.WAITING
    bounces = figures.bounced * MILLION > thresholds.bounce_ppm * figures.delivered
    complaints = (
        figures.complained >= FEWEST_COMPLAINTS
        and figures.complained * MILLION > thresholds.complaint_ppm * figures.delivered
    )
    return Verdict.TRIPPED if bounces or complaints else Verdict.PASSED


def _much_worse(figures: Figures, waived: Figures) -> bool:
    return any(
        now * 100 > then * WAIVED_PERCENT
        for now, then in (
            (figures.bounced, waived.bounced),
            (figures.complained, max(waived.complained, FEWEST_COMPLAINTS - 1)),
        )
    )
