"""How the ramp demo ends: what came of it, held against what the provider really did and what was in the file."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from campaignbridge.cli import terminal
from campaignbridge.cli.demo_board import read, rows
from campaignbridge.cli.demo_people import Crowd
from campaignbridge.cli.demo_stage import Stage
from campaignbridge.cli.moments import clock_time

if TYPE_CHECKING:
    from campaignbridge.flows.importing import Imported


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. What isn't as it must be is named in `wrong`."""

    state: str
    mailed: int
    duplicates: int
    strangers: int  # mailed without having been imported, or in spite of being suppressed
    crashes: int
    gate_trips: int
    unconfirmed: int
    continued_same_run: bool
    waves: list[dict[str, Any]]
    imported: dict[str, int]
    database: str
    seconds: float
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Played:
    """The result, and what people are shown of it."""

    result: Result
    lines: list[str]


def curtain(
    stage: Stage, slug: str, crowd: Crowd, imported: "Imported", began: float, *, same_run: bool
) -> Played:
    """Return what came of it, and what is shown of it."""
    stage.server.sandbox.settle()
    ramp, waves = read(stage, slug)
    with stage.bridge.wiring.store.reading() as unit:
        log = [row["outcome"] for row in unit.ramps.log_of(ramp.id, most=10_000)]
    received = _received(stage)
    allowed = crowd.people - crowd.suppressed
    result = Result(
        state=ramp.facts.ended or "unfinished",
        mailed=len(received),
        duplicates=len(received) - len(set(received)) + stage.truth.duplicates(),
        strangers=sum(1 for email in received if email not in allowed),
        crashes=stage.crashes,
        gate_trips=log.count("gate_tripped"),
        unconfirmed=_unconfirmed(stage, waves),
        continued_same_run=same_run,
        waves=[_shown(wave) for wave in waves],
        imported=dict(imported.counts),
        database="postgresql" if stage.settings.on_postgres else "sqlite",
        seconds=round(time.monotonic() - began, 1),
    )
    result.wrong.extend(_wrong(result, crowd, ramp.plan.tiers))
    lines = ["", "Waves, from the store", *(f"  {line}" for line in terminal.columns(rows(stage, slug)))]
    lines += ["", "Truth log, from the provider"]
    now = stage.clock.now_ms()
    lines += [
        f"  {clock_time(one.at_ms, now):<17}{one.kind.replace('_', ' ')}, {one.recipients:,} people"
        for one in stage.truth.events()
        if one.kind in ("send_accepted", "mailed")
    ]
    return Played(result, [*lines, ""])


def _received(stage: Stage) -> list[str]:
    """Return who was mailed, by the provider's own memory: as often as they were."""
    deliveries = stage.server.sandbox.world.deliveries.values()
    return [
        person.email.lower() for mailed in deliveries for person in mailed.page(0, mailed.size, mailed.size)
    ]


def _unconfirmed(stage: Stage, waves: Any) -> int:
    timelines = (
        stage.bridge.timeline(wave.campaign_id, actor=stage.actor) for wave in waves if wave.campaign_id
    )
    return sum(event["kind"] == "send_unconfirmed" for events in timelines for event in events)


def _shown(wave: Any) -> dict[str, Any]:
    return {
        "label": wave.label,
        "requested": wave.requested,
        "mailed": wave.verified or 0,
        "delivered": wave.figures.delivered,
        "bounced": wave.figures.bounced,
        "complained": wave.figures.complained,
        "verdict": wave.verdict.value if wave.verdict else None,
        "closed": wave.closed.value if wave.closed else None,
    }


def _wrong(result: Result, crowd: Crowd, tiers: tuple[int, ...]) -> list[str]:
    """Name everything that isn't as it must be."""
    counts = result.imported
    expected = {
        "state": (result.state, "complete"),
        "mailed": (result.mailed, sum(tiers)),
        "sum of the waves": (sum(wave["mailed"] for wave in result.waves), sum(tiers)),
        "waves": (tuple(wave["mailed"] for wave in result.waves), tiers),
        "duplicates": (result.duplicates, 0),
        "strangers": (result.strangers, 0),
        "crashes": (result.crashes, 1),
        "gate trips": (result.gate_trips, 1),
        "unconfirmed": (result.unconfirmed, 1),
        "same run": (result.continued_same_run, True),
        "rows": (counts["rows_read"], crowd.rows),
        "added": (counts["added"], len(crowd.people)),
        "repeated": (counts["repeated"], crowd.duplicates),
        "repaired": (counts["repaired"], crowd.repaired),
        "rejected": (counts["rejected"], crowd.rejected),
    }
    return [f"{name} is {seen}, not {right}" for name, (seen, right) in expected.items() if seen != right]
