"""Making an installation and looking after its store: schema, backups, checks. Needs no bridge."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from campaignbridge.domain.errors import InvalidInput, InvalidState, Refusal
from campaignbridge.flows.checkup import Subject
from campaignbridge.flows.refusals import copy_paused
from campaignbridge.host import HostChance, HostClock
from campaignbridge.settings import Settings, settings_text
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import Vault, new_ring_line

if TYPE_CHECKING:
    from campaignbridge.store.backup import Copy, Restored
    from campaignbridge.store.checking import Checked
from campaignbridge.bootstrap import open_database, place_of, prepare, provider_opener


@dataclass(frozen=True, slots=True)
class Made:
    """What `make_installation` made: places and the id of the ring's key, never the key."""

    settings_file: str
    secret_file: str
    key_id: str
    schema: int


def make_installation(settings: Settings, *, settings_file: str, secret_file: str) -> Made:
    """Make the store, a secret file with a fresh key that only we can read, and a settings file.

    Raises `Refusal` when one of the files is there: a ring that is overwritten opens nothing any more.
    """
    for path in (settings_file, secret_file):
        if os.path.lexists(path):
            raise InvalidState(
                f"There is {path} already. Nothing was changed.",
                todo="Look at it; to begin anew, name other files or move it away.",
                command="campaignbridge doctor",
            )
    store = Store(open_database(settings))
    try:
        prepare(store, machine=settings.machine)
    finally:
        store.database.close()
    key_id = f"k{HostChance().token(6)}"
    ring = f"# The key ring of CampaignBridge: the first key seals, all open.\n{new_ring_line(key_id).reveal()}\n"
    folder = Path(settings_file).parent
    text = settings_text(
        settings
        if settings.on_postgres
        else replace(settings, database=_seen_from(folder, settings.database)),
        secret_file=_seen_from(folder, secret_file),
    )
    _write_fresh(secret_file, ring)
    try:
        _write_fresh(settings_file, text)
    except Refusal:
        Path(secret_file).unlink()  # it has sealed nothing yet
        raise
    return Made(settings_file, secret_file, key_id, schema_versions(settings)[0])


def _seen_from(folder: Path, path: str) -> str:
    return path if Path(path).is_absolute() else os.path.relpath(path, folder)


def _write_fresh(path: str, text: str) -> None:
    try:
        data = text.encode()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "a name in it is no text").lower()
        raise InvalidInput(f"{path} can't be written ({reason}).", todo="Choose another place.") from None


def schema_versions(settings: Settings) -> tuple[int, int]:
    """Return the version of the store's schema and the one that this program needs."""
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        return migrate.current(database), migrate.migrations(database.dialect)[-1].version
    finally:
        database.close()


def subject_of(settings: Settings | Refusal) -> Subject:
    """Return what `doctor` looks at. Nothing is opened, and nothing made."""
    clock = HostClock()
    if isinstance(settings, Refusal):
        return Subject(settings, clock)
    vault = Vault(settings.ring)
    database = open_database(settings)
    return Subject(
        settings,
        clock,
        database,
        lambda: schema_versions(settings),
        provider_opener(settings, clock, vault),
        vault,
        lambda: place_of(Store(database), settings.machine),
    )


def upgrade_schema(settings: Settings, *, target: int | None = None) -> list[str]:
    """Bring the store's schema up; return the names of the migrations that were applied."""
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        applied = migrate.upgrade(database, target=target)
        version = migrate.current(database)
        if version >= migrate.migrations(database.dialect)[-1].version:
            prepare(Store(database), machine=settings.machine)
        elif version:
            with Store(database).unit() as unit:
                unit.name_installation(HostChance().token(8))
        return applied
    finally:
        database.close()


def downgrade_schema(settings: Settings, *, target: int) -> list[str]:
    """Take the store's schema back, with the data in it; return the names of what was taken back.

    Raises `CopyPaused` where that would forget that the store is a copy.
    """
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        if target < migrate.GUARDED <= migrate.current(database):
            with Store(database).reading() as unit:
                standing = unit.identity.standing()
            if standing is not None and standing.paused:
                raise copy_paused(standing)
        return migrate.downgrade(database, target=target)
    finally:
        database.close()


def check_store(settings: Settings) -> "Checked":
    """Look through a whole store whose schema is the newest one; return what was found."""
    from campaignbridge.store.checking import check

    database = open_database(settings)
    try:
        return check(database)
    finally:
        database.close()


def back_up_store(settings: Settings, target: str, *, replace: bool) -> "Copy":
    """Copy the store to a file while it is in use. Raises `Refusal` where there is no file to copy."""
    from campaignbridge.store.backup import back_up

    source = _file_of(settings, "backed up")
    return back_up(source, target, replace=replace, unique=HostChance().token(8))


def restore_store(settings: Settings, backup: str) -> "Restored":
    """Put a backup in the store's place, paused; a store that is there keeps another name."""
    from campaignbridge.store.backup import restore, time_stamp

    target = os.path.realpath(_file_of(settings, "restored"))
    kept = f"{target}.before-restore-{time_stamp(HostClock().mark().wall_ms)}"
    return restore(backup, target, kept=kept, unique=HostChance().token(8))


def _file_of(settings: Settings, done: str) -> str:
    if settings.on_postgres:
        raise InvalidState(
            f"A PostgreSQL store is {done} with PostgreSQL's own tools (pg_dump, or point-in-time recovery).",
            todo="docs/backup-and-restore.md says how, and what happens then.",
        )
    if settings.database == ":memory:":
        raise InvalidInput(f"A store in memory can't be {done}.", todo="Name a file with --database.")
    return settings.database
