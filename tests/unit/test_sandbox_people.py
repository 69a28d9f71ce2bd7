"""Members and segments: made up lazily, changed by calls, and what a campaign to them counts and mails."""

import hashlib

import pytest

from campaignbridge.sandbox import Fault
from unit.test_sandbox import MINUTE_MS, Esp

LIST = "/lists/a1b2c3"
MEMBERS = f"{LIST}/members"
SEGMENTS = f"{LIST}/segments"


@pytest.fixture
def esp():
    return Esp()


def person(number):
    return f"person{number}@example.invalid"


def of(email):
    return hashlib.md5(email.lower().encode()).hexdigest()


def segment(esp, name="Wave", emails=(), **body):
    status, made = esp.call("POST", SEGMENTS, {"name": name, "static_segment": list(emails), **body})
    assert status == 200, made
    return made["id"]


def saved(esp, value, op="ends", name="Saved"):
    condition = {"condition_type": "EmailAddress", "field": "EMAIL", "op": op, "value": value}
    body = {"name": name, "options": {"match": "all", "conditions": [condition]}}
    return esp.call("POST", SEGMENTS, body)[1]["id"]


def aimed(esp, number, campaign=None):
    options = None if number is None else {"saved_segment_id": number, "match": "any"}
    body = {"recipients": {"list_id": "a1b2c3", "segment_opts": options or {}}}
    campaign = campaign or esp.draft()
    status, shown = esp.call("PATCH", f"/campaigns/{campaign}", body)
    assert status == 200, shown
    return campaign, shown["recipients"]["recipient_count"]


def test_made_up_members_are_paged_without_being_stored(esp):
    page = esp.call("GET", f"{MEMBERS}?count=1000&offset=24000")[1]
    assert page["total_items"] == 24_318
    assert [item["email_address"] for item in page["members"]] == [person(n) for n in range(24_001, 24_319)]
    assert esp.sandbox.world.roster.people("a1b2c3").untouched
    assert esp.call("GET", f"{MEMBERS}/{of(person(24_318))}")[1]["email_address"] == person(24_318)
    assert esp.call("GET", f"{MEMBERS}/{of(person(24_319))}")[0] == 404


def test_a_member_is_added_changed_archived_and_added_again(esp):
    body = {"email_address": "Ann@People.example", "status": "subscribed"}
    assert esp.call("POST", MEMBERS, body)[0] == 200
    assert esp.call("GET", LIST)[1]["stats"]["member_count"] == 24_319
    assert esp.call("POST", MEMBERS, body)[1]["title"] == "Member Exists"
    target = f"{MEMBERS}/{of('ann@people.example')}"
    assert esp.call("PATCH", target, {"merge_fields": {"FNAME": "Ann"}})[1]["full_name"] == "Ann"
    assert esp.call("DELETE", target) == (204, None)
    response, _ = esp.raw("DELETE", target)
    assert (response.status, response.headers["Allow"]) == (405, "GET, PUT")
    assert esp.call("GET", target)[1]["status"] == "archived"
    assert esp.call("GET", f"{MEMBERS}?status=archived")[1]["total_items"] == 1
    assert esp.call("GET", MEMBERS)[1]["total_items"] == 24_318
    assert esp.call("POST", MEMBERS, body)[0] == 200


def test_a_put_takes_status_if_new_for_newcomers_only(esp):
    body = {"email_address": "ann@people.example", "status_if_new": "pending"}
    target = f"{MEMBERS}/{of('ann@people.example')}"
    assert esp.call("PUT", target, {"email_address": "ann@people.example"})[0] == 400
    assert esp.call("PUT", target, body)[1]["status"] == "pending"
    known = {"email_address": person(1), "status_if_new": "unsubscribed"}
    assert esp.call("PUT", f"{MEMBERS}/{of(person(1))}", known)[1]["status"] == "subscribed"
    moved = esp.call("PUT", f"{MEMBERS}/{of(person(1))}", {"email_address": "moved@people.example"})[1]
    assert moved["email_address"] == "moved@people.example"
    assert esp.call("GET", f"{MEMBERS}/{of(person(1))}")[0] == 404
    assert esp.call("GET", LIST)[1]["stats"]["member_count"] == 24_318


