"""Resend's webhooks: our reader against the scheme's own libraries, in both directions, and from the sandbox."""

import base64
import json
from datetime import UTC, datetime

import jsonschema
import pytest
from standardwebhooks.webhooks import Webhook as Standard
from svix.webhooks import Webhook as Svix
from svix.webhooks import WebhookVerificationError

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.webhook import EventKind, Heard, Unheard
from campaignbridge.providers.resend_webhooks import ResendWebhooks
from campaignbridge.sandbox import Request, Sandbox, courier
from contract.resend_account import REMOTE_ID
from unit.test_sandbox import START_MS

READER = ResendWebhooks()
KEY = "whsec_" + base64.b64encode(b"a secret of 24 bytes or so").decode()
NOW_MS = 1_790_000_000_000
JSON = {"content-type": "application/json"}


def event(kind="email.sent", **data):
    body = {
        "type": kind,
        "created_at": "2026-09-21T14:13:20.000Z",
        "data": {"broadcast_id": REMOTE_ID, "to": ["ann@x.example"], **data},
    }
    return json.dumps(body).encode()


def signed(body=b'{"x": 1}', key=KEY, at_ms=NOW_MS):
    return courier.svix_headers(body, key, at_ms)


# --- signatures ------------------------------------------------------------------------------------------


