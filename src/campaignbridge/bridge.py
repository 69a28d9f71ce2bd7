"""The application layer's front door: what every surface calls. No rule lives here."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.job import Handler
from campaignbridge.engine.tick import Ticked, tick
from campaignbridge.engine.worker import Worker
from campaignbridge.flows import authoring, connecting, delivery, handoff, reconcile, releasing, views
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier


class Bridge:
    """Campaigns that are sent at most once. Made by `campaignbridge.open_bridge`.

    Every method takes the actor that asks; rights are checked below. Expected refusals are `Refusal`s with a
    stable `code`; anything else that is raised is a bug. May be shared between threads.
    """

    def __init__(self, wiring: Wiring, handlers: Mapping[str, Handler], worker: Worker) -> None:
        self.wiring = wiring
        self.handlers = handlers
        self.worker = worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection to the store."""
        self.wiring.store.database.close()

    # connections
    def add_connection(
        self, label: str, *, provider: str, key_env: str, base_url: str | None, actor: Actor
    ) -> Connection:
        """Add a connection whose key opens an account now."""
        return connecting.add_connection(
            self.wiring, label, provider=provider, key_env=key_env, base_url=base_url, actor=actor
        )

    def verify_connection(self, ref: str, *, actor: Actor) -> Connection:
        """Read which account the key opens; restart the watches that had stopped on it."""
        return connecting.verify_connection(self.wiring, ref, actor=actor)

    def list_connections(self, *, actor: Actor) -> list[Connection]:
        """Return every connection by label."""
        return connecting.list_connections(self.wiring, actor=actor)

    # campaigns
    def create(self, new: authoring.NewCampaign, *, actor: Actor) -> Dossier:
        """Create a draft with frozen content."""
        return authoring.create(self.wiring, new, actor=actor)

    def preflight(self, campaign_id: str, *, actor: Actor) -> authoring.Checked:
        """Return what stands against sending the content."""
        return authoring.check(self.wiring, campaign_id, actor=actor)

    def submit(
        self, campaign_id: str, *, actor: Actor, expected_version: int | None = None
    ) -> tuple[Dossier, authoring.Checked]:
        """Hand a draft in for review."""
        return authoring.submit(self.wiring, campaign_id, actor=actor, expected_version=expected_version)

    def approve(
        self,
        campaign_id: str,
        *,
        actor: Actor,
        approved: str,
        max_recipients: int,
        expected_version: int | None = None,
    ) -> Dossier:
        """Approve exactly the content with this fingerprint."""
        return authoring.approve(
            self.wiring,
            campaign_id,
            actor=actor,
            approved=approved,
            max_recipients=max_recipients,
            expected_version=expected_version,
        )

    def revoke(self, campaign_id: str, *, actor: Actor, expected_version: int | None = None) -> Dossier:
        """Take an approval back."""
        return authoring.revoke(self.wiring, campaign_id, actor=actor, expected_version=expected_version)

    def hand_off(
        self, campaign_id: str, *, actor: Actor, key: str, expected_version: int | None = None
    ) -> handoff.HandedOff:
        """Make the campaign's draft at the provider."""
        return handoff.hand_off(
            self.wiring, campaign_id, actor=actor, key=key, expected_version=expected_version
        )

    def send(
        self,
        campaign_id: str,
        *,
        actor: Actor,
        key: str,
        confirmed: delivery.Confirmation,
        expected_version: int | None = None,
    ) -> delivery.Sent:
        """Ask the provider to send the draft now, at most once."""
        return delivery.send(
            self.wiring,
            campaign_id,
            actor=actor,
            key=key,
            confirmed=confirmed,
            expected_version=expected_version,
        )

    def reconcile(self, campaign_id: str, *, actor: Actor) -> reconcile.Reconciled:
        """Look at the provider now; changes nothing there."""
        return reconcile.reconcile(self.wiring, campaign_id, actor=actor)

    def show(self, campaign_id: str, *, actor: Actor) -> views.CampaignView:
        """Return all that is known of one campaign."""
        return views.show(self.wiring, campaign_id, actor=actor)

    def newest(self, *, actor: Actor, most: int = 50) -> list[Row]:
        """Return the newest campaigns."""
        return views.newest(self.wiring, actor=actor, most=most)

    def timeline(self, campaign_id: str, *, actor: Actor) -> list[Row]:
        """Return what happened to a campaign, oldest first."""
        return views.timeline(self.wiring, campaign_id, actor=actor)

    # work
    def tick(self, *, batch: int = 10) -> Ticked:
        """Run what is due, once."""
        return tick(self.worker, batch=batch)

    def locks(self, *, actor: Actor) -> list[Row]:
        """Return every lock that is held or was left behind."""
        return views.locks(self.wiring, actor=actor)

    def release_lock(self, key: str, *, reason: str, actor: Actor) -> None:
        """Free a lock whose lease ended."""
        releasing.release_lock(self.wiring, key, reason=reason, actor=actor)

    def jobs(self, *, actor: Actor, state: str = "", most: int = 50) -> list[Row]:
        """Return the newest jobs."""
        return views.jobs(self.wiring, actor=actor, state=state, most=most)

    def job(self, job_id: str, *, actor: Actor) -> Row:
        """Return one job."""
        return views.job(self.wiring, job_id, actor=actor)

    def requeue_job(self, job_id: str, *, actor: Actor) -> None:
        """Queue a failed or dead job anew, of a type that is safe to repeat."""
        safe = frozenset(name for name, handler in self.handlers.items() if handler.retry_safe)
        releasing.requeue_job(self.wiring, job_id, safe_types=safe, actor=actor)
