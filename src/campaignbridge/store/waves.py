"""Waves in the store. A step's writes repeat run, wave and the fence and holder of its job."""

import json
from dataclasses import asdict

from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.gate import Figures, Verdict
from campaignbridge.domain.ramp import Closed, Run, Step, Wave
from campaignbridge.ports import Row, Transaction


class Waves:
    """The waves of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def claim(
        self, wave_id: str, *, ramp_id: str, tier: int, label: str, run_id: str, requested: int
    ) -> bool:
        """Open a ramp's next wave; False when another is open, or anything changed."""
        return (
            self._tx.run(
                "waves.claim",
                id=wave_id,
                ramp_id=ramp_id,
                tier=tier,
                label=label,
                run_id=run_id,
                requested=requested,
            )
            == 1
        )

    def add_by_hand(
        self,
        wave_id: str,
        *,
        ramp_id: str,
        label: str,
        run_id: str,
        broadcast_id: str,
        sent_at: int,
        people: int = 0,
    ) -> bool:
        """Record a wave that went before the ramp began, or that was forgotten; False when its label is taken."""
        return (
            self._tx.run(
                "waves.by_hand",
                id=wave_id,
                ramp_id=ramp_id,
                label=label,
                run_id=run_id,
                requested=people,
                broadcast_id=broadcast_id,
                sent_at=sent_at,
            )
            == 1
        )

    def get(self, wave_id: str) -> Wave:
        """Return a wave; raise `NotFound`."""
        row = self._tx.one("waves.get", id=wave_id)
        if row is None:
            raise NotFound("There is no such wave.", todo="ramps status NAME lists its waves.")
        return wave_of_row(row)

    def of_ramp(self, ramp_id: str) -> list[Wave]:
        """Return a ramp's waves, oldest first."""
        return [wave_of_row(row) for row in self._tx.all("waves.of_ramp", ramp_id=ramp_id)]

    def hold(self, run: Run, *, need_ms: int = 0) -> bool:
        """Keep the step's job until this transaction ends; False when it isn't ours for `need_ms` more."""
        return (
            self._tx.run(
                "waves.hold_job", job_id=run.job_id, fence=run.fence, holder=run.holder, need_ms=need_ms
            )
            == 1
        )

    def is_of(self, run: Run) -> bool:
        """Say whether the wave is open under this run; stays so while the ramp is held."""
        return self._tx.one("waves.is_of_run", id=run.wave_id, run_id=run.run_id) is not None

    def advance(
        self,
        run: Run,
        from_step: Step,
        step: Step,
        *,
        picked: int | None = None,
        verified: int | None = None,
        campaign_id: str | None = None,
        segment_id: str | None = None,
    ) -> bool:
        """Take a wave to its next step; False when it isn't this run's, or not where the step began."""
        return self._of_run(
            "waves.advance",
            run,
            from_step=from_step.value,
            step=step.value,
            picked=picked,
            verified=verified,
            campaign_id=campaign_id,
            segment_id=segment_id,
        )

    def ask(self, run: Run) -> bool:
        """Store the marker that the segment is asked for; False when another run has the wave."""
        return self._of_run("waves.ask", run)

    def keep_segment(self, run: Run, segment_id: str, *, since: int) -> bool:
        """Store the marker of a segment that was found with people in it; False when another run has the wave."""
        return self._of_run("waves.keep_segment", run, segment_id=segment_id, since=since)

    def start_push(self, run: Run, *, limit_ms: int) -> int | None:
        """Announce that contacts may land from now on; return until when, or None when another run has the wave."""
        row = self._tx.one("waves.start_push", id=run.wave_id, run_id=run.run_id, limit_ms=limit_ms)
        return None if row is None else int(row["pushing_until"])

    def stop_push(self, run: Run, until: int, *, earlier: int | None) -> None:
        """Take an announcement back after a definite answer; an older one, without an answer, stands again."""
        self._of_run("waves.stop_push", run, until=until, earlier=earlier)

    def fail(self, run: Run, reason: str) -> bool:
        """Mark an open wave as failed; it still holds its ramp."""
        return self._of_run("waves.fail", run, reason=reason)

    def discard(self, wave: Wave) -> bool:
        """Write a wave off; False when it was or may be mailed, or changed since it was looked at."""
        return self._tx.run("waves.discard", id=wave.id, run_id=wave.run_id) == 1

    def finish_by_hand(self, wave: Wave, *, broadcast_id: str, sent_at: int, mailed: int) -> bool:
        """Record that a wave went out by other means than ours."""
        return (
            self._tx.run(
                "waves.finish_by_hand",
                id=wave.id,
                run_id=wave.run_id,
                broadcast_id=broadcast_id,
                sent_at=sent_at,
                mailed=mailed,
            )
            == 1
        )

    def displace(self, wave: Wave, *, fresh_run: str, underfilled_by: str | None = None) -> bool:
        """Hand an open wave to another run; False when it changed since it was looked at."""
        return (
            self._tx.run(
                "waves.displace",
                id=wave.id,
                run_id=wave.run_id,
                fresh_run=fresh_run,
                underfilled_by=underfilled_by,
            )
            == 1
        )

    def reopen(self, wave: Wave, *, fresh_run: str) -> bool:
        """Begin an open wave anew under another run; False when it changed, or has a marker."""
        return self._tx.run("waves.reopen", id=wave.id, run_id=wave.run_id, fresh_run=fresh_run) == 1

    def judged(self, wave_id: str, verdict: Verdict, figures: Figures) -> None:
        """Record figures and verdict of a wave that went."""
        self._tx.run("waves.judged", id=wave_id, verdict=verdict.value, **asdict(figures))

    def waive(self, wave_id: str, figures: Figures) -> bool:
        """Record that a person goes on in spite of these figures; False when the wave didn't go."""
        return self._tx.run("waves.waive", id=wave_id, waived=json.dumps(asdict(figures))) == 1

    def unattended(self, *, most: int) -> list[tuple[str, str]]:
        """Return open waves of active ramps without a job that goes on, each with its run."""
        rows = self._tx.all("waves.unattended", most_literal=most)
        return [(row["id"], row["run_id"]) for row in rows]

    def _of_run(self, name: str, run: Run, **params: object) -> bool:
        return self._tx.run(name, id=run.wave_id, run_id=run.run_id, **params) == 1


def wave_of_row(row: Row) -> Wave:
    """Return the wave that a row holds."""
    return Wave(
        id=row["id"],
        ramp_id=row["ramp_id"],
        tier=row["tier"],
        label=row["label"],
        run_id=row["run_id"],
        step=Step(row["step"]),
        failed=row["failed"],
        closed=Closed(row["closed"]) if row["closed"] else None,
        requested=row["requested"],
        picked=row["picked"],
        underfilled_by=row["underfilled_by"],
        segment_id=row["segment_id"],
        exported_at=row["exported_at"],
        pushing_until=row["pushing_until"],
        verified=row["verified"],
        campaign_id=row["campaign_id"],
        by_hand=bool(row["by_hand"]),
        broadcast_id=row["broadcast_id"],
        sent_at=row["sent_at"],
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        figures=Figures(row["delivered"], row["bounced"], row["complained"]),
        figures_at=row["figures_at"],
        waived=Figures(**json.loads(row["waived"])) if row["waived"] else None,
        opened_at=row["opened_at"],
        activity_at=row["activity_at"],
        closed_at=row["closed_at"],
        now=row["now"],
        since=row["since"],
        asked_at=row["asked_at"],
    )
