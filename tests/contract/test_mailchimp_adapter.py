"""The Mailchimp adapter against scripted and recorded answers: drafts, sends and readings of campaigns."""

import json
import re

import pytest

from campaignbridge.domain.provider import (
    Accepted,
    Account,
    Ambiguous,
    Category,
    Draft,
    Found,
    Refused,
    RemoteAudience,
    RemoteStatus,
    Search,
)
from campaignbridge.ports import Provider
from campaignbridge.providers import mailchimp_wire as wire
from campaignbridge.providers.mailchimp import MAX_PAGES, open_mailchimp
from campaignbridge.providers.registry import known_slugs, open_provider
from contract.account import DRAFT, KEY, LIMIT_MS, STEM, campaign, mailchimp, problem
from contract.clocks import HandClock
from contract.faultserver import FaultServer, answering, http, silent


def create(answer):
    with FaultServer(answering(answer)) as server:
        provider = mailchimp(server)
        outcome = provider.create_draft(provider.dial(limit_ms=LIMIT_MS), DRAFT, limit_ms=LIMIT_MS)
        return outcome, server.requests


def send(answer):
    with FaultServer(answering(answer)) as server:
        provider = mailchimp(server)
        outcome = provider.send(provider.dial(limit_ms=LIMIT_MS), "c0ffee1234", limit_ms=LIMIT_MS)
        return outcome, server.requests


def sync(*answers):
    with FaultServer(*map(answering, answers)) as server:
        outcome = mailchimp(server).sync_draft("c0ffee1234", DRAFT, limit_ms=LIMIT_MS)
        return outcome, server.requests


def inspect(answer, remote_id="c0ffee1234"):
    with FaultServer(answering(answer)) as server:
        return mailchimp(server).inspect(remote_id, limit_ms=LIMIT_MS)


def find(*answers, audience="a1b2c3d4e5"):
    with FaultServer(*map(answering, answers)) as server:
        outcome = mailchimp(server).find_by_token(
            STEM, since_ms=1_772_359_200_999, audience=audience, limit_ms=LIMIT_MS
        )
        return outcome, server.requests


def page(*rows, total=None):
    return http(200, {"campaigns": list(rows), "total_items": len(rows) if total is None else total})


# --- create ----------------------------------------------------------------------------------------------


def test_a_created_draft_is_accepted_with_its_id():
    outcome, [request] = create(http(200, campaign()))
    assert outcome == Accepted("c0ffee1234")
    assert (request.method, request.path) == ("POST", "/3.0/campaigns")
    assert request.headers["authorization"].startswith("Basic ")
    assert request.json["recipients"] == {"list_id": "a1b2c3d4e5"}
    assert request.json["settings"]["reply_to"] == "ann@example.com"


def test_a_segment_of_a_list_is_asked_for_by_its_number():
    body = wire.create_body(Draft("t", "a1b2c3d4e5:77", DRAFT.envelope, "", ""))
    assert body["recipients"] == {
        "list_id": "a1b2c3d4e5",
        "segment_opts": {"saved_segment_id": 77, "match": "all"},
    }


@pytest.mark.parametrize("ref", ["", ":7", "a:", "a:b", "a/b", "../x", "a:٣", "a b"])
def test_an_audience_of_another_form_is_a_value_error(ref):
    with pytest.raises(ValueError, match="audience"):
        wire.split_audience(ref)


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"<html>ok</html>", b"{}", b'{"id": ""}', b'{"id": 7}', b'{"id": "../x"}', b"\xff"],
)
def test_a_created_draft_without_a_readable_id_is_ambiguous(body):
    outcome, _ = create(http(200, body))
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("unreadable", 200)
    assert outcome.bytes_out > 0


def test_an_answer_nested_too_deeply_to_read_is_ambiguous():
    outcome, _ = create(http(200, b'{"id":' + b"[" * 100_000))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"


@pytest.mark.parametrize("status", [201, 202, 204])
def test_an_undocumented_success_of_create_is_ambiguous(status):
    outcome, _ = create(http(status, b"" if status == 204 else campaign()))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unexpected_status"


# --- send ------------------------------------------------------------------------------------------------


def test_a_204_to_send_is_accepted():
    outcome, [request] = send(http(204))
    assert outcome == Accepted(None)
    assert (request.method, request.path, request.body) == (
        "POST",
        "/3.0/campaigns/c0ffee1234/actions/send",
        b"",
    )


