"""Reading what Mailchimp posts: the documented examples, what is refused, and anything at all."""

import hashlib
import hmac
import json
import string
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.domain.cadence import after_event
from campaignbridge.domain.connection import Secret
from campaignbridge.domain.webhook import EventKind, Heard, Unheard
from campaignbridge.providers.mailchimp_webhooks import MailchimpWebhooks
from campaignbridge.providers.registry import webhook_reader

FORM = {"content-type": "application/x-www-form-urlencoded"}
READER = MailchimpWebhooks()
CAMPAIGN = {
    "type": "campaign",
    "fired_at": "2009-03-26 21:31:21",
    "data[id]": "5aa2102003",
    "data[subject]": "Test",
    "data[status]": "sent",
    "data[reason]": "",
    "data[list_id]": "a6b5da1054",
}
PERSON = {
    "type": "unsubscribe",
    "fired_at": "2009-03-26 21:40:57",
    "data[action]": "unsub",
    "data[reason]": "manual",
    "data[list_id]": "a6b5da1054",
    "data[email]": "u1@example.com",
    "data[campaign_id]": "cb398d21d2",
}


def read(fields, **changes):
    return READER.parse_webhook(FORM, urlencode({**fields, **changes}).encode())


def changed(fields, name, value):
    return READER.parse_webhook(FORM, urlencode({**fields, name: value}).encode())


def without(fields, name):
    return read({key: value for key, value in fields.items() if key != name})


def test_the_documented_examples_are_read(shared_facts):
    place = shared_facts / "facts/fixtures/mailchimp/misc/webhooks_documented_examples.json"
    found = {
        name: READER.parse_webhook(FORM, body.encode())
        for name, body in json.loads(place.read_text())["form_examples"].items()
    }
    assert found == {
        "subscribe": Unheard.OF_NO_USE,
        "unsubscribe_from_campaign": Heard(
            EventKind.UNSUBSCRIBE, "a6b5da1054", "cb398d21d2", "manual", 1_238_103_657_000, "u1@example.com"
        ),
        "cleaned_hard": Heard(
            EventKind.CLEANED, "a6b5da1054", "4fjk2ma9xd", "hard", 1_238_104_860_000, "u2@example.com"
        ),
        "cleaned_abuse": Heard(
            EventKind.CLEANED, "a6b5da1054", "4fjk2ma9xd", "abuse", 1_238_104_860_000, "u3@example.com"
        ),
        "campaign_sent": Heard(EventKind.CAMPAIGN, "a6b5da1054", "5aa2102003", "sent", 1_238_103_081_000),
    }


def test_an_address_that_was_given_up_is_word_of_the_old_one_and_a_deletion_is_no_unsubscription():
    moved = {
        "type": "upemail",
        "fired_at": "2009-03-26 22:15:09",
        "data[list_id]": "a6b5da1054",
        "data[new_id]": "51da8c3259",
        "data[new_email]": "new@example.com",
        "data[old_email]": "old@example.com",
    }
    assert read(moved) == Heard(EventKind.REMOVED, "a6b5da1054", "", "", 1_238_105_709_000, "old@example.com")
    assert changed(PERSON, "data[action]", "delete").kind is EventKind.REMOVED
    angry = {**PERSON, "data[action]": "delete", "data[reason]": "abuse"}
    assert (read(angry).kind, read(angry).status) == (EventKind.UNSUBSCRIBE, "abuse")


def test_the_order_and_number_of_other_fields_change_nothing():
    backwards = dict(reversed(CAMPAIGN.items()))
    more = {f"data[merges][F{number}]": "x" for number in range(500)}
    assert read(CAMPAIGN) == read(backwards) == read({**more, **CAMPAIGN})


@pytest.mark.parametrize("fields", [CAMPAIGN, PERSON], ids=["campaign", "person"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", ""),
        ("type", "Campaign!"),
        ("fired_at", ""),
        ("fired_at", "2009-03-26"),
        ("fired_at", "2009-13-26 21:31:21"),
        ("fired_at", "1969-12-31 23:59:59"),
        ("fired_at", "٢٠٠٩-03-26 21:31:21"),
        ("data[list_id]", ""),
        ("data[list_id]", "a/b"),
        ("data[list_id]", "x" * 65),
    ],
)
def test_an_event_that_lacks_what_every_event_has_is_unreadable(fields, name, value):
    assert changed(fields, name, value) is Unheard.UNREADABLE
    if name != "type" or value == "":
        assert without(fields, name) is Unheard.UNREADABLE


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        (CAMPAIGN, "data[id]", ""),
        (CAMPAIGN, "data[id]", "' OR 1=1"),
        (PERSON, "data[email]", "nobody"),
        (PERSON, "data[email]", "a@" + "b" * 400),
        (PERSON, "data[email]", "a\n@b.example"),
        (PERSON, "data[campaign_id]", "a b"),
    ],
)
def test_an_id_or_address_that_is_none_makes_an_event_unreadable(fields, name, value):
    assert changed(fields, name, value) is Unheard.UNREADABLE


@pytest.mark.parametrize("word", ["", "SENT", "sent to u1@example.com", "x" * 21, "u1@example.com", "1"])
def test_a_status_that_is_no_word_is_not_kept(word):
    assert changed(CAMPAIGN, "data[status]", word).status == ""


def test_a_field_that_comes_twice_makes_a_body_unreadable():
    body = urlencode([*CAMPAIGN.items(), ("data[id]", "ffffffffff")]).encode()
    assert READER.parse_webhook(FORM, body) is Unheard.UNREADABLE


