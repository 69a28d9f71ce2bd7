"""The world's switches, reports, search, and that every fault can be ordered for every operation."""

import json

import pytest

from campaignbridge.sandbox import Behaviour, Fault
from campaignbridge.sandbox.behaviour import VARIANTS, described
from campaignbridge.sandbox.faults import BREAKS, QUIRKS
from campaignbridge.sandbox.routes import OPERATIONS
from unit.test_sandbox import MINUTE_MS, Esp

SOON = {"schedule_time": "2026-01-01T00:15:00Z"}
LATER = {"schedule_time": "2026-01-01T00:30:00Z"}
LIST = "/lists/a1b2c3"
PERSON = "person1@example.invalid"


@pytest.fixture
def esp():
    return Esp()


def behave(esp, **switches):
    esp.sandbox.world.behave(**switches)


def finished(esp, **settings):
    campaign = esp.draft(**settings)
    assert esp.act(campaign, "send")[0] == 204
    esp.now_ms += MINUTE_MS
    return campaign


def test_a_repeated_schedule_is_refused_answered_or_moves_the_moment(esp):
    for variant, status, moment in (
        ("refused", 400, "00:15"),
        ("silent_204", 204, "00:15"),
        ("moved", 204, "00:30"),
    ):
        behave(esp, repeated_schedule=variant)
        campaign = esp.draft(variant)
        esp.act(campaign, "schedule", SOON)
        assert esp.act(campaign, "schedule", LATER)[0] == status
        assert f"T{moment}" in esp.call("GET", f"/campaigns/{campaign}")[1]["send_time"]
    esp.now_ms += 60 * MINUTE_MS
    esp.sandbox.settle()
    assert (esp.truth.sends_accepted(), esp.truth.duplicates()) == (3, 0)


def test_a_repeated_unschedule_and_a_repeated_cancel_can_answer_204(esp):
    behave(esp, repeated_unschedule="silent_204", repeated_cancel="silent_204")
    campaign = esp.draft()
    assert esp.act(campaign, "unschedule")[0] == 204
    esp.act(campaign, "send")
    assert [esp.act(campaign, "cancel-send")[0] for _ in range(2)] == [204, 204]
    assert esp.kinds().count("cancelled") == 1
    assert esp.act(finished(esp), "cancel-send")[0] == 400


def test_a_scheduled_campaign_can_be_sent_at_once_where_the_world_says_so(esp):
    campaign = esp.draft()
    esp.act(campaign, "schedule", SOON)
    assert esp.act(campaign, "send")[0] == 400
    behave(esp, send_scheduled="accepted")
    assert esp.act(campaign, "send")[0] == 204
    esp.now_ms += 60 * MINUTE_MS
    esp.sandbox.settle()
    assert esp.truth.sends_accepted() == 1


def test_deleting_what_is_no_draft_can_be_refused(esp):
    behave(esp, delete_started="refused")
    scheduled = esp.draft()
    esp.act(scheduled, "schedule", SOON)
    for campaign in (scheduled, finished(esp)):
        assert esp.call("DELETE", f"/campaigns/{campaign}")[0] == 400
    assert esp.call("DELETE", f"/campaigns/{esp.draft()}")[0] == 204


def test_a_plan_can_lack_scheduling_and_cancelling(esp):
    behave(esp, schedule_gate="refused_403", cancel_gate="refused_403")
    campaign = esp.draft()
    status, problem = esp.act(campaign, "schedule", SOON)
    assert (status, problem["status"]) == (403, 403)
    assert esp.act(campaign, "send")[0] == 204
    assert esp.act(campaign, "cancel-send")[0] == 403
    assert esp.call("GET", "/")[1]["pricing_plan_type"] == "forever_free"


def test_regular_campaigns_can_not_be_paused_or_resumed(esp):
    campaign = esp.draft()
    esp.act(campaign, "send")
    for action in ("pause", "resume"):
        assert esp.act(campaign, action)[0] == 400
    assert esp.status(campaign) == "sending"


def test_a_resend_is_refused_or_one_more_draft_that_can_be_sent(esp):
    campaign = finished(esp)
    wanted = {"shortcut_type": "to_non_openers"}
    assert esp.act(campaign, "create-resend", wanted)[0] == 400
    behave(esp, create_resend="new_draft")
    assert esp.act(esp.draft(), "create-resend", wanted)[0] == 400
    assert esp.act(campaign, "create-resend", {"shortcut_type": "to_all"})[0] == 400
    status, made = esp.act(campaign, "create-resend", wanted)
    assert (status, made["status"], made["parent_campaign_id"]) == (200, "save", campaign)
    assert esp.truth.events("created")[-1].by == "resend"
    assert esp.act(made["id"], "send")[0] == 204
    assert esp.truth.duplicates() == 1


