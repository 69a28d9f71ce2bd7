"""The sandbox's webhooks in process: what is announced, when, to whom, and what goes wrong on the way."""

import hashlib
import hmac
from urllib.parse import parse_qsl

import pytest

from campaignbridge.sandbox import Fault, courier, hooks
from unit.test_sandbox import START_MS, Esp

LIST = "/lists/a1b2c3"
PLACE = "http://127.0.0.1:9/hook/secret"
ALL = dict.fromkeys(("subscribe", "unsubscribe", "profile", "cleaned", "upemail", "campaign"), True)
EVERYONE = dict.fromkeys(("user", "admin", "api"), True)


class Listener:
    """Whoever is posted to."""

    def __init__(self, esp):
        self.esp, self.posts, self.status = esp, [], 200

    def __call__(self, url, body, signing_key, now_ms):
        self.posts.append((url, dict(parse_qsl(body.decode(), keep_blank_values=True)), now_ms))
        return self.status

    def carried(self, later_ms=0):
        """Let time pass and return what was posted since."""
        self.esp.now_ms += later_ms
        before = len(self.posts)
        self.esp.sandbox.carry(self)
        return [form for _, form, _ in self.posts[before:]]


@pytest.fixture
def esp():
    fake = Esp()
    fake.sandbox.world.hooks.visit = lambda _url: True
    return fake


@pytest.fixture
def listener(esp):
    return Listener(esp)


def hook(esp, url=PLACE, events=None, sources=None):
    status, made = esp.call(
        "POST", f"{LIST}/webhooks", {"url": url, "events": events or ALL, "sources": sources or EVERYONE}
    )
    assert status == 200, made
    return made


def sent(esp, title="Spring [cb-spring.g1]"):
    campaign = esp.draft(title)
    esp.act(campaign, "send")
    return campaign


def test_a_campaign_that_was_sent_is_announced_as_mailchimp_does(esp, listener):
    hook(esp)
    campaign = sent(esp)
    assert listener.carried() == []
    assert listener.carried(500) == [
        {
            "type": "campaign",
            "fired_at": "2026-01-01 00:00:00",
            "data[list_id]": "a1b2c3",
            "data[id]": campaign,
            "data[subject]": "Hello",
            "data[status]": "sent",
            "data[reason]": "",
        }
    ]
    assert listener.carried(60_000) == []


def test_a_campaign_that_was_stopped_is_announced_once_and_as_canceled(esp, listener):
    hook(esp)
    campaign = sent(esp)
    esp.now_ms += 100
    esp.act(campaign, "cancel-send")
    (told,) = listener.carried(10_000)
    assert (told["data[id]"], told["data[status]"]) == (campaign, "canceled")


def test_people_who_come_change_leave_or_bounce_are_announced_with_their_source(esp, listener):
    hook(esp)
    member = f"{LIST}/members/ann@people.example"
    esp.call("POST", f"{LIST}/members", {"email_address": "ann@people.example", "status": "subscribed"})
    esp.call("PATCH", member, {"merge_fields": {"FNAME": "Ann"}})
    esp.call("PATCH", member, {"status": "unsubscribed"})
    esp.call("PATCH", f"{LIST}/members/person1@example.invalid", {"status": "cleaned"})
    esp.call("DELETE", f"{LIST}/members/person2@example.invalid")
    esp.call("PUT", f"{LIST}/members/person3@example.invalid", {"email_address": "three@people.example"})
    told = listener.carried()
    kinds = [form["type"] for form in told]
    assert kinds == ["subscribe", "profile", "unsubscribe", "cleaned", "unsubscribe", "upemail"]
    assert told[1]["data[merges][FNAME]"] == "Ann"
    assert (told[2]["data[action]"], told[2]["data[reason]"]) == ("unsub", "manual")
    assert (told[3]["data[reason]"], told[3]["data[email]"]) == ("hard", "person1@example.invalid")
    assert told[4]["data[action]"] == "delete"
    assert (told[5]["data[old_email]"], told[5]["data[new_email]"]) == (
        "person3@example.invalid",
        "three@people.example",
    )


def test_what_the_api_did_is_not_echoed_to_who_did_not_ask_for_it(esp, listener):
    hook(esp, sources={"user": True, "admin": True, "api": False})
    esp.call("POST", f"{LIST}/members", {"email_address": "ann@people.example", "status": "subscribed"})
    sent(esp)
    assert [form["type"] for form in listener.carried(1_000)] == ["campaign"]