@pytest.mark.parametrize("status", [200, 202, 301, 307, 304])
def test_any_other_2xx_or_3xx_to_send_is_ambiguous(status):
    outcome, requests = send(http(status, b"", Location="/3.0/elsewhere"))
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("unexpected_status", status)
    assert len(requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520])
@pytest.mark.parametrize("body", [b"", b"<html>", b'{"title":"x","detail":"y","status":503}'])
def test_a_5xx_to_send_is_ambiguous_whatever_its_body(status, body):
    outcome, requests = send(http(status, body))
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == (f"http_{status}", status)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (400, Category.REJECTED),
        (401, Category.CREDENTIAL),
        (403, Category.REJECTED),
        (404, Category.MISSING),
        (405, Category.REJECTED),
        (422, Category.REJECTED),
        (426, Category.REJECTED),
    ],
)
def test_a_4xx_in_mailchimps_shape_to_send_is_refused(status, category):
    outcome, _ = send(problem(status, "Ihre Kampagne ist nicht bereit."))
    assert outcome == Refused(
        f"http_{status}", category, status=status, detail="Ihre Kampagne ist nicht bereit."
    )


@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 413])
@pytest.mark.parametrize(
    "body",
    [
        "<html><h1>Bad Request</h1>Your Campaign is not ready to send.</html>",
        '{"message": "blocked by policy"}',
        '{"title": "x", "detail": "y", "status": 418}',
        "[]",
    ],
)
def test_a_4xx_in_somebody_elses_shape_is_ambiguous(status, body):
    outcome, _ = send(http(status, body, content_type="text/html"))
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("foreign_answer", status)


def test_an_empty_4xx_is_ambiguous_except_403_and_429():
    for status in (400, 401, 404, 409):
        outcome, _ = send(http(status))
        assert isinstance(outcome, Ambiguous)
        assert outcome.reason == "foreign_answer"


def test_a_bare_403_is_rate_limiting():
    outcome, _ = send(http(403))
    assert outcome == Refused("bare_403", Category.RATE_LIMITED, status=403)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("30", 30), ("0", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("9" * 20, None)],
)
def test_a_429_is_rate_limiting_with_the_seconds_to_wait(header, seconds):
    for answer in (http(429, Retry_After=header), http(429, "<html>", Retry_After=header)):
        outcome, _ = send(answer)
        assert outcome == Refused("http_429", Category.RATE_LIMITED, status=429, retry_after_s=seconds)
        assert outcome.retryable


def test_no_answer_to_send_is_ambiguous():
    with FaultServer(silent) as server:
        provider = mailchimp(server)
        outcome = provider.send(provider.dial(limit_ms=LIMIT_MS), "c0ffee1234", limit_ms=200)
        assert isinstance(outcome, Ambiguous)
        assert outcome.reason == "timeout"
        assert len(server.requests) == 1


def test_a_403_in_mailchimps_shape_is_about_the_credential_on_a_read():
    outcome = inspect(problem(403))
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.CREDENTIAL


# --- a provider's words ----------------------------------------------------------------------------------


def test_a_detail_is_one_printable_line_without_addresses_and_at_most_300_characters():
    detail = 'A\x00\x1b[31m "b c"@x.example, Jo <jo@example.com>\u202e\n' + "word " * 100
    outcome, _ = send(problem(400, detail))
    assert outcome.detail.startswith("A[31m")
    assert "@" not in outcome.detail
    assert "<address>" in outcome.detail
    assert outcome.detail.isprintable()
    assert len(outcome.detail) == 300


def test_a_detail_says_which_field_was_wrong():
    outcome, _ = send(
        problem(400, "See errors.", errors=[{"field": "settings.title", "message": "too long"}, 7])
    )
    assert outcome.detail == "See errors. settings.title: too long"


def test_an_echoed_key_is_not_repeated():
    outcome, [request] = send(problem(401, f"bad key {KEY}"))
    assert KEY not in repr(outcome)
    basic = request.headers["authorization"].removeprefix("Basic ")
    outcome, _ = send(problem(401, f"bad header {basic}"))
    assert basic not in repr(outcome)


# --- sync ------------------------------------------------------------------------------------------------


def test_a_sync_asserts_settings_then_content_and_never_the_audience():
    outcome, [settings, content] = sync(http(200, campaign()), http(200, {"html": ""}))
    assert outcome == Accepted(None)
    assert (settings.method, settings.path) == ("PATCH", "/3.0/campaigns/c0ffee1234")
    assert settings.json.keys() == {"settings"}
    assert settings.json["settings"]["title"] == DRAFT.title
    assert (content.method, content.path) == ("PUT", "/3.0/campaigns/c0ffee1234/content")
    assert content.json == {"html": "<h1>Hi</h1>", "plain_text": "Hi"}


