"""The reference of commands, exit codes and error codes, written from the code itself.

`campaignbridge reference > docs/cli.md` after a change of a command; a test compares the two.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import typer

INTRODUCTION = """# The command line

Written by `campaignbridge reference` from the code; a test holds the two together. The [README](../README.md) has
the walk from a file to a delivery.

stdout has the answer; questions, progress and hints go to stderr. With `--json` there is exactly one document on one
line of stdout, for success and error alike, and nothing is asked. Times in it are epoch milliseconds, UTC. An error
is an RFC 9457 object: `type`, `title`, `status`, `code`, `detail`, `todo`, `safe_to_repeat`, and what else is known
of it (`retry_after`, `version`, `attempt`, `provider`, `key`). Keys are only ever added. `--watch --json`
prints one document for each change."""


def reference(context: typer.Context) -> None:
    """Print this reference as Markdown."""
    print("\n".join(lines(context.find_root().command)))


def lines(root: Any) -> Iterator[str]:
    """Yield the whole reference of the program's tree of commands."""
    yield from INTRODUCTION.split("\n")
    yield from _exit_codes()
    yield from _shared()
    yield from ("", "## Commands")
    for path, command in commands(root):
        yield from _command(path, command)
    yield from _codes()


def commands(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command that people use, with its path."""
    for name, command in root.commands.items():
        if command.hidden:
            continue
        below = getattr(command, "commands", None)
        if below is None:
            yield name, command
        else:
            yield from ((f"{name} {inner}", one) for inner, one in below.items() if not one.hidden)


def _exit_codes() -> Iterator[str]:
    from campaignbridge.cli.exits import MEANINGS

    yield from ("", "## Exit codes", "", "| code | meaning |", "|---|---|")
    yield from (f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())


def _shared() -> Iterator[str]:
    from campaignbridge.cli.command import shared_params

    yield from ("", "## Flags of every command", "", "They may stand anywhere.", "", *_HEAD)
    yield from (_row(param) for param in shared_params())


def _command(path: str, command: Any) -> Iterator[str]:
    from campaignbridge.cli.command import shared_params

    known = {param.name for param in shared_params()}
    own = [param for param in command.params if param.name not in known]
    told, example = _help(command)
    yield from ("", f"### {path}", "", *told)
    if example:
        yield from ("", "```sh", *example, "```")
    if own:
        yield from ("", *_HEAD)
        yield from (_row(param) for param in own)


def _help(command: Any) -> tuple[list[str], list[str]]:
    text, _, example = inspect.cleandoc(command.help or "").partition("\b\n")
    return text.rstrip().split("\n"), inspect.cleandoc(example).split("\n") if example else []


_HEAD = ("| argument or flag | variable | |", "|---|---|---|")


def _row(param: Any) -> str:
    flags = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts] if name.startswith("-"))
    metavar = param.metavar or (param.name.upper() if not flags else "")
    name = f"{flags} {metavar}".strip() if flags else f"`{metavar}`"
    variable = f"`{param.envvar}`" if param.envvar else ""
    needed = " Needed." if param.required else ""
    return f"| {name} | {variable} | {param.help or ''}{needed} |"


def _codes() -> Iterator[str]:
    from campaignbridge.cli.exits import ENDINGS
    from campaignbridge.cli.pages import PAGES

    yield from ("", "## Error codes", "", "| code | exit | HTTP | heading |", "|---|---|---|---|")
    yield from (f"| `{code}` | {end.exit} | {end.status} | {end.title} |" for code, end in ENDINGS.items())
    yield from ("", "## Help pages", "", "`campaignbridge help CODE` prints one of them.")
    for code, page in PAGES.items():
        yield from ("", f"### {code}", "", page.means, "", f"By itself: {page.itself}", "")
        yield from (f"- {line}" for line in page.you)
