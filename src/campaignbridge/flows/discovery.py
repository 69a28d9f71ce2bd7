"""Discovery: what a provider offers to choose from. Looking never contacts it; a refresh does, once.

1. Hold the listing's lock: one for each account, kind and list, whatever connection asks. Whoever finds it held
   makes no call, and is answered with the listing as it stands.
2. Read it at the provider.
3. Keep it, only while the lock is still ours. A reading that fails marks the previous listing as stale.
"""

from dataclasses import dataclass
from typing import Any, assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.discovery import Cached, Kind, discovery_key, scope_of
from campaignbridge.domain.errors import InvalidState, Locked, Refusal
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.lock import Lease
from campaignbridge.domain.provider import Accepted, Ambiguous, Listing, Outcome, Refused
from campaignbridge.flows.connecting import find_connection
from campaignbridge.flows.holding import holding
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.refusals import lease_lost, refused, unreadable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A listing after a refresh. With a refusal it is the previous one, which may have no entries."""

    cached: Cached[Any]
    refusal: Refusal | None = None


def listing(wiring: Wiring, connection: str, kind: Kind, *, audience: str = "", actor: Actor) -> Cached[Any]:
    """Return a listing as it was last read. Nobody is contacted."""
    actor.require("read")
    account = _account(find_connection(wiring, connection))
    with wiring.store.reading() as unit:
        return unit.discoveries.get(account, kind, scope_of(kind, audience))


def refresh(wiring: Wiring, connection: str, kind: Kind, *, audience: str = "", actor: Actor) -> Refreshed:
    """Read a listing at the provider. What stands against that rides beside the previous listing."""
    actor.require("author")
    found = find_connection(wiring, connection)
    return refresh_listing(
        wiring, open_reader(wiring, found), _account(found), kind, audience=audience, actor=actor.name
    )


def refresh_listing(
    wiring: Wiring, provider: Reader, account: str, kind: Kind, *, audience: str, actor: str
) -> Refreshed:
    """Read a listing under its lock; what a flow calls that needs a fresh one."""
    scope = scope_of(kind, audience)
    key = discovery_key(account, kind, scope)
    refusal: Refusal | None

    def begin(unit: Unit, lease: Lease) -> None:
        if lease.interrupted is not None:
            unit.events.add(
                "provider_lock_takeover",
                campaign_id=None,
                actor=None,
                operation="refresh",
                interrupted_operation=lease.interrupted,
                listing=key,
            )

    try:
        with holding(wiring, key, "refresh", actor=actor, begin=begin) as (held, _):
            outcome = _ask(provider, kind, scope)
            with wiring.store.unit() as unit:
                kept = unit.locks.hold(held.lease, need_ms=0)
                refusal = _keep(unit, provider, (account, kind, scope), outcome) if kept else lease_lost()
    except Locked as locked:
        refusal = Refusal(
            "Somebody is reading this list at the provider right now.",
            code="refresh_in_progress",
            todo="Repeat the command in a moment: the fresh list is there then.",
            retry_after=locked.facts["retry_after"],
        )
    with wiring.store.reading() as unit:
        return Refreshed(unit.discoveries.get(account, kind, scope), refusal)


def _ask(provider: Reader, kind: Kind, scope: str) -> Outcome[Listing[Any]]:
    match kind:
        case Kind.AUDIENCES:
            return provider.audiences(limit_ms=READ_LIMIT_MS)
        case Kind.SEGMENTS:
            return provider.segments(scope, limit_ms=READ_LIMIT_MS)
        case Kind.MERGE_FIELDS:
            return provider.merge_fields(scope, limit_ms=READ_LIMIT_MS)
        case Kind.SENDERS:
            return provider.senders(limit_ms=READ_LIMIT_MS)
        case _:
            assert_never(kind)


def _keep(
    unit: Unit, provider: Reader, key: tuple[str, Kind, str], outcome: Outcome[Listing[Any]]
) -> Refusal | None:
    match outcome:
        case Accepted(value):
            unit.discoveries.put(*key, value)
            return None
        case Refused():
            unit.discoveries.failed(*key, outcome.code)
            return refused(provider, outcome, None)
        case Ambiguous():
            unit.discoveries.failed(*key, outcome.reason)
            return unreadable(provider, outcome)
        case _:
            assert_never(outcome)


def _account(connection: Connection) -> str:
    if connection.account is None:
        raise InvalidState(
            f"Nobody has looked yet which account {connection.label} opens.",
            todo="Look first:",
            command=f"campaignbridge connections verify {connection.id}",
        )
    return connection.account
