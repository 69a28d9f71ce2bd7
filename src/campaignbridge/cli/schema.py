"""`db`: the store's schema, up and down. Copies of the store are in `backup`."""

from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.command import Command, group

if TYPE_CHECKING:
    from campaignbridge import Settings

db = group("Look at the store, bring its schema up or down, copy it, and put copies back.")


@db.command("upgrade", cls=Command)
def upgrade(
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="N", min=0, help="Stop at this version. [default: the newest]"),
    ] = None,
) -> None:
    """Apply the migrations that are missing. Several at once are harmless: they wait for each other."""
    from campaignbridge.installing import schema_versions, upgrade_schema

    settings = chosen_settings()
    applied = upgrade_schema(settings, target=to)
    version, newest = schema_versions(settings)
    names = ", ".join(applied) or "nothing was missing"
    document = {"applied": applied, "version": version, "newest": newest}
    terminal.answer(document, [f"Schema {version} of {newest}: {names}"])


@db.command("downgrade", cls=Command)
def downgrade(
    to: Annotated[
        int, typer.Option("--to", metavar="N", min=0, help="The version to go back to; 0 empties the store.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> None:
    """Take migrations back. What only the newer schema can hold is lost; make a copy of the store first."""
    from campaignbridge import Refusal
    from campaignbridge.installing import downgrade_schema, schema_versions

    settings = chosen_settings()
    before, _ = schema_versions(settings)
    if to < before and not yes:
        question = f"Take the schema back from {before} to {to}? Data can be lost. [y/N] "
        if not terminal.interactive():
            raise Refusal(
                "Can't ask here (no terminal), and data can be lost.",
                code="confirmation_required",
                todo="To do it from a script:",
                command=f"campaignbridge db downgrade --to {to} --yes",
            )
        if terminal.ask(question).strip().lower() not in ("y", "yes"):
            raise KeyboardInterrupt
    undone = downgrade_schema(settings, target=to)
    version, newest = schema_versions(settings)
    names = ", ".join(undone) or "nothing was newer"
    document = {"undone": undone, "version": version, "newest": newest}
    terminal.answer(document, [f"Schema {version} of {newest}: {names}"])


@db.command("current", cls=Command)
def current() -> None:
    """Print the version of the store's schema."""
    from campaignbridge.installing import schema_versions

    version, newest = schema_versions(chosen_settings())
    terminal.answer({"version": version, "newest": newest}, [f"Schema {version} of {newest}"])


@db.command("check", cls=Command)
def check() -> None:
    """Look through the whole store: its schema, its pages, and that no state is without an owner.

    Exit code 3 if something is wrong. Nothing is changed; a big store takes a while.
    """
    from campaignbridge import Refusal
    from campaignbridge.installing import check_store, schema_versions

    settings = chosen_settings()
    version, newest = schema_versions(settings)
    if version < newest:
        raise Refusal(
            f"The store has schema {version}; this program needs {newest}.",
            code="store_unusable",
            todo="Bring it up:",
            command="campaignbridge db upgrade",
        )
    found = check_store(settings)
    if found.problems:
        raise Refusal(
            f"The store is not sound. {found.problems[0]}",
            code="store_unusable",
            todo="Stop the workers, keep a copy of the store, and send us the report of doctor.",
            command="campaignbridge doctor",
            problems=list(found.problems),
        )
    document = {"ok": True, "version": version, "newest": newest, "counts": dict(found.counts)}
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in found.counts.items())
    terminal.answer(document, [f"Schema {version}, current. Sound: {counts}"])


def chosen_settings() -> "Settings":
    """Return the settings with the store that was chosen."""
    from campaignbridge.settings import from_environment

    return from_environment(database=CHOICES.database)
