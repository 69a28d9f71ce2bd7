"""Faults: what is applied, what is told, and how often, in virtual time and without a network."""

import json

import pytest

from campaignbridge.sandbox import Delivery, Fault
from unit.test_sandbox import START_MS, Esp


@pytest.fixture
def esp():
    return Esp()


def order(esp, operation, kind, **options):
    esp.sandbox.faults.add(Fault(operation, kind, **options))


def send(esp, campaign):
    return esp.raw("POST", f"/campaigns/{campaign}/actions/send")


@pytest.mark.parametrize(
    ("kind", "applied", "delivery", "status"),
    [
        ("drop_before", False, Delivery.DROP, 0),
        ("hang", False, Delivery.WITHHOLD, 0),
        ("refuse_5xx", False, Delivery.DELIVER, 500),
        ("status_429", False, Delivery.DELIVER, 429),
        ("bare_403", False, Delivery.DELIVER, 403),
        ("proxy_page", False, Delivery.DELIVER, 502),
        ("accept_then_drop", True, Delivery.DROP, 0),
        ("accept_then_withhold", True, Delivery.WITHHOLD, 0),
        ("accept_then_5xx", True, Delivery.DELIVER, 500),
        ("garbled", True, Delivery.DELIVER, 200),
        ("slow", True, Delivery.DELIVER, 204),
        ("truncated", True, Delivery.DELIVER, 200),
    ],
)
def test_a_break_decides_apart_what_is_applied_and_what_is_answered(esp, kind, applied, delivery, status):
    campaign = esp.draft()
    order(esp, "send", kind, ms=5 if kind == "slow" else 0)
    response, effect = send(esp, campaign)
    assert (esp.truth.sends_accepted() == 1) is applied
    assert (effect.delivery, response.status) == (delivery, status)
    seen = esp.truth.requests()[-1]
    assert (seen.operation, seen.fault) == ("send", kind)
    assert seen.status == (status or None)
    assert esp.status(campaign) == ("sending" if applied else "save")


def test_a_fault_is_spent_after_its_times_and_waits_for_the_calls_before_it(esp):
    order(esp, "ping", "bare_403", times=2, after=1)
    assert [esp.call("GET", "/ping")[0] for _ in range(5)] == [200, 403, 403, 200, 200]


def test_faults_of_one_operation_are_played_in_order(esp):
    order(esp, "ping", "bare_403")
    order(esp, "*", "status_429")
    assert [esp.call("GET", "/ping")[0] for _ in range(3)] == [403, 429, 200]


def test_a_fault_without_an_end_lasts_until_it_is_cleared(esp):
    order(esp, "*", "refuse_5xx", status=503, times=None)
    assert [esp.call("GET", "/ping")[0] for _ in range(3)] == [503, 503, 503]
    esp.sandbox.faults.clear()
    assert esp.call("GET", "/ping")[0] == 200


@pytest.mark.parametrize(
    ("answer", "delivery", "status"),
    [("withhold", Delivery.WITHHOLD, 0), ("drop", Delivery.DROP, 0), ("504", Delivery.DELIVER, 504)],
)
def test_a_late_application_happens_by_itself_at_its_moment(esp, answer, delivery, status):
    campaign = esp.draft()
    order(esp, "send", "apply_late", ms=30_000, answer=answer)
    response, effect = send(esp, campaign)
    assert (effect.delivery, response.status) == (delivery, status)
    esp.now_ms += 29_999
    assert esp.status(campaign) == "save"
    esp.now_ms += 100_000
    assert esp.status(campaign) == "sent"
    [accepted] = esp.truth.events("send_accepted")
    assert (accepted.at_ms, accepted.by) == (START_MS + 30_000, "late")


def test_a_late_application_that_is_no_longer_legal_does_nothing(esp):
    campaign = esp.draft()
    order(esp, "send", "apply_late", ms=30_000)
    send(esp, campaign)
    assert send(esp, campaign)[0].status == 204
    esp.now_ms += 60_000
    esp.sandbox.settle()
    assert esp.truth.sends_accepted() == 1
    other = esp.draft()
    order(esp, "send", "apply_late", ms=30_000)
    send(esp, other)
    esp.call("DELETE", f"/campaigns/{other}")
    esp.now_ms += 60_000
    esp.sandbox.settle()
    assert esp.truth.sends_accepted() == 1


def test_a_late_application_after_a_second_send_is_a_duplicate_where_repeats_are_accepted(esp):
    esp.sandbox.world.behave(repeated_send="accepted_again")
    campaign = esp.draft()
    order(esp, "send", "apply_late", ms=30_000)
    send(esp, campaign)
    send(esp, campaign)
    esp.now_ms += 60_000
    esp.sandbox.settle()
    assert (esp.truth.duplicates(), esp.truth.mailed()) == (1, 2)


def test_a_late_create_shows_up_in_searches_only_then(esp):
    order(esp, "create", "apply_late", ms=1_000)
    esp.raw("POST", "/campaigns", {"type": "regular"})
    assert esp.call("GET", "/campaigns")[1]["total_items"] == 0
    esp.now_ms += 1_000
    assert esp.call("GET", "/campaigns")[1]["total_items"] == 1