@pytest.mark.parametrize("kind", ["subscribe", "profile", "something_new"])
def test_other_types_are_of_no_use_and_not_an_error(kind):
    assert read(CAMPAIGN, type=kind) is Unheard.OF_NO_USE


@pytest.mark.parametrize(
    ("header", "read_as_form"),
    [
        ("application/x-www-form-urlencoded; charset=utf-8", True),
        ("Application/X-WWW-Form-Urlencoded", True),
        ("application/json", False),
        ("multipart/form-data", False),
        ("", False),
    ],
)
def test_only_a_form_is_read(header, read_as_form):
    found = READER.parse_webhook({"content-type": header}, urlencode(CAMPAIGN).encode())
    assert isinstance(found, Heard) is read_as_form


def test_the_address_is_not_in_the_repr_of_an_event():
    assert "u1@example.com" not in repr(read(PERSON))


# signatures

KEY = Secret("a signing key of forty-eight letters or so, made")
NOW_MS = 1_800_000_000_000
BODY = urlencode(CAMPAIGN).encode()


def header_of(body, key, at_s):
    digest = hmac.new(key.reveal().encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return {"x-mailchimp-signature": f"t={at_s},v1={digest}"}


@pytest.mark.parametrize(
    ("off_s", "counts"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)]
)
def test_a_signature_counts_for_three_hundred_seconds_either_way(off_s, counts):
    headers = header_of(BODY, KEY, NOW_MS // 1000 + off_s)
    assert READER.is_authentic(headers, BODY, KEY, NOW_MS) is counts


def test_a_signature_is_of_the_raw_body_and_of_its_key():
    """WH-3: the same fields in another order are another body."""
    headers = header_of(BODY, KEY, NOW_MS // 1000)
    other = urlencode(dict(reversed(CAMPAIGN.items()))).encode()
    assert READER.is_authentic(headers, BODY, KEY, NOW_MS)
    assert not READER.is_authentic(headers, other, KEY, NOW_MS)
    assert not READER.is_authentic(headers, BODY, Secret("another"), NOW_MS)


def test_of_several_signatures_one_that_fits_is_enough_as_while_a_key_is_changed():
    good = header_of(BODY, KEY, NOW_MS // 1000)["x-mailchimp-signature"]
    stamp, _, digest = good.partition(",")
    assert READER.is_authentic(
        {"x-mailchimp-signature": f"{stamp},v1={'0' * 64},{digest}"}, BODY, KEY, NOW_MS
    )
    assert not READER.is_authentic({"x-mailchimp-signature": f"{good},{stamp}"}, BODY, KEY, NOW_MS)


@given(st.text(max_size=300), st.binary(max_size=300))
def test_no_header_and_body_that_somebody_makes_up_is_authentic_or_an_error(header, body):
    assert READER.is_authentic({"x-mailchimp-signature": header}, body, KEY, NOW_MS) is False


# anything


def acceptable(found):
    """Check what may come of any body: nothing, or an event that is bounded in every part."""
    if isinstance(found, Unheard):
        return
    assert set(found.audience + found.remote_id) <= set(string.ascii_letters + string.digits + "_-")
    assert 1 <= len(found.audience) <= 64
    assert len(found.remote_id) <= 64
    assert set(found.status) <= set(string.ascii_lowercase + "_")
    assert len(found.status) <= 20
    assert 0 <= found.fired_at < 253_402_300_800_000
    assert (found.kind is EventKind.CAMPAIGN) is (found.address == "")
    assert len(found.address) <= 320


@given(st.binary(max_size=2_000))
def test_any_bytes_are_an_event_or_not_and_never_an_error(body):
    acceptable(READER.parse_webhook(FORM, body))


NAMES = st.sampled_from([*CAMPAIGN, *PERSON, "data[", "data[id][id]", "data"])
TEXTS = st.one_of(st.text(max_size=80), st.sampled_from([*CAMPAIGN.values(), *PERSON.values(), "cleaned"]))


@given(
    st.sampled_from([CAMPAIGN, PERSON]),
    st.dictionaries(NAMES, TEXTS, max_size=5),
    st.sampled_from(["", "&", "&&=", "&=%", "&%ff=1", ";", "&type"]),
)
def test_any_change_to_an_event_leaves_an_event_or_none_and_never_an_error(fields, changes, tail):
    body = urlencode({**fields, **changes}).encode() + tail.encode()
    acceptable(READER.parse_webhook(FORM, body))


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=30))
def test_any_form_is_an_event_or_not_and_never_an_error(pairs):
    try:
        body = urlencode(pairs).encode()
    except UnicodeEncodeError:
        body = b"%ed%a0%80=x"
    acceptable(READER.parse_webhook(FORM, body))


# who reads, and when a campaign is woken


def test_only_providers_whose_webhooks_are_known_have_a_reader():
    assert webhook_reader("mailchimp") is not None
    assert webhook_reader("nobody") is None


@pytest.mark.parametrize(
    ("woken_at", "slot"),
    [
        (None, 100_000),
        (0, 100_000),
        (40_000, 100_000),
        (40_001, 100_001),
        (100_000, 160_000),
        (130_000, 130_000),
    ],
)
def test_an_event_brings_a_look_forward_at_most_once_a_minute(woken_at, slot):
    assert after_event(woken_at=woken_at, now_ms=100_000) == slot