def test_a_body_that_the_schemes_own_library_signs_is_authentic():
    body = event().decode()
    moment = datetime.fromtimestamp(NOW_MS / 1000, UTC)
    signature = Standard(KEY).sign("msg_1", moment, body)
    headers = {"svix-id": "msg_1", "svix-timestamp": str(NOW_MS // 1000), "svix-signature": signature}
    assert READER.is_authentic(headers, body.encode(), Secret(KEY), NOW_MS)


def test_a_body_that_our_sandbox_signs_is_authentic_for_both_libraries():
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    body = event()
    headers = signed(body, at_ms=now_ms)
    Svix(KEY).verify(body, headers)
    Standard(KEY).verify(body, {name.replace("svix-", "webhook-"): value for name, value in headers.items()})
    with pytest.raises(WebhookVerificationError):
        Svix(KEY).verify(body + b" ", headers)


def test_the_vectors_of_the_official_libraries_are_authentic(shared_facts):
    place = shared_facts / "facts/fixtures/resend/misc/webhook_signature_vectors.json"
    for vector in json.loads(place.read_text())["vectors"]:
        headers = {name: vector[name] for name in ("svix-id", "svix-timestamp", "svix-signature")}
        now_ms = int(vector["svix-timestamp"]) * 1000
        body, key = vector["payload"].encode(), Secret(vector["secret"])
        assert READER.is_authentic(headers, body, key, now_ms)
        assert not READER.is_authentic(headers, body + b" ", key, now_ms)


@pytest.mark.parametrize(
    ("off_ms", "fits"), [(0, True), (300_000, True), (-300_000, True), (301_000, False), (-301_000, False)]
)
def test_a_signature_counts_for_five_minutes_in_either_direction(off_ms, fits):
    body = event()
    assert READER.is_authentic(signed(body), body, Secret(KEY), NOW_MS + off_ms) is fits


def test_one_of_several_signatures_is_enough_while_a_key_is_being_changed():
    body = event()
    headers = signed(body)
    headers["svix-signature"] = (
        f"v1,{base64.b64encode(b'x' * 32).decode()} v2,abc {headers['svix-signature']}"
    )
    assert READER.is_authentic(headers, body, Secret(KEY), NOW_MS)


@pytest.mark.parametrize(
    "changes",
    [
        {"svix-id": "msg_other"},
        {"svix-id": ""},
        {"svix-id": "a\nb"},
        {"svix-timestamp": "1790000001"},
        {"svix-timestamp": "-1"},
        {"svix-timestamp": "1e9"},
        {"svix-signature": ""},
        {"svix-signature": "v1,"},
        {"svix-signature": "v1,ä"},
        {"svix-signature": "v2," + "A" * 44},
        {"svix-signature": " ".join(["v1," + "A" * 44] * 9)},
    ],
)
def test_a_changed_header_is_not_authentic(changes):
    body = event()
    assert not READER.is_authentic({**signed(body), **changes}, body, Secret(KEY), NOW_MS)


@pytest.mark.parametrize("key", ["", "whsec_", "whsec_!!!", "whsec_" + base64.b64encode(b"another").decode()])
def test_another_key_or_none_opens_nothing(key):
    body = event()
    assert not READER.is_authentic(signed(body), body, Secret(key), NOW_MS)


# --- events ----------------------------------------------------------------------------------------------


def test_a_mail_of_a_broadcast_is_word_of_it_by_the_minute():
    heard = READER.parse_webhook(JSON, event("email.delivered"))
    minute = 1_790_000_000_000 // 60_000 * 60_000
    assert heard == Heard(EventKind.CAMPAIGN, "", REMOTE_ID, "delivered", minute, "ann@x.example")
    soft = READER.parse_webhook(JSON, event("email.bounced", bounce={"type": "Transient"}))
    assert soft == Heard(EventKind.CAMPAIGN, "", REMOTE_ID, "soft", minute, "ann@x.example")
    several = READER.parse_webhook(JSON, event("email.sent", to=["a@x.example", "b@x.example"]))
    assert several == Heard(EventKind.CAMPAIGN, "", REMOTE_ID, "sent", minute), "it still has us look"


def test_a_permanent_bounce_and_a_complaint_name_a_person_and_hide_the_address():
    bounced = READER.parse_webhook(JSON, event("email.bounced", bounce={"type": "Permanent"}))
    complained = READER.parse_webhook(JSON, event("email.complained"))
    assert (bounced.kind, bounced.status, bounced.address) == (EventKind.CLEANED, "hard", "ann@x.example")
    assert complained.status == "abuse"
    own = READER.parse_webhook(JSON, event("email.complained", broadcast_id=""))
    assert (own.kind, own.remote_id) == (EventKind.CLEANED, ""), "of a mail that belongs to no broadcast, too"
    refused = READER.parse_webhook(JSON, event("email.suppressed"))
    assert (refused.kind, refused.status) == (EventKind.REMOVED, "suppressed")
    assert "ann@" not in repr(bounced)


def test_a_contact_that_unsubscribed_or_was_deleted_is_word_of_a_person():
    left = READER.parse_webhook(JSON, event("contact.updated", email="ann@x.example", unsubscribed=True))
    gone = READER.parse_webhook(JSON, event("contact.deleted", email="ann@x.example", unsubscribed=False))
    assert (left.kind, left.address, left.remote_id) == (EventKind.UNSUBSCRIBE, "ann@x.example", "")
    assert (gone.kind, gone.fired_at) == (EventKind.REMOVED, 1_790_000_000_000)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (event("email.bounced", broadcast_id="", bounce={"type": "Transient"}), Unheard.OF_NO_USE),
        (event("contact.updated", email="ann@x.example", unsubscribed=False), Unheard.OF_NO_USE),
        (event("contact.updated", email="ann@x.example", unsubscribed="true"), Unheard.OF_NO_USE),
        (event("contact.updated", email="nobody", unsubscribed=True), Unheard.UNREADABLE),
        (event("contact.deleted", email=["ann@x.example"]), Unheard.UNREADABLE),
        (event("email.opened"), Unheard.OF_NO_USE),
        (event("contact.created"), Unheard.OF_NO_USE),
        (event("email.sent", broadcast_id=""), Unheard.OF_NO_USE),
        (event("email.sent", broadcast_id="../x"), Unheard.UNREADABLE),
        (event("email.complained", to=["a@x.example", "b@x.example"]), Unheard.UNREADABLE),
        (event("email.complained", to=["no address"]), Unheard.UNREADABLE),
        (event().replace(b"2026-09-21T14", b"soon"), Unheard.UNREADABLE),
        (b'{"type": 7}', Unheard.UNREADABLE),
        (b"[]", Unheard.UNREADABLE),
        (b"\xff", Unheard.UNREADABLE),
        (b'{"a":' * 100_000, Unheard.UNREADABLE),
    ],
)
def test_whatever_else_comes_is_told_apart(body, why):
    assert READER.parse_webhook(JSON, body) is why