def test_a_proxy_page_is_html_and_applies_the_call_when_told_so(esp):
    campaign = esp.draft()
    order(esp, "send", "proxy_page", status=200, applied=True)
    response, _ = send(esp, campaign)
    assert (response.status, response.headers["Content-Type"]) == (200, "text/html")
    assert response.body.startswith(b"<html>")
    assert esp.truth.sends_accepted() == 1


def test_a_garbled_answer_can_not_be_read_and_need_not_be_true(esp):
    order(esp, "create", "garbled", applied=False)
    response, _ = esp.raw("POST", "/campaigns", {"type": "regular"})
    with pytest.raises(ValueError):
        json.loads(response.body)
    assert esp.kinds() == []


def test_a_429_has_a_body_and_a_header_only_when_told_so(esp):
    order(esp, "ping", "status_429", bare=True)
    order(esp, "ping", "status_429", retry_after=3)
    bare, _ = esp.raw("GET", "/ping")
    full, _ = esp.raw("GET", "/ping")
    assert (bare.status, bare.body, dict(bare.headers)) == (429, b"", {})
    assert (full.headers["Retry-After"], json.loads(full.body)["status"]) == ("3", 429)


def test_slowness_and_truncation_are_data_for_the_network(esp):
    order(esp, "ping", "slow", ms=1_500)
    order(esp, "ping", "truncated", keep=3)
    assert esp.raw("GET", "/ping")[1].delay_ms == 1_500
    response, effect = esp.raw("GET", "/ping")
    assert (effect.first_bytes, response.status) == (3, 200)


def test_a_stale_read_tells_the_state_of_a_while_ago(esp):
    campaign = esp.draft()
    esp.now_ms += 60_000
    send(esp, campaign)
    esp.now_ms += 10_000
    order(esp, "inspect", "stale_read", ms=30_000)
    assert [esp.status(campaign), esp.status(campaign)] == ["save", "sent"]
    order(esp, "inspect", "stale_read", ms=9_800)
    assert esp.call("GET", f"/campaigns/{campaign}")[1]["emails_sent"] == 24_318 * 2 // 5
    order(esp, "list_campaigns", "stale_read", ms=80_000)
    assert [esp.call("GET", "/campaigns")[1]["total_items"] for _ in range(2)] == [0, 1]


def test_a_lagging_count_reads_zero_and_holds_the_send_until_it_is_there(esp):
    order(esp, "create", "count_lag", ms=5_000)
    campaign = esp.draft()
    assert esp.call("GET", f"/campaigns/{campaign}")[1]["recipients"]["recipient_count"] == 0
    problem = json.loads(send(esp, campaign)[0].body)
    assert problem["detail"] == "Your Campaign is not ready to send. recipients not ready"
    esp.now_ms += 5_000
    assert esp.call("GET", f"/campaigns/{campaign}")[1]["recipients"]["recipient_count"] == 24_318
    assert send(esp, campaign)[0].status == 204


def test_sent_zero_on_a_send_mails_nobody_and_on_a_read_only_says_so(esp):
    campaign, other = esp.draft("One"), esp.draft("Two")
    order(esp, "send", "sent_zero")
    send(esp, campaign)
    send(esp, other)
    esp.now_ms += 500
    shown = esp.call("GET", f"/campaigns/{campaign}")[1]
    assert (shown["status"], shown["emails_sent"]) == ("sent", 0)
    order(esp, "inspect", "sent_zero")
    assert [esp.call("GET", f"/campaigns/{other}")[1]["emails_sent"] for _ in range(2)] == [0, 24_318]
    assert [event.recipients for event in esp.truth.events("mailed")] == [0, 24_318]


def test_a_vanished_campaign_answers_404_everywhere_and_is_still_mailed(esp):
    campaign = esp.draft()
    send(esp, campaign)
    order(esp, "inspect", "vanish")
    assert [esp.call("GET", f"/campaigns/{campaign}")[0] for _ in range(2)] == [404, 404]
    assert esp.call("GET", "/campaigns")[1]["total_items"] == 0
    assert send(esp, campaign)[0].status == 404
    esp.now_ms += 500
    esp.sandbox.settle()
    assert esp.truth.mailed() == 1
    order(esp, "create", "vanish")
    made = esp.call("POST", "/campaigns", {"type": "regular"})[1]
    assert esp.call("GET", f"/campaigns/{made['id']}")[0] == 404


def test_a_break_and_quirks_can_be_played_together(esp):
    order(esp, "create", "count_lag", ms=5_000)
    order(esp, "create", "accept_then_drop")
    esp.raw("POST", "/campaigns", {"type": "regular", "recipients": {"list_id": "a1b2c3"}})
    [shown] = esp.call("GET", "/campaigns")[1]["campaigns"]
    assert shown["recipients"]["recipient_count"] == 0
    assert esp.truth.requests()[0].fault == "accept_then_drop+count_lag"


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "fly", "kind": "hang"},
        {"operation": "send", "kind": "explode"},
        {"operation": "send", "kind": "hang", "times": 0},
        {"operation": "send", "kind": "slow", "ms": -1},
        {"operation": "send", "kind": "apply_late", "answer": "maybe"},
        {"operation": "send", "kind": "refuse_5xx", "status": 42},
        {"operation": "send", "kind": "hang", "colour": "red"},
        {"operation": ["send"], "kind": "hang"},
        {"kind": "hang"},
        "hang",
    ],
)
def test_an_order_that_can_not_be_played_is_refused(wrong):
    with pytest.raises(ValueError):
        Fault.of(wrong)
