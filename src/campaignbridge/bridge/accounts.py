"""Connections, what their providers offer, and their webhooks. No rule lives here."""

from collections.abc import Sequence
from typing import Any

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.discovery import Cached, Kind
from campaignbridge.flows import (
    connecting,
    discovery,
    webhook_address,
    webhooks,
)
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.vault import Vault


class Accounts:
    """Connections, what their providers offer, and their webhooks."""

    wiring: Wiring
    vault: Vault

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

    def limit_rate(self, ref: str, *, calls_per_s: int | None, actor: Actor) -> Connection:
        """Set how many calls a second a connection's account may be asked; None for the provider's own limit."""
        return connecting.limit_rate(self.wiring, ref, calls_per_s=calls_per_s, actor=actor)

    def list_connections(self, *, actor: Actor) -> list[Connection]:
        """Return every connection by label."""
        return connecting.list_connections(self.wiring, actor=actor)

    def listing(self, connection: str, kind: Kind, *, audience: str = "", actor: Actor) -> Cached[Any]:
        """Return audiences, segments, merge fields or senders as last read; nobody is contacted."""
        return discovery.listing(self.wiring, connection, kind, audience=audience, actor=actor)

    def refresh_listing(
        self, connection: str, kind: Kind, *, audience: str = "", actor: Actor
    ) -> discovery.Refreshed:
        """Read a listing at the provider, one reader at a time."""
        return discovery.refresh(self.wiring, connection, kind, audience=audience, actor=actor)

    def open_webhook(
        self, ref: str, *, public_url: str, replace: bool = False, actor: Actor
    ) -> webhook_address.Opened:
        """Make the address that a connection's provider may post to. It is told once and never again."""
        return webhook_address.open_webhook(self.wiring, ref, public_url, replace=replace, actor=actor)

    def sign_webhook(self, ref: str, *, signing_key: Secret | str, actor: Actor) -> Connection:
        """Have only events count that the provider signed with this key."""
        key = Secret(signing_key) if isinstance(signing_key, str) else signing_key
        return webhook_address.sign_webhook(self.wiring, self.vault, ref, signing_key=key, actor=actor)

    def receive_webhooks(self, posted: Sequence[webhooks.Posted]) -> list[webhooks.Reception]:
        """Store what providers posted, in one commit. It takes no actor: the address is what lets it in."""
        return webhooks.receive(self.wiring, self.vault, posted)
