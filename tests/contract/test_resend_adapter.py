"""The Resend adapter against scripted answers: what each of them means, and what is asked for."""

import pytest

from campaignbridge.domain.provider import (
    Accepted,
    Account,
    Ambiguous,
    Category,
    Envelope,
    Found,
    NewContact,
    Pushed,
    RecipientKind,
    Refused,
    RemoteStatus,
    Search,
)
from campaignbridge.ports import Provider
from campaignbridge.providers import resend_wire as wire
from campaignbridge.providers.registry import open_provider
from campaignbridge.providers.resend import open_resend
from campaignbridge.providers.resend_tags import mentioned_fields
from contract.clocks import HandClock
from contract.faultserver import FaultServer, answering, http, silent
from contract.resend_account import (
    AT_MS,
    DRAFT,
    KEY,
    LIMIT_MS,
    REMOTE_ID,
    SEGMENT,
    STEM,
    asked,
    broadcast,
    page,
    resend,
    told,
    wrong,
)

OTHER = "b6d24b8e-af0b-4c3c-be0c-359bbd97381e"
MUTATIONS = {
    "create_draft": (DRAFT,),
    "send": (REMOTE_ID,),
    "schedule": (REMOTE_ID, AT_MS),
    "unschedule": (REMOTE_ID,),
    "cancel": (REMOTE_ID,),
}


def success(name):
    return http(201 if name == "create_draft" else 200, {"id": REMOTE_ID})


def contact(email, number=1, **more):
    return {"id": f"{number:08d}-0000-4000-8000-000000000000", "email": email, "unsubscribed": False, **more}


# --- mutations -------------------------------------------------------------------------------------------


def test_a_created_draft_is_accepted_with_its_id_and_never_asks_to_be_sent():
    outcome, [request] = told("create_draft", DRAFT, answer=success("create_draft"))
    assert outcome == Accepted(REMOTE_ID)
    assert (request.method, request.path) == ("POST", "/broadcasts")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert not {"send", "scheduled_at", "topic_id", "audience_id"} & request.json.keys()
    assert request.json["from"] == "Ann <ann@example.com>"
    assert request.json["segment_id"] == SEGMENT


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_documented_success_of_each_mutation_is_accepted_and_asked_for_once(name):
    outcome, requests = told(name, *MUTATIONS[name], answer=success(name))
    assert outcome == Accepted(REMOTE_ID if name == "create_draft" else None)
    assert len(requests) == 1


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"<html>", b"{}", b'{"id": 7}', b'{"id": "../x"}', b"\xff"]
)
def test_an_unreadable_success_is_ambiguous(name, body):
    outcome, _ = told(name, *MUTATIONS[name], answer=http(201 if name == "create_draft" else 200, body))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"
    assert outcome.bytes_out > 0


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("status", [202, 204, 301, 307])
def test_another_2xx_or_3xx_is_ambiguous(name, status):
    outcome, requests = told(name, *MUTATIONS[name], answer=http(status, b"", Location="/elsewhere"))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unexpected_status"
    assert len(requests) == 1


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("status", [500, 502, 503, 504, 520])
def test_a_5xx_is_ambiguous_whatever_its_body(name, status):
    for answer in (http(status), http(status, "<html>"), wrong(status, name="application_error")):
        outcome, requests = told(name, *MUTATIONS[name], answer=answer)
        assert isinstance(outcome, Ambiguous)
        assert outcome.reason == f"http_{status}"
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("status", "name", "category"),
    [
        (400, "validation_error", Category.REJECTED),
        (401, "missing_api_key", Category.CREDENTIAL),
        (401, "restricted_api_key", Category.CREDENTIAL),
        (403, "invalid_api_key", Category.CREDENTIAL),
        (403, "validation_error", Category.REJECTED),
        (404, "not_found", Category.MISSING),
        (405, "method_not_allowed", Category.REJECTED),
        (409, "concurrent_idempotent_requests", Category.REJECTED),
        (422, "missing_required_field", Category.REJECTED),
    ],
)
def test_a_4xx_in_resends_shape_is_refused_and_its_name_tells_key_from_broadcast(status, name, category):
    outcome, _ = told("send", REMOTE_ID, answer=wrong(status, "Nein.", name))
    assert outcome == Refused(f"http_{status}", category, status=status, detail="Nein.")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>Bad Request</html>",
        '{"message": "blocked"}',
        '{"statusCode": 418, "message": "x", "name": "y"}',
        '{"statusCode": true, "message": "x", "name": "y"}',
        "[]",
    ],
)
def test_a_4xx_in_somebody_elses_shape_is_ambiguous(status, body):
    outcome, _ = told("send", REMOTE_ID, answer=http(status, body))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "foreign_answer"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7),
        ({"Ratelimit_Reset": "3"}, 3),
        ({"Retry_After": "7", "Ratelimit_Reset": "3"}, 7),
        ({}, None),
    ],
)
@pytest.mark.parametrize("body", ["local_rate_limited", b"", None])
def test_a_429_is_patience_in_whatever_shape_with_the_seconds_to_wait(headers, seconds, body):
    answer = (
        wrong(429, "slow", "rate_limit_exceeded", **headers) if body is None else http(429, body, **headers)
    )
    outcome, _ = told("send", REMOTE_ID, answer=answer)
    assert isinstance(outcome, Refused)
    assert (outcome.category, outcome.retry_after_s, outcome.retryable) == (
        Category.RATE_LIMITED,
        seconds,
        True,
    )


