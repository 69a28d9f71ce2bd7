"""What `status` reads: a fixed number of statements, each bounded in rows, none of them changing anything."""

from campaignbridge.ports import Row, Transaction

COUNTED = 10_001  # "more than 10,000" is an answer


class StatusReads:
    """The read model's statements, in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def totals(self) -> Row:
        """Return the store's clock, and how many things need a person."""
        return self._only("status.totals", most_literal=COUNTED)

    def needs(self, *, most: int) -> list[Row]:
        """Return what needs a person, longest first."""
        return self._tx.all("status.needs", most_literal=most)

    def states(self) -> dict[str, int]:
        """Return how many campaigns are in each state, in the order of a campaign's life."""
        return {row["state"]: row["n"] for row in self._tx.all("status.states", most_literal=COUNTED)}

    def scheduled(self, *, most: int) -> list[Row]:
        """Return what goes out next."""
        return self._tx.all("status.scheduled", most=most)

    def connections(self, *, most: int) -> list[Row]:
        """Return the connections by label."""
        return self._tx.all("status.connections", most=most)

    def unresolved(self) -> list[Row]:
        """Return the requests without a confirmed outcome, by status and age."""
        return self._tx.all("status.unresolved")

    def _only(self, name: str, **params: object) -> Row:
        row = self._tx.one(name, **params)
        assert row is not None, "the statement always gives a row"
        return row
