"""The sandbox in process: what it accepts, refuses, mails and remembers, in virtual time."""

import base64
import hashlib
import json

import pytest

from campaignbridge.sandbox import Request, Sandbox
from campaignbridge.sandbox.truth import token_stem

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z, on the quarter-hour grid
MINUTE_MS = 60_000
HTML = '<html><body><p>Offer</p><a href="*|UNSUB|*">leave</a></body></html>'


class Esp:
    """A sandbox with a hand-turned clock and a client that speaks to it without a network."""

    def __init__(self, seed=7, **options):
        self.now_ms = START_MS
        self.sandbox = Sandbox(lambda: self.now_ms, seed, **options)
        self.key = self.sandbox.key

    @property
    def truth(self):
        return self.sandbox.truth

    def raw(self, method, target, body=None, key=None, headers=None):
        token = base64.b64encode(f"any:{key or self.key}".encode()).decode()
        sent = {"Authorization": f"Basic {token}"} if headers is None else headers
        payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.sandbox.handle(Request.parse(method, f"/3.0{target}", sent, payload))

    def call(self, method, target, body=None, **options):
        response, _ = self.raw(method, target, body, **options)
        return response.status, json.loads(response.body) if response.body else None

    def draft(self, title="Spring [cb-spring.g1]", html=HTML, **settings):
        envelope = {
            "title": title,
            "subject_line": "Hello",
            "from_name": "Shop",
            "reply_to": "news@shop.example",
            **settings,
        }
        body = {"type": "regular", "recipients": {"list_id": "a1b2c3"}, "settings": envelope}
        status, made = self.call("POST", "/campaigns", body)
        assert status == 200, made
        if html:
            assert self.call("PUT", f"/campaigns/{made['id']}/content", {"html": html})[0] == 200
        return made["id"]

    def act(self, campaign, action, body=None):
        return self.call("POST", f"/campaigns/{campaign}/actions/{action}", body)

    def status(self, campaign):
        return self.call("GET", f"/campaigns/{campaign}")[1]["status"]

    def kinds(self):
        return [event.kind for event in self.truth.events()]


@pytest.fixture
def esp():
    return Esp()


def test_a_draft_reads_back_as_it_was_created(esp):
    campaign = esp.draft(preview_text="Look inside")
    status, shown = esp.call("GET", f"/campaigns/{campaign}")
    assert status == 200
    assert shown["status"] == "save"
    assert shown["send_time"] == ""
    assert shown["create_time"] == "2026-01-01T00:00:00+00:00"
    assert shown["emails_sent"] == 0
    assert shown["recipients"]["recipient_count"] == 24_318
    assert shown["settings"]["preview_text"] == "Look inside"
    assert shown["content_type"] == "html"


def test_a_send_answers_204_at_once_and_is_complete_after_the_sending_time(esp):
    campaign = esp.draft()
    assert esp.act(campaign, "send") == (204, None)
    assert esp.status(campaign) == "sending"
    esp.now_ms += 250
    assert esp.call("GET", f"/campaigns/{campaign}")[1]["emails_sent"] == 12_159
    esp.now_ms += 250
    shown = esp.call("GET", f"/campaigns/{campaign}")[1]
    assert (shown["status"], shown["emails_sent"]) == ("sent", 24_318)
    assert shown["send_time"] == "2026-01-01T00:00:00+00:00"
    mailed = esp.truth.events("mailed")
    assert [(event.at_ms, event.recipients) for event in mailed] == [(START_MS + 500, 24_318)]
    assert mailed[0].html_sha256 == hashlib.sha256(HTML.encode()).hexdigest()
    assert esp.truth.duplicates() == 0


@pytest.mark.parametrize("lacking", ["subject_line", "from_name", "reply_to"])
def test_a_draft_with_a_gap_in_its_envelope_is_not_sent(esp, lacking):
    campaign = esp.draft(**{lacking: ""})
    status, problem = esp.act(campaign, "send")
    assert (status, problem["detail"]) == (400, "Your Campaign is not ready to send.")
    checklist = esp.call("GET", f"/campaigns/{campaign}/send-checklist")[1]
    assert checklist["is_ready"] is False
    assert esp.truth.sends_accepted() == 0


def test_a_draft_without_content_or_audience_is_not_sent(esp):
    assert esp.act(esp.draft(html=""), "send")[0] == 400
    esp.sandbox.add_list("a1b2c3", "Customers EU", 0)
    assert esp.act(esp.draft(), "send")[0] == 400


def test_content_without_an_unsubscribe_tag_gets_a_footer_and_a_warning(esp):
    campaign = esp.draft(html="<html><body><p>Hi</p></body></html>")
    content = esp.call("GET", f"/campaigns/{campaign}/content")[1]
    assert "*|UNSUB|*" in content["html"]
    assert content["html"].endswith("</body></html>")
    items = esp.call("GET", f"/campaigns/{campaign}/send-checklist")[1]["items"]
    assert ("warning", 102) in [(item["type"], item["id"]) for item in items]
    assert esp.act(campaign, "send")[0] == 204


