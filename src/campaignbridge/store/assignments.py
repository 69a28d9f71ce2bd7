"""Who is in which wave. A person is live in one wave of a ramp at most, and whom a wave mailed stays so for ever."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from campaignbridge.domain.ramp import Ramp, Wave
from campaignbridge.ports import Row, Transaction

TOP = 1 << 63  # lots are in [0, TOP)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Somebody who is to be put into a segment."""

    contact_id: int
    email: str = field(repr=False)
    attributes: Mapping[str, str] = field(repr=False)
    gone: bool = False  # suppressed or erased since the pick


@dataclass(frozen=True, slots=True)
class Assigned:
    """Somebody of a wave."""

    contact_id: int
    status: str
    tries: int
    email: str = field(repr=False)
    identity: str = field(repr=False)


class Assignments:
    """The assignments of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def pick(self, ramp: Ramp, wave: Wave, *, start: int, most: int) -> int:
        """Assign the next people to a wave, at most `most`; return how many.

        The order is the audience's own circle, entered at `start`, which the ramp's seed says.
        """
        picked = 0
        self._tx.one("assignments.by_index")
        for from_lot, until_lot in ((start, TOP - 1), (0, start - 1)):
            if picked < most:
                picked += self._tx.run(
                    "assignments.pick",
                    wave_id=wave.id,
                    ramp_id=ramp.id,
                    audience_id=ramp.audience_id,
                    from_lot=from_lot,
                    until_lot=until_lot,
                    locale=ramp.filters.get("locale"),
                    attributes=json.dumps(ramp.filters.get("attributes", {}), ensure_ascii=False),
                    not_in=json.dumps(ramp.filters.get("not_in", [])),
                    most_literal=most - picked,
                )
        return picked

    def adopt(self, ramp: Ramp, wave: Wave, identities: Sequence[str]) -> int:
        """Take whoever is in a segment that was there already for this wave; return how many."""
        return self._tx.run(
            "assignments.adopt",
            wave_id=wave.id,
            ramp_id=ramp.id,
            audience_id=ramp.audience_id,
            identities=json.dumps(sorted(identities), ensure_ascii=False),
        )

    def counts(self, wave_id: str) -> dict[str, int]:
        """Return how many people of a wave there are by status."""
        return {row["status"]: row["n"] for row in self._tx.all("assignments.counts", wave_id=wave_id)}

    def counts_of_ramp(self, ramp_id: str) -> dict[str, dict[str, int]]:
        """Return the same for every wave of a ramp."""
        found: dict[str, dict[str, int]] = {}
        for row in self._tx.all("assignments.counts_of_ramp", ramp_id=ramp_id):
            found.setdefault(row["wave_id"], {})[row["status"]] = row["n"]
        return found

    def to_push(self, wave_id: str, *, most: int) -> list[Candidate]:
        """Return who is to be pushed now."""
        return [
            Candidate(
                row["contact_id"], row["email"], json.loads(row["attributes"] or "{}"), bool(row["gone"])
            )
            for row in self._tx.all("assignments.to_push", wave_id=wave_id, most_literal=most)
        ]

    def next_try(self, wave_id: str) -> int | None:
        """Return when the first of those who were put off is due."""
        row = self._tx.one("assignments.next_try", wave_id=wave_id)
        return None if row is None else row["at"]

    def pushed(self, wave_id: str, results: Iterable[tuple[int, str, str | None, int | None]]) -> None:
        """Record results: contact, status, code, and the wait before another try of who stays assigned."""
        self._tx.each(
            "assignments.pushed",
            [
                {
                    "wave_id": wave_id,
                    "contact_id": contact_id,
                    "status": status,
                    "code": code,
                    "again_in_ms": again_in_ms,
                }
                for contact_id, status, code, again_in_ms in sorted(results)
            ],
        )

    def release(self, wave_id: str, contacts: Iterable[int], *, code: str) -> None:
        """Give people back to the pool, unless their wave went."""
        self._each("assignments.release", wave_id, contacts, code=code)

    def release_all(self, wave_id: str, *, code: str) -> int:
        """Give a discarded wave's people back, unless a delivery of it was ever asked for; return how many."""
        return self._tx.run("assignments.release_all", wave_id=wave_id, code=code)

    def push_again(self, wave_id: str, contacts: Iterable[int]) -> None:
        """Have people pushed once more who should be in the segment and aren't."""
        self._each("assignments.push_again", wave_id, contacts)

    def leave(self, wave_id: str, contacts: Iterable[int]) -> None:
        """Record that people can't be mailed at the provider: they left there, or never were subscribed."""
        self._each("assignments.leave", wave_id, contacts)

    def confirm(self, wave_id: str, contacts: Iterable[int]) -> None:
        """Record that people are in the segment by its member list."""
        self._each("assignments.confirm", wave_id, contacts)

    def members(self, wave_id: str, *, page: int = 5_000) -> list[Assigned]:
        """Return everybody who is, or is to be, in a wave's segment."""
        found: list[Assigned] = []
        after = 0
        while True:
            rows = self._tx.all("assignments.members", wave_id=wave_id, after=after, most_literal=page)
            found += [_assigned_of(row) for row in rows]
            if len(rows) < page:
                return found
            after = rows[-1]["contact_id"]

    def suppressed_since(self, wave_id: str, *, most: int) -> list[tuple[int, str]]:
        """Return who of a wave was suppressed since the pick, with their address at the provider."""
        self._tx.one("assignments.by_index")
        rows = self._tx.all("assignments.suppressed_since", wave_id=wave_id, most_literal=most)
        return [(row["contact_id"], row["email"]) for row in rows]

    def refused(self, wave_id: str, *, most: int) -> list[Row]:
        """Return whom the provider refused of a wave: `email` and its `code`."""
        return self._tx.all("assignments.refused", wave_id=wave_id, most_literal=most)

    def _each(self, name: str, wave_id: str, contacts: Iterable[int], **more: object) -> None:
        rows = [{"wave_id": wave_id, "contact_id": one, **more} for one in sorted(contacts)]
        if rows:
            self._tx.each(name, rows)


def _assigned_of(row: Row) -> Assigned:
    return Assigned(row["contact_id"], row["status"], row["tries"], row["email"], row["identity"])
