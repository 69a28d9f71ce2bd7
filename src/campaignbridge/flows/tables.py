"""A file of contacts as it was found: its encoding, delimiter and columns, checked to its end before a row is taken."""

import codecs
import hashlib
import importlib
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

from campaignbridge.domain.audience import MAX_ATTRIBUTES
from campaignbridge.domain.columns import Mapping, is_header, mapping_of, names_of
from campaignbridge.domain.errors import InvalidInput, Refusal
from campaignbridge.flows.rows import Record, json_names, json_records, records

PREVIEW = 20
_BLOCK = 1 << 20
_SAMPLE = 50
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ENCODINGS = frozenset(
    "utf-8 utf-8-sig utf-16 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp852 "
    "iso8859-1 iso8859-2 iso8859-5 iso8859-7 iso8859-9 iso8859-15 koi8-r koi8-u mac-roman shift_jis cp932 euc_jp "
    "gb18030 big5 euc_kr cp949".split()
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the operator says about a file or a query; the rest is found out."""

    encoding: str | None = None
    delimiter: str | None = None
    email: str | None = None
    locale: str | None = None
    zone: str | None = None

    @property
    def of_text(self) -> str | None:
        """What was said that only a text file has, in a word; None where nothing was."""
        return (
            "encoding" if self.encoding is not None else "delimiter" if self.delimiter is not None else None
        )


@dataclass(frozen=True, slots=True)
class Table:
    """One file of contacts, looked at."""

    path: str
    kind: str  # csv, ndjson or parquet
    encoding: str
    delimiter: str
    headed: bool  # the first row names the columns
    mapping: Mapping
    size: int
    fingerprint: str
    preview: tuple[Record, ...]

    @property
    def delimited_by(self) -> str:
        """The delimiter in a word; empty for a file that has none."""
        return _DELIMITERS.get(self.delimiter, self.delimiter)

    @contextmanager
    def rows(self) -> Iterator["Rows"]:
        """Open the file anew, at its first row."""
        if self.kind == "parquet":
            yield Rows(self.size, _parquet_records(self.path), None)
            return
        with _opened(self.path) as file, io.TextIOWrapper(file, encoding=self.encoding, newline="") as stream:
            found = _records(stream, self.kind, self.delimiter, self.mapping.names, headed=self.headed)
            yield Rows(self.size, found, file.tell)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an open file."""

    size: int
    records: Iterator[Record]
    position: Callable[[], int] | None

    def fraction(self) -> float | None:
        """Return which part of the file has been read; None where that can't be told."""
        return None if self.position is None or not self.size else min(1.0, self.position() / self.size)

    def batch(self, most: int) -> list[Record]:
        """Return the next rows; none at the end."""
        try:
            return list(islice(self.records, most))
        except (UnicodeError, OSError):
            raise InvalidInput(
                "The file changed while it was read, or can't be read to its end.",
                todo="Run the same command again when it is whole.",
            ) from None


class Source(Protocol):
    """Where contacts come from: a file or a query that was looked at."""

    @property
    def mapping(self) -> Mapping:
        """What each column becomes."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """What an unfinished import of the same rows is known by; None where their order may be another one."""
        ...

    def rows(self) -> AbstractContextManager[Rows]:
        """Open it anew, at its first row."""
        ...


def look_at(path: str, choices: Choices) -> Table:
    """Find out what a file is. Raises `InvalidInput`, or `encoding_unclear` when its bytes aren't UTF-8."""
    with _opened(path) as file:
        head = file.read(4)
        if head == b"PAR1":
            return _parquet(path, choices, _digest(file, None))
        encoding = _encoding(head, choices.encoding)
        digest = _digest(file, encoding)
        size = file.seek(0, os.SEEK_END)
        kind = "ndjson" if _is_ndjson(file, encoding, path) else "csv"
    delimiter, headed = "", False
    if kind == "ndjson":
        with _text(path, encoding) as stream:
            names = json_names(stream, MAX_ATTRIBUTES + 3)
    else:
        delimiter = choices.delimiter or _delimiter(path, encoding)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidInput("A delimiter is one character.", todo="Use one such as --delimiter ';'")
        names, headed = _header(path, encoding, delimiter)
    with _text(path, encoding) as stream:
        preview = tuple(islice(_records(stream, kind, delimiter, names, headed=headed), PREVIEW))
    return _table(path, kind, encoding, delimiter, names, choices, preview, digest, size, headed=headed)


def _table(  # noqa: PLR0917  what was found out, in the order of the finding
    path: str,
    kind: str,
    encoding: str,
    delimiter: str,
    names: tuple[str, ...],
    choices: Choices,
    preview: tuple[Record, ...],
    digest: str,
    size: int,
    *,
    headed: bool,
) -> Table:
    sample = [record.cells for record in preview if not record.problem]
    mapping = mapping_of(names, sample, email=choices.email, locale=choices.locale, zone=choices.zone)
    reading = [digest, kind, encoding, delimiter, headed, mapping.email, mapping.locale, mapping.zone]
    fingerprint = hashlib.sha256(repr(reading).encode()).hexdigest()
    return Table(path, kind, encoding, delimiter, headed, mapping, size, fingerprint, preview)


def _records(
    stream: IO[str], kind: str, delimiter: str, names: Sequence[str], *, headed: bool
) -> Iterator[Record]:
    if kind == "ndjson":
        yield from json_records(stream, names)
        return
    found = records(stream, delimiter)
    if headed:
        next((record for record in found if not _is_blank(record)), None)
    yield from found


def _is_blank(record: Record) -> bool:
    return not record.problem and not any(cell.strip() for cell in record.cells)


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise _unreadable(error) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidInput("Contacts are only read from a plain file.", todo="Write them into one first.")
    with os.fdopen(handle, "rb") as file:
        yield file


@contextmanager
def _text(path: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    with _opened(path) as file, io.TextIOWrapper(file, encoding=encoding, newline="") as stream:
        yield stream


def _unreadable(error: Exception) -> InvalidInput:
    reason = (getattr(error, "strerror", None) or "its name can't be one").lower()
    return InvalidInput(f"The file can't be read ({reason}).", todo="Name a CSV, NDJSON or Parquet file.")


def _encoding(head: bytes, chosen: str | None) -> str:
    """Return what the file's own mark says, else what the operator says, else UTF-8."""
    told = "utf-8" if chosen is None else _known_encoding(chosen)
    return next((name for mark, name in _BOMS if head.startswith(mark)), told)


def _known_encoding(chosen: str) -> str:
    try:
        name = codecs.lookup(chosen).name
    except (LookupError, ValueError):
        name = ""
    if name not in _ENCODINGS:
        raise InvalidInput(
            "That encoding isn't one that files of contacts are in.", todo="Use one such as cp1252 or utf-16."
        )
    return name


def _digest(file: IO[bytes], encoding: str | None) -> str:
    """Return the hash of all bytes, every one of which must be text in this encoding."""
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
    file.seek(0)
    lines = 0
    block = b""
    try:
        while block := file.read(_BLOCK):
            digest.update(block)
            if decoder is not None:
                decoder.decode(block)
                lines += block.count(b"\n")
        if decoder is not None:
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _not_text(error, encoding or "", lines) from None
    return digest.hexdigest()


def _not_text(error: UnicodeDecodeError, encoding: str, lines: int) -> Refusal:
    # What the decoder kept from the block before is part of the error's object.
    line = lines + error.object[: error.start].count(b"\n") + 1
    byte = error.object[error.start : error.start + 1]
    guess = byte.decode("cp1252", "replace")
    hint = (
        f" In Windows-1252 it would be {guess}."
        if encoding.startswith("utf-8") and guess.isprintable()
        else ""
    )
    return Refusal(
        f"Byte {byte.hex().upper()} in line {line} is no text in {encoding}.{hint} Nothing was imported.",
        code="encoding_unclear",
        todo="Save the file as UTF-8, or say which encoding it has, such as --encoding cp1252.",
        line=line,
        command="campaignbridge help encoding_unclear",
    )


def _is_ndjson(file: IO[bytes], encoding: str, path: str) -> bool:
    if Path(path).suffix.lower() in {".ndjson", ".jsonl"}:
        return True
    file.seek(0)
    text = file.read(4096).decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
    return text.startswith("{")


def _sample(path: str, encoding: str, delimiter: str) -> list[Record]:
    with _text(path, encoding) as stream:
        found = (record for record in records(stream, delimiter) if not _is_blank(record))
        return list(islice(found, _SAMPLE))


def _delimiter(path: str, encoding: str) -> str:
    """Return the delimiter that splits the header into columns, and most rows into as many."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        sample = _sample(path, encoding, delimiter)
        columns = len(sample[0].cells) if sample else 0
        alike = sum(len(record.cells) == columns for record in sample)
        return columns > 1, alike / max(1, len(sample)), columns

    return max(_DELIMITERS, key=score)


def _header(path: str, encoding: str, delimiter: str) -> tuple[tuple[str, ...], bool]:
    sample = _sample(path, encoding, delimiter)
    if not sample:
        raise Refusal(
            "The file has no rows.", code="nothing_imported", todo="Look whether it is the right one."
        )
    first = sample[0]
    if first.problem:
        raise InvalidInput(
            "The first row can't be read, so the columns have no names.",
            todo="Correct the first row of the file.",
        )
    if is_header(first.cells):
        return names_of(first.cells), True
    return names_of([""] * len(first.cells)), False


def _parquet(path: str, choices: Choices, digest: str) -> Table:
    file = _parquet_file(path)
    names = names_of([str(name) for name in file.schema_arrow.names])
    preview = tuple(islice(_parquet_records(path), PREVIEW))
    size = Path(path).stat().st_size
    return _table(path, "parquet", "parquet", "", names, choices, preview, digest, size, headed=True)


def _parquet_file(path: str) -> Any:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InvalidInput(
            "Reading Parquet needs a package that is not installed.",
            todo="Install campaignbridge[parquet], or write the contacts as CSV.",
        ) from None
    try:
        return parquet.ParquetFile(path)
    except (OSError, ValueError):  # pyarrow's own errors are among them
        raise InvalidInput("The file is no Parquet that can be read.", todo="Write it anew.") from None


def _parquet_records(path: str) -> Iterator[Record]:
    number = 0
    for batch in _parquet_file(path).iter_batches(batch_size=5_000):
        columns = [column.to_pylist() for column in batch.columns]
        for values in zip(*columns, strict=True):
            number += 1
            nested = any(isinstance(value, list | dict | bytes) for value in values)
            cells = ["" if value is None else str(value) for value in values]
            yield Record(number, cells, "nested" if nested else "")
