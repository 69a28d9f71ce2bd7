"""What must hold of ramps after every commit, and at the end against what the provider really mailed."""

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from campaignbridge.sandbox import Sandbox
from sim.invariants import Violation
from sim.schedule import Actor

if TYPE_CHECKING:
    from sim.ramp_world import RampMachine

STEP_WRITES = frozenset(
    """waves.advance waves.keep_segment waves.start_push waves.stop_push waves.fail assignments.pick
    assignments.adopt assignments.pushed assignments.push_again assignments.confirm""".split()
)
_RAMPS = """
SELECT r.id, r.slug, r.ended, r.paused_at, r.gate_tripped_at, r.needs_operator FROM ramps r
"""
_WAVES = """
SELECT id, ramp_id, tier, label, run_id, step, failed, closed, segment_id, exported_at, campaign_id, by_hand,
    delivered, bounced, complained, now_ms() AS now FROM waves ORDER BY opened_at, id
"""
_TWICE = """
SELECT contact_id FROM assignments WHERE status IN ('assigned', 'in_segment')
GROUP BY ramp_id, contact_id HAVING count(*) > 1
"""
_IN_SEGMENT = "SELECT contact_id FROM assignments WHERE wave_id = ? AND status = 'in_segment'"
_MY_JOB = """
SELECT j.payload FROM jobs j WHERE j.type = 'wave_step' AND j.state = 'claimed' AND j.holder = ?
    AND j.target = 'wave:' || ?
"""
_ASKED = """
SELECT t.id, c.wave_id FROM attempts t JOIN campaigns c ON c.id = t.campaign_id
WHERE c.wave_id IS NOT NULL AND t.operation = 'send'
"""
SLUG = "winter"
_FACTS = ("ended", "paused_at", "gate_tripped_at", "needs_operator")
WENT = ("sent", "sent_late")