def test_those_who_leave_or_bounce_after_a_delivery_are_announced_with_their_campaign(esp, listener):
    esp.call(
        "POST",
        f"{LIST}/segments",
        {"name": "W", "static_segment": [f"person{n}@example.invalid" for n in range(1, 9)]},
    )
    esp.sandbox.world.behave(hard_bounces=400, unsubscribes=300, complaints=300)
    hook(esp)
    campaign = esp.draft()
    esp.call(
        "PATCH",
        f"/campaigns/{campaign}",
        {"recipients": {"list_id": "a1b2c3", "segment_opts": {"saved_segment_id": 1, "match": "any"}}},
    )
    esp.act(campaign, "send")
    told = [form for form in listener.carried(1_000) if form["type"] != "campaign"]
    assert len(told) == 8
    assert {form["data[campaign_id]"] for form in told} == {campaign}
    said = {(form["type"], form["data[reason]"]) for form in told}
    assert said <= {("cleaned", "hard"), ("unsubscribe", "manual"), ("unsubscribe", "abuse")}
    assert len(said) > 1


def test_nothing_is_announced_to_another_list_or_for_an_event_that_was_not_asked_for(esp, listener):
    esp.sandbox.add_list("ffffff", "Others", 3)
    hook(esp, events={"campaign": False, "subscribe": True})
    sent(esp)
    esp.call("POST", "/lists/ffffff/members", {"email_address": "a@people.example", "status": "subscribed"})
    assert listener.carried(1_000) == []


def test_an_address_is_visited_first_and_refused_when_it_does_not_answer(esp):
    esp.sandbox.world.hooks.visit = lambda _url: False
    status, problem = esp.call("POST", f"{LIST}/webhooks", {"url": PLACE})
    assert (status, "GET" in problem["detail"]) == (400, True)
    assert esp.call("GET", f"{LIST}/webhooks")[1]["total_items"] == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "http://example.com/x",
        "http://10.0.0.1/",
        "ftp://127.0.0.1/",
        "",
        None,
        "http://[::1",
    ],
)
def test_only_addresses_on_this_machine_are_taken(esp, url):
    assert esp.call("POST", f"{LIST}/webhooks", {"url": url})[0] == 400


def test_the_same_address_with_another_query_is_a_duplicate(esp):
    """ibid. 26 in the list of wild failures: register once."""
    made = hook(esp)
    assert esp.call("POST", f"{LIST}/webhooks", {"url": f"{PLACE}?a=b"})[0] == 400
    assert esp.call("PATCH", f"{LIST}/webhooks/{made['id']}", {"url": f"{PLACE}?a=b"})[0] == 200
    hook(esp, f"{PLACE}2")
    assert esp.call("PATCH", f"{LIST}/webhooks/{made['id']}", {"url": f"{PLACE}2"})[0] == 400


def test_a_list_has_at_most_twenty_webhooks(esp):
    for number in range(hooks.MOST_PER_LIST):
        hook(esp, f"{PLACE}{number}")
    assert esp.call("POST", f"{LIST}/webhooks", {"url": PLACE})[0] == 400


@pytest.mark.parametrize("body", [{"events": []}, {"events": {"campaign": "yes"}}, {"sources": {"api": 1}}])
def test_events_and_sources_are_booleans(esp, body):
    assert esp.call("POST", f"{LIST}/webhooks", {"url": PLACE, **body})[0] == 400


def fault(esp, kind, **facts):
    esp.sandbox.faults.add(Fault("webhook", kind, **facts))


def test_a_lost_event_is_never_posted_and_a_doubled_one_twice(esp, listener):
    hook(esp)
    fault(esp, "lost")
    fault(esp, "doubled", after=1)
    first, second = sent(esp, "1"), sent(esp, "2")
    told = listener.carried(1_000)
    assert [form["data[id]"] for form in told] == [second, second]
    assert first not in str(listener.posts)


def test_a_late_event_comes_late_and_still_says_when_it_was(esp, listener):
    hook(esp)
    fault(esp, "late", ms=3_600_000)
    sent(esp)
    assert listener.carried(3_600_000) == []
    (told,) = listener.carried(500)
    assert told["fired_at"] == "2026-01-01 00:00:00"


