"""What Mailchimp lists and counts, in our words: audiences, segments, merge fields, senders, reports."""

import pytest

from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Listing,
    MergeField,
    Refused,
    RemoteAudience,
    RemoteSegment,
    Report,
    Sender,
)
from contract.account import LIMIT_MS, REMOTE_ID, asked, mailchimp, problem
from contract.clocks import HandClock
from contract.faultserver import FaultServer, answering, http

LIST = "a1b2c3d4e5"


def audiences(*answers):
    return asked(lambda provider: provider.audiences(limit_ms=LIMIT_MS), *answers)


def segments(*answers, audience=LIST):
    return asked(lambda provider: provider.segments(audience, limit_ms=LIMIT_MS), *answers)


def merge_fields(*answers, audience=LIST):
    return asked(lambda provider: provider.merge_fields(audience, limit_ms=LIMIT_MS), *answers)


def senders(*answers):
    return asked(lambda provider: provider.senders(limit_ms=LIMIT_MS), *answers)


def report(answer):
    return asked(lambda provider: provider.report(REMOTE_ID, limit_ms=LIMIT_MS), answer)


def page(name, *rows, total=None):
    return http(200, {name: list(rows), "total_items": len(rows) if total is None else total})


def a_list(list_id="aa", **changes):
    return {
        "id": list_id,
        "name": f"List {list_id}",
        "stats": {"member_count": 7},
        "campaign_defaults": {"from_name": "Ann", "from_email": f"{list_id}@Shop.example"},
        **changes,
    }


def a_segment(number=7, **changes):
    return {"id": number, "name": f"Few {number}", "member_count": 3, "type": "static", **changes}


def a_field(tag="FNAME", **changes):
    field = {"tag": tag, "name": "First Name", "type": "text", "required": False, "default_value": ""}
    return field | changes


LISTINGS = {
    "lists": (audiences, a_list, ["aa", "bb", "cc"]),
    "segments": (segments, a_segment, [1, 2, 3]),
    "merge_fields": (merge_fields, a_field, ["A", "B", "C"]),
}
each_listing = pytest.mark.parametrize("name", LISTINGS)


# --- pages, the same for every listing -------------------------------------------------------------------


@each_listing
def test_every_page_is_read_and_the_next_begins_where_the_last_ended(name):
    call, row, (first, second, third) = LISTINGS[name]
    outcome, requests = call(page(name, row(first), row(second), total=3), page(name, row(third), total=3))
    assert outcome.value.complete
    assert len(outcome.value.items) == 3
    assert [request.query["offset"] for request in requests] == ["0", "2"]
    assert {request.query["count"] for request in requests} == {"500"}


@each_listing
def test_an_empty_listing_is_complete(name):
    call, _, _ = LISTINGS[name]
    outcome, requests = call(page(name))
    assert outcome == Accepted(Listing((), complete=True))
    assert len(requests) == 1


@each_listing
def test_a_listing_whose_total_does_not_add_up_is_incomplete(name):
    call, row, (first, second, _) = LISTINGS[name]
    for pages in (
        [page(name, total=1)],
        [page(name, row(first), total=3), page(name, total=3)],
        [page(name, row(first), total=2), page(name, row(first), total=2)],
        [page(name, row(first), row(second), total=1)],
        [page(name, row(first), row(first))],
    ):
        outcome, _ = call(*pages)
        assert isinstance(outcome, Accepted)
        assert not outcome.value.complete


@each_listing
def test_a_listing_ends_after_a_thousand_entries_and_says_incomplete(name):
    call, row, _ = LISTINGS[name]
    keys = range(1, 1600) if name == "segments" else [f"k{number}" for number in range(1599)]
    rows = [row(key) for key in keys]
    for total, asked_for in ((1000, 1000), (1599, 1000)):
        outcome, requests = call(
            page(name, *rows[:400], total=total),
            page(name, *rows[400:900], total=total),
            page(name, *rows[900:asked_for], total=total),
        )
        assert len(outcome.value.items) == 1000
        assert outcome.value.complete == (total == 1000)
        assert [request.query["count"] for request in requests] == ["500", "500", "100"]


