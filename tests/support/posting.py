"""What Mailchimp posts to a webhook, written down independently of what reads it, and one connection's address."""

import hashlib
import hmac
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from campaignbridge.bridge import Bridge
from campaignbridge.flows.webhooks import Posted
from support.world import AUDIENCE, DANA, World

FORM = {"content-type": "application/x-www-form-urlencoded"}
PUBLIC = "https://hooks.example.org"


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
