"""What signed events say that people's mail came to: one row for each person of a wave, under a keyed hash."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from campaignbridge.domain.gate import Figures
from campaignbridge.domain.webhook import Fate
from campaignbridge.ports import Transaction


@dataclass(frozen=True, slots=True)
class OfWave:
    """A wave that a remote id belongs to, read at `now` of the store's clock."""

    wave_id: str
    list: str
    sent_at: int | None
    now: int


class Fates:
    """The fates of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def waves(self, connection_id: str, remote_ids: Collection[str]) -> dict[str, list[OfWave]]:
        """Return the waves of these remote ids, of the connection's own account."""
        found: dict[str, list[OfWave]] = {}
        if not remote_ids:
            return found
        ids = json.dumps(sorted(remote_ids))
        for row in self._tx.all("fates.waves", connection_id=connection_id, remote_ids=ids):
            wave = OfWave(row["wave_id"], row["list"], row["sent_at"], row["now"])
            found.setdefault(row["remote_id"], []).append(wave)
        return found

    def add(self, fates: Mapping[tuple[str, str], Fate]) -> int:
        """Store the fates of people, by wave and person; return for how many that is new or worse.

        Sorted and distinct: two of these can't deadlock.
        """
        rows = [
            {"wave_id": wave_id, "person": person, "fate": int(fate)}
            for (wave_id, person), fate in sorted(fates.items())
        ]
        return self._tx.each("fates.add", rows) if rows else 0

    def figures(self, wave_ids: Collection[str]) -> dict[str, Figures]:
        """Return what events say of these waves, in people; nothing of those that none tell of."""
        if not wave_ids:
            return {}
        rows = self._tx.all("fates.figures", wave_ids=json.dumps(sorted(wave_ids)))
        return {
            row["wave_id"]: Figures(int(row["delivered"]), int(row["bounced"]), int(row["complained"]))
            for row in rows
        }
