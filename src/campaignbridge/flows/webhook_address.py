"""The address that a provider may post to: made here, told once, and kept as a hash only."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection, Secret
from campaignbridge.domain.errors import Conflict, InvalidInput, InvalidState
from campaignbridge.flows.connecting import find_connection
from campaignbridge.flows.webhooks import hash_of
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.vault import SIGNING_KEY, Vault

SECRET_LETTERS = 40  # of 36: more than 200 bits
LONGEST_URL = 300
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Opened:
    """A fresh address. Whoever knows it may tell us that something happened, and nothing else."""

    connection: Connection
    url: Secret = field(repr=False)
    replaced: bool


def open_webhook(wiring: Wiring, ref: str, public_url: str, *, replace: bool, actor: Actor) -> Opened:
    """Make a connection's address below `public_url`. With `replace` the one before is shut at once."""
    actor.require("admin")
    base = _checked(public_url)
    connection = find_connection(wiring, ref)
    if wiring.webhook_reader(connection.provider) is None:
        raise InvalidState(
            f"Webhooks of {connection.provider} can't be read here.",
            todo="Nothing is lost: it is read at times.",
        )
    secret = wiring.chance.token(SECRET_LETTERS)
    with wiring.store.unit() as unit:
        before = unit.webhooks.endpoint(connection.id)
        if not unit.webhooks.open(connection.id, hash_of(secret), replace=replace):
            raise InvalidState(
                f"{connection.label} has an address for webhooks already, and it can't be shown again.",
                todo="Make another one, and tell the provider that; the one before is shut at once:",
                command=f"campaignbridge connections webhook {connection.id} --replace",
                made_at=before.made_at if before else None,
                heard_at=before.heard_at if before else None,
            )
        unit.events.add(
            "webhook_opened",
            campaign_id=None,
            actor=actor.name,
            connection=connection.id,
            replaced=before is not None,
        )
    url = Secret(f"{base}/webhooks/{connection.id}/{secret}")
    return Opened(connection, url, before is not None)


def sign_webhook(wiring: Wiring, vault: Vault, ref: str, *, signing_key: Secret, actor: Actor) -> Connection:
    """Keep the key that the provider signs with, sealed; from now on what isn't signed counts for nothing."""
    actor.require("admin")
    key = signing_key.reveal()
    if not 16 <= len(key) <= 200 or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "A signing key is one line of 16 to 200 printable ASCII letters without spaces.",
            todo="Give it alone, as the provider showed it when the webhook was made.",
        )
    connection = find_connection(wiring, ref)
    with wiring.store.reading() as unit:
        endpoint, installation = unit.webhooks.endpoint(connection.id), unit.installation()
    if endpoint is None or installation is None:
        raise InvalidState(
            f"{connection.label} has no address for webhooks yet.",
            todo="Make it first:",
            command=f"campaignbridge connections webhook {connection.id}",
        )
    sealed = vault.seal(
        signing_key,
        installation=installation,
        connection_id=connection.id,
        provider=connection.provider,
        base_url=connection.base_url,
        use=SIGNING_KEY,
    )
    with wiring.store.unit() as unit:
        if not unit.webhooks.sign(endpoint, sealed):
            raise Conflict("The address was replaced meanwhile. Nothing was changed.", todo="Begin anew.")
        unit.events.add("webhook_signed", campaign_id=None, actor=actor.name, connection=connection.id)
    return connection


def _checked(public_url: str) -> str:
    """Return where this machine is reached from outside, without a slash at its end."""
    try:
        parts = urlsplit(public_url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    plain = parts.scheme == "http" and host in _LOOPBACK
    extras = parts.query or parts.fragment or parts.username or parts.password or "?" in public_url
    if (
        host is None
        or extras
        or not (parts.scheme == "https" or plain)
        or not public_url.isascii()
        or not public_url.isprintable()
        or " " in public_url
        or len(public_url) > LONGEST_URL
    ):
        raise InvalidInput(
            "The public address is an https:// URL without a query, or http:// on this machine.",
            todo="Use one such as --public-url https://hooks.example.org",
        )
    return public_url.rstrip("/")
