"""`jobs`: the background work, for people."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.session import session

jobs = group("Look at background work, and queue again what gave up.")


class Wanted(StrEnum):
    """Which jobs to list."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"


@jobs.command("list", cls=Command)
def list_(
    state: Annotated[Wanted | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=500, help="How many at most, newest first.")
    ] = 50,
) -> None:
    """List the newest jobs."""
    with session() as here:
        rows = here.bridge.jobs(actor=here.actor, state=state.value if state else "", most=limit)
    items = [dict(row) for row in rows]
    table = [("job", "type", "state", "tries", "due"), *(_row(one) for one in items)]
    terminal.answer({"jobs": items, "next_cursor": None}, terminal.columns(table) if items else [])
    if not items:
        terminal.hint("No jobs.")


@jobs.command("show", cls=Command)
def show(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job, such as job_7k2f9x0q1z3m.")],
) -> None:
    """Show one job."""
    with session() as here:
        found = here.bridge.job(job, actor=here.actor)
    item = dict(found)
    now = item["now"]
    lease = (
        f"{item['holder']}, until {clock_time(item['lease_until'], now)}" if item["lease_until"] else "nobody"
    )
    rows = [
        ("Job", item["id"]),
        ("Type", item["type"]),
        ("Target", item["target"]),
        ("State", item["state"]),
        ("Tries", f"{item['attempts']} of {item['max_attempts']}"),
        ("Due", clock_time(item["run_at"], now)),
        ("Held by", lease),
        ("Last error", item["last_error"] or "none"),
    ]
    terminal.answer(item, terminal.facts([(name, terminal.clean(value)) for name, value in rows]))


@jobs.command("requeue", cls=Command)
def requeue(job: Annotated[str, typer.Argument(metavar="JOB", help="A failed or dead job.")]) -> None:
    """Queue a failed or dead job again; only of a kind that is safe to repeat."""
    with session() as here:
        here.bridge.requeue_job(job, actor=here.actor)
    terminal.answer({"job": job, "state": "queued"}, [])
    terminal.mark("ok", f"{job} is queued again.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["id"],
        one["type"],
        one["state"],
        f"{one['attempts']}/{one['max_attempts']}",
        clock_time(one["run_at"], one["now"]),
    )