def test_a_repeated_send_is_refused_unless_the_world_says_otherwise(esp):
    campaign = esp.draft()
    assert esp.act(campaign, "send")[0] == 204
    assert esp.act(campaign, "send")[0] == 400
    esp.now_ms += 500
    assert esp.act(campaign, "send")[0] == 400
    assert esp.truth.sends_accepted() == 1


def test_a_repeated_send_can_answer_204_and_do_nothing(esp):
    esp.sandbox.world.behave(repeated_send="silent_204")
    campaign = esp.draft()
    assert [esp.act(campaign, "send")[0] for _ in range(2)] == [204, 204]
    esp.now_ms += 10_000
    esp.sandbox.settle()
    assert (esp.truth.sends_accepted(), esp.truth.mailed(), esp.truth.duplicates()) == (1, 1, 0)


def test_a_repeated_send_that_is_accepted_mails_again_and_counts_as_a_duplicate(esp):
    esp.sandbox.world.behave(repeated_send="accepted_again")
    campaign = esp.draft()
    for _ in range(2):
        assert esp.act(campaign, "send")[0] == 204
        esp.now_ms += 100
    esp.now_ms += 10_000
    assert esp.status(campaign) == "sent"
    assert (esp.truth.sends_accepted(), esp.truth.mailed(), esp.truth.duplicates()) == (2, 2, 1)


def test_two_generations_of_one_logical_campaign_that_are_both_sent_are_a_duplicate(esp):
    first, second = esp.draft("Spring [cb-spring.g1]"), esp.draft("Spring [cb-spring.g2]")
    other = esp.draft("Autumn [cb-autumn.g1]")
    for campaign in (first, second, other):
        assert esp.act(campaign, "send")[0] == 204
    assert esp.truth.duplicates() == 1
    assert esp.truth.sends_accepted("cb-spring") == 2
    assert esp.truth.sends_accepted(second) == 1


def test_a_replica_can_be_sent_and_then_is_a_duplicate(esp):
    campaign = esp.draft()
    status, copy = esp.act(campaign, "replicate")
    assert (status, copy["status"], copy["parent_campaign_id"]) == (200, "save", campaign)
    assert [esp.act(item, "send")[0] for item in (campaign, copy["id"])] == [204, 204]
    assert esp.truth.duplicates() == 1


def test_campaigns_without_a_token_are_told_apart_by_their_id(esp):
    for _ in range(2):
        assert esp.act(esp.draft("Newsletter"), "send")[0] == 204
    assert esp.truth.duplicates() == 0


@pytest.mark.parametrize(
    ("title", "stem"),
    [("A [x.g1]", "x"), ("A [b] [x.g12]", "x"), ("A [x.g1] (copy 01)", "x"), ("[x.gen]", "x.gen"), ("A", "")],
)
def test_the_last_bracket_of_a_title_names_the_logical_campaign(title, stem):
    assert token_stem(title) == stem


def test_a_scheduled_campaign_is_mailed_at_its_moment_by_itself(esp):
    campaign = esp.draft()
    assert esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:15:00+00:00"}) == (204, None)
    shown = esp.call("GET", f"/campaigns/{campaign}")[1]
    assert (shown["status"], shown["send_time"]) == ("schedule", "2026-01-01T00:15:00+00:00")
    esp.now_ms += 60 * MINUTE_MS
    assert esp.status(campaign) == "sent"
    [accepted] = esp.truth.events("send_accepted")
    assert (accepted.at_ms, accepted.by) == (START_MS + 15 * MINUTE_MS, "schedule")
    assert esp.truth.mailed(campaign) == 1


def test_a_moment_that_no_calendar_has_is_refused_with_its_field(esp):
    for moment in ("tomorrow", "9999-12-31T23:45:00-12:00", "1969-12-31T23:45:00Z", 15):
        status, problem = esp.act(esp.draft(), "schedule", {"schedule_time": moment})
        assert (status, problem["errors"][0]["field"]) == (400, "schedule_time")


@pytest.mark.parametrize("moment", ["2026-01-01T00:13:00Z", "2025-12-31T23:45:00Z", "2026-01-01T00:15:01Z"])
def test_a_moment_off_the_grid_or_in_the_past_is_refused_without_a_reason(esp, moment):
    status, problem = esp.act(esp.draft(), "schedule", {"schedule_time": moment})
    assert (status, problem["detail"]) == (400, "This campaign cannot be scheduled: .")


@pytest.mark.parametrize("variant", ["save", "paused"])
def test_an_unscheduled_campaign_is_a_draft_again_and_its_old_moment_passes_quietly(esp, variant):
    esp.sandbox.world.behave(unscheduled_status=variant)
    campaign = esp.draft()
    esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})
    assert esp.act(campaign, "unschedule") == (204, None)
    assert esp.act(campaign, "unschedule")[0] == 400
    esp.now_ms += 60 * MINUTE_MS
    assert esp.status(campaign) == variant
    assert esp.truth.sends_accepted() == 0
    assert esp.act(campaign, "send")[0] == 204