def test_whoever_left_can_not_be_brought_back_by_any_call(esp):
    target = f"{MEMBERS}/{of(person(1))}"
    left = esp.call("PATCH", target, {"status": "unsubscribed"})[1]
    assert (left["status"], bool(left["unsubscribe_reason"])) == ("unsubscribed", True)
    back = {"email_address": person(1), "status": "subscribed"}
    assert esp.call("PATCH", target, back)[1]["title"] == "Member In Compliance State"
    assert esp.call("PUT", target, back)[1]["title"] == "Member In Compliance State"
    batch = esp.call("POST", LIST, {"members": [back], "update_existing": True})[1]
    assert (batch["error_count"], batch["errors"][0]["error_code"]) == (1, "ERROR_GENERIC")
    assert esp.call("GET", LIST)[1]["stats"]["member_count"] == 24_317


def test_a_batch_answers_200_with_the_losers_inside(esp):
    people = [
        {"email_address": "ann@people.example", "status": "subscribed"},
        {"email_address": "ANN@people.example", "status": "subscribed"},
        {"email_address": person(1), "status": "subscribed"},
        {"email_address": "nobody", "status": "subscribed"},
        {"email_address": "eve@people.example"},
    ]
    status, done = esp.call("POST", LIST, {"members": people})
    assert (status, done["total_created"], done["total_updated"], done["error_count"]) == (200, 1, 0, 4)
    codes = [error["error_code"] for error in done["errors"]]
    assert codes == ["ERROR_GENERIC", "ERROR_CONTACT_EXISTS", "ERROR_GENERIC", "ERROR_GENERIC"]
    assert esp.call("POST", LIST, {"members": people[:1] * 501})[0] == 400
    again = {"members": [{"email_address": person(1), "vip": True}], "update_existing": True}
    assert esp.call("POST", LIST, again)[1]["total_updated"] == 1


def test_members_and_segments_leave_counts_in_the_truth_log_but_no_address(esp):
    esp.call("POST", LIST, {"members": [{"email_address": "ann@people.example", "status": "subscribed"}]})
    segment(esp, "[cb-wave.1]", [person(1), "ann@people.example"])
    events = [(event.kind, event.audience, event.recipients) for event in esp.truth.events()]
    assert events == [("members_changed", "a1b2c3", 1), ("segment_created", "a1b2c3", 2)]
    text = esp.truth.to_json()
    assert "people.example" not in text
    assert "example.invalid" not in text


def test_a_segments_name_is_taken_once_per_list(esp):
    number = segment(esp, "Wave")
    status, problem = esp.call("POST", SEGMENTS, {"name": "Wave", "static_segment": []})
    assert (status, problem["detail"]) == (400, "Sorry, that tag already exists.")
    other = segment(esp, "Other")
    assert esp.call("PATCH", f"{SEGMENTS}/{other}", {"name": "Wave"})[0] == 400
    assert esp.call("DELETE", f"{SEGMENTS}/{number}") == (204, None)
    assert esp.call("DELETE", f"{SEGMENTS}/{number}")[0] == 404
    assert esp.call("PATCH", f"{SEGMENTS}/{other}", {"name": "Wave"})[0] == 200
    esp.sandbox.add_list("b2", "Staff", 3)
    assert esp.call("POST", "/lists/b2/segments", {"name": "Wave", "static_segment": []})[0] == 200
    assert esp.call("GET", f"/lists/b2/segments/{other}")[0] == 404


