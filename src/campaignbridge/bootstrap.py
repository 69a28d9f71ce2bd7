"""The only file that knows every part: Settings -> Bridge."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from campaignbridge.bridge import Bridge
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.errors import InvalidInput, StoreUnusable
from campaignbridge.domain.installation import Place, machine_fingerprint
from campaignbridge.domain.job import Handler
from campaignbridge.domain.recurring import Every, Recurring
from campaignbridge.engine.recurring import next_after, require_usable
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.gate import AccountGate
from campaignbridge.flows.identity import keep_watch
from campaignbridge.flows.mirroring import mirror_handler
from campaignbridge.flows.notices import COLLECTING, collect_handler, send_handler
from campaignbridge.flows.ramp_tick import tick_handler
from campaignbridge.flows.sweep import EVERY_S as SWEEP_EVERY_S
from campaignbridge.flows.sweep import sweep_handler
from campaignbridge.flows.watch import watch_handler
from campaignbridge.flows.waves import step_handler
from campaignbridge.flows.webhooks import webhooks_handler
from campaignbridge.flows.wiring import Wiring
from campaignbridge.host import HostChance, HostClock, machine_identity, process_identity
from campaignbridge.observe import job_log
from campaignbridge.ports import Chance, Clock, NoticeTarget, Provider, WebhookReader
from campaignbridge.settings import Settings, from_environment, secret_of
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import KeyRing, Vault
from campaignbridge.targets import WEBHOOK, Target, decoded

if TYPE_CHECKING:
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
    place = place_of(store, machine)
    keep_watch(store, place, fresh_id=HostChance().token(8))
    return place


def place_of(store: Store, machine: str) -> Place | None:
    """Return where a store is found; None for one in memory."""
    from campaignbridge.store.place import place_of as found_at
    from campaignbridge.store.postgres import Postgres

    kind = "postgres" if isinstance(store.database, Postgres) else "sqlite"
    identity = f"named:{machine}" if machine else machine_identity()
    return found_at(store.database, kind=kind, machine=machine_fingerprint(identity))


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
        tick_handler(wiring, lambda cron, now_ms: next_after(cron, now_ms=now_ms)),
        step_handler(wiring),
        mirror_handler(wiring),
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
