"""When each recurring job is queued next, in the store."""

from campaignbridge.ports import Row, Transaction


class RecurringJobs:
    """The recurring jobs of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def all(self) -> list[Row]:
        """Return every definition with its next occurrence."""
        return self._tx.all("recurring.all")

    def plan(self, definition: str, *, next_at: int) -> None:
        """Set the first occurrence of a definition, unless another worker has done so."""
        self._tx.run("recurring.plan", definition=definition, next_at=next_at)

    def advance(self, definition: str, *, occurrence: int, next_at: int) -> bool:
        """Take an occurrence that is due and set the one after it; False when another worker took it."""
        return (
            self._tx.run("recurring.advance", definition=definition, occurrence=occurrence, next_at=next_at)
            == 1
        )

    def forget(self, definition: str) -> None:
        """Forget a definition that nobody has queued for an hour after it was due."""
        self._tx.run("recurring.forget", definition=definition)
