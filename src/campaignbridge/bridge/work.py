"""The installation, its background work, and what needs a person. No rule lives here."""

from collections.abc import Mapping

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.installation import Standing
from campaignbridge.domain.job import Handler
from campaignbridge.engine.tick import Ticked, tick
from campaignbridge.engine.worker import Worker
from campaignbridge.flows import (
    health,
    identity,
    notices,
    releasing,
    views,
)
from campaignbridge.flows import status as statuses
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row


class Work:
    """The installation, its background work, and what needs a person."""

    wiring: Wiring
    handlers: Mapping[str, Handler]
    worker: Worker

    def standing(self, *, actor: Actor) -> Standing | None:
        """Return the installation's id, and whether this is a copy that is paused."""
        return identity.standing(self.wiring, actor=actor)

    def adopt(self, *, reason: str, confirmed: str, actor: Actor) -> identity.Adopted:
        """Make a paused copy the real one; `confirmed` is the id of its installation."""
        return identity.adopt(self.wiring, reason=reason, confirmed=confirmed, actor=actor)

    def health(self, *, actor: Actor) -> health.Health:
        """Return how the background work fares."""
        return health.health(self.wiring, actor=actor)

    def tick(self, *, batch: int = 10) -> Ticked:
        """Run what is due, once; on a paused copy nothing, and the answer says so."""
        return tick(self.worker, batch=batch)

    def locks(self, *, actor: Actor) -> list[Row]:
        """Return every lock that is held or was left behind."""
        return views.locks(self.wiring, actor=actor)

    def release_lock(self, key: str, *, fence: int, reason: str, actor: Actor) -> None:
        """Free a lock whose lease ended, if it still has the fence that was seen."""
        releasing.release_lock(self.wiring, key, fence=fence, reason=reason, actor=actor)

    def jobs(self, *, actor: Actor, state: str = "", most: int = 50, cursor: str = "") -> list[Row]:
        """Return a page of jobs, each with its `cursor`; without payloads."""
        return views.jobs(self.wiring, actor=actor, state=state, most=most, cursor=cursor)

    def job(self, job_id: str, *, actor: Actor) -> Row:
        """Return one job, without its payload."""
        return views.job(self.wiring, job_id, safe_types=self._safe_types, actor=actor)

    def requeue_job(self, job_id: str, *, actor: Actor) -> None:
        """Queue a failed or dead job anew, of a type that is safe to repeat."""
        releasing.requeue_job(self.wiring, job_id, safe_types=self._safe_types, actor=actor)

    def status(self, *, actor: Actor) -> statuses.Status:
        """Return what needs a person, oldest first, and how everything else stands."""
        return statuses.status(self.wiring, actor=actor, repeatable=self._safe_types)

    def try_notices(self, *, actor: Actor) -> list[notices.Told]:
        """Send a test notice to every target; return what each answered."""
        return notices.try_targets(self.wiring, actor=actor)

    @property
    def _safe_types(self) -> frozenset[str]:
        return frozenset(name for name, handler in self.handlers.items() if handler.retry_safe)
