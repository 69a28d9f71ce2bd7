"""The rows of a text file, each with the number of its first line: one broken row never takes others with it.

A line without a quote is split at the delimiter. A row with quotes is read by Python's csv, strictly; one
that spans lines ends where its quotes are even. A row that can't be read so is given as its first line alone,
and reading goes on with the next line.
"""

import csv
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, NamedTuple

from campaignbridge.domain.errors import InvalidInput

MAX_LINE = 65_536
MAX_LINES_OF_A_ROW = 1_000
MAX_FIELDS = 2_000


class Record(NamedTuple):
    """One row: its cells, or a code of `domain.audience.REASONS` that says why it can't be read."""

    line: int
    cells: Sequence[str]
    problem: str = ""
    detail: str = ""


class _Lines:
    """The lines of a stream, of bounded length, some of which can be put back."""

    def __init__(self, stream: IO[str]) -> None:
        self._read: Callable[[], str] = partial(stream.readline, MAX_LINE + 1)
        self._back: deque[str] = deque()
        self.number = 0

    def next(self) -> str:
        """Return the next line; an empty text at the end."""
        line = self._back.popleft() if self._back else self._read()
        if line:
            self.number += 1
        return line

    def put_back(self, lines: Sequence[str]) -> None:
        """Have these lines come again."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)

    def skip_rest(self, line: str) -> None:
        """Read over the rest of a line that is too long."""
        while line and not line.endswith(("\n", "\r")):
            line = self._read()


def records(stream: IO[str], delimiter: str) -> Iterator[Record]:
    """Yield the rows of a delimited text. Blank lines are no rows."""
    lines = _Lines(stream)
    while line := lines.next():
        if len(line) > MAX_LINE:
            lines.skip_rest(line)
            yield Record(lines.number, [], "long_row")
        elif '"' in line:
            yield _quoted(lines, line, delimiter)
        elif line.strip(" \r\n"):
            yield Record(lines.number, line.rstrip("\r\n").split(delimiter, MAX_FIELDS))


def _quoted(lines: _Lines, line: str, delimiter: str) -> Record:
    first, taken, quotes, size = lines.number, [line], line.count('"'), len(line)
    found = _parsed(taken, delimiter)
    while found is None and size <= MAX_LINE and len(taken) < MAX_LINES_OF_A_ROW:
        following = lines.next()
        if not following:
            break
        taken.append(following)
        size += len(following)
        quotes += following.count('"')
        if len(following) > MAX_LINE:
            break
        if quotes % 2 == 0 and '"' in following:
            found = _parsed(taken, delimiter)
            if found is None:
                break
    if found is not None:
        return Record(first, found)
    lines.put_back(taken[1:])
    return Record(first, line.rstrip("\r\n").split(delimiter, MAX_FIELDS), "open_quote")


def _parsed(lines: list[str], delimiter: str) -> list[str] | None:
    """Return the one row that these lines are; None when they aren't one."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 and len(rows[0]) <= MAX_FIELDS else None


def json_records(stream: IO[str], names: Sequence[str]) -> Iterator[Record]:
    """Yield the rows of a text with one JSON object on each line, in the order of the names."""
    for number, line, found, problem in json_objects(stream):
        if found is None:
            yield Record(number, [line.rstrip("\r\n")], problem)
            continue
        cells = {name: _cell(value) for name, value in found.items()}
        if None in cells.values():
            yield Record(number, [line.rstrip("\r\n")], "nested")
        else:
            yield Record(number, [cells.get(name) or "" for name in names])


def json_objects(stream: IO[str]) -> Iterator[tuple[int, str, dict[str, object] | None, str]]:
    """Yield line number, line, object and what stands against it."""
    lines = _Lines(stream)
    while line := lines.next():
        if len(line) > MAX_LINE:
            lines.skip_rest(line)
            yield lines.number, "", None, "long_row"
        elif line.strip():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                found = None
            is_object = isinstance(found, dict)
            yield lines.number, line, found if is_object else None, "" if is_object else "not_json"


def _cell(value: object) -> str | None:
    """Return a value as text; None for one that has parts."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return json.dumps(value)
        case _:
            return None


def json_names(stream: IO[str], most: int) -> tuple[str, ...]:
    """Return every name that the objects of a text have, in the order of their coming."""
    names: dict[str, None] = {}
    for _, _, found, _ in json_objects(stream):
        names.update(dict.fromkeys(found or ()))
        if len(names) > most:
            raise InvalidInput(
                f"The objects of the file have more than {most} names.",
                todo="Leave out what no campaign needs.",
            )
    return tuple(names)
