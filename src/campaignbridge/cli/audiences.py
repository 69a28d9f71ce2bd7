"""`audiences`: our own people, and what a provider offers to choose from. Only --refresh contacts it."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import contacts, people, terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.moments import clock_time, dated
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

audiences = group("Bring people in, keep them out; look at what a provider offers.")
audiences.command("import", cls=Command)(contacts.import_)
audiences.command("suppress", cls=Command)(people.suppress)
audiences.command("unsuppress", cls=Command)(people.unsuppress)
audiences.command("export", cls=Command)(people.export)
audiences.command("erase", cls=Command)(people.erase)


@audiences.command("list", cls=Command)
def list_(
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="LABEL",
            envvar="CAMPAIGNBRIDGE_AT",
            help="List those of a connection's account at the provider instead.",
        ),
    ] = None,
    refresh: Refresh = False,
) -> None:
    """List our own audiences; with --at, those of a connection's account."""
    if at is None:
        if refresh:
            from campaignbridge import Refusal

            raise Refusal(
                "Our own audiences are read nowhere.", code="usage", todo="Name a connection: --at LABEL"
            )
        _ours()
        return
    heads = ("audience", "contacts", "name")
    _show("audiences", at, "", heads, lambda one: (one.ref, _many(one.contacts), one.name), refresh)


def _ours() -> None:
    with session() as here:
        found = here.bridge.list_audiences(actor=here.actor)
    shown = "slug name people suppressed created_at imported_at finished_at rows_read added merged unchanged rejected"
    document = {
        "audiences": [{name: one[name] for name in shown.split()} for one in found],
        "next_cursor": None,
    }
    rows: list[tuple[str, ...]] = [("audience", "people", "suppressed", "last import")]
    rows += [(one["slug"], f"{one['people']:,}", f"{one['suppressed']:,}", _last(one)) for one in found]
    terminal.answer(document, terminal.columns(rows) if found else [])
    if not found:
        terminal.hint("No contacts yet. Bring a CSV, or list an audience at a provider:")
        terminal.hint("campaignbridge audiences import FILE --audience SLUG")
        terminal.hint("campaignbridge audiences list --at LABEL")


def _last(one: Any) -> str:
    if one["imported_at"] is None:
        return "none"
    stopped = "" if one["finished_at"] is not None else ", stopped"
    return f"{dated(one['imported_at'], seconds=False)}, {one['rows_read']:,} rows{stopped}"


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
