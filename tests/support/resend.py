"""The world of `support.world` with Resend in Mailchimp's place. PYTEST_DONT_REWRITE, as there.

Used as `pytest_plugins = [..., "support.resend"]`.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from campaignbridge.flows.delivery import Confirmation
from campaignbridge.sandbox import Request, Sandbox, SandboxServer
from support.stores import Home
from support.world import DANA, KEY_ENV, MINUTE_MS, SENDING_MS, World

RESEND_KEY = "re_0123456789abcdef0123456789abcdef"
RESEND_PEOPLE = 240
RESEND_HTML = (
    "<h1>News</h1><p>Dear {{{FIRST_NAME|reader}}}.</p><a href='{{{RESEND_UNSUBSCRIBE_URL}}}'>Unsubscribe</a>"
)
PAGES = 3  # of 100 contacts
COUNT = ["GET segment_members"] * PAGES
RESEND_DRAFT = [
    "GET list_campaigns",
    "GET account",
    "POST create",
    "GET inspect",
    "PATCH update",
]
RESEND_GUARD = ["GET inspect", "PATCH update", *COUNT, "GET inspect"]


class ResendWorld(World):
    """One installation and one Resend account."""

    @property
    def segment(self) -> str:
        return self.sandbox.segment

    def create(self, **changes) -> str:
        return super().create(
            **{"audience": self.segment, "content": RESEND_HTML.encode(), "connection": "letters", **changes}
        )

    def send(self, campaign_id, key="s1", *, recipients=RESEND_PEOPLE, audience=None, **more):
        return super().send(
            campaign_id, key, recipients=recipients, audience=audience or self.segment, **more
        )

    def schedule(self, campaign_id, key="p1", *, recipients=RESEND_PEOPLE, audience=None, **more):
        return super().schedule(
            campaign_id, key, recipients=recipients, audience=audience or self.segment, **more
        )

    def retire(self, campaign_id: str, *, actor=DANA, bridge=None, version=None):
        return (bridge or self.bridge).retire(campaign_id, actor=actor, expected_version=version)

    def by_hand(self, method: str, path: str, body: dict | None = None) -> dict:
        request = Request(
            method,
            path,
            headers={"authorization": f"Bearer {RESEND_KEY}"},
            body=json.dumps(body or {}).encode(),
        )
        answer, _ = self.sandbox.handle(request)
        self._by_hand.add(id(self.sandbox.truth.requests()[-1]))
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body or b"{}")

    def send_by_hand(self, campaign_id: str) -> None:
        self.by_hand("POST", f"/broadcasts/{self.remote_id(campaign_id)}/send")

    def slot(self, *, in_minutes: float = 60) -> int:
        return -(-(self.now() + int(in_minutes * MINUTE_MS)) // MINUTE_MS) * MINUTE_MS

    def environment(self) -> dict[str, str]:
        return {**super().environment(), KEY_ENV: RESEND_KEY}

    def spent(self, kind: str = "refuse_5xx") -> str:
        """Return a campaign whose send had no usable answer and turned out not to have happened."""
        campaign_id = self.doubted(kind)
        self.run(hours=0.5)
        assert self.state(campaign_id) == "provider_draft"
        self.heard()
        return campaign_id


@contextmanager
def resend_world_of(home: Home) -> Iterator[ResendWorld]:
    """Put a world around a store."""
    sandbox = Sandbox(lambda: time.time_ns() // 1_000_000 + home.offset_ms, 7, keys=(RESEND_KEY,))
    sandbox.world.behave(sending_ms=SENDING_MS)
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv(KEY_ENV, RESEND_KEY)
        server = stack.enter_context(SandboxServer(sandbox))
        world = ResendWorld(home, sandbox, server)
        world.bridge.add_connection(
            "letters", provider="resend", key_env=KEY_ENV, base_url=server.resend_url, actor=DANA
        )
        world.heard()
        world.calls.clear()
        yield world


@pytest.fixture
def resend(home) -> Iterator[ResendWorld]:
    """Return a world with Resend, on SQLite and on PostgreSQL."""
    with resend_world_of(home) as ready:
        yield ready


@pytest.fixture
def sqlite_resend(sqlite_home) -> Iterator[ResendWorld]:
    with resend_world_of(sqlite_home) as ready:
        yield ready


def resend_confirmation(world: ResendWorld) -> Confirmation:
    return Confirmation(recipients=RESEND_PEOPLE, audience=world.segment)
