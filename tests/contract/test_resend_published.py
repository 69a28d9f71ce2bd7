"""Our requests to Resend, and the sandbox's answers to its own Python SDK, against the published description."""

import json
import re
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

import jsonschema
import pytest
import resend as sdk_module
from resend.exceptions import ResendError

from campaignbridge.domain.provider import NewContact, RecipientKind
from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from contract.faultserver import FaultServer, answering, http
from contract.resend_account import AT_MS, DRAFT, LIMIT_MS, REMOTE_ID, SEGMENT, STEM, broadcast, page, resend

START_MS = 1_795_000_000_000
MINUTE_MS = 60_000
# Null where the description says "string": a recorded answer of a draft has null, too.
NULLS = {"scheduled_at", "sent_at", "topic_id", "audience_id", "segment_id", "first_name", "last_name"}
# Paths of the SDK that the description doesn't know: the list of a segment's contacts, and duplicating.
BEYOND = re.compile(r"/segments/[^/]+/contacts|/broadcasts/[^/]+/duplicate")


@pytest.fixture(scope="module")
def description(shared_facts):
    return json.loads((shared_facts / "facts/specs/resend.openapi.json").read_text())


def described(description, method, path):
    fitting = [
        (template, operations[method])
        for template, operations in description["paths"].items()
        if method in operations and re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", template), path)
    ]
    assert fitting, f"not described: {method} {path}"
    return min(fitting, key=lambda found: found[0].count("{"))


