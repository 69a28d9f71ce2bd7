"""The only file that knows every part: Settings -> Bridge."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from campaignbridge.bridge import Bridge
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.errors import InvalidInput, InvalidState, Refusal, StoreUnusable
from campaignbridge.domain.job import Handler
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.doctor import Subject
from campaignbridge.flows.gate import AccountGate
from campaignbridge.flows.sweep import sweep_handler
from campaignbridge.flows.watch import watch_handler
from campaignbridge.flows.webhooks import webhooks_handler
from campaignbridge.flows.wiring import Wiring
from campaignbridge.host import HostChance, HostClock, process_identity
from campaignbridge.observe import job_log
from campaignbridge.ports import Chance, Clock, Provider, WebhookReader
from campaignbridge.settings import Settings, from_environment, settings_text
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import KeyRing, Vault, new_ring_line

if TYPE_CHECKING:
    from campaignbridge.store.postgres import Postgres
    from campaignbridge.store.sqlite import Sqlite


def open_bridge(database: str | None = None, *, settings: Settings | None = None) -> Bridge:
    """Open a store, making its schema when it is empty, and return the bridge over it.

    Raises `StoreGone` when it can't be reached, and `StoreUnusable` when it is damaged, older or newer.
    """
    chosen = settings or from_environment(database=database)
    store = Store(open_database(chosen))
    prepare(store)
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
    )


def open_database(settings: Settings) -> "Sqlite | Postgres":
    """Return the database that the settings name; nothing is opened yet."""
    if settings.on_postgres:
        from campaignbridge.store.postgres import Postgres

        return Postgres(settings.database, offset_ms=settings.clock_offset_ms)
    from campaignbridge.store.sqlite import Sqlite

    return Sqlite(settings.database, offset_ms=settings.clock_offset_ms)


def prepare(store: Store) -> None:
    """Make the schema of an empty store; refuse one that this program can't use."""
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
    _name_installation(store)


def _name_installation(store: Store) -> None:
    # Also where a start was killed between the schema and the name.
    with store.reading() as unit:
        if unit.installation() is not None:
            return
    with store.unit() as unit:
        unit.name_installation(HostChance().token(8))


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
        prepare(store)
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
    return Subject(
        settings,
        clock,
        open_database(settings),
        lambda: schema_versions(settings),
        provider_opener(settings, clock, vault),
        vault,
    )


def upgrade_schema(settings: Settings, *, target: int | None = None) -> list[str]:
    """Bring the store's schema up; return the names of the migrations that were applied."""
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        applied = migrate.upgrade(database, target=target)
        if migrate.current(database):
            _name_installation(Store(database))
        return applied
    finally:
        database.close()


def downgrade_schema(settings: Settings, *, target: int) -> list[str]:
    """Take the store's schema back, with the data in it; return the names of what was taken back."""
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        return migrate.downgrade(database, target=target)
    finally:
        database.close()


def assemble(  # noqa: PLR0917  the list of parts is the point
    store: Store,
    opener: Callable[[Connection], Provider],
    clock: Clock,
    chance: Chance,
    holder: str,
    duties_separated: bool = False,  # noqa: FBT001, FBT002
    test_domains: frozenset[str] = frozenset(),
    vault: Vault | None = None,
) -> Bridge:
    """Put a bridge together from its parts. Without a vault it can't keep keys, only names of variables."""
    wiring = Wiring(
        store, opener, clock, chance, holder, duties_separated, test_domains, webhook_reader=_webhook_reader
    )
    known = (watch_handler(wiring), sweep_handler(wiring), webhooks_handler(wiring))
    handlers: dict[str, Handler] = {handler.type: handler for handler in known}
    worker = Worker(
        store, handlers, clock, chance, holder, lambda event, job: job_log(event, job.id, job.type)
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
