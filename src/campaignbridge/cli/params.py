"""Arguments and flags that several commands share."""

from typing import Annotated, Any

import typer

from campaignbridge.cli.completing import campaign_ids

Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="The campaign, such as cmp_7k2f9x0q1z3m.", autocompletion=campaign_ids),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Names this request; repeating it is safe. Made if absent."),
]
Version = Annotated[
    int | None,
    typer.Option(
        "--expected-version", metavar="N", help="Refuse if the campaign has changed since this version."
    ),
]


def text(name: str, help: str, *, metavar: str = "TEXT") -> Any:  # noqa: A002  Typer's word
    """Return an option with text that the environment may give, too."""
    return typer.Option(metavar=metavar, envvar=f"CAMPAIGNBRIDGE_{name}", help=help)


Audience = text("AUDIENCE", "The provider's id of a list.", metavar="REF")
Content = typer.Option(metavar="FILE", help="HTML, or Markdown if it ends in .md or .markdown.")
