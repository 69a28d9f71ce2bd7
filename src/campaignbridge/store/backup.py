"""Copies of a SQLite store: taken while it is in use, and put back without destroying anything.

A backup is one moment of the store, read by SQLite's own online backup while others go on writing. It is looked
through, marked as a copy, made a single file, saved to the disk, and only then given its name. Sealed keys stay
sealed in it.

Putting one back:
1. Copy it to a file beside the store and look through that; the backup itself is never written to.
2. Mark it as a copy, so that it starts paused wherever it is put.
3. Be alone with the store that is there: nobody holds a lease or a lock in it, and nobody has it open.
4. Give the old store another name as well, then the new one its name, in one step each: there is no moment
   without a store.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from campaignbridge.domain.errors import InvalidInput, InvalidState, Locked, StoreGone, StoreUnusable
from campaignbridge.ports import Row
from campaignbridge.store import migrate
from campaignbridge.store.checking import damages
from campaignbridge.store.sqlite import Sqlite, primary_code, translated

PATIENCE_S = 10.0
MAGIC = b"SQLite format 3\0"
SIDES = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file, by its name


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was looked through."""

    path: str
    bytes: int
    schema: int
    campaigns: int
    installation: str | None


@dataclass(frozen=True, slots=True)
class Restored:
    """A copy in its place, and under which name the store is kept that was there before."""

    copy: Copy
    kept: str | None


def back_up(store: str, target: str, *, replace: bool, unique: str) -> Copy:
    """Copy the store to a file that only we can read. One that is there is kept, unless told to replace it.

    Raises `StoreUnusable` when the copy isn't sound: then there is none.
    """
    source, wanted = Path(store), _path(target)
    _require_file(source, "store")
    if os.path.lexists(wanted) and (not replace or not wanted.is_file() or wanted.samefile(source)):
        raise InvalidState(
            f"There is {target} already. Nothing was written.",
            todo="Name another file; --force replaces a file that isn't the store itself.",
        )
    with _fresh_beside(wanted, unique) as fresh:
        _copy(source, fresh)
        copy = _look_through(fresh, target)
        if replace:
            fresh.replace(wanted)
        else:
            _name(fresh, wanted)
        _save_folder(wanted)
    return copy


def restore(backup: str, store: str, *, kept: str, unique: str) -> Restored:
    """Put a backup in the store's place, paused; a store that is there is kept under the name `kept`.

    Raises `Locked` while somebody works in the store that is there.
    """
    source, target = _path(backup), Path(store)
    _require_file(source, "backup")
    if target.exists() and target.samefile(source):
        raise InvalidState(f"{backup} is the store itself. Nothing was changed.", todo="Name a backup of it.")
    with _fresh_beside(target, unique) as fresh:
        _copy(source, fresh)
        copy = _look_through(fresh, store, guarded=True)
        if os.path.lexists(target):
            with _alone_with(target):
                _keep(target, fresh, Path(kept))
                fresh.replace(target)
        else:
            _move_sides(target, Path(kept))
            _name(fresh, target)
            kept = ""
        _save_folder(target)
    return Restored(copy, kept or None)


def _path(text: str) -> Path:
    if "\0" in text:
        raise InvalidInput("The file's name contains a NUL character.", todo="Name another file.")
    return Path(text)


def _require_file(path: Path, what: str) -> None:
    if not path.is_file():
        raise InvalidInput(f"There is no {what} {path}.", todo=f"Name the file that the {what} is in.")


@contextmanager
def _fresh_beside(target: Path, unique: str) -> Iterator[Path]:
    """Make an empty file beside the target that only we can read; whatever is left of it in the end is removed."""
    fresh = target.with_name(f".{target.name}.{unique}.part")
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield fresh
    except OSError as error:
        reason = (error.strerror or "it can't be used").lower()
        raise InvalidInput(f"{target} can't be written ({reason}).", todo="Choose another place.") from error
    finally:
        for side in ("", *SIDES):
            with suppress(OSError):
                fresh.with_name(fresh.name + side).unlink()


def _copy(source: Path, fresh: Path) -> None:
    """Copy one moment of a store; in one step, since every change of it would begin a stepwise copy anew."""
    place = f"file:{quote(str(source.resolve()))}?mode=ro"
    with (
        translated(),
        closing(sqlite3.connect(place, uri=True, timeout=PATIENCE_S)) as there,
        closing(sqlite3.connect(fresh)) as here,
    ):
        there.backup(here, progress=_patient(), sleep=0.25)


