"""The only file that knows every part: Settings -> Bridge."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from campaignbridge.bridge import Bridge
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.errors import InvalidInput, InvalidState, Refusal, StoreUnusable
from campaignbridge.domain.installation import Place, machine_fingerprint
from campaignbridge.domain.job import Handler
from campaignbridge.domain.recurring import Every, Recurring
from campaignbridge.engine.recurring import require_usable
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.checkup import Subject
from campaignbridge.flows.gate import AccountGate
from campaignbridge.flows.identity import keep_watch
from campaignbridge.flows.notices import COLLECTING, collect_handler, send_handler
from campaignbridge.flows.refusals import copy_paused
from campaignbridge.flows.sweep import EVERY_S as SWEEP_EVERY_S
from campaignbridge.flows.sweep import sweep_handler
from campaignbridge.flows.watch import watch_handler
from campaignbridge.flows.webhooks import webhooks_handler
from campaignbridge.flows.wiring import Wiring
from campaignbridge.host import HostChance, HostClock, machine_identity, process_identity
from campaignbridge.observe import job_log
from campaignbridge.ports import Chance, Clock, NoticeTarget, Provider, WebhookReader
from campaignbridge.settings import Settings, from_environment, secret_of, settings_text
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import KeyRing, Vault, new_ring_line
from campaignbridge.targets import WEBHOOK, Target, decoded

if TYPE_CHECKING:
    from campaignbridge.store.backup import Copy, Restored
    from campaignbridge.store.checking import Checked
    from campaignbridge.store.postgres import Postgres
    from campaignbridge.store.sqlite import Sqlite

# What is queued again and again; each type has a handler in `assemble`.
RECURRING = (Recurring("sweep", "sweep", "all", Every(SWEEP_EVERY_S)),)


def open_bridge(database: str | None = None, *, settings: Settings | None = None) -> Bridge:
    """Open a store, making its schema when it is empty, and return the bridge over it.

    Raises `StoreGone` when it can't be reached, and `StoreUnusable` when it is damaged, older or newer.
    """
    chosen = settings or from_environment(database=database)
    store = Store(open_database(chosen))
    place = prepare(store, machine=chosen.machine)
    clock, chance, vault = HostClock(), HostChance(), Vault(chosen.ring)
    holder = process_identity(chance)
    return assemble(
        store,
        behind_gates(provider_opener(chosen, clock, vault), store, clock, holder),
        clock,
        chance,
        holder,
        chosen.duties_separated,
        chosen.test_domains,
        vault,
        place=place,
        notice_targets=notice_openers(chosen, clock),
    )


def open_database(settings: Settings) -> "Sqlite | Postgres":
    """Return the database that the settings name; nothing is opened yet."""
    if settings.on_postgres:
        from campaignbridge.store.postgres import Postgres

        return Postgres(settings.database, offset_ms=settings.clock_offset_ms)
    from campaignbridge.store.sqlite import Sqlite

    return Sqlite(settings.database, offset_ms=settings.clock_offset_ms)


def prepare(store: Store, *, machine: str = "") -> Place | None:
    """Make the schema of an empty store; refuse one that this program can't use, and pause a copy.

    Returns where the store lives. `machine` is a name that stands for this machine's own id.
    """
    from campaignbridge.store import migrate
    from campaignbridge.store.postgres import Postgres
    from campaignbridge.store.sqlite import Sqlite

    database = store.database
    assert isinstance(database, Sqlite | Postgres)
    version = migrate.current(database)
    newest = migrate.migrations(database.dialect)[-1].version
    if version == 0:
        migrate.upgrade(database)
    elif version < newest:
        raise StoreUnusable(
            f"The store has schema {version}; this program needs {newest}.",
            todo="Run: campaignbridge db upgrade",
        )
    place = _place(store, machine)
    keep_watch(store, place, fresh_id=HostChance().token(8))
    return place


def _place(store: Store, machine: str) -> Place | None:
    from campaignbridge.store.place import place_of
    from campaignbridge.store.postgres import Postgres

    kind = "postgres" if isinstance(store.database, Postgres) else "sqlite"
    identity = f"named:{machine}" if machine else machine_identity()
    return place_of(store.database, kind=kind, machine=machine_fingerprint(identity))


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
        lambda: _place(Store(database), settings.machine),
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


def assemble(  # noqa: PLR0917  the list of parts is the point
    store: Store,
    opener: Callable[[Connection], Provider],
    clock: Clock,
    chance: Chance,
    holder: str,
    duties_separated: bool = False,  # noqa: FBT001, FBT002
    test_domains: frozenset[str] = frozenset(),
    vault: Vault | None = None,
    recurring: tuple[Recurring, ...] = RECURRING,
    place: Place | None = None,
    notice_targets: Mapping[str, Callable[[], NoticeTarget]] | None = None,
) -> Bridge:
    """Put a bridge together from its parts. Without a vault it can't keep keys, only names of variables."""
    wiring = Wiring(
        store,
        opener,
        clock,
        chance,
        holder,
        duties_separated,
        test_domains,
        place,
        notice_targets or {},
        _webhook_reader,
    )
    made = (
        watch_handler(wiring),
        sweep_handler(wiring),
        collect_handler(wiring),
        send_handler(wiring),
        webhooks_handler(wiring),
    )
    handlers: dict[str, Handler] = {handler.type: handler for handler in made}
    if notice_targets:
        recurring = (*recurring, COLLECTING)
    assert all(one.type in handlers for one in recurring), "a recurring job has no handler"
    worker = Worker(
        store,
        handlers,
        clock,
        chance,
        holder,
        lambda event, job: job_log(event, job.id, job.type),
        require_usable(recurring),
    )
    return Bridge(wiring, handlers, worker, vault or Vault(lambda: KeyRing({})))


