"""How the background work fares: a read model, measured by what ran and not by what is configured."""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit

LATE_MS = 5 * 60_000
MOST = 10_000  # where every count ends
MOST_WORKERS = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """What one worker last did. A `tick` of cron is a worker of its own."""

    holder: str
    ticked_at: int  # when it last completed a tick
    claimed_at: int | None  # when it last asked for work and was answered, to about a minute
    polling_since: (
        int | None
    )  # since when it has heard no wake-ups; None where it hears them, or there are none

    @property
    def host(self) -> str:
        """Where it runs."""
        return self.holder.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Health:
    """The queue and its workers. Times are epoch milliseconds of the store; counts end at `MOST`."""

    now: int
    waiting: int  # queued, whenever they are due
    claimed: int  # in some worker's hand
    stopped: int  # claimed, and the lease is over: the worker died or lost the store
    stopped_since: int | None  # when the first of them ended
    due_since: int | None  # when the oldest that is due was due
    overdue: int  # due more than `LATE_MS` ago
    dead: tuple[tuple[str, int], ...]  # given up, by error code, the commonest first
    failed: tuple[tuple[str, int], ...]  # can never succeed, by error code
    dead_at: int | None  # when the newest was given up
    workers: tuple[Seen, ...]  # those that ticked last, the latest first

    @property
    def last_tick(self) -> int | None:
        """When any worker last completed a tick; None if none ever did."""
        return self.workers[0].ticked_at if self.workers else None

    @property
    def last_claim(self) -> int | None:
        """When any of the workers last asked for work."""
        return max((one.claimed_at for one in self.workers if one.claimed_at is not None), default=None)

    @property
    def overdue_since(self) -> int | None:
        """When the oldest overdue job was due."""
        return self.due_since if self.overdue else None


def health(wiring: Wiring, *, actor: Actor) -> Health:
    """Return how the background work fares."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return look(unit)


def look(unit: Unit) -> Health:
    """Read the figures of one moment: three statements, whatever is queued."""
    row = unit.jobs.figures(late_ms=LATE_MS, most=MOST)
    ended = [(one["state"], str(one["code"]), int(one["n"])) for one in unit.jobs.ended_badly(most=MOST)]
    return Health(
        now=row["now"],
        waiting=row["waiting"],
        claimed=row["claimed"],
        stopped=row["stopped"],
        stopped_since=row["stopped_since"],
        due_since=row["due_since"],
        overdue=row["overdue"],
        dead=tuple((code, n) for state, code, n in ended if state == "dead"),
        failed=tuple((code, n) for state, code, n in ended if state == "failed"),
        dead_at=row["dead_at"],
        workers=tuple(
            Seen(one["holder"], one["ticked_at"], one["claimed_at"], one["polling_since"])
            for one in unit.workers.newest(most=MOST_WORKERS)
        ),
    )


def warnings(health: Health) -> tuple[str, ...]:
    """Return what is wrong, as codes with a help page each; the worst first.

    `no_tick`: none was completed for five minutes, or ever. `work_stalled`: jobs are overdue, or were left
    behind and not taken over, for five minutes, and nobody asks for work. `work_late`: jobs are overdue
    although workers ask for work: more is due than they get done.
    """
    found = []
    if not _lately(health.last_tick, health.now):
        found.append("no_tick")
    left_behind = health.stopped_since is not None and health.now - health.stopped_since > LATE_MS
    if health.overdue or left_behind:
        found.append("work_late" if _lately(health.last_claim, health.now) else "work_stalled")
    return tuple(found)


def _lately(at: int | None, now: int) -> bool:
    return at is not None and now - at <= LATE_MS