def _patient() -> Callable[[int, int, int], None]:
    waited = iter(range(int(PATIENCE_S / 0.25)))

    def progress(_status: int, left: int, _all: int) -> None:
        if left and next(waited, None) is None:
            raise StoreGone("The store is busy: another process writes.", todo="Try again.")

    return progress


def _look_through(fresh: Path, target: str, *, guarded: bool = False) -> Copy:
    """Look through a fresh copy, mark it as one, and make it a single file that is safe on the disk."""
    database = Sqlite(str(fresh))
    try:
        schema = migrate.current(database)
        if schema == 0:
            raise StoreUnusable("The file holds no store of CampaignBridge.", todo="Name the right file.")
        with database.transaction(write=False) as tx:
            found = damages(tx)
        if found:
            raise StoreUnusable(f"The copy is not sound. {found[0]}", todo="Use an older backup.")
        if guarded and schema < migrate.GUARDED:
            migrate.upgrade(database, target=migrate.GUARDED)
            schema = migrate.current(database)
        with database.transaction() as tx:
            if schema >= migrate.GUARDED:
                tx.run("installation.mark_backup")
            named, counts = tx.one("installation.named"), tx.one("check.counts")
    finally:
        database.close()
    if not guarded:  # so that it can be read from a disk that can't be written to
        with translated(), closing(sqlite3.connect(fresh)) as alone:
            alone.execute("PRAGMA journal_mode = DELETE")
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    assert counts is not None
    return Copy(target, fresh.stat().st_size, schema, counts["campaigns"], named["id"] if named else None)


def _name(fresh: Path, wanted: Path) -> None:
    """Give a file its name, without ever replacing another one."""
    try:
        os.link(fresh, wanted)
    except FileExistsError:
        raise InvalidState(f"There is {wanted} already. Nothing was written.", todo="Try again.") from None
    except OSError:  # a file system without links
        fresh.rename(wanted)


@contextmanager
def _alone_with(target: Path) -> Iterator[None]:
    """Keep everybody out of a store while it is moved. One that is beyond opening is moved as it is, logs and all."""
    with target.open("rb") as file:
        if file.read(len(MAGIC)) not in (MAGIC, b""):
            yield
            return
    try:
        _require_idle(target)
        connection = _exclusive(target)
    except StoreUnusable:
        yield
        return
    with closing(connection):
        yield


def _require_idle(target: Path) -> None:
    database = Sqlite(str(target), busy_timeout_s=1.0)
    try:
        with database.transaction(write=False) as tx:
            found = tx.one("migrations.exists")
            assert found is not None
            if found["others"] and not found["n"]:
                raise InvalidState(
                    f"{target} holds another program's tables. Nothing was changed.",
                    todo="Name the store's place with --database.",
                )
            live = tx.one("check.live") if found["n"] else None
    finally:
        database.close()
    if live is not None and live["n"]:
        raise _in_use("A worker holds leases or locks in the store", live)


def _exclusive(target: Path) -> sqlite3.Connection:
    """Open the store alone. Leaving the write-ahead log succeeds only while nobody else has the file open."""
    with translated():
        connection = sqlite3.connect(target, timeout=0.5, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            connection.close()
            if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise _in_use("Another process has the store open", None) from None
            raise
    return connection


def _in_use(what: str, live: Row | None) -> Locked:
    until = max(live["lease_until"], live["held_until"]) - live["now"] if live else 0
    return Locked(
        f"{what}. Nothing was changed.",
        todo="Stop every worker and cron job that uses it, then repeat the command.",
        retry_after=max(1, -(-until // 1000)),
    )


def _keep(target: Path, fresh: Path, kept: Path) -> None:
    """Give the old store another name as well, and its logs that name alone: they must not meet the new one.

    Whoever could use the old store can use the new one.
    """
    facts = target.stat()
    if os.path.lexists(kept):
        raise InvalidState(f"There is {kept} already. Nothing was changed.", todo="Try again in a second.")
    try:
        os.link(target, kept)
    except OSError:
        shutil.copy2(target, kept)
    fresh.chmod(facts.st_mode & 0o777)
    with suppress(PermissionError):
        os.chown(fresh, facts.st_uid, facts.st_gid)
    _move_sides(target, kept)


def _move_sides(target: Path, kept: Path) -> None:
    for side in SIDES:
        with suppress(FileNotFoundError):
            target.with_name(target.name + side).rename(kept.with_name(kept.name + side))


def _save_folder(path: Path) -> None:
    with suppress(OSError):  # some systems can't save a folder by itself; the file is safe already
        handle = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def time_stamp(now_ms: int) -> str:
    """Return a moment for the name of a file."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ms // 1000))
