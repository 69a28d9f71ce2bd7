"""A webhook that was heard before and tells nothing of mail that went is a need, for as long as it is so."""

import pytest

from campaignbridge.flows.status import status
from support.posting import Address
from support.world import AUDIENCE, DANA

pytest_plugins = ["support.stores", "support.world"]

WHY = "Mail went out, and Mailchimp's webhook, which was heard before, has told nothing since."


def silences(world):
    found = status(world.bridge.wiring, actor=DANA).needs
    return [need for need in found if need.reason == "webhook_silence"]


def heard_once(world):
    """Return an address that has been heard, two hours ago."""
    address = Address.of(world)
    assert address.hear(address.about("abcdef0123")) == "stored"
    world.later(hours=2)
    return address


def sent(world, subject="Hello"):
    campaign_id = world.sending(subject=subject)
    world.run(hours=1)
    assert world.state(campaign_id) == "sent"
    return campaign_id


def test_mail_that_went_two_hours_ago_without_a_word_since_is_a_need(world):
    heard_once(world)
    last = world.now()
    sent(world)
    assert silences(world) == [], "it may still come"
    world.later(hours=2)
    (need,) = silences(world)
    assert (need.kind, need.name, need.why) == ("connection", "news", WHY)
    assert (need.command, need.help, need.count) == ("help webhook_silence", "webhook_silence", 0)
    assert need.since < last, "since it was last heard"


def test_it_ends_with_the_next_event_and_a_day_after_the_last_mail(world):
    address = heard_once(world)
    sent(world)
    world.later(hours=3)
    assert silences(world)
    assert address.hear(address.about("abcdef0123", ago_ms=5_000)) == "stored"
    assert silences(world) == []
    world.later(hours=2)
    sent(world, "Another")
    world.later(hours=3)
    assert silences(world)
    world.later(hours=21)
    assert silences(world) == []


def test_an_event_shortly_before_we_knew_that_it_went_is_word_of_it(world):
    """It is how we came to know."""
    address = heard_once(world)
    campaign_id = world.sending()
    world.later(minutes=20)
    address.sent(campaign_id)
    world.run(hours=0.5)
    world.later(hours=5)
    assert silences(world) == []


def test_a_webhook_that_was_never_heard_or_that_there_is_not_is_no_need(world):
    sent(world)
    world.later(hours=3)
    assert silences(world) == []
    Address.of(world)
    world.later(hours=1)
    sent(world, "Another")
    world.later(hours=3)
    assert silences(world) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE connections SET disconnected_at = 1, key_env = NULL",
        "UPDATE campaigns SET state = 'cancelled'",
        "DELETE FROM webhook_endpoints",
    ],
)
def test_nothing_is_missed_where_nothing_could_come(world, change):
    heard_once(world)
    sent(world)
    world.later(hours=3)
    assert silences(world)
    world.home.rows(change)
    assert silences(world) == []


def test_another_connection_s_mail_is_no_reason(world):
    world.bridge.add_connection(
        "other", provider="mailchimp", key_env="SANDBOX_KEY", base_url=world.server.url, actor=DANA
    )
    address = Address.of(world, "other")
    assert address.hear(address.about("abcdef0123", audience=AUDIENCE)) == "stored"
    world.later(hours=2)
    sent(world)
    world.later(hours=3)
    assert silences(world) == []
