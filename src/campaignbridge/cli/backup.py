"""`db backup`, `db restore` and `db adopt`: copies of the store, and which one is real."""

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes, typed_fact
from campaignbridge.cli.moments import instant
from campaignbridge.cli.schema import chosen_settings
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.installation import Standing
    from campaignbridge.store.backup import Copy

NEXT = 'campaignbridge db adopt --reason "..."'


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to make.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy the store to a file, while workers go on. SQLite only.

    The copy is one moment of the store, checked and complete, readable by you alone. Wherever it is put back it
    starts paused. Sealed keys stay sealed: keep the secret file apart from it.
    """
    from campaignbridge.installing import back_up_store

    copy = back_up_store(chosen_settings(), file, replace=force)
    _tell(copy, f"Copied to {terminal.clean(file)}, and checked", {})


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that db backup made.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before a store is moved aside.")] = False,
) -> None:
    """Put a backup in the store's place. It starts paused. SQLite only.

    A store that is there is kept under another name, never deleted. Refused while anybody uses it.
    """
    from campaignbridge.installing import restore_store

    settings = chosen_settings()
    if not settings.on_postgres and os.path.lexists(settings.database) and not yes:
        place = terminal.clean(settings.database)
        require_yes(
            f"Move the store {place} aside and put {terminal.clean(file)} in its place?",
            command=f"campaignbridge db restore {terminal.clean(file)} --yes",
        )
    done = restore_store(settings, file)
    _tell(
        done.copy,
        f"Restored to {terminal.clean(done.copy.path)}, paused",
        {"kept": done.kept, "paused": True},
    )
    if done.kept:
        terminal.hint(f"      The store that was there is kept: {terminal.clean(done.kept)}")
    terminal.hint("      It sends nothing until you make it the real one:", f"      {NEXT}")


def _tell(copy: "Copy", what: str, more: dict[str, object]) -> None:
    document = {
        "file": copy.path,
        "bytes": copy.bytes,
        "schema": copy.schema,
        "campaigns": copy.campaigns,
        "installation": copy.installation,
        **more,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"{what}: {copy.bytes:,} bytes, schema {copy.schema}, {copy.campaigns:,} campaigns.")


def adopt(
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why this is the real one now, in 10 to 300 characters; kept.")
    ],
    confirm_installation: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the installation that you believe this is.")
    ] = None,
) -> None:
    """Make a paused copy the real one. Only if no other one is in use: two that act mail people twice.

    It keeps its installation id, by which drafts are found at the provider. Whatever moves or isn't confirmed is
    looked at again soon.
    """
    with session(quiet=True) as here:
        standing = here.bridge.standing(actor=here.actor)
        confirmed = confirm_installation
        if confirmed is None and standing is not None and standing.paused:
            confirmed = _ask(standing, reason)
        done = here.bridge.adopt(reason=reason, confirmed=confirmed or "", actor=here.actor)
    looked = (
        f"{done.looked_at:,} campaigns are looked at again"
        if done.looked_at
        else "nothing has to be looked at"
    )
    terminal.answer({"installation": done.installation, "paused": False, "looked_at": done.looked_at}, [])
    terminal.mark("ok", f"{done.installation} lives here now; {looked}.")
    terminal.hint("      campaignbridge worker")


def _ask(standing: "Standing", reason: str) -> str:
    from campaignbridge.domain.installation import reason_in_words

    kind = standing.place.kind if standing.place else "sqlite"
    rows = [
        ("Installation", standing.id),
        ("Paused", f"since {instant(standing.paused_since or 0, None)}"),
        ("Why", f"{reason_in_words(standing.paused_reason or '', kind)}"),
    ]
    if standing.place is not None:
        rows.append(("Lived at", terminal.clean(standing.place.path)))
    opening = "Make this copy the real one. If the original still runs, people can be mailed twice."
    terminal.hint(opening, "", *terminal.facts(rows, indent=2, column=14), "")
    return typed_fact(
        "Type the installation's id to adopt it, Ctrl-C to stop: ",
        command=f"campaignbridge db adopt --reason {shlex.quote(terminal.clean(reason))} "
        f"--confirm-installation {standing.id}",
        installation=standing.id,
    )
