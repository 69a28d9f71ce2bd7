"""The Mailchimp adapter against the sandbox over real HTTP; the truth log says what really happened."""

import pytest

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Draft,
    Envelope,
    Refused,
    RemoteStatus,
)
from campaignbridge.providers.mailchimp import open_mailchimp
from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from contract.clocks import OwnClock

LIMIT_MS = 15_000
NOW_MS = 1_772_359_200_000
STEM = "inst1.camp7"


class Place:
    """A sandbox, the adapter on it, and its time."""

    def __init__(self, server):
        self.now_ms = NOW_MS
        self.sandbox = server.sandbox
        self.provider = open_mailchimp(key=self.sandbox.key, base_url=server.url, clock=OwnClock())

    def draft(self, generation=1):
        return Draft(
            title=f"News [{STEM}.g{generation}]",
            audience="a1b2c3",
            envelope=Envelope("Hello", "peek", "Sandbox", "news@sandbox.example", "news@sandbox.example"),
            html="<h1>Hi</h1>",
            text="Hi",
        )

    def create(self, generation=1, limit_ms=LIMIT_MS):
        line = self.provider.dial(limit_ms=LIMIT_MS)
        return self.provider.create_draft(line, self.draft(generation), limit_ms=limit_ms)

    def send(self, remote_id, limit_ms=LIMIT_MS):
        return self.provider.send(self.provider.dial(limit_ms=LIMIT_MS), remote_id, limit_ms=limit_ms)

    def find(self):
        return self.provider.find_by_token(
            STEM, since_ms=self.now_ms - 3_600_000, audience="a1b2c3", limit_ms=LIMIT_MS
        )

    def ready(self):
        created = self.create()
        assert isinstance(created, Accepted)
        synced = self.provider.sync_draft(created.value, self.draft(), limit_ms=LIMIT_MS)
        assert synced == Accepted(None)
        return created.value

    def status(self, remote_id):
        return self.provider.inspect(remote_id, limit_ms=LIMIT_MS).value.status


@pytest.fixture
def place():
    time = {}
    with SandboxServer(Sandbox(lambda: time["place"].now_ms if time else NOW_MS)) as server:
        time["place"] = Place(server)
        yield time["place"]


def test_a_draft_is_created_synced_read_back_found_and_sent_once(place):
    remote_id = place.ready()
    seen = place.provider.inspect(remote_id, limit_ms=LIMIT_MS).value
    assert (seen.status, seen.audience, seen.recipient_count) == (RemoteStatus.DRAFT, "a1b2c3", 24_318)
    assert (seen.title, seen.subject, seen.reply_to) == (f"News [{STEM}.g1]", "Hello", "news@sandbox.example")
    search = place.find().value
    assert search.complete
    assert [(found.remote_id, found.generation) for found in search.found] == [(remote_id, 1)]
    assert place.send(remote_id) == Accepted(None)
    assert place.sandbox.truth.sends_accepted(remote_id) == 1
    assert place.status(remote_id) in (RemoteStatus.SENDING, RemoteStatus.SENT)
    assert [found.status for found in place.find().value.found] != [RemoteStatus.DRAFT]


def test_a_second_send_is_refused_and_mails_nobody_twice(place):
    remote_id = place.ready()
    place.send(remote_id)
    outcome = place.send(remote_id)
    assert isinstance(outcome, Refused)
    assert outcome.may_mean_already_done
    assert place.sandbox.truth.sends_accepted(remote_id) == 1


def test_a_send_that_was_accepted_and_whose_answer_was_dropped_is_ambiguous_and_reads_as_gone(place):
    remote_id = place.ready()
    place.sandbox.faults.add(Fault("send", "accept_then_drop"))
    outcome = place.send(remote_id)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason in ("reset", "closed")
    assert outcome.bytes_out > 0
    assert place.sandbox.truth.sends_accepted(remote_id) == 1
    assert place.status(remote_id) is not RemoteStatus.DRAFT


def test_a_send_that_was_accepted_and_answered_5xx_is_ambiguous_and_asked_once(place):
    remote_id = place.ready()
    place.sandbox.faults.add(Fault("send", "accept_then_5xx", status=503))
    outcome = place.send(remote_id)
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("http_503", 503)
    assert place.sandbox.truth.sends_accepted(remote_id) == 1
    assert [seen.operation for seen in place.sandbox.truth.requests()].count("send") == 1


@pytest.mark.parametrize("kind", ["hang", "accept_then_withhold"])
def test_a_send_without_an_answer_times_out_and_is_ambiguous(place, kind):
    remote_id = place.ready()
    place.sandbox.faults.add(Fault("send", kind))
    outcome = place.send(remote_id, limit_ms=200)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "timeout"


def test_a_create_whose_answer_was_lost_is_found_again_by_its_token(place):
    place.sandbox.faults.add(Fault("create", "accept_then_drop"))
    assert isinstance(place.create(), Ambiguous)
    search = place.find().value
    assert search.complete
    assert [(found.generation, found.status) for found in search.found] == [(1, RemoteStatus.DRAFT)]


@pytest.mark.parametrize("kind", ["garbled", "truncated"])
def test_a_create_whose_answer_cannot_be_read_is_ambiguous(place, kind):
    place.sandbox.faults.add(Fault("create", kind))
    assert isinstance(place.create(), Ambiguous)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault("send", "status_429", retry_after=7), "http_429"),
        (Fault("send", "status_429", bare=True), "http_429"),
        (Fault("send", "bare_403"), "bare_403"),
    ],
)
def test_a_send_that_was_rate_limited_may_be_tried_again(place, fault, code):
    remote_id = place.ready()
    place.sandbox.faults.add(fault)
    outcome = place.send(remote_id)
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.category) == (code, Category.RATE_LIMITED)
    assert outcome.retry_after_s == fault.retry_after
    assert place.sandbox.truth.sends_accepted(remote_id) == 0
    assert place.send(remote_id) == Accepted(None)


@pytest.mark.parametrize("status", [403, 404, 502])
def test_a_proxy_page_in_place_of_an_answer_is_ambiguous(place, status):
    remote_id = place.ready()
    place.sandbox.faults.add(Fault("send", "proxy_page", status=status, applied=True))
    assert isinstance(place.send(remote_id), Ambiguous)
    assert place.sandbox.truth.sends_accepted(remote_id) == 1


def test_all_pages_of_a_long_search_are_read(place, monkeypatch):
    monkeypatch.setattr("campaignbridge.providers.mailchimp.PAGE_SIZE", 2)
    for generation in range(1, 6):
        assert isinstance(place.create(generation), Accepted)
        place.now_ms += 1000
    search = place.find().value
    assert search.complete
    assert [found.generation for found in search.found] == [1, 2, 3, 4, 5]


def test_a_wrong_key_is_refused_as_a_credential(place):
    wrong = open_mailchimp(
        key="0" * 32 + "-us1",
        base_url=f"http://127.0.0.1:{place.provider._transport._address.port}/3.0",
        clock=OwnClock(),
    )
    outcome = wrong.verify(limit_ms=LIMIT_MS)
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.category) == ("http_401", Category.CREDENTIAL)


def test_account_and_audience_are_read(place):
    assert place.provider.verify(limit_ms=LIMIT_MS).value.label == "Sandbox account"
    audience = place.provider.audience("a1b2c3", limit_ms=LIMIT_MS).value
    assert (audience.name, audience.contacts) == ("Customers EU", 24_318)


def test_an_unknown_campaign_is_missing(place):
    outcome = place.provider.inspect("0000000000", limit_ms=LIMIT_MS)
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.MISSING
