"""`campaigns preview`: the frozen content, byte for byte as it is handed over."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.params import Id
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.content import Snapshot


def preview(
    campaign: Id,
    text: Annotated[
        bool | None, typer.Option("--text/--html", help="Which part. [default: text; HTML with --out]")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Write it to a new file instead.")
    ] = None,
) -> None:
    """Print the text part of the frozen content, or write its HTML to a file.

    \b
      campaignbridge campaigns preview cmp_7k2f9x0q1z3m
      campaignbridge campaigns preview cmp_7k2f9x0q1z3m --out letter.html
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    wants_text = out is None if text is None else text
    with session() as here:
        snapshot = here.bridge.show(campaign, actor=here.actor).snapshot
    part = snapshot.text if wants_text else snapshot.html
    if out is not None:
        _write(out, part.encode())
    if CHOICES.json:
        name = "text" if wants_text else "html"
        terminal.say_json(_document(snapshot, name, part if out is None else None, out))
    elif out is None:
        _print(part)
    else:
        terminal.mark("ok", f"Wrote {len(part.encode()):,} bytes to {terminal.clean(out)}.")
    terminal.hint(*(() if snapshot.intact else (f"warn  The stored bytes of {campaign} have been altered.",)))


def _document(snapshot: "Snapshot", name: str, part: str | None, out: str | None) -> dict[str, object]:
    return {
        "campaign": snapshot.campaign_id,
        "revision": snapshot.revision,
        "fingerprint": snapshot.fingerprint,
        "intact": snapshot.intact,
        "subject": snapshot.envelope.subject,
        "preview_text": snapshot.envelope.preview_text,
        "part": name,
        "content": part,
        "file": out,
    }


def _print(part: str) -> None:
    """Print it as it is into a pipe or file; on a terminal without what could steer it."""
    if sys.stdout.isatty():
        for line in part.split("\n"):
            print(terminal.clean(line.replace("\t", "    ")))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(part.encode() + (b"" if part.endswith("\n") else b"\n"))
    sys.stdout.buffer.flush()


def _write(out: str, data: bytes) -> None:
    """Write a new file; one that is there already stays as it is."""
    from campaignbridge.domain.errors import InvalidInput

    made = False
    try:
        with open(out, "xb") as file:  # noqa: PTH123  a name as it was typed
            made = True
            file.write(data)
    except FileExistsError:
        raise InvalidInput(
            f"There is a file {terminal.shortened(out, 40)} already.", todo="Give another name with --out."
        ) from None
    except (OSError, ValueError) as error:
        said = (getattr(error, "strerror", None) or "its name can't be one").lower()
        if made:
            _remove(out)
        raise InvalidInput(
            f"The file can't be written ({said}).", todo="Give another name with --out."
        ) from None


def _remove(out: str) -> None:
    """Take away what was written of a file that isn't complete."""
    try:
        os.remove(out)  # noqa: PTH107  a name as it was typed
    except (OSError, ValueError):
        return