@pytest.mark.parametrize("answer", [http(502, "<html>"), http(200, campaign(id="another")), http(200, "x")])
def test_a_sync_uploads_nothing_after_settings_that_were_not_accepted(answer):
    outcome, requests = sync(answer)
    assert isinstance(outcome, Ambiguous)
    assert [request.method for request in requests] == ["PATCH"]


def test_a_sync_whose_upload_fails_says_so():
    outcome, requests = sync(http(200, campaign()), problem(400, "template"))
    assert outcome == Refused("http_400", Category.REJECTED, status=400, detail="template")
    assert len(requests) == 2


def test_a_sync_has_one_limit_for_both_requests():
    clock = HandClock()

    def slow(peer):
        peer.read_request()
        clock.now_ms += 20_000
        peer.say(http(200, campaign()))

    with FaultServer(slow) as server:
        outcome = mailchimp(server, clock).sync_draft("c0ffee1234", DRAFT, limit_ms=20_000)
        assert server.connections == 1
    assert outcome == Refused("connect_timeout", Category.UNREACHABLE) or isinstance(outcome, Ambiguous)


# --- inspect ---------------------------------------------------------------------------------------------


def test_a_reading_is_in_our_own_words():
    outcome = inspect(http(200, campaign()))
    assert isinstance(outcome, Accepted)
    seen = outcome.value
    assert (seen.remote_id, seen.status, seen.raw_status) == ("c0ffee1234", RemoteStatus.DRAFT, "save")
    assert (seen.audience, seen.title, seen.subject) == ("a1b2c3d4e5", DRAFT.title, "Grüße & more")
    assert (seen.from_name, seen.reply_to) == ("Ann", "ann@example.com")
    assert (seen.recipient_count, seen.emails_sent, seen.send_time_ms) == (22_000, 0, None)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("save", RemoteStatus.DRAFT),
        ("schedule", RemoteStatus.SCHEDULED),
        ("sending", RemoteStatus.SENDING),
        ("sent", RemoteStatus.SENT),
        ("canceled", RemoteStatus.CANCELLED),
        ("canceling", RemoteStatus.CANCELLING),
        ("archived", RemoteStatus.UNTRACKED),
        ("SAVE", RemoteStatus.UNTRACKED),
        ("brand_new", RemoteStatus.UNTRACKED),
    ],
)
def test_each_status_has_our_word_and_unknown_ones_are_untracked(raw, status):
    seen = inspect(http(200, campaign(status=raw))).value
    assert (seen.status, seen.raw_status) == (status, raw)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, RemoteStatus.DRAFT),
        ({"emails_sent": 1}, RemoteStatus.UNTRACKED),
        ({"emails_sent": None}, RemoteStatus.UNTRACKED),
        ({"type": "rss"}, RemoteStatus.UNTRACKED),
    ],
)
def test_a_paused_campaign_is_a_draft_only_if_regular_and_nobody_was_mailed(changes, status):
    assert inspect(http(200, campaign(status="paused", **changes))).value.status is status


@pytest.mark.parametrize(
    ("options", "audience"),
    [
        ({}, "a1b2c3d4e5"),
        ({"match": "all"}, "a1b2c3d4e5"),
        ({"saved_segment_id": 77, "match": "any", "conditions": [{}]}, "a1b2c3d4e5:77"),
        ({"saved_segment_id": "77"}, "a1b2c3d4e5:77"),
        ({"match": "any", "conditions": [{"op": "interestcontains"}]}, "a1b2c3d4e5:?"),
        ({"prebuilt_segment_id": "subscribers-female"}, "a1b2c3d4e5:?"),
    ],
)
def test_an_audience_narrowed_by_hand_never_reads_as_the_whole_list(options, audience):
    recipients = {"list_id": "a1b2c3d4e5", "segment_opts": options}
    seen = inspect(http(200, campaign(recipients=recipients))).value
    assert seen.audience == audience
    assert seen.recipient_count is None


def test_a_send_time_is_read_in_utc_milliseconds():
    seen = inspect(http(200, campaign(status="schedule", send_time="2026-03-01T12:15:00+02:00"))).value
    assert seen.send_time_ms == 1_772_360_100_000


