"""One made-up Mailchimp account, its answers, and what the tests ask of it."""

import json

from campaignbridge.domain.provider import Draft, Envelope
from campaignbridge.providers.mailchimp import open_mailchimp
from contract.clocks import OwnClock
from contract.faultserver import FaultServer, answering, http

KEY = "0123456789abcdef0123456789abcdef-us19"
LIMIT_MS = 15_000
STEM = "inst1.camp7"
REMOTE_ID = "c0ffee1234"
DRAFT = Draft(
    title="News [inst1.camp7.g1]",
    audience="a1b2c3d4e5",
    envelope=Envelope(
        subject="Grüße & more",
        preview_text="peek",
        from_name="Ann",
        from_email="ann@example.com",
        reply_to="replies@example.com",
    ),
    html="<h1>Hi</h1>",
    text="Hi",
)


def mailchimp(server, clock=None):
    return open_mailchimp(key=KEY, base_url=server.url, clock=clock or OwnClock())


def problem(status, detail="no", title="Bad Request", **more):
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "instance": "", **more}
    return http(status, json.dumps(body), content_type="application/problem+json; charset=utf-8")


def campaign(**changes):
    return {
        "id": REMOTE_ID,
        "type": "regular",
        "status": "save",
        "create_time": "2026-03-01T10:00:00+00:00",
        "send_time": "",
        "emails_sent": 0,
        "recipients": {"list_id": "a1b2c3d4e5", "recipient_count": 22_000},
        "settings": {
            "title": DRAFT.title,
            "subject_line": "Grüße & more",
            "from_name": "Ann",
            "reply_to": "ann@example.com",
        },
        **changes,
    }


def asked(call, *answers):
    """Call a read with a provider whose requests get these answers; return its outcome and the requests."""
    with FaultServer(*map(answering, answers)) as server:
        return call(mailchimp(server)), server.requests


def told(name, *args, answer):
    """Call a mutation on a line of its own; return its outcome and the requests."""
    with FaultServer(answering(answer)) as server:
        provider = mailchimp(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        return getattr(provider, name)(line, *args, limit_ms=LIMIT_MS), server.requests
