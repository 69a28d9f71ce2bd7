"""Locks in the store: acquired, renewed and released by one conditional statement each."""

from campaignbridge.domain.errors import Locked
from campaignbridge.domain.lock import LOCK_TTL_MS, Lease
from campaignbridge.ports import Row, Transaction


class Locks:
    """The locks of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def acquire(self, key: str, *, holder: str, operation: str, actor: str | None) -> Lease:
        """Take the lock, also over from a lease that ended; raise `Locked` when somebody holds it."""
        row = self._tx.one(
            "locks.acquire", key=key, holder=holder, operation=operation, actor=actor, ttl_ms=LOCK_TTL_MS
        )
        if row is None:
            raise self.refusal(key)
        return Lease(key=key, fence=row["fence"], holder=holder, interrupted=row["interrupted"])

    def refusal(self, key: str) -> Locked:
        """Return the refusal that says who holds the lock and for how long at most."""
        row = self._tx.one("locks.get", key=key)
        remaining_ms = (row["held_until"] - row["now"]) if row else 0
        retry_after = max(1, -(-remaining_ms // 1000))
        who = (row["actor"] if row else None) or "a background check"
        operation = (row["operation"] if row else None) or "operation"
        return Locked(
            f"{_possessive(who)} {operation} holds {key.partition(':')[2]} now. Nothing was changed.",
            todo=f"Try again in {retry_after} s at the latest.",
            key=key,
            retry_after=retry_after,
            held_by={"operation": operation, "actor": row["actor"] if row else None},
        )

    def hold(self, lease: Lease, *, need_ms: int, acts: bool = False) -> bool:
        """Keep the lock until this transaction ends; False when it isn't ours for `need_ms` more.

        With `acts`, for a request that changes something at a provider: False on a copy that is paused, too.
        """
        return (
            self._tx.run(
                "locks.hold",
                key=lease.key,
                fence=lease.fence,
                holder=lease.holder,
                need_ms=need_ms,
                acts=int(acts),
            )
            == 1
        )

    def renew(self, lease: Lease) -> bool:
        """Lengthen a live lease to its full time; False when it ended or was taken over."""
        return (
            self._tx.run(
                "locks.renew", key=lease.key, fence=lease.fence, holder=lease.holder, ttl_ms=LOCK_TTL_MS
            )
            == 1
        )

    def release(self, lease: Lease) -> bool:
        """Free the lock if it is still ours."""
        return self._tx.run("locks.release", key=lease.key, fence=lease.fence, holder=lease.holder) == 1

    def held(self) -> list[Row]:
        """Return every lock that is held or was left behind."""
        return self._tx.all("locks.held")

    def free(self, key: str, *, fence: int) -> bool:
        """Free the lock that has this fence, if it expired or is held further ahead than any lease lasts."""
        return self._tx.run("locks.free", key=key, fence=fence, ttl_ms=LOCK_TTL_MS) == 1


def _possessive(who: str) -> str:
    return f"{who}'s"