@pytest.mark.parametrize("changes", [{"id": "other"}, {"status": None}, {"send_time": "soon"}])
def test_a_reading_of_something_else_is_ambiguous(changes):
    outcome = inspect(http(200, campaign(**changes)))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"


def test_a_missing_campaign_is_refused_as_missing():
    outcome = inspect(problem(404, "The requested resource could not be found.", "Resource Not Found"))
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.MISSING


# --- find ------------------------------------------------------------------------------------------------


def row(remote_id, title, **changes):
    return campaign(id=remote_id, settings={"title": title}, **changes)


def test_a_search_finds_every_generation_in_every_status():
    outcome, [request] = find(
        page(
            row("aa", f"News [{STEM}.g1]", status="sent"),
            row("bb", f"News [{STEM}.g12]"),
            row("cc", f"[{STEM}.g2]", status="archived"),
        )
    )
    created_ms = 1_772_359_200_000
    assert outcome == Accepted(
        Search(
            (
                Found("aa", 1, RemoteStatus.SENT, created_ms),
                Found("bb", 12, RemoteStatus.DRAFT, created_ms),
                Found("cc", 2, RemoteStatus.UNTRACKED, created_ms),
            ),
            complete=True,
        )
    )
    assert "status" not in request.query
    assert request.query["since_create_time"] == "2026-03-01T10:00:00+00:00"
    assert (request.query["list_id"], request.query["count"], request.query["offset"]) == (
        "a1b2c3d4e5",
        "1000",
        "0",
    )


def test_only_the_exact_token_at_the_very_end_of_a_title_counts():
    titles = [
        f"{STEM}.g1",
        f"[{STEM}.g1] (copy 01)",
        f"[{STEM}.g]",
        f"[{STEM}.gx]",
        f"[{STEM}0.g1]",
        f"[x{STEM}.g1]",
        "[inst1xcamp7.g1]",
        f"[{STEM}.g1]\n",
        f"[{STEM}.g١]",
        "",
    ]
    rows = [row(f"id{number}", title) for number, title in enumerate(titles)]
    outcome, _ = find(page(*rows, campaign(id="bare", settings={}), {"id": "x", "status": "save"}))
    assert outcome == Accepted(Search((), complete=True))


def test_a_search_reads_every_page_and_asks_for_the_list_of_a_segment():
    first, second = [row("aa", f"[{STEM}.g1]"), row("bb", "other")], [row("cc", f"[{STEM}.g2]")]
    outcome, requests = find(page(*first, total=3), page(*second, total=3), audience="a1b2c3d4e5:9")
    assert [found.remote_id for found in outcome.value.found] == ["aa", "cc"]
    assert outcome.value.complete
    assert [request.query["offset"] for request in requests] == ["0", "2"]
    assert requests[0].query["list_id"] == "a1b2c3d4e5"


@pytest.mark.parametrize(
    "pages",
    [
        [page(total=1)],
        [page(row("aa", "x"), total=3), page(total=3)],
        [page(row("aa", "x"), total=2), page(row("aa", "x"), total=2)],
        [page(row("aa", "x"), row("bb", "x"), total=1)],
        [page(row("aa", "x"), row("aa", "x"), total=1)],
    ],
)
def test_a_search_whose_total_does_not_add_up_is_incomplete(pages):
    outcome, _ = find(*pages)
    assert isinstance(outcome, Accepted)
    assert not outcome.value.complete


def test_a_search_stops_after_the_last_allowed_page_and_says_incomplete():
    pages = [page(row(f"id{number}", f"[{STEM}.g{number}]"), total=999) for number in range(MAX_PAGES + 5)]
    outcome, requests = find(*pages)
    assert len(requests) == len(outcome.value.found) == MAX_PAGES
    assert not outcome.value.complete


@pytest.mark.parametrize(
    "answer",
    [
        http(200, {"campaigns": []}),
        http(200, {"total_items": 0}),
        http(200, {"campaigns": [7], "total_items": 1}),
        http(200, {"campaigns": [{"id": "aa"}], "total_items": 1}),
        page(row("aa", f"[{STEM}.g1]", create_time="")),
        page(row("../a", f"[{STEM}.g1]")),
    ],
)
def test_a_search_page_that_cannot_be_read_is_ambiguous(answer):
    outcome, _ = find(answer)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"


def test_a_failing_second_page_is_the_outcome_of_the_search():
    outcome, _ = find(page(row("aa", f"[{STEM}.g1]"), total=2), http(429))
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.RATE_LIMITED


