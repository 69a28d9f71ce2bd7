"""Two connections that meet between two statements. PYTEST_DONT_REWRITE.

`Meeting` is a database that runs something on another connection right after one of its statements, before its own
transaction goes on; it waits until that is done, or waits for a row of ours. On SQLite only after a statement that
reads: whoever writes there has the store alone.
"""

import threading
from collections.abc import Callable
from contextlib import contextmanager

import psycopg

from support.stores import PATIENCE_S, Home
from support.world import waiting_until


class Meeting:
    """A database that meets somebody after a statement."""

    def __init__(self, home: Home, statement: str, what: Callable[[], object]) -> None:
        self.home, self.statement, self.what = home, statement, what
        self.database = home.open()
        self.crew: threading.Thread | None = None
        self.came_to: object = None
        self._mine = threading.get_ident()

    @contextmanager
    def transaction(self, *, write=True):
        with self.database.transaction(write=write) as tx:
            yield _Met(tx, self)

    def listener(self):
        return self.database.listener()

    def close(self) -> None:
        self.database.close()

    def meet(self) -> None:
        """Let the other begin, until it is done or waits for us."""
        self.crew = threading.Thread(target=self._run, daemon=True)
        self.crew.start()
        waiting_until(lambda: not self.crew.is_alive() or self._is_blocked())

    def done(self) -> object:
        """Wait until the other is done; return what it came to, raise what it raised."""
        assert self.crew is not None, f"{self.statement} never ran"
        self.crew.join(PATIENCE_S)
        assert not self.crew.is_alive(), "it hangs"
        if isinstance(self.came_to, BaseException):
            raise self.came_to
        return self.came_to

    def _run(self) -> None:
        try:
            self.came_to = self.what()
        except BaseException as error:  # noqa: BLE001  handed to the test
            self.came_to = error
        finally:
            self.home.close()

    def _is_blocked(self) -> bool:
        if self.home.dialect == "sqlite":
            return False  # readers hold nobody up there
        with psycopg.connect(self.home.where, autocommit=True) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND application_name = 'campaignbridge' AND datname = current_database()"
            ).fetchone()
        return bool(row and row[0])


class _Met:
    """A transaction that meets somebody once, after the statement."""

    def __init__(self, tx, meeting: Meeting) -> None:
        self._tx, self._meeting = tx, meeting

    def __getattr__(self, kind: str):
        call = getattr(self._tx, kind)

        def met(name: str, /, *args, **params):
            answer = call(name, *args, **params)
            if name == self._meeting.statement and self._meeting.crew is None:
                self._meeting.meet()
            return answer

        return met
