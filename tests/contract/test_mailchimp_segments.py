"""Mailchimp's static segments: people in and out, nobody subscribed again, against scripted answers and the sandbox."""

import json

import pytest

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    NewContact,
    Pushed,
    RecipientKind,
    Refused,
)
from campaignbridge.providers.mailchimp import open_mailchimp
from campaignbridge.sandbox import Fault, Request, Sandbox, SandboxServer
from contract.account import LIMIT_MS, asked, mailchimp, problem
from contract.clocks import OwnClock
from contract.faultserver import FaultServer, answering, http

LIST = "a1b2c3"
UPLOADED = {"new_members": [], "updated_members": [], "errors": []}


@pytest.fixture
def place():
    with SandboxServer(Sandbox(lambda: 1_795_000_000_000)) as server:
        yield Place(server)


class Place:
    def __init__(self, server):
        self.sandbox = server.sandbox
        self.provider = open_mailchimp(key=self.sandbox.key, base_url=server.url, clock=OwnClock())

    def segment(self, name="wave-1"):
        line = self.provider.dial(limit_ms=LIMIT_MS)
        return self.provider.create_segment(line, name, audience=LIST, limit_ms=LIMIT_MS)

    def push(self, segment, *addresses):
        people = tuple(NewContact(address, {"FNAME": "A"}) for address in addresses)
        return self.provider.add_contacts(segment, people, limit_ms=LIMIT_MS)

    def members(self, segment):
        outcome = self.provider.segment_members(segment, limit_ms=LIMIT_MS)
        assert outcome.value.complete
        return {one.address: one.mailable for one in outcome.value.items}

    def by_hand(self, method, path, body):
        headers = {"authorization": f"Bearer {self.sandbox.key}"}
        request = Request(method, f"/3.0{path}", headers=headers, body=json.dumps(body).encode())
        answer, _ = self.sandbox.handle(request)
        assert answer.status == 200, answer.body


def test_strangers_and_known_people_get_into_a_segment_and_a_second_push_changes_nothing(place):
    ref = place.segment().value.ref
    for _ in range(2):
        push = place.push(ref, "new@x.example", "person1@example.invalid")
        assert [one.came_to for one in push.results] == [Pushed.IN_SEGMENT] * 2
        assert place.members(ref) == {"new@x.example": True, "person1@example.invalid": True}
    assert place.provider.audience(ref, limit_ms=LIMIT_MS).value.contacts == 2


def test_somebody_who_left_is_not_subscribed_again_and_not_mailable(place):
    place.by_hand("PATCH", f"/lists/{LIST}/members/person1@example.invalid", {"status": "unsubscribed"})
    ref = place.segment().value.ref
    place.push(ref, "person1@example.invalid", "person2@example.invalid")
    assert place.members(ref) == {"person1@example.invalid": False, "person2@example.invalid": True}
    found = place.sandbox.world.roster.people(LIST).get("person1@example.invalid")
    assert found.status == "unsubscribed"


def test_people_are_taken_out_and_stay_on_the_list(place):
    ref = place.segment().value.ref
    place.push(ref, "a@x.example", "b@x.example")
    out = place.provider.remove_contacts(ref, ("a@x.example", "stranger@x.example"), limit_ms=LIMIT_MS)
    assert [one.came_to for one in out.results] == [Pushed.OUT] * 2
    assert place.members(ref) == {"b@x.example": True}
    assert place.sandbox.world.roster.people(LIST).get("a@x.example").status == "subscribed"


def test_a_lost_create_is_found_by_its_name_and_making_it_again_is_refused(place):
    place.sandbox.faults.add(Fault("create_segment", "accept_then_drop"))
    assert isinstance(place.segment(), Ambiguous)
    again = place.segment()
    assert isinstance(again, Refused)
    assert again.category is Category.REJECTED
    found = place.provider.find_segment("wave-1", audience=LIST, limit_ms=LIMIT_MS)
    assert (len(found.value.items), found.value.complete) == (1, True)
    assert place.provider.find_segment("wave-2", audience=LIST, limit_ms=LIMIT_MS).value.items == ()


def test_a_chunk_of_500_takes_two_requests(place):
    ref = place.segment().value.ref
    before = len(place.sandbox.truth.requests())
    push = place.push(ref, *(f"n{number}@x.example" for number in range(500)))
    assert {one.came_to for one in push.results} == {Pushed.IN_SEGMENT}
    asked_for = [one.operation for one in place.sandbox.truth.requests()[before:]]
    assert asked_for == ["batch_members", "change_segment_members"]