def test_no_answer_to_send_is_ambiguous():
    with FaultServer(silent) as server:
        provider = resend(server)
        outcome = provider.send(provider.dial(limit_ms=LIMIT_MS), REMOTE_ID, limit_ms=200)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "timeout"
    assert len(server.requests) == 1


def test_a_schedule_names_its_moment_in_iso_8601_and_a_send_names_none():
    _, [request] = told("schedule", REMOTE_ID, AT_MS, answer=success("send"))
    assert request.json == {"scheduled_at": "2026-11-18T11:07:00.000Z"}
    _, [request] = told("send", REMOTE_ID, answer=success("send"))
    assert (request.path, request.json) == (f"/broadcasts/{REMOTE_ID}/send", {})


def test_a_key_of_another_form_is_a_value_error_that_does_not_repeat_it():
    for key in ("", "sk_live_1", "re_ä", "re_a b", "re_a\nb"):
        with pytest.raises(ValueError, match="Resend API key") as caught:
            open_resend(key=key, base_url=None, clock=HandClock())
        assert not key or key not in str(caught.value)


def test_only_resends_own_host_and_loopback_get_the_key_unless_another_is_allowed():
    for url in (None, "https://api.resend.com", "http://127.0.0.1:9"):
        assert open_provider("resend", key=KEY, base_url=url, clock=HandClock()).slug == "resend"
    with pytest.raises(ValueError, match="not allowed"):
        open_resend(key=KEY, base_url="https://api.resend.example", clock=HandClock())


def test_an_echoed_key_is_not_repeated():
    outcome, _ = told("send", REMOTE_ID, answer=wrong(403, f"bad key {KEY}"))
    assert KEY not in repr(outcome)


def test_it_is_a_provider_with_these_capabilities():
    provider: Provider = open_resend(key=KEY, base_url=None, clock=HandClock())
    assert provider.capabilities == {"schedule", "cancel", "test", "retire", "recipients", "count"}
    assert KEY not in repr(provider)


# --- test sends ------------------------------------------------------------------------------------------


def test_a_test_whose_content_cannot_be_read_mails_nobody():
    with FaultServer(silent, answering(http(502))) as server:
        provider = resend(server)
        line = provider.dial(limit_ms=LIMIT_MS)
        outcome = provider.send_test(line, REMOTE_ID, ("ann@example.com",), limit_ms=LIMIT_MS)
        line.close()
    assert outcome == Refused("unreadable_draft", Category.UNREACHABLE)
    assert [request.method for request in server.requests] == ["GET"]


# --- repeatable writes -----------------------------------------------------------------------------------


