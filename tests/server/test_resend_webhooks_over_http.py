"""Resend's webhooks over real HTTP: JSON, signed as svix does it, by the scheme's libraries and by the sandbox."""

import base64
from copy import copy
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook as Standard

from server.conftest import serving
from support.posting import JSON, SVIX_KEY, Address, json_event, keeping_keys, mail_event, svix_signed
from support.world import DANA, SENDING_MS, waiting_until

pytest_plugins = ["support.stores", "support.world", "support.resend"]

ANN = "ann@x.example"
BROADCAST = "11111111-2222-4333-8444-555555555555"


def path_of(address):
    return f"/webhooks/{address.connection_id}/{address.secret}"


def standard_signed(body, at_ms):
    """Return the headers that the other library signs a body with, under the names that Resend uses."""
    stamp = datetime.fromtimestamp(at_ms // 1000, UTC)
    return {
        "content-type": "application/json; charset=utf-8",
        "svix-id": "msg_2",
        "svix-timestamp": str(at_ms // 1000),
        "svix-signature": Standard(SVIX_KEY).sign("msg_2", stamp, body.decode()),
    }


@pytest.mark.parametrize("sign", [svix_signed, standard_signed], ids=["svix", "standardwebhooks"])
def test_json_that_the_schemes_own_library_signed_is_stored(resend, sign):
    """Only forms were taken here once, so none of Resend's events ever came in."""
    address = Address.signing(resend, "letters", SVIX_KEY)
    body = mail_event("email.sent", resend.now(), ANN, BROADCAST)
    with serving(address.bridge) as served:
        headers = sign(body, resend.now())
        assert served.ask("POST", path_of(address), body, headers)[0] == 200
        assert served.post(address, body + b" ", headers) == 404
        assert served.post(address, body, JSON) == 404
        wrong = svix_signed(body, resend.now(), key="whsec_" + base64.b64encode(b"x" * 24).decode())
        assert served.post(address, body, wrong) == 404
        assert served.post(address, body, svix_signed(body, resend.now() - 302_000)) == 404
    assert [(row["subject"], row["verified"]) for row in address.rows()] == [(BROADCAST, 1)]


def test_what_the_sandbox_signs_and_posts_suppresses_and_has_the_broadcast_read(resend):
    """Both ends: registered as at Resend, posted by the sandbox."""
    resend.sandbox.world.behave(hard_bounces=2)
    address = Address.of(resend, "letters", keeping_keys(resend))
    with serving(address.bridge) as served:
        kinds = ["email.sent", "email.delivered", "email.bounced", "contact.updated", "contact.deleted"]
        hook = resend.by_hand(
            "POST",
            "/webhooks",
            {"endpoint": f"http://127.0.0.1:{served.port}{path_of(address)}", "events": kinds},
        )
        address.bridge.sign_webhook("letters", signing_key=hook["signing_secret"], actor=DANA)
        campaign_id = resend.sending()
        gone = resend.by_hand("GET", "/contacts")["data"][0]["email"]
        resend.by_hand("DELETE", f"/contacts/{gone}")
        resend.later(ms=SENDING_MS)
        hooks = resend.sandbox.world.hooks
        waiting_until(lambda: resend.by_hand("GET", "/domains") and not hooks.waiting)
        waiting_until(lambda: len(hooks.log) == next(copy(hooks._numbers)) - 1)  # each was answered
    assert {one["status"] for one in hooks.log} == {200}
    assert {"email.sent", "email.delivered", "contact.deleted"} <= {one["type"] for one in hooks.log}
    assert {row["verified"] for row in address.rows()} == {1}
    assert resend.bridge.why(gone, actor=DANA).suppression["reason"] == "manual"
    resend.heard()
    resend.run(hours=0.01)
    assert resend.state(campaign_id) == "sent"


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        (JSON, b"", 400),
        (JSON, b"{}", 400),
        (JSON, b"[" * 50_000, 400),
        (JSON, b'{"type": "domain.created"}', 200),
        (JSON, b'"' + b"x" * 65_536, 413),
        ({"content-type": "application/x-www-form-urlencoded"}, b"type=campaign", 400),
        ({"content-type": "application/jsonp"}, b"{}", 415),
    ],
)
def test_json_that_is_no_event_is_refused_by_its_form_and_leaves_no_row(sqlite_resend, headers, body, status):
    address = Address.of(sqlite_resend, "letters")
    before = sqlite_resend.home.everything()
    with serving(sqlite_resend.bridge) as served:
        assert served.post(address, body, headers) == status
    assert sqlite_resend.home.everything() == before


def test_a_person_s_json_is_in_no_log_and_no_row(resend, caplog, capfd):
    caplog.set_level("DEBUG")
    address = Address.of(resend, "letters")  # nothing is signed here, so nobody is suppressed either
    with serving(resend.bridge) as served:
        for kind in ("contact.deleted", "contact.updated"):
            body = json_event(kind, resend.now(), email="canary@wh-test.example", unsubscribed=True)
            assert served.post(address, body, JSON) == 200
    said = caplog.text + "".join(capfd.readouterr()) + resend.home.everything()
    assert "canary" not in said
    assert len(address.rows()) == 2
