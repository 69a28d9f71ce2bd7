"""What must hold after every commit, and at the end of every run."""

import hashlib
import sqlite3
from dataclasses import dataclass, field

from campaignbridge.domain.campaign import State, may_move
from campaignbridge.sandbox import Sandbox
from sim.schedule import Actor

BEFORE = "before1"  # whom somebody mailed by hand before our time, with content of their own
SLACK_MS = 5_000  # between a look that is due and the job that makes it
SHORTLY_MS = 20_000  # after a job that found the campaign locked, or the store gone
RETRY_MS = 3_660_000  # the longest wait of a look that was tried and brought no reading


class Violation(AssertionError):
    """An invariant did not hold."""


_CAMPAIGNS = """
SELECT c.id, c.state, c.version, c.look_at, c.open_attempt, now_ms() AS now,
    (SELECT count(*) FROM audit_events e WHERE e.campaign_id = c.id) AS events,
    (SELECT min(CASE WHEN j.state = 'claimed' THEN 0 ELSE j.run_at END) FROM jobs j
        WHERE j.dedupe_key = 'watch_campaign:campaign:' || c.id AND j.state IN ('queued', 'claimed')) AS job_at
FROM campaigns c
"""
_AGAIN = """
SELECT c.id FROM campaigns c JOIN attempts a ON a.id = c.open_attempt AND a.operation = 'send'
WHERE EXISTS (SELECT 1 FROM remote_campaigns r WHERE r.campaign_id = c.id AND r.went = 1)
    OR EXISTS (SELECT 1 FROM attempts o WHERE o.campaign_id = c.id AND o.operation = 'send'
        AND o.status = 'succeeded')
"""
_FORGOTTEN = """
SELECT c.id FROM campaigns c JOIN remote_campaigns r ON r.campaign_id = c.id AND r.went = 1
WHERE c.state = 'provider_draft' AND c.look_at IS NULL AND c.stopped_reason IS NULL
"""
_STEMS = """
SELECT c.id, c.state, c.stopped_reason, coalesce(r.slug || '.' || w.label, c.id) AS stem
FROM campaigns c LEFT JOIN waves w ON w.id = c.wave_id LEFT JOIN ramps r ON r.id = w.ramp_id
"""
_LOCKS = "SELECT key, fence, holder, held_until, now_ms() AS now FROM locks"
_JOBS = "SELECT id, state, fence, holder, lease_until, now_ms() AS now FROM jobs"


@dataclass(slots=True)
class Invariants:
    """What the last commit left, to compare the next one with."""

    locks_on: bool = True
    sweeping_until: int = 0  # jobs were lost: until then the sweep finds what has none
    campaigns: dict[str, sqlite3.Row] = field(default_factory=dict)
    locks: dict[str, sqlite3.Row] = field(default_factory=dict)
    jobs: dict[str, sqlite3.Row] = field(default_factory=dict)

    def after_commit(
        self, connection: sqlite3.Connection, actor: Actor, ran: list[tuple[str, object]]
    ) -> None:
        """Check what this commit changed."""
        for row in connection.execute(_CAMPAIGNS).fetchall():
            if row["id"] in self.campaigns:
                _check_move(self.campaigns[row["id"]], row)
            if row["now"] > self.sweeping_until:
                _check_owner(row)
            self.campaigns[row["id"]] = row
        if any(name == "campaigns.claim" for name, _ in ran) and connection.execute(_AGAIN).fetchone():
            raise Violation("I1: another send of what is known to have gone was about to be asked for")
        if connection.execute(_FORGOTTEN).fetchone():
            raise Violation("I8: a draft that may have gone is offered, and nobody looks")
        for row in connection.execute(_LOCKS).fetchall() if self.locks_on else ():
            if row["key"] in self.locks:
                _check_lock(self.locks[row["key"]], row, actor)
            if ("locks.hold", row["key"]) in ran and row["holder"] != actor.identity:
                raise Violation(f"I2: {actor.name} wrote under {row['key']}, which it doesn't hold")
            self.locks[row["key"]] = row
        for row in connection.execute(_JOBS).fetchall():
            if row["id"] in self.jobs:
                _check_lease(self.jobs[row["id"]], row, actor)
            self.jobs[row["id"]] = row


