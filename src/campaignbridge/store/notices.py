"""What was told: one row for each need, for as long as it lasts."""

from campaignbridge.ports import Row, Transaction


class Notices:
    """The notices of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def clear(self) -> int:
        """Forget what needs nobody any more."""
        return self._tx.run("notices.clear")

    def untold(self, *, most: int) -> list[Row]:
        """Return what needs a person and was not told, longest first: kind, target and reason."""
        return self._tx.all("notices.untold", most=most)

    def make(self, told: list[tuple[str, Row]]) -> None:
        """Write down that these needs are told under these ids; one that somebody else tells is left out."""
        ordered = sorted(told, key=lambda one: (one[1]["kind"], one[1]["target"], one[1]["reason"]))
        self._tx.each("notices.make", [{**row, "id": notice_id, "others": 0} for notice_id, row in ordered])

    def make_summary(self, notice_id: str, *, others: int) -> None:
        """Write down a notice that only counts."""
        self._tx.run(
            "notices.make", kind="more", target=notice_id, reason="more", id=notice_id, others=others
        )

    def cover(self) -> int:
        """Write down that all other needs are told by being counted; return how many they are."""
        return self._tx.run("notices.cover")

    def of_id(self, notice_id: str) -> Row | None:
        """Return a notice with its need as it is now."""
        return self._tx.one("notices.of_id", id=notice_id)
