"""Named statements: SQL is prose, kept in `.sql` files, one block for each statement.

A block starts with `-- name: locks_acquire`-like lines, here `-- name: acquire` in `locks.sql`, and is
called `locks.acquire`. Parameters are written `:name`; `:name_literal` is put into the text as an integer,
for the few places where a prepared plan must know the number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement's text in a database's own parameter style."""

    text: str
    literals: tuple[str, ...]

    def filled(self, params: Mapping[str, object]) -> str:
        """Return the text with its literal integers in place."""
        text = self.text
        for name in self.literals:
            value = params[name]
            assert isinstance(value, int), f"{name} must be an integer"
            text = text.replace(f":{name}", str(value))
        return text


Catalogue = Mapping[str, Statement]


@cache
def catalogue(dialect: str) -> Catalogue:
    """Return every statement by name, in the dialect's parameter style: `sqlite` or `postgres`."""
    folder = resources.files("campaignbridge.store") / "sql"
    texts = dict(_blocks(folder))
    if dialect == "postgres":
        texts.update(_blocks(folder / "postgres"))
    return {name: parse(text, dialect) for name, text in texts.items()}


def parse(text: str, dialect: str) -> Statement:
    """Return a statement from the text of one block."""
    body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).strip()
    names = dict.fromkeys(_PARAMETER.findall(body))
    if dialect == "postgres":
        body = _PARAMETER.sub(_to_postgres, body.replace("%", "%%"))
    return Statement(body.rstrip(";"), tuple(name for name in names if name.endswith("_literal")))


def _to_postgres(match: re.Match[str]) -> str:
    name = match.group(1)
    return match.group(0) if name.endswith("_literal") else f"%({name})s"


def _blocks(folder: resources.abc.Traversable) -> list[tuple[str, str]]:
    blocks: list[tuple[str, str]] = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        parts = _NAME.split(file.read_text(encoding="utf-8"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            blocks.append((f"{file.name.removesuffix('.sql')}.{name}", text))
    return blocks
