"""Whom Mailchimp's record of a campaign names, against scripted answers and the sandbox."""

import json

import pytest

from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Recipient, RecipientKind, Refused
from campaignbridge.providers.mailchimp_record import MAX_PAGES
from campaignbridge.sandbox import Sandbox, SandboxServer
from contract.account import LIMIT_MS, REMOTE_ID, asked, problem
from contract.faultserver import http
from contract.test_mailchimp_sandbox import Place

HOUR_MS = 3_600_000
ROWS = {"sent-to": "sent_to", "abuse-reports": "abuse_reports", "unsubscribed": "unsubscribes"}


def recipients(kind, *answers, most=1_000):
    return asked(
        lambda provider: provider.recipients(REMOTE_ID, RecipientKind(kind), most=most, limit_ms=LIMIT_MS),
        *answers,
    )


def page(name, *rows, total=None):
    return http(200, {name: list(rows), "total_items": len(rows) if total is None else total})


def receipt(number, status="sent"):
    return {"email_address": f"p{number}@example.com", "status": status}


def test_bounces_are_found_among_everybody_who_was_mailed_page_by_page():
    outcome, requests = recipients(
        "bounced",
        page("sent_to", receipt(1), receipt(2, "hard"), total=3),
        page("sent_to", receipt(3, "soft"), total=3),
    )
    assert outcome.value.complete
    assert outcome.value.items == (Recipient("p2@example.com", True), Recipient("p3@example.com", False))
    assert [(request.path, request.query["offset"]) for request in requests] == [
        (f"/3.0/reports/{REMOTE_ID}/sent-to", "0"),
        (f"/3.0/reports/{REMOTE_ID}/sent-to", "2"),
    ]
    assert {request.query["count"] for request in requests} == {"1000"}


@pytest.mark.parametrize(
    ("kind", "part"),
    [("sent", "sent-to"), ("complained", "abuse-reports"), ("unsubscribed", "unsubscribed")],
)
def test_each_kind_is_read_where_mailchimp_records_it(kind, part):
    outcome, [request] = recipients(kind, page(ROWS[part], receipt(1), receipt(2)))
    assert request.path == f"/3.0/reports/{REMOTE_ID}/{part}"
    assert [one.address for one in outcome.value.items] == ["p1@example.com", "p2@example.com"]
    assert outcome.value.complete


def test_who_was_delivered_to_is_whoever_did_not_bounce():
    outcome, _ = recipients("delivered", page("sent_to", receipt(1), receipt(2, "hard"), receipt(3, "soft")))
    assert outcome.value.items == (Recipient("p1@example.com"),)


def test_no_more_people_than_asked_for_are_named_and_reading_ends_there():
    rows = [receipt(number, "hard") for number in range(4)]
    outcome, requests = recipients("bounced", page("sent_to", *rows, total=9), most=3)
    assert (len(outcome.value.items), outcome.value.complete, len(requests)) == (3, False, 1)
    outcome, _ = recipients("bounced", page("sent_to", *rows), most=4)
    assert (len(outcome.value.items), outcome.value.complete) == (4, True)


def test_the_pages_of_one_reading_are_bounded():
    pages = [page("sent_to", receipt(number), total=10_000) for number in range(MAX_PAGES + 1)]
    outcome, requests = recipients("bounced", *pages)
    assert (outcome.value.items, outcome.value.complete, len(requests)) == ((), False, MAX_PAGES)


@pytest.mark.parametrize("odd", [7, {}, {"email_address": "nobody", "status": "sent"}, receipt(2, "eaten")])
def test_an_entry_that_cannot_be_read_leaves_the_record_incomplete(odd):
    outcome, _ = recipients("bounced", page("sent_to", receipt(1, "hard"), odd))
    assert [one.address for one in outcome.value.items] == ["p1@example.com"]
    assert not outcome.value.complete


def test_complaints_that_came_in_part_are_incomplete():
    outcome, requests = recipients("complained", page("abuse_reports", receipt(1), total=2))
    assert (len(outcome.value.items), outcome.value.complete, len(requests)) == (1, False, 1)


def test_a_page_that_fails_is_the_outcome_of_the_whole():
    for answer, kind in (
        (problem(404), Refused),
        (http(500), Ambiguous),
        (http(200, {"sent_to": []}), Ambiguous),
    ):
        outcome, _ = recipients("bounced", page("sent_to", receipt(1), total=2), answer)
        assert isinstance(outcome, kind)


def test_an_id_that_mailchimp_does_not_give_is_asked_for_nowhere():
    outcome, requests = asked(
        lambda one: one.recipients("../lists", RecipientKind.BOUNCED, most=1, limit_ms=LIMIT_MS)
    )
    assert (outcome.category, requests) == (Category.MISSING, [])


def test_no_address_stands_in_what_is_printed_of_a_record():
    outcome, _ = recipients("bounced", page("sent_to", receipt(1, "hard")))
    assert "p1" not in repr(outcome)


@pytest.fixture
def place():
    time = {}
    with SandboxServer(Sandbox(lambda: time["place"].now_ms if time else 1_772_359_200_000, 7)) as server:
        time["place"] = Place(server)
        yield time["place"]


def test_the_sandbox_names_as_many_of_each_kind_as_its_report_counts(place):
    place.behave(hard_bounces=2, soft_bounces=1, complaints=1, unsubscribes=1)
    remote_id = place.ready()
    missing = place.provider.recipients(remote_id, RecipientKind.BOUNCED, most=1, limit_ms=LIMIT_MS)
    assert missing.category is Category.MISSING
    assert place.send(remote_id) == Accepted(None)
    place.now_ms += 300 * HOUR_MS
    place.sandbox.settle()
    report = place.provider.report(remote_id, limit_ms=LIMIT_MS).value

    def named(kind):
        listing = place.provider.recipients(
            remote_id, RecipientKind(kind), most=30_000, limit_ms=LIMIT_MS
        ).value
        assert listing.complete
        return listing.items

    bounced = named("bounced")
    assert sum(one.permanent for one in bounced) == report.hard_bounces > 5
    assert sum(not one.permanent for one in bounced) == report.soft_bounces > 5
    assert len(named("complained")) == report.complaints > 5
    assert len(named("unsubscribed")) == report.unsubscribed > 5
    assert len(named("delivered")) == report.delivered


def test_every_field_that_is_read_stands_in_the_published_description(shared_facts):
    description = json.loads(
        (shared_facts / "facts/specs/mailchimp.marketing.subset.swagger2.json").read_text()
    )
    for part, name in ROWS.items():
        answer = description["paths"][f"/reports/{{campaign_id}}/{part}"]["get"]["responses"]["200"]["schema"]
        fields = answer["properties"][name]["items"]["properties"]
        assert "email_address" in fields
        assert "total_items" in answer["properties"]
    statuses = description["paths"]["/reports/{campaign_id}/sent-to"]["get"]["responses"]["200"]["schema"]
    assert statuses["properties"]["sent_to"]["items"]["properties"]["status"]["enum"] == [
        "sent",
        "hard",
        "soft",
    ]