def test_a_reordered_event_comes_behind_the_next_one_or_after_a_minute(esp, listener):
    hook(esp)
    fault(esp, "reordered", times=2)
    first, second, third = sent(esp, "1"), sent(esp, "2"), sent(esp, "3")
    assert [form["data[id]"] for form in listener.carried(1_000)] == [third, first, second]
    fault(esp, "reordered")
    last = sent(esp, "4")
    assert listener.carried(1_000) == []
    assert [form["data[id]"] for form in listener.carried(60_000)] == [last]


def test_forged_events_go_along_with_the_real_one(esp, listener):
    hook(esp)
    fault(esp, "foreign_list")
    fault(esp, "wrong_path")
    campaign = sent(esp)
    told = listener.carried(1_000)
    assert [form["data[id]"] for form in told].count(campaign) == 2
    assert len({form["data[list_id]"] for form in told}) == 2
    assert sorted(url == PLACE for url, _, _ in listener.posts) == [False, True, True]


@pytest.mark.parametrize("status", [None, 404, 410, 503, 302])
def test_what_is_not_answered_with_2xx_comes_again_six_times_in_all(esp, listener, status):
    hook(esp)
    listener.status = status
    sent(esp)
    for _ in range(10):
        listener.carried(900_000)
    assert len(listener.posts) == hooks.MOST_TRIES
    assert len({body["data[id]"] for _, body, _ in listener.posts}) == 1
    assert esp.sandbox.world.hooks.waiting == 0


def test_a_post_that_is_answered_with_2xx_does_not_come_again(esp, listener):
    hook(esp)
    listener.status = 204
    sent(esp)
    listener.carried(1_000)
    assert listener.carried(9_000_000) == []


def test_the_queue_is_bounded_and_what_is_lost_is_counted(esp, listener, monkeypatch):
    monkeypatch.setattr(hooks, "MOST_WAITING", 5)
    hook(esp)
    for number in range(8):
        sent(esp, str(number))
    assert len(listener.carried(1_000)) == 5
    assert esp.sandbox.world.hooks.lost == 3


def test_a_signed_webhook_tells_its_key_once_and_signs_the_raw_body(esp):
    esp.sandbox.world.behave(webhook_signing="on")
    made = hook(esp)
    assert made["signing_enabled"]
    assert "signing_secret" not in esp.call("GET", f"{LIST}/webhooks/{made['id']}")[1]
    stamp, _, digest = courier.signature(b"a=b", made["signing_secret"], START_MS).partition(",v1=")
    assert stamp == f"t={START_MS // 1000}"
    signed = f"{START_MS // 1000}.a=b".encode()
    assert digest == hmac.new(made["signing_secret"].encode(), signed, hashlib.sha256).hexdigest()


def test_a_reset_forgets_webhooks_and_what_waits(esp, listener):
    hook(esp)
    sent(esp)
    esp.sandbox.reset()
    assert listener.carried(10_000) == []
    assert esp.call("GET", f"{LIST}/webhooks")[1]["total_items"] == 0


def test_neither_address_nor_person_is_in_the_log_or_the_truth(esp, listener):
    hook(esp)
    esp.call("POST", f"{LIST}/members", {"email_address": "canary@people.example", "status": "subscribed"})
    sent(esp)
    listener.carried(1_000)
    told = str(list(esp.sandbox.world.hooks.log)) + esp.truth.to_json()
    assert "secret" not in told
    assert "canary" not in told
    assert len(esp.sandbox.world.hooks.log) == 2


@pytest.mark.parametrize(
    ("operation", "kind"), [("webhook", "slow"), ("send", "lost"), ("*", "doubled"), ("webhook", "vanish")]
)
def test_faults_of_calls_and_faults_of_webhooks_are_not_mixed(operation, kind):
    with pytest.raises(ValueError):
        Fault(operation, kind)


def test_a_fault_for_any_call_is_not_used_up_by_a_webhook(esp, listener):
    hook(esp)
    sent(esp)
    esp.sandbox.faults.add(Fault("*", "drop_before"))
    esp.now_ms += 1_000
    esp.sandbox.settle()
    (order,) = esp.sandbox.faults.listing()
    assert order["used"] == 0
    assert len(listener.carried()) == 1


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://127.0.0.1/", "http://127.0.0.1:1/closed", "http://[::1"]
)
def test_the_courier_goes_to_this_machine_only_and_reports_no_answer_as_none(url):
    assert courier.visit(url) is False
    assert courier.post(url, b"", "", 0) is None
