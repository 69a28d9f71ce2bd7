"""Recorded Mailchimp answers, read in place, against the sandbox's answers to the same operations.

Direction: recorded is a part of ours. Every key of a recorded answer must be in ours with the same JSON type,
all the way down; ours may have more, because each recording is older than the vendor's document, which
closes the other side (test_vendor_sdk.py, test_sandbox_shapes.py). Refusals: their words count, too.
"""

import json
import os
from pathlib import Path

import pytest

from campaignbridge.sandbox import Fault
from unit.test_sandbox import MINUTE_MS, Esp

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CAMPAIGNBRIDGE_SHARED") or ROOT.parent / "shared")
RECORDED = SHARED / "facts" / "fixtures" / "mailchimp"
if not RECORDED.is_dir():
    pytest.skip(f"no recorded answers at {RECORDED}; set CAMPAIGNBRIDGE_SHARED", allow_module_level=True)

LIST = "/lists/a1b2c3"
ONE = f"{LIST}/members/person1@example.invalid"
TYPED = "person1@example.invalid"
# Keys that depend on the account, or that no document and no newer recording has.
OPEN_OBJECTS = {"merge_fields", "interests", "last_note", "options"}
ABSENT = {"_links", "_truncated_for_fixture", "status_if_new", "has_logo_merge_tag"} | OPEN_OBJECTS


def newcomer(email="new@people.example"):
    return {"email_address": email, "status": "subscribed"}


def created(esp):
    texts = dict.fromkeys(("subject_line", "title", "from_name", "reply_to"), "a@shop.example")
    return esp.call("POST", "/campaigns", {"type": "regular", "settings": texts})


def sent_campaigns(esp):
    assert esp.act(segmented(esp)[1]["id"], "send")[0] == 204
    esp.now_ms += MINUTE_MS
    return esp.call("GET", "/campaigns")


def sent_to_a_segment(esp):
    options = {"saved_segment_id": saved_segment(esp)[1]["id"], "match": "any"}
    made = esp.draft(preview_text="Look")
    esp.call("PATCH", f"/campaigns/{made}", {"recipients": {"list_id": "a1b2c3", "segment_opts": options}})
    assert esp.act(made, "send")[0] == 204
    return esp.call("GET", "/campaigns")


def draft(esp):
    return esp.call("GET", f"/campaigns/{esp.draft()}")


def drafts(esp):
    esp.draft(preview_text="Look")
    return esp.call("GET", "/campaigns")


def segmented(esp):
    condition = {"condition_type": "EmailAddress", "field": "EMAIL", "op": "contains", "value": "person1"}
    recipients = {"list_id": "a1b2c3", "segment_opts": {"match": "any", "conditions": [condition]}}
    made = esp.draft(preview_text="Look")
    return esp.call("PATCH", f"/campaigns/{made}", {"recipients": recipients})


def saved_segment(esp):
    condition = {"condition_type": "EmailAddress", "field": "EMAIL", "op": "is", "value": TYPED}
    body = {"name": "One", "options": {"match": "any", "conditions": [condition]}}
    return esp.call("POST", f"{LIST}/segments", body)


def below_segment(esp, rest=""):
    number = saved_segment(esp)[1]["id"]
    return esp.call("GET", f"{LIST}/segments{rest.format(number)}")


def taken_name(esp):
    saved_segment(esp)
    return saved_segment(esp)


def member_tags(esp):
    esp.call("POST", f"{ONE}/tags", {"tags": [{"name": "vip", "status": "active"}]})
    return esp.call("GET", f"{ONE}/tags")


def content(esp, method="GET"):
    body = {"html": "<p>x</p>"} if method == "PUT" else None
    return esp.call(method, f"/campaigns/{esp.draft()}/content", body)


def archived_twice(esp):
    esp.call("DELETE", ONE)
    return esp.call("DELETE", ONE)


def back_again(esp):
    esp.call("PATCH", ONE, {"status": "unsubscribed"})
    return esp.call("PATCH", ONE, {"status": "subscribed"})


