"""Somebody else's database, read by one query of the operator's: it changes nothing there, and nothing is kept of it.

1. A SQLite file is opened for reading only, and a statement that does more than select is refused before it runs.
2. PostgreSQL reads in a transaction that is READ ONLY, through a cursor on the server, one statement and no more.
3. Rows come in blocks, so memory doesn't grow with the result. The whole result is of one moment.

No error repeats the address of the database: it may hold a password. What the database says of the query itself, before
any row was read, is repeated; what it says of rows is not, since that can name people.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg.types.string import TextLoader

from campaignbridge.domain.errors import InvalidInput, Refusal

BLOCK = 1_000  # rows at a time
MAX_QUERY = 20_000  # characters
MAX_VALUE_BYTES = 1 << 20  # of one value in a SQLite file
CONNECT_TIMEOUT_S = 10
WORDS = 200  # of a database's own words on a query

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# Their text as PostgreSQL writes it: Python's own types can't hold every value, such as an infinite date.
_AS_TEXT = ("date", "time", "timetz", "timestamp", "timestamptz", "interval", "numeric", "uuid")


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gives: the names of its columns, and its rows in the order that the database gives them."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]


@contextmanager
def reading(place: str, query: str) -> Iterator[Result]:
    """Run a query at `postgresql://…`, or in a SQLite file, given as a path or as `sqlite:///path`.

    Raises `InvalidInput` for a query that isn't one that only reads, and `source_unreachable` for a database that
    can't be reached, or is gone while it is read.
    """
    statement = query.strip().removesuffix(";").rstrip()
    if not statement or len(query) > MAX_QUERY or "\x00" in query:
        raise InvalidInput(
            f"A query has 1 to {MAX_QUERY:,} characters.", todo='Use one such as --query "SELECT ..."'
        )
    scheme, separator, rest = place.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        with _postgres(place, statement) as result:
            yield result
    elif separator and scheme != "sqlite":
        raise InvalidInput(
            "Only SQLite files and PostgreSQL are read.",
            todo="Export the contacts as CSV, and import that file.",
        )
    else:
        with _sqlite(unquote(rest.removeprefix("/")) if separator else place, statement) as result:
            yield result


@contextmanager
def _sqlite(path: str, statement: str) -> Iterator[Result]:
    with closing(_open_file(path)) as connection:
        try:
            cursor = connection.execute(statement)
        except sqlite3.Error as error:
            raise _of_sqlite(error) from None
        except sqlite3.Warning:
            raise _not_one() from None
        if cursor.description is None:
            raise _no_rows()
        yield Result(tuple(str(column[0]) for column in cursor.description), _file_rows(cursor))


def _open_file(path: str) -> sqlite3.Connection:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  a name as it was given
            raise InvalidInput("That is no file of a SQLite database.", todo="Name one with --from.")
        address = f"{Path(path).absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=CONNECT_TIMEOUT_S, isolation_level=None)
    except (OSError, ValueError, sqlite3.Error) as error:
        reason = (getattr(error, "strerror", None) or "it can't be opened").lower()
        raise InvalidInput(
            f"The database can't be read ({reason}).",
            todo="Name a SQLite file or a postgresql:// URL with --from.",
        ) from None
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.set_authorizer(_allow)
    # A cell that is no UTF-8 costs its row, not the import.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _allow(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def _file_rows(cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
    try:
        while block := cursor.fetchmany(BLOCK):
            yield from block
    except sqlite3.DataError:
        raise _too_big() from None
    except sqlite3.OperationalError:
        raise _unreachable("It was busy or gone while it was read.") from None
    except sqlite3.Error:
        raise InvalidInput(
            "The database could not be read to the end of the query.", todo="See whether the file is whole."
        ) from None


def _of_sqlite(error: sqlite3.Error) -> Refusal:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR")):
        return _unreachable("It is busy.")
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CANTOPEN"):
        return InvalidInput(
            "That is no SQLite database that can be read.", todo="Name another file with --from."
        )
    if name == "SQLITE_AUTH":
        return _no_rows()
    if name == "SQLITE_TOOBIG":
        return _too_big()
    return _wrong_query(str(error)) if name == "SQLITE_ERROR" else _not_one()


@contextmanager
def _postgres(url: str, statement: str) -> Iterator[Result]:
    with closing(_connect(url)) as connection:
        cursor = connection.cursor(name="campaignbridge_import")
        try:
            yield Result(_ask_server(cursor, statement), _server_rows(cursor))
        finally:
            with suppress(psycopg.Error):  # the connection may be gone
                cursor.close()


def _ask_server(cursor: psycopg.ServerCursor[tuple[Any, ...]], statement: str) -> tuple[str, ...]:
    try:
        cursor.execute(statement.encode())
    except psycopg.Error as error:
        raise _of_postgres(error) from None
    if cursor.description is None:
        raise _no_rows()
    return tuple(column.name for column in cursor.description)


def _connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        connection = psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S, client_encoding="UTF8")
    except psycopg.OperationalError:
        raise _unreachable("It does not answer, or refuses the login.") from None
    except psycopg.Error:
        raise InvalidInput(
            "That is no address of a PostgreSQL database.",
            todo="Write it as postgresql://user@host:5432/name, with the password in PGPASSWORD.",
        ) from None
    connection.read_only = True
    for name in _AS_TEXT:
        connection.adapters.register_loader(name, TextLoader)
    return connection


def _server_rows(cursor: psycopg.ServerCursor[tuple[Any, ...]]) -> Iterator[Sequence[Any]]:
    try:
        while block := cursor.fetchmany(BLOCK):
            yield from block
    except psycopg.errors.ReadOnlySqlTransaction:
        raise _no_rows() from None
    except (psycopg.OperationalError, psycopg.InterfaceError):
        raise _unreachable("It was gone while it was read.") from None
    except psycopg.Error as error:
        raise InvalidInput(
            f"The query failed while its rows were read ({_class_of(error)}).",
            todo="Run it in the database itself to see what it says of which row.",
        ) from None


def _of_postgres(error: psycopg.Error) -> Refusal:
    state = error.sqlstate or ""
    if state in ("25006", "42809") or state == "0A000":
        return _no_rows()
    if state.startswith("42"):
        return _wrong_query(error.diag.message_primary or _class_of(error))
    if isinstance(error, psycopg.OperationalError):
        return _unreachable("It was gone while it was read.")
    return InvalidInput(
        f"The query can't be run ({_class_of(error)}).",
        todo="Run it in the database itself to see what it says.",
    )


def _class_of(error: psycopg.Error) -> str:
    return f"{type(error).__name__}, {error.sqlstate}" if error.sqlstate else type(error).__name__


def _unreachable(what: str) -> Refusal:
    return Refusal(
        f"The database that is imported from can't be read now. {what}",
        code="source_unreachable",
        todo="See that it runs and lets you in, then run the same command again.",
    )


def _wrong_query(said: str) -> InvalidInput:
    words = ["(address)" if "@" in word else word for word in said.split()]
    told = "".join(letter for letter in " ".join(words) if letter.isprintable())[:WORDS].rstrip(".")
    return InvalidInput(
        f"The database doesn't understand the query: {told}.", todo="Correct it and run it again."
    )


def _not_one() -> InvalidInput:
    return InvalidInput(
        "That is not one query.", todo="Give one SELECT, without another statement behind it."
    )


def _no_rows() -> InvalidInput:
    return InvalidInput(
        "The query must only read, and give rows.", todo="Give one SELECT that changes nothing."
    )


def _too_big() -> InvalidInput:
    return InvalidInput(
        f"A value of the query has more than {MAX_VALUE_BYTES:,} bytes.",
        todo="Leave that column out of the query.",
    )
