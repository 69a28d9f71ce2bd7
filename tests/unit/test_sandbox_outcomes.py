"""The sandbox's delivery simulator: what becomes of each mail, where, when, and who is told, at both providers."""

import json
import tracemalloc
from collections import Counter
from itertools import pairwise
from urllib.parse import parse_qsl

import pytest

from campaignbridge.sandbox import Request
from campaignbridge.sandbox.control import Control
from campaignbridge.sandbox.outcome_rules import MOST_RULES, OutcomeRule
from campaignbridge.sandbox.people import address
from unit.test_resend_sandbox import Esp as Resend
from unit.test_sandbox import MINUTE_MS, Esp

HOUR_MS = 60 * MINUTE_MS
LIST = "/lists/a1b2c3"
BAD = {"hard_bounces": 60, "soft_bounces": 20, "unsubscribes": 10, "complaints": 5}
SPREAD = {"bounces_over_ms": 6 * HOUR_MS, "replies_over_ms": 24 * HOUR_MS}


@pytest.fixture
def esp():
    return Esp()


def figures(esp, campaign):
    report = esp.call("GET", f"/reports/{campaign}")[1]
    return (
        report["emails_sent"],
        report["bounces"]["hard_bounces"],
        report["bounces"]["soft_bounces"],
        report["unsubscribed"],
        report["abuse_reports"],
    )


def mailed(esp, title="Spring [cb-spring.g1]"):
    campaign = esp.draft(title)
    assert esp.act(campaign, "send")[0] == 204
    return campaign


def metrics(resend, broadcast):
    query = f"broadcast_id={broadcast}&dimensions=broadcast&start_date=2026-01-01T00:00:00Z"
    return resend.ask("GET", f"/emails/metrics?{query}")["data"][0]


def control(sandbox, method, path, body=None):
    payload = b"" if body is None else json.dumps(body).encode()
    answered = Control(sandbox).handle(Request.parse(method, path, {}, payload))
    return answered.status, json.loads(answered.body) if answered.body else None


def test_a_reports_figures_grow_while_time_passes_and_end_near_their_rates(esp):
    esp.sandbox.world.behave(**BAD, **SPREAD)
    campaign = mailed(esp)
    seen = []
    for _ in range(6):
        esp.now_ms += HOUR_MS
        seen.append(figures(esp, campaign))
    assert all(a <= b for before, now in pairwise(seen) for a, b in zip(before, now, strict=True))
    assert seen[0][1] < seen[2][1] < seen[5][1]
    esp.now_ms += 24 * HOUR_MS
    sent, hard, soft, left, complained = figures(esp, campaign)
    assert sent == 24_318
    for count, rate in ((hard, 60), (soft, 20), (left, 10), (complained, 5)):
        assert 0.8 < count * 1000 / sent / rate < 1.2
    esp.now_ms += 240 * HOUR_MS
    assert figures(esp, campaign) == (sent, hard, soft, left, complained)


def test_the_same_seed_gives_the_same_figures_and_another_one_others():
    told = []
    for seed in (7, 7, 8):
        esp = Esp(seed)
        esp.sandbox.world.behave(**BAD, **SPREAD)
        campaign = mailed(esp)
        esp.now_ms += 3 * HOUR_MS
        told.append(figures(esp, campaign))
    assert told[0] == told[1] != told[2]


def test_a_rate_may_be_a_part_of_one_in_a_thousand(esp):
    esp.sandbox.world.behave(complaints=0.4)
    campaign = mailed(esp)
    esp.now_ms += MINUTE_MS
    assert 1 <= figures(esp, campaign)[4] <= 25