def test_strangers_in_a_chunk_are_errors_and_nothing_but_strangers_is_refused(esp):
    number = segment(esp, emails=[person(1), "stranger@people.example"])
    target = f"{SEGMENTS}/{number}"
    assert esp.call("GET", target)[1]["member_count"] == 1
    done = esp.call("POST", target, {"members_to_add": [person(2), person(2), "x@people.example"]})[1]
    assert (done["total_added"], done["error_count"]) == (1, 1)
    status, problem = esp.call("POST", target, {"members_to_add": ["x@people.example"]})
    assert (status, problem["errors"][0]["field"]) == (400, "members_to_add")
    done = esp.call("POST", target, {"members_to_remove": [person(1), person(9)]})[1]
    assert done["total_removed"] == 1
    assert esp.call("POST", target, {"members_to_add": [person(1)] * 501})[0] == 400
    status, problem = esp.call("POST", SEGMENTS, {"name": "Bad", "static_segment": ["AAAAA"]})
    assert (status, problem["errors"][0]["field"]) == (400, "static_segment")
    assert esp.call("PATCH", target, {"static_segment": []})[1]["member_count"] == 0


def test_a_saved_segment_follows_its_conditions_and_takes_no_members(esp):
    number = saved(esp, "9@example.invalid")
    count = esp.call("GET", f"{SEGMENTS}/{number}")[1]["member_count"]
    assert count == sum(n % 10 == 9 for n in range(1, 24_319))
    status, problem = esp.call("POST", f"{SEGMENTS}/{number}", {"members_to_add": [person(1)]})
    assert (status, "does not exist for this list" in problem["detail"]) == (404, True)
    assert esp.call("PATCH", f"{SEGMENTS}/{number}", {"static_segment": []})[0] == 400
    body = {"name": "Age", "options": {"match": "any", "conditions": [{"condition_type": "Date"}]}}
    assert esp.call("POST", SEGMENTS, body)[0] == 400
    kinds = [item["type"] for item in esp.call("GET", f"{SEGMENTS}?type=saved")[1]["segments"]]
    assert kinds == ["saved"]


def test_only_subscribed_members_of_a_segment_are_counted_and_mailed(esp):
    number = segment(esp, emails=[person(n) for n in range(1, 6)])
    esp.call("PATCH", f"{MEMBERS}/{person(2)}", {"status": "unsubscribed"})
    esp.call("DELETE", f"{MEMBERS}/{person(3)}")
    assert esp.call("GET", f"{SEGMENTS}/{number}")[1]["member_count"] == 3
    campaign, count = aimed(esp, number)
    assert count == 3
    everybody = esp.call("GET", f"{SEGMENTS}/{number}/members?include_unsubscribed=true")[1]
    assert everybody["total_items"] == 4
    esp.act(campaign, "send")
    esp.now_ms += MINUTE_MS
    sent = esp.call("GET", f"/reports/{campaign}/sent-to")[1]["sent_to"]
    assert [item["email_address"] for item in sent] == [person(1), person(4), person(5)]


def test_one_segment_in_place_of_another_keeps_the_old_count_and_mails_the_old_people(esp):
    many, few = segment(esp, "Many", [person(n) for n in range(1, 9)]), segment(esp, "Few", [person(9)])
    campaign, count = aimed(esp, many)
    assert count == 8
    campaign, count = aimed(esp, few, campaign)
    assert count == 8
    shown = esp.call("GET", f"/campaigns/{campaign}")[1]
    assert shown["recipients"]["segment_opts"]["saved_segment_id"] == few
    esp.act(campaign, "send")
    esp.now_ms += MINUTE_MS
    assert esp.call("GET", f"/reports/{campaign}/sent-to")[1]["total_items"] == 8


def test_no_segment_in_between_or_the_switch_recounts(esp):
    many, few = segment(esp, "Many", [person(n) for n in range(1, 9)]), segment(esp, "Few", [person(9)])
    campaign, _ = aimed(esp, many)
    campaign, count = aimed(esp, None, campaign)
    assert count == 24_318
    assert aimed(esp, few, campaign)[1] == 1
    esp.sandbox.world.behave(segment_swap="recounts")
    assert aimed(esp, many, campaign)[1] == 8