@each_listing
def test_a_page_longer_than_asked_for_is_cut_at_a_thousand(name):
    call, row, _ = LISTINGS[name]
    keys = range(1, 1600) if name == "segments" else [f"k{number}" for number in range(1599)]
    outcome, requests = call(page(name, *[row(key) for key in keys]))
    assert len(outcome.value.items) == 1000
    assert not outcome.value.complete
    assert len(requests) == 1


@each_listing
def test_a_listing_of_tiny_pages_ends_and_says_incomplete(name):
    call, row, _ = LISTINGS[name]
    keys = range(1, 40) if name == "segments" else [f"k{number}" for number in range(39)]
    outcome, requests = call(*[page(name, row(key), total=39) for key in keys])
    assert len(requests) == len(outcome.value.items) == 20
    assert not outcome.value.complete


@each_listing
def test_an_entry_that_is_no_object_is_left_out_and_the_listing_incomplete(name):
    call, row, (first, second, _) = LISTINGS[name]
    for odd in (7, None, "x", [], {}):
        outcome, _ = call(page(name, row(first), odd, row(second)))
        assert len(outcome.value.items) == 2
        assert not outcome.value.complete


@each_listing
def test_a_page_that_cannot_be_read_is_ambiguous(name):
    call, row, (first, _, _) = LISTINGS[name]
    for body in (
        {name: []},
        {"total_items": 0},
        {name: {}, "total_items": 0},
        {name: [], "total_items": "0"},
        [],
    ):
        for pages in ([http(200, body)], [page(name, row(first), total=2), http(200, body)]):
            outcome, _ = call(*pages)
            assert isinstance(outcome, Ambiguous)
            assert outcome.reason == "unreadable"


@each_listing
def test_a_failing_later_page_is_the_outcome_of_the_listing(name):
    call, row, (first, _, _) = LISTINGS[name]
    outcome, _ = call(page(name, row(first), total=2), http(429))
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.RATE_LIMITED


@each_listing
def test_all_pages_of_a_listing_share_one_limit(name):
    clock = HandClock()
    _, row, (first, second, _) = LISTINGS[name]

    def slow(peer):
        peer.read_request()
        clock.now_ms += LIMIT_MS
        peer.say(page(name, row(first), total=2))

    method = {"lists": "audiences"}.get(name, name)
    with FaultServer(slow, answering(page(name, row(second), total=2))) as server:
        args = () if method == "audiences" else (LIST,)
        outcome = getattr(mailchimp(server, clock), method)(*args, limit_ms=LIMIT_MS)
        assert server.connections == 1
    assert not isinstance(outcome, Accepted)


@each_listing
def test_a_name_is_shown_on_one_printable_line_of_200_characters(name):
    call, row, (first, _, _) = LISTINGS[name]
    outcome, _ = call(page(name, row(first, name="\x1b[31mBé\u202e <b>@</b>\r\n\t ☃  Ltd\x00" + "x" * 500)))
    [found] = outcome.value.items
    assert found.name.startswith("[31mBé <b>@</b> ☃ Ltdxxx")
    assert len(found.name) == 200


@each_listing
@pytest.mark.parametrize("odd", ["", " \u200b\n", None, 7])
def test_an_entry_without_a_name_that_can_be_shown_is_left_out(name, odd):
    call, row, (first, second, _) = LISTINGS[name]
    outcome, _ = call(page(name, row(first), row(second, name=odd)))
    assert len(outcome.value.items) == 1
    assert not outcome.value.complete


@pytest.mark.parametrize("call", [segments, merge_fields])
def test_the_listing_of_a_segment_is_that_of_its_list(call):
    name = "segments" if call is segments else "merge_fields"
    _, [request] = call(page(name), audience=f"{LIST}:77")
    assert request.path == f"/3.0/lists/{LIST}/{name.replace('_', '-')}"


@pytest.mark.parametrize("call", [segments, merge_fields])
def test_the_listing_of_a_list_that_is_gone_is_missing(call):
    outcome, _ = call(problem(404))
    assert outcome.category is Category.MISSING


# --- entries ---------------------------------------------------------------------------------------------