def somebody_elses_address(esp):
    return esp.call("PUT", f"{LIST}/members/person2@example.invalid", newcomer(TYPED))


def unschedulable(esp):
    return esp.act(esp.draft(), "schedule", {"schedule_time": "2026-01-01T00:13:00Z"})


OURS = {
    "grouparoo/01": lambda esp: esp.call("POST", f"{LIST}/members/x@y.example/tags", {"tags": []}),
    "grouparoo/02": lambda esp: esp.call("GET", f"{LIST}/members/x@y.example"),
    "grouparoo/03": lambda esp: esp.call("POST", f"{LIST}/members", newcomer()),
    "grouparoo/04": lambda esp: esp.call("POST", f"{ONE}/tags", {"tags": []}),
    "grouparoo/05": lambda esp: esp.call("GET", ONE),
    "grouparoo/06": lambda esp: esp.call("PUT", ONE, {"email_address": TYPED}),
    "grouparoo/07": lambda esp: esp.call("PUT", ONE, {"email_address": TYPED, "merge_fields": {"FNAME": 5}}),
    "grouparoo/08": lambda esp: esp.call("DELETE", ONE),
    "grouparoo/09": archived_twice,
    "grouparoo/10": somebody_elses_address,
    "grouparoo/11": lambda esp: esp.call("POST", f"{LIST}/members", newcomer("AAAAA")),
    "grouparoo/12": lambda esp: esp.call("POST", f"{LIST}/members", newcomer("foo@example.com")),
    "grouparoo/13": lambda esp: esp.call("GET", "/lists"),
    "grouparoo/14": lambda esp: esp.call("GET", f"{LIST}/merge-fields"),
    "grouparoo/15": lambda esp: esp.call("GET", f"{LIST}/members"),
    "issues/member_compliance_state": back_again,
    "issues/schedule_refused_empty_reason": unschedulable,
    "issues/segment_name_taken": taken_name,
    "issues/send_not_ready": lambda esp: esp.act(esp.draft(html=""), "send"),
    "misc/campaign_sent_with_delivery_status": sent_campaigns,
    "rewindio/account_information": lambda esp: esp.call("GET", "/"),
    "rewindio/campaign.": segmented,
    "rewindio/campaign_content": content,
    "rewindio/campaigns": sent_to_a_segment,
    "rewindio/list.": lambda esp: esp.call("GET", LIST),
    "rewindio/lists": lambda esp: esp.call("GET", "/lists"),
    "rewindio/member.": lambda esp: esp.call("GET", ONE),
    "rewindio/members": lambda esp: esp.call("GET", f"{LIST}/members"),
    "rewindio/segment.": lambda esp: below_segment(esp, "/{}"),
    "rewindio/segment_members": lambda esp: below_segment(esp, "/{}/members"),
    "rewindio/segments": below_segment,
    "rewindio/tags": member_tags,
    "stefna/campaigns__0cefd1915f__content__get": content,
    "stefna/campaigns__0cefd1915f__get": draft,
    "stefna/campaigns__0cefd1915f__patch": segmented,
    "stefna/campaigns__88cbf762dc__content__get": content,
    "stefna/campaigns__88cbf762dc__content__put": lambda esp: content(esp, "PUT"),
    "stefna/campaigns__88cbf762dc__send-checklist": lambda esp: esp.call(
        "GET", f"/campaigns/{esp.draft()}/send-checklist"
    ),
    "stefna/campaigns__get.": drafts,
    "stefna/campaigns__get_q_count=1": drafts,
    "stefna/campaigns__post.": created,
    "stefna/campaigns__post__alt1": lambda esp: esp.call("POST", "/campaigns", {"type": "pigeon"}),
    "stefna/lists__215f4cfac8__get": lambda esp: esp.call("GET", LIST),
    "stefna/lists__215f4cfac8__members__7ec": lambda esp: esp.call("GET", ONE),
    "stefna/lists__215f4cfac8__members__d4000905c79bb68b7ce9b80df716a26d__get": lambda esp: esp.call(
        "GET", ONE
    ),
    "stefna/lists__215f4cfac8__members__d4000905c79bb68b7ce9b80df716a26d__patch": lambda esp: esp.call(
        "PATCH", ONE, {"status": "unsubscribed"}
    ),
    "stefna/lists__215f4cfac8__members__get": lambda esp: esp.call("GET", f"{LIST}/members"),
    "stefna/lists__215f4cfac8__members__post.": lambda esp: esp.call("POST", f"{LIST}/members", newcomer()),
    "stefna/lists__215f4cfac8__members__post__alt1": lambda esp: esp.call(
        "POST", f"{LIST}/members", {"email_address": "new@people.example"}
    ),
    "stefna/lists__2f7bc35b74__members__post": lambda esp: esp.call("POST", f"{LIST}/members", newcomer()),
    "stefna/lists__get": lambda esp: esp.call("GET", "/lists"),
}
WITHOUT_COUNTERPART = {
    "grouparoo/16": "OAuth is served by another host",
    "misc/error_details": "strings, below",
    "misc/webhooks": "webhooks come later",
    "stefna/lists__215f4cfac8__patch": "lists aren't changed through the API here",
    "stefna/lists__post": "lists aren't made through the API here",
    "stefna/templates": "no templates",
}
SAME_WORDS = {"grouparoo/02", "grouparoo/09", "issues/", "stefna/campaigns__post__alt1"}


