"""The store of a simulated world: one real SQLite in memory, seen through each actor's own handle."""

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from campaignbridge.domain.errors import CommitUnknown, StoreGone
from campaignbridge.ports import Row
from campaignbridge.store import migrate
from campaignbridge.store.sql import Catalogue, catalogue
from campaignbridge.store.sqlite import Sqlite, SqliteTransaction
from campaignbridge.store.unit import Store
from sim.invariants import Violation
from sim.schedule import Actor, Schedule, Strike

STATEMENT_MS = 1
WRITING_ONES = frozenset({"waves.start_push"})  # of the statements that return a row

Ran = tuple[str, object]


class _Memory(Sqlite):
    """A SQLite in memory, used through one connection."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(":memory:")
        self._now_ms = now_ms
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.connection.create_function("now_ms", 0, now_ms)

    def _connection(self) -> sqlite3.Connection:
        return self.connection


@cache
def _template() -> bytes:
    memory = _Memory(lambda: 0)
    migrate.upgrade(memory)
    with Store(memory).unit() as unit:
        unit.name_installation("simhouse")
    return memory.connection.serialize()


def _clock_of(schedule: Schedule) -> Callable[[], int]:
    """Return its time without holding it: the collector doesn't see what a connection's functions hold."""
    held = weakref.ref(schedule)

    def now() -> int:
        alive = held()
        assert alive is not None, "a world outlives its connection"
        return alive.now

    return now


class Memory:
    """The world's one database, with what each commit left behind."""

    def __init__(self, schedule: Schedule, *, statements: Catalogue | None = None) -> None:
        self.schedule = schedule
        self.statements = statements or catalogue("sqlite")
        self.after_commit: list[Callable[[sqlite3.Connection, Actor, list[Ran]], None]] = []
        self.connection = self._open(_template())

    def _open(self, data: bytes) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.deserialize(data)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.create_function("now_ms", 0, _clock_of(self.schedule))
        return connection

    def dump(self) -> bytes:
        """Return the database as it is."""
        return self.connection.serialize()

    def restore(self, data: bytes) -> None:
        """Put an earlier state of the database in place of this one."""
        self.connection.close()
        self.connection = self._open(data)

    def committed(self, actor: Actor, ran: list[Ran]) -> None:
        """Let the watchers of invariants see what a commit left, by whom, with which statements."""
        try:
            for look in self.after_commit:
                look(self.connection, actor, ran)
        except Violation as violation:
            self.schedule.fail(violation)


class Noting(SqliteTransaction):
    """A transaction that remembers which statements changed something, and under which key."""

    def __init__(self, connection: sqlite3.Connection, statements: Catalogue) -> None:
        super().__init__(connection, statements)
        self.ran: list[Ran] = []

    def run(self, name: str, /, **params: object) -> int:
        touched = super().run(name, **params)
        if touched:
            self.ran.append((name, params.get("key")))
        return touched

    def one(self, name: str, /, **params: object) -> Row | None:
        row = super().one(name, **params)
        if row is not None and name in WRITING_ONES:
            self.ran.append((name, params.get("key")))
        return row

    def each(self, name: str, rows: Iterable[Mapping[str, object]], /) -> int:
        touched = super().each(name, rows)
        self.ran.append((name, None))
        return touched


class ActorDatabase:
    """One actor's handle on the database. It dies with the actor."""

    dialect = "sqlite"

    def __init__(self, actor: Actor, memory: Memory) -> None:
        self._actor = actor
        self._memory = memory

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[SqliteTransaction]:
        self._struck(self._actor.point("tx.begin"))
        connection = self._memory.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            tx = Noting(connection, self._memory.statements)
            yield tx
            strike = self._actor.point("tx.commit", may_switch=False)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        if strike is not None and strike.kind in ("gone", "lost"):
            connection.execute("ROLLBACK")
            raise StoreGone("gone") if strike.kind == "gone" else CommitUnknown("lost")
        connection.execute("COMMIT")
        self._actor.schedule.now += STATEMENT_MS
        self._memory.committed(self._actor, tx.ran)
        strike = self._actor.point("tx.committed")
        if strike is not None and strike.kind == "lost":
            raise CommitUnknown("lost")

    def close(self) -> None:
        """Nothing to close: the connection is the world's."""

    def _struck(self, strike: Strike | None) -> None:
        if strike is not None and strike.kind in ("gone", "lost"):
            raise StoreGone("gone")