def test_an_audience_has_its_reference_name_and_contacts():
    outcome, [request] = audiences(page("lists", a_list("aa"), a_list("bb", stats={"member_count": 0})))
    assert outcome.value.items == (RemoteAudience("aa", "List aa", 7), RemoteAudience("bb", "List bb", 0))
    assert (request.path, request.query["sort_dir"]) == ("/3.0/lists", "ASC")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "../x"},
        {"id": 7},
        {"stats": None},
        {"stats": {}},
        {"stats": {"member_count": -1}},
        {"stats": {"member_count": True}},
    ],
)
def test_an_invalid_audience_is_left_out(changes):
    outcome, _ = audiences(page("lists", a_list("aa"), a_list("bb", **changes)))
    assert outcome == Accepted(Listing((RemoteAudience("aa", "List aa", 7),), complete=False))


def test_a_segment_has_a_reference_that_a_draft_takes():
    outcome, _ = segments(page("segments", a_segment(7), a_segment(8, type="saved")))
    assert outcome.value.items == (
        RemoteSegment(f"{LIST}:7", "7", "Few 7", 3, "static"),
        RemoteSegment(f"{LIST}:8", "8", "Few 8", 3, "saved"),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "7"},
        {"id": 0},
        {"id": -1},
        {"id": True},
        {"member_count": None},
        {"member_count": -1},
        {"type": "fuzzy"},
        {"type": None},
    ],
)
def test_an_invalid_segment_is_left_out(changes):
    outcome, _ = segments(page("segments", a_segment(7), a_segment(8) | changes))
    assert [found.id for found in outcome.value.items] == ["7"]
    assert not outcome.value.complete


def test_a_merge_field_has_tag_name_type_and_default():
    rows = [a_field(), a_field("MMERGE3", name="Size", type="dropdown", required=True, default_value="M\n")]
    outcome, _ = merge_fields(page("merge_fields", *rows))
    assert outcome.value.items == (
        MergeField("FNAME", "First Name", "text", required=False, default=""),
        MergeField("MMERGE3", "Size", "dropdown", required=True, default="M"),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"tag": ""},
        {"tag": "A|B"},
        {"tag": "A B"},
        {"tag": "A*"},
        {"tag": "A\n"},
        {"tag": 7},
        {"type": ""},
        {"type": "<b>"},
        {"required": "no"},
        {"required": None},
        {"default_value": 7},
    ],
)
def test_an_invalid_merge_field_is_left_out(changes):
    outcome, _ = merge_fields(page("merge_fields", a_field("OK"), a_field("B") | changes))
    assert [found.tag for found in outcome.value.items] == ["OK"]
    assert not outcome.value.complete


# --- senders ---------------------------------------------------------------------------------------------


def domains(*rows, **more):
    return http(200, {"domains": list(rows), "total_items": len(rows)} | more)


def a_domain(domain="shop.example", verified=True):
    return {
        "domain": domain,
        "verified": verified,
        "authenticated": False,
        "verification_email": "boss@shop.example",
        "verification_sent": "2026-01-01T00:00:00+00:00",
    }


def test_senders_are_the_sending_domains_of_the_account():
    outcome, [request] = senders(domains(a_domain("Shop.Example"), a_domain("new.example", verified=False)))
    assert outcome == Accepted(
        Listing((Sender("shop.example", verified=True), Sender("new.example", verified=False)), complete=True)
    )
    assert (request.path, request.query) == ("/3.0/verified-domains", {})


@pytest.mark.parametrize(
    "row",
    [
        7,
        {},
        a_domain(""),
        a_domain("shop"),
        a_domain("a@b.example"),
        a_domain("x y.example"),
        a_domain(verified=1),
    ],
)
def test_an_invalid_domain_is_left_out_and_nothing_else_asked_for(row):
    outcome, requests = senders(domains(a_domain("ok.example"), row))
    assert outcome == Accepted(Listing((Sender("ok.example", verified=True),), complete=False))
    assert len(requests) == 1


def test_domains_that_are_not_all_of_them_are_incomplete():
    many = [a_domain(f"d{number}.example") for number in range(1001)]
    for answer in (domains(a_domain(), total_items=2), domains(*many), domains(a_domain(), a_domain())):
        outcome, _ = senders(answer)
        assert not outcome.value.complete
        assert len(outcome.value.items) in (1, 1000)