def _check_move(before: sqlite3.Row, row: sqlite3.Row) -> None:
    if row["version"] not in (before["version"], before["version"] + 1):
        raise Violation(f"I3: version went from {before['version']} to {row['version']}")
    if row["state"] == before["state"]:
        return
    if not may_move(State(before["state"]), State(row["state"]), adopted=True):
        raise Violation(f"I3: {before['state']} may not become {row['state']}")
    if row["version"] == before["version"] or row["events"] == before["events"]:
        raise Violation(f"I3: {before['state']} became {row['state']} without a version or an event")


def _check_owner(row: sqlite3.Row) -> None:
    """Every look that is due has a job that will make it in time; one that was tried is tried again."""
    if row["look_at"] is None:
        return
    if row["job_at"] is None:
        raise Violation(f"I8: {row['state']} must be looked at, and no job will do it")
    tried = row["look_at"] <= row["now"]
    latest = row["now"] + RETRY_MS if tried else max(row["look_at"] + SLACK_MS, row["now"] + SHORTLY_MS)
    if row["job_at"] > latest:
        raise Violation(f"I8: {row['state']} must be looked at, and no job will do it in time")


def _check_lock(before: sqlite3.Row, row: sqlite3.Row, actor: Actor) -> None:
    if row["fence"] < before["fence"]:
        raise Violation(f"I6: the fence of {row['key']} fell")
    live = before["holder"] is not None and before["held_until"] >= row["now"]
    changed = (before["holder"], before["fence"]) != (row["holder"], row["fence"])
    if live and changed and before["holder"] != actor.identity:
        raise Violation(f"I6: {actor.name} changed the lock that {before['holder']} holds")


def _check_lease(before: sqlite3.Row, row: sqlite3.Row, actor: Actor) -> None:
    live = before["state"] == "claimed" and before["lease_until"] >= row["now"]
    changed = (before["state"], before["fence"]) != (row["state"], row["fence"])
    if live and changed and before["holder"] != actor.identity:
        raise Violation(f"I6: {actor.name} changed the job that {before['holder']} has claimed")


def check_settled(connection: sqlite3.Connection, *, told: bool) -> None:
    """After the faults have ended, everything settles; `told`: or a person was told why not."""
    for row in connection.execute("SELECT * FROM campaigns").fetchall():
        moving = row["open_attempt"] or row["state"] in ("sending", "scheduled", "unknown")
        if moving and not (told and row["stopped_reason"]) and row["flag"] != "sent_zero":
            raise Violation(f"I8: {row['id']} is still {row['state']} and nobody was told")


def check_truth(connection: sqlite3.Connection, sandbox: Sandbox, html: bytes, *, strict: bool) -> None:
    """Compare what we say with what the provider really did.

    `strict`: every send that the provider accepted was asked for by us, within its window, and is remembered.
    """
    sandbox.settle()
    truth = sandbox.truth
    if truth.duplicates():
        raise Violation(f"I1: {truth.duplicates()} deliveries too many")
    people = {"a1b2c3", sandbox.team.list_id}
    wanted = hashlib.sha256(html).hexdigest()
    for event in truth.events("mailed"):
        if event.audience == BEFORE:
            continue
        if (event.html_sha256 or "").removeprefix("sha256:") != wanted or event.audience not in people:
            raise Violation("I10: other bytes, or other people, than were approved")
    for row in connection.execute(_STEMS).fetchall():
        sent = truth.sends_accepted(f"simhouse.{row['stem']}")
        if row["state"] == "sent" and not sent:
            raise Violation("I5: it is called sent, and nothing was")
        asked = connection.execute(
            "SELECT count(*) FROM attempts WHERE operation IN ('send', 'schedule') AND campaign_id = ?"
            " AND (status <> 'failed' OR error_code IN ('not_applied', 'retired'))",
            (row["id"],),
        ).fetchone()[0]
        if not strict and not asked:
            continue  # by hand, in the provider's own pages: a draft that nobody asked about isn't watched
        if sent and row["state"] not in ("sent", "cancelled") and not row["stopped_reason"]:
            raise Violation(f"I5: it was sent, and is called {row['state']}")
        succeeded = connection.execute(
            "SELECT count(*) FROM attempts WHERE operation IN ('send', 'schedule')"
            " AND status = 'succeeded' AND campaign_id = ?",
            (row["id"],),
        ).fetchone()[0]
        if strict and sent and not succeeded:
            raise Violation("I5: the provider accepted a send that is recorded as failed")
    accepted = connection.execute(
        "SELECT count(*) FROM attempts WHERE operation = 'send' AND status = 'succeeded'"
    ).fetchone()[0]
    if accepted > truth.sends_accepted():
        raise Violation("I5: a send is recorded as accepted that the provider never accepted")
