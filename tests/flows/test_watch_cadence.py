"""The watch in the background: when it looks, what an outage costs it, and that it only ever reads."""

import pytest

from campaignbridge.flows.views import Watch
from support.world import DANA, HOUR_MS, MINUTE_MS, READS, refused

pytest_plugins = ["support.stores", "support.world"]

READ = "GET inspect"


def only_job(world):
    (job,) = [row for row in world.jobs() if row["state"] in ("queued", "claimed")]
    return job


def test_sending_is_followed_every_five_minutes_and_then_ever_more_rarely(world):
    world.sandbox.world.behave(sending_ms=100 * HOUR_MS)
    campaign_id = world.sending()
    began, found = world.now(), []
    while world.now() - began < 24 * HOUR_MS:
        world.step()
        found += [world.now()] * len(world.heard())
    gaps = [round((b - a) / MINUTE_MS) for a, b in zip([began, *found], found, strict=False)]
    assert gaps[:3] == [5, 5, 5]
    assert gaps == sorted(gaps)
    assert max(gaps) <= 60
    assert world.campaign(campaign_id).flag in (None, "sending_long")
    world.step()
    assert world.campaign(campaign_id).flag == "sending_long", "a person is told after a day"


def test_a_scheduled_campaign_is_not_read_before_its_time(world):
    campaign_id = world.drafted()
    at_ms = world.schedule_by_hand(campaign_id, in_minutes=6 * 60)
    with refused("invalid_state"):
        world.send(campaign_id)
    world.step()
    assert world.state(campaign_id) == "scheduled"
    world.heard()
    while world.state(campaign_id) == "scheduled":
        world.step()
        if world.heard():
            assert world.now() >= at_ms + 2 * MINUTE_MS
    world.run()
    assert world.state(campaign_id) == "sent"
    kinds = {row["kind"]: row for row in world.events(campaign_id) if row["automatic"]}
    assert {row["actor"] for row in kinds.values()} == {None}
    assert world.posts() == 0


def test_six_hours_without_a_tick_then_two_quick_ones_make_exactly_one_overdue_reading(world):
    world.sandbox.world.behave(sending_ms=100 * HOUR_MS)
    world.sending()
    world.later(hours=6)
    world.bridge.tick()
    world.bridge.tick()
    assert world.heard() == [READ]


def test_a_watch_that_wakes_early_does_not_contact_the_provider(world):
    campaign_id = world.sending()
    world.home.rows("UPDATE jobs SET run_at = 1")
    world.bridge.tick()
    assert world.heard() == []
    job = only_job(world)
    assert job["attempts"] == 0
    assert job["run_at"] == world.campaign(campaign_id).look_at


def test_a_campaign_has_one_watch_however_often_it_is_woken(world):
    campaign_id = world.doubted()
    for _ in range(3):
        world.reconcile(campaign_id)
    assert len([row for row in world.jobs() if row["state"] == "queued"]) == 1


def test_a_locked_campaign_is_looked_at_later_without_a_call_or_an_attempt(world):
    campaign_id = world.sending()
    other = world.process()
    world.later(minutes=5, seconds=1)
    with world.held(campaign_id):
        before = world.now()
        other.tick()
        assert world.heard() == []
        job = only_job(world)
        assert job["state"] == "queued"
        assert job["attempts"] == 0
        assert before < job["run_at"] <= before + 16_000
    world.later(seconds=16)
    other.tick()
    assert world.heard() == [READ]


@pytest.mark.parametrize(
    ("kind", "facts"),
    [("refuse_5xx", {"status": 503}), ("drop_before", {}), ("status_429", {}), ("garbled", {})],
)
@pytest.mark.parametrize("hours", [0.25, 48])
def test_an_outage_leaves_no_watch_dead_and_uses_up_no_attempts(sqlite_world, kind, facts, hours):
    outage(sqlite_world, kind, facts, hours)


@pytest.mark.postgres
@pytest.mark.parametrize("hours", [0.25, 48])
def test_an_outage_leaves_no_watch_dead_on_postgresql_either(postgres_world, hours):
    outage(postgres_world, "refuse_5xx", {"status": 503}, hours)


