"""Ramps in the store: four facts, each cleared by its own statement, and an append-only log of outcomes."""

import json
from dataclasses import asdict
from typing import Any

from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.gate import Figures, Thresholds
from campaignbridge.domain.ramp import Facts, Plan, Ramp, Run
from campaignbridge.ports import Row, Transaction


class Ramps:
    """The ramps of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def create(self, ramp: Ramp) -> bool:
        """Create a ramp; False when its slug is taken, or its audience has one. Its facts and times are the store's."""
        return (
            self._tx.run(
                "ramps.create",
                id=ramp.id,
                slug=ramp.slug,
                name=ramp.name,
                connection_id=ramp.connection_id,
                list=ramp.list,
                audience_id=ramp.audience_id,
                plan=_plan_text(ramp.plan),
                label_offset=ramp.plan.offset,
                filters=json.dumps(dict(ramp.filters), sort_keys=True),
                seed=ramp.seed,
                source_campaign=ramp.source_campaign,
                source_revision=ramp.source_revision,
                approved_by=ramp.approved_by,
                approved_at=ramp.approved_at,
                approved_fingerprint=ramp.approved_fingerprint,
                cron=ramp.cron,
                zone=ramp.zone,
                delegated_by=ramp.delegated_by,
            )
            == 1
        )

    def exclude(self, ramp_id: str, excluded_id: str) -> None:
        """Leave out whom another ramp mailed or holds."""
        self._tx.run("ramps.exclude", ramp_id=ramp_id, excluded_id=excluded_id)

    def hold_with_excluded(self, ramp_id: str) -> None:
        """Keep a ramp and those that it leaves out, always in the same order: of two that pick at once, one waits."""
        for one in sorted({ramp_id, *self.excluded(ramp_id)}):
            self.hold(one)

    def excluded(self, ramp_id: str) -> frozenset[str]:
        """Return the ramps whose people this one leaves out."""
        rows = self._tx.all("ramps.excluded", ramp_id=ramp_id)
        return frozenset(row["excluded_id"] for row in rows)

    def get(self, ref: str) -> Ramp:
        """Return the ramp with this id or slug; raise `NotFound`."""
        row = self._tx.one("ramps.find", ref=ref)
        if row is None:
            raise NotFound(f"There is no ramp {ref[:40]!a}.", todo="ramps list shows what there is.")
        return _ramp_of(row)

    def all(self, *, most: int) -> list[Ramp]:
        """Return ramps, those that run first."""
        return [_ramp_of(row) for row in self._tx.all("ramps.list", most_literal=most)]

    def rivals(self, audience_id: int) -> list[str]:
        """Return the ramps of this audience that have not ended, or have a request unresolved."""
        return [row["slug"] for row in self._tx.all("ramps.rivals", audience_id=audience_id)]

    def mailed_before(self, audience_id: int) -> list[str]:
        """Return the ramps that mailed anybody of this audience."""
        return [row["slug"] for row in self._tx.all("ramps.mailed_before", audience_id=audience_id)]

    def hold(self, ramp_id: str) -> None:
        """Keep the ramp's row until this transaction ends; whatever changes its waves does so first."""
        self._tx.run("ramps.hold", id=ramp_id)

    def rotate(self, ramp_id: str) -> None:
        """Give the next wave a fresh label."""
        self._tx.run("ramps.rotate", id=ramp_id)

    def without_tick(self, *, most: int) -> list[str]:
        """Return ramps that should tick by themselves and have no job that does it."""
        return [row["id"] for row in self._tx.all("ramps.without_tick", most_literal=most)]

    def pause(self, ramp_id: str) -> bool:
        """Pause; False when it is paused or has ended."""
        return self._tx.run("ramps.pause", id=ramp_id) == 1

    def resume(self, ramp_id: str) -> bool:
        """Resume; False unless it is paused and nothing else stands against it."""
        return self._tx.run("ramps.resume", id=ramp_id) == 1

    def end(self, ramp_id: str, how: str) -> bool:
        """End for good, as `complete` or `aborted`; False when it has ended."""
        return self._tx.run("ramps.end", id=ramp_id, how=how) == 1

    def trip(self, ramp_id: str, figures: dict[str, object]) -> bool:
        """Trip the gate, with the figures; False when it is tripped already."""
        return self._tx.run("ramps.trip", id=ramp_id, figures=json.dumps(figures, sort_keys=True)) == 1

    def clear_gate(self, ramp: Ramp, *, total_waived: Figures | None) -> bool:
        """Clear the gate that was looked at; False when somebody was faster."""
        return (
            self._tx.run(
                "ramps.clear_gate",
                id=ramp.id,
                tripped_at=ramp.facts.gate_tripped_at,
                total_waived=json.dumps(asdict(total_waived)) if total_waived else None,
            )
            == 1
        )

    def need_operator(self, ramp_id: str, reason: str) -> bool:
        """Call for an operator; False when one is needed already."""
        return self._tx.run("ramps.need_operator", id=ramp_id, reason=reason) == 1

    def operator_done(self, ramp_id: str, reason: str) -> bool:
        """Clear the call that was looked at; False when it is another one now."""
        return self._tx.run("ramps.operator_done", id=ramp_id, reason=reason) == 1

    def set_plan(self, ramp_id: str, plan: Plan) -> bool:
        """Change the thresholds; False when it has ended."""
        return self._tx.run("ramps.set_plan", id=ramp_id, plan=_plan_text(plan)) == 1

    def allow(self, run: Run, *, need_ms: int) -> bool:
        """Hold ramp and job for a wave's delivery; False when anything stands against it."""
        held = self._tx.run(
            "waves.hold_job", job_id=run.job_id, fence=run.fence, holder=run.holder, need_ms=need_ms
        )
        self.hold(run.ramp_id)  # first: what is asked next sees whatever somebody else was just committing
        allowed = self._tx.run("ramps.allow", ramp_id=run.ramp_id, wave_id=run.wave_id, run_id=run.run_id)
        return held == 1 and allowed == 1

    def log(
        self, ramp_id: str, outcome: str, *, wave_id: str | None = None, actor: str | None = None, **data: Any
    ) -> None:
        """Append to the run log."""
        self._tx.run(
            "ramps.log",
            ramp_id=ramp_id,
            wave_id=wave_id,
            outcome=outcome,
            actor=actor,
            data=json.dumps(data, sort_keys=True),
        )

    def log_of(self, ramp_id: str, *, most: int) -> list[Row]:
        """Return the newest entries of the run log, newest first."""
        rows = self._tx.all("ramps.log_of", ramp_id=ramp_id, most_literal=most)
        return [{**row, "data": json.loads(row["data"])} for row in rows]


