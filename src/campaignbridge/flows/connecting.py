"""Connections: which account a key opens. No key is stored: a connection names an environment variable."""

import re
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import InvalidInput, NotFound, ProviderFailed, Refusal
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Accepted, Account, Ambiguous, Category, Outcome, Refused
from campaignbridge.flows.refusals import not_reached, refused, unreadable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def add_connection(
    wiring: Wiring, label: str, *, provider: str, key_env: str, base_url: str | None, actor: Actor
) -> Connection:
    """Add a connection whose key opens an account now. Nothing is added when it doesn't."""
    actor.require("admin")
    if not _LABEL.fullmatch(label) or label.startswith("con_"):
        raise InvalidInput(
            "A connection's label is 1 to 40 letters, digits, spaces or any of . _ -",
            todo="Use one such as acme-eu.",
        )
    if not _VARIABLE.fullmatch(key_env):
        raise InvalidInput(
            "--key-env takes the name of an environment variable, not a key.",
            todo="Put the key into a variable, such as MAILCHIMP_KEY, and name that.",
        )
    connection = Connection(
        id=wiring.new_id("con"),
        provider=provider,
        label=label,
        account=None,
        account_label=None,
        base_url=base_url,
        key_env=key_env,
        verified_at=None,
        refused_at=None,
        refused_code=None,
    )
    opened = wiring.open_provider(connection)
    account = _account(opened, opened.verify(limit_ms=READ_LIMIT_MS))
    with wiring.store.unit() as unit:
        if not unit.accounts.add(
            id=connection.id, provider=provider, label=label, base_url=base_url, key_env=key_env
        ):
            raise Refusal(
                f"There is a connection {label} already.", code="conflict", todo="Choose another label."
            )
        unit.accounts.verified(connection.id, account=account.id, account_label=account.label)
        unit.events.add("connection_added", campaign_id=None, actor=actor.name, connection=connection.id)
    return find_connection(wiring, connection.id)


def verify_connection(wiring: Wiring, ref: str, *, actor: Actor) -> Connection:
    """Read which account the key opens; a key that works again restarts the watches that had stopped on it."""
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
            raise Refusal(
                f"The key opens another account than {connection.label} had before. Nothing was changed.",
                code="conflict",
                todo="Use a key of the same account, or add a new connection for the other one.",
            )
        for campaign_id in unit.campaigns.restart_stopped(connection.id):
            wiring.wake_watch(unit, campaign_id, in_ms=0)
    return find_connection(wiring, connection.id)


def find_connection(wiring: Wiring, ref: str) -> Connection:
    """Return a connection by id or label; raise `NotFound`."""
    connection = None
    if _LABEL.fullmatch(ref):
        with wiring.store.reading() as unit:
            connection = unit.accounts.find(ref)
    if connection is None:
        raise NotFound(f"There is no connection {ref[:40]!a}.", todo="connections list shows what there is.")
    return connection


def list_connections(wiring: Wiring, *, actor: Actor) -> list[Connection]:
    """Return every connection by label."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.accounts.all()


def _account(provider: Provider, outcome: Outcome[Account]) -> Account:
    match outcome:
        case Accepted(value):
            return value
        case Refused(category=Category.UNREACHABLE):
            raise not_reached(provider, outcome)
        case Refused(category=Category.CREDENTIAL):
            raise ProviderFailed(
                f"{provider.label} refused the key ({outcome.code}).",
                todo="Check the key in the environment variable, then repeat the command.",
                provider={"code": outcome.code, "category": outcome.category.value, "retryable": False},
            )
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)
