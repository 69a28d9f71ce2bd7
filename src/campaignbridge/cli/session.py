"""One command's work with the bridge: opened late, closed always, asked by who is logged in."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES

if TYPE_CHECKING:
    from campaignbridge import Actor, Bridge


@dataclass(frozen=True, slots=True)
class Session:
    """The open bridge and who asks."""

    bridge: "Bridge"
    actor: "Actor"


@contextmanager
def session(*, quiet: bool = False) -> Iterator[Session]:
    """Open the chosen store for one command; say so when it is a paused copy, unless `quiet`."""
    from campaignbridge import open_bridge, with_all_rights

    with open_bridge(CHOICES.database) as bridge:
        here = Session(bridge, with_all_rights(f"cli:{login()}"))
        if not quiet:
            _tell_of_copy(here)
        yield here


def _tell_of_copy(here: Session) -> None:
    standing = here.bridge.standing(actor=here.actor)
    if standing is not None and standing.paused:
        terminal.mark(
            "!", "This is a copy of another installation. It is paused and sends nothing.", stderr=True
        )


def login() -> str:
    """Return who is logged in, in letters that are safe in a log."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = ""
    return "".join(letter for letter in name if letter.isalnum() or letter in "._-")[:64] or "unknown"


def version() -> str:
    """Return the version of this program."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("campaignbridge")
    except PackageNotFoundError:
        return "0 (not installed)"


def new_key() -> str:
    """Return a fresh idempotency key."""
    from campaignbridge.host import HostChance

    return f"k_{HostChance().token(10)}"
