"""Who is not mailed, and why: one list for the installation, the strongest reason for each person."""

import json
from collections.abc import Iterable, Mapping, Sequence

from campaignbridge.domain.audience import Suppressed
from campaignbridge.ports import Row, Transaction


class Suppressions:
    """The suppressions of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, identities: Iterable[str], *, reason: Suppressed, source: str) -> int:
        """Suppress people; return for how many of them that is new or stronger."""
        return self.add_each(dict.fromkeys(identities, reason), source=source)

    def add_each(self, reasons: Mapping[str, Suppressed], *, source: str) -> int:
        """Suppress people by identity, each for a reason of their own; return for how many that is new or stronger.

        Sorted and distinct: two of these can't deadlock, as long as a transaction makes one of them.
        """
        rows = [
            {"identity": one, "reason": reason.value, "rank": reason.rank, "source": source}
            for one, reason in sorted(reasons.items())
        ]
        return self._tx.each("suppressions.add", rows) if rows else 0

    def lift(self, identities: Iterable[str], *, reason: Suppressed) -> int:
        """Take people off the list who are on it for exactly this reason; return how many those were."""
        rows = [{"identity": one, "reason": reason.value} for one in sorted(set(identities))]
        return self._tx.each("suppressions.lift", rows) if rows else 0

    def get(self, identity: str) -> Row | None:
        """Return why somebody is suppressed, and since when."""
        return self._tx.one("suppressions.get", identity=identity)

    def any_erased(self) -> bool:
        """Say whether anybody was ever erased."""
        return self._tx.one("suppressions.any_erased") is not None

    def among(self, identities: Sequence[str]) -> frozenset[str]:
        """Return which of these are on the list."""
        text = json.dumps(identities, ensure_ascii=False)
        return frozenset(row["identity"] for row in self._tx.all("suppressions.among", identities=text))

    def forget(self, identity: str) -> None:
        """Take one entry off the list."""
        self._tx.run("suppressions.forget", identity=identity)

    def count(self) -> int:
        """Return how many people are on the list."""
        row = self._tx.one("suppressions.count")
        assert row is not None
        return int(row["n"])
