"""One made-up Resend account, its answers, and what the tests ask of it."""

from campaignbridge.domain.provider import Draft, Envelope
from campaignbridge.providers.resend import open_resend
from contract.clocks import OwnClock
from contract.faultserver import FaultServer, answering, http

KEY = "re_0123456789abcdefABCDEF"
LIMIT_MS = 15_000
STEM = "inst1.camp7"
REMOTE_ID = "e169aa45-1ecf-4183-9955-b1499d5701d3"
SEGMENT = "78261eea-8f8b-4381-83c6-79fa7120f1cf"
AT_MS = 1_795_000_020_000
DRAFT = Draft(
    title="News [inst1.camp7.g1]",
    audience=SEGMENT,
    envelope=Envelope(
        subject="Grüße & more",
        preview_text="peek",
        from_name="Ann",
        from_email="ann@example.com",
        reply_to="replies@example.com",
    ),
    html="<h1>Hi {{{FIRST_NAME|there}}}</h1>",
    text="Hi",
)


def resend(server, clock=None):
    return open_resend(key=KEY, base_url=server.url.removesuffix("/3.0"), clock=clock or OwnClock())


def wrong(status, message="no", name="validation_error", **headers):
    return http(status, {"statusCode": status, "message": message, "name": name}, **headers)


def broadcast(**changes):
    return {
        "object": "broadcast",
        "id": REMOTE_ID,
        "name": DRAFT.title,
        "audience_id": SEGMENT,
        "segment_id": SEGMENT,
        "from": "Ann <ann@example.com>",
        "subject": "Grüße & more",
        "reply_to": ["replies@example.com"],
        "preview_text": "peek",
        "status": "draft",
        "created_at": "2026-09-11 17:43:06.097983+00",
        "scheduled_at": None,
        "sent_at": None,
        "text": "Hi",
        "html": DRAFT.html,
        "topic_id": None,
        **changes,
    }


def page(*rows, more=False):
    return http(200, {"object": "list", "has_more": more, "data": list(rows)})


def asked(call, *answers):
    """Call with a provider whose requests get these answers; return its outcome and the requests."""
    with FaultServer(*map(answering, answers)) as server:
        return call(resend(server)), server.requests


def told(name, *args, answer):
    """Call a mutation on a line of its own; return its outcome and the requests."""
    with FaultServer(answering(answer)) as server:
        provider = resend(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        return getattr(provider, name)(line, *args, limit_ms=LIMIT_MS), server.requests
