"""`connections`: which account a key opens. A key is never a flag's value, and never printed."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.connection import Connection, Secret

MOST_BYTES = 4096
connections = group("Connect accounts at providers. A key is in a variable, or sealed in the store.")

KeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="VAR", envvar="CAMPAIGNBRIDGE_KEY_ENV", help="The variable that holds the key, now and later."
    ),
]
KeyFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        envvar="CAMPAIGNBRIDGE_KEY_FILE",
        help="Read the key from a file once; keep it sealed.",
    ),
]
KeyStdin = Annotated[bool, typer.Option("--key-stdin", help="Read the key from stdin once; keep it sealed.")]


@connections.command("add", cls=Command)
def add(  # noqa: PLR0917  Typer hands them over by name
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What you call it, such as acme-eu.")],
    provider: Annotated[
        str, typer.Option(metavar="NAME", envvar="CAMPAIGNBRIDGE_PROVIDER", help="mailchimp or resend")
    ],
    key_env: KeyEnv = None,
    key_file: KeyFile = None,
    key_stdin: KeyStdin = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="CAMPAIGNBRIDGE_BASE_URL", help="Another API root, such as a sandbox's."
        ),
    ] = None,
) -> None:
    """Add a connection, if its key opens an account now. On a terminal the key is asked for, unseen.

    \b
      campaignbridge connections add news --provider mailchimp
      campaignbridge connections add news --provider mailchimp --key-file news.key
      campaignbridge connections add sandbox --provider mailchimp \\
        --key-env SANDBOX_KEY --base-url http://127.0.0.1:8025/3.0
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    variable, secret = _key_from(context, key_env, key_file, asked=key_stdin)
    with session() as here:
        added = here.bridge.add_connection(
            label, provider=provider, key_env=variable, secret=secret, base_url=base_url, actor=here.actor
        )
    terminal.answer(_document(added), [])
    terminal.mark(
        "ok", f"{added.label} opens {_account(added)}, {_place(added)}. Its key is {_where(added)}."
    )
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


@connections.command("replace-key", cls=Command)
def replace_key(
    context: typer.Context,
    connection: Annotated[str, typer.Argument(metavar="LABEL", help="Its label or id.")],
    key_env: KeyEnv = None,
    key_file: KeyFile = None,
    key_stdin: KeyStdin = False,
) -> None:
    """Put another key of the same account in place, once it has opened it. What had stopped goes on."""
    variable, secret = _key_from(context, key_env, key_file, asked=key_stdin)
    with session() as here:
        seen = here.bridge.replace_key(connection, key_env=variable, secret=secret, actor=here.actor)
    terminal.answer(_document(seen), [])
    terminal.mark("ok", f"{seen.label} opens {_account(seen)}, {_place(seen)}. Its key is {_where(seen)}.")


@connections.command("disconnect", cls=Command)
def disconnect(
    connection: Annotated[str, typer.Argument(metavar="LABEL", help="Its label or id.")],
) -> None:
    """Forget a connection's key. Refused while a campaign of it moves or isn't confirmed."""
    with session() as here:
        seen = here.bridge.disconnect(connection, actor=here.actor)
    terminal.answer(_document(seen), [])
    terminal.mark(
        "ok", f"{seen.label} has no key any more. The key still works at the provider: revoke it there."
    )
    terminal.hint(f"      campaignbridge connections replace-key {seen.id}")


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
            _where(one),
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
        "key_env": one.variable,
        "key_id": one.sealed.key_id if one.sealed else None,
        "verified_at": one.verified_at,
        "refused_at": one.refused_at,
        "refused_code": one.refused_code,
        "disconnected_at": one.disconnected_at,
    }


def _account(one: "Connection") -> str:
    return terminal.clean(one.account_label or one.account or "unknown")


def _place(one: "Connection") -> str:
    from campaignbridge.cli.portrait import place_of, provider_label

    return f"{provider_label(one)}, {place_of(one)}"


def _where(one: "Connection") -> str:
    if one.variable is not None:
        return terminal.shortened(one.variable, 24)
    return "in the store" if one.sealed else "nowhere"


def _key(one: "Connection") -> str:
    if one.disconnected_at is not None:
        return "disconnected"
    if one.refused_at is not None:
        return "refused"
    return "works" if one.verified_at is not None else "unchecked"


def _key_from(
    context: typer.Context, variable: str | None, file: str | None, *, asked: bool
) -> "tuple[str | None, Secret | None]":
    """Return the variable's name or the key; what stands on the command line wins over the environment."""
    typed = {name for name in ("key_env", "key_file") if _is_typed(context, name)}
    if asked or typed:
        variable = variable if "key_env" in typed else None
        file = file if "key_file" in typed else None
    given = (variable is not None) + (file is not None) + asked
    if given > 1:
        _misused(context, "The key can come from one place only.")
    if variable is not None:
        return variable, None
    if file is not None:
        return None, _read_file(file)
    if asked:
        return None, _stripped(sys.stdin.buffer.read(MOST_BYTES + 1))
    if not terminal.interactive():
        _misused(context, "Can't ask for the key here (no terminal).")
    return None, _ask()


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _misused(context: typer.Context, what: str) -> NoReturn:
    from campaignbridge import Refusal

    raise Refusal(
        what,
        code="usage",
        todo="Give one of --key-env VAR, --key-file FILE and --key-stdin.",
        command=f"{context.command_path} --help",
    )


def _ask() -> "Secret":
    import getpass

    from campaignbridge.domain.connection import Secret

    return Secret(getpass.getpass("The provider's key (it is not shown): ", stream=sys.stderr).strip())


def _read_file(path: str) -> "Secret":
    from campaignbridge.domain.errors import InvalidInput

    try:
        with open(path, "rb") as file:  # noqa: PTH123  also a pipe, such as a shell's <(...)
            return _stripped(file.read(MOST_BYTES + 1))
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "its name can't be one").lower()
        raise InvalidInput(
            f"The key file can't be read ({reason}).", todo="Name a file with the key alone."
        ) from None


def _stripped(data: bytes) -> "Secret":
    from campaignbridge.domain.connection import Secret

    return Secret(data.decode("utf-8", "replace").strip())
