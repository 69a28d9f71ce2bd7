"""Looking at one thing again and again: redrawn on a terminal; elsewhere one line, or one document, for each change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES

if TYPE_CHECKING:
    from campaignbridge.ports import Clock

T = TypeVar("T")

Every = Annotated[
    float,
    typer.Option("--every", metavar="SECONDS", min=0.2, max=3_600, help="With --watch: look so often."),
]
For = Annotated[
    float | None,
    typer.Option("--for", metavar="SECONDS", min=0, help="With --watch: seconds at most. [default: no end]"),
]


@dataclass(frozen=True, slots=True)
class Sight(Generic[T]):
    """What is looked at, and how it is shown."""

    read: Callable[[], T]
    document: Callable[[T], Any]
    lines: Callable[[T], list[str]]
    line: Callable[[T], str]  # all of it in one line
    changes: Callable[[T], object]  # what has to differ for another line or document
    settled: Callable[[T], int | None]  # the exit code of what no longer moves by itself


def follow(sight: Sight[T], clock: "Clock", *, every_s: float, most_s: float | None) -> tuple[int | None, T]:
    """Look until it is settled or the time is over; return the exit code, None for the time, and what was seen last.

    Between two looks nothing of the store is held. Ctrl-C ends it with the screen as it was drawn last.
    """
    begun, last = clock.mark(), None
    with _screen(sight) as draw:
        while True:
            seen = sight.read()
            told = (sight.changes(seen),)
            if draw is not None:
                draw(seen)
            elif told != last:
                terminal.answer(sight.document(seen), [sight.line(seen)])
            last = told
            ended = sight.settled(seen)
            wait_ms = int(every_s * 1000)
            if most_s is not None:
                wait_ms = min(wait_ms, int(most_s * 1000) - clock.since_ms(begun))
            if ended is not None or wait_ms <= 0:
                return ended, seen
            clock.wait_ms(wait_ms)


@contextmanager
def _screen(sight: Sight[T]) -> Iterator[Callable[[T], None] | None]:
    """Yield what redraws the screen; None where one line for each change is right."""
    if not terminal.live() or not terminal.console(stderr=False).is_terminal or CHOICES.json:
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    with Live(console=terminal.console(stderr=False), auto_refresh=False) as moving:
        yield lambda seen: moving.update(Text("\n".join(sight.lines(seen)), no_wrap=True), refresh=True)