def test_a_sender_of_an_unverified_domain_is_refused_where_that_matters(esp):
    behave(esp, unverified_sender="refused")
    campaign = esp.draft()
    assert "address(es)" in esp.act(campaign, "send")[1]["detail"]
    assert esp.call("GET", f"/campaigns/{campaign}/send-checklist")[1]["is_ready"] is False
    assert esp.act(esp.draft(reply_to="news@sandbox.example"), "send")[0] == 204
    assert esp.call("GET", "/verified-domains")[1]["domains"][0]["domain"] == "sandbox.example"
    assert esp.call("GET", "/verified-domains/shop.example")[0] == 404


def test_a_saved_segment_can_need_a_match(esp):
    behave(esp, segment_match="required")
    body = {"recipients": {"list_id": "a1b2c3", "segment_opts": {"saved_segment_id": 7}}}
    status, problem = esp.call("PATCH", f"/campaigns/{esp.draft()}", body)
    assert (status, problem["errors"][0]["field"]) == (400, "recipients.segment_opts.match")


def test_an_archived_campaign_reads_so_is_not_sent_and_what_was_under_way_goes_on(esp):
    campaign, draft = esp.draft(), esp.draft()
    esp.act(campaign, "send")
    esp.sandbox.faults.add(Fault("inspect", "archive", times=2))
    assert [esp.status(campaign), esp.status(draft)] == ["archived", "archived"]
    assert esp.act(draft, "send")[0] == 400
    esp.now_ms += MINUTE_MS
    assert esp.status(campaign) == "archived"
    assert (esp.truth.mailed(campaign), esp.truth.mailed(draft)) == (1, 0)
    assert esp.call("GET", "/campaigns?status=archived")[0] == 400


def test_folder_and_member_filters_are_taken_and_change_nothing(esp):
    esp.draft()
    assert esp.call("GET", "/campaigns?folder_id=f1&member_id=m1")[1]["total_items"] == 1


def test_a_search_finds_texts_and_tells_a_stale_state_when_told_so(esp):
    esp.now_ms += MINUTE_MS
    campaign = esp.draft("Spring [cb-spring.g1]")
    esp.draft("Autumn", subject_line="About SPRING")
    found = esp.call("GET", "/search-campaigns?query=spring")[1]
    assert found["total_items"] == 2
    assert found["results"][1]["campaign"]["id"] == campaign
    assert esp.call("GET", "/search-campaigns?query=")[0] == 400
    esp.sandbox.faults.add(Fault("search_campaigns", "stale_read", ms=30_000))
    assert esp.call("GET", "/search-campaigns?query=spring")[1]["total_items"] == 0


def test_a_report_is_there_only_after_its_lag(esp):
    behave(esp, report_lag_ms=5 * MINUTE_MS)
    campaign = finished(esp)
    targets = [f"/reports/{campaign}{rest}" for rest in ("", "/sent-to", "/unsubscribed", "/abuse-reports")]
    assert [esp.call("GET", target)[0] for target in targets] == [404] * 4
    esp.now_ms += 5 * MINUTE_MS
    assert [esp.call("GET", target)[0] for target in targets] == [200] * 4
    assert esp.call("GET", f"/reports/{esp.draft()}")[0] == 404
    assert esp.call("GET", "/reports")[1]["total_items"] == 1


def test_a_report_pages_through_everybody_who_was_mailed(esp):
    campaign = finished(esp)
    page = esp.call("GET", f"/reports/{campaign}/sent-to?count=1000&offset=24000")[1]
    assert (page["total_items"], len(page["sent_to"])) == (24_318, 318)
    esp.sandbox.add_list("a1b2c3", "Customers EU", 5)
    page = esp.call("GET", f"/reports/{campaign}/sent-to?count=1000&offset=24000")[1]
    assert (page["total_items"], len(page["sent_to"])) == (24_318, 318)


def test_a_report_of_a_cancelled_delivery_names_only_who_was_mailed(esp):
    campaign = esp.draft()
    esp.act(campaign, "send")
    esp.now_ms += 100
    esp.act(campaign, "cancel-send")
    esp.now_ms += 1_000
    assert esp.call("GET", f"/reports/{campaign}/sent-to")[1]["total_items"] == 24_318 // 5
    assert esp.call("GET", f"/reports/{campaign}")[1]["emails_sent"] == 24_318 // 5