def outage(world, kind, facts, hours):
    first, second = world.sending(), world.doubted(subject="Another letter")
    world.fault("*", kind, times=None, **facts)
    began, readings = world.now(), 0
    while world.now() - began < hours * HOUR_MS:
        world.step()
        readings += len(world.heard())
        assert {row["attempts"] for row in world.jobs() if row["state"] == "queued"} == {0}
    assert 4 <= readings <= 2 * (8 + hours), "with backoff, not in a loop"
    flags = {world.campaign(one).flag for one in (first, second)}
    assert flags == ({"no_reading"} if hours > 2 else {None})
    assert {row["state"] for row in world.jobs()} == {"queued"}
    world.sandbox.faults.clear()
    world.run()
    assert [world.state(one) for one in (first, second)] == ["sent", "sent"]
    assert [world.campaign(one).flag for one in (first, second)] == [None, None]
    assert world.posts() == 2


def test_a_provider_that_is_not_reachable_at_all_is_waited_for(world):
    campaign_id = world.sending()
    place = world.home.rows("SELECT base_url FROM connections")[0]["base_url"]
    world.home.rows("UPDATE connections SET base_url = 'http://127.0.0.1:9/3.0'")
    world.run(hours=3)
    assert world.state(campaign_id) == "sending"
    assert only_job(world)["attempts"] == 0
    world.home.rows("UPDATE connections SET base_url = ?", place)
    world.run(hours=2)
    assert world.state(campaign_id) == "sent"


def test_the_wait_that_a_throttling_provider_asks_for_is_not_undercut(world):
    world.sending()
    world.fault("inspect", "status_429", retry_after=1_800)
    world.look()
    assert only_job(world)["run_at"] - world.now() > 29 * MINUTE_MS


def test_a_worker_without_the_key_leaves_the_watch_to_come_back_by_itself(world):
    campaign_id = world.sending()
    key, world.key = world.key, ""
    world.step()
    world.step()
    assert world.heard() == []
    assert world.campaign(campaign_id).flag == "connection_unusable"
    assert only_job(world)["attempts"] == 0
    world.key = key
    world.run()
    assert (world.state(campaign_id), world.campaign(campaign_id).flag) == ("sent", None)


def test_a_refused_key_stops_its_watches_and_a_verified_one_starts_them_all(world):
    pair = [world.sending(), world.doubted(subject="Another letter")]
    key, world.key = world.key, "00000000000000000000000000000000-us1"
    world.run(hours=2)
    for one in pair:
        campaign = world.campaign(one)
        assert (campaign.stopped_reason, campaign.look_at) == ("credential_refused", None)
    (connection,) = world.bridge.list_connections(actor=DANA)
    assert connection.refused_code == "http_401"
    world.heard()
    world.later(hours=24)
    world.bridge.tick()
    assert world.heard() == [], "nothing is asked by a key that is known to be refused"
    with refused("provider_failed"):
        world.bridge.verify_connection("news", actor=DANA)
    world.key = key
    world.bridge.verify_connection("news", actor=DANA)
    assert [world.campaign(one).stopped_reason for one in pair] == [None, None]
    world.run()
    assert [world.state(one) for one in pair] == ["sent", "sent"]
    assert world.posts() == 2


def test_sent_never_regresses(world):
    campaign_id = world.sending()
    world.run()
    assert world.state(campaign_id) == "sent"
    assert world.next_due() is None, "the watch has ended"
    before = world.ledger(campaign_id)
    world.heard()
    world.rewrite(world.remote_id(campaign_id), status="save")
    with refused("invalid_state"):
        world.reconcile(campaign_id)
    world.later(hours=48)
    world.bridge.tick()
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)


def test_a_finished_campaign_whose_watch_wakes_once_more_ends_it(world):
    campaign_id = world.sending()
    world.home.rows("UPDATE jobs SET run_at = run_at + 3600000")
    world.later(minutes=2)
    world.reconcile(campaign_id)
    assert world.state(campaign_id) == "sent"
    world.heard()
    world.later(hours=2)
    world.bridge.tick()
    assert world.heard() == []
    assert {row["state"] for row in world.jobs()} == {"succeeded"}


# a finding that was overtaken


def facts_of(world, campaign_id):
    """Return everything that a finding could have written, but the version that the other one moved."""
    remote = world.home.rows("SELECT * FROM remote_campaigns")
    attempts = world.home.rows("SELECT * FROM attempts ORDER BY id")
    events = world.home.rows("SELECT id FROM audit_events")
    claims = world.home.rows("SELECT * FROM content_claims")
    campaign = world.campaign(campaign_id)
    return remote, attempts, events, claims, campaign.state, campaign.open_attempt, campaign.look_at