def test_the_list_changes_when_something_is_heard_and_its_webhook_goes_out_then(esp):
    esp.sandbox.world.hooks.visit = lambda _url: True
    kinds = dict.fromkeys(("unsubscribe", "cleaned", "campaign"), True)
    everyone = dict.fromkeys(("user", "admin", "api"), True)
    place = {"url": "http://127.0.0.1:9/hook", "events": kinds, "sources": everyone}
    assert esp.call("POST", f"{LIST}/webhooks", place)[0] == 200
    esp.sandbox.add_list("a1b2c3", "Customers EU", 1_000)
    esp.sandbox.world.behave(**BAD, **SPREAD)
    posts = []
    campaign = mailed(esp)
    for _ in range(30):
        esp.now_ms += HOUR_MS
        esp.sandbox.carry(lambda _url, body, _key, _now: posts.append(dict(parse_qsl(body.decode()))) or 200)
        told = Counter(post["type"] for post in posts)
        _, hard, _, left, complained = figures(esp, campaign)
        assert (told["cleaned"], told["unsubscribe"]) == (hard, left + complained)
        people = esp.call("GET", LIST)[1]["stats"]["member_count"]
        assert people == 1_000 - hard - left - complained
    assert told["cleaned"] > 20
    reasons = Counter(post.get("data[reason]") for post in posts if post["type"] == "unsubscribe")
    assert (reasons["abuse"], reasons["manual"]) == (complained, left)


def test_the_record_of_each_receiver_says_the_same_as_the_figures(esp):
    esp.sandbox.world.behave(**BAD, **SPREAD)
    campaign = mailed(esp)
    esp.now_ms += 3 * HOUR_MS
    sent, hard, soft, left, complained = figures(esp, campaign)
    statuses = Counter()
    for offset in range(0, sent, 1_000):
        page = esp.call("GET", f"/reports/{campaign}/sent-to?count=1000&offset={offset}")[1]["sent_to"]
        statuses.update(row["status"] for row in page)
    assert statuses == {"hard": hard, "soft": soft, "sent": sent - hard - soft}
    assert esp.call("GET", f"/reports/{campaign}/unsubscribed")[1]["total_items"] == left
    assert len(esp.call("GET", f"/reports/{campaign}/abuse-reports")[1]["abuse_reports"]) == complained


def test_of_a_delivery_that_was_stopped_only_mails_that_left_are_heard_of(esp):
    esp.sandbox.world.behave(hard_bounces=1_000, bounces_over_ms=HOUR_MS)
    campaign = mailed(esp)
    esp.now_ms += 100
    esp.act(campaign, "cancel-send")
    esp.now_ms += 2 * HOUR_MS
    sent, hard, *_ = figures(esp, campaign)
    assert sent == hard == 24_318 // 5
    gone = esp.call("GET", f"{LIST}/members/{address(sent)}")[1]["status"]
    kept = esp.call("GET", f"{LIST}/members/{address(sent + 1)}")[1]["status"]
    assert (gone, kept) == ("cleaned", "subscribed")


def test_one_segment_fares_badly_while_its_neighbours_do_well(esp):
    rules = [{"segment": "*wave-2*", "hard_bounces": 80}, {"title": "*spam*", "complaints": 9}]
    assert control(esp.sandbox, "POST", "/control/outcomes", rules)[0] == 200
    found = []
    for name in ("cb-winter-wave-1", "cb-winter-wave-2"):
        members = [address(number) for number in range(1, 1_001)]
        body = {"name": name, "static_segment": members}
        number = esp.call("POST", f"{LIST}/segments", body)[1]["id"]
        campaign = esp.draft(f"{name} [cb-{number}]")
        choice = {"recipients": {"list_id": "a1b2c3", "segment_opts": {"saved_segment_id": number}}}
        assert esp.call("PATCH", f"/campaigns/{campaign}", choice)[0] == 200
        assert esp.act(campaign, "send")[0] == 204
        esp.now_ms += MINUTE_MS
        found.append(figures(esp, campaign))
    assert found[0] == (1_000, 0, 0, 0, 0)
    assert 50 < found[1][1] < 110
    titled = mailed(esp, "More spam [cb-9]")
    esp.now_ms += MINUTE_MS
    assert figures(esp, titled)[1] == 0 < figures(esp, titled)[4]


