"""Connections: which account a key opens. A key is in an environment variable, or sealed in the store."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.errors import InvalidInput, InvalidState, NotFound, ProviderFailed, Refusal
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Accepted, Account, Ambiguous, Category, Outcome, Refused
from campaignbridge.flows.refusals import not_reached, refused, unreadable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider
from campaignbridge.store.unit import Unit
from campaignbridge.store.vault import CONNECTION_KEY, SIGNING_KEY, Vault

MAX_KEY_LETTERS = 1000
MOST_CALLS_PER_S = 1_000
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# A key in the place of a name is neither stored nor repeated.
_KEY_LIKE = re.compile(r"(?=.*[a-z])(?=.*[0-9])\w{20,}|.*[0-9a-f]{32}.*")
_LONG_HEX = re.compile(r"[0-9a-fA-F]{32}")


def add_connection(
    wiring: Wiring,
    vault: Vault,
    label: str,
    *,
    provider: str,
    key_env: str | None,
    secret: Secret | None,
    base_url: str | None,
    actor: Actor,
) -> Connection:
    """Add a connection whose key opens an account now. Nothing is added when it doesn't."""
    actor.require("admin")
    if not _LABEL.fullmatch(label) or label.startswith("con_") or _LONG_HEX.search(label):
        raise InvalidInput(
            "A connection's label is 1 to 40 letters, digits, spaces or any of . _ -",
            todo="Use one such as acme-eu.",
        )
    connection = _keyed(
        wiring, vault, _fresh(wiring, label, provider, base_url), key_env=key_env, secret=secret
    )
    opened = wiring.open_provider(connection)
    account = _account(opened, opened.verify(limit_ms=READ_LIMIT_MS))
    with wiring.store.unit() as unit:
        if not unit.accounts.add(connection):
            raise Refusal(
                f"There is a connection {label} already.",
                code="conflict",
                todo="Choose another label, or give that one another key with replace-key.",
            )
        unit.accounts.verified(connection.id, account=account.id, account_label=account.label)
        unit.events.add(
            "connection_added",
            campaign_id=None,
            actor=actor.name,
            connection=connection.id,
            kept=_kept(connection),
        )
    return find_connection(wiring, connection.id)


def verify_connection(wiring: Wiring, vault: Vault, ref: str, *, actor: Actor) -> Connection:
    """Read which account the key opens; a key that works again restarts the watches that had stopped on it.

    What an older key of the ring sealed is sealed anew: the stored key, and the one that webhooks are signed with.
    """
    actor.require("admin")
    connection = find_connection(wiring, ref)
    provider = wiring.open_provider(connection)
    outcome = provider.verify(limit_ms=READ_LIMIT_MS)
    if isinstance(outcome, Refused) and outcome.category is Category.CREDENTIAL:
        with wiring.store.unit() as unit:
            unit.accounts.refused(connection.id, outcome.code)
    account = _account(provider, outcome)
    with wiring.store.unit() as unit:
        if not unit.accounts.verified(connection.id, account=account.id, account_label=account.label):
            raise _other_account(connection)
        _reseal(unit, vault, connection)
        _reseal_signing(unit, vault, connection)
        _restart(unit, wiring, connection)
    return find_connection(wiring, connection.id)


def replace_key(
    wiring: Wiring, vault: Vault, ref: str, *, key_env: str | None, secret: Secret | None, actor: Actor
) -> Connection:
    """Put another key of the same account in place, and restart the watches that had stopped on the old one.

    The new key is tried first: while it opens no account, or another one, nothing is changed.
    """
    actor.require("admin")
    before = find_connection(wiring, ref)
    connection = _keyed(wiring, vault, before, key_env=key_env, secret=secret)
    provider = wiring.open_provider(connection)
    account = _account(provider, provider.verify(limit_ms=READ_LIMIT_MS))
    with wiring.store.unit() as unit:
        if not unit.accounts.replace_key(connection, account=account.id, account_label=account.label):
            raise _other_account(connection)
        unit.events.add(
            "key_replaced",
            campaign_id=None,
            actor=actor.name,
            connection=connection.id,
            kept=_kept(connection),
        )
        _restart(unit, wiring, connection)
    return find_connection(wiring, connection.id)


def disconnect(wiring: Wiring, ref: str, *, actor: Actor) -> Connection:
    """Forget a connection's key, unless a campaign of it moves or has an unresolved request.

    The connection stays, as what its campaigns were sent by; another key of its account brings it back.
    """
    actor.require("admin")
    connection = find_connection(wiring, ref)
    with wiring.store.unit() as unit:
        if not unit.accounts.disconnect(connection.id):
            needing = unit.accounts.moving(connection.id)
            first = needing[0] if needing else ""
            raise InvalidState(
                f"{len(needing)} of its campaigns move or aren't confirmed, {first} among them. "
                "Without the key, what becomes of them could not be read.",
                todo="Wait until they are settled, or cancel or resolve them.",
                command=f"campaignbridge campaigns show {first}",
            )
        unit.events.add(
            "connection_disconnected", campaign_id=None, actor=actor.name, connection=connection.id
        )
    return find_connection(wiring, connection.id)