# --- account and audience --------------------------------------------------------------------------------


def test_verify_reads_which_account_the_key_opens():
    with FaultServer(answering(http(200, {"account_id": "8d3a", "account_name": "Shop"}))) as server:
        assert mailchimp(server).verify(limit_ms=LIMIT_MS) == Accepted(Account("8d3a", "Shop"))
        assert server.requests[0].path == "/3.0/"


def test_an_account_without_an_id_is_ambiguous():
    with FaultServer(answering(http(200, {"account_name": "Shop"}))) as server:
        assert isinstance(mailchimp(server).verify(limit_ms=LIMIT_MS), Ambiguous)


def test_an_audience_is_a_list_or_a_segment_with_its_count():
    list_answer = http(200, {"id": "a1", "name": "All", "stats": {"member_count": 41}})
    segment_answer = http(200, {"id": 7, "name": "Few", "member_count": 3})
    with FaultServer(answering(list_answer), answering(segment_answer)) as server:
        provider = mailchimp(server)
        assert provider.audience("a1", limit_ms=LIMIT_MS) == Accepted(RemoteAudience("a1", "All", 41))
        assert provider.audience("a1:7", limit_ms=LIMIT_MS) == Accepted(RemoteAudience("a1:7", "Few", 3))
        assert [request.path for request in server.requests] == ["/3.0/lists/a1", "/3.0/lists/a1/segments/7"]


# --- keys, hosts, registry -------------------------------------------------------------------------------


def test_a_keys_last_part_names_the_host():
    assert wire.base_url_of(KEY) == "https://us19.api.mailchimp.com/3.0"
    assert (
        open_mailchimp(key=KEY, base_url=None, clock=HandClock())._transport.host == "us19.api.mailchimp.com"
    )


@pytest.mark.parametrize(
    "suffix", ["", "-", "-evil.example.com/", "-us19.evil", "-US19", "-us19\n", "-us1@x", "-us"]
)
def test_a_malformed_key_is_refused_without_being_repeated(suffix):
    with pytest.raises(ValueError, match="Mailchimp API key") as caught:
        open_mailchimp(key="0123456789abcdef" + suffix, base_url=None, clock=HandClock())
    assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a b", "a\nb-us1", "schlüssel-us1"])
def test_a_key_that_no_header_can_carry_is_refused_with_a_base_url_too(key):
    with pytest.raises(ValueError, match="plain ASCII"):
        open_mailchimp(key=key, base_url="http://127.0.0.1:1", clock=HandClock())


def test_a_custom_host_is_mailchimps_own_or_loopback_or_allowed():
    for url in ("https://us6.api.mailchimp.com/3.0", "http://localhost:8025"):
        open_mailchimp(key=KEY, base_url=url, clock=HandClock())
    for url in ("https://recorder.example.com", "https://us6.api.mailchimp.com.evil.example", "https://[::1"):
        with pytest.raises(ValueError, match=r"\.$"):
            open_mailchimp(key=KEY, base_url=url, clock=HandClock())
    allowed = frozenset({"recorder.example.com"})
    open_mailchimp(key=KEY, base_url="https://recorder.example.com", clock=HandClock(), allow_hosts=allowed)


def test_the_key_is_in_no_repr_of_the_adapter():
    provider = open_mailchimp(key=KEY, base_url=None, clock=HandClock())
    assert KEY[:32] not in repr(provider)


def test_the_registry_opens_mailchimp_by_its_slug():
    provider: Provider = open_provider("mailchimp", key=KEY, base_url=None, clock=HandClock())
    assert (provider.slug, provider.label) == ("mailchimp", "Mailchimp")
    assert provider.capabilities == {"schedule", "cancel", "test"}
    assert "mailchimp" in known_slugs()


def test_an_unknown_slug_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no provider called 'mailchump'; known are: .*mailchimp.*\.$"):
        open_provider("mailchump", key=KEY, base_url=None, clock=HandClock())


def test_another_package_can_bring_a_provider_but_not_replace_a_built_in_one(monkeypatch):
    from importlib.metadata import EntryPoint, EntryPoints

    from campaignbridge.providers import registry

    group = registry.ENTRY_POINT_GROUP
    target = "campaignbridge.providers.mailchimp:open_mailchimp"
    brought = EntryPoints(
        [EntryPoint("pigeon", target, group), EntryPoint("mailchimp", "nowhere:at_all", group)]
    )
    monkeypatch.setattr(registry, "entry_points", brought.select)
    assert known_slugs() == ("mailchimp", "pigeon", "resend")
    for slug in ("mailchimp", "pigeon"):
        assert open_provider(slug, key=KEY, base_url=None, clock=HandClock()).slug == "mailchimp"