@pytest.mark.parametrize("operation", ["batch_members", "change_segment_members"])
def test_a_chunk_without_an_answer_is_unclear_and_may_be_pushed_again(place, operation):
    ref = place.segment().value.ref
    place.sandbox.faults.add(Fault(operation, "accept_then_drop"))
    push = place.push(ref, "a@x.example")
    assert [one.came_to for one in push.results] == [Pushed.UNCLEAR]
    assert isinstance(push.ended_by, Ambiguous)
    assert [one.came_to for one in place.push(ref, "a@x.example").results] == [Pushed.IN_SEGMENT]


# --- scripted --------------------------------------------------------------------------------------------


def push(*answers, addresses=("a@x.example", "B@x.example")):
    people = tuple(NewContact(address) for address in addresses)
    return asked(lambda one: one.add_contacts("l1:7", people, limit_ms=LIMIT_MS), *answers)


def loser(address, code):
    return {"email_address": address, "error": "words", "error_code": code}


def test_losers_within_a_200_are_refused_by_their_code_and_known_ones_are_not_losers():
    uploaded = {
        **UPLOADED,
        "errors": [loser("A@x.example", "ERROR_GENERIC"), loser("b@x.example", "ERROR_CONTACT_EXISTS")],
    }
    outcome, [first, second] = push(http(200, uploaded), http(200, {"errors": []}))
    assert [(one.came_to, one.code) for one in outcome.results] == [
        (Pushed.REFUSED, "ERROR_GENERIC"),
        (Pushed.IN_SEGMENT, ""),
    ]
    assert first.json["update_existing"] is False
    assert {member["status"] for member in first.json["members"]} == {"subscribed"}
    assert second.json == {"members_to_add": ["B@x.example"]}


def test_whom_the_segment_calls_a_stranger_is_refused_as_not_on_the_list():
    outcome, _ = push(
        http(200, UPLOADED), http(200, {"errors": [{"email_addresses": ["a@X.example"], "error": "x"}]})
    )
    assert [(one.came_to, one.code) for one in outcome.results] == [
        (Pushed.REFUSED, "not_on_list"),
        (Pushed.IN_SEGMENT, ""),
    ]


@pytest.mark.parametrize(
    ("answers", "came_to"),
    [
        ((http(502),), Pushed.UNCLEAR),
        ((problem(429),), Pushed.UNTRIED),
        ((http(200, {"errors": "x"}),), Pushed.UNCLEAR),
        ((http(200, UPLOADED), problem(400)), Pushed.UNTRIED),
        ((http(200, UPLOADED), http(200, "<html>")), Pushed.UNCLEAR),
    ],
)
def test_a_chunk_that_ends_early_says_of_nobody_that_they_are_in(answers, came_to):
    outcome, _ = push(*answers)
    assert {one.came_to for one in outcome.results} == {came_to}
    assert outcome.ended_by is not None


def test_members_are_complete_only_if_as_many_were_read_as_announced():
    def members(*answers):
        return asked(lambda one: one.segment_members("l1:7", limit_ms=LIMIT_MS), *answers)[0]

    row = {"email_address": "a@x.example", "status": "cleaned"}
    assert members(http(200, {"members": [row], "total_items": 1})).value.complete
    assert not members(http(200, {"members": [row, row], "total_items": 2})).value.complete
    short = members(
        http(200, {"members": [row], "total_items": 2}), http(200, {"members": [], "total_items": 2})
    )
    assert not short.value.complete
    assert isinstance(members(http(200, {"members": [row]})), Ambiguous)


def test_a_whole_list_takes_nobody_and_a_saved_segment_is_none_of_ours():
    with FaultServer(answering(http(200))) as server, pytest.raises(ValueError, match="segment"):
        mailchimp(server).add_contacts("l1", (), limit_ms=LIMIT_MS)
    made = {"id": 7, "type": "saved", "created_at": "2026-01-01T00:00:00+00:00"}

    def create(provider):
        line = provider.dial(limit_ms=LIMIT_MS)
        return provider.create_segment(line, "x", audience="l1", limit_ms=LIMIT_MS)

    assert isinstance(asked(create, http(200, made))[0], Ambiguous)
    outcome, [request] = asked(create, http(200, {**made, "type": "static"}))
    assert isinstance(outcome, Accepted)
    assert outcome.value.ref == "l1:7"
    assert request.json == {"name": "x", "static_segment": []}


def test_what_mailchimp_cannot_do_is_refused_without_a_request():
    def both(provider):
        return provider.retire("c1", limit_ms=LIMIT_MS), provider.recipients(
            "c1", RecipientKind.SUPPRESSED, most=1, limit_ms=LIMIT_MS
        )

    (retired, recorded), requests = asked(both)
    assert (retired.code, recorded.code, requests) == ("cant_retire", "no_record", [])
