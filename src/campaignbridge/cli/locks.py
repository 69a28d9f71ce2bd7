"""`locks`: who works on what now, and what a process that is gone left behind."""

from typing import Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.session import session

locks = group("Look at locks, and free one that was left behind.")


@locks.command("list", cls=Command)
def list_() -> None:
    """List what is held now or was left behind."""
    with session() as here:
        rows = here.bridge.locks(actor=here.actor)
    items = [dict(row) for row in rows]
    table = [("lock", "operation", "by", "state"), *(_row(one) for one in items)]
    terminal.answer({"locks": items, "next_cursor": None}, terminal.columns(table) if items else [])
    if not items:
        terminal.hint("Nobody holds anything.")


@locks.command("release", cls=Command)
def release(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The lock, such as campaign:cmp_7k2f9x0q1z3m.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept in the audit trail.")],
) -> None:
    """Free a lock whose time is over. One that is still held can't be taken from its holder."""
    with session() as here:
        here.bridge.release_lock(key, reason=reason, actor=here.actor)
    terminal.answer({"lock": key, "released": True}, [])
    terminal.mark("ok", f"{terminal.clean(key)} is free.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    over = one["held_until"] < one["now"]
    state = "left behind" if over else f"until {clock_time(one['held_until'], one['now'])}"
    return (one["key"], one["operation"] or "", terminal.clean(one["actor"] or "by itself"), state)