def strict(description, schema):
    """Resolve references and refuse names that a schema doesn't know: a typo must not pass as an extra."""
    if isinstance(schema, list):
        return [strict(description, each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return strict(description, description["components"]["schemas"][schema["$ref"].split("/")[-1]])
    copied = {name: strict(description, each) for name, each in schema.items()}
    if isinstance(copied.get("properties"), dict):
        copied.setdefault("additionalProperties", False)
    return copied


def parameters(description, operation):
    known = [
        description["components"]["parameters"][each["$ref"].split("/")[-1]] if "$ref" in each else each
        for each in operation.get("parameters", [])
    ]
    return {each["name"]: each for each in known if each["in"] == "query"}


# --- our requests ----------------------------------------------------------------------------------------


def requests_of_every_call():
    found = []

    def seen(call, *answers):
        with FaultServer(*map(answering, answers)) as server:
            call(resend(server))
            assert len(server.requests) == len(answers)
            found.extend(server.requests)

    def line(name, *args):
        return lambda one: getattr(one, name)(one.dial(limit_ms=LIMIT_MS), *args, limit_ms=LIMIT_MS)

    ok = http(200, {"id": REMOTE_ID})
    seen(line("create_draft", DRAFT), http(201, {"id": REMOTE_ID}))
    for name, *args in (("send", REMOTE_ID), ("schedule", REMOTE_ID, AT_MS), ("unschedule", REMOTE_ID)):
        seen(line(name, *args), ok)
    seen(line("cancel", REMOTE_ID), ok)
    seen(lambda one: one.sync_draft(REMOTE_ID, DRAFT, limit_ms=LIMIT_MS), ok)
    seen(lambda one: one.retire(REMOTE_ID, limit_ms=LIMIT_MS), http(200, {"id": REMOTE_ID, "deleted": True}))
    sent = http(200, broadcast(status="sent"))
    seen(lambda one: one.inspect(REMOTE_ID, limit_ms=LIMIT_MS), sent, http(200, {"data": []}))
    rows = page({"id": REMOTE_ID, "status": "draft", "name": "x"}, more=True)
    seen(lambda one: one.find_by_token(STEM, since_ms=0, audience=SEGMENT, limit_ms=LIMIT_MS), rows, page())
    seen(lambda one: one.verify(limit_ms=LIMIT_MS), page())
    seen(
        lambda one: one.audience(SEGMENT, limit_ms=LIMIT_MS), http(200, {"id": SEGMENT, "name": "x"}), page()
    )
    for name in ("audiences", "senders"):
        seen(lambda one, name=name: getattr(one, name)(limit_ms=LIMIT_MS), page())
    for name in ("segments", "merge_fields", "count", "segment_members"):
        seen(lambda one, name=name: getattr(one, name)(SEGMENT, limit_ms=LIMIT_MS), page())
    for kind in RecipientKind:
        seen(lambda one, kind=kind: one.recipients(REMOTE_ID, kind, most=5, limit_ms=LIMIT_MS), page())
    seen(
        lambda one: one.create_segment(
            one.dial(limit_ms=LIMIT_MS), "wave-1", audience=SEGMENT, limit_ms=LIMIT_MS
        ),
        http(201, {"id": SEGMENT}),
    )
    seen(lambda one: one.find_segment("wave-1", audience=SEGMENT, limit_ms=LIMIT_MS), page())
    people = (NewContact("a@x.example", {"FIRST_NAME": "A", "COMPANY": "Acme"}),)
    missing = http(404, {"statusCode": 404, "name": "not_found", "message": "x"})
    seen(
        lambda one: one.add_contacts(SEGMENT, people, limit_ms=LIMIT_MS),
        missing,
        http(201, {"id": REMOTE_ID}),
        http(200, {"contact_id": REMOTE_ID}),
    )
    gone = http(200, {"deleted": True})
    seen(lambda one: one.remove_contacts(SEGMENT, ("a@x.example",), limit_ms=LIMIT_MS), gone)
    return found + requests_of_a_test()


def requests_of_a_test():
    """Two connections at once: the line, and the one that the content is read on."""
    with SandboxServer(Sandbox(lambda: START_MS)) as server:
        seen = []
        handle = server.sandbox.handle

        def noting(request):
            seen.append(request)
            return handle(request)

        server.sandbox.handle = noting
        provider = sandboxed(server)
        draft = draft_for(server.sandbox)
        made = provider.create_draft(provider.dial(limit_ms=LIMIT_MS), draft, limit_ms=LIMIT_MS).value
        line = provider.dial(limit_ms=LIMIT_MS)
        assert provider.send_test(line, made, ("ann@acme.example",), limit_ms=LIMIT_MS).value is None
    return [Wrapped(request) for request in seen[1:]]


class Wrapped:
    """A request of the sandbox, as those of the fault server look."""

    def __init__(self, request):
        self.method, self.path, self.query, self.body = (
            request.method,
            request.path,
            request.query,
            request.body,
        )

    @property
    def json(self):
        return json.loads(self.body)


def sandboxed(server):
    from campaignbridge.providers.resend import open_resend
    from contract.clocks import OwnClock

    return open_resend(key=server.sandbox.resend_key, base_url=server.resend_url, clock=OwnClock())


def draft_for(sandbox):
    from dataclasses import replace

    return replace(DRAFT, audience=sandbox.segment)


@pytest.fixture(scope="module")
def requests():
    return requests_of_every_call()


def test_every_request_of_ours_fits_the_published_description(description, requests):
    templates = set()
    for request in requests:
        template, operation = described(description, request.method.lower(), request.path)
        templates.add((request.method, template))
        known = parameters(description, operation)
        for name, value in request.query.items():
            assert name in known, f"{template} has no parameter {name}"
            schema = known[name]["schema"]
            values = value.split(",") if schema.get("type") == "array" else [value]
            allowed = schema.get("items", schema).get("enum")
            assert allowed is None or set(values) <= set(allowed), (template, name)
        body = operation.get("requestBody")
        if request.body:
            schema = body["content"]["application/json"]["schema"]
            jsonschema.Draft202012Validator(strict(description, schema)).validate(request.json)
        else:
            assert body is None or not body.get("required")
    print(f"validated {len(requests)} requests to {len(templates)} operations")
    assert (len(requests), len(templates)) == (34, 19)


def test_the_check_of_requests_can_fail(description, requests):
    create = next(one for one in requests if one.path == "/broadcasts" and one.body)
    _, operation = described(description, "post", "/broadcasts")
    schema = strict(description, operation["requestBody"]["content"]["application/json"]["schema"])
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(create.json)
    assert not validator.is_valid({**create.json, "subjekt": "x"})
    assert not validator.is_valid({**create.json, "segment_id": 7})


def test_no_request_of_ours_asks_for_a_send_at_create_or_speaks_of_a_subscription(requests):
    for request in requests:
        assert b'"send"' not in request.body
        assert b"unsubscribed" not in request.body


# --- the vendor's SDK ------------------------------------------------------------------------------------


class Sdk:
    """The SDK on a sandbox with a hand-turned clock, and every answer that it received."""

    def __init__(self, server, time, patch):
        self.sandbox, self.server, self._time, self.answers = server.sandbox, server, time, []
        patch.setattr(sdk_module, "api_url", server.resend_url)
        patch.setattr(sdk_module, "api_key", server.sandbox.resend_key)
        client = sdk_module.default_http_client
        send = client.request

        def recorded(method, url, **more):
            body, status, headers = send(method=method, url=url, **more)
            parts = urlsplit(url)
            self.answers.append(
                (method.lower(), parts.path, dict(parse_qsl(parts.query)), status, body, headers)
            )
            return body, status, headers

        patch.setattr(client, "request", recorded)

    def wait(self, ms):
        self._time[0] += ms
        self.sandbox.settle()

    def draft(self, name="Spring [cb-spring.g1]"):
        made = sdk_module.Broadcasts.create(
            {
                "segment_id": self.sandbox.segment,
                "from": "Shop <news@acme.example>",
                "subject": "Hello",
                "name": name,
                "html": "<p>Hi</p>",
            }
        )
        return made["id"]


@pytest.fixture
def sdk(monkeypatch):
    time = [START_MS]
    with SandboxServer(Sandbox(lambda: time[0], 7)) as server:
        yield Sdk(server, time, monkeypatch)


def validated(description, answers):
    counts = Counter()
    for method, path, _, status, body, headers in answers:
        assert headers["ratelimit-limit"]
        if BEYOND.fullmatch(path):
            continue
        template, operation = described(description, method, path)
        value = json.loads(body)
        if status >= 400:
            assert value.keys() == {"statusCode", "message", "name"}
            assert value["statusCode"] == status
            continue
        schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(loosened(strict(description, schema))).validate(value)
        counts[f"{method} {template}"] += 1
    return counts


def loosened(schema):
    """Allow null where recorded answers have it, and names that recorded answers have beyond the description."""
    if isinstance(schema, list):
        return [loosened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {name: loosened(each) for name, each in schema.items()}
    known = copied.get("properties")
    if isinstance(known, dict):
        for name in NULLS & known.keys():
            if isinstance(known[name], dict) and known[name].get("type") == "string":
                known[name] = {**known[name], "type": ["string", "null"]}
        if "object" in known and "data" in known:
            known.setdefault("has_more", {"type": "boolean"})
        known.setdefault("object", {"type": "string"})
        if "deleted" in known:
            known.setdefault("contact", {"type": "string"})
        if set(known) <= {"id", "object"}:
            known.setdefault("name", {"type": "string"})
    return copied


def full_cycle(sdk):
    """Everything that the sandbox takes, once, through the vendor's own client."""
    api = sdk_module
    broadcast_id = sdk.draft()
    api.Broadcasts.update({"broadcast_id": broadcast_id, "subject": "Hello again", "html": "<p>Ho</p>"})
    api.Broadcasts.get(broadcast_id)
    api.Broadcasts.list()
    at = "2026-11-30T12:00:00Z"
    api.Broadcasts.send({"broadcast_id": broadcast_id, "scheduled_at": at})
    api.Broadcasts.get(broadcast_id)
    api.Broadcasts.cancel(broadcast_id)
    api.Broadcasts.send({"broadcast_id": broadcast_id})
    sdk.wait(MINUTE_MS)
    api.Broadcasts.get(broadcast_id)
    api.Broadcasts.recipients(broadcast_id, {"type": "sent", "limit": 100})
    api.Broadcasts.recipients(broadcast_id, {"type": "bounced"})
    api.Broadcasts.remove(sdk.draft("another"))
    segment = api.Segments.create({"name": "wave-1"})["id"]
    api.Segments.get(segment)
    api.Segments.list()
    person = api.Contacts.create({"email": "new@x.example", "first_name": "New"})["id"]
    api.Contacts.get(id=person)
    api.Contacts.get(email="new@x.example")
    api.Contacts.update({"id": person, "last_name": "Name"})
    api.Contacts.Segments.add({"contact_id": person, "segment_id": segment})
    api.Contacts.Segments.list({"contact_id": person})
    api.Contacts.list(params={"limit": 5})
    api.Contacts.list(params={"segment_id": segment})
    api.Contacts.Segments.remove({"contact_id": person, "segment_id": segment})
    api.Contacts.remove(id=person)
    api.Segments.remove(segment)
    api.Domains.list()
    api.Domains.get(sdk.sandbox.team.domain_ids[0])
    api.ContactProperties.create({"key": "company", "type": "string", "fallback_value": "you"})
    api.ContactProperties.list()
    mail = {
        "from": "Shop <news@acme.example>",
        "to": ["ann@acme.example"],
        "subject": "Hi",
        "html": "<p>Hi</p>",
    }
    first = api.Emails.send(mail, {"idempotency_key": "t1"})
    assert api.Emails.send(mail, {"idempotency_key": "t1"})["id"] == first["id"]
    return broadcast_id


def test_the_vendors_sdk_drives_a_whole_cycle_whose_answers_fit_the_description(sdk, description):
    broadcast_id = full_cycle(sdk)
    truth = sdk.sandbox.truth
    assert (truth.sends_accepted(broadcast_id), truth.duplicates()) == (1, 0)
    assert len(truth.events("test_mailed")) == 1
    counts = validated(description, sdk.answers)
    print(f"validated {sum(counts.values())} answers of {len(counts)} operations")
    assert (sum(counts.values()), len(counts)) == (33, 25)


def test_the_sdk_is_told_refusals_in_resends_shape(sdk, description):
    broadcast_id = sdk.draft()
    sdk_module.Broadcasts.send({"broadcast_id": broadcast_id})
    for call in (
        lambda: sdk_module.Broadcasts.send({"broadcast_id": broadcast_id}),
        lambda: sdk_module.Broadcasts.update({"broadcast_id": broadcast_id, "subject": "x"}),
        lambda: sdk_module.Broadcasts.remove(broadcast_id),
        lambda: sdk_module.Broadcasts.get(REMOTE_ID),
        lambda: sdk_module.Contacts.create({}),
    ):
        with pytest.raises(ResendError):
            call()
    validated(description, sdk.answers)
    assert sdk.sandbox.truth.sends_accepted() == 1


def test_the_sdk_turns_a_lost_answer_into_an_error_of_the_server_and_the_mail_went(sdk):
    broadcast_id = sdk.draft()
    sdk.sandbox.faults.add(Fault("send", "accept_then_drop"))
    with pytest.raises(ResendError):
        sdk_module.Broadcasts.send({"broadcast_id": broadcast_id})
    assert sdk.sandbox.truth.sends_accepted(broadcast_id) == 1