def _plan_text(plan: Plan) -> str:
    facts = asdict(plan)
    del facts["offset"]  # it has its own column, since it moves
    return json.dumps(facts, sort_keys=True)


def _ramp_of(row: Row) -> Ramp:
    facts = json.loads(row["plan"])
    plan = Plan(
        **{
            **facts,
            "tiers": tuple(facts["tiers"]),
            "thresholds": Thresholds(**facts["thresholds"]),
            "offset": row["label_offset"],
        }
    )
    return Ramp(
        id=row["id"],
        slug=row["slug"],
        name=row["name"],
        connection_id=row["connection_id"],
        list=row["list"],
        audience_id=row["audience_id"],
        plan=plan,
        filters=json.loads(row["filters"]),
        seed=row["seed"],
        source_campaign=row["source_campaign"],
        source_revision=row["source_revision"],
        approved_by=row["approved_by"],
        approved_at=row["approved_at"],
        approved_fingerprint=row["approved_fingerprint"],
        cron=row["cron"],
        zone=row["zone"],
        delegated_by=row["delegated_by"],
        facts=Facts(row["ended"], row["paused_at"], row["gate_tripped_at"], row["needs_operator"]),
        needs_operator_at=row["needs_operator_at"],
        ended_at=row["ended_at"],
        gate_tripped=json.loads(row["gate_tripped"]) if row["gate_tripped"] else None,
        total_waived=Figures(**json.loads(row["total_waived"])) if row["total_waived"] else None,
        created_at=row["created_at"],
        now=row["now"],
    )
