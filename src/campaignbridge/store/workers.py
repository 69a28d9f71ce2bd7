"""What every worker last did, in the store: measured by what ran, not by what is configured."""

from campaignbridge.ports import Row, Transaction


class Workers:
    """The workers of one transaction: long-running processes, and cron's ticks."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def ticked(
        self,
        holder: str,
        *,
        claimed_ms_ago: int | None,
        polling_ms: int | None,
        known: str,
        keep_ms: int,
        keep_failed_ms: int,
    ) -> Row:
        """Record that a tick is complete, and when its worker last claimed; return what is left to do.

        `polling_ms` is for how long it has heard no wake-ups; None where it hears them, or there are none.
        The row has the store's `now`, how many recurring jobs of `known` are `planned`, how many rows are
        `unsettled`, whether the store `has_old` rows, and whether it is a `paused` copy.
        """
        row = self._tx.one(
            "workers.ticked",
            holder=holder,
            claimed_ms_ago=claimed_ms_ago,
            polling_ms=polling_ms,
            known=known,
            keep_ms=keep_ms,
            keep_failed_ms=keep_failed_ms,
        )
        assert row is not None
        return row

    def forget(self) -> int:
        """Forget workers that have not ticked for an hour."""
        return self._tx.run("workers.forget")

    def newest(self, *, most: int) -> list[Row]:
        """Return the workers that ticked last."""
        return self._tx.all("workers.newest", most=most)
