"""Brings a store's schema up and down.

1. Take a lock that vanishes with its process: an advisory lock of the session on PostgreSQL; on SQLite the
   write lock that each migration's own transaction holds.
2. Refuse a schema that is newer than this program, unless it says that it is compatible; refuse an applied
   migration whose text has changed since.
3. Apply each missing migration in one transaction that also records it. A process that dies between two
   leaves the first applied and the second untouched; the next one goes on there.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources

from campaignbridge.domain.errors import StoreUnusable
from campaignbridge.store.postgres import Postgres, PostgresTransaction
from campaignbridge.store.sqlite import Sqlite, SqliteTransaction

LOCK_ID = 0x43_42_4D_49_47  # ours alone among a database's advisory locks
GUARDED = 5  # the first schema that can say of a store that it is a copy
COMPATIBLE_FROM = 1  # the oldest program that can work with the schema of this one
HISTORY = """CREATE TABLE IF NOT EXISTS schema_migrations (
    version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
    compatible_from bigint NOT NULL, applied_at bigint NOT NULL
)"""
OFFSET_CLOCK = """CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        + coalesce(nullif(current_setting('campaignbridge.clock_offset_ms', true), ''), '0')::bigint
$$"""

_END_OF_STATEMENT = re.compile(r";[ \t]*\n(?:[ \t]*\n|\Z)")


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step, up and down."""

    version: int
    name: str
    up: str
    down: str

    @property
    def checksum(self) -> str:
        """What an applied migration is compared with."""
        return hashlib.sha256(self.up.encode()).hexdigest()


def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return every migration that this program knows, oldest first."""
    folder = resources.files("campaignbridge.store") / "migrations" / dialect
    found = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".up.sql"):
            number, _, name = file.name.removesuffix(".up.sql").partition("_")
            down = folder / file.name.replace(".up.sql", ".down.sql")
            found.append(Migration(int(number), name, file.read_text("utf-8"), down.read_text("utf-8")))
    return tuple(found)


def current(database: Sqlite | Postgres) -> int:
    """Return the schema's version: 0 for an empty store. Raises `StoreUnusable` for one that can't be used."""
    with database.transaction(write=False) as tx:
        return _current(tx, migrations(database.dialect))


def upgrade(database: Sqlite | Postgres, *, target: int | None = None) -> list[str]:
    """Apply what is missing, up to `target` (default: all). Return the names of what was applied."""
    known = migrations(database.dialect)
    applied: list[str] = []
    with _session_lock(database):
        with database.transaction() as tx:
            _current(tx, known)
            tx.execute(HISTORY)
        for migration in known:
            if target is not None and migration.version > target:
                break
            with database.transaction() as tx:
                if _current(tx, known) >= migration.version:
                    continue
                _execute(tx, migration.up)
                tx.run(
                    "migrations.record",
                    version=migration.version,
                    name=migration.name,
                    checksum=migration.checksum,
                    compatible_from=COMPATIBLE_FROM,
                )
            applied.append(migration.name)
    return applied


def downgrade(database: Sqlite | Postgres, *, target: int) -> list[str]:
    """Take back what is newer than `target`. Return the names of what was taken back."""
    known = migrations(database.dialect)
    undone: list[str] = []
    with _session_lock(database):
        for migration in reversed(known):
            with database.transaction() as tx:
                if not target < migration.version == _current(tx, known):
                    continue
                _execute(tx, migration.down)
                tx.run("migrations.forget", version=migration.version)
            undone.append(migration.name)
    return undone


def install_offset_clock(database: Postgres) -> None:
    """Give the schema's `now_ms()` an offset that a session can set. For the demo and tests only."""
    with database.transaction() as tx:
        tx.execute(OFFSET_CLOCK)


def _current(tx: SqliteTransaction | PostgresTransaction, known: tuple[Migration, ...]) -> int:
    found = tx.one("migrations.exists")
    if found is None or not found["n"]:
        if found is not None and found["others"]:
            raise StoreUnusable(
                "The store holds another program's tables.",
                todo="Name another file or schema with --database.",
            )
        return 0
    version = 0
    by_version = {migration.version: migration for migration in known}
    for row in tx.all("migrations.applied"):
        version = row["version"]
        migration = by_version.get(version)
        if migration is None and row["compatible_from"] > known[-1].version:
            raise StoreUnusable(
                f"The store has schema {version}; this program knows {known[-1].version} and can't use it.",
                todo="Use the newer campaignbridge that made it.",
            )
        if migration is not None and migration.checksum != row["checksum"]:
            raise StoreUnusable(
                f"Migration {version} ({row['name']}) was applied with another text than this program has.",
                todo="Use the campaignbridge that made the store, or restore a backup.",
            )
    return version


def _execute(tx: SqliteTransaction | PostgresTransaction, text: str) -> None:
    # One statement at a time: SQLite's executescript would commit in between.
    for statement in _END_OF_STATEMENT.split(text):
        if statement.strip():
            tx.execute(statement)


@contextmanager
def _session_lock(database: Sqlite | Postgres) -> Iterator[None]:
    if isinstance(database, Sqlite):
        yield  # each migration's immediate transaction holds the file's write lock
        return
    with database.session_lock(LOCK_ID):
        yield
