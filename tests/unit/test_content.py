"""Frozen content: fingerprints, one-line fields, preflight, and what a content file becomes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.content import (
    CLIPPED_BYTES,
    MAX_HTML_BYTES,
    Snapshot,
    fingerprint,
    has_unsubscribe_tag,
    preflight,
    require_address,
    require_one_line,
)
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.provider import ContentRules, Envelope
from campaignbridge.flows.render import render

RULES = ContentRules("*|UNSUB|*", separate_replies=False, comments_hide=True)
ENVELOPE = Envelope("Hello \N{PARTY POPPER}", "", "Dana", "news@acme.example", "news@acme.example")
HTML = "<p>Hi</p><a href='*|UNSUB|*'>bye</a>"


def codes(envelope: Envelope = ENVELOPE, html: str = HTML, text: str = "Hi") -> list[str]:
    return [problem.code for problem in preflight(envelope, html, text, rules=RULES, label="Mailchimp")]


def test_the_same_bytes_have_the_same_fingerprint_and_any_other_byte_another() -> None:
    one = fingerprint(ENVELOPE, HTML, "Hi")
    assert one == fingerprint(ENVELOPE, HTML, "Hi")
    assert one.startswith("sha256:")
    assert len(one) == 71
    assert one != fingerprint(ENVELOPE, HTML, "Hi ")


@given(
    st.lists(st.text(max_size=4), min_size=7, max_size=7),
    st.lists(st.text(max_size=4), min_size=7, max_size=7),
)
def test_text_that_moves_from_one_field_to_the_next_changes_the_fingerprint(
    a: list[str], b: list[str]
) -> None:
    def of(parts: list[str]) -> str:
        return fingerprint(Envelope(*parts[:5]), parts[5], parts[6])

    try:
        assert (of(a) == of(b)) == (a == b)
    except UnicodeEncodeError:
        assert any("\ud800" <= char <= "\udfff" for char in "".join(a + b))


def test_a_snapshot_whose_bytes_were_changed_is_not_intact() -> None:
    digest = fingerprint(ENVELOPE, HTML, "Hi")
    assert Snapshot("cmp_1", 1, ENVELOPE, HTML, "Hi", digest, 0, "dana").intact
    assert not Snapshot("cmp_1", 1, ENVELOPE, HTML + " ", "Hi", digest, 0, "dana").intact


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\x00b", "a\u2028b", "\x7f", "", "   ", "x" * 11, "\ud800"])
def test_a_line_break_a_nul_and_too_much_or_nothing_is_refused_in_one_sentence(bad: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_one_line(bad, field="subject", limit=10)
    assert caught.value.what.startswith("The subject")
    assert caught.value.todo


def test_four_byte_emoji_are_kept_and_count_as_one_character() -> None:
    assert require_one_line("\N{PARTY POPPER}" * 10, field="subject", limit=10) == "\N{PARTY POPPER}" * 10


@pytest.mark.parametrize(
    "bad", ["nobody", "a@b@c", "a b@c.example", "a@c.example\nBcc: x", "<a@c.example>", "@@", "a@"]
)
def test_what_is_no_address_is_refused_and_never_quoted_back(bad: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_address(bad, field="From address")
    assert bad not in caught.value.what + caught.value.todo


def test_content_that_may_be_sent_has_no_problem() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("envelope", "html", "code"),
    [
        (Envelope("", "", "Dana", "n@a.example", "n@a.example"), HTML, "subject_missing"),
        (Envelope("a\r\nBcc: x", "", "Dana", "n@a.example", "n@a.example"), HTML, "control_character"),
        (Envelope("s", "", "", "n@a.example", "n@a.example"), HTML, "sender_missing"),
        (Envelope("s", "", "Dana", "nobody", "nobody"), HTML, "sender_missing"),
        (Envelope("s", "", "Dana", "n@a.example", "other@a.example"), HTML, "reply_to_differs"),
        (ENVELOPE, "  ", "content_missing"),
        (ENVELOPE, HTML + "\x00", "control_character"),
        (ENVELOPE, "<p>no way out</p>", "unsubscribe_missing"),
        (ENVELOPE, "<p>x</p><!-- <a href='*|UNSUB|*'>bye</a> -->", "unsubscribe_missing"),
        (ENVELOPE, HTML + "x" * MAX_HTML_BYTES, "content_too_big"),
        (ENVELOPE, HTML + "x" * CLIPPED_BYTES, "content_clipped"),
    ],
)
def test_preflight_finds_what_stands_against_sending(envelope: Envelope, html: str, code: str) -> None:
    assert code in codes(envelope, html)


def test_an_unsubscribe_tag_counts_in_any_case_but_not_inside_a_comment() -> None:
    assert has_unsubscribe_tag("<!-- a --><a href='*|unsub|*'>", RULES)
    assert not has_unsubscribe_tag("<!-- *|UNSUB|* -->", RULES)


def test_html_is_kept_to_the_byte_and_its_text_part_has_the_words_and_the_links() -> None:
    html = (
        "<html><head><title>T</title><style>p{}</style></head><body><h1>News \N{PARTY POPPER}</h1>"
        "<p>A <a href='https://x.example/?a=1&b=2'>link</a></p><a href='*|UNSUB|*'>bye</a></body></html>"
    )
    rendered = render(html.encode(), markdown=False)
    assert rendered.html == html
    assert "News \N{PARTY POPPER}" in rendered.text
    assert "*|UNSUB|*" in rendered.text
    assert "p{}" not in rendered.text
    assert not rendered.text.startswith("---")


def test_markdown_becomes_a_page_and_stays_its_own_text_part() -> None:
    source = "# News\n\nRead *this*.\n\n[bye](*|UNSUB|*)\n"
    rendered = render(source.encode(), markdown=True)
    assert rendered.text == source
    assert "<h1>News</h1>" in rendered.html
    assert has_unsubscribe_tag(rendered.html, RULES)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"a\x00b", "NUL"),
        (b"\xff\xfe\x00", "NUL"),
        (b"caf\xe9", "UTF-8"),
        (b"x" * (MAX_HTML_BYTES + 1), "limit"),
    ],
)
def test_a_file_that_is_no_text_or_too_big_is_refused_in_one_sentence(data: bytes, word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        render(data, markdown=False)
