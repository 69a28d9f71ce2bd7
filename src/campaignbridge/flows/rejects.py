"""The rows that an import didn't take, in a file beside the input that only its owner may read.

Each with its line, the reason and its own cells. A cell that a spreadsheet would run as a formula gets an
apostrophe in front.
"""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from campaignbridge.domain.audience import REASONS
from campaignbridge.domain.columns import Mapping
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.flows.rows import Record

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class RejectsFile:
    """The rejects of one import. Made when the first row is rejected."""

    def __init__(self, source: str) -> None:
        self._source = Path(source)
        self._path = self._source
        self._size = 0
        self._header: list[str] = []

    @property
    def path(self) -> str | None:
        """Where the rejects are; None while there are none."""
        return str(self._path) if self._size else None

    def begin(self, import_id: int, *, kept_bytes: int, mapping: Mapping) -> None:
        """Go on behind the last committed batch; refuse a folder that can't be written to.

        What stands behind is left: it is what will be written there, and another process may just have done so.
        """
        self._path = self._source.with_name(f"{self._source.stem}.rejects-{import_id}.csv")
        self._header = ["line", "reason", "detail", *mapping.names]
        if not os.access(self._source.absolute().parent, os.W_OK):
            raise InvalidInput(
                "The folder can't be written to, so rejected rows would have no place.",
                todo="Import from a folder of your own.",
            )
        if os.path.lexists(self._path):
            with self._open() as file:
                self._size = min(kept_bytes, os.fstat(file.fileno()).st_size)

    def end(self) -> None:
        """Drop what a batch wrote that was never committed: the import is over."""
        if os.path.lexists(self._path) and self._path != self._source:
            with self._open() as file:
                file.truncate(self._size)
            if not self._size:
                self._path.unlink()

    def write(self, rows: Sequence[tuple[Record, str, str]]) -> int:
        """Write rows behind the others, durably; return the file's size."""
        text = io.StringIO()
        writer = csv.writer(text)
        if not self._size:
            writer.writerow([neutral(cell) for cell in self._header])
        for record, reason, detail in rows:
            told = f"{REASONS[reason]} ({detail})" if detail else REASONS[reason]
            writer.writerow([record.line, reason, told, *(neutral(cell) for cell in record.cells)])
        data = text.getvalue().encode("utf-8", "backslashreplace")
        with self._open() as file:
            file.seek(self._size)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(data)
        return self._size

    def _open(self) -> io.BufferedRandom:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            return os.fdopen(os.open(self._path, flags, 0o600), "r+b")
        except OSError as error:
            raise InvalidInput(
                f"The rejects file can't be written ({(error.strerror or 'unwritable').lower()}).",
                todo="Make room for it beside the input, then run the same command again.",
            ) from None


def neutral(cell: str) -> str:
    """Return a cell that no spreadsheet runs as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
