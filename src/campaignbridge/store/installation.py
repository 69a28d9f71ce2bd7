"""The installation's row: its id, where it lives, and whether it is a copy that is paused."""

from campaignbridge.domain.installation import Place, Standing, place_from
from campaignbridge.ports import Transaction


class Installation:
    """The installation of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def standing(self) -> Standing | None:
        """Return what the store says of its installation; None when it has no name yet."""
        row = self._tx.one("installation.get")
        if row is None:
            return None
        return Standing(
            id=row["id"],
            place=place_from(row["place"]) if row["place"] is not None else None,
            paused_since=row["paused_since"],
            paused_reason=row["paused_reason"],
            now=row["now"],
        )

    @property
    def paused(self) -> bool:
        """Say whether this is a copy that nobody has adopted."""
        standing = self.standing()
        return standing is not None and standing.paused

    def settle(self, place: Place) -> bool:
        """Record where the store lives, for the first time; False when that is recorded already."""
        return self._tx.run("installation.settle", place=place.text) == 1

    def pause(self, recorded: Place, reason: str) -> bool:
        """Pause a copy; False when it is paused already, or another place was recorded meanwhile."""
        return self._tx.run("installation.pause", recorded=recorded.text, reason=reason) == 1

    def adopt(self, standing: Standing, place: Place | None) -> bool:
        """Make a paused copy the real one, here; False when somebody was faster."""
        return (
            self._tx.run("installation.adopt", id=standing.id, place=None if place is None else place.text)
            == 1
        )
