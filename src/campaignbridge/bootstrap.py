"""The only file that knows every part: Settings -> Bridge."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from campaignbridge.bridge import Bridge
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import InvalidInput, StoreUnusable
from campaignbridge.domain.job import Handler
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.watch import watch_handler
from campaignbridge.flows.wiring import Wiring
from campaignbridge.host import HostChance, HostClock, process_identity
from campaignbridge.observe import job_log
from campaignbridge.ports import Chance, Clock, Provider
from campaignbridge.settings import Settings, from_environment
from campaignbridge.store.unit import Store

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
    clock, chance = HostClock(), HostChance()
    return assemble(
        store,
        provider_opener(chosen, clock),
        clock,
        chance,
        process_identity(chance),
        chosen.duties_separated,
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


def schema_versions(settings: Settings) -> tuple[int, int]:
    """Return the version of the store's schema and the one that this program needs."""
    from campaignbridge.store import migrate

    database = open_database(settings)
    try:
        return migrate.current(database), migrate.migrations(database.dialect)[-1].version
    finally:
        database.close()


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
) -> Bridge:
    """Put a bridge together from its parts."""
    wiring = Wiring(store, opener, clock, chance, holder, duties_separated)
    handlers: dict[str, Handler] = {handler.type: handler for handler in (watch_handler(wiring),)}
    worker = Worker(
        store, handlers, clock, chance, holder, lambda event, job: job_log(event, job.id, job.type)
    )
    return Bridge(wiring, handlers, worker)


def provider_opener(settings: Settings, clock: Clock) -> Callable[[Connection], Provider]:
    """Return what turns a connection into a provider, with the key from its environment variable."""

    def opener(connection: Connection) -> Provider:
        from campaignbridge.providers.registry import open_provider

        key = os.environ.get(connection.key_env, "")
        if not key:
            raise InvalidInput(
                f"The environment variable {connection.key_env} of connection {connection.label} is not set.",
                todo=f"Set {connection.key_env} to the provider's key, then repeat the command.",
            )
        try:
            return open_provider(
                connection.provider,
                key=key,
                base_url=connection.base_url,
                clock=clock,
                allow_hosts=settings.allow_hosts,
            )
        except ValueError as error:
            raise InvalidInput(str(error), todo="Check --provider, --base-url and the key.") from None

    return opener
