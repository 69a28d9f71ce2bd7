"""Holding a lock while working on what it protects: a campaign, or a listing of an account.

1. Take the lock, and in the same transaction record a takeover and read what the work begins with.
2. Work. The time that is left counts down locally from *before* the lock was asked for.
3. Release in `finally`, by fence and holder. If the store is gone, the lock ends by itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from campaignbridge.domain.errors import CommitUnknown, StoreGone
from campaignbridge.domain.lock import LOCK_TTL_MS, Lease, campaign_key
from campaignbridge.flows.refusals import barred, lease_lost
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Mark
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

T = TypeVar("T")

READ_OR_LOCAL = frozenset({"reconcile", "resolve"})  # what a person may do on a paused copy


@dataclass(slots=True)
class Held:
    """A lock that this flow holds, with its local count-down."""

    wiring: Wiring
    lease: Lease
    mark: Mark

    def remaining_ms(self) -> int:
        """Return how long the lease lasts at least, by this host's clocks."""
        return LOCK_TTL_MS - self.wiring.clock.since_ms(self.mark)

    def require(self, need_ms: int) -> None:
        """Raise `LeaseLost` unless the lease lasts `need_ms` more; a short one is renewed first."""
        if self.remaining_ms() >= need_ms:
            return
        mark = self.wiring.clock.mark()
        with self.wiring.store.unit() as unit:
            renewed = unit.locks.renew(self.lease)
        if not renewed:
            raise lease_lost()
        self.mark = mark
        if self.remaining_ms() < need_ms:
            raise lease_lost()


@dataclass(frozen=True, slots=True)
class Work(Generic[T]):
    """What a flow works with while it holds a campaign's lock."""

    held: Held
    dossier: Dossier
    also: T  # what else was read in the transaction that took the lock


def nothing_else(_unit: Unit, _dossier: Dossier) -> None:
    """Read nothing else: for a flow that needs only the campaign."""


@contextmanager
def working_on(
    wiring: Wiring,
    campaign_id: str,
    operation: str,
    *,
    actor: str | None,
    also: Callable[[Unit, Dossier], T],
) -> Iterator[Work[T]]:
    """Hold one campaign's lock for the block; raise `Locked` at once when somebody else does.

    Raises `CopyPaused` on a copy that nobody has adopted, unless a person only reads or settles by hand.
    """

    def begin(unit: Unit, lease: Lease) -> tuple[Dossier, T]:
        dossier = unit.campaigns.get(campaign_id)
        if dossier.paused and not (actor is not None and operation in READ_OR_LOCAL):
            raise barred(unit)
        if lease.interrupted is not None:
            unit.events.add(
                "campaign_lock_takeover",
                campaign_id=campaign_id,
                actor=None,
                version=dossier.campaign.version,
                operation=operation,
                interrupted_operation=lease.interrupted,
            )
        return dossier, also(unit, dossier)

    with holding(wiring, campaign_key(campaign_id), operation, actor=actor, begin=begin) as (held, begun):
        yield Work(held, *begun)


@contextmanager
def holding(
    wiring: Wiring, key: str, operation: str, *, actor: str | None, begin: Callable[[Unit, Lease], T]
) -> Iterator[tuple[Held, T]]:
    """Hold a lock for the block, with what `begin` read in the transaction that took it."""
    mark = wiring.clock.mark()
    lease: Lease | None = None
    try:
        with wiring.store.unit() as unit:
            lease = unit.locks.acquire(key, holder=wiring.holder, operation=operation, actor=actor)
            begun = begin(unit, lease)
    except CommitUnknown:
        if lease is not None:
            _release(wiring, lease)
        raise
    try:
        yield Held(wiring, lease, mark), begun
    finally:
        _release(wiring, lease)


def _release(wiring: Wiring, lease: Lease) -> None:
    with suppress(StoreGone), wiring.store.unit() as unit:
        unit.locks.release(lease)
