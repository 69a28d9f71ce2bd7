"""`init`: a settings file, a key ring and a store to begin with."""

import os
from typing import Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES

RING_FILE = "campaignbridge.secret"


def init(
    secret_file: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            envvar="CAMPAIGNBRIDGE_SECRET_FILE",
            help="Where the key ring goes. Never overwritten.",
        ),
    ] = RING_FILE,
) -> None:
    """Write campaignbridge.toml and a fresh key ring here, and make the store. Overwrites nothing.

    \b
      campaignbridge init
      campaignbridge init --database postgresql://me@db.example/mail
      campaignbridge init --secret-file ~/.config/campaignbridge.secret
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.installing import make_installation
    from campaignbridge.settings import DEFAULT_FILE, SETTINGS_VARIABLE, from_environment, place_of_store

    # A settings file that is there is refused below, so none of it is read here.
    outside = {name: text for name, text in os.environ.items() if name != SETTINGS_VARIABLE}
    settings = from_environment(outside, database=CHOICES.database)
    made = make_installation(
        settings,
        settings_file=os.environ.get(SETTINGS_VARIABLE) or DEFAULT_FILE,
        secret_file=os.path.expanduser(secret_file),  # noqa: PTH111  a name as it was typed
    )
    document = {
        "settings": made.settings_file,
        "secret_file": made.secret_file,
        "key_id": made.key_id,
        "database": place_of_store(settings),
        "schema": made.schema,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"{made.settings_file}: what this installation works with. Look it through.")
    terminal.mark("ok", f"{made.secret_file}: seals the keys that you store. Keep a copy apart from backups.")
    terminal.mark("ok", f"{terminal.clean(place_of_store(settings))}: the store, schema {made.schema}.")
    terminal.hint("      campaignbridge connections add --help")
