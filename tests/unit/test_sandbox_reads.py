"""The sandbox as an API: pages, filters, fields, keys, and how it refuses what doesn't fit."""

import json

import pytest

from unit.test_sandbox import MINUTE_MS, Esp


@pytest.fixture
def esp():
    return Esp()


def test_a_page_of_campaigns_has_ten_newest_first_and_tells_the_total(esp):
    made = []
    for number in range(12):
        made.append(esp.draft(f"N{number}"))
        esp.now_ms += 1_000
    page = esp.call("GET", "/campaigns")[1]
    assert [item["id"] for item in page["campaigns"]] == made[::-1][:10]
    assert page["total_items"] == 12
    rest = esp.call("GET", "/campaigns?count=10&offset=10&sort_field=create_time&sort_dir=DESC")[1]
    assert [item["id"] for item in rest["campaigns"]] == made[::-1][10:]


def test_campaigns_are_found_by_status_list_and_creation_time(esp):
    old = esp.draft("old")
    esp.now_ms += 60 * MINUTE_MS
    new = esp.draft("new")
    esp.act(old, "send")

    def found(query):
        return [item["id"] for item in esp.call("GET", f"/campaigns?{query}")[1]["campaigns"]]

    assert found("since_create_time=2026-01-01T00:30:00%2B00:00") == [new]
    assert found("before_create_time=2026-01-01T00:30:00Z") == [old]
    assert found("status=save&list_id=a1b2c3&type=regular") == [new]
    assert found("list_id=elsewhere") == []
    assert found("since_send_time=2026-01-01T00:30:00Z") == [old]


@pytest.mark.parametrize("query", ["count=1001", "count=x", "status=canceled", "since_create_time=soon"])
def test_a_query_that_does_not_fit_the_schema_is_refused_with_its_field(esp, query):
    status, problem = esp.call("GET", f"/campaigns?{query}")
    assert status == 400
    assert problem["errors"][0]["field"] == query.partition("=")[0]


def test_fields_cut_an_answer_down_and_exclude_fields_leave_parts_out(esp):
    campaign = esp.draft()
    page = esp.call("GET", "/campaigns?fields=campaigns.id,campaigns.settings.title,total_items")[1]
    assert page == {
        "campaigns": [{"id": campaign, "settings": {"title": "Spring [cb-spring.g1]"}}],
        "total_items": 1,
    }
    shown = esp.call("GET", f"/campaigns/{campaign}?exclude_fields=_links,recipients.list_name")[1]
    assert "_links" not in shown
    assert "list_name" not in shown["recipients"]
    assert shown["recipients"]["list_id"] == "a1b2c3"


def test_a_key_opens_by_basic_and_by_bearer_and_nothing_else_does(esp):
    assert esp.call("GET", "/ping") == (200, {"health_status": "Everything's Chimpy!"})
    assert esp.call("GET", "/ping", headers={"Authorization": f"Bearer {esp.key}"})[0] == 200
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic !!"},
        {"Authorization": "X y"},
    ):
        assert esp.call("GET", "/ping", headers=headers)[0] == 401


def test_accounts_do_not_see_each_other():
    esp = Esp(keys=("one-us1", "two-us1"))
    campaign = esp.draft()
    assert esp.call("GET", f"/campaigns/{campaign}", key="two-us1")[0] == 404
    assert esp.call("GET", "/campaigns", key="two-us1")[1]["total_items"] == 0
    assert esp.call("GET", "/lists", key="two-us1")[1]["lists"] == []
    names = [esp.call("GET", "/", key=key)[1]["account_id"] for key in ("one-us1", "two-us1")]
    assert len(set(names)) == 2


def test_an_audience_tells_its_size_and_its_merge_fields(esp):
    lists = esp.call("GET", "/lists")[1]
    assert [(item["id"], item["name"]) for item in lists["lists"]] == [("a1b2c3", "Customers EU")]
    assert esp.call("GET", "/lists/a1b2c3")[1]["stats"]["member_count"] == 24_318
    fields = esp.call("GET", "/lists/a1b2c3/merge-fields")[1]
    assert [item["tag"] for item in fields["merge_fields"]] == ["FNAME", "LNAME"]
    assert esp.call("GET", "/lists/unknown")[0] == 404


def test_a_refusal_is_a_problem_document_with_a_request_id(esp):
    response, _ = esp.raw("GET", "/campaigns/unknown")
    problem = json.loads(response.body)
    assert response.status == 404
    assert response.headers["Content-Type"].startswith("application/problem+json")
    assert response.headers["X-Request-Id"] == problem["instance"]
    assert "describedBy" in response.headers["Link"]
    assert set(problem) == {"type", "title", "status", "detail", "instance"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "type"),
        ({"type": "pigeon"}, "type"),
        ({"type": "regular", "settings": {"title": 5}}, "settings.title"),
        ({"type": "regular", "recipients": {"list_id": "nope"}}, "recipients.list_id"),
        ({"type": "regular", "settings": []}, "settings"),
        ([], ""),
    ],
)
def test_a_create_that_does_not_fit_the_schema_names_the_field_and_creates_nothing(esp, body, field):
    status, problem = esp.call("POST", "/campaigns", body)
    assert (status, problem["errors"][0]["field"]) == (400, field)
    assert esp.kinds() == []


def test_unreadable_oversized_and_misdirected_requests_are_refused(esp):
    for body in (b"{", b"\xff", b'{"type": "regular", "settings": {"title": "\\ud800"}}', b"[" * 100_000):
        assert esp.call("POST", "/campaigns", body)[0] == 400
    assert esp.call("POST", "/campaigns", b" " * (5 * 1024 * 1024 + 1))[0] == 413
    response, _ = esp.raw("DELETE", "/campaigns")
    assert (response.status, response.headers["Allow"]) == (405, "GET, POST")
    assert esp.call("GET", "/pigeons")[0] == 404
