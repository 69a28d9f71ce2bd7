"""`campaignbridge demo`: workers are killed at the worst moments, and still nobody is mailed twice."""

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.exits import BUG, DONE, PERSON

if TYPE_CHECKING:
    from campaignbridge.settings import Settings

PAUSE_S = 0.1


def demo(
    ramp: Annotated[bool, typer.Option("--ramp", help="Show a ramp of five waves instead.")] = False,
    people: Annotated[
        int,
        typer.Option(
            "--people",
            metavar="N",
            min=2_000,
            max=200_000,
            envvar="CAMPAIGNBRIDGE_PEOPLE",
            help="With --ramp: how many people it mails.",
        ),
    ] = 45_000,
) -> int:
    """Show one delivery coming out of a worker killed at the worst moment.

    No account, no service: it starts a sandbox provider and a temporary store (SQLite, or a schema of its own
    in the PostgreSQL database that --database names), kills the process that sends between the provider's
    acceptance and our commit, and lets another one settle it. Under 30 seconds.

    With --ramp: a messy file of contacts is imported and mailed in five waves over five days, on clocks that
    are moved. A worker is killed in mid-push, an answer is lost, and a bad wave stops the ramp until an operator
    looks. Everybody is mailed once. Under two minutes.

    \b
      campaignbridge demo
      campaignbridge demo --ramp
      campaignbridge demo --json
      campaignbridge demo --database postgresql://me@localhost/test
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.cli.demo_store import temporary_store

    database = CHOICES.database if _is_url(CHOICES.database) else None
    with temporary_store(database) as settings:
        return _play_ramp(settings, people) if ramp else _play(settings)


def _play(settings: "Settings") -> int:
    from campaignbridge.cli.demo_play import play

    played = play(settings)
    result = played.result
    good = result.state == "sent" and result.sends_accepted == 1 and result.duplicates == 0
    word = "ok" if good else "FAIL"
    if CHOICES.json:
        terminal.say_json(asdict(result))
        return DONE if good else BUG
    terminal.answer(None, played.lines)
    terminal.mark(
        word,
        f"{result.state}: {_count(result.sends_accepted, 'send')} accepted, "
        f"{_count(result.duplicates, 'duplicate')}, {_count(result.crashes, 'process')} killed, "
        f"{result.seconds:.1f} s on {result.database}",
    )
    terminal.hint(
        "",
        "Next    campaignbridge demo --ramp        45,000 people in five waves",
        "        campaignbridge sandbox            a provider to play with, on this machine",
        "        campaignbridge campaigns --help   what can be done with a campaign",
    )
    return DONE if good else BUG


def _play_ramp(settings: "Settings", people: int) -> int:
    from campaignbridge.cli.demo_ramp import play

    played = play(settings, people)
    result = played.result
    if CHOICES.json:
        terminal.say_json(asdict(result))
        return BUG if result.wrong else DONE
    terminal.answer(None, played.lines)
    for what in result.wrong:
        terminal.mark("FAIL", what)
    terminal.mark(
        "FAIL" if result.wrong else "ok",
        f"{result.state}: {result.mailed:,} people mailed in {_count(len(result.waves), 'wave')}, "
        f"{_count(result.duplicates, 'duplicate')}, {_count(result.crashes, 'process')} killed, "
        f"{_count(result.unconfirmed, 'answer')} lost, {_count(result.gate_trips, 'gate trip')}, "
        f"{result.seconds:.1f} s on {result.database}",
    )
    return BUG if result.wrong else DONE


def demo_ramp_worker(
    ramp: Annotated[str, typer.Argument(help="The ramp to work for.")],
    clock_offset_ms: Annotated[int, typer.Option(help="How far ahead the store's clock is.")],
    seconds: Annotated[float, typer.Option("--for", help="Give up after so long.")] = 60.0,
) -> int:
    """Tick until a ramp has nothing to do, on a store's clock that is ahead. For the demo only."""
    from campaignbridge import open_bridge
    from campaignbridge.cli.demo_working import work_off
    from campaignbridge.settings import from_environment

    settings = replace(from_environment(database=CHOICES.database), clock_offset_ms=clock_offset_ms)
    with open_bridge(settings=settings) as bridge:
        return DONE if work_off(bridge, ramp, limit_s=seconds) else PERSON


def demo_worker(
    campaign: Annotated[str, typer.Argument(help="The campaign to settle.")],
    clock_offset_ms: Annotated[int, typer.Option(help="How far ahead the store's clock is.")],
    seconds: Annotated[float, typer.Option("--for", help="Give up after so long.")] = 20.0,
) -> int:
    """Tick until a campaign is settled, on a store's clock that is ahead. For the demo only."""
    from campaignbridge import open_bridge, with_all_rights
    from campaignbridge.domain.campaign import TERMINAL
    from campaignbridge.settings import from_environment

    settings = replace(from_environment(database=CHOICES.database), clock_offset_ms=clock_offset_ms)
    until = time.monotonic() + seconds
    with open_bridge(settings=settings) as bridge:
        while True:
            bridge.tick()
            seen = bridge.show(campaign, actor=with_all_rights("cli:demo")).dossier.campaign
            if seen.state in TERMINAL:
                return DONE
            if seen.stopped_reason is not None or time.monotonic() > until:
                return PERSON
            time.sleep(PAUSE_S)


def _is_url(database: str | None) -> bool:
    """Say whether a database server was named; a file of the user's is never touched by the demo."""
    return database is not None and "://" in database


def _count(number: int, noun: str) -> str:
    plural = {"process": "processes"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