def limit_rate(wiring: Wiring, ref: str, *, calls_per_s: int | None, actor: Actor) -> Connection:
    """Set how many calls a second the account may be asked, by all workers together; None: the provider's limit."""
    actor.require("admin")
    connection = find_connection(wiring, ref)
    if connection.account is None:
        raise InvalidState(
            f"Which account {connection.label} opens isn't known yet.",
            todo="Read it first:",
            command=f"campaignbridge connections verify {connection.id}",
        )
    if calls_per_s is not None and not 1 <= calls_per_s <= MOST_CALLS_PER_S:
        raise InvalidInput(
            f"A rate is 1 to {MOST_CALLS_PER_S:,} calls a second.", todo="Take what the provider allows you."
        )
    with wiring.store.unit() as unit:
        unit.limits.open_account(connection.account)
        unit.limits.set_rate(connection.account, calls_per_s)
        unit.events.add(
            "rate_limited_to",
            campaign_id=None,
            actor=actor.name,
            connection=connection.id,
            calls_per_s=calls_per_s,
        )
    return connection


def find_connection(wiring: Wiring, ref: str) -> Connection:
    """Return a connection by id or label; raise `NotFound`."""
    connection = None
    if _LABEL.fullmatch(ref):
        with wiring.store.reading() as unit:
            connection = unit.accounts.find(ref)
    if connection is None:
        name = "of this name" if _LONG_HEX.search(ref) else f"{ref[:40]!a}"
        raise NotFound(f"There is no connection {name}.", todo="connections list shows what there is.")
    return connection


def list_connections(wiring: Wiring, *, actor: Actor) -> list[Connection]:
    """Return every connection by label."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.accounts.all()


def _fresh(wiring: Wiring, label: str, provider: str, base_url: str | None) -> Connection:
    return Connection(
        id=wiring.new_id("con"),
        provider=provider,
        label=label,
        account=None,
        account_label=None,
        base_url=base_url,
        variable=None,
        sealed=None,
        verified_at=None,
        refused_at=None,
        refused_code=None,
        disconnected_at=None,
    )


def _keyed(
    wiring: Wiring, vault: Vault, connection: Connection, *, key_env: str | None, secret: Secret | None
) -> Connection:
    """Return the connection with its key in a variable, or sealed for its row."""
    if (key_env is None) == (secret is None):
        raise InvalidInput(
            "A connection takes its key from a variable or keeps it sealed: one of the two.",
            todo="Name the variable, or hand the key over.",
        )
    if secret is None:
        return replace(connection, variable=_checked_variable(key_env or ""), sealed=None)
    _check_key(secret)
    with wiring.store.reading() as unit:
        installation = unit.installation()
    assert installation is not None, "a store is named when it is made"
    sealed = vault.seal(
        secret,
        installation=installation,
        connection_id=connection.id,
        provider=connection.provider,
        base_url=connection.base_url,
    )
    return replace(connection, variable=None, sealed=sealed)


def _checked_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name) or _KEY_LIKE.fullmatch(name):
        raise InvalidInput(
            "--key-env takes the name of an environment variable, not a key.",
            todo="Put the key into a variable, such as MAILCHIMP_KEY, and name that.",
        )
    return name


def _check_key(secret: Secret) -> None:
    key = secret.reveal()
    if not 0 < len(key) <= MAX_KEY_LETTERS or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "A key is one line of printable ASCII without spaces.",
            todo="Give the key alone, as the provider shows it.",
        )


def _reseal(unit: Unit, vault: Vault, connection: Connection) -> None:
    before = connection.sealed
    after = None if before is None else vault.seal_anew(before, connection, use=CONNECTION_KEY)
    if before is not None and after is not None:
        unit.accounts.reseal(connection.id, before, after)


def _reseal_signing(unit: Unit, vault: Vault, connection: Connection) -> None:
    endpoint = unit.webhooks.endpoint(connection.id)
    before = None if endpoint is None else endpoint.signing
    if before is None:
        return
    with suppress(
        InvalidInput
    ):  # the ring here lacks its key: the account's works, and events say so when they come
        after = vault.seal_anew(before, connection, use=SIGNING_KEY)
        if after is not None:
            unit.webhooks.reseal(connection.id, before, after)


def _restart(unit: Unit, wiring: Wiring, connection: Connection) -> None:
    for campaign_id in unit.campaigns.restart_stopped(connection.id):
        wiring.wake_watch(unit, campaign_id, in_ms=0)


def _kept(connection: Connection) -> str:
    return "variable" if connection.variable is not None else "store"


def _other_account(connection: Connection) -> Refusal:
    return Refusal(
        f"The key opens another account than {connection.label} had before. Nothing was changed.",
        code="conflict",
        todo="Use a key of the same account, or add a new connection for the other one.",
    )


def _account(provider: Provider, outcome: Outcome[Account]) -> Account:
    match outcome:
        case Accepted(value):
            return value
        case Refused(category=Category.UNREACHABLE):
            raise not_reached(provider, outcome)
        case Refused(category=Category.CREDENTIAL):
            raise ProviderFailed(
                f"{provider.label} refused the key ({outcome.code}).",
                todo="Check the key where it comes from, then repeat the command.",
                provider={"code": outcome.code, "category": outcome.category.value, "retryable": False},
            )
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)
