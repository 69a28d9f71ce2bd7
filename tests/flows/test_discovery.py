"""What a provider offers to choose from: looking contacts nobody, one reads at a time, an old list says so."""

import pytest

from campaignbridge.domain.discovery import STALE_MS, Kind
from campaignbridge.domain.lock import LOCK_TTL_MS
from campaignbridge.domain.provider import Listing, MergeField
from campaignbridge.store.locks import Locks
from support.world import AUDIENCE, DANA, HTML, KEY_ENV, SEND, refused

pytest_plugins = ["support.stores", "support.world"]

GREETING = HTML.replace("<p>Read it.</p>", "<p>Dear *|FNAME|*,</p>").encode()
FIELDS_READ = "GET merge_fields"


def look(world, kind=Kind.AUDIENCES, audience="", bridge=None):
    return (bridge or world.bridge).listing("news", kind, audience=audience, actor=DANA)


def refresh(world, kind=Kind.AUDIENCES, audience="", bridge=None, connection="news"):
    return (bridge or world.bridge).refresh_listing(connection, kind, audience=audience, actor=DANA)


def names(cached):
    return [one.name for one in cached.items]


def account(world):
    (connection,) = world.bridge.list_connections(actor=DANA)
    return connection.account


def test_looking_contacts_nobody_and_says_what_was_never_read(world):
    world.heard()
    for kind in Kind:
        cached = look(world, kind, AUDIENCE)
        assert (cached.items, cached.complete, cached.refreshed_at, cached.stale) == ((), False, None, True)
    assert world.heard() == []


@pytest.mark.parametrize("kind", Kind)
def test_a_refresh_reads_once_and_everybody_sees_it(world, kind):
    world.heard()
    done = refresh(world, kind, AUDIENCE)
    asked = world.heard()
    assert done.refusal is None
    assert asked
    assert all(request.startswith("GET ") for request in asked)
    seen = look(world, kind, AUDIENCE, bridge=world.process())
    assert (seen.items, seen.complete, seen.stale) == (done.cached.items, done.cached.complete, False)
    assert world.heard() == []


def test_a_listing_is_stale_after_900_seconds(world):
    refresh(world)
    world.later(ms=STALE_MS - 5_000)
    assert not look(world).stale
    world.later(ms=5_000)
    assert look(world).stale
    assert names(look(world))


def test_an_overlapping_refresh_makes_no_call_and_returns_the_list_as_it_stands(world):
    first = refresh(world)
    met = []
    other = world.process()
    world.meanwhile("audiences", lambda: met.append((refresh(world, bridge=other), list(world.calls))))
    world.calls.clear()
    assert refresh(world).refusal is None
    ((second, calls),) = met
    assert second.refusal is not None
    assert second.refusal.code == "refresh_in_progress"
    assert 1 <= second.refusal.facts["retry_after"] <= 300
    assert second.cached.items == first.cached.items
    assert calls.count("audiences") == 1


def test_two_connections_to_one_account_share_the_list_and_its_lock(world):
    world.bridge.add_connection(
        "again", provider="mailchimp", key_env=KEY_ENV, base_url=world.server.url, actor=DANA
    )
    met = []
    world.meanwhile(
        "audiences", lambda: met.append(refresh(world, bridge=world.process(), connection="again"))
    )
    done = refresh(world)
    assert [one.refusal.code for one in met] == ["refresh_in_progress"]
    assert world.bridge.listing("again", Kind.AUDIENCES, actor=DANA).items == done.cached.items


def test_a_refresh_that_fails_leaves_the_previous_list_marked_stale_with_the_error(world):
    before = refresh(world).cached
    world.fault("lists", "refuse_5xx", status=503)
    done = refresh(world)
    assert done.refusal.code == "provider_failed"
    assert (done.cached.items, done.cached.refreshed_at) == (before.items, before.refreshed_at)
    assert done.cached.stale
    assert look(world).failed_code == done.cached.failed_code != ""
    assert not refresh(world).cached.stale


def test_an_abandoned_refresh_is_taken_over_and_audited_with_the_interrupted_operation(world):
    dead = world.process().wiring
    key = f"discovery:{account(world)}:audiences:"
    with dead.store.unit() as unit:
        unit.locks.acquire(key, holder=dead.holder, operation="refresh", actor="cli:dead")
    assert refresh(world).refusal.code == "refresh_in_progress"
    world.later(ms=LOCK_TTL_MS + 1_000)
    assert refresh(world).refusal is None
    (event,) = world.home.rows("SELECT * FROM audit_events WHERE kind = 'provider_lock_takeover'")
    assert (event["actor"], event["campaign_id"]) == (None, None)
    assert '"interrupted_operation": "refresh"' in event["data"]


