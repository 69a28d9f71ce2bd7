"""Reading a content file: at most as much as may be sent, and never from what isn't a plain file."""

import os
import stat
from pathlib import Path

from campaignbridge.domain.content import MAX_HTML_BYTES
from campaignbridge.domain.errors import InvalidInput

MARKDOWN = frozenset({".md", ".markdown"})
_NEXT = "Give an HTML or Markdown file with --content."


def is_markdown(path: str) -> bool:
    """Say whether the file's name says Markdown."""
    return Path(path).suffix.lower() in MARKDOWN


def read_content(path: str) -> bytes:
    """Return the file's bytes; raise `InvalidInput` for what can't be read or isn't a file."""
    try:
        # A pipe without a writer would wait for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The content file can't be read ({_reason(error)}).", todo=_NEXT) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise InvalidInput(f"The content is not a file but {_kind(mode)}.", todo=_NEXT)
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MAX_HTML_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"The content file can't be read ({_reason(error)}).", todo=_NEXT) from None
    finally:
        os.close(handle)
    if len(data) > MAX_HTML_BYTES:
        raise InvalidInput(
            f"The content file has more than {MAX_HTML_BYTES:,} bytes.",
            todo="Shorten it; images belong on a web server, not into the file.",
        )
    return data


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "unreadable").lower() if isinstance(error, OSError) else "its name can't be one"


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for test, name in kinds if test(mode)), "a device")
