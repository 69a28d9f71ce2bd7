"""The sandbox's answers against Mailchimp's own OpenAPI document and recorded answers, read in place."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from unit.test_sandbox import Esp

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CAMPAIGNBRIDGE_SHARED") or ROOT.parent / "shared")
SPEC = SHARED / "facts" / "specs" / "mailchimp.marketing.subset.swagger2.json"
RECORDED = SHARED / "facts" / "fixtures" / "mailchimp"

# The document calls these date-times; recorded answers have "" where there is none.
CHECKER = jsonschema.FormatChecker(formats=())


@pytest.fixture(scope="module")
def spec():
    if not SPEC.is_file():
        pytest.skip(f"Mailchimp's OpenAPI document is not at {SPEC}; set CAMPAIGNBRIDGE_SHARED")
    return json.loads(SPEC.read_text())


@pytest.fixture
def esp():
    return Esp()


def recorded(name):
    path = RECORDED / name
    if not path.is_file():
        pytest.skip(f"no recorded answer at {path}; set CAMPAIGNBRIDGE_SHARED")
    return json.loads(path.read_text())


def closed(schema):
    """Return the schema such that a property it doesn't know is an error: a misspelt one must not pass."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made["additionalProperties"] = False
    return made


def conforms(spec, path, method, status, value):
    schema = spec["paths"][path][method]["responses"][status]["schema"]
    jsonschema.Draft4Validator(closed(schema), format_checker=CHECKER).validate(value)


def test_campaigns_in_every_status_have_the_documented_shape(spec, esp):
    draft, scheduled, sent, cancelled = (esp.draft(f"N{number}") for number in range(4))
    esp.act(scheduled, "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})
    esp.act(sent, "send")
    esp.act(cancelled, "send")
    esp.act(cancelled, "cancel-send")
    statuses = set()
    for wait_ms in (0, 200, 500):
        esp.now_ms += wait_ms
        page = esp.call("GET", "/campaigns")[1]
        conforms(spec, "/campaigns", "get", "200", page)
        statuses |= {item["status"] for item in page["campaigns"]}
        for campaign in (draft, scheduled, sent, cancelled):
            shown = esp.call("GET", f"/campaigns/{campaign}")[1]
            conforms(spec, "/campaigns/{campaign_id}", "get", "200", shown)
    assert statuses == {"save", "schedule", "sending", "sent", "canceling", "canceled"}


def test_answers_to_writes_have_the_documented_shape(spec, esp):
    made = esp.call("POST", "/campaigns", {"type": "regular", "recipients": {"list_id": "a1b2c3"}})[1]
    conforms(spec, "/campaigns", "post", "200", made)
    target = f"/campaigns/{made['id']}"
    changed = esp.call("PATCH", target, {"settings": {"subject_line": "S"}})[1]
    conforms(spec, "/campaigns/{campaign_id}", "patch", "200", changed)
    content = esp.call("PUT", f"{target}/content", {"html": "<p>x</p>"})[1]
    conforms(spec, "/campaigns/{campaign_id}/content", "put", "200", content)
    copy = esp.call("POST", f"{target}/actions/replicate")[1]
    del copy["recipients"]["list_is_active"]  # left out of this one call's schema, unlike the others'
    conforms(spec, "/campaigns/{campaign_id}/actions/replicate", "post", "200", copy)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/", "/"),
        ("/ping", "/ping"),
        ("/lists", "/lists"),
        ("/lists/{list_id}", "/lists/a1b2c3"),
        ("/lists/{list_id}/merge-fields", "/lists/a1b2c3/merge-fields"),
        ("/campaigns/{campaign_id}/content", "/campaigns/CAMPAIGN/content"),
        ("/campaigns/{campaign_id}/send-checklist", "/campaigns/CAMPAIGN/send-checklist"),
    ],
)
def test_other_reads_have_the_documented_shape(spec, esp, path, target):
    status, shown = esp.call("GET", target.replace("CAMPAIGN", esp.draft()))
    assert status == 200
    conforms(spec, path, "get", "200", shown)


def test_actions_answer_with_the_documented_empty_status(spec, esp):
    campaign = esp.draft()
    bodies = {
        "test": {"test_emails": ["a@shop.example"], "send_type": "html"},
        "schedule": {"schedule_time": "2026-01-01T00:15:00Z"},
        "unschedule": None,
        "send": None,
        "cancel-send": None,
    }
    for action, body in bodies.items():
        assert "204" in spec["paths"][f"/campaigns/{{campaign_id}}/actions/{action}"]["post"]["responses"]
        assert esp.act(campaign, action, body) == (204, None)


def test_problems_have_the_documented_shape(spec, esp):
    refusals = [
        esp.call("GET", "/campaigns/unknown"),
        esp.call("POST", "/campaigns", {"type": "pigeon"}),
        esp.call("POST", "/campaigns", b"{"),
        esp.call("GET", "/ping", headers={}),
        esp.act(esp.draft(html=""), "send"),
    ]
    schema = spec["paths"]["/campaigns"]["post"]["responses"]["default"]["schema"]
    for status, problem in refusals:
        jsonschema.Draft4Validator(schema, format_checker=CHECKER).validate(problem)
        assert problem["status"] == status


def kinds(value):
    """Return an object's names with the JSON type of each, all the way down; lists by nothing but their type."""
    if isinstance(value, dict):
        return {name: kinds(inner) for name, inner in value.items() if name != "_links"}
    return "number" if type(value) in (int, float) else type(value).__name__


def missing(there, here, where=""):
    """Return what a recorded answer has and ours lacks, or has as another type."""
    found = []
    for name, kind in there.items():
        if name not in here or isinstance(kind, dict) != isinstance(here[name], dict):
            found.append(f"{where}{name}")
        elif isinstance(kind, dict):
            found += missing(kind, here[name], f"{where}{name}.")
        elif kind != here[name]:
            found.append(f"{where}{name}: {kind}")
    return found


def test_a_draft_has_every_field_of_a_recorded_one_in_the_same_type(esp):
    there = kinds(recorded("rewindio/campaign.json"))
    del there["has_logo_merge_tag"]  # in no document
    del there["recipients"]["segment_opts"]  # ours only when the draft has a segment
    assert missing(there, kinds(esp.call("GET", f"/campaigns/{esp.draft()}")[1])) == []


def test_a_refusal_has_the_fields_and_headers_of_a_recorded_one(esp):
    there = recorded("grouparoo/02_GET_404_lists-a36b032126-members-hash-resource-not-found.json")
    response, _ = esp.raw("GET", "/campaigns/unknown")
    ours = json.loads(response.body)
    assert set(ours) == set(there["body"])
    assert {name: ours[name] for name in ("type", "title", "status", "detail")} == {
        name: there["body"][name] for name in ("type", "title", "status", "detail")
    }
    assert set(there["headers"]) - set(response.headers) == {"Server", "Date"}


def test_a_recorded_audience_has_no_field_that_ours_lacks(esp):
    there = kinds(recorded("rewindio/list.json"))
    assert missing(there, kinds(esp.call("GET", "/lists/a1b2c3")[1])) == []
