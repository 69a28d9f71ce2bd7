"""Authoring: what could never be sent is refused in words, and what is approved is exactly what stands there."""

import hashlib

import pytest

from campaignbridge.domain.actor import Actor
from support.world import AUDIENCE, BOUND, DANA, HTML, refused

pytest_plugins = ["support.stores", "support.world"]

EMOJI = "Fertig \N{PARTY POPPER}\N{FAMILY}\N{EMOJI MODIFIER FITZPATRICK TYPE-4} für dich"


@pytest.mark.parametrize("broken", ["a\rb", "a\nb", "a\r\nBcc: x", "a\x00b", "a\x1bb", "a\u2028b", "", "  "])
@pytest.mark.parametrize("field", ["subject", "from_name", "name"])
def test_a_line_break_or_nul_in_a_header_is_refused_and_nothing_is_stored(sqlite_world, field, broken):
    with refused("invalid_input"):
        sqlite_world.create(**{field: broken})
    assert sqlite_world.home.rows("SELECT * FROM campaigns") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   \n",
        b"<p>\x00</p>",
        b"\xff\xfe<\x00p\x00",
        b"\x89PNG\r\n\x1a\n",
        "Grüße".encode("cp1252"),
        b"<p>" + b"x" * 1_000_000,
    ],
    ids=["empty", "blank", "nul", "utf16", "picture", "cp1252", "huge"],
)
def test_a_file_that_is_no_content_is_refused_and_nothing_is_stored(sqlite_world, content):
    with refused("invalid_input") as no:
        sqlite_world.create(content=content)
    assert no.value.todo
    assert sqlite_world.home.rows("SELECT * FROM campaigns") == []


@pytest.mark.parametrize("address", ["news", "news@", "a b@c.example", "a@b.example\nBcc: x@y.example", ""])
def test_a_sender_that_is_no_address_is_refused_without_quoting_it(sqlite_world, address):
    with refused("invalid_input") as no:
        sqlite_world.create(from_email=address)
    assert "@" not in no.value.what.replace("news@acme.example", "")


@pytest.mark.parametrize("ref", ["", "a b", "../x", "a:b:c", "x" * 65, "ä"])
def test_an_audience_that_is_no_reference_is_refused(sqlite_world, ref):
    with refused("invalid_input"):
        sqlite_world.create(audience=ref)


def test_an_audience_that_the_provider_does_not_know_is_refused_at_submit(world):
    campaign_id = world.create(audience="zz9")
    before = world.ledger(campaign_id)
    with refused("validation_failed") as no:
        world.bridge.submit(campaign_id, actor=DANA)
    assert no.value.facts["problem"] == "audience_unknown"
    assert world.ledger(campaign_id) == before


@pytest.mark.parametrize("html", ["<p>Hello</p>", "<p>Hello</p><!-- *|UNSUB|* -->"])
def test_content_without_a_way_to_unsubscribe_is_refused_at_submit(world, html):
    campaign_id = world.create(content=html.encode())
    with refused("validation_failed") as no:
        world.bridge.submit(campaign_id, actor=DANA)
    assert no.value.facts["problem"] == "unsubscribe_missing"
    assert world.state(campaign_id) == "draft"


@pytest.mark.parametrize("kind", ["refuse_5xx", "drop_before", "garbled"])
def test_a_submit_while_the_provider_is_down_changes_nothing_and_may_be_repeated(world, kind):
    campaign_id = world.create()
    world.fault("list", kind)
    with refused("provider_failed"):
        world.bridge.submit(campaign_id, actor=DANA)
    assert world.state(campaign_id) == "draft"
    world.bridge.submit(campaign_id, actor=DANA)
    assert world.state(campaign_id) == "ready_for_review"


def test_characters_of_four_bytes_are_kept_from_the_file_to_the_delivery(world):
    html = f"<h1>{EMOJI}</h1><p>\N{GRINNING FACE} <a href='*|UNSUB|*'>Abmelden</a></p>"
    campaign_id = world.drafted(name=f"Brief {EMOJI}", subject=EMOJI, from_name="Jörg", content=html.encode())
    world.send(campaign_id)
    world.run()
    shown = world.by_hand("GET", f"/campaigns/{world.remote_id(campaign_id)}")
    assert shown["settings"]["subject_line"] == EMOJI
    assert shown["settings"]["from_name"] == "Jörg"
    (mailed,) = world.sandbox.truth.events("mailed")
    assert mailed.title.startswith(f"Brief {EMOJI} [")
    assert mailed.html_sha256 == hashlib.sha256(html.encode()).hexdigest(), "to the byte"
    content = world.by_hand("GET", f"/campaigns/{world.remote_id(campaign_id)}/content")
    assert EMOJI in content["plain_text"]


def test_a_realistic_newsletter_arrives_to_the_byte(world):
    picture = "<img src='https://acme.example/{}.png' alt='' width=600>"
    dark = "<style>@media (prefers-color-scheme: dark) { body { background: #111 } }</style>"
    rows = "".join(f"<tr><td>{picture.format(n)}<p>Absatz {n} &amp; more</p></td></tr>\n" for n in range(700))
    html = (
        f"<!doctype html><html><head>{dark}</head><body><table>{rows}</table>*|UNSUB|*</body></html>".encode()
    )
    assert len(html) > 60_000
    campaign_id = world.sending(content=html)
    world.run()
    (mailed,) = world.sandbox.truth.events("mailed", world.remote_id(campaign_id))
    assert mailed.html_sha256 == hashlib.sha256(html).hexdigest()