def test_rules_are_listed_forgotten_and_bounded_and_a_wrong_one_changes_nothing(esp):
    rule = {"list": "a1*", "segment": "*", "title": "*", "hard_bounces": 0.5, "delay_ms": 1_000}
    assert control(esp.sandbox, "POST", "/control/outcomes", [rule]) == (200, [rule])
    for wrong in (
        {"hard_bounces": 1_001},
        {"lists": "*"},
        {"segment": 7},
        {"delay_ms": 0.5},
        {"title": "x" * 201},
        3,
    ):
        status, answered = control(esp.sandbox, "POST", "/control/outcomes", [{"complaints": 1}, wrong])
        assert status == 400, answered
    assert control(esp.sandbox, "POST", "/control/outcomes", [rule] * MOST_RULES)[0] == 400
    assert control(esp.sandbox, "GET", "/control/outcomes") == (200, [rule])
    assert control(esp.sandbox, "DELETE", "/control/outcomes")[0] == 204
    assert control(esp.sandbox, "GET", "/control/outcomes") == (200, [])
    esp.sandbox.world.rule_outcomes(OutcomeRule.of(rule))
    esp.sandbox.reset()
    assert esp.sandbox.world.outcome_rules == []


def test_resends_figures_records_and_events_tell_the_same_over_time():
    esp = Resend(**BAD, **SPREAD, delays=300, delay_ms=2 * HOUR_MS)
    kinds = ["email.sent", "email.delivered", "email.delivery_delayed", "email.bounced", "email.complained"]
    esp.ask("POST", "/webhooks", {"endpoint": "http://127.0.0.1:9/x", "events": kinds}, 201)
    heard = Counter()

    def post(_url, body, _key, _now):
        event = json.loads(body)
        heard[event["type"]] += 1
        return 200

    broadcast = esp.sent()
    before = None
    for _ in range(40):
        row = metrics(esp, broadcast)
        esp.sandbox.carry(post)
        assert heard["email.bounced"] == row["bounced"]
        assert heard["email.complained"] == row["complained"]
        assert heard["email.delivery_delayed"] == row["delivery_delayed"]
        for kind in ("delivered", "bounced", "complained", "unsubscribed"):
            people = esp.ask("GET", f"/broadcasts/{broadcast}/recipients?type={kind}&limit=100")["data"]
            assert len(people) == min(row[kind], 100)
        assert before is None or all(
            row[kind] >= before[kind] for kind in ("delivered", "bounced", "complained")
        )
        before = row
        esp.now_ms += HOUR_MS
    assert row["sent"] == 240 == row["delivered"] + row["bounced"]
    assert row["bounced"] > 5
    assert 40 < row["delivery_delayed"] < 110


def test_a_delayed_mail_is_delivered_later_and_not_before():
    esp = Resend(delays=1_000, delay_ms=HOUR_MS)
    broadcast = esp.sent()
    early = metrics(esp, broadcast)
    esp.now_ms += 2 * HOUR_MS
    late = metrics(esp, broadcast)
    assert (early["sent"], early["delivery_delayed"], early["bounced"]) == (240, 240, 0)
    assert early["delivered"] < 30
    assert (late["sent"], late["delivered"]) == (240, 240)


def test_fifty_thousand_receivers_who_all_bounce_take_bounded_memory_and_one_place_in_the_queue(esp):
    esp.sandbox.add_list("a1b2c3", "Customers EU", 50_000)
    esp.sandbox.world.behave(hard_bounces=1_000, bounces_over_ms=24 * HOUR_MS)
    campaign = esp.draft()
    tracemalloc.start()
    try:
        assert esp.act(campaign, "send")[0] == 204
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 16 * 1024 * 1024
    assert len(esp.sandbox.world._due) <= 2
    esp.now_ms += 25 * HOUR_MS
    assert figures(esp, campaign)[:2] == (50_000, 50_000)