def overtaken(world):
    """Return a refresh during whose call the lock ended and somebody else read a newer list."""
    world.meanwhile("audiences", lambda: (world.later(ms=LOCK_TTL_MS + 1_000), newer(world)), before=False)
    return refresh(world)


def newer(world):
    whose = account(world)
    with world.bridge.wiring.store.unit() as unit:
        key = f"discovery:{whose}:audiences:"
        unit.locks.acquire(key, holder="host:newer", operation="refresh", actor="cli:newer")
        unit.discoveries.put(whose, Kind.AUDIENCES, "", Listing((), complete=True))


def test_whoever_lost_the_lock_meanwhile_writes_nothing(world):
    late = overtaken(world)
    assert late.refusal.code == "lease_lost"
    assert late.cached.items == ()


def test_without_the_check_of_the_lock_an_old_list_would_replace_a_newer_one(world, monkeypatch):
    monkeypatch.setattr(Locks, "hold", lambda *_, **__: True)
    assert overtaken(world).cached.items != ()


def test_content_that_mentions_an_unknown_field_is_not_submitted(world):
    letter = world.create(content=GREETING.replace(b"FNAME", b"FRST_NAME"))
    with refused("validation_failed") as no:
        world.bridge.submit(letter, actor=DANA)
    assert no.value.facts["problem"] == "unknown_field"
    assert "FRST_NAME" in no.value.what


def test_a_send_within_900_seconds_asks_for_no_fields_and_a_later_one_asks_first(world):
    letter = world.approved(content=GREETING)
    world.draft(letter)
    world.heard()
    world.later(minutes=16)
    world.send(letter)
    assert world.heard() == [FIELDS_READ, *SEND]
    assert world.sends(letter) == 1


def test_fresh_fields_cost_a_send_no_request(world):
    letter = world.drafted(content=GREETING)
    world.send(letter)
    assert world.heard() == SEND


def test_content_without_fields_never_asks_for_them(world):
    letter = world.drafted()
    world.later(hours=2)
    world.send(letter)
    assert world.heard() == SEND


@pytest.mark.parametrize("fault", ["refuse_5xx", "status_429", "accept_then_drop"])
def test_without_a_reading_of_the_fields_nothing_is_sent(world, fault):
    letter = world.drafted(content=GREETING)
    world.later(minutes=16)
    world.fault("merge_fields", fault)
    before = world.ledger(letter)
    with refused("provider_failed"):
        world.send(letter)
    assert world.heard() == [FIELDS_READ]
    assert world.ledger(letter) == before
    world.send(letter, "s2")
    assert world.sends(letter) == 1


def test_while_somebody_reads_the_fields_a_send_waits_for_them(world):
    letter = world.drafted(content=GREETING)
    world.later(minutes=16)
    dead, key = world.process().wiring, f"discovery:{account(world)}:merge_fields:{AUDIENCE}"
    with dead.store.unit() as unit:
        unit.locks.acquire(key, holder=dead.holder, operation="refresh", actor="cli:other")
    with refused("refresh_in_progress"):
        world.send(letter)
    assert world.heard() == []


def known_fields(world, *tags, complete=True):
    """Let the store hold these fields as just read."""
    fields = tuple(MergeField(tag, tag.title(), "text", required=False, default="") for tag in tags)
    whose = account(world)
    with world.bridge.wiring.store.unit() as unit:
        unit.discoveries.put(whose, Kind.MERGE_FIELDS, AUDIENCE, Listing(fields, complete))


def test_a_field_that_went_away_since_the_approval_stops_the_send_before_anything_is_written(world):
    known_fields(world, "CITY")
    letter = world.drafted(content=GREETING.replace(b"FNAME", b"CITY"))
    world.later(minutes=16)
    with refused("validation_failed") as no:
        world.send(letter)
    assert no.value.facts["problem"] == "unknown_field"
    assert world.heard() == [FIELDS_READ]


def test_a_list_of_fields_that_is_not_complete_only_warns(world):
    known_fields(world, "CITY", complete=False)
    letter = world.create(content=GREETING)
    _, checked = world.bridge.submit(letter, actor=DANA)
    assert [(one.code, one.error) for one in checked.problems] == [("unknown_field", False)]


def test_a_preflight_keeps_the_name_of_the_audience_for_people(world):
    letter = world.create()
    assert world.bridge.show(letter, actor=DANA).audience is None
    world.bridge.preflight(letter, actor=DANA)
    seen = world.bridge.show(letter, actor=DANA).audience
    assert seen["name"]
    assert seen["contacts"] > 0
