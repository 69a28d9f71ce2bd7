"""`connections`: which account a key opens. The key itself stays in its environment variable."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.connection import Connection

connections = group("Connect accounts at providers. A key is never stored: a variable names it.")


@connections.command("add", cls=Command)
def add(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What you call it, such as acme-eu.")],
    provider: Annotated[
        str, typer.Option(metavar="NAME", envvar="CAMPAIGNBRIDGE_PROVIDER", help="mailchimp")
    ],
    key_env: Annotated[
        str,
        typer.Option(metavar="VAR", envvar="CAMPAIGNBRIDGE_KEY_ENV", help="The variable that holds the key."),
    ],
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="CAMPAIGNBRIDGE_BASE_URL", help="Another API root, such as a sandbox's."
        ),
    ] = None,
) -> None:
    """Add a connection, if its key opens an account now.

    \b
      campaignbridge connections add news --provider mailchimp --key-env MAILCHIMP_KEY
      campaignbridge connections add sandbox --provider mailchimp \\
        --key-env SANDBOX_KEY --base-url http://127.0.0.1:8025/3.0
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    with session() as here:
        added = here.bridge.add_connection(
            label, provider=provider, key_env=key_env, base_url=base_url, actor=here.actor
        )
    terminal.answer(_document(added), [])
    terminal.mark("ok", f"{added.label} opens {_account(added)}, {_place(added)}.")
    terminal.hint("      campaignbridge campaigns create --help")


@connections.command("verify", cls=Command)
def verify(
    connection: Annotated[str, typer.Argument(metavar="LABEL", help="Its label or id.")],
) -> None:
    """Read which account the key opens. What had stopped on a refused key goes on."""
    with session() as here:
        seen = here.bridge.verify_connection(connection, actor=here.actor)
    terminal.answer(_document(seen), [])
    terminal.mark("ok", f"{seen.label} opens {_account(seen)}, {_place(seen)}.")


@connections.command("list", cls=Command)
def list_() -> None:
    """List the connections."""
    with session() as here:
        found = here.bridge.list_connections(actor=here.actor)
    document = {"connections": [_document(one) for one in found], "next_cursor": None}
    if not found:
        terminal.answer(document, [])
        terminal.hint("No connections yet. A connection is an account at a provider.")
        terminal.hint("campaignbridge connections add --help")
        return
    rows = [("connection", "label", "account", "key in", "key")]
    rows += [
        (
            one.id,
            terminal.shortened(one.label, 14),
            terminal.shortened(_account(one), 22),
            one.key_env,
            _key(one),
        )
        for one in found
    ]
    terminal.answer(document, terminal.columns(list(rows)))


def _document(one: "Connection") -> dict[str, Any]:
    return {
        "connection": one.id,
        "label": one.label,
        "provider": one.provider,
        "account": one.account,
        "account_label": one.account_label,
        "base_url": one.base_url,
        "key_env": one.key_env,
        "verified_at": one.verified_at,
        "refused_at": one.refused_at,
        "refused_code": one.refused_code,
    }


def _account(one: "Connection") -> str:
    return terminal.clean(one.account_label or one.account or "unknown")


def _place(one: "Connection") -> str:
    from campaignbridge.cli.portrait import place_of, provider_label

    return f"{provider_label(one)}, {place_of(one)}"


def _key(one: "Connection") -> str:
    if one.refused_at is not None:
        return "refused"
    return "works" if one.verified_at is not None else "unchecked"
