"""SQLite behind the low seam: one file, WAL, one writer at a time, a connection for each thread."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local
from typing import Any

from campaignbridge.domain.errors import CommitUnknown, StoreGone, StoreUnusable
from campaignbridge.ports import Row
from campaignbridge.store.sql import Catalogue, catalogue

BUSY_TIMEOUT_S = 10.0
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}


class SqliteTransaction:
    """One open transaction on a SQLite connection."""

    def __init__(self, connection: sqlite3.Connection, statements: Catalogue) -> None:
        self._connection = connection
        self._statements = statements

    def all(self, name: str, /, **params: object) -> list[Row]:
        """Return every row that the statement gives."""
        # All rows of a RETURNING are fetched here: SQLite forgets the rest at COMMIT.
        return [dict(row) for row in self._execute(name, params).fetchall()]

    def one(self, name: str, /, **params: object) -> Row | None:
        """Return the only row, or None."""
        rows = self.all(name, **params)
        assert len(rows) <= 1, f"{name} gave {len(rows)} rows"
        return rows[0] if rows else None

    def run(self, name: str, /, **params: object) -> int:
        """Run a change and return how many rows it touched."""
        return self._execute(name, params).rowcount

    def each(self, name: str, rows: Iterable[Mapping[str, object]], /) -> int:
        """Run a change once for every row of parameters; return how many rows were touched."""
        return self._connection.executemany(self._statements[name].text, list(rows)).rowcount

    def load(self, name: str, rows: Sequence[tuple[object, ...]], /) -> None:
        """Insert many rows by position."""
        self._connection.executemany(self._statements[name].text, rows)

    def execute(self, text: str) -> None:
        """Run a statement of a migration."""
        self._connection.execute(text)

    def _execute(self, name: str, params: Mapping[str, Any]) -> sqlite3.Cursor:
        statement = self._statements[name]
        return self._connection.execute(statement.filled(params), params)


class Sqlite:
    """A SQLite file, or `:memory:` for one thread.

    `offset_ms` moves the store's clock, for the demo and tests; in production it is 0.
    """

    dialect = "sqlite"

    def __init__(
        self,
        path: str,
        *,
        offset_ms: int = 0,
        statements: Catalogue | None = None,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> None:
        self.path = path
        self.busy_timeout_s = busy_timeout_s
        self.offset_ms = offset_ms
        self._statements = statements or catalogue("sqlite")
        self._local = local()

    def __repr__(self) -> str:
        return f"Sqlite({self.path!r})"

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[SqliteTransaction]:
        """Open a transaction, immediate unless it only reads; see `ports.Database`."""
        with translated():
            connection = self._connection()
            # A deferred one that comes to write fails at once, whatever the timeout.
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield SqliteTransaction(connection, self._statements)
            except BaseException:
                _roll_back(connection)
                raise
            self._commit(connection)

    def listener(self) -> None:
        """Return None: a file tells nobody that it changed."""

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def now_ms(self) -> int:
        """Return the store's one clock, as `now_ms()` in SQL does."""
        return time.time_ns() // 1_000_000 + self.offset_ms

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            _roll_back(connection)
            if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
                raise  # SQLite says so before anything became durable
            raise CommitUnknown(
                "The store did not say whether the change was saved.", todo="Look at it again."
            ) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _connect(self) -> sqlite3.Connection:
        if self.path != ":memory:" and not Path(self.path).absolute().parent.is_dir():
            raise StoreGone(
                f"The folder of {self.path} does not exist.",
                todo="Create it, or name another with --database.",
            )
        connection = sqlite3.connect(self.path, timeout=self.busy_timeout_s, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.create_function("now_ms", 0, self.now_ms)
            _switch_to_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # The switch needs the file alone and ignores the busy timeout when several processes start at once.
    for last in (*[False] * 50, True):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if last or primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            time.sleep(0.02)
        else:
            return


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # what can't be rolled back now is rolled back when the file is next opened
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def primary_code(error: sqlite3.Error) -> int:
    """Return the result code of an error, without what only details it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def translated() -> Iterator[None]:
    """Turn SQLite's errors into `StoreGone` and `StoreUnusable`; what is a bug of ours stays one."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a bug of ours: every expected clash is a conditional statement
    except sqlite3.Error as error:
        code = primary_code(error)
        if code in _BROKEN or (isinstance(error, sqlite3.OperationalError) and code == sqlite3.SQLITE_ERROR):
            raise StoreUnusable(
                "The store can't be read: it is damaged, or not a CampaignBridge database.",
                todo="Name the right file with --database, or restore a backup.",
            ) from error
        if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError) and code:
            raise StoreGone(
                f"The store can't be used now ({_reason(code)}). Nothing was changed.",
                todo="Try again; if it stays so, see who else has the file open and whether the disk is full.",
            ) from error
        raise


def _reason(code: int) -> str:
    return {
        sqlite3.SQLITE_BUSY: "busy: another process is writing",
        sqlite3.SQLITE_LOCKED: "busy: another connection is writing",
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_CANTOPEN: "the file can't be opened",
        sqlite3.SQLITE_READONLY: "the file is read-only",
        sqlite3.SQLITE_IOERR: "the disk reported an error",
    }.get(code, "it reported an error")
