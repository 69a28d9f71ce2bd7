"""Jobs that recur: what is queued how often. When exactly is worked out by the engine, on the store's clock.

A definition is code, like a handler. Its text identifies it in the store: a definition that changes in any
way is another one, so that old and new code can run side by side without moving each other's times.
"""

import re
from dataclasses import dataclass

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.job import Request

MOST_SECONDS = 366 * 24 * 3_600
MOST_DEFINITIONS = 100

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CRON = re.compile(r"[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4}")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}")


@dataclass(frozen=True, slots=True)
class Every:
    """Every so many seconds, counted from when it was first planned. Not finer than the ticks."""

    seconds: int

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= MOST_SECONDS:
            raise InvalidInput(
                "A job recurs every second to every 366 days.", todo="Give seconds in that range."
            )

    def __str__(self) -> str:
        return f"every {self.seconds}"


@dataclass(frozen=True, slots=True)
class Cron:
    """At the local times of a five-field cron expression in an IANA time zone.

    On the day of a clock change, a fixed time runs exactly once: one that is skipped runs at the first valid
    instant, one that is repeated runs the first time. What runs each hour or oftener (`*` in the hour, or
    in the minute) follows real time through the change. As Debian's cron does.
    """

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if len(self.expression) > 100 or not _CRON.fullmatch(self.expression):
            raise InvalidInput(
                "A cron expression has five fields, each after one blank.",
                todo="Write one such as 30 2 * * *.",
            )
        if not _ZONE.fullmatch(self.zone):
            raise InvalidInput("A time zone is an IANA name.", todo="Write one such as Europe/Berlin.")

    def __str__(self) -> str:
        return f"cron {self.expression} {self.zone}"


Schedule = Every | Cron


@dataclass(frozen=True, slots=True)
class Recurring:
    """A job that is queued again and again. After a long gap one occurrence runs, not those that were missed.

    An occurrence that is due while the one before is still unfinished is no second job: it makes that one run
    once more. So runs never overlap, and never pile up.
    """

    name: str
    type: str
    target: str
    schedule: Schedule

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                "A recurring job's name is a lower-case identifier.", todo="Use one such as sweep."
            )
        Request(type=self.type, target=self.target)  # refuses what no job can be

    @property
    def request(self) -> Request:
        """The job of an occurrence."""
        return Request(type=self.type, target=self.target)

    @property
    def definition(self) -> str:
        """All of it as one text, by which the store knows it. Holds no `|`."""
        return f"{self.name} {self.type} {self.target} {self.schedule}"