def test_a_sync_is_one_patch_without_the_segment():
    outcome, [request] = asked(
        lambda one: one.sync_draft(REMOTE_ID, DRAFT, limit_ms=LIMIT_MS), http(200, {"id": REMOTE_ID})
    )
    assert outcome == Accepted(None)
    assert (request.method, request.path) == ("PATCH", f"/broadcasts/{REMOTE_ID}")
    assert "segment_id" not in request.json
    assert request.json["html"] == DRAFT.html


def test_a_sync_that_answers_with_another_broadcast_is_ambiguous():
    outcome, _ = asked(
        lambda one: one.sync_draft(REMOTE_ID, DRAFT, limit_ms=LIMIT_MS), http(200, {"id": OTHER})
    )
    assert isinstance(outcome, Ambiguous)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (http(200, {"object": "broadcast", "id": REMOTE_ID, "deleted": True}), Accepted(None)),
        (wrong(404, "Broadcast not found", "not_found"), Category.MISSING),
        (wrong(403, "Only draft broadcasts can be deleted"), Category.REJECTED),
        (http(200, {"id": REMOTE_ID, "deleted": False}), "unreadable"),
        (http(200, {"id": REMOTE_ID}), "unreadable"),
        (http(503), "http_503"),
    ],
)
def test_retiring_is_a_delete_with_a_definite_answer_or_none(answer, outcome):
    found, [request] = asked(lambda one: one.retire(REMOTE_ID, limit_ms=LIMIT_MS), answer)
    assert (request.method, request.path, request.body) == ("DELETE", f"/broadcasts/{REMOTE_ID}", b"")
    match found:
        case Accepted():
            assert found == outcome
        case Refused():
            assert found.category is outcome
        case Ambiguous():
            assert found.reason == outcome


# --- readings --------------------------------------------------------------------------------------------


def inspect(*answers):
    return asked(lambda one: one.inspect(REMOTE_ID, limit_ms=LIMIT_MS), *answers)[0]


def test_a_reading_is_in_our_own_words():
    seen = inspect(http(200, broadcast())).value
    assert (seen.status, seen.raw_status, seen.audience) == (RemoteStatus.DRAFT, "draft", SEGMENT)
    assert (seen.title, seen.subject, seen.from_name) == (DRAFT.title, "Grüße & more", "Ann")
    assert (seen.reply_to, seen.recipient_count, seen.emails_sent) == ("replies@example.com", None, None)
    assert seen.send_time_ms is None


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("draft", RemoteStatus.DRAFT),
        ("scheduled", RemoteStatus.SCHEDULED),
        ("queued", RemoteStatus.SENDING),
        ("canceled", RemoteStatus.CANCELLED),
        ("failed", RemoteStatus.FAILED),
        ("DRAFT", RemoteStatus.UNTRACKED),
        ("archived", RemoteStatus.UNTRACKED),
        ("brand_new", RemoteStatus.UNTRACKED),
    ],
)
def test_each_status_has_our_word_and_unknown_ones_are_untracked(raw, status):
    assert inspect(http(200, broadcast(status=raw))).value.status is status


def metrics(*rows):
    return http(200, {"object": "metrics", "totals": {}, "data": list(rows)})


def test_a_sent_broadcast_is_read_with_how_many_were_mailed_where_that_is_told():
    sent = http(200, broadcast(status="sent", sent_at="2026-09-11 18:00:00+00"))
    assert inspect(sent, metrics({"broadcast_id": REMOTE_ID, "sent": 0})).value.emails_sent == 0
    for answer in (metrics(), metrics({"broadcast_id": OTHER, "sent": 7}), http(502), wrong(429)):
        seen = inspect(sent, answer).value
        assert (seen.status, seen.emails_sent) == (RemoteStatus.SENT, None)


@pytest.mark.parametrize(
    "changes",
    [{"id": OTHER}, {"status": ""}, {"status": 7}, {"status": "scheduled", "scheduled_at": "in 1 min"}],
)
def test_a_reading_of_something_else_is_ambiguous(changes):
    assert isinstance(inspect(http(200, broadcast(**changes))), Ambiguous)


def test_a_broadcast_that_a_topic_narrows_equals_no_audience_of_ours():
    assert inspect(http(200, broadcast(topic_id=OTHER))).value.audience != SEGMENT


