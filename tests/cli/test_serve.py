"""`serve` and `connections webhook`: a real process that is posted to by the sandbox, and ends when told."""

import http.client
import json
import signal
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from campaignbridge.sandbox import Request
from cli.program import AUDIENCE, campaign


def started(program):
    running = program.start("serve", "--port", "0", "--threads", "1", stdout=-1, stderr=-1)
    line = running.stderr.readline()
    assert line.startswith("Listening on http://127.0.0.1:"), line
    return running, line.split()[2].rstrip(".")


def ended(running, number=signal.SIGTERM):
    running.send_signal(number)
    out, complaints = running.communicate(timeout=30)
    assert (running.returncode, out) == (0, "Stopped.\n"), complaints
    assert "Traceback" not in complaints
    return complaints


def register(server, url):
    request = Request(
        "POST",
        f"/3.0/lists/{AUDIENCE}/webhooks",
        headers={"authorization": f"Bearer {server.sandbox.key}"},
        body=json.dumps({"url": url, "events": {"campaign": True, "unsubscribe": True}}).encode(),
    )
    answer, _ = server.sandbox.handle(request)
    assert answer.status == 200, answer.body


def until(fact, within_s=20):
    last = time.monotonic() + within_s
    while not fact():
        assert time.monotonic() < last, "it never came true"


def test_a_campaign_is_sent_to_its_end_by_a_webhook_within_seconds(connected, server):
    """The cadence would look after five minutes."""
    running, place = started(connected)
    try:
        opened = connected.run("connections", "webhook", "news", "--public-url", place, "--json").document
        register(server, opened["url"])
        campaign_id = campaign(connected, "sending")

        def state():
            return connected.run("campaigns", "show", campaign_id, "--json").document["state"]

        until(lambda: state() == "sent")
    finally:
        complaints = ended(running)
    timeline = connected.run("campaigns", "timeline", campaign_id).words
    assert "Mailchimp sent word: sent. It is looked at" in timeline
    assert "Checked automatically: Mailchimp says sent" in timeline
    secret = opened["url"].rpartition("/")[2]
    assert secret not in complaints
    assert not [line for line in connected.dump() if secret in line]
    assert server.sandbox.truth.sends_accepted() == 1


def test_serving_answers_about_its_health_and_ends_on_ctrl_c(connected):
    running, place = started(connected)
    try:
        with closing(http.client.HTTPConnection(urlsplit(place).netloc, timeout=20)) as line:
            line.request("GET", "/healthz")
            assert line.getresponse().read() == b"ok"
        port = place.rpartition(":")[2]
        taken = connected.run("serve", "--port", port, "--json")
        assert (taken.code, taken.document["code"]) == (4, "address_in_use")
    finally:
        ended(running, signal.SIGINT)


def test_an_address_is_printed_once_and_another_one_only_when_asked_for(connected):
    first = connected.run("connections", "webhook", "news")
    url = first.out.strip()
    assert url.startswith("http://127.0.0.1:8080/webhooks/con_")
    assert first.out.count(url) == 1
    assert url not in first.err
    again = connected.run("connections", "webhook", "news")
    assert (again.code, again.out) == (3, "")
    assert "--replace" in again.err
    other = connected.run("connections", "webhook", "news", "--replace", "--public-url", "https://a.example")
    assert other.out.startswith("https://a.example/webhooks/con_")
    assert "The one before is shut" in other.words


@pytest.mark.parametrize("place", ["http://hooks.example.org", "nonsense", "https://a.example/?q"])
def test_an_address_that_is_not_private_is_refused_in_words(connected, place):
    before = connected.dump()
    done = connected.run("connections", "webhook", "news", "--public-url", place)
    assert (done.code, done.out) == (3, "")
    assert "https://" in done.err
    assert connected.dump() == before


def test_a_signing_key_is_taken_from_stdin_and_never_from_nowhere(connected):
    done = connected.run("connections", "webhook", "news", "--signing-key-stdin", "--json")
    assert (done.code, done.document["code"]) == (3, "invalid_input")
