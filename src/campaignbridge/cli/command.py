"""Commands and groups that take the shared flags, wherever they stand."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from campaignbridge.cli.choices import CHOICES


def _remember(name: str) -> Callable[[Any], Any]:
    def remember(value: Any) -> Any:
        if value:
            setattr(CHOICES, name, value)
        return value

    return remember


def _flag(name: str, *spellings: str, help: str, metavar: str | None = None) -> Any:  # noqa: A002  Typer's word
    return typer.Option(
        *(spellings or (f"--{name.replace('_', '-')}",)),
        metavar=metavar,
        envvar=f"CAMPAIGNBRIDGE_{name.upper()}",
        help=help,
        expose_value=False,
        callback=_remember(name),
    )


Place = Annotated[
    str | None,
    _flag("database", metavar="PLACE", help="A file or a postgresql:// URL. [default: campaigns.db]"),
]
Json = Annotated[bool, _flag("json", "--json", help="Print one JSON document, also for an error; never ask.")]
NoColor = Annotated[bool, _flag("no_color", "--no-color", help="Print without colour, as NO_COLOR=1 does.")]
NoInput = Annotated[bool, _flag("no_input", "--no-input", help="Never ask; say which flags are missing.")]
Verbose = Annotated[bool, _flag("verbose", "-v", "--verbose", help="Tell more on stderr.")]
Debug = Annotated[bool, _flag("debug", "--debug", help="Show the traceback of a bug.")]


def _shared(  # noqa: PLR0917  Typer hands them over by name
    database: Place = None,
    json: Json = False,
    no_color: NoColor = False,
    no_input: NoInput = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Carry the shared flags."""


@cache
def shared_params() -> tuple[Any, ...]:
    """Return the parameters of the shared flags."""
    carrier = typer.Typer(add_completion=False)
    carrier.command()(_shared)
    return tuple(typer.main.get_command(carrier).params)


class Command(TyperCommand):
    """A command that takes the shared flags beside its own."""

    def __init__(self, name: str | None, *, params: list[Any] | None = None, **settings: Any) -> None:
        super().__init__(name, params=[*(params or []), *shared_params()], **settings)


class Group(TyperGroup):
    """A group of commands, or the program itself, that takes the shared flags."""

    def __init__(self, *, params: list[Any] | None = None, **settings: Any) -> None:
        super().__init__(params=[*(params or []), *shared_params()], **settings)


def group(sentence: str, *, epilog: str | None = None, completion: bool = False) -> typer.Typer:
    """Return an empty group of commands with this sentence as its help."""
    return typer.Typer(
        cls=Group,
        help=sentence,
        epilog=epilog,
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=completion,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