def _webhook_reader(slug: str) -> WebhookReader | None:
    from campaignbridge.providers.registry import webhook_reader

    return webhook_reader(slug)


def provider_opener(
    settings: Settings, clock: Clock, vault: Vault | None = None
) -> Callable[[Connection], Provider]:
    """Return what turns a connection into a provider, with the key from its variable or its sealed box."""
    keys = vault or Vault(settings.ring)

    def opener(connection: Connection) -> Provider:
        from campaignbridge.providers.registry import open_provider

        key = keys.open(connection) if connection.sealed is not None else _from_variable(connection)
        try:
            return open_provider(
                connection.provider,
                key=key.reveal(),
                base_url=connection.base_url,
                clock=clock,
                allow_hosts=settings.allow_hosts,
            )
        except ValueError as error:
            raise InvalidInput(str(error), todo="Check --provider, --base-url and the key.") from None

    return opener


def notice_openers(settings: Settings, clock: Clock) -> dict[str, Callable[[], NoticeTarget]]:
    """Return what opens each notice target, by name. Its secret is looked up when it is opened."""
    return {target.name: partial(open_notice_target, target, clock) for target in settings.notices}


def open_notice_target(target: Target, clock: Clock) -> NoticeTarget:
    """Open one notice target; nobody is contacted. Raises `InvalidInput`, which never repeats a secret."""
    secret = secret_of(target)
    try:
        if target.kind == WEBHOOK:
            from campaignbridge.notices.webhook import SignedWebhook

            return SignedWebhook(target.url, decoded(secret, name=target.name), clock)
        from campaignbridge.notices.through_apprise import ThroughApprise

        return ThroughApprise(secret)
    except ImportError:
        raise InvalidInput(
            f"The notice target {target.name} needs Apprise, which is not installed here.",
            todo="Install campaignbridge[notices].",
        ) from None
    except ValueError as error:
        raise InvalidInput(
            f"The notice target {target.name}: {error}", todo="Correct the settings."
        ) from None


def behind_gates(
    opener: Callable[[Connection], Provider], store: Store, clock: Clock, holder: str
) -> Callable[[Connection], Provider]:
    """Return an opener whose providers stand behind their account's gate, once the account is known."""

    def gated(connection: Connection) -> Provider:
        from campaignbridge.providers.limited import Limited

        provider = opener(connection)
        if connection.account is None:
            return provider
        rate = provider.calls_per_s
        gate = AccountGate(store, clock, connection.account, holder, 1 if rate is None else rate)
        return Limited(provider, gate)

    return gated


def _from_variable(connection: Connection) -> Secret:
    if connection.variable is None:
        raise InvalidInput(
            f"Connection {connection.label} is disconnected: it has no key.",
            todo="Give it a key of the same account:",
            command=f"campaignbridge connections replace-key {connection.id}",
        )
    key = Secret(os.environ.get(connection.variable, ""))
    if not key:
        raise InvalidInput(
            f"The environment variable {connection.variable} of connection {connection.label} is not set.",
            todo=f"Set {connection.variable} to the provider's key, then repeat the command.",
        )
    return key
