"""Who a contact is."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from campaignbridge.domain.audience import (
    Suppressed,
    Unusable,
    address_of,
    erased_identity,
    is_slug,
    locale_of,
    lot_of,
    person_hash,
    trimmed,
    zone_of,
)

LOCAL = st.text(alphabet="abcXYZ019+_-é" + "ßİ\u03a3\u03c2", min_size=1, max_size=12)
DOMAIN = st.sampled_from(
    ["example.com", "EXAMPLE.org", "münchen.example", "MÜNCHEN.example", "straße.example"]
)
ANYTHING = st.text(max_size=40) | st.builds(
    lambda a, b, c: f"{a}@{b}{c}", st.text(max_size=8), DOMAIN, st.text(max_size=3)
)


def reason(text: str) -> tuple[str, str]:
    with pytest.raises(Unusable) as refused:
        address_of(text)
    return refused.value.reason, refused.value.detail


@given(ANYTHING)
@example("ann@xn--mnchen-3ya.example")
@example("a\u0301@example.com")
@example("\u212aim@example.com")
def test_an_identity_is_its_own_identity_and_can_be_seen(text):
    try:
        found = address_of(text)
    except Unusable:
        return
    again = address_of(found.identity)
    assert again.identity == found.identity
    assert address_of(found.given).identity == found.identity
    assert found.identity.count("@") == 1
    assert found.identity.rpartition("@")[2].isascii()
    assert all(unicodedata.category(letter)[0] not in "CZ" for letter in found.identity)
    assert not found.identity.startswith("erased:")


@given(LOCAL, DOMAIN)
def test_case_alone_never_makes_another_person_of_an_ascii_address(local, domain):
    plain = "".join(letter for letter in local if letter.isascii()) or "a"
    assert (
        address_of(f"{plain.upper()}@{domain}").identity == address_of(f"{plain.lower()}@{domain}").identity
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann@straße.example", "ann@strasse.example"),
        ("ann+news@example.com", "ann@example.com"),
        ("a.nn@example.com", "ann@example.com"),
        ("groß@example.com", "gross@example.com"),
        ("\u03b1\u03c2@example.com", "\u03b1\u03c3@example.com"),
        ("\u0131an@example.com", "ian@example.com"),
        ("İan@example.com", "ian@example.com"),
        ("é@example.com", "e@example.com"),
    ],
)
def test_no_folding_makes_one_person_of_two(one, other):
    assert address_of(one).identity != address_of(other).identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann@Example.COM", "ann@example.com"),
        ("ann@MÜNCHEN.example", "ann@xn--mnchen-3ya.example"),
        ("ann@mu\u0308nchen.example", "ann@münchen.example"),
        ("Jose\u0301@example.com", "josé@example.com"),
        ("\u200b ann@example.com\u2060\u00a0", "ann@example.com"),
    ],
)
def test_spellings_of_one_address_are_one_person(one, other):
    assert address_of(one).identity == address_of(other).identity


@pytest.mark.parametrize(
    ("text", "why", "detail"),
    [
        ("", "empty", ""),
        ("\u200b\u00a0", "empty", ""),
        ("ann", "no_at", ""),
        ("ann@@example.com", "several_ats", ""),
        ("c\u2060arl@example.com", "invisible", "U+2060"),
        ("c\u00adarl@example.com", "invisible", "U+00AD"),
        ("c\x00arl@example.com", "invisible", "U+0000"),
        ("c\u3164arl@example.com", "invisible", "U+3164"),
        ("carl\ufe0f@example.com", "invisible", "U+FE0F"),
        ("c arl@example.com", "blank_inside", "U+0020"),
        ("c\u00a0arl@example.com", "blank_inside", "U+00A0"),
        ("dora\uff20example.com", "lookalike_at", "U+FF20"),
        ("ev\u0430@example.com", "mixed_scripts", "U+0430"),
        ("eva@ex\u0430mple.com", "mixed_scripts", "U+0430"),
        ("\uff41nn@example.com", "odd_character", "U+FF41"),
        ("\u212aim@example.com", "odd_character", "U+212A"),
        ("ann@example\u3002com", "bad_domain", ""),
        ("ann@localhost", "bad_domain", ""),
        ("ann@[192.0.2.1]", "bad_domain", ""),
        ("ann@192.0.2.1", "bad_domain", ""),
        ("ann@-a.example", "bad_domain", ""),
        ("ann@xn--zzzzzzzz99.example", "bad_domain", ""),
        ("ann@xn--abc-.example", "bad_domain", ""),
        ("ann..b@example.com", "bad_local", ""),
        (".ann@example.com", "bad_local", ""),
        ('"a b"@example.com', "blank_inside", "U+0020"),
        ("@example.com", "bad_local", ""),
        ("a" * 65 + "@example.com", "bad_local", ""),
        ("a@" + "b" * 60 + "." + "c" * 60 + ".example" * 30, "too_long", ""),
    ],
)
def test_what_is_no_address_is_told_by_reason_and_code_point(text, why, detail):
    assert reason(text) == (why, detail)


def test_an_alphabet_of_ones_own_is_fine():
    assert address_of("山田taro@例え.jp").identity == "山田taro@xn--r8jz45g.jp"
    assert address_of("ИВАН@example.com").identity == "иван@example.com"


def test_only_what_could_not_be_seen_counts_as_repaired():
    assert not address_of(" ann@example.com ").repaired
    assert address_of("ann@example.com\u00a0").repaired


@given(st.text())
def test_trimming_takes_nothing_from_the_middle_and_ends_at_once(text):
    assert trimmed(text) in text
    assert trimmed(trimmed(text)) == trimmed(text)


def test_the_strongest_reason_has_the_highest_rank():
    ordered = [Suppressed.COMPLAINT, Suppressed.BOUNCE, Suppressed.UNSUBSCRIBE, Suppressed.MANUAL]
    assert sorted(Suppressed, key=lambda one: -one.rank) == ordered


def test_a_hash_names_a_person_only_to_who_has_the_key():
    person = person_hash(b"k" * 32, "ann@example.com")
    assert person == person_hash(b"k" * 32, "ann@example.com")
    assert person != person_hash(b"l" * 32, "ann@example.com")
    assert "@" not in erased_identity(person)


def test_lots_are_spread_evenly_and_fit_into_the_store():
    lots = [lot_of(person_hash(b"k" * 32, f"p{number}@example.com")) for number in range(10_000)]
    assert all(0 <= lot < 1 << 63 for lot in lots)
    tenths = [sum(lot * 10 >> 63 == tenth for lot in lots) for tenth in range(10)]
    assert all(900 <= count <= 1_100 for count in tenths), tenths  # 3 sigma is 90; the hashes are fixed


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("", None),
        ("DE_de", "de-DE"),
        ("en", "en"),
        ("zh_hant_tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("de_DE.UTF-8", "de-DE"),
    ],
)
def test_a_language_has_one_spelling(text, locale):
    assert locale_of(text) == locale


def test_a_language_or_zone_that_is_none_is_refused():
    for call in (lambda: locale_of("deutsch!"), lambda: zone_of("Europe/Bern", frozenset({"Europe/Zurich"}))):
        with pytest.raises(Unusable):
            call()
    assert zone_of("", frozenset()) is None


@pytest.mark.parametrize(
    ("slug", "fine"), [("customers-eu", True), ("", False), ("-a", False), ("A", False), ("a" * 65, False)]
)
def test_an_audience_is_called_by_plain_letters(slug, fine):
    assert is_slug(slug) is fine
