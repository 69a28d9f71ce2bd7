"""PostgreSQL behind the low seam: READ COMMITTED, a connection for each thread, bounded waits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from campaignbridge.domain.errors import CommitUnknown, StoreGone, StoreUnusable
from campaignbridge.ports import Row
from campaignbridge.store.sql import Catalogue, catalogue

CONNECT_TIMEOUT_S = 10
_SESSION = (
    "SET default_transaction_isolation = 'read committed'; SET statement_timeout = '30s'; SET lock_timeout = '10s'; "
    "SET idle_in_transaction_session_timeout = '60s'; SET client_encoding = 'UTF8'"
)
_UNUSABLE = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateFunction,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.InsufficientPrivilege,
)


class PostgresTransaction:
    """One open transaction on a PostgreSQL connection."""

    def __init__(self, connection: psycopg.Connection[dict[str, Any]], statements: Catalogue) -> None:
        self._connection = connection
        self._statements = statements

    def all(self, name: str, /, **params: object) -> list[Row]:
        """Return every row that the statement gives."""
        return list(self._execute(name, params).fetchall())

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
        with self._connection.cursor() as cursor:
            cursor.executemany(self._statements[name].text.encode(), [dict(row) for row in rows])
            return cursor.rowcount

    def load(self, name: str, rows: Sequence[tuple[object, ...]], /) -> None:
        """Insert many rows by position, by COPY."""
        with self._connection.cursor() as cursor, cursor.copy(self._statements[name].text.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def execute(self, text: str) -> None:
        """Run a statement of a migration."""
        self._connection.execute(text.encode())

    def _execute(self, name: str, params: Mapping[str, Any]) -> psycopg.Cursor[dict[str, Any]]:
        return self._connection.execute(self._statements[name].filled(params).encode(), params)


class Postgres:
    """A PostgreSQL database, in the first schema of the URL's search path.

    `offset_ms` moves the store's clock for this session, where the schema's `now_ms()` has an offset: that
    of the demo and of tests. In production it has none.
    """

    dialect = "postgres"

    def __init__(self, url: str, *, offset_ms: int = 0, statements: Catalogue | None = None) -> None:
        self._url = url
        self.offset_ms = offset_ms
        self._statements = statements or catalogue("postgres")
        self._local = local()

    def __repr__(self) -> str:
        return "Postgres(...)"  # the URL may hold a password

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[PostgresTransaction]:
        """Open a transaction; see `ports.Database`."""
        with self._translated():
            connection = self._connection()
            assert connection.info.transaction_status is TransactionStatus.IDLE, "a unit inside of a unit"
            connection.execute("BEGIN" if write else "BEGIN READ ONLY")
            try:
                yield PostgresTransaction(connection, self._statements)
            except BaseException:
                self._roll_back(connection)
                raise
            self._commit(connection)

    def listener(self) -> "PostgresListener":
        """Return what hears that a job became due; see `ports.Listener`."""
        return PostgresListener(self._connect)

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            connection.close()

    @contextmanager
    def session_lock(self, lock_id: int) -> Iterator[None]:
        """Hold an advisory lock of this thread's session for the block: it vanishes with the session.

        Waits up to two minutes for it; statements in the block have no time limit of their own.
        """
        with self._translated():
            connection = self._connection()
            connection.execute("SET lock_timeout = '120s'; SET statement_timeout = 0")
            try:
                connection.execute("SELECT pg_advisory_lock(%s)", (lock_id,))
                yield
            finally:
                # A fresh session has the usual limits again, and none of our locks.
                self.close()

    def _commit(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        try:
            answer = connection.execute("COMMIT").statusmessage
        except psycopg.OperationalError as error:
            if connection.closed or connection.broken:
                self.close()
                raise CommitUnknown(
                    "The store did not say whether the change was saved.", todo="Look at it again."
                ) from error
            raise
        if answer != "COMMIT":  # the server had given the transaction up: a statement's error was swallowed
            raise StoreGone("The store did not take the change. Nothing was changed.", todo="Try again.")

    def _roll_back(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self.close()  # the server rolls back what its session leaves behind

    def _connection(self) -> psycopg.Connection[dict[str, Any]]:
        connection: psycopg.Connection[dict[str, Any]] | None = getattr(self._local, "connection", None)
        if connection is not None and not connection.closed:
            return connection
        connection = self._connect()
        self._local.connection = connection
        return connection

    def _connect(self) -> psycopg.Connection[dict[str, Any]]:
        try:
            connection = psycopg.connect(
                self._url,
                autocommit=True,  # transactions are opened by name above
                connect_timeout=CONNECT_TIMEOUT_S,
                row_factory=dict_row,
                application_name="campaignbridge",
                keepalives_idle=30,
                keepalives_interval=10,
                keepalives_count=3,
                tcp_user_timeout=30_000,
            )
        except psycopg.ProgrammingError:  # its text repeats the URL, perhaps with a password
            raise StoreUnusable(
                "The database's URL can't be read.",
                todo="Write it as postgresql://user@host/name, with %XX for special characters.",
            ) from None
        connection.execute(_SESSION)
        if self.offset_ms:
            connection.execute(
                "SELECT set_config('campaignbridge.clock_offset_ms', %s, false)", (str(self.offset_ms),)
            )
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.IntegrityError:
            raise  # a bug of ours: every expected clash is a conditional statement
        except _UNUSABLE as error:
            what, todo = _why_unusable(error)
            raise StoreUnusable(what, todo=todo) from error
        except (psycopg.OperationalError, psycopg.InternalError, psycopg.InterfaceError) as error:
            self._forget_broken()
            raise StoreGone(
                "The database can't be used now: it is gone, busy or full. Nothing was changed.",
                todo="Check that PostgreSQL runs and that --database is right, then try again.",
            ) from error

    def _forget_broken(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None and (connection.closed or connection.broken):
            self.close()


class PostgresListener:
    """A connection of its own that hears when a transaction with a job that is due commits.

    The channel is that of the schema, so that installations in one database don't wake each other.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection[dict[str, Any]]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[dict[str, Any]] | None = None

    def wait(self, timeout_s: float) -> bool:
        """Wait for a wake-up; see `ports.Listener`."""
        try:
            if self._connection is None:
                self._connection = self._listening()
                return True  # what was told before is not known
            return len(list(self._connection.notifies(timeout=timeout_s, stop_after=1))) > 0
        except psycopg.Error as error:
            self.close()
            raise StoreGone("The database's wake-ups can't be heard.", todo="Polling goes on.") from error

    def close(self) -> None:
        """Stop hearing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _listening(self) -> psycopg.Connection[dict[str, Any]]:
        connection = self._connect()
        try:
            row = connection.execute(
                "SELECT 'campaignbridge_' || md5(current_schema()) AS channel"
            ).fetchone()
            assert row is not None
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(row["channel"])))
        except BaseException:
            connection.close()
            raise
        return connection


def _why_unusable(error: psycopg.Error) -> tuple[str, str]:
    if isinstance(error, psycopg.errors.DuplicateTable | psycopg.errors.DuplicateFunction):
        return "The schema holds another program's tables.", "Name another schema with --database."
    if isinstance(error, psycopg.errors.InvalidSchemaName):
        return "The schema that the database's URL names does not exist.", "Create it, or name another."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return (
            "The database's user may not do this.",
            "Grant it the rights on the schema, or use another user.",
        )
    return "The database has no usable CampaignBridge schema.", "Run: campaignbridge db upgrade"
