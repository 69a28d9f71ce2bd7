"""What Mailchimp posts to a webhook, written down independently of what reads it, and one connection's address."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from svix.webhooks import Webhook

from campaignbridge.bootstrap import assemble, provider_opener
from campaignbridge.bridge import Bridge
from campaignbridge.flows.webhooks import Posted
from campaignbridge.host import HostChance
from campaignbridge.settings import Settings
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import Vault, new_ring_line, parse_ring
from support.world import AUDIENCE, DANA, World

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
PUBLIC = "https://hooks.example.org"
SIGNING_KEY = "k" * 48  # as Mailchimp shows it
SVIX_KEY = "whsec_" + base64.b64encode(b"k" * 24).decode()  # as Resend does


def stamp(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms // 1000))


def form(kind: str, fired_at: str, **data: str) -> bytes:
    """Return the body of an event; `merges_X` is a field of the person."""
    fields = {"type": kind, "fired_at": fired_at}
    for name, value in data.items():
        first, _, rest = name.partition("__")
        fields[f"data[{first}]" + (f"[{rest}]" if rest else "")] = value
    return urlencode(fields).encode()


def signed(body: bytes, key: str, at_ms: int) -> dict[str, str]:
    text = str(at_ms // 1000)
    digest = hmac.new(key.encode(), f"{text}.".encode() + body, hashlib.sha256).hexdigest()
    return {**FORM, "x-mailchimp-signature": f"t={text},v1={digest}"}


def mail_event(kind: str, at_ms: int, address: str, broadcast_id: str = "", **data: object) -> bytes:
    """Return the body of one of Resend's events about a mail."""
    told = {"email_id": "e1", "to": [address], "from": "a@acme.example", "subject": "Hello", **data}
    return json_event(kind, at_ms, **told, **({"broadcast_id": broadcast_id} if broadcast_id else {}))


def json_event(kind: str, at_ms: int, **data: object) -> bytes:
    """Return the body of one of Resend's events."""
    created = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return json.dumps({"type": kind, "created_at": created.replace("+00:00", "Z"), "data": data}).encode()


def svix_signed(body: bytes, at_ms: int, *, key: str = SVIX_KEY, event_id: str = "msg_1") -> dict[str, str]:
    """Return the headers that the scheme's own library signs a body with."""
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return {
        **JSON,
        "svix-id": event_id,
        "svix-timestamp": str(at_ms // 1000),
        "svix-signature": Webhook(key).sign(event_id, moment, body.decode()),
    }


RING = new_ring_line("k1")


def keeping_keys(world: World, store: Store | None = None) -> Bridge:
    """Return another process of a world, which has a key ring."""
    ring = parse_ring(RING, place="here")
    opener, vault = provider_opener(Settings(), world.clock), Vault(lambda: ring)
    return assemble(
        store or world.home.store(), opener, world.clock, HostChance(), "host:77:aaaa", vault=vault
    )


def heard(bridge: Bridge, connection_id: str, secret: str, body: bytes, headers: dict | None = None) -> str:
    """Have something posted somewhere; return what became of it."""
    (reception,) = bridge.receive_webhooks([Posted(connection_id, secret, headers or FORM, body)])
    return reception.value


@dataclass
class Address:
    """One connection's address for webhooks, and what is posted there."""

    world: World
    bridge: Bridge
    connection_id: str
    secret: str
    since: int  # what events say when they happened is told from here, or it would depend on how long a test takes

    @classmethod
    def of(cls, world: World, ref: str = "news", bridge: Bridge | None = None) -> "Address":
        asked = bridge or world.bridge
        opened = asked.open_webhook(ref, public_url=PUBLIC, actor=DANA)
        *_, connection_id, secret = opened.url.reveal().split("/")
        return cls(world, asked, connection_id, secret, world.now())

    def hear(self, body: bytes, headers: dict[str, str] | None = None) -> str:
        """Have something posted to the address; return what became of it."""
        return heard(self.bridge, self.connection_id, self.secret, body, headers)

    @classmethod
    def signing(cls, world: World, ref: str = "news", key: str = SIGNING_KEY) -> "Address":
        """Return an address at which only what is signed with a key counts."""
        address = cls.of(world, ref, keeping_keys(world))
        address.bridge.sign_webhook(ref, signing_key=key, actor=DANA)
        return address

    def told(self, body: bytes, *, late_ms: int = 0) -> str:
        """Have something posted that the provider signed: Resend's JSON, or Mailchimp's form."""
        at_ms = self.world.now() - late_ms
        svix = body.startswith(b"{")
        return self.hear(body, svix_signed(body, at_ms) if svix else signed(body, SIGNING_KEY, at_ms))

    def about(
        self, remote_id: str, status: str = "sent", *, ago_ms: int = 0, audience: str = AUDIENCE
    ) -> bytes:
        """Return a campaign's event."""
        fired = stamp(self.since - ago_ms)
        return form(
            "campaign", fired, id=remote_id, subject="Hello", status=status, reason="", list_id=audience
        )

    def sent(self, campaign_id: str, **changes) -> str:
        """Have it posted that a campaign was sent."""
        return self.hear(self.about(self.world.remote_id(campaign_id), **changes))

    def rows(self) -> list[dict]:
        return self.world.home.rows("SELECT * FROM webhook_events ORDER BY received_at, fired_at, subject")

    def outcomes(self) -> list[str | None]:
        return [row["outcome"] for row in self.rows()]
