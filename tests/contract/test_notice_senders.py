"""The senders of notices, against a real receiver and the reference implementation of the signature."""

import base64
import logging
import pickle

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.notice import Message
from campaignbridge.host import HostClock
from campaignbridge.notices.through_apprise import ThroughApprise
from campaignbridge.notices.webhook import MAX_ANSWER_BYTES, SignedWebhook
from contract.faultserver import FaultServer, answering, http, silent

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OK = answering(http(204))


def message(at=None, notice_id="ntc_1") -> Message:
    now = HostClock().mark().wall_ms if at is None else at
    return Message(
        notice_id, "campaign.needs_person", "Ünser Brief needs a person", "Why\nDo", {"kind": "campaign"}, now
    )


def webhook(server, path="/hook") -> SignedWebhook:
    return SignedWebhook(Secret(f"http://127.0.0.1:{server.port}{path}"), KEY, HostClock())


def test_a_signature_is_what_the_reference_implementation_expects():
    with FaultServer(OK) as server:
        assert webhook(server).tell(message(), limit_ms=5_000) is None
    (got,) = server.requests
    payload = Webhook(SECRET).verify(got.body, got.headers)
    assert payload["type"] == "campaign.needs_person"
    assert payload["data"] == {"kind": "campaign", "title": "Ünser Brief needs a person", "text": "Why\nDo"}
    assert (got.method, got.path, got.headers["webhook-id"]) == ("POST", "/hook", "ntc_1")
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(got.body.replace(b"campaign", b"campaigm"), got.headers)


def test_a_second_try_has_the_same_id_and_a_fresh_time():
    with FaultServer(answering(http(500)), OK) as server:
        now = HostClock().mark().wall_ms
        assert webhook(server).tell(message(now - 60_000), limit_ms=5_000) == "http_500"
        assert webhook(server).tell(message(now), limit_ms=5_000) is None
    first, second = server.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 60


@pytest.mark.parametrize("path", ["", "/", "/hook", "/hook/"])
def test_the_path_is_the_one_that_was_configured(path):
    with FaultServer(OK) as server:
        webhook(server, path).tell(message(), limit_ms=5_000)
    assert server.requests[0].target == (path or "/")


def reset(peer):
    peer.read_request()
    peer.reset()


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (answering(http(200, "thanks")), None),
        (answering(http(200, "x" * (2 * MAX_ANSWER_BYTES))), None),
        (answering(http(500, "x" * (2 * MAX_ANSWER_BYTES))), "oversized"),
        (answering(http(410)), "http_410"),
        (answering(http(429)), "http_429"),
        (answering(b"nonsense\r\n\r\n"), "protocol"),
        (reset, "reset"),
    ],
    ids=["ok", "long ok", "long error", "gone", "too many", "nonsense", "reset"],
)
def test_only_a_2xx_counts_as_taken(behaviour, code):
    with FaultServer(behaviour) as server:
        assert webhook(server).tell(message(), limit_ms=5_000) == code
    assert server.connections == 1, "nothing is repeated behind the caller"


def test_no_redirect_is_followed():
    with FaultServer(OK) as other:
        to = answering(http(307, Location=f"http://127.0.0.1:{other.port}/"))
        with FaultServer(to) as server:
            assert webhook(server).tell(message(), limit_ms=5_000) == "redirected"
        with FaultServer(to) as server:
            apprise = ThroughApprise(Secret(f"json://127.0.0.1:{server.port}/"))
            assert apprise.tell(message(), limit_ms=5_000) == "apprise_failed"
    assert other.requests == []


@pytest.mark.parametrize("kind", ["webhook", "apprise"])
def test_a_receiver_that_never_answers_is_left_at_the_deadline(kind):
    with FaultServer(silent) as server:
        place = Secret(f"json://127.0.0.1:{server.port}/")
        sender = webhook(server) if kind == "webhook" else ThroughApprise(place)
        start = HostClock().mark()
        assert sender.tell(message(), limit_ms=400) in ("timeout", "apprise_failed")
        assert HostClock().since_ms(start) < 3_500


def test_a_receiver_that_is_not_there_is_a_stable_code():
    with FaultServer(OK) as server:
        port = server.port
    gone = SignedWebhook(Secret(f"http://127.0.0.1:{port}/"), KEY, HostClock())
    assert gone.tell(message(), limit_ms=2_000) == "connect_refused"
    assert (
        ThroughApprise(Secret(f"json://127.0.0.1:{port}/")).tell(message(), limit_ms=2_000)
        == "apprise_failed"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.acme.example/canary-token",
        "ftp://hooks.acme.example/canary-token",
        "https://ann:canary-token@hooks.acme.example/",
        "https://hooks.acme.example/?t=canary-token",
        "https://[canary-token",
        "canary-token",
    ],
)
def test_an_address_that_is_neither_https_nor_this_machine_is_refused_without_repeating_it(url):
    with pytest.raises(ValueError) as refused:
        SignedWebhook(Secret(url), KEY, HostClock())
    assert "canary-token" not in str(refused.value)


def test_an_https_address_is_taken_with_the_host_that_was_configured():
    assert SignedWebhook(Secret("https://hooks.acme.example/x"), KEY, HostClock())


def test_apprise_hands_title_and_text_to_its_service():
    with FaultServer(answering(http(200))) as server:
        sender = ThroughApprise(Secret(f"json://127.0.0.1:{server.port}/hook"))
        assert sender.tell(message(), limit_ms=5_000) is None
    (got,) = server.requests
    assert (got.json["title"], got.json["message"]) == ("Ünser Brief needs a person", "Why\nDo")
    assert got.path == "/hook"


def test_a_url_that_apprise_does_not_know_is_refused_without_repeating_it():
    with pytest.raises(ValueError) as refused:
        ThroughApprise(Secret("canary-token://nowhere"))
    assert "canary-token" not in str(refused.value)


def test_neither_sender_logs_or_shows_what_it_works_with(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with FaultServer(answering(http(500))) as server:
        senders = (
            webhook(server, "/canary-path"),
            ThroughApprise(Secret(f"json://ann:canary-token@127.0.0.1:{server.port}/canary-path")),
        )
        for sender in senders:
            assert sender.tell(message(), limit_ms=5_000)
    out, err = capfd.readouterr()
    told = caplog.text + out + err + repr(senders)
    assert "canary" not in told
    assert SECRET not in told
    with pytest.raises(TypeError):
        pickle.dumps(senders[1])
