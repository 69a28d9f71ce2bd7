"""Mailchimp's actions on a campaign: schedule, unschedule, cancel, test, and what stands against them."""

import json
import logging

import pytest

from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Refused
from campaignbridge.ports import Provider
from campaignbridge.providers.answers import forget
from campaignbridge.providers.registry import open_provider
from contract.account import KEY, LIMIT_MS, REMOTE_ID, asked, mailchimp, problem, told
from contract.clocks import HandClock
from contract.faultserver import FaultServer, http, silent

SLOT_MS = 1_772_360_100_000
TESTERS = ("canary.first@one.example", "Canary+second@two.example")
ACTIONS = {
    "send": (),
    "schedule": (SLOT_MS,),
    "unschedule": (),
    "cancel": (),
    "send_test": (TESTERS,),
}
PATHS = {"cancel": "cancel-send", "send_test": "test"}
each_action = pytest.mark.parametrize("name", ACTIONS)


def act(name, answer):
    return told(name, REMOTE_ID, *ACTIONS[name], answer=answer)


# --- the documented success, and everything else ---------------------------------------------------------


@each_action
def test_a_204_to_an_action_is_accepted_after_one_request(name):
    outcome, [request] = act(name, http(204))
    assert outcome == Accepted(None)
    action = PATHS.get(name, name)
    assert (request.method, request.path) == ("POST", f"/3.0/campaigns/{REMOTE_ID}/actions/{action}")


@each_action
@pytest.mark.parametrize("status", [200, 202, 301, 307])
def test_another_2xx_or_3xx_to_an_action_is_ambiguous(name, status):
    outcome, requests = act(name, http(status, b"", Location="/3.0/elsewhere"))
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("unexpected_status", status)
    assert len(requests) == 1


@each_action
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_5xx_to_an_action_is_ambiguous_whatever_its_body(name, status):
    for body in (b"", b"<html>", b'{"title":"x","detail":"y","status":503}'):
        outcome, requests = act(name, http(status, body))
        assert isinstance(outcome, Ambiguous)
        assert outcome.reason == f"http_{status}"
        assert outcome.bytes_out > 0
        assert len(requests) == 1


@each_action
@pytest.mark.parametrize(
    ("status", "category"),
    [
        (400, Category.REJECTED),
        (401, Category.CREDENTIAL),
        (403, Category.REJECTED),
        (404, Category.MISSING),
        (422, Category.REJECTED),
    ],
)
def test_a_4xx_in_mailchimps_shape_to_an_action_is_refused(name, status, category):
    outcome, _ = act(name, problem(status, "Nein."))
    assert outcome == Refused(f"http_{status}", category, status=status, detail="Nein.")


@each_action
def test_a_4xx_in_another_shape_to_an_action_is_ambiguous(name):
    outcome, _ = act(name, http(400, "<html>Bad Request</html>", content_type="text/html"))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "foreign_answer"


@each_action
def test_rate_limits_to_an_action_are_refusals_that_may_be_tried_again(name):
    for answer, code in ((http(429, Retry_After="7"), "http_429"), (http(403), "bare_403")):
        outcome, _ = act(name, answer)
        assert isinstance(outcome, Refused)
        assert (outcome.code, outcome.retryable) == (code, True)


@each_action
def test_no_answer_to_an_action_is_ambiguous_and_was_waited_for(name):
    with FaultServer(silent) as server:
        provider = mailchimp(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        outcome = getattr(provider, name)(line, REMOTE_ID, *ACTIONS[name], limit_ms=200)
        assert len(server.requests) == 1
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.phase) == ("timeout", "waiting")