# --- recorded answers ------------------------------------------------------------------------------------


@pytest.fixture
def recorded(shared_facts):
    def read(name):
        return json.loads((shared_facts / "facts/fixtures/mailchimp" / name).read_text())

    return read


def test_a_recorded_create_is_accepted(recorded):
    outcome, _ = create(http(200, recorded("stefna/campaigns__post.json")))
    assert outcome == Accepted("0cefd1915f")


def test_a_recorded_refusal_of_create_names_the_field(recorded):
    body = recorded("stefna/campaigns__post__alt1.json")
    outcome, _ = create(http(body["status"], body))
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.category) == ("http_400", Category.REJECTED)
    assert "type: " in outcome.detail


@pytest.mark.parametrize(
    "name",
    [
        "issues/send_not_ready.json",
        "issues/schedule_refused_empty_reason.json",
        "issues/member_compliance_state.json",
        "issues/segment_name_taken.json",
    ],
)
def test_recorded_problems_are_refusals_that_may_mean_already_done(recorded, name):
    body = recorded(name)["body"]
    outcome, _ = send(http(body["status"], body))
    assert isinstance(outcome, Refused)
    assert outcome.may_mean_already_done
    assert "@" not in outcome.detail


def test_every_recorded_answer_of_a_4xx_is_known_as_mailchimps_own(recorded, shared_facts):
    folder = shared_facts / "facts/fixtures/mailchimp/grouparoo"
    names = [path for path in sorted(folder.iterdir()) if re.search(r"_4\d\d_", path.name)]
    assert names
    for path in names:
        record = json.loads(path.read_text())
        body = record.get("body", record.get("response", record))
        status = int(re.search(r"_(4\d\d)_", path.name)[1])
        outcome, _ = send(http(status, body))
        assert isinstance(outcome, Refused), path.name
        assert outcome.code == f"http_{status}"


def test_a_recorded_draft_reads_as_a_draft_without_a_send_time(recorded):
    seen = inspect(http(200, recorded("stefna/campaigns__0cefd1915f__get.json")), "0cefd1915f").value
    assert (seen.status, seen.send_time_ms, seen.emails_sent) == (RemoteStatus.DRAFT, None, 0)


def test_a_recorded_draft_with_conditions_is_not_its_whole_list(recorded):
    body = recorded("rewindio/campaign.json")
    seen = inspect(http(200, body), body["id"]).value
    assert seen.audience == body["recipients"]["list_id"] + ":?"
    assert seen.subject == ""


def test_a_recorded_sent_campaign_has_its_figures(recorded):
    [body] = recorded("misc/campaign_sent_with_delivery_status.json")["body"]["campaigns"]
    seen = inspect(http(200, body), body["id"]).value
    assert (seen.status, seen.emails_sent, seen.recipient_count) == (RemoteStatus.SENT, 14592, 14592)
    assert seen.send_time_ms == 1_476_126_000_000


def test_a_recorded_patch_and_content_are_accepted(recorded):
    patched = recorded("stefna/campaigns__0cefd1915f__patch.json")
    content = recorded("stefna/campaigns__88cbf762dc__content__put.json")
    with FaultServer(answering(http(200, patched)), answering(http(200, content))) as server:
        assert mailchimp(server).sync_draft("0cefd1915f", DRAFT, limit_ms=LIMIT_MS) == Accepted(None)


def test_recorded_lists_of_campaigns_are_read_whole(recorded):
    outcome, _ = find(http(200, recorded("stefna/campaigns__get.json")))
    assert outcome == Accepted(Search((), complete=True))


def test_a_recorded_account_and_list_are_read(recorded):
    account = recorded("rewindio/account_information.json")
    audience = recorded("stefna/lists__215f4cfac8__get.json")
    with FaultServer(answering(http(200, account)), answering(http(200, audience))) as server:
        provider = mailchimp(server)
        assert provider.verify(limit_ms=LIMIT_MS).value.id == account["account_id"]
        assert provider.audience("215f4cfac8", limit_ms=LIMIT_MS).value == RemoteAudience(
            "215f4cfac8", "Main List", 0
        )