@pytest.mark.parametrize(
    ("stamp", "ms"),
    [
        ("2025-11-30 20:42:46.04984+00", 1_764_535_366_049),
        ("2025-11-30 20:42:46+00", 1_764_535_366_000),
        ("2025-11-30 21:42:46.5+01", 1_764_535_366_500),
        ("2025-11-30T20:42:46.049Z", 1_764_535_366_049),
        ("2025-11-30T20:42:46.049840000+00:00", 1_764_535_366_049),
    ],
)
def test_times_with_a_blank_any_fraction_and_a_short_offset_are_read(stamp, ms):
    assert wire.time_ms(stamp) == ms


@pytest.mark.parametrize(
    "stamp", ["", "in 1 min", "2025-11-30", "2025-13-30 20:42:46+00", "٢025-11-30 20:42:46+00"]
)
def test_other_times_are_value_errors(stamp):
    with pytest.raises(ValueError, match=r".+"):
        wire.time_ms(stamp)


@pytest.mark.parametrize(
    "name", ["Ann", "Ann B. Müller", 'Ann "the" B', "Acme, Inc.", "a\\b", "<Ann>", "Ann @ Acme", " x "]
)
def test_a_senders_name_comes_back_as_it_was_written(name):
    written = wire.sender(Envelope("s", "", name, "ann@example.com", "ann@example.com"))
    assert wire.sender_name(written) == name
    assert written.endswith(" <ann@example.com>")


def find(*answers):
    return asked(
        lambda one: one.find_by_token(STEM, since_ms=0, audience=SEGMENT, limit_ms=LIMIT_MS), *answers
    )


def test_a_search_pages_through_all_names_in_any_status():
    rows = [broadcast(id=f"{n:08d}-0000-4000-8000-000000000000", name=f"other {n}") for n in range(100)]
    ours = broadcast(status="queued", name="x [inst1.camp7.g12]")
    outcome, requests = find(
        page(*rows, more=True), page(ours, broadcast(id=OTHER, name="[inst1.camp7.g1] late"))
    )
    assert outcome == Accepted(
        Search((Found(REMOTE_ID, 12, RemoteStatus.SENDING, 1_789_148_586_097),), complete=True)
    )
    assert [request.query.get("after") for request in requests] == [None, rows[-1]["id"]]


@pytest.mark.parametrize(
    "pages",
    [
        (page(broadcast(), {"id": OTHER, "name": "x"})),
        (page(broadcast(created_at="soon"))),
        (page(broadcast(), broadcast())),
        (page(broadcast(), "x")),
    ],
)
def test_a_search_with_an_entry_that_cannot_be_read_is_not_complete(pages):
    outcome, _ = find(pages)
    assert not outcome.value.complete


def test_a_page_that_fails_is_the_outcome_of_the_search():
    outcome, _ = find(page(broadcast(), more=True), http(502))
    assert isinstance(outcome, Ambiguous)


def domain(number, created, **more):
    return {
        "id": f"{number:08d}-0000-4000-8000-000000000000",
        "name": f"d{number}.example",
        "status": "verified",
        "created_at": created,
        **more,
    }


def test_an_account_is_known_by_its_oldest_domain_whatever_the_order():
    newer, older = domain(1, "2025-01-01 00:00:00+00"), domain(2, "2024-01-01 00:00:00+00")
    for rows in ((newer, older), (older, newer)):
        outcome, _ = asked(lambda one: one.verify(limit_ms=LIMIT_MS), page(*rows))
        assert outcome == Accepted(Account(older["id"], "d2.example"))


def test_an_account_without_a_domain_or_with_an_unreadable_one_is_not_known():
    outcome, _ = asked(lambda one: one.verify(limit_ms=LIMIT_MS), page())
    assert isinstance(outcome, Refused)
    assert outcome.code == "no_domain"
    outcome, _ = asked(lambda one: one.verify(limit_ms=LIMIT_MS), page(domain(1, "soon")))
    assert isinstance(outcome, Ambiguous)


def test_a_key_that_may_only_send_is_a_refused_credential():
    outcome, _ = asked(
        lambda one: one.verify(limit_ms=LIMIT_MS), wrong(401, "only send", "restricted_api_key")
    )
    assert outcome.category is Category.CREDENTIAL