@dataclass(slots=True)
class RampInvariants:
    """What the last commit left of the ramps."""

    sandbox: Sandbox | None = None
    forgot: bool = False  # the store was put back: the provider knows more than it
    waves: dict[str, sqlite3.Row] = field(default_factory=dict)
    mailed: dict[str, frozenset[int]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def know(self, connection: sqlite3.Connection) -> None:
        """Take what is there for what the last commit left."""
        self.forgot = True
        self.waves = {row["id"]: row for row in connection.execute(_WAVES).fetchall()}
        self.asked = {row["id"] for row in connection.execute(_ASKED).fetchall()}

    def after_commit(
        self, connection: sqlite3.Connection, actor: Actor, ran: list[tuple[str, object]]
    ) -> None:
        """Check what this commit changed."""
        names = {name for name, _ in ran}
        if not names:
            return
        ramps = {row["id"]: row for row in connection.execute(_RAMPS).fetchall()}
        waves = {row["id"]: row for row in connection.execute(_WAVES).fetchall()}
        if not waves:
            return
        for wave in waves.values():
            self._check_wave(connection, ramps[wave["ramp_id"]], self.waves.get(wave["id"]), wave)
        _check_tiers(list(waves.values()))
        self._check_sends(connection, ramps, waves)
        if names & STEP_WRITES:
            _check_run(connection, actor, self.waves, waves)
        if any(name.startswith("assignments.") for name in names) and connection.execute(_TWICE).fetchone():
            raise Violation("I4: somebody is in two waves of a ramp")
        self.waves = waves

    def _check_wave(
        self, connection: sqlite3.Connection, ramp: sqlite3.Row, before: sqlite3.Row | None, wave: sqlite3.Row
    ) -> None:
        if before is None and wave["closed"] is None and not _active(ramp):
            raise Violation(f"I4: {wave['label']} was started while {_standing(ramp)}")
        if before is not None:
            if before["closed"] in WENT and wave["closed"] not in WENT:
                raise Violation(f"I4: {wave['label']} went, and is called {wave['closed']}")
            for name in ("delivered", "bounced", "complained"):
                if wave[name] < before[name]:
                    raise Violation(f"I7: the {name} of {wave['label']} fell")
        if wave["closed"] is None and wave["failed"] is not None and _active(ramp):
            raise Violation(f"I8: {wave['label']} has failed ({wave['failed']}), and nobody was told")
        if wave["closed"] is None and wave["exported_at"] is None and not self.forgot:
            self._check_unmarked(wave, ramp)
        if wave["closed"] in WENT:
            there = frozenset(row[0] for row in connection.execute(_IN_SEGMENT, (wave["id"],)).fetchall())
            if not self.mailed.get(wave["id"], frozenset()) <= there:
                raise Violation(f"I4: people whom {wave['label']} mailed are called free again")
            self.mailed[wave["id"]] = there

    def _check_unmarked(self, wave: sqlite3.Row, ramp: sqlite3.Row) -> None:
        """Nobody of ours is in a segment at the provider before a marker says so."""
        assert self.sandbox is not None
        name = f"simhouse.{ramp['slug']}.{wave['label']}"
        for segment in self.sandbox.world.roster._segments.values():
            if segment.name == name and segment.members and wave["segment_id"] is not None:
                raise Violation(f"I5: people are in the segment of {wave['label']}, and it has no marker")

    def _check_sends(
        self, connection: sqlite3.Connection, ramps: dict[str, sqlite3.Row], waves: dict[str, sqlite3.Row]
    ) -> None:
        for row in connection.execute(_ASKED).fetchall():
            if row["id"] in self.asked:
                continue
            self.asked.add(row["id"])
            wave = waves[row["wave_id"]]
            ramp, known = ramps[wave["ramp_id"]], self.waves.get(wave["id"])
            if not _active(ramp):
                raise Violation(f"I4: {wave['label']} was about to be sent while {_standing(ramp)}")
            if wave["closed"] is not None or wave["failed"] is not None or known is None:
                raise Violation(f"I4: {wave['label']} was about to be sent, and isn't open")


def _active(ramp: sqlite3.Row) -> bool:
    return all(ramp[name] is None for name in _FACTS)


def _standing(ramp: sqlite3.Row) -> str:
    return ", ".join(f"{name} is {ramp[name]}" for name in _FACTS if ramp[name] is not None)


def _check_tiers(waves: list[sqlite3.Row]) -> None:
    by_ramp: dict[str, list[sqlite3.Row]] = {}
    for wave in waves:
        by_ramp.setdefault(wave["ramp_id"], []).append(wave)
    for rows in by_ramp.values():
        if sum(row["closed"] is None for row in rows) > 1:
            raise Violation("I4: two waves of a ramp are open")
        tiers = [row["tier"] for row in rows if row["closed"] == "sent" and row["tier"] is not None]
        if sorted(tiers) != list(range(len(tiers))):
            raise Violation(f"I4: the tiers of the sent waves are {tiers}")


def _check_run(
    connection: sqlite3.Connection,
    actor: Actor,
    before: dict[str, sqlite3.Row],
    waves: dict[str, sqlite3.Row],
) -> None:
    """A step writes while its job is its own, for the run that the wave has."""
    for wave in waves.values():
        mine = connection.execute(_MY_JOB, (actor.identity, wave["id"])).fetchall()
        known = before.get(wave["id"], wave)
        if any(f'"{known["run_id"]}"' in row["payload"] for row in mine):
            return
    raise Violation(f"I2: {actor.name} wrote for a run, or by a job, that isn't its own")


def check_ramp(machine: "RampMachine", *, strict: bool) -> None:
    """Compare what we say of the waves with whom the provider mailed, and see that nothing is stuck."""
    connection, sandbox = machine.memory.connection, machine.sandbox
    waves = connection.execute(_WAVES).fetchall()
    ramps = {row["id"]: row for row in connection.execute(_RAMPS).fetchall()}
    _check_mailed(machine, connection, waves, strict=strict)
    for wave in waves:
        ramp = ramps[wave["ramp_id"]]
        if wave["closed"] is None and (ramp["ended"] is not None or _active(ramp)):
            where = f"at {wave['step']}, failed {wave['failed']}"
            raise Violation(f"I8: {wave['label']} is open for ever ({where}), ended {ramp['ended']}")
        if wave["closed"] is None and ramp["needs_operator"] is None and ramp["paused_at"] is None:
            raise Violation(f"I8: {wave['label']} is open, and nobody was told")
    _check_stops(machine, waves)
    sent = sum(1 for wave in waves if wave["closed"] in WENT and wave["tier"] is not None)
    ended = [row["ended"] for row in ramps.values()]
    if sent < machine.wanted and "aborted" not in ended and "complete" not in ended:
        raise Violation(f"I8: only {sent} of {machine.wanted} waves went: {sandbox.truth.sends_accepted()}")


def _check_mailed(
    machine: "RampMachine", connection: sqlite3.Connection, waves: list[sqlite3.Row], *, strict: bool
) -> None:
    ours = {
        row["remote_id"]: row["wave_id"]
        for row in connection.execute(
            "SELECT r.remote_id, c.wave_id FROM remote_campaigns r JOIN campaigns c ON c.id = r.campaign_id"
        ).fetchall()
    }
    world = machine.sandbox.world
    crowd = world.roster.people(machine.crowd_list)
    mailed = {
        campaign: [person.email.lower() for person in delivery.receivers]
        for campaign, delivery in world.deliveries.items()
        if delivery.receivers is not None and delivery.people is crowd
    }
    everybody = [email for people in mailed.values() for email in people]
    if len(everybody) != len(set(everybody)):
        raise Violation(f"I4: {len(everybody) - len(set(everybody))} people were mailed twice")
    by_id = {wave["id"]: wave for wave in waves}
    for campaign, people in mailed.items():
        got = set(people)
        strangers = [one for one in got if not one.endswith("@example.com")]
        if strangers:
            raise Violation("I10: people were mailed who are in no wave")
        wave = by_id.get(ours.get(campaign) or "")
        if wave is None:
            if strict:
                raise Violation("I5: something was mailed that belongs to no wave")
            continue
        if wave["closed"] not in WENT:
            raise Violation(f"I5: {wave['label']} was mailed, and is {wave['closed'] or 'open'}")
        if wave["by_hand"]:
            raise Violation(f"I1: {wave['label']} was recorded as gone by hand, and went from here, too")
        _check_same_people(connection, wave, got)
        _check_suppressed(machine, connection, wave, got)


def _check_same_people(connection: sqlite3.Connection, wave: sqlite3.Row, got: set[str]) -> None:
    rows = connection.execute(
        "SELECT c.identity FROM assignments a JOIN contacts c ON c.id = a.contact_id"
        " WHERE a.wave_id = ? AND a.status = 'in_segment'",
        (wave["id"],),
    ).fetchall()
    told = {row["identity"] for row in rows}
    if told != got:
        raise Violation(
            f"I10: {wave['label']} mailed {len(got - told)} people whom we don't count,"
            f" and we count {len(told - got)} whom it didn't mail"
        )


def _check_suppressed(
    machine: "RampMachine", connection: sqlite3.Connection, wave: sqlite3.Row, got: set[str]
) -> None:
    """Whoever was suppressed before the last look began isn't mailed."""
    row = connection.execute(
        "SELECT max(at) AS at FROM ramp_log WHERE wave_id = ? AND outcome = 'draft_ready'", (wave["id"],)
    ).fetchone()
    if any(one in got and at < (row["at"] or 0) for one, at in machine.suppressed.items()):
        raise Violation(f"I10: {wave['label']} mailed somebody who was suppressed before its last look")


def _check_stops(machine: "RampMachine", waves: list[sqlite3.Row]) -> None:
    """Either a wave was stopped, or the answer named it."""
    for stop in machine.stops:
        for wave in waves:
            began = [
                event.at_ms
                for event in machine.sandbox.truth.events("send_accepted", f"simhouse.{SLUG}.{wave['label']}")
            ]
            later = [at for at in began if at > stop.at_ms and not machine.resumed_after(stop.at_ms, at)]
            if later and stop.wave != wave["label"]:
                raise Violation(
                    f"I4: {wave['label']} went after it was stopped, and the answer didn't say so"
                )