def test_only_the_present_fingerprint_can_be_approved(world):
    campaign_id = world.create()
    world.bridge.submit(campaign_id, actor=DANA)
    for wrong in ("", "sha256:0", "other"):
        with refused("approval_not_allowed"):
            world.bridge.approve(campaign_id, actor=DANA, approved=wrong, max_recipients=BOUND)
    assert world.state(campaign_id) == "ready_for_review"


@pytest.mark.parametrize("bound", [0, -1, 100_000_001])
def test_an_approval_names_a_sensible_bound(sqlite_world, bound):
    campaign_id = sqlite_world.create()
    _, checked = sqlite_world.bridge.submit(campaign_id, actor=DANA)
    with refused("invalid_input"):
        sqlite_world.bridge.approve(
            campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=bound
        )


def test_every_edit_refuses_a_stale_version_with_the_current_one(world):
    campaign_id = world.create()
    fingerprint = world.bridge.preflight(campaign_id, actor=DANA).fingerprint
    approval = {"approved": fingerprint, "max_recipients": BOUND}
    steps = [
        ("draft", lambda **facts: world.bridge.submit(campaign_id, actor=DANA, **facts)),
        (
            "ready_for_review",
            lambda **facts: world.bridge.approve(campaign_id, actor=DANA, **approval, **facts),
        ),
        ("approved", lambda **facts: world.bridge.revoke(campaign_id, actor=DANA, **facts)),
    ]
    for state, edit in steps:
        version = world.campaign(campaign_id).version
        with refused("conflict") as no:
            edit(expected_version=version - 1)
        assert (world.state(campaign_id), no.value.facts["version"]) == (state, version)
        edit(expected_version=version)


def test_an_edit_that_was_overtaken_is_a_conflict_and_leaves_no_event(world):
    campaign_id = world.create()

    def somebody_else_submits():
        other = world.process()
        other.submit(campaign_id, actor=DANA)

    world.meanwhile("audience", somebody_else_submits)
    with refused("conflict"):
        world.bridge.submit(campaign_id, actor=DANA)
    assert len(world.events(campaign_id, "submitted")) == 1
    assert world.campaign(campaign_id).version == 2


def test_a_revoked_approval_has_to_be_given_anew(world):
    campaign_id = world.approved()
    world.bridge.revoke(campaign_id, actor=DANA)
    assert world.campaign(campaign_id).approval is None
    with refused("invalid_state"):
        world.draft(campaign_id)
    with refused("invalid_state"):
        world.bridge.revoke(campaign_id, actor=DANA)


@pytest.mark.parametrize(
    ("right", "ask"),
    [
        ("author", lambda world, bridge, one, who: world.bridge.submit(one, actor=who)),
        (
            "approve",
            lambda world, bridge, one, who: bridge.approve(one, actor=who, approved="x", max_recipients=1),
        ),
        ("approve", lambda world, bridge, one, who: bridge.revoke(one, actor=who)),
        ("manage", lambda world, bridge, one, who: world.draft(one, actor=who)),
        ("deliver", lambda world, bridge, one, who: world.send(one, actor=who)),
        ("operate", lambda world, bridge, one, who: bridge.reconcile(one, actor=who)),
        ("read", lambda world, bridge, one, who: bridge.show(one, actor=who)),
        ("read", lambda world, bridge, one, who: bridge.preflight(one, actor=who)),
    ],
)
def test_every_right_is_needed_for_what_it_is_for(sqlite_world, right, ask):
    world = sqlite_world
    campaign_id = world.create()
    world.heard()
    everything_else = {"read", "author", "manage", "test", "approve", "deliver", "operate"} - {right}
    with refused("forbidden") as no:
        ask(world, world.bridge, campaign_id, Actor("cli:tess", frozenset(everything_else)))
    assert no.value.facts["right"] == right
    assert world.heard() == []


def test_a_key_is_never_stored(world):
    campaign_id = world.sending()
    world.run()
    assert world.key not in world.home.everything()
    assert campaign_id in world.home.everything()


def test_a_connection_that_opens_nothing_is_not_added(world):
    world.key = "00000000000000000000000000000000-us1"
    with refused("provider_failed"):
        world.bridge.add_connection(
            "other", provider="mailchimp", key_env="SANDBOX_KEY", base_url=world.server.url, actor=DANA
        )
    world.key = ""
    with refused("invalid_input"):
        world.bridge.add_connection(
            "other", provider="mailchimp", key_env="SANDBOX_KEY", base_url=world.server.url, actor=DANA
        )
    assert [one.label for one in world.bridge.list_connections(actor=DANA)] == ["news"]


def test_the_stored_html_is_the_file_to_the_byte_and_its_audience_is_kept(world):
    campaign_id = world.create()
    view = world.bridge.show(campaign_id, actor=DANA)
    assert view.snapshot.html == HTML
    assert view.dossier.campaign.audience == AUDIENCE
    assert view.snapshot.intact