@pytest.mark.parametrize("answer", [domains(), problem(403), problem(404), problem(405), problem(400)])
def test_without_domains_the_default_senders_of_the_lists_are_listed_once_each(answer):
    again = a_list("cc", campaign_defaults={"from_name": "Other", "from_email": "AA@shop.example"})
    outcome, [_, request] = senders(answer, page("lists", a_list("aa"), a_list("bb"), again))
    assert outcome == Accepted(
        Listing(
            (
                Sender("shop.example", "aa@shop.example", "Ann"),
                Sender("shop.example", "bb@shop.example", "Ann"),
            ),
            complete=True,
        )
    )
    assert request.path == "/3.0/lists"
    assert outcome.value.items[0].verified is None


@pytest.mark.parametrize(
    "address", ["", "no", "@shop.example", "a@", "a b@shop.example", "a\n@shop.example", "a@b", 7]
)
def test_a_default_sender_that_is_no_address_is_left_out(address):
    odd = a_list("bb", campaign_defaults={"from_name": "X", "from_email": address})
    outcome, _ = senders(domains(), page("lists", a_list("aa"), odd))
    assert [found.email for found in outcome.value.items] == ["aa@shop.example"]
    assert not outcome.value.complete


@pytest.mark.parametrize(
    "answer", [problem(401), http(403), http(429), http(503), http(200, "x"), http(404, "<html>")]
)
def test_a_failure_that_says_nothing_about_domains_is_the_outcome_of_senders(answer):
    outcome, requests = senders(answer)
    assert not isinstance(outcome, Accepted)
    assert len(requests) == 1


def test_lists_that_fail_are_the_outcome_of_senders():
    outcome, _ = senders(domains(), http(429))
    assert outcome == Refused("http_429", Category.RATE_LIMITED, status=429)


def test_nothing_valid_among_the_domains_is_not_taken_for_none():
    outcome, requests = senders(domains({"domain": 7}))
    assert outcome == Accepted(Listing((), complete=False))
    assert len(requests) == 1


# --- reports ---------------------------------------------------------------------------------------------


def figures(**changes):
    return {
        "id": REMOTE_ID,
        "emails_sent": 100,
        "abuse_reports": 1,
        "unsubscribed": 2,
        "bounces": {"hard_bounces": 3, "soft_bounces": 4, "syntax_errors": 5},
        "opens": {"opens_total": 900, "unique_opens": 40},
        **changes,
    }


def test_a_report_has_the_figures_in_our_words():
    outcome, [request] = report(http(200, figures()))
    assert outcome == Accepted(
        Report(
            emails_sent=100,
            delivered=88,
            hard_bounces=3,
            soft_bounces=4,
            complaints=1,
            unsubscribed=2,
            opens=40,
        )
    )
    assert (request.method, request.path) == ("GET", f"/3.0/reports/{REMOTE_ID}")


def test_a_figure_that_is_absent_is_not_known_and_never_zero():
    outcome, _ = report(http(200, {"id": REMOTE_ID}))
    assert outcome == Accepted(Report(None, None, None, None, None, None, None))


@pytest.mark.parametrize("odd", [None, "7", -1, True, 1.5, {}])
def test_a_figure_that_is_no_count_is_not_known(odd):
    changes = {"emails_sent": odd, "unsubscribed": odd, "bounces": odd, "opens": {"unique_opens": odd}}
    outcome, _ = report(http(200, figures(**changes)))
    assert outcome.value == Report(None, None, None, None, 1, None, None)


def test_more_bounces_than_mails_is_not_a_negative_delivery():
    outcome, _ = report(http(200, figures(emails_sent=1)))
    assert (outcome.value.emails_sent, outcome.value.delivered) == (1, None)


def test_zero_is_zero_where_mailchimp_says_so():
    zeros = {"emails_sent": 0, "bounces": {"hard_bounces": 0, "soft_bounces": 0}}
    outcome, _ = report(http(200, figures(**zeros)))
    assert (outcome.value.emails_sent, outcome.value.delivered, outcome.value.hard_bounces) == (0, 0, 0)


def test_a_report_that_is_not_there_is_refused_as_missing():
    outcome, _ = report(problem(404))
    assert isinstance(outcome, Refused)
    assert outcome.category is Category.MISSING


@pytest.mark.parametrize("body", [figures(id="other"), {}, [], "x"])
def test_a_report_of_something_else_is_ambiguous(body):
    outcome, _ = report(http(200, body))
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "unreadable"