@pytest.mark.parametrize("doubted", [True, False])
def test_a_change_while_the_provider_is_read_rolls_the_finding_back_whole(world, doubted):
    campaign_id = world.doubted() if doubted else world.sending()
    world.later(minutes=2)
    before = facts_of(world, campaign_id)

    def somebody_changes_it():
        text = (
            "UPDATE campaigns SET version = version + 1, open_attempt = NULL, state = 'sending' WHERE id = ?"
        )
        world.home.rows(text if doubted else text.replace(", open_attempt = NULL", ""), campaign_id)

    world.meanwhile("inspect", somebody_changes_it)
    with refused("conflict"):
        world.reconcile(campaign_id)
    after = facts_of(world, campaign_id)
    assert after[:4] == before[:4]
    assert world.heard() == [READ]


def test_a_watch_that_was_overtaken_looks_again_shortly_and_uses_no_attempt(world):
    campaign_id = world.sending()

    def somebody_changes_it():
        world.home.rows("UPDATE campaigns SET version = version + 1 WHERE id = ?", campaign_id)

    world.meanwhile("inspect", somebody_changes_it)
    world.look()
    job = only_job(world)
    assert job["attempts"] == 0
    assert job["run_at"] - world.now() <= 15_000
    world.run()
    assert world.state(campaign_id) == "sent"


def test_a_reading_that_outlived_its_lock_is_not_written_down(world):
    campaign_id = world.sending()
    world.later(minutes=2)
    before = facts_of(world, campaign_id)
    other = world.process(store=world.home.store(ahead_ms=6 * MINUTE_MS))
    world.meanwhile("inspect", lambda: world.reconcile(campaign_id, bridge=other))
    with refused("lease_lost"):
        world.reconcile(campaign_id)
    assert world.state(campaign_id) == "sent", "by the one that took the lock over"
    assert len(world.events(campaign_id, "followed")) == 1
    assert before[4].value == "sending"


# nothing but reads


def gone(world, campaign_id):
    world.by_hand("DELETE", f"/campaigns/{world.remote_id(campaign_id)}")
    return campaign_id


def told(world, campaign_id, status):
    world.rewrite(world.remote_id(campaign_id), status=status)
    return campaign_id


def lost(world, kind):
    campaign_id = world.approved()
    world.fault("create", kind)
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    return campaign_id


def scheduled(world):
    campaign_id = world.drafted()
    world.schedule_by_hand(campaign_id)
    with refused("invalid_state"):
        world.send(campaign_id)
    return campaign_id


def turned_down(world):
    campaign_id = world.drafted()
    world.fault("send", "refuse_5xx", status=400)
    with refused("provider_failed"):
        world.send(campaign_id)
    return campaign_id


def wrong_key(world, campaign_id):
    world.key = "00000000000000000000000000000000-us1"
    return campaign_id


OUTCOMES = {
    "went": lambda world: world.doubted(),
    "did not go": lambda world: world.doubted("drop_before"),
    "sending": lambda world: world.sending(),
    "missing": lambda world: gone(world, world.sending()),
    "untracked": lambda world: told(world, world.sending(), "archived"),
    "contradiction": lambda world: told(world, world.sending(), "save"),
    "cancelled": lambda world: told(world, world.sending(), "canceled"),
    "canceling": lambda world: told(world, world.sending(), "canceling"),
    "lost create": lambda world: lost(world, "accept_then_drop"),
    "create that did not happen": lambda world: lost(world, "drop_before"),
    "scheduled by hand": scheduled,
    "refused send": turned_down,
    "wrong key": lambda world: wrong_key(world, world.sending()),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_whatever_the_background_finds_it_only_reads_and_acts_for_nobody(world, outcome):
    campaign_id = OUTCOMES[outcome](world)
    events = len(world.events(campaign_id))
    mutations = len(world.sandbox.truth.events())
    world.calls.clear()
    world.heard()
    world.run(hours=30)
    assert world.calls, "it was looked at"
    assert set(world.calls) <= READS - {"dial"}
    assert {request.split()[0] for request in world.heard()} == {"GET"}
    ours = [one for one in world.sandbox.truth.events()[mutations:] if one.by == "request"]
    assert {one.kind for one in ours} <= {"mailed"}, "only what was under way came to its end"
    fresh = world.events(campaign_id)[events:]
    assert all(row["actor"] is None and row["automatic"] for row in fresh)


def test_a_campaign_says_who_looks_at_it_next(world):
    draft, sending = world.drafted(), world.sending(subject="Another letter")
    shown = {one: world.bridge.show(one, actor=DANA).watch for one in (draft, sending)}
    assert shown[draft] == Watch("idle")
    assert shown[sending] == Watch("watching", look_at=world.campaign(sending).look_at)
