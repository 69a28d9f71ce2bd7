"""The Mailchimp adapter against the sandbox over real HTTP; the truth log says what really happened."""

from dataclasses import replace

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

    def behave(self, **changes):
        self.sandbox.world.behaviour = replace(self.sandbox.world.behaviour, **changes)

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


# --- schedule, unschedule, cancel, test ------------------------------------------------------------------

QUARTER_MS = 900_000
TESTERS = ("canary.first@one.example", "canary.second@two.example")


def act(place, name, *args):
    line = place.provider.dial(limit_ms=LIMIT_MS)
    return getattr(place.provider, name)(line, *args, limit_ms=LIMIT_MS)


def next_slot(place):
    return (place.now_ms // QUARTER_MS + 2) * QUARTER_MS


def test_a_draft_is_scheduled_read_back_taken_back_and_scheduled_again(place):
    remote_id = place.ready()
    for slot in (next_slot(place), next_slot(place) + QUARTER_MS):
        assert act(place, "schedule", remote_id, slot) == Accepted(None)
        seen = place.provider.inspect(remote_id, limit_ms=LIMIT_MS).value
        assert (seen.status, seen.send_time_ms) == (RemoteStatus.SCHEDULED, slot)
        assert act(place, "unschedule", remote_id) == Accepted(None)
        assert place.status(remote_id) is RemoteStatus.DRAFT
    assert place.sandbox.truth.sends_accepted(remote_id) == 0


@pytest.mark.parametrize("word", ["save", "paused"])
def test_an_unscheduled_draft_reads_as_a_draft_whatever_mailchimp_calls_it(place, word):
    place.behave(unscheduled_status=word)
    remote_id = place.ready()
    act(place, "schedule", remote_id, next_slot(place))
    assert act(place, "unschedule", remote_id) == Accepted(None)
    seen = place.provider.inspect(remote_id, limit_ms=LIMIT_MS).value
    assert (seen.status, seen.raw_status) == (RemoteStatus.DRAFT, word)


def test_a_moment_in_the_past_is_refused_without_a_reason(place):
    remote_id = place.ready()
    outcome = act(place, "schedule", remote_id, next_slot(place) - 4 * QUARTER_MS)
    assert isinstance(outcome, Refused)
    assert outcome.code == "http_400"
    assert place.status(remote_id) is RemoteStatus.DRAFT


def test_a_draft_that_is_not_ready_is_refused_and_the_checklist_says_why(place):
    remote_id = place.create().value
    assert isinstance(act(place, "schedule", remote_id, next_slot(place)), Refused)
    assert isinstance(place.send(remote_id), Refused)
    [reason] = place.provider.readiness(remote_id, limit_ms=LIMIT_MS).value
    assert reason.startswith("Content: ")
    place.provider.sync_draft(remote_id, place.draft(), limit_ms=LIMIT_MS)
    assert place.provider.readiness(remote_id, limit_ms=LIMIT_MS) == Accepted(())


def test_a_schedule_that_was_accepted_and_whose_answer_was_dropped_is_ambiguous_and_reads_as_scheduled(place):
    remote_id = place.ready()
    place.sandbox.faults.add(Fault("schedule", "accept_then_drop"))
    outcome = act(place, "schedule", remote_id, next_slot(place))
    assert isinstance(outcome, Ambiguous)
    assert outcome.phase == "waiting"
    assert place.status(remote_id) is RemoteStatus.SCHEDULED
    assert [seen.operation for seen in place.sandbox.truth.requests()].count("schedule") == 1


@pytest.mark.parametrize("name", ["unschedule", "cancel"])
def test_taking_back_what_isn_t_under_way_is_refused(place, name):
    outcome = act(place, name, place.ready())
    assert isinstance(outcome, Refused)
    assert outcome.may_mean_already_done


def test_a_delivery_under_way_is_cancelled(place):
    place.behave(sending_ms=60_000)
    remote_id = place.ready()
    assert place.send(remote_id) == Accepted(None)
    place.now_ms += 1_000
    assert place.status(remote_id) is RemoteStatus.SENDING
    assert act(place, "cancel", remote_id) == Accepted(None)
    assert place.status(remote_id) in (RemoteStatus.CANCELLING, RemoteStatus.CANCELLED)


def test_a_test_send_mails_the_testers_and_nobody_else(place):
    remote_id = place.ready()
    assert act(place, "send_test", remote_id, TESTERS) == Accepted(None)
    [event] = [event for event in place.sandbox.truth.events() if event.kind == "test_mailed"]
    assert event.recipients == 2
    assert place.sandbox.truth.sends_accepted(remote_id) == 0
    assert place.status(remote_id) is RemoteStatus.DRAFT


@pytest.mark.parametrize("addresses", [(), ("canary.first",), TESTERS * 101])
def test_a_refused_test_send_says_nothing_of_the_addresses(place, addresses):
    outcome = act(place, "send_test", place.ready(), addresses)
    assert isinstance(outcome, Refused)
    assert "canary" not in repr(outcome)


# --- what is listed and counted --------------------------------------------------------------------------


def answered(outcome):
    """Return the value of an accepted call."""
    assert isinstance(outcome, Accepted)
    return outcome.value


def test_audiences_and_merge_fields_are_listed_whole(place):
    audiences = answered(place.provider.audiences(limit_ms=LIMIT_MS))
    assert audiences.complete
    assert ("a1b2c3", "Customers EU") in [(found.ref, found.name) for found in audiences.items]
    fields = answered(place.provider.merge_fields("a1b2c3", limit_ms=LIMIT_MS))
    assert fields.complete
    assert {"FNAME", "LNAME"} <= {found.tag for found in fields.items}


def test_somebody_is_listed_to_send_from(place):
    senders = answered(place.provider.senders(limit_ms=LIMIT_MS))
    assert senders.complete
    assert "sandbox.example" in {found.domain for found in senders.items}


def test_segments_are_listed_and_each_is_an_audience(place):
    segments = answered(place.provider.segments("a1b2c3", limit_ms=LIMIT_MS))
    assert segments.complete
    for segment in segments.items:
        audience = place.provider.audience(segment.ref, limit_ms=LIMIT_MS).value
        assert (audience.name, audience.contacts) == (segment.name, segment.members)


def test_a_delivery_has_a_report(place):
    remote_id = place.ready()
    place.send(remote_id)
    place.now_ms += 3_600_000
    assert place.status(remote_id) is RemoteStatus.SENT
    report = answered(place.provider.report(remote_id, limit_ms=LIMIT_MS))
    assert report.emails_sent == place.provider.inspect(remote_id, limit_ms=LIMIT_MS).value.emails_sent
    assert report.delivered is None or 0 <= report.delivered <= report.emails_sent
