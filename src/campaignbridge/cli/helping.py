"""`help CODE` and `version`."""

import difflib
from typing import Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.session import version


def help_page(
    code: Annotated[
        str | None,
        typer.Argument(metavar="[CODE]", help="An error code or a reason, such as send_unconfirmed."),
    ] = None,
) -> None:
    """Explain an error code or a reason; without one, list them."""
    from campaignbridge.cli.pages import PAGES

    if code is None:
        terminal.answer({"codes": sorted(PAGES)}, sorted(PAGES))
        return
    page = PAGES.get(code.strip().lower().replace("-", "_"))
    if page is None:
        raise _unknown(code, list(PAGES))
    document = {"code": code, "means": page.means, "itself": page.itself, "you": list(page.you)}
    rows = [("Means", page.means), ("By itself", page.itself)]
    rows += [("" if number else "You can", line) for number, line in enumerate(page.you)]
    terminal.answer(document, [code, "", *terminal.facts(rows)])


def show_version() -> None:
    """Print the version."""
    terminal.answer({"version": version()}, [f"campaignbridge {version()}"])


def _unknown(code: str, known: list[str]) -> Exception:
    from campaignbridge.domain.errors import NotFound

    near = difflib.get_close_matches(code, known, n=1)
    return NotFound(
        f"There is no help page {terminal.shortened(code, 40)}.",
        todo=f"Did you mean {near[0]}?" if near else "See which there are.",
        command=f"campaignbridge help {near[0]}" if near else "campaignbridge help",
    )