def test_bounces_and_departures_follow_their_rates_and_change_the_list(esp):
    behave(esp, hard_bounces=100, soft_bounces=50, unsubscribes=20, complaints=10)
    esp.sandbox.add_list("a1b2c3", "Customers EU", 1_000)
    campaign = finished(esp)
    report = esp.call("GET", f"/reports/{campaign}")[1]
    hard, soft = report["bounces"]["hard_bounces"], report["bounces"]["soft_bounces"]
    assert 60 < hard < 140
    assert 20 < soft < 80
    assert 5 <= report["unsubscribed"] < 40
    assert 1 <= report["abuse_reports"] < 25
    sent = esp.call("GET", f"/reports/{campaign}/sent-to?count=1000")[1]["sent_to"]
    assert [item["status"] for item in sent].count("hard") == hard
    left = esp.call("GET", f"/reports/{campaign}/unsubscribed?count=1000")[1]["unsubscribes"]
    assert len(left) == report["unsubscribed"]
    assert esp.call("GET", f"{LIST}/members/{left[0]['email_id']}")[1]["status"] == "unsubscribed"
    gone = hard + report["unsubscribed"] + report["abuse_reports"]
    assert esp.call("GET", LIST)[1]["stats"]["member_count"] == 1_000 - gone
    assert "example.invalid" not in esp.truth.to_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"repeated_schedule": "maybe"},
        {"connection_limit": 129},
        {"hard_bounces": 600, "soft_bounces": 600},
        {"report_lag_ms": True},
    ],
)
def test_an_impossible_switch_is_refused(wrong):
    with pytest.raises(ValueError):
        Behaviour(**wrong)


def test_every_switch_is_described_and_every_variant_can_be_chosen(esp):
    assert set(VARIANTS) < set(described())
    for name, allowed in VARIANTS.items():
        for value in allowed:
            assert getattr(esp.sandbox.world.behave(**{name: value}), name) == value


CALLS = {
    "account": ("GET", "/", None),
    "ping": ("GET", "/ping", None),
    "verified_domains": ("GET", "/verified-domains", None),
    "verified_domain": ("GET", "/verified-domains/sandbox.example", None),
    "lists": ("GET", "/lists", None),
    "list": ("GET", LIST, None),
    "merge_fields": ("GET", f"{LIST}/merge-fields", None),
    "members": ("GET", f"{LIST}/members", None),
    "add_member": ("POST", f"{LIST}/members", {"email_address": "a@b.example", "status": "subscribed"}),
    "batch_members": ("POST", LIST, {"members": [{"email_address": "a@b.example", "status": "subscribed"}]}),
    "member": ("GET", f"{LIST}/members/{PERSON}", None),
    "put_member": ("PUT", f"{LIST}/members/{PERSON}", {"email_address": PERSON}),
    "update_member": ("PATCH", f"{LIST}/members/{PERSON}", {"vip": True}),
    "archive_member": ("DELETE", f"{LIST}/members/{PERSON}", None),
    "member_tags": ("GET", f"{LIST}/members/{PERSON}/tags", None),
    "tag_member": ("POST", f"{LIST}/members/{PERSON}/tags", {"tags": [{"name": "x", "status": "active"}]}),
    "segments": ("GET", f"{LIST}/segments", None),
    "create_segment": ("POST", f"{LIST}/segments", {"name": "New", "static_segment": [PERSON]}),
    "segment": ("GET", f"{LIST}/segments/1", None),
    "update_segment": ("PATCH", f"{LIST}/segments/1", {"name": "Renamed"}),
    "change_segment_members": ("POST", f"{LIST}/segments/1", {"members_to_remove": [PERSON]}),
    "delete_segment": ("DELETE", f"{LIST}/segments/1", None),
    "segment_members": ("GET", f"{LIST}/segments/1/members", None),
    "add_segment_member": (
        "POST",
        f"{LIST}/segments/1/members",
        {"email_address": "person2@example.invalid"},
    ),
    "remove_segment_member": ("DELETE", f"{LIST}/segments/1/members/{PERSON}", None),
    "webhooks": ("GET", f"{LIST}/webhooks", None),
    "add_webhook": ("POST", f"{LIST}/webhooks", {"url": "http://127.0.0.1:9/other"}),
    "webhook_info": ("GET", f"{LIST}/webhooks/HOOK", None),
    "update_webhook": ("PATCH", f"{LIST}/webhooks/HOOK", {"events": {"campaign": True}}),
    "delete_webhook": ("DELETE", f"{LIST}/webhooks/HOOK", None),
    "list_campaigns": ("GET", "/campaigns", None),
    "create": ("POST", "/campaigns", {"type": "regular"}),
    "inspect": ("GET", "/campaigns/DRAFT", None),
    "update": ("PATCH", "/campaigns/DRAFT", {"settings": {"title": "x"}}),
    "delete": ("DELETE", "/campaigns/DRAFT", None),
    "read_content": ("GET", "/campaigns/DRAFT/content", None),
    "content": ("PUT", "/campaigns/DRAFT/content", {"html": "<p>x</p>"}),
    "checklist": ("GET", "/campaigns/DRAFT/send-checklist", None),
    "test": ("POST", "/campaigns/DRAFT/actions/test", {"test_emails": ["a@b.example"], "send_type": "html"}),
    "schedule": ("POST", "/campaigns/DRAFT/actions/schedule", {"schedule_time": "2026-01-01T00:45:00Z"}),
    "unschedule": ("POST", "/campaigns/SCHEDULED/actions/unschedule", None),
    "send": ("POST", "/campaigns/DRAFT/actions/send", None),
    "cancel": ("POST", "/campaigns/SENDING/actions/cancel-send", None),
    "pause": ("POST", "/campaigns/DRAFT/actions/pause", None),
    "resume": ("POST", "/campaigns/DRAFT/actions/resume", None),
    "replicate": ("POST", "/campaigns/DRAFT/actions/replicate", None),
    "create_resend": ("POST", "/campaigns/SENT/actions/create-resend", {}),
    "search_campaigns": ("GET", "/search-campaigns?query=x", None),
    "reports": ("GET", "/reports", None),
    "report": ("GET", "/reports/SENT", None),
    "sent_to": ("GET", "/reports/SENT/sent-to", None),
    "unsubscribed": ("GET", "/reports/SENT/unsubscribed", None),
    "abuse_reports": ("GET", "/reports/SENT/abuse-reports", None),
}
NEVER_ACCEPTED = {"pause", "resume"}
APPLYING = {"accept_then_drop", "accept_then_withhold", "accept_then_5xx", "slow", "truncated", "garbled"}


