"""The Status read model: what needs a person, oldest first, and how everything else stands.

One transaction, a fixed number of statements, a bounded number of rows; nobody outside is asked.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.need import Need, plain_name
from campaignbridge.flows.health import Health, look, warnings
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.status import COUNTED

LISTED = 50
NEXT = 5
AGES = ("under_5_min", "under_1_h", "under_1_day", "older")


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A campaign that the provider sends at its time."""

    id: str
    name: str
    at: int
    connection: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a connection stands."""

    id: str
    label: str
    provider: str  # for people
    sandboxed: bool
    key: str  # works, refused, unchecked or disconnected
    since: int | None  # of a refused key
    code: str | None  # of the refusal
    verified_at: int | None
    waiting: int  # campaigns that wait for a key that works


@dataclass(frozen=True, slots=True)
class Status:
    """What is shown first. Counts end at COUNTED, which means "more than 10,000"."""

    now: int
    total: int  # of all needs, up to COUNTED
    needs: tuple[Need, ...]  # the LISTED oldest
    states: Mapping[str, int]
    upcoming: tuple[Upcoming, ...]
    connections: tuple[Standing, ...]
    unresolved: Mapping[str, Mapping[str, int]]  # pending and unknown requests, by AGES
    paused: bool  # the store is a copy that nobody has adopted
    health: Health
    warnings: tuple[str, ...]  # of the background work, the worst first

    @property
    def exact(self) -> bool:
        """The number of needs is not only a lower bound."""
        return self.total < COUNTED

    @property
    def standstill(self) -> str:
        """Why nothing is done in the background, as a code with a help page; empty while work goes on.

        A store that no worker has come to yet is fresh, as long as nothing is overdue.
        """
        if self.paused:
            return "copy_paused"
        fresh = self.health.last_tick is None and not self.health.overdue
        found = [one for one in self.warnings if one == "work_stalled" or (one == "no_tick" and not fresh)]
        return found[0] if found else ""

    @property
    def needs_person(self) -> bool:
        """Somebody should do something."""
        return self.total > 0 or bool(self.standstill)


def status(wiring: Wiring, *, actor: Actor, repeatable: Collection[str] = ()) -> Status:
    """Return how everything stands. `repeatable` are the types of job that may be queued again."""
    actor.require("read")
    with wiring.store.reading() as unit:
        reads = unit.status
        totals = reads.totals()
        health = look(unit)
        return Status(
            now=totals["now"],
            total=totals["needs"],
            needs=tuple(need_of(row, repeatable) for row in reads.needs(most=LISTED)),
            states=reads.states(),
            upcoming=tuple(_upcoming(row) for row in reads.scheduled(most=NEXT)),
            connections=tuple(_standing(row) for row in reads.connections(most=LISTED)),
            unresolved=_by_age(reads.unresolved()),
            paused=unit.identity.paused,
            health=health,
            warnings=warnings(health),
        )


def need_of(row: Row, repeatable: Collection[str] = ()) -> Need:
    """Return a row of `needs`, joined with its campaign and connection, in words for people."""
    kind = row["kind"]
    label = row["label"] or ""
    return Need(
        kind=kind,
        target=row["target"],
        reason=row["reason"],
        since=row["since"],
        count=row["n"],
        name=plain_name(
            {"campaign": row["campaign"], "connection": label, "ramp": row["ramp"]}.get(kind) or row["target"]
        ),
        connection=label,
        provider=(row["provider"] or "the provider").capitalize(),
        sandboxed=row["base_url"] is not None,
        example=row["example"] or "",
        repeatable=kind == "job" and row["target"] in repeatable,
    )


def _upcoming(row: Row) -> Upcoming:
    return Upcoming(row["id"], plain_name(row["name"]), row["scheduled_for"], row["label"])


def _standing(row: Row) -> Standing:
    if row["disconnected_at"] is not None:
        key = "disconnected"
    elif row["refused_at"] is not None:
        key = "refused"
    else:
        key = "unchecked" if row["verified_at"] is None else "works"
    return Standing(
        id=row["id"],
        label=row["label"],
        provider=row["provider"].capitalize(),
        sandboxed=row["base_url"] is not None,
        key=key,
        since=row["refused_at"] if key == "refused" else None,
        code=row["refused_code"] if key == "refused" else None,
        verified_at=row["verified_at"],
        waiting=row["waiting"],
    )


def _by_age(rows: list[Row]) -> dict[str, dict[str, int]]:
    found = {row["status"]: {age: int(row[age]) for age in AGES} for row in rows}
    return {status: found.get(status, dict.fromkeys(AGES, 0)) for status in ("pending", "unknown")}
