"""`connections webhook`: the address that a provider may post to. It is printed once."""

import sys
from typing import Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.connections import MOST_BYTES
from campaignbridge.cli.session import session

EVENTS = {
    "mailchimp": "campaign, unsubscribe, cleaned and upemail",
    "resend": "email.sent, .delivered, .bounced, .complained, .suppressed and contact.updated, .deleted",
}


def webhook(
    connection: Annotated[str, typer.Argument(metavar="LABEL", help="Its label or id.")],
    public_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="CAMPAIGNBRIDGE_PUBLIC_URL",
            help="Where providers reach `serve` from outside.",
        ),
    ] = "http://127.0.0.1:8080",
    replace: Annotated[bool, typer.Option("--replace", help="Shut the address before, at once.")] = False,
    signing_key_stdin: Annotated[
        bool,
        typer.Option(
            "--signing-key-stdin", help="Keep the provider's signing key, from stdin; make no address."
        ),
    ] = False,
) -> None:
    """Make the address that a provider may post to, and print it once.

    Register it at the provider while `serve` runs, for each list and once only. If the provider shows a signing
    key then, hand that over: from then on what isn't signed counts for nothing.

    \b
      campaignbridge connections webhook news --public-url https://hooks.example.org
      campaignbridge connections webhook news --signing-key-stdin < signing.key
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    if signing_key_stdin:
        _sign(connection)
        return
    with session() as here:
        opened = here.bridge.open_webhook(
            connection, public_url=public_url, replace=replace, actor=here.actor
        )
    url = opened.url.reveal()
    terminal.answer({"connection": opened.connection.id, "url": url, "replaced": opened.replaced}, [url])
    terminal.mark("ok", f"{opened.connection.label} has a new address for webhooks. It is not shown again.")
    if opened.replaced:
        terminal.hint("      The one before is shut.")
    events = EVENTS.get(opened.connection.provider, "the events that tell of campaigns and people")
    terminal.hint(f"      Register it at the provider, for {events}, while this runs:")
    terminal.hint("      campaignbridge serve")


def _sign(connection: str) -> None:
    from campaignbridge.domain.connection import Secret

    key = Secret(sys.stdin.buffer.read(MOST_BYTES + 1).decode("utf-8", "replace").strip())
    with session() as here:
        seen = here.bridge.sign_webhook(connection, signing_key=key, actor=here.actor)
    terminal.answer({"connection": seen.id, "signed": True}, [])
    terminal.mark("ok", f"Only webhooks count for {seen.label} now that the provider signed.")
