"""Every recorded answer of Resend that one of our calls could get, read by that call."""

import json
import re

import pytest

from campaignbridge.domain.provider import Accepted, Category, NewContact, Pushed, Refused
from campaignbridge.providers import resend_wire as wire
from contract.faultserver import FaultServer, answering, http
from contract.resend_account import LIMIT_MS, SEGMENT, resend

# Answers to calls that the adapter doesn't make: keys, topics, single contacts, deleted segments and contacts.
NOT_OURS = re.compile(
    r"\w+ /(api-keys|topics|audiences)|(GET|PATCH|DELETE) /contacts/|DELETE /(segments|contact-properties)|"
    r"(POST|PATCH) /contact-properties|GET /contact-properties/"
)


@pytest.fixture(scope="module")
def recorded(shared_facts):
    return json.loads((shared_facts / "facts/fixtures/resend/interactions.json").read_text())


def served(record, call):
    headers = {
        name.replace("-", "_"): value
        for name, value in record["headers"].items()
        if name.startswith("ratelimit") or name == "retry-after"
    }
    answers = [http(record["status"], json.dumps(record["body"]), **headers)]
    if isinstance(record["body"], dict) and record["body"].get("has_more"):
        answers.append(http(200, {"object": "list", "has_more": False, "data": []}))
    with FaultServer(*map(answering, answers)) as server:
        return call(resend(server))


def read(record):
    """Return what our call makes of a recorded answer, or None where none of ours could get it."""
    method, path = record["method"], record["path"].partition("?")[0]
    match method, path.strip("/").split("/"):
        case "POST", ["segments"]:
            return served(
                record,
                lambda one: one.create_segment(
                    one.dial(limit_ms=LIMIT_MS), "x", audience=SEGMENT, limit_ms=LIMIT_MS
                ),
            )
        case "GET", ["segments"]:
            return served(record, lambda one: one.audiences(limit_ms=LIMIT_MS))
        case "GET", ["segments", ident]:
            return segment(record, ident)
        case "GET", ["contacts"]:
            return served(record, lambda one: one.segment_members(SEGMENT, limit_ms=LIMIT_MS))
        case "GET", ["contact-properties"]:
            return served(record, lambda one: one.merge_fields(SEGMENT, limit_ms=LIMIT_MS))
        case "POST", ["contacts"]:
            return created(record)
    return None


def segment(record, ident):
    empty = http(200, {"object": "list", "has_more": False, "data": []})
    with FaultServer(
        answering(http(record["status"], json.dumps(record["body"]))), answering(empty)
    ) as server:
        return resend(server).audience(ident, limit_ms=LIMIT_MS)


def created(record):
    stranger = http(404, {"statusCode": 404, "message": "Contact not found", "name": "not_found"})
    answers = [stranger, http(record["status"], json.dumps(record["body"]))]
    answers.append(http(200, {"contact_id": SEGMENT}) if record["status"] == 201 else stranger)
    with FaultServer(*map(answering, answers)) as server:
        push = resend(server).add_contacts(SEGMENT, (NewContact("a@x.example"),), limit_ms=LIMIT_MS)
    [result] = push.results
    if record["status"] == 201:
        assert result.came_to is Pushed.IN_SEGMENT
        return Accepted(None)
    assert (result.came_to, result.code) == (Pushed.REFUSED, f"http_{record['status']}")
    return Refused(result.code, Category.REJECTED)


def test_every_recorded_answer_to_a_call_of_ours_is_understood_by_it(recorded):
    accepted = refused = 0
    for record in recorded:
        outcome = read(record)
        if outcome is None:
            continue
        if record["status"] < 300:
            assert isinstance(outcome, Accepted), record["path"]
            accepted += 1
        else:
            assert isinstance(outcome, Refused), record["path"]
            refused += 1
    print(f"{accepted + refused} recorded answers: {accepted} accepted and {refused} refused")
    assert (accepted, refused) == (50, 9)


def test_no_recorded_answer_is_passed_over_silently(recorded):
    for record in recorded:
        if read_by_none(record):
            assert NOT_OURS.match(f"{record['method']} {record['path']}"), record["path"]


def read_by_none(record):
    method, path = record["method"], record["path"].partition("?")[0].strip("/").split("/")
    ours = {("POST", "segments"), ("GET", "segments"), ("GET", "contacts"), ("POST", "contacts")}
    single = len(path) > 1 and path[0] != "segments"
    return (method, path[0]) not in ours | {("GET", "contact-properties")} or single


def test_every_recorded_refusal_is_in_the_shape_that_we_take_for_resends(recorded):
    for record in recorded:
        if record["status"] >= 400:
            assert record["body"].keys() == {"statusCode", "message", "name"}
            assert record["body"]["statusCode"] == record["status"]


def test_every_recorded_time_is_read(recorded):
    stamps = re.findall(r'"created_at": "([^"]+)"', json.dumps([record["body"] for record in recorded]))
    assert len(stamps) > 20
    for stamp in stamps:
        assert wire.time_ms(stamp) > 1_700_000_000_000