@each_action
def test_an_action_without_time_is_refused_as_not_sent(name):
    with FaultServer(silent) as server:
        provider = mailchimp(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        outcome = getattr(provider, name)(line, REMOTE_ID, *ACTIONS[name], limit_ms=0)
        assert server.requests == []
    assert outcome == Refused("not_sent", Category.UNREACHABLE)


# --- schedule --------------------------------------------------------------------------------------------


def test_a_schedule_names_its_moment_in_utc_and_nothing_else():
    _, [request] = act("schedule", http(204))
    assert request.json == {"schedule_time": "2026-03-01T10:15:00+00:00"}


@pytest.mark.parametrize("off_ms", [1, 999, 60_000, 899_999, -1])
def test_a_moment_off_the_grid_is_a_bug_and_sends_nothing(off_ms):
    with FaultServer(silent) as server:
        provider = mailchimp(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        with pytest.raises(AssertionError, match="grid"):
            provider.schedule(line, REMOTE_ID, SLOT_MS + off_ms, limit_ms=LIMIT_MS)
        line.close()
        assert server.requests == []


def test_the_port_says_that_mailchimp_schedules_by_the_quarter_of_an_hour():
    provider: Provider = open_provider("mailchimp", key=KEY, base_url=None, clock=HandClock())
    assert provider.schedule_grid_ms == 900_000


@pytest.mark.parametrize("name", ["unschedule", "cancel"])
def test_taking_back_has_no_body(name):
    _, [request] = act(name, http(204))
    assert request.body == b""


# --- test send -------------------------------------------------------------------------------------------


def test_a_test_send_carries_its_addresses_in_the_body_only():
    _, [request] = act("send_test", http(204))
    assert request.json == {"test_emails": list(TESTERS), "send_type": "html"}
    assert "canary" not in request.target.lower() + json.dumps(request.headers).lower()


@pytest.mark.parametrize(
    "words",
    [
        "canary.first@one.example is not valid",
        "CANARY.FIRST@ONE.EXAMPLE, Canary+second@two.example",
        "canary.first%40one.example and Canary%2Bsecond%40two.example",
        "mailbox canary.first at one.example is unknown",
        '"canary.first"@one.example <Canary+second@two.example>',
        "canary\u200b.first@one.example",
        "x" * 290 + " canary.first@one.example",
    ],
)
def test_what_mailchimp_says_about_a_test_send_is_kept_without_the_addresses(words, caplog):
    caplog.set_level(logging.DEBUG)
    answers = [
        problem(400, words),
        problem(400, "See errors.", errors=[{"field": "test_emails", "message": words}]),
        problem(404, words, title=words),
    ]
    for answer in answers:
        outcome, _ = act("send_test", answer)
        assert isinstance(outcome, Refused)
        shown = (repr(outcome) + outcome.detail + caplog.text).lower()
        for word in ("canary", "second", "one.example@", "@"):
            assert word not in shown


@pytest.mark.parametrize(
    "answer", [http(500, "canary.first@one.example"), http(400, "canary.first@one.example")]
)
def test_an_ambiguous_test_send_says_nothing_of_the_addresses(answer):
    outcome, _ = act("send_test", answer)
    assert isinstance(outcome, Ambiguous)
    assert "canary" not in repr(outcome)


def test_an_exception_about_a_test_send_says_nothing_of_the_addresses():
    with FaultServer(silent) as server:
        provider = mailchimp(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        line.close()
        with pytest.raises(AssertionError) as caught:
            provider.send_test(line, REMOTE_ID, TESTERS, limit_ms=LIMIT_MS)
        assert "canary" not in str(caught.value).lower()
        assert "canary" not in repr(line).lower() + repr(provider).lower()


def test_the_useful_words_of_a_refused_test_send_are_kept():
    outcome, _ = act("send_test", problem(400, "This campaign cannot be tested: from_name is missing."))
    assert outcome.detail == "This campaign cannot be tested: from_name is missing."


@pytest.mark.parametrize(
    ("address", "words", "left"),
    [
        ("jo@x.example", "jo%40x.example jo%40y jojo job", "<address> <address>%40y jojo job"),
        ("a.b@x.example", "a.b is unknown", "<address> is unknown"),
        ("Ann.B@x.example", "ANN.b is unknown", "<address> is unknown"),
        ("x*+y@x.example", "x*+y and xxy", "<address> and xxy"),
        ("@x.example", "nobody", "nobody"),
        ("", "nobody", "nobody"),
    ],
)
def test_an_address_is_forgotten_word_by_word_and_literally(address, words, left):
    assert forget(words, (address,)) == left


# --- readiness -------------------------------------------------------------------------------------------


def readiness(*items, **body):
    answer = http(200, {"is_ready": False, "items": list(items), **body})
    return asked(lambda provider: provider.readiness(REMOTE_ID, limit_ms=LIMIT_MS), answer)


def item(kind="error", heading="Replies", details="No domain is verified."):
    return {"type": kind, "id": 1, "heading": heading, "details": details}


def test_readiness_is_what_the_checklist_calls_an_error():
    outcome, [request] = readiness(
        item("success", "List"), item(), item("warning", "Footer added"), item(heading="Subject", details="")
    )
    assert outcome == Accepted(("Replies: No domain is verified.", "Subject"))
    assert (request.method, request.path) == ("GET", f"/3.0/campaigns/{REMOTE_ID}/send-checklist")


def test_a_checklist_without_errors_has_nothing_to_say():
    assert readiness(is_ready=True)[0] == Accepted(())
    assert readiness(item("warning"), 7, None, {"type": "error"}, {"type": "new"})[0] == Accepted(())


def test_readiness_is_at_most_ten_printable_lines_of_200_characters_without_addresses_or_key():
    nasty = f"Jo <jo@example.com>\x1b[31m\u202e\n{KEY} " + "word " * 400
    outcome, _ = readiness(*[item(details=nasty)] * 50)
    assert len(outcome.value) == 10
    for line in outcome.value:
        assert len(line) == 200
        assert line.isprintable()
        assert "@" not in line
        assert KEY[:32] not in line


@pytest.mark.parametrize("body", [{"items": None}, {"items": {}}, {"is_ready": None}, {"is_ready": "no"}])
def test_a_checklist_that_cannot_be_read_is_ambiguous(body):
    outcome, _ = readiness(item(), **body)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"


def test_the_checklist_of_a_campaign_that_is_gone_is_missing():
    outcome, _ = asked(lambda provider: provider.readiness(REMOTE_ID, limit_ms=LIMIT_MS), problem(404))
    assert outcome.category is Category.MISSING


# --- recorded answers ------------------------------------------------------------------------------------


@each_action
def test_recorded_refusals_may_mean_that_an_action_already_happened(name, shared_facts):
    folder = shared_facts / "facts/fixtures/mailchimp/issues"
    for path in sorted(folder.iterdir()):
        body = json.loads(path.read_text())["body"]
        outcome, _ = act(name, http(body["status"], body))
        assert isinstance(outcome, Refused), path.name
        assert outcome.may_mean_already_done


@each_action
def test_every_error_seen_in_the_wild_is_refused_by_its_status(name, shared_facts):
    place = shared_facts / "facts/fixtures/mailchimp/misc/error_details_seen_in_the_wild.json"
    items = json.loads(place.read_text())["items"]
    seen = [each for each in items if isinstance(each.get("status"), int) and each["status"] // 100 == 4]
    assert len(seen) >= 10
    for each in seen:
        answer = problem(each["status"], each["detail"], each.get("title") or "Bad Request")
        outcome, _ = act(name, answer)
        assert isinstance(outcome, Refused), each
        assert "@" not in outcome.detail
