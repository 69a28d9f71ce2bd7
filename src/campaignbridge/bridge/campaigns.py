"""A campaign's whole life. No rule lives here."""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.flows import (
    authoring,
    delivery,
    editing,
    handoff,
    reconcile,
    reducing,
    resolving,
    retiring,
    testing,
    views,
)
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier


class Campaigns:
    """A campaign's whole life."""

    wiring: Wiring

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
