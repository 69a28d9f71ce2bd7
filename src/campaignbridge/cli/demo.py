"""`campaignbridge demo`: a worker is killed at the worst moment, and still one delivery comes of it."""

import time
from dataclasses import asdict, replace
from typing import Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.exits import BUG, DONE, PERSON

PAUSE_S = 0.1


def demo() -> int:
    """Show one delivery coming out of a worker killed at the worst moment.

    No account, no service: it starts a sandbox provider and a temporary store (SQLite, or a schema of its own
    in the PostgreSQL database that --database names), kills the process that sends between the provider's
    acceptance and our commit, and lets another one settle it. Under 30 seconds.

    \b
      campaignbridge demo
      campaignbridge demo --json
      campaignbridge demo --database postgresql://me@localhost/test
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.cli.demo_play import play
    from campaignbridge.cli.demo_store import temporary_store

    database = CHOICES.database if _is_url(CHOICES.database) else None
    with temporary_store(database) as settings:
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
        "Next    campaignbridge sandbox            a provider to play with, on this machine",
        "        campaignbridge campaigns --help   what can be done with a campaign",
    )
    return DONE if good else BUG


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
