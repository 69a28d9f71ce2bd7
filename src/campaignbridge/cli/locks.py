"""`locks`: who works on what now, and what a process that is gone left behind."""

import shlex
from typing import Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes, typed_fact
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.session import session

locks = group("Look at locks, and free one that was left behind.")
_STATES = {"left_behind": "left behind", "overlong": "held too far ahead"}


@locks.command("list", cls=Command)
def list_() -> None:
    """List what is held now or was left behind."""
    with session() as here:
        items = [dict(row) for row in here.bridge.locks(actor=here.actor)]
    table = [("lock", "operation", "by", "on", "fence", "since", "until"), *(_row(one) for one in items)]
    held = sum(one["state"] == "held" for one in items)
    lines = [f"{held} held, {len(items) - held} left behind.", "", *terminal.columns(table)] if items else []
    terminal.answer({"locks": items, "next_cursor": None}, lines)
    if not items:
        terminal.hint("Nothing is locked.")
    elif held < len(items):
        terminal.hint("", "What is left behind is taken over by the next operation, which says so.")


@locks.command("release", cls=Command)
def release(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The lock, such as campaign:cmp_7k2f9x0q1z3m.")],
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why, in 10 to 300 characters; kept in the audit trail.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask, if its time is over.")] = False,
    confirm_fence: Annotated[
        int | None, typer.Option(metavar="N", help="The fence that you saw, for one held too far ahead.")
    ] = None,
) -> None:
    """Free a lock whose time is over. One that is still held can't be taken from its holder.

    Waiting costs five minutes at most, and the next operation takes such a lock over by itself. One that is
    held further ahead than any lock lasts (a clock had jumped) is freed by its fence: type it, or pass it
    with --confirm-fence.

    \b
      campaignbridge locks release campaign:cmp_7k2f9x0q1z3m \\
        --reason "worker-3 was switched off" --yes
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge import Refusal

    with session() as here:
        found = next((row for row in here.bridge.locks(actor=here.actor) if row["key"] == key), None)
        if found is None:
            raise Refusal(
                f"Nobody holds {terminal.clean(key)[:80]}.",
                code="not_found",
                todo="locks list shows what is held.",
            )
        fence = found["fence"] if confirm_fence is None else confirm_fence
        again = (
            f"campaignbridge locks release {shlex.quote(terminal.clean(key))} --reason {shlex.quote(reason)}"
        )
        if found["state"] == "overlong" and confirm_fence is None:
            terminal.hint("Free a lock that is held too far ahead.", "", *_facts(found, reason), "")
            typed = typed_fact(
                "Type its fence to free it, Ctrl-C to stop: ",
                command=f"{again} --confirm-fence {fence}",
                fence=fence,
            )
            fence = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 19 else -1
        elif found["state"] == "left_behind" and confirm_fence is None and not yes:
            terminal.hint("Free a lock that was left behind.", "", *_facts(found, reason), "")
            require_yes("Free it?", command=f"{again} --yes")
        here.bridge.release_lock(key, fence=fence, reason=reason, actor=here.actor)
    terminal.answer({"lock": key, "fence": fence, "released": True}, [])
    terminal.mark("ok", f"{terminal.clean(key)} is free.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    now = one["now"]
    until = _STATES.get(one["state"]) or clock_time(one["held_until"], now)
    return (
        one["key"],
        one["operation"] or "",
        terminal.clean(one["actor"] or "by itself"),
        terminal.shortened(one["host"], 20),
        str(one["fence"]),
        clock_time(one["acquired_at"], now),
        until,
    )


def _facts(one: Any, reason: str) -> list[str]:
    now = one["now"]
    rows = [
        ("Lock", one["key"]),
        ("Doing", one["operation"] or "nothing"),
        ("By", f"{one['actor'] or 'a background check'}, {one['holder']}"),
        ("Since", clock_time(one["acquired_at"], now)),
        ("Until", f"{clock_time(one['held_until'], now)}, {_STATES.get(one['state'], 'held')}"),
        ("Fence", str(one["fence"])),
        ("Reason", reason),
    ]
    return terminal.facts([(name, terminal.clean(value)) for name, value in rows], indent=2)
