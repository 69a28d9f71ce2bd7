"""Turning a content file into the bytes that are frozen: HTML and a plain text beside it."""

import re
from dataclasses import dataclass

from html_to_markdown import ConversionError, ConversionOptions, convert
from markdown_it import MarkdownIt

from campaignbridge.domain.content import MAX_HTML_BYTES, MAX_TEXT_BYTES
from campaignbridge.domain.errors import InvalidInput

MAX_FILE_BYTES = MAX_HTML_BYTES

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
</head>
<body style="margin:0 auto;padding:24px;max-width:600px;font:16px/1.5 system-ui,sans-serif">
{body}</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What will be stored."""

    html: str
    text: str


def render(data: bytes, *, markdown: bool) -> Rendered:
    """Return the HTML and text of a content file; raise `InvalidInput` for what is no text or too big.

    HTML is kept to the byte. The text part is made from it once, here, and frozen with it.
    """
    source = _decoded(data)
    html = _PAGE.format(body=_markdown().render(source)) if markdown else source
    text = source if markdown else _text_of(html)
    if len(html.encode()) > MAX_HTML_BYTES or len(text.encode()) > MAX_TEXT_BYTES:
        raise InvalidInput(
            f"The content is bigger than {MAX_HTML_BYTES:,} bytes of HTML and {MAX_TEXT_BYTES:,} of text.",
            todo="Shorten it; images belong on a web server, not into the file.",
        )
    return Rendered(html=html, text=text)


def _decoded(data: bytes) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(
            f"The content file has {len(data):,} bytes; {MAX_FILE_BYTES:,} are the limit.",
            todo="Shorten it; images belong on a web server, not into the file.",
        )
    if b"\x00" in data:
        raise InvalidInput("The content file is not text: it contains NUL bytes.", todo="Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The content file is not UTF-8 text (byte {error.start:,}).", todo="Save it as UTF-8."
        ) from None
    if not text.strip():
        raise InvalidInput("The content file is empty.", todo="Give an HTML or Markdown file.")
    return text


class _Markdown(MarkdownIt):
    """CommonMark with tables, whose links may be merge tags."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802  the library's name
        """Keep a merge tag as it is: percent-encoded, the provider wouldn't know it any more."""
        return url if "*|" in url else super().normalizeLink(url)


def _markdown() -> MarkdownIt:
    # Raw HTML in Markdown stays: tables and styles of the author's own need it.
    return _Markdown("commonmark", {"html": True}).enable("table")


def _text_of(html: str) -> str:
    try:
        result = convert(html, ConversionOptions(extract_metadata=False, skip_images=True, wrap=False))
    except ConversionError:
        raise InvalidInput(
            "The HTML can't be turned into a plain text part.", todo="Check that the file is complete HTML."
        ) from None
    return _FRONT_MATTER.sub("", result.content or "").strip() + "\n"
