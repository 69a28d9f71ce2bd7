"""What is shown of ramps: a fixed number of statements, each bounded in rows, none of them changing anything."""

from campaignbridge.domain.ramp import Wave
from campaignbridge.domain.webhook import Fate
from campaignbridge.ports import Row, Transaction
from campaignbridge.store.waves import wave_of_row


class RampReads:
    """The statements of the ramps' read models, in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def about(self, ramp_id: str) -> Row:
        """Return the audience's slug and size, and the name of the content."""
        row = self._tx.one("ramp_reads.about", ramp_id=ramp_id)
        assert row is not None, "a ramp has its audience and its content"
        return row

    def jobs(self, *, tick_key: str, step_key: str) -> dict[str, Row]:
        """Return the unfinished jobs with these keys, by type."""
        rows = self._tx.all("ramp_reads.jobs", tick_key=tick_key, step_key=step_key)
        return {row["type"]: row for row in rows}

    def waves_of_page(self, *, most: int) -> dict[str, list[Wave]]:
        """Return the waves of the ramps that a page lists, by ramp, oldest first."""
        found: dict[str, list[Wave]] = {}
        for row in self._tx.all("ramp_reads.waves_of_page", most_literal=most):
            found.setdefault(row["ramp_id"], []).append(wave_of_row(row))
        return found

    def ticks_of_page(self, *, most: int) -> dict[str, int]:
        """Return when each of these ramps ticks next."""
        return {
            row["id"]: row["run_at"] for row in self._tx.all("ramp_reads.ticks_of_page", most_literal=most)
        }

    def left(self, ramp_id: str) -> list[Row]:
        """Return the drafts of waves that were written off and aren't known to be unsendable, oldest first."""
        return self._tx.all("ramp_reads.left", ramp_id=ramp_id)

    def of_person(self, identity: str, *, person: str, most: int) -> list[Row]:
        """Return the waves that somebody was picked for, in whatever audience, oldest first.

        Each with the `fate` of their mail as signed events told it: soft, delivered, hard, complained or None.
        """
        rows = self._tx.all("ramp_reads.of_person", identity=identity, person=person, most_literal=most)
        return [{**row, "fate": row["fate"] and Fate(row["fate"]).name.lower()} for row in rows]