def recordings():
    return sorted(str(path.relative_to(RECORDED)) for path in RECORDED.rglob("*.json"))


def counterpart(name, table):
    """Return the longest key of a table that a file's name begins with, None if there is none."""
    return max((key for key in table if name.startswith(key)), key=len, default=None)


def comparable():
    return [name for name in recordings() if counterpart(name, OURS)]


def read(name):
    """Return status (None where only the body was saved) and body."""
    whole = json.loads((RECORDED / name).read_text())
    if name.startswith("grouparoo/"):
        return whole["status"], whole["body"] or None
    body = whole["body"] if name.startswith(("issues/", "misc/")) else whole
    return body.get("status") if "detail" in body else None, body


def kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def missing(there, here, where=""):
    """Return what a recorded answer has and ours lacks, or has as another type."""
    if there == "REDACTED":
        return []
    if kind(there) != kind(here):
        return [f"{where}: {kind(there)}, ours {kind(here)}"]
    if isinstance(there, list):
        return [gap for item in there if here for gap in missing(item, here[0], f"{where}[]")]
    if not isinstance(there, dict):
        return []
    gaps = [f"{where}.{name}" for name in there if name not in here and name not in ABSENT]
    for name in there.keys() & here.keys() - {"_links"}:
        if name == "conditions" or (name in OPEN_OBJECTS and isinstance(there[name], dict)):
            gaps += [] if kind(here[name]) == kind(there[name]) else [f"{where}.{name}"]
        else:
            gaps += missing(there[name], here[name], f"{where}.{name}")
    return gaps


def fields(value):
    """Count the named values of a recorded answer, so that comparing nothing would be noticed."""
    if isinstance(value, list):
        return sum(fields(item) for item in value)
    if not isinstance(value, dict):
        return 0
    return sum(1 + fields(inner) for name, inner in value.items() if name != "_links")


@pytest.mark.parametrize("name", comparable())
def test_ours_has_every_field_of_the_recorded_answer_in_the_same_type(name):
    status, there = read(name)
    ours_status, here = OURS[counterpart(name, OURS)](Esp())
    assert ours_status == (status or 200)
    assert missing(there, here) == []
    if name.startswith(tuple(SAME_WORDS)) and "compliance" not in name:
        assert (here["title"], here["detail"]) == (there["title"], there["detail"])


