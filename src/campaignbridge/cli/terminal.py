"""Everything that is printed goes through here: answers to stdout, all else to stderr, one console for each."""

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from campaignbridge.cli.choices import CHOICES

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
INDENT = 6
# Controls of terminals (C0, C1), line and paragraph separators, and what turns the direction of writing.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_TONES = {"ok": "green", "warn": "yellow", "FAIL": "red", "?": "magenta", "!": "yellow"}


def clean(text: object) -> str:
    """Return text from outside without what could steer a terminal."""
    return _UNPRINTABLE.sub("", str(text))


@cache
def console(*, stderr: bool) -> "Console":
    """Return the one console of a stream."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        no_color=True if CHOICES.no_color or os.environ.get("NO_COLOR") else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def interactive() -> bool:
    """Say whether a question can be asked."""
    quiet = CHOICES.json or CHOICES.no_input or os.environ.get("CI", "").lower() not in ("", "0", "false")
    return not quiet and sys.stdin.isatty() and sys.stderr.isatty()


def live() -> bool:
    """Say whether progress may move on the screen."""
    still = CHOICES.json or os.environ.get("TERM") == "dumb" or bool(os.environ.get("ACCESSIBLE"))
    return not still and sys.stderr.isatty()


def answer(document: Any, lines: Iterable[str]) -> None:
    """Print a command's answer: the document as JSON, or the lines for people."""
    if CHOICES.json:
        say_json(document)
        return
    for line in lines:
        console(stderr=False).print(line)


def say_json(document: Any) -> None:
    """Print one document on one line of stdout."""
    print(json.dumps(document, separators=(", ", ": "), default=str), flush=True)


def hint(*lines: str) -> None:
    """Print what isn't the answer to stderr. With --json nothing."""
    if CHOICES.json:
        return
    for line in lines:
        console(stderr=True).print(line)


def mark(word: str, text: str, *, stderr: bool = False) -> None:
    """Print a line that opens with ok, warn, FAIL, ? or !; colour only repeats the word."""
    if CHOICES.json:
        return
    from rich.text import Text

    first, *rest = wrapped(text, width=WIDTH - INDENT) or [""]
    line = Text(f"{word:<{INDENT}}", style=_TONES.get(word, ""))
    line.append(first, style="default")
    console(stderr=stderr).print(line)
    for more in rest:
        console(stderr=stderr).print(" " * INDENT + more)


def wrapped(text: str, *, width: int) -> list[str]:
    """Return text in lines of this width; a long word, such as an id or a command, is never broken."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def pasteable(command: str) -> list[str]:
    """Return a command in one line, or in several that a shell reads as one."""
    head, *flags = command.split(" --")
    if len(command) <= WIDTH - INDENT or not flags:
        return [command]
    lines = [head]
    for number, flag in enumerate(flags):
        if number and len(f"{lines[-1]} --{flag} \\") <= WIDTH - INDENT:
            lines[-1] += f" --{flag}"
        else:
            lines.append(f"  --{flag}")
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def facts(rows: Iterable[tuple[str, str]], *, indent: int = 0, column: int = 12) -> list[str]:
    """Return "name  value" lines, long values continued under their beginning."""
    lines: list[str] = []
    for name, value in rows:
        parts = wrapped(value, width=WIDTH - indent - column) or [""]
        for number, part in enumerate(parts):
            head = name if number == 0 else ""
            lines.append(f"{' ' * indent}{head:<{column}}{part}".rstrip())
    return lines


def pairs(rows: Iterable[tuple[str, str]], *, indent: int, column: int) -> list[str]:
    """Return lines like those of `facts`, with long names continued under their beginning, too."""
    lines: list[str] = []
    for name, value in rows:
        left = wrapped(name, width=column - 3)
        right = wrapped(value, width=WIDTH - indent - column)
        lines += [
            f"{' ' * indent}{head:<{column}}{part}".rstrip()
            for head, part in zip_longest(left, right, fillvalue="")
        ]
    return lines


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows with aligned columns, without lines between them."""
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))] if rows else []
    return [
        "   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def shortened(text: str, most: int) -> str:
    """Return text from outside for a table: clean, and shortened in the middle."""
    plain = clean(text)
    if len(plain) <= most:
        return plain
    head = (most - 1) // 2
    return f"{plain[:head]}…{plain[len(plain) - (most - 1 - head) :]}"


def ask(question: str) -> str:
    """Ask on stderr and return what was typed. Raises `EOFError` when the input ends or the terminal is gone."""
    console(stderr=True).print(question, end="")
    sys.stderr.flush()
    try:
        return input()
    except OSError:
        raise EOFError from None
