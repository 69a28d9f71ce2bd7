"""`jobs`: the background work, for people. Ids and codes only: what a job carries is never shown."""

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import age, clock_time
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.health import Health

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
    cursor: Annotated[
        str, typer.Option(metavar="CURSOR", help="Go on after this one: next_cursor of the page before.")
    ] = "",
) -> None:
    """List jobs and what the queue is like. Queued ones by when they are due, ended ones by when they ended."""
    with session() as here:
        wanted = state.value if state else ""
        rows = here.bridge.jobs(actor=here.actor, state=wanted, most=limit, cursor=cursor)
        health = here.bridge.health(actor=here.actor)
    items = [{name: value for name, value in row.items() if name != "cursor"} for row in rows]
    following = rows[-1]["cursor"] if len(rows) == limit else None
    table = [("job", "type", "state", "tries", "due", "error"), *(_row(one) for one in items)]
    lines = [*_figures(health), "", *terminal.columns(table)] if items else []
    terminal.answer({"jobs": items, "next_cursor": following, "queue": _document(health)}, lines)
    if not items:
        terminal.hint("No jobs.", *_figures(health))
    elif following:
        terminal.hint("", f"      More: --cursor {following}")


@jobs.command("show", cls=Command)
def show(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job, such as job_01k9zk4m7k2f9x0q.")],
) -> None:
    """Show one job: where it stands, what happens next by itself, and whether it can be run again."""
    with session() as here:
        item = dict(here.bridge.job(job, actor=here.actor))
    now = item["now"]
    rows = [
        ("Job", item["id"]),
        ("Type", item["type"]),
        ("Target", item["target"]),
        ("State", _state(item)),
        ("Tries", f"{item['attempts']} of {item['max_attempts']}"),
        ("Made", clock_time(item["created_at"], now)),
        ("Due", clock_time(item["run_at"], now)),
        ("Next", _next(item)),
        ("Last error", item["last_error"] or "none"),
        ("Run again", "campaignbridge jobs requeue " + item["id"])
        if item["requeue"]["allowed"]
        else ("Run again", f"no: {item['requeue']['why_not']}"),
    ]
    terminal.answer(item, terminal.facts([(name, terminal.clean(value)) for name, value in rows]))


@jobs.command("requeue", cls=Command)
def requeue(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A failed or dead job.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> None:
    """Queue a failed or dead job again, with all its tries; only of a kind that is safe to repeat."""
    with session() as here:
        found = here.bridge.job(job, actor=here.actor)
        if found["requeue"]["allowed"] and not yes:
            terminal.hint(f"{found['type']} of {found['target']}: {_state(dict(found))}.", "")
            require_yes("Run it again?", command=f"campaignbridge jobs requeue {job} --yes")
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
        one["last_error"] or "",
    )


def _state(item: dict[str, Any]) -> str:
    now = item["now"]
    match item["state"]:
        case "queued" if item["run_at"] > now:
            return f"waiting until {clock_time(item['run_at'], now)}"
        case "queued":
            return f"waiting, due for {age(now - item['run_at'])}"
        case "claimed" if item["lease_until"] < now:
            return f"its worker {item['holder']} is gone since {clock_time(item['lease_until'], now)}"
        case "claimed":
            return f"running on {item['holder']}"
        case "dead":
            return f"gave up after {item['attempts']} tries, {clock_time(item['finished_at'], now)}"
        case "failed":
            return f"refused for good, {clock_time(item['finished_at'], now)}"
        case _:
            return f"done, {clock_time(item['finished_at'], now)}"


def _next(item: dict[str, Any]) -> str:
    match item["state"]:
        case "queued":
            return (
                "the next worker that asks runs it" if item["run_at"] <= item["now"] else "nothing until then"
            )
        case "claimed" if item["lease_until"] < item["now"]:
            return "the next worker that asks takes it over"
        case "claimed":
            return f"its lease ends at {clock_time(item['lease_until'], item['now'])} unless it is renewed"
        case _:
            return "nothing by itself"


def _figures(health: "Health") -> list[str]:
    """Return the queue in two lines at most."""
    oldest = "none" if health.due_since is None else age(health.now - health.due_since)
    line = f"Oldest waiting: {oldest}. {health.waiting:,} waiting, {health.claimed:,} claimed"
    lines = [f"{line}, {health.stopped:,} left behind." if health.stopped else f"{line}."]
    bad = [f"{name} {code} {n:,}" for name in ("dead", "failed") for code, n in getattr(health, name)]
    return [*lines, f"Given up: {', '.join(bad[:5])}."] if bad else lines


def _document(health: "Health") -> dict[str, Any]:
    """Return the queue for a program."""
    from campaignbridge.flows.health import warnings

    facts = asdict(health)
    return {
        **facts,
        "dead": dict(health.dead),
        "failed": dict(health.failed),
        "last_tick": health.last_tick,
        "last_claim": health.last_claim,
        "warnings": list(warnings(health)),
    }
