"""What is seen of a ramp while it runs: a table that moves, where the screen can; nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from campaignbridge.cli import terminal

if TYPE_CHECKING:
    from campaignbridge.cli.demo_stage import Stage
    from campaignbridge.domain.ramp import Ramp, Wave

BAR = 20
_STEPS = {
    "picking": "picks people",
    "picked": "makes a segment",
    "segment_created": "pushes",
    "pushed": "reads who is in it",
    "verified": "makes a draft",
    "draft_ready": "looks once more",
    "looked": "asks to send",
}


def read(stage: "Stage", slug: str) -> "tuple[Ramp, list[Wave]]":
    """Return the ramp and its waves as the store has them."""
    with stage.bridge.wiring.store.reading() as unit:
        ramp = unit.ramps.get(slug)
        return ramp, unit.waves.of_ramp(ramp.id)


def rows(stage: "Stage", slug: str) -> list[tuple[str, ...]]:
    """Return the table of waves, its heads first."""
    ramp, waves = read(stage, slug)
    with stage.bridge.wiring.store.reading() as unit:
        counts = unit.assignments.counts_of_ramp(ramp.id)
    found: list[tuple[str, ...]] = [
        ("Wave", "People", "Progress", "Delivered", "Bounced", "Complained", "Verdict")
    ]
    by_tier = {wave.tier: wave for wave in waves}
    for tier, size in enumerate(ramp.plan.tiers):
        wave = by_tier.get(tier)
        if wave is None:
            found.append((ramp.plan.label(tier), f"{size:,}", "waits", "", "", "", ""))
            continue
        pushed = counts.get(wave.id, {}).get("in_segment", 0)
        figures = wave.figures
        shown = [f"{number:,}" for number in (figures.delivered, figures.bounced, figures.complained)]
        verdict = wave.verdict.value if wave.verdict else ""
        found.append(
            (wave.label, f"{size:,}", _progress(wave, pushed), *(shown if verdict else ("", "", "")), verdict)
        )
    return found


def _progress(wave: "Wave", pushed: int) -> str:
    if wave.closed is not None:
        return "mailed" if wave.closed.value == "sent" else wave.closed.value.replace("_", " ")
    if wave.step.value == "segment_created":
        done = BAR * pushed // max(1, wave.picked)
        return f"{'#' * done}{'.' * (BAR - done)} {pushed:,}"
    return _STEPS.get(wave.step.value, wave.step.value)


class Board:
    """The table below the lines of the story."""

    def __init__(self, stage: "Stage", slug: str, live: Any) -> None:
        self._stage, self._slug, self._live = stage, slug, live

    def refresh(self) -> None:
        """Show the waves as they stand now."""
        if self._live is not None:
            self._live.update(_table(rows(self._stage, self._slug)), refresh=True)


@contextmanager
def board(stage: "Stage", slug: str) -> Iterator[Board]:
    """Show the table while the story goes on, and take it away at its end."""
    if not terminal.live():
        yield Board(stage, slug, None)
        return
    from rich.live import Live

    with Live(console=terminal.console(stderr=True), auto_refresh=False, transient=True) as live:
        yield Board(stage, slug, live)


def _table(found: list[tuple[str, ...]]) -> Any:
    from rich.table import Table

    heads, *lines = found
    table = Table(*heads, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for line in lines:
        table.add_row(*line, style="bold" if "#" in line[2] or "." in line[2] else None)
    return table
