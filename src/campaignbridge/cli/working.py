"""`worker` and `tick`: what does the looking in a person's place."""

import signal
from types import FrameType
from typing import Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.session import Session, session


def worker(
    threads: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=32, envvar="CAMPAIGNBRIDGE_THREADS", help="How many jobs at once."
        ),
    ] = 2,
) -> None:
    """Work until stopped: look at what moves, settle what is open.

    Any number of workers may share a PostgreSQL store. Ctrl-C or SIGTERM finishes what runs and gives back
    what hadn't begun. Its log is on stderr.
    """
    from campaignbridge.engine.runtime import Runtime

    start_log()
    with session(quiet=True) as here:
        require_original(here)
        runtime = Runtime(here.bridge.worker, threads=threads)

        def stop(_signal: int, _frame: FrameType | None) -> None:
            runtime.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)  # from here on, before the runtime listens itself
        terminal.hint(f"Working with {threads} threads. Ctrl-C stops after what runs.")
        runtime.run()
    terminal.answer({"stopped": True}, ["Stopped."])


def tick(
    batch: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=1000, envvar="CAMPAIGNBRIDGE_BATCH", help="How many jobs at most."
        ),
    ] = 10,
) -> None:
    """Run what is due, once. Meant for cron, once a minute; two at a time are harmless."""
    start_log()
    with session(quiet=True) as here:
        done = here.bridge.tick(batch=batch)
        if done.paused:
            require_original(here)
    jobs = "1 job" if done.ran == 1 else f"{done.ran} jobs"
    terminal.answer(
        {"ran": done.ran, "queued": done.queued, "purged": done.purged},
        [f"Ran {jobs}, cleared {done.purged} old ones away."],
    )


def require_original(here: Session) -> None:
    """Refuse to start on a paused copy: nothing could be done, and only a person can change that."""
    from campaignbridge.flows.refusals import copy_paused

    standing = here.bridge.standing(actor=here.actor)
    if standing is not None and standing.paused:
        raise copy_paused(standing)


def start_log() -> None:
    """Send the log to stderr; with --json only if asked for, since stderr is then empty."""
    import logging

    from campaignbridge.observe import LOG, to_stderr

    if CHOICES.json and not CHOICES.verbose:
        LOG.addHandler(logging.NullHandler())
    else:
        to_stderr(verbose=CHOICES.verbose)