def test_a_campaign_that_was_moved_to_a_later_moment_is_mailed_only_then(esp):
    campaign = esp.draft()
    esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})
    esp.act(campaign, "unschedule")
    esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:30:00Z"})
    esp.now_ms += 60 * MINUTE_MS
    esp.sandbox.settle()
    assert [event.at_ms for event in esp.truth.events("send_accepted")] == [START_MS + 30 * MINUTE_MS]


def test_what_is_no_draft_can_not_be_edited(esp):
    campaign = esp.draft()
    esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})
    assert esp.call("PATCH", f"/campaigns/{campaign}", {"settings": {"title": "x"}})[0] == 400
    assert esp.call("PUT", f"/campaigns/{campaign}/content", {"html": "x"})[0] == 400
    assert esp.act(campaign, "send")[0] == 400


def test_an_update_changes_what_it_names_and_leaves_the_rest(esp):
    campaign = esp.draft()
    status, shown = esp.call("PATCH", f"/campaigns/{campaign}", {"settings": {"subject_line": "New"}})
    assert status == 200
    assert (shown["settings"]["subject_line"], shown["settings"]["from_name"]) == ("New", "Shop")
    assert shown["recipients"]["list_id"] == "a1b2c3"


def test_a_cancelled_delivery_has_mailed_what_had_left(esp):
    campaign = esp.draft()
    esp.act(campaign, "send")
    esp.now_ms += 100
    assert esp.act(campaign, "cancel-send") == (204, None)
    assert esp.status(campaign) == "canceling"
    esp.now_ms += 1_000
    shown = esp.call("GET", f"/campaigns/{campaign}")[1]
    assert (shown["status"], shown["emails_sent"]) == ("canceled", 24_318 // 5)
    assert [event.recipients for event in esp.truth.events("mailed")] == [24_318 // 5]
    assert esp.act(campaign, "cancel-send")[0] == 400


def test_anything_can_be_deleted_and_a_delivery_under_way_goes_on(esp):
    campaign = esp.draft()
    esp.act(campaign, "send")
    assert esp.call("DELETE", f"/campaigns/{campaign}") == (204, None)
    assert esp.call("DELETE", f"/campaigns/{campaign}")[0] == 404
    esp.now_ms += 500
    esp.sandbox.settle()
    assert esp.kinds()[-2:] == ["deleted", "mailed"]


def test_a_test_mail_is_counted_and_its_addresses_are_kept_nowhere(esp):
    campaign = esp.draft()
    body = {"test_emails": ["a@shop.example", "b@shop.example"], "send_type": "html"}
    assert esp.act(campaign, "test", body) == (204, None)
    assert esp.truth.events("test_mailed")[0].recipients == 2
    assert "shop.example" not in esp.truth.to_json()
    assert esp.act(campaign, "test", {"test_emails": [], "send_type": "html"})[0] == 400
    status, problem = esp.act(esp.draft(from_name=""), "test", body)
    assert status == 400
    assert "From Name" in problem["detail"]


def test_the_truth_log_holds_no_key_and_no_address(esp):
    esp.draft("For jane@doe.example [cb-x.g1]")
    esp.call("GET", f"/lists/{esp.key}/members/jane@doe.example?apikey={esp.key}")
    text = esp.truth.to_json()
    assert esp.key not in text
    assert "jane@doe" not in text
    assert esp.truth.events()[0].logical == "cb-x"


def test_ids_follow_from_the_seed_and_the_order_of_calls():
    assert Esp(seed=1).draft() == Esp(seed=1).draft()
    assert Esp(seed=1).draft() != Esp(seed=2).draft()


def test_time_that_is_set_back_does_not_undo_anything(esp):
    campaign = esp.draft()
    esp.act(campaign, "send")
    esp.now_ms += 500
    assert esp.status(campaign) == "sent"
    esp.now_ms -= 400
    assert esp.status(campaign) == "sent"
    esp.draft()
    moments = [event.at_ms for event in esp.truth.events()]
    assert moments == sorted(moments)


def test_an_unknown_variant_changes_nothing(esp):
    for changes in ({"repeated_send": "maybe"}, {"sending_ms": -1}, {"pigeons": 1}):
        with pytest.raises(ValueError):
            esp.sandbox.world.behave(**changes)
    assert esp.sandbox.world.behaviour.repeated_send == "refused"


def test_a_reset_forgets_campaigns_and_truth_but_keeps_accounts_and_lists(esp):
    campaign = esp.draft()
    esp.act(campaign, "schedule", {"schedule_time": "2026-01-01T00:15:00Z"})
    esp.sandbox.reset()
    esp.now_ms += 60 * MINUTE_MS
    assert esp.call("GET", f"/campaigns/{campaign}")[0] == 404
    assert esp.kinds() == []
    assert esp.call("GET", "/lists/a1b2c3")[0] == 200
