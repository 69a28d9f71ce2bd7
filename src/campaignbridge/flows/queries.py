"""Contacts out of another database: the rows of a query as those of a file, cleaned and counted the same way.

Looking runs the query for its first rows; the import runs it anew, from its first row each time. Rows of a database
have no order that would still hold, so an import that was stopped begins again: whoever is in is unchanged then.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from campaignbridge.domain.audience import MAX_ATTRIBUTES
from campaignbridge.domain.columns import Mapping, mapping_of, names_of
from campaignbridge.domain.errors import InvalidInput, Refusal
from campaignbridge.flows.rows import MAX_LINE, Record
from campaignbridge.flows.tables import PREVIEW, Choices, Rows
from campaignbridge.store import foreign

MOST_COLUMNS = MAX_ATTRIBUTES + 3


@dataclass(frozen=True, slots=True)
class Query:
    """One query that was looked at, as an import reads it."""

    place: str = field(repr=False)  # may hold a password
    text: str = field(repr=False)
    mapping: Mapping
    preview: tuple[Record, ...] = field(repr=False)
    fingerprint: str | None = None  # none: it never goes on where it was stopped
    kind: str = "query"
    encoding: str = "utf-8"
    delimiter: str = ""
    headed: bool = True

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Run the query anew."""
        with foreign.reading(self.place, self.text) as result:
            if names_of(result.columns) != self.mapping.names:
                raise InvalidInput(
                    "The columns of the query changed since it was looked at.",
                    todo="Run the same command again.",
                )
            yield Rows(0, _records(result.rows), None)


def look_at_query(place: str, text: str, choices: Choices) -> Query:
    """Find out what a query gives. Raises `InvalidInput`, or `source_unreachable`; neither repeats the place."""
    with foreign.reading(place, text) as result:
        if len(result.columns) > MOST_COLUMNS:
            raise InvalidInput(
                f"The query has more than {MOST_COLUMNS} columns.", todo="Leave out what no campaign needs."
            )
        names = names_of(result.columns)
        preview = tuple(islice(_records(result.rows), PREVIEW))
    if not preview:
        raise Refusal(
            "The query gives no rows.", code="nothing_imported", todo="Look whether it is the right one."
        )
    sample = [record.cells for record in preview if not record.problem]
    mapping = mapping_of(names, sample, email=choices.email, locale=choices.locale, zone=choices.zone)
    return Query(place, text, mapping, preview)


def _records(rows: Iterator[Sequence[Any]]) -> Iterator[Record]:
    for number, values in enumerate(rows, start=1):
        cells = [_cell(value) for value in values]
        if None in cells:
            yield Record(number, [cell or "" for cell in cells], "nested")
        elif sum(len(cell or "") for cell in cells) > MAX_LINE:
            yield Record(number, [], "long_row")
        else:
            yield Record(number, [cell or "" for cell in cells])


def _cell(value: object) -> str | None:
    """Return a value as text; None for one that has parts, or is no text."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return None
