"""Every recorded answer of Mailchimp that one of our calls could get, read by that call."""

import json
import re

import pytest

from campaignbridge.domain.provider import Accepted, Refused, Search
from contract.account import DRAFT, LIMIT_MS, STEM, mailchimp
from contract.faultserver import FaultServer, answering, http

# Answers to calls that the adapter doesn't make: members, templates, sign-in, new lists, webhooks.
NOT_OURS = re.compile(
    r"rewindio/(member|members|segment_members|tags|campaign_content)\.json|stefna/templates|"
    r"stefna/lists__\w+__members|stefna/lists__post\.json|stefna/lists__215f4cfac8__patch|"
    r"stefna/campaigns__\w+__content__get|grouparoo/\d+_\w+_20[04]_(lists-\w+-members|oauth2)|"
    r"misc/(webhooks|error_details)"
)


def audiences(provider, body):
    outcome = provider.audiences(limit_ms=LIMIT_MS)
    # One recording was masked so that two lists have the same id: then it can't be told to be complete.
    ids = list(dict.fromkeys(row["id"] for row in body["lists"]))
    assert outcome.value.complete == (len(ids) == body["total_items"])
    assert [found.ref for found in outcome.value.items] == ids
    return outcome


def senders(provider, body):
    outcome = provider.senders(limit_ms=LIMIT_MS)
    defaults = {row["id"]: row["campaign_defaults"]["from_email"].lower() for row in body["lists"]}
    addresses = set(defaults.values())
    assert {found.email for found in outcome.value.items} == addresses
    assert len(outcome.value.items) == len(addresses)
    return outcome


def segments(provider, body):
    outcome = provider.segments(body["list_id"], limit_ms=LIMIT_MS)
    assert outcome.value.complete == (len(body["segments"]) == body["total_items"])
    assert [int(found.id) for found in outcome.value.items] == [row["id"] for row in body["segments"]]
    return outcome


def merge_fields(provider, body):
    outcome = provider.merge_fields(body["list_id"], limit_ms=LIMIT_MS)
    rows = body["merge_fields"]
    assert outcome.value.complete == (len(rows) == body["total_items"])
    assert [(found.tag, found.type) for found in outcome.value.items] == [
        (row["tag"], row["type"]) for row in rows
    ]
    return outcome


def an_audience(provider, body):
    outcome = provider.audience(body["id"], limit_ms=LIMIT_MS)
    assert outcome.value.contacts == body["stats"]["member_count"]
    return outcome


def a_segment(provider, body):
    outcome = provider.audience(f"{body['list_id']}:{body['id']}", limit_ms=LIMIT_MS)
    assert outcome.value.contacts == body["member_count"]
    return outcome


def a_campaign(provider, body):
    outcome = provider.inspect(body["id"], limit_ms=LIMIT_MS)
    assert outcome.value.raw_status == body["status"]
    return outcome


def campaigns(provider, body):
    outcome = provider.find_by_token(STEM, since_ms=0, audience="a1", limit_ms=LIMIT_MS)
    assert outcome == Accepted(Search((), complete=len(body["campaigns"]) == body["total_items"]))
    return outcome


def a_checklist(provider, body):
    errors = [item for item in body["items"] if item["type"] == "error"]
    outcome = provider.readiness("c1", limit_ms=LIMIT_MS)
    assert len(outcome.value) == len(errors)
    return outcome


def an_account(provider, body):
    outcome = provider.verify(limit_ms=LIMIT_MS)
    assert outcome.value.id == body["account_id"]
    return outcome


def a_draft(provider, body):
    return provider.create_draft(provider.dial(limit_ms=LIMIT_MS), DRAFT, limit_ms=LIMIT_MS)


def a_problem(provider, body):
    outcome = provider.schedule(provider.dial(limit_ms=LIMIT_MS), "c1", 0, limit_ms=LIMIT_MS)
    assert isinstance(outcome, Refused)
    assert outcome.code == f"http_{body['status']}"
    assert "@" not in outcome.detail
    return outcome


CALLS = (
    (r"_4\d\d_|issues/|__alt1|noTemplate", [a_problem]),
    (r"rewindio/lists|stefna/lists__get|GET_200_lists\.", [audiences, senders]),
    (r"rewindio/segments", [segments]),
    (r"GET_200_lists-\w+-merge-fields", [merge_fields]),
    (r"rewindio/list\.|stefna/lists__215f4cfac8__get", [an_audience]),
    (r"rewindio/segment\.", [a_segment]),
    (r"send-checklist", [a_checklist]),
    (r"rewindio/account", [an_account]),
    (r"stefna/campaigns__post\.", [a_draft]),
    (r"rewindio/campaign\.|stefna/campaigns__0cefd1915f__(get|patch)", [a_campaign]),
    (r"rewindio/campaigns|stefna/campaigns__get|campaign_sent", [campaigns]),
)


def calls_for(name):
    return next((calls for pattern, calls in CALLS if re.search(pattern, name)), [])


def body_of(path):
    record = json.loads(path.read_text())
    return record["body"] if isinstance(record.get("body"), dict) else record


@pytest.fixture(scope="module")
def recorded(shared_facts):
    folder = shared_facts / "facts/fixtures/mailchimp"
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.json"))}


def test_every_recorded_answer_to_a_call_of_ours_is_understood_by_it(recorded):
    read, refused = 0, 0
    for name, path in recorded.items():
        body = body_of(path)
        for call in calls_for(name):
            answers = [http(body.get("status") if call is a_problem else 200, body)]
            if call is senders:
                answers.insert(0, http(200, {"domains": [], "total_items": 0}))
            with FaultServer(*map(answering, answers)) as server:
                outcome = call(mailchimp(server), body)
            if call is a_problem:
                refused += 1
            else:
                assert isinstance(outcome, Accepted), name
                read += 1
    files = sum(bool(calls_for(name)) for name in recorded)
    print(f"{files} recorded answers: {read} readings and {refused} refusals of our calls")
    assert (files, read, refused) == (34, 21, 16)


def test_no_recorded_answer_is_passed_over_silently(recorded):
    forgotten = [name for name in recorded if not calls_for(name) and not NOT_OURS.search(name)]
    content = [name for name in forgotten if "content__put" in name]  # see the adapter's test of a sync
    assert forgotten == content
    assert len(content) == 1