def test_a_form_is_unreadable():
    assert READER.parse_webhook({"content-type": "text/plain"}, event()) is Unheard.UNREADABLE


# --- from the sandbox ------------------------------------------------------------------------------------


def test_what_the_sandbox_posts_of_a_delivery_is_authentic_and_read():
    time = [START_MS]
    sandbox = Sandbox(lambda: time[0])

    def ask(method, path, **body):
        request = Request(
            method,
            path,
            headers={"authorization": f"Bearer {sandbox.resend_key}"},
            body=json.dumps(body).encode(),
        )
        answer, _ = sandbox.handle(request)
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)

    hook = ask(
        "POST",
        "/webhooks",
        endpoint="http://127.0.0.1:9/hook",
        events=["email.sent", "email.bounced", "contact.created", "contact.updated", "contact.deleted"],
    )
    ask("POST", "/contacts", email="zoe@x.example")
    ask("PATCH", "/contacts/zoe@x.example", unsubscribed=True)
    ask("DELETE", "/contacts/zoe@x.example")
    made = ask(
        "POST", "/broadcasts", segment_id=sandbox.segment, subject="x", html="x", **{"from": "a@acme.example"}
    )
    sandbox.world.behave(hard_bounces=100)
    ask("POST", f"/broadcasts/{made['id']}/send")
    time[0] += 60_000
    posts = []

    def post(url, body, signing_key, now_ms):
        posts.append((courier.svix_headers(body, signing_key, now_ms), body))
        return 204

    sandbox.carry(post)
    kinds = set()
    for headers, body in posts:
        assert READER.is_authentic(headers, body, Secret(hook["signing_secret"]), time[0])
        heard = READER.parse_webhook(JSON, body)
        if heard is Unheard.OF_NO_USE:
            assert json.loads(body)["type"] == "contact.created"
            continue
        assert heard.remote_id == (made["id"] if b"email." in body[:20] else "")
        kinds.add((heard.kind, heard.address == "zoe@x.example"))
    assert kinds >= {
        (EventKind.CAMPAIGN, False),
        (EventKind.CLEANED, False),
        (EventKind.UNSUBSCRIBE, True),
        (EventKind.REMOVED, True),
    }


def test_what_the_sandbox_posts_is_as_the_published_description_says(shared_facts):
    description = json.loads((shared_facts / "facts/specs/resend.openapi.json").read_text())
    time = [START_MS]
    sandbox = Sandbox(lambda: time[0])
    kinds = ["email.sent", "email.delivered", "email.bounced", "email.complained"]
    kinds += ["contact.created", "contact.updated", "contact.deleted"]

    def ask(method, path, **body):
        headers = {"authorization": f"Bearer {sandbox.resend_key}"}
        answer, _ = sandbox.handle(Request(method, path, headers=headers, body=json.dumps(body).encode()))
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)

    ask("POST", "/webhooks", endpoint="http://127.0.0.1:9/hook", events=kinds)
    ask("POST", "/contacts", email="zoe@x.example", first_name="Zoe")
    ask("PATCH", "/contacts/zoe@x.example", unsubscribed=True)
    ask("DELETE", "/contacts/zoe@x.example")
    sandbox.world.behave(hard_bounces=300, complaints=300)
    made = ask(
        "POST", "/broadcasts", segment_id=sandbox.segment, subject="x", html="x", **{"from": "a@a.example"}
    )
    ask("POST", f"/broadcasts/{made['id']}/send")
    time[0] += 100 * 3_600_000
    bodies = []
    sandbox.carry(lambda _url, body, _key, _now_ms: bodies.append(json.loads(body)) or 204)
    for body in bodies:
        schema = description["webhooks"][body["type"]]["post"]["requestBody"]["content"]["application/json"]
        jsonschema.validate(body, {**schema["schema"], "components": description["components"]})
    assert {body["type"] for body in bodies} == set(kinds)