def count(*answers):
    return asked(lambda one: one.count(SEGMENT, limit_ms=LIMIT_MS), *answers)


def test_a_count_lists_everybody_and_leaves_out_who_left():
    rows = [contact(f"p{n}@x.example", n) for n in range(100)]
    gone = contact("gone@x.example", 200, unsubscribed=True)
    outcome, requests = count(page(*rows, more=True), page(contact("q@x.example", 101), gone))
    assert outcome == Accepted(101)
    assert [request.query["segment_id"] for request in requests] == [SEGMENT, SEGMENT]


def test_a_page_without_has_more_goes_on_while_it_is_full():
    rows = [contact(f"p{n}@x.example", n) for n in range(100)]
    full, rest = http(200, {"object": "list", "data": rows}), http(200, {"object": "list", "data": []})
    outcome, requests = count(full, rest)
    assert (outcome, len(requests)) == (Accepted(100), 2)


def test_a_count_with_an_unreadable_entry_is_no_count():
    outcome, _ = count(page(contact("a@x.example"), {"id": OTHER, "email": "b@x.example"}))
    assert isinstance(outcome, Ambiguous)


def test_a_count_whose_end_is_not_reached_in_time_is_refused_and_never_a_part_of_it():
    clock = HandClock()

    def slow(peer):
        peer.read_request()
        clock.now_ms += 40_000
        peer.say(page(contact("a@x.example"), more=True))

    with FaultServer(slow, slow) as server:
        outcome = resend(server, clock).count(SEGMENT, limit_ms=60_000)
    assert outcome == Refused("too_many", Category.REJECTED)


def test_figures_are_of_the_broadcast_since_it_was_made_and_never_zeros_for_want_of_a_row():
    row = {
        "broadcast_id": REMOTE_ID,
        "sent": 10,
        "delivered": 7,
        "bounced_permanent": 2,
        "bounced_transient": 1,
        "complained": 1,
        "unique_opened": 4,
    }
    outcome, [_, request] = asked(
        lambda one: one.report(REMOTE_ID, limit_ms=LIMIT_MS),
        http(200, broadcast(status="sent")),
        metrics(row),
    )
    report = outcome.value
    assert (report.emails_sent, report.delivered, report.hard_bounces, report.soft_bounces) == (10, 7, 2, 1)
    assert (report.complaints, report.unsubscribed, report.opens) == (1, None, 4)
    assert request.query["start_date"] == "2026-09-11T17:43:06.097Z"
    outcome, _ = asked(
        lambda one: one.report(REMOTE_ID, limit_ms=LIMIT_MS), http(200, broadcast()), metrics()
    )
    assert outcome == Refused("no_report", Category.MISSING, 200)


def test_a_record_names_people_by_kind_and_is_never_more_than_was_asked_for():
    outcome, [request] = asked(
        lambda one: one.recipients(REMOTE_ID, RecipientKind.BOUNCED, most=1, limit_ms=LIMIT_MS),
        page(
            {"id": OTHER, "email": "a@x.example", "count": 1, "bounce_type": "permanent"},
            {"id": REMOTE_ID, "email": "b@x.example", "count": 1},
        ),
    )
    assert [(one.address, one.permanent) for one in outcome.value.items] == [("a@x.example", True)]
    assert not outcome.value.complete
    assert request.query["type"] == "bounced"
    assert "a@x.example" not in repr(outcome)


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("{{{FIRST_NAME|there}}} {{{last_name}}}", {"FIRST_NAME", "LAST_NAME"}),
        ("{{{contact.first_name}}} {{{ company_name | you }}}", {"FIRST_NAME", "COMPANY_NAME"}),
        ("{{{RESEND_UNSUBSCRIBE_URL}}} {{{email}}} {{FIRST_NAME}} {{{1x}}}", set()),
    ],
)
def test_content_mentions_properties_in_three_braces(content, fields):
    assert mentioned_fields(content) == fields


# --- people ----------------------------------------------------------------------------------------------


ANN = NewContact("Ann+x@x.example", {"FIRST_NAME": "Ann", "Company": "Acme"})