def staged():
    """Return a world in which each of the calls above has something to act on, and the names it needs."""
    esp = Esp()
    behave(esp, create_resend="new_draft", sending_ms=20 * MINUTE_MS)
    esp.call("POST", f"{LIST}/segments", {"name": "W", "static_segment": [PERSON]})
    esp.sandbox.world.hooks.visit = lambda _url: True
    _, hook = esp.call("POST", f"{LIST}/webhooks", {"url": "http://127.0.0.1:9/hook"})
    names = {"HOOK": hook["id"], "SENT": esp.draft("1")}
    esp.act(names["SENT"], "send")
    esp.now_ms += 20 * MINUTE_MS
    names |= {"SENDING": esp.draft("2"), "DRAFT": esp.draft("3"), "SCHEDULED": esp.draft("4")}
    esp.act(names["SENDING"], "send")
    esp.act(names["SCHEDULED"], "schedule", LATER)
    return esp, names


def play(operation, *faults):
    """Return the answer to an operation under faults, and the truth that it made."""
    esp, names = staged()
    method, target, body = CALLS[operation]
    for name, value in names.items():
        target = target.replace(name, value)
    before = len(esp.truth.events())
    esp.sandbox.faults.add(*(Fault(operation, kind, ms=1_000) for kind in faults))
    response, effect = esp.raw(method, target, body)
    seen = esp.truth.requests()[-1]
    assert (seen.operation, seen.fault) == (operation, "+".join(faults))
    return response, effect, [event.kind for event in esp.truth.events()[before:]], esp


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_every_fault_can_be_ordered_for_every_operation(operation):
    plain, _, events, _ = play(operation)
    assert plain.status in (200, 204, 400)
    assert (plain.status == 400) is (operation in NEVER_ACCEPTED)
    for kind in sorted(BREAKS):
        _, _, made, esp = play(operation, kind)
        if kind in APPLYING:
            assert made == events, kind
        else:
            assert made == [], kind
        if kind == "apply_late":
            before = len(esp.truth.events())
            esp.now_ms += 1_000
            esp.sandbox.settle()
            late = [event.kind for event in esp.truth.events()[before:]]
            assert [made for made in late if made != "mailed"] == events  # of what was under way anyway
    for kind in sorted(QUIRKS):
        response, _, _, _ = play(operation, kind)
        assert response.status in (200, 204, 400, 404), kind
        assert response.body == b"" or json.loads(response.body)


def test_the_list_of_calls_names_every_operation():
    assert set(CALLS) == OPERATIONS
