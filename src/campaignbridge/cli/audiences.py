"""`audiences`: what a provider offers to choose from, as it was last read. Only --refresh contacts it."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.discovery import Cached
    from campaignbridge.domain.errors import Refusal

Label = Annotated[str, typer.Argument(metavar="LABEL", help="The connection's label or id.")]
Ref = Annotated[str, typer.Argument(metavar="AUDIENCE", help="The audience, such as a1b2c3.")]
Connection = Annotated[
    str,
    typer.Option(
        "--connection",
        metavar="LABEL",
        envvar="CAMPAIGNBRIDGE_CONNECTION",
        help="The connection's label or id.",
    ),
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Read it at the provider now.")]
Cells = Callable[[Any], tuple[str, ...]]

audiences = group("Look at what a provider offers: audiences, segments, merge fields, senders.")


@audiences.command("list", cls=Command)
def list_(connection: Label, refresh: Refresh = False) -> None:
    """List the audiences of a connection's account."""
    heads = ("audience", "contacts", "name")
    _show("audiences", connection, "", heads, lambda one: (one.ref, _many(one.contacts), one.name), refresh)


@audiences.command("segments", cls=Command)
def segments(audience: Ref, connection: Connection, refresh: Refresh = False) -> None:
    """List the parts of an audience that can be mailed by themselves."""
    heads = ("audience", "members", "kind", "name")
    _show(
        "segments",
        connection,
        audience,
        heads,
        lambda one: (one.ref, _many(one.members), one.kind, one.name),
        refresh,
    )


@audiences.command("fields", cls=Command)
def fields(audience: Ref, connection: Connection, refresh: Refresh = False) -> None:
    """List the fields that content for an audience may mention."""
    heads = ("field", "type", "needed", "name")
    _show(
        "merge_fields",
        connection,
        audience,
        heads,
        lambda one: (one.tag, one.type, "yes" if one.required else "no", one.name),
        refresh,
    )


@audiences.command("senders", cls=Command)
def senders(connection: Label, refresh: Refresh = False) -> None:
    """List who mail may come from, as far as the provider tells."""
    heads = ("sender", "verified", "name")
    verified = {True: "yes", False: "no", None: "not told"}
    _show(
        "senders",
        connection,
        "",
        heads,
        lambda one: (one.email or f"*@{one.domain}", verified[one.verified], one.name),
        refresh,
    )


def _show(  # noqa: PLR0917  each says what it lists
    kind: str, connection: str, audience: str, heads: tuple[str, ...], cells: Cells, asked: bool
) -> None:
    from campaignbridge.domain.discovery import Kind

    refusal = None
    with session() as here:
        if asked:
            done = here.bridge.refresh_listing(connection, Kind(kind), audience=audience, actor=here.actor)
            cached, refusal = done.cached, done.refusal
        else:
            cached = here.bridge.listing(connection, Kind(kind), audience=audience, actor=here.actor)
    if refusal is not None and cached.refreshed_at is None:
        raise refusal  # there is no earlier list to go on with
    document = {
        kind: [asdict(one) for one in cached.items],
        "complete": cached.complete,
        "read_at": cached.refreshed_at,
        "stale": cached.stale,
        "refresh_error": None if refusal is None else {"code": refusal.code, "detail": refusal.what},
        "next_cursor": None,
    }
    rows = [tuple(terminal.shortened(cell, 40) for cell in cells(one)) for one in cached.items]
    terminal.answer(document, terminal.columns([heads, *rows]) if rows else [])
    _say(cached, refusal, empty=not rows)


def _say(cached: "Cached[Any]", refusal: "Refusal | None", *, empty: bool) -> None:
    if cached.refreshed_at is None:
        terminal.hint("It was never read. Repeat the command with --refresh.")
        return
    when = clock_time(cached.refreshed_at, cached.now)
    if empty:
        terminal.hint(f"The provider has none (read {when}).")
    elif not cached.complete:
        terminal.mark("warn", f"Read {when}, and not all of them: there may be more.", stderr=True)
    else:
        terminal.hint(f"Read {when}.")
    if refusal is not None:
        terminal.mark("warn", f"This is the earlier list. {refusal.what} {refusal.todo}", stderr=True)
    elif cached.stale:
        terminal.hint("That is a while ago: --refresh reads it anew.")


def _many(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