def push(*answers, contacts=(ANN,)):
    return asked(lambda one: one.add_contacts(SEGMENT, contacts, limit_ms=LIMIT_MS), *answers)


def test_somebody_known_is_attached_and_otherwise_left_alone():
    outcome, [request] = push(http(200, {"object": "contact_segment", "contact_id": OTHER}))
    assert [one.came_to for one in outcome.results] == [Pushed.IN_SEGMENT]
    assert request.path == f"/contacts/Ann%2Bx%40x.example/segments/{SEGMENT}"
    assert request.body == b""


def test_a_stranger_is_created_without_a_word_about_subscription_and_then_attached():
    outcome, requests = push(
        wrong(404, "Contact not found", "not_found"),
        http(201, {"id": OTHER}),
        http(200, {"contact_id": OTHER}),
    )
    assert [one.came_to for one in outcome.results] == [Pushed.IN_SEGMENT]
    assert [request.method for request in requests] == ["POST"] * 3
    assert requests[1].json == {
        "email": "Ann+x@x.example",
        "first_name": "Ann",
        "properties": {"company": "Acme"},
    }


@pytest.mark.parametrize("status", [409, 422])
def test_a_duplicate_that_is_refused_is_attached_all_the_same(status):
    outcome, _ = push(wrong(404, name="not_found"), wrong(status, "exists"), http(200, {"contact_id": OTHER}))
    assert [one.came_to for one in outcome.results] == [Pushed.IN_SEGMENT]


def test_an_address_that_resend_takes_no_way_is_refused_with_a_code_and_the_rest_goes_on():
    outcome, _ = push(
        wrong(404, name="not_found"),
        wrong(422, "Invalid `email` field."),
        wrong(404, name="not_found"),
        http(200, {"contact_id": OTHER}),
        contacts=(NewContact("bad@x"), NewContact("good@x.example")),
    )
    assert [(one.came_to, one.code) for one in outcome.results] == [
        (Pushed.REFUSED, "http_422"),
        (Pushed.IN_SEGMENT, ""),
    ]
    assert outcome.ended_by is None


@pytest.mark.parametrize(
    ("answer", "came_to"),
    [
        (http(502), Pushed.UNCLEAR),
        (wrong(429), Pushed.UNTRIED),
        (wrong(401, name="missing_api_key"), Pushed.UNTRIED),
    ],
)
def test_what_cannot_be_told_ends_the_chunk_and_nobody_after_it_is_tried(answer, came_to):
    people = (NewContact("a@x.example"), NewContact("b@x.example"))
    outcome, requests = push(answer, contacts=people)
    assert [one.came_to for one in outcome.results] == [came_to, Pushed.UNTRIED]
    assert outcome.ended_by is not None
    assert len(requests) == 1


def test_who_is_taken_out_or_never_was_in_is_out():
    outcome, requests = asked(
        lambda one: one.remove_contacts(SEGMENT, ("a@x.example", "b@x.example"), limit_ms=LIMIT_MS),
        http(200, {"object": "contact_segment", "deleted": True}),
        wrong(404, "Contact not found", "not_found"),
    )
    assert [one.came_to for one in outcome.results] == [Pushed.OUT, Pushed.OUT]
    assert {request.method for request in requests} == {"DELETE"}


def test_no_address_stands_in_a_representation_of_a_push():
    outcome, _ = push(http(200, {"contact_id": OTHER}))
    assert "x.example" not in repr(outcome)
    assert "x.example" not in repr(NewContact("a@x.example", {"FIRST_NAME": "x.example"}))


def test_segments_are_found_by_exact_name_oldest_first():
    rows = [
        {"id": OTHER, "name": "wave-1", "created_at": "2026-01-02 00:00:00+00"},
        {"id": REMOTE_ID, "name": "wave-10", "created_at": "2026-01-03 00:00:00+00"},
        {"id": SEGMENT, "name": "wave-1", "created_at": "2026-01-01 00:00:00+00"},
    ]
    outcome, _ = asked(
        lambda one: one.find_segment("wave-1", audience=SEGMENT, limit_ms=LIMIT_MS), page(*rows)
    )
    assert [one.ref for one in outcome.value.items] == [SEGMENT, OTHER]
    assert outcome.value.complete