def test_a_deleted_segment_leaves_a_campaign_without_an_audience(esp):
    number = segment(esp, emails=[person(1)])
    campaign, _ = aimed(esp, number)
    esp.call("DELETE", f"{SEGMENTS}/{number}")
    assert esp.call("GET", f"/campaigns/{campaign}")[1]["recipients"]["recipient_count"] == 0
    assert esp.act(campaign, "send")[0] == 400


def test_campaigns_see_a_changed_segment_only_after_its_lag(esp):
    number = segment(esp, emails=[person(1)])
    campaign, _ = aimed(esp, number)
    esp.sandbox.faults.add(Fault("change_segment_members", "count_lag", ms=5_000))
    esp.call("POST", f"{SEGMENTS}/{number}", {"members_to_add": [person(2)]})

    def seen():
        return esp.call("GET", f"/campaigns/{campaign}")[1]["recipients"]["recipient_count"]

    assert (esp.call("GET", f"{SEGMENTS}/{number}")[1]["member_count"], seen()) == (2, 1)
    esp.now_ms += 5_000
    assert seen() == 2


def test_a_stale_read_tells_a_segment_of_a_while_ago(esp):
    esp.now_ms += MINUTE_MS
    number = segment(esp, emails=[person(1)])
    esp.sandbox.faults.add(
        Fault("segment", "stale_read", ms=30_000), Fault("segments", "stale_read", ms=30_000)
    )
    assert esp.call("GET", f"{SEGMENTS}/{number}")[0] == 404
    assert esp.call("GET", SEGMENTS)[1]["total_items"] == 0
    assert esp.call("GET", SEGMENTS)[1]["total_items"] == 1


def test_tags_are_static_segments(esp):
    tag = {"tags": [{"name": "vip", "status": "active"}, {"name": "old", "status": "inactive"}]}
    assert esp.call("POST", f"{MEMBERS}/{person(1)}/tags", tag) == (204, None)
    [made] = esp.call("GET", SEGMENTS)[1]["segments"]
    assert (made["name"], made["type"], made["member_count"]) == ("vip", "static", 1)
    assert esp.call("GET", f"{MEMBERS}/{person(1)}")[1]["tags"] == [{"id": made["id"], "name": "vip"}]
    esp.call("POST", f"{MEMBERS}/{person(1)}/tags", {"tags": [{"name": "vip", "status": "inactive"}]})
    assert esp.call("GET", f"{MEMBERS}/{person(1)}/tags")[1]["total_items"] == 0


def test_another_account_sees_neither_members_nor_segments():
    esp = Esp(keys=("one-us1", "two-us1"))
    number = segment(esp, emails=[person(1)])
    for target in (MEMBERS, SEGMENTS, f"{SEGMENTS}/{number}", f"{MEMBERS}/{person(1)}"):
        assert esp.call("GET", target, key="two-us1")[0] == 404
    assert esp.call("POST", LIST, {"members": []}, key="two-us1")[0] == 404


def test_a_reset_forgets_changes_and_segments_but_not_the_list(esp):
    segment(esp, emails=[person(1)])
    esp.call("DELETE", f"{MEMBERS}/{person(1)}")
    esp.sandbox.reset()
    assert esp.call("GET", SEGMENTS)[1]["total_items"] == 0
    assert esp.call("GET", MEMBERS)[1]["total_items"] == 24_318


def test_a_resized_list_keeps_who_was_added_and_who_left(esp):
    esp.call("POST", MEMBERS, {"email_address": "ann@people.example", "status": "subscribed"})
    esp.call("DELETE", f"{MEMBERS}/{person(1)}")
    esp.sandbox.add_list("a1b2c3", "Customers EU", 10)
    assert esp.call("GET", LIST)[1]["stats"]["member_count"] == 10
    assert esp.call("GET", MEMBERS)[1]["total_items"] == 10
