"""The application layer's front door: what every surface calls. No rule lives here."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.discovery import Cached, Kind
from campaignbridge.domain.job import Handler
from campaignbridge.engine.tick import Ticked, tick
from campaignbridge.engine.worker import Worker
from campaignbridge.flows import (
    authoring,
    connecting,
    delivery,
    discovery,
    editing,
    handoff,
    reconcile,
    reducing,
    releasing,
    resolving,
    retiring,
    testing,
    views,
    webhook_address,
    webhooks,
)
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.vault import Vault


class Bridge:
    """Campaigns that are sent at most once. Made by `campaignbridge.open_bridge`.

    Every method takes the actor that asks; rights are checked below. Expected refusals are `Refusal`s with a
    stable `code`; anything else that is raised is a bug. May be shared between threads.
    """

    def __init__(self, wiring: Wiring, handlers: Mapping[str, Handler], worker: Worker, vault: Vault) -> None:
        self.wiring = wiring
        self.handlers = handlers
        self.worker = worker
        self.vault = vault

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
        self,
        label: str,
        *,
        provider: str,
        key_env: str | None = None,
        secret: Secret | str | None = None,
        base_url: str | None = None,
        actor: Actor,
    ) -> Connection:
        """Add a connection whose key opens an account now: a variable names the key, or it is kept sealed."""
        return connecting.add_connection(
            self.wiring,
            self.vault,
            label,
            provider=provider,
            key_env=key_env,
            secret=Secret(secret) if isinstance(secret, str) else secret,
            base_url=base_url,
            actor=actor,
        )

    def verify_connection(self, ref: str, *, actor: Actor) -> Connection:
        """Read which account the key opens; restart the watches that had stopped on it."""
        return connecting.verify_connection(self.wiring, self.vault, ref, actor=actor)

    def replace_key(
        self, ref: str, *, key_env: str | None = None, secret: Secret | str | None = None, actor: Actor
    ) -> Connection:
        """Put another key of the same account in place, once it has opened it."""
        return connecting.replace_key(
            self.wiring,
            self.vault,
            ref,
            key_env=key_env,
            secret=Secret(secret) if isinstance(secret, str) else secret,
            actor=actor,
        )

    def disconnect(self, ref: str, *, actor: Actor) -> Connection:
        """Forget a connection's key, unless a campaign needs it."""
        return connecting.disconnect(self.wiring, ref, actor=actor)

    def list_connections(self, *, actor: Actor) -> list[Connection]:
        """Return every connection by label."""
        return connecting.list_connections(self.wiring, actor=actor)

    # what a provider offers to choose from
    def listing(self, connection: str, kind: Kind, *, audience: str = "", actor: Actor) -> Cached[Any]:
        """Return audiences, segments, merge fields or senders as last read; nobody is contacted."""
        return discovery.listing(self.wiring, connection, kind, audience=audience, actor=actor)

    def refresh_listing(
        self, connection: str, kind: Kind, *, audience: str = "", actor: Actor
    ) -> discovery.Refreshed:
        """Read a listing at the provider, one reader at a time."""
        return discovery.refresh(self.wiring, connection, kind, audience=audience, actor=actor)

    # webhooks
    def open_webhook(
        self, ref: str, *, public_url: str, replace: bool = False, actor: Actor
    ) -> webhook_address.Opened:
        """Make the address that a connection's provider may post to. It is told once and never again."""
        return webhook_address.open_webhook(self.wiring, ref, public_url, replace=replace, actor=actor)

    def sign_webhook(self, ref: str, *, signing_key: Secret | str, actor: Actor) -> Connection:
        """Have only events count that the provider signed with this key."""
        key = Secret(signing_key) if isinstance(signing_key, str) else signing_key
        return webhook_address.sign_webhook(self.wiring, self.vault, ref, signing_key=key, actor=actor)

    def receive_webhook(
        self, connection_id: str, secret: str, headers: Mapping[str, str], body: bytes
    ) -> webhooks.Reception:
        """Store what a provider posted. It takes no actor: the address is what lets it in."""
        return webhooks.receive(self.wiring, self.vault, connection_id, secret, headers=headers, body=body)

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
        again_after: str | None = None,
    ) -> delivery.Sent:
        """Ask the provider to send the draft now, at most once."""
        return delivery.send(
            self.wiring,
            campaign_id,
            actor=actor,
            key=key,
            confirmed=confirmed,
            expected_version=expected_version,
            again_after=again_after,
        )

    def schedule(
        self,
        campaign_id: str,
        *,
        actor: Actor,
        key: str,
        confirmed: delivery.Confirmation,
        at_ms: int,
        expected_version: int | None = None,
        again_after: str | None = None,
    ) -> delivery.Sent:
        """Ask the provider to send the draft at a time (epoch milliseconds), at most once."""
        return delivery.schedule(
            self.wiring,
            campaign_id,
            actor=actor,
            key=key,
            confirmed=confirmed,
            at_ms=at_ms,
            expected_version=expected_version,
            again_after=again_after,
        )

    def unschedule(
        self, campaign_id: str, *, actor: Actor, key: str, expected_version: int | None = None
    ) -> reducing.Reduced:
        """Take a scheduled campaign off the provider's schedule."""
        return reducing.unschedule(
            self.wiring, campaign_id, actor=actor, key=key, expected_version=expected_version
        )

    def cancel(
        self, campaign_id: str, *, actor: Actor, key: str, expected_version: int | None = None
    ) -> reducing.Reduced:
        """Stop a campaign wherever it is."""
        return reducing.cancel(
            self.wiring, campaign_id, actor=actor, key=key, expected_version=expected_version
        )

    def send_test(
        self, campaign_id: str, *, actor: Actor, key: str, addresses: tuple[str, ...]
    ) -> testing.Tested:
        """Mail the draft to a few addresses, which are never stored."""
        return testing.send_test(self.wiring, campaign_id, actor=actor, key=key, addresses=addresses)

    def resolve(
        self,
        campaign_id: str,
        *,
        actor: Actor,
        ruling: resolving.Ruling,
        expected_version: int | None = None,
    ) -> State:
        """Settle by hand what the provider can never tell."""
        return resolving.resolve(
            self.wiring, campaign_id, actor=actor, ruling=ruling, expected_version=expected_version
        )

    def acknowledge(
        self, campaign_id: str, *, actor: Actor, reason: str, expected_version: int | None = None
    ) -> None:
        """Clear the flag of a possible double, after a person has looked at it."""
        resolving.acknowledge(
            self.wiring, campaign_id, actor=actor, reason=reason, expected_version=expected_version
        )

    def set_content(
        self,
        campaign_id: str,
        *,
        actor: Actor,
        content: bytes,
        markdown: bool,
        subject: str | None = None,
        preview_text: str | None = None,
        expected_version: int | None = None,
    ) -> Dossier:
        """Freeze another revision of the content; an approval is dropped."""
        return editing.set_content(
            self.wiring,
            campaign_id,
            actor=actor,
            content=content,
            markdown=markdown,
            subject=subject,
            preview_text=preview_text,
            expected_version=expected_version,
        )

    def set_audience(
        self, campaign_id: str, *, actor: Actor, audience: str, expected_version: int | None = None
    ) -> Dossier:
        """Choose another audience, while no draft stands at the provider."""
        return editing.set_audience(
            self.wiring, campaign_id, actor=actor, audience=audience, expected_version=expected_version
        )

    def withdraw(self, campaign_id: str, *, actor: Actor, expected_version: int | None = None) -> Dossier:
        """Take a draft back: it is approved again, and may be edited."""
        return editing.withdraw(self.wiring, campaign_id, actor=actor, expected_version=expected_version)

    def archive(self, campaign_id: str, *, actor: Actor, expected_version: int | None = None) -> Dossier:
        """Put a campaign away that was never sent."""
        return editing.archive(self.wiring, campaign_id, actor=actor, expected_version=expected_version)

    def duplicate(self, campaign_id: str, *, actor: Actor, key: str, name: str | None = None) -> Dossier:
        """Make a draft with the same content and audience; the same key makes the same one."""
        return editing.duplicate(self.wiring, campaign_id, actor=actor, key=key, name=name)

    def retire(
        self, campaign_id: str, *, actor: Actor, expected_version: int | None = None
    ) -> retiring.Retired:
        """Make the campaign's draft unsendable, so that a new one can be made."""
        return retiring.retire(self.wiring, campaign_id, actor=actor, expected_version=expected_version)

    def limit_rate(self, ref: str, *, calls_per_s: int | None, actor: Actor) -> Connection:
        """Set how many calls a second a connection's account may be asked; None for the provider's own limit."""
        return connecting.limit_rate(self.wiring, ref, calls_per_s=calls_per_s, actor=actor)

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