def test_every_recorded_answer_is_compared_or_named_as_without_counterpart():
    names = recordings()
    compared = [name for name in names if counterpart(name, OURS)]
    left_out = [name for name in names if not counterpart(name, OURS)]
    assert [name for name in left_out if not counterpart(name, WITHOUT_COUNTERPART)] == []
    values = sum(fields(read(name)[1]) for name in compared)
    print(f"{len(compared)} recorded answers compared, {values} values, {len(left_out)} without counterpart")
    assert (len(compared), len(left_out)) == (51, 15)
    assert {counterpart(name, OURS) for name in compared} == set(OURS)


def test_a_missing_or_retyped_field_would_be_noticed():
    there = {"a": {"b": 1, "c": [{"d": ""}]}}
    assert missing(there, {"a": {"b": 1.5, "c": [{"d": "x", "e": 1}]}}) == []
    assert sorted(missing(there, {"a": {"b": "1", "c": [{}]}})) == [".a.b: number, ours str", ".a.c[].d"]


def lacking_sender(esp):
    body = {"test_emails": ["a@shop.example"], "send_type": "html"}
    return esp.act(esp.draft(from_name=""), "test", body)


def still_counting(esp):
    esp.sandbox.faults.add(Fault("create", "count_lag", ms=5_000))
    return esp.act(esp.draft(), "send")


def unverified(esp):
    esp.sandbox.world.behave(unverified_sender="refused")
    return esp.act(esp.draft(), "send")


def named_members(esp, emails):
    number = esp.call("POST", f"{LIST}/segments", {"name": "W", "static_segment": []})[1]["id"]
    return esp.call("POST", f"{LIST}/segments/{number}", {"members_to_add": emails})


def saved_members(esp):
    number = saved_segment(esp)[1]["id"]
    return esp.call("POST", f"{LIST}/segments/{number}", {"members_to_add": [TYPED]})


def throttled(esp):
    esp.sandbox.faults.add(Fault("ping", "status_429"))
    return esp.call("GET", "/ping")


def gated(esp):
    esp.sandbox.world.behave(schedule_gate="refused_403")
    return esp.act(esp.draft(), "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})


# Beginnings of sentences seen in the wild, and how the sandbox is brought to say them.
SENTENCES = {
    "Your Campaign is not ready to send.": OURS["issues/send_not_ready"],
    "Your Campaign is not ready to send. recipients not ready": still_counting,
    "Your Campaign is not ready to send. address(es)": unverified,
    "This campaign cannot be scheduled: .": unschedulable,
    'This campaign cannot be tested:" A From Name must be entered': lacking_sender,
    "Sorry, that tag already exists.": taken_name,
    "errors[].field=static_segment": lambda esp: esp.call(
        "POST", f"{LIST}/segments", {"name": "W", "static_segment": ["AAAAA"]}
    ),
    "errors[].field=members_to_add": lambda esp: named_members(esp, ["x@y.example"]),
    "A Static Segment with an id of": saved_members,
    "<email> is in a compliance state": back_again,
    "<email> is already a list member.": somebody_elses_address,
    "<email> looks fake or invalid": OURS["grouparoo/12"],
    "This list member cannot be removed.": archived_twice,
    "You have exceeded the limit of 10 simultaneous connections.": throttled,
    "schedule refused on the free plan": gated,
}


@pytest.mark.parametrize("beginning", SENTENCES)
def test_the_sandbox_can_be_brought_to_refuse_as_was_seen_in_the_wild(beginning):
    seen = json.loads((RECORDED / "misc/error_details_seen_in_the_wild.json").read_text())["items"]
    [item, *_] = [
        one for one in seen if one["detail"].replace("errors[]. ", "errors[].").startswith(beginning)
    ]
    status, ours = SENTENCES[beginning](Esp())
    assert status == item["status"]
    said = beginning.removeprefix("<email>").strip()
    if "field=" in said:
        assert ours["errors"][0]["field"] == said.partition("=")[2]
    elif "plan" not in said:
        assert said in ours["detail"]
