"""Our requests to Mailchimp against the published description of its API."""

import json
import re
from datetime import datetime

import jsonschema
import pytest

from campaignbridge.domain.provider import Draft, RecipientKind
from contract.account import DRAFT, LIMIT_MS, REMOTE_ID, STEM, campaign, mailchimp, problem
from contract.faultserver import FaultServer, answering, http

SLOT_MS = 1_772_360_100_000
# The description we have is a part of the published one, which knows these too.
BEYOND = {"/3.0/verified-domains"}


@pytest.fixture(scope="module")
def description(shared_facts):
    return json.loads((shared_facts / "facts/specs/mailchimp.marketing.subset.swagger2.json").read_text())


def mutations(provider):
    def on_a_line(name, *args):
        getattr(provider, name)(provider.dial(limit_ms=LIMIT_MS), *args, limit_ms=LIMIT_MS)

    on_a_line("create_draft", DRAFT)
    on_a_line("create_draft", Draft(DRAFT.title, "a1b2c3d4e5:77", DRAFT.envelope, DRAFT.html, DRAFT.text))
    on_a_line("send", REMOTE_ID)
    on_a_line("schedule", REMOTE_ID, SLOT_MS)
    on_a_line("unschedule", REMOTE_ID)
    on_a_line("cancel", REMOTE_ID)
    on_a_line("send_test", REMOTE_ID, ("ann@example.com",))
    on_a_line("send_test", REMOTE_ID, ("ann@example.com", "bob@example.com"))
    provider.sync_draft(REMOTE_ID, DRAFT, limit_ms=LIMIT_MS)


def reads(provider):
    provider.inspect(REMOTE_ID, limit_ms=LIMIT_MS)
    provider.find_by_token(STEM, since_ms=1_772_359_200_999, audience="a1b2c3d4e5", limit_ms=LIMIT_MS)
    provider.verify(limit_ms=LIMIT_MS)
    provider.audience("a1b2c3d4e5", limit_ms=LIMIT_MS)
    provider.audience("a1b2c3d4e5:77", limit_ms=LIMIT_MS)
    provider.readiness(REMOTE_ID, limit_ms=LIMIT_MS)
    provider.report(REMOTE_ID, limit_ms=LIMIT_MS)
    for kind in RecipientKind:
        provider.recipients(REMOTE_ID, kind, most=5, limit_ms=LIMIT_MS)


def page_of(name, rows, offset):
    return answering(http(200, {name: [{}] * rows, "total_items": offset}))


def requests_of_every_call():
    found = []
    with FaultServer(answering(http(200, campaign()))) as server:
        mutations(mailchimp(server))
        reads(mailchimp(server))
        found += server.requests
    listed = {"audiences": "lists", "segments": "segments", "merge_fields": "merge_fields"}
    for call, name in listed.items():
        with FaultServer(page_of(name, 500, 501), page_of(name, 1, 501)) as server:
            args = () if call == "audiences" else ("a1b2c3d4e5:77",)
            getattr(mailchimp(server), call)(*args, limit_ms=LIMIT_MS)
            assert len(server.requests) == 2
            found += server.requests
    with FaultServer(answering(problem(404)), page_of("lists", 0, 0)) as server:
        mailchimp(server).senders(limit_ms=LIMIT_MS)
        found += server.requests
    return found


@pytest.fixture(scope="module")
def requests():
    return requests_of_every_call()


def described(description, request):
    path = request.path.removeprefix(description["basePath"])
    for template, operations in description["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and request.method.lower() in operations:
            return template, operations[request.method.lower()].get("parameters", [])
    raise AssertionError(f"not described: {request.method} {path}")


def strict(schema):
    """Copy a schema so that a name it doesn't know is an error: a typo must not pass as an extra."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {name: strict(each) for name, each in schema.items()}
    if isinstance(copied.get("properties"), dict) and "type" in copied:
        copied.setdefault("additionalProperties", False)
    return copied


def check_query(parameters, query):
    known = {each["name"]: each for each in parameters if each["in"] == "query"}
    for name, value in query.items():
        assert name in known, f"no query parameter {name}"
        rule = known[name]
        if rule["type"] == "integer":
            assert rule.get("minimum", 0) <= int(value) <= rule.get("maximum", 10**9)
        if rule.get("format") == "date-time":
            assert datetime.fromisoformat(value).utcoffset() is not None
        if "enum" in rule:
            assert value in rule["enum"]


def test_every_request_of_ours_fits_the_published_description(description, requests):
    checked = [request for request in requests if request.path not in BEYOND]
    templates = set()
    for request in checked:
        template, parameters = described(description, request)
        templates.add((request.method, template))
        check_query(parameters, request.query)
        bodies = [each["schema"] for each in parameters if each["in"] == "body"]
        assert bool(bodies) == bool(request.body)
        for schema in bodies:
            jsonschema.Draft4Validator(strict(schema)).validate(request.json)
    print(f"validated {len(checked)} requests to {len(templates)} operations")
    assert (len(checked), len(templates)) == (29, 21)


def test_a_request_beyond_our_part_of_the_description_has_neither_query_nor_body(requests):
    beyond = [request for request in requests if request.path in BEYOND]
    assert [(request.method, request.query, request.body) for request in beyond] == [("GET", {}, b"")]


def test_every_request_stays_below_the_base_path_and_carries_the_key_in_a_header_only(requests):
    for request in requests:
        assert request.path.startswith("/3.0/")
        assert request.headers["authorization"].startswith("Basic ")
        assert "us19" not in request.target


def test_the_check_against_the_description_can_fail(description, requests):
    for request, part, name in ((requests[0], "settings", "subjectline"), (requests[3], None, "schedule_at")):
        _, parameters = described(description, request)
        [schema] = [strict(each["schema"]) for each in parameters if each["in"] == "body"]
        body = request.json
        assert jsonschema.Draft4Validator(schema).is_valid(body)
        (body[part] if part else body)[name] = "typo"
        assert not jsonschema.Draft4Validator(schema).is_valid(body)


def test_every_field_we_ask_for_exists_in_the_described_answer(description, requests):
    asked = [request for request in requests if "fields" in request.query]
    assert len(asked) > 10
    for request in asked:
        template, _ = described(description, request)
        root = description["paths"][template]["get"]["responses"]["200"]["schema"]
        for name in request.query["fields"].split(","):
            schema = root
            for part in name.split("."):
                schema = schema.get("items", schema)["properties"][part]
