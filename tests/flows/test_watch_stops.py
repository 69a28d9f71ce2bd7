"""What only a person can decide stops the watch, is never papered over, and starts again when a person looks."""

import pytest

from campaignbridge.flows.reconcile import look
from campaignbridge.flows.views import Watch
from support.world import DANA, MINUTE_MS, refused

pytest_plugins = ["support.stores", "support.world"]

READ = "GET inspect"


def stop(world, campaign_id):
    """Run until the watch has stopped; return the requests that it took."""
    world.heard()
    world.run(hours=2)
    assert world.campaign(campaign_id).look_at is None
    return world.heard()


def nothing_is_read_any_more(world):
    world.heard()
    world.run(hours=48)
    world.later(hours=26)
    world.bridge.tick()
    world.bridge.tick()
    return world.heard() == []


def test_a_deleted_remote_stops_the_watch_after_two_readings_and_changes_nothing(world):
    campaign_id = world.sending()
    before = world.ledger(campaign_id)
    remote_id = world.remote_id(campaign_id)
    world.sandbox.world.hide(remote_id)
    assert stop(world, campaign_id) == [READ, "GET account"] * 2
    assert world.campaign(campaign_id).stopped_reason == "missing"
    assert world.bridge.show(campaign_id, actor=DANA).watch == Watch("stopped", reason="missing")
    assert [need.target for need in world.bridge.status(actor=DANA).needs] == [campaign_id]
    assert world.ledger(campaign_id) == before
    assert world.remote(campaign_id).remote_id == remote_id
    assert world.remote(campaign_id).reconciled_at is None
    assert nothing_is_read_any_more(world)
    (event,) = world.events(campaign_id, "watch_stopped")
    assert (event["actor"], event["data"]["reason"]) == (None, "missing")
    assert "reconcile" in world.actions(campaign_id)


def test_an_operator_looks_again_and_goes_on_once_it_is_back(world):
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.sandbox.world.hide(remote_id)
    stop(world, campaign_id)
    assert world.reconcile(campaign_id).reason == "missing", "still gone, and that was looked at"
    assert world.heard() == [READ, "GET account"]
    assert len(world.events(campaign_id, "watch_stopped")) == 1
    world.rewrite(remote_id, hidden=False)
    world.reconcile(campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.stopped_reason) == ("sent", None)
    assert world.sends(campaign_id) == 1


def test_a_deleted_remote_that_is_back_while_still_sending_is_watched_on(world):
    world.sandbox.world.behave(sending_ms=3 * 3_600_000)
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.sandbox.world.hide(remote_id)
    stop(world, campaign_id)
    world.rewrite(remote_id, hidden=False)
    assert world.reconcile(campaign_id).news == "same"
    assert world.campaign(campaign_id).look_at is not None
    world.run()
    assert world.state(campaign_id) == "sent"


def test_one_404_between_two_readings_proves_nothing(world):
    world.sandbox.world.behave(sending_ms=3 * 3_600_000)
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.sandbox.world.hide(remote_id)
    world.look()
    assert world.remote(campaign_id).negative.verdict.value == "missing"
    world.rewrite(remote_id, hidden=False)
    world.look()
    assert world.remote(campaign_id).negative is None
    assert world.campaign(campaign_id).stopped_reason is None
    world.sandbox.world.hide(remote_id)
    world.look()
    assert world.campaign(campaign_id).stopped_reason is None, "the count began anew"


def test_an_unknown_send_whose_remote_is_gone_stays_unresolved(world):
    campaign_id = world.doubted()
    world.sandbox.world.hide(world.remote_id(campaign_id))
    stop(world, campaign_id)
    assert world.campaign(campaign_id).stopped_reason == "missing"
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("unknown", ["unknown"])
    with refused("reconciliation_required"):
        world.send(campaign_id, "s2")
    assert nothing_is_read_any_more(world)
    assert world.posts() == 1


def test_an_archived_remote_is_untracked_and_stops_the_watch(world):
    campaign_id = world.sending()
    before = world.ledger(campaign_id)
    world.rewrite(world.remote_id(campaign_id), status="archived")
    assert stop(world, campaign_id) == [READ, READ]
    assert world.campaign(campaign_id).stopped_reason == "untracked"
    assert world.remote(campaign_id).raw_status == "archived", "what was seen is kept"
    assert world.ledger(campaign_id) == before
    assert nothing_is_read_any_more(world)


@pytest.mark.parametrize("status", ["", "shipped", "SENT"])
def test_a_status_that_nobody_knows_is_never_taken_for_sent(world, status):
    campaign_id = world.sending()
    world.rewrite(world.remote_id(campaign_id), status=status or "?")
    stop(world, campaign_id)
    assert (world.state(campaign_id), world.campaign(campaign_id).stopped_reason) == ("sending", "untracked")


def test_a_contradiction_is_kept_open_and_told_once(world):
    """It was accepted, and the provider shows a draft: never papered over."""
    campaign_id = world.sending()
    world.rewrite(world.remote_id(campaign_id), status="save")
    stop(world, campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.stopped_reason) == ("sending", "contradiction")
    assert world.remote(campaign_id).reconciled_at is None
    assert world.remote(campaign_id).observed_status == "draft"
    before = world.ledger(campaign_id)
    changed_at = campaign.state_changed_at
    for _ in range(3):
        world.later(minutes=5)
        assert world.reconcile(campaign_id).reason == "contradiction"
    assert len(world.events(campaign_id, "watch_stopped")) == 1
    assert world.ledger(campaign_id) == before, "no version is used up"
    assert world.campaign(campaign_id).state_changed_at == changed_at
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    assert world.posts() == 1


def test_an_unknown_send_after_which_it_was_seen_sending_never_becomes_a_draft_again(world):
    campaign_id = world.doubted()
    world.reconcile(campaign_id)
    assert world.state(campaign_id) == "sending"
    world.rewrite(world.remote_id(campaign_id), status="save")
    stop(world, campaign_id)
    assert (world.state(campaign_id), world.campaign(campaign_id).stopped_reason) == (
        "sending",
        "contradiction",
    )


def test_a_change_of_any_kind_starts_a_stopped_watch_again(world):
    """A late answer is a change: what was stopped is looked at anew."""
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.sandbox.world.hide(remote_id)
    stop(world, campaign_id)
    world.rewrite(remote_id, hidden=False)
    with world.bridge.wiring.store.unit() as unit:
        assert unit.campaigns.look_now(campaign_id)
        world.bridge.wiring.wake_watch(unit, campaign_id, in_ms=0)
    world.run()
    assert world.state(campaign_id) == "sent"


def test_sent_to_nobody_of_many_stays_sending_and_is_flagged_after_half_an_hour(world):
    campaign_id = world.sending()
    world.fault("inspect", "sent_zero", times=None)
    began = world.now()
    while world.campaign(campaign_id).flag is None:
        assert world.state(campaign_id) == "sending"
        world.step()
    assert world.campaign(campaign_id).flag == "sent_zero"
    assert 30 * MINUTE_MS <= world.now() - began < 50 * MINUTE_MS
    assert world.remote(campaign_id).emails_sent == 0
    assert world.campaign(campaign_id).look_at is not None, "and it is watched on"
    world.sandbox.faults.clear()
    world.run()
    assert (world.state(campaign_id), world.campaign(campaign_id).flag) == ("sent", None)


def test_a_campaign_that_was_stopped_at_the_provider_is_cancelled_with_how_many_were_mailed(world):
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.later(seconds=30)
    world.by_hand("POST", f"/campaigns/{remote_id}/actions/cancel-send")
    world.run()
    assert world.state(campaign_id) == "cancelled"
    remote = world.remote(campaign_id)
    assert 0 < remote.emails_sent < 24_318
    (followed,) = world.events(campaign_id, "followed")
    assert followed["data"]["unexplained"] is True
    assert world.next_due() is None


def test_a_watch_that_fails_again_and_again_is_told_to_a_person_and_goes_on_hourly(world):
    campaign_id = world.sending()
    world.home.rows("UPDATE jobs SET max_attempts = 1")
    world.meanwhile("inspect", lambda: 1 / 0)
    world.look()
    campaign = world.campaign(campaign_id)
    assert (campaign.stopped_reason, campaign.flag) == (None, "watch_failed")
    assert campaign.look_at - world.now() > 59 * MINUTE_MS
    (event,) = world.events(campaign_id, "watch_failed")
    assert (event["actor"], event["automatic"]) == (None, True)
    assert "resolve" in world.actions(campaign_id)
    world.run(hours=2)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.flag) == ("sent", None)


def test_a_bug_in_a_reading_is_tried_again_and_uses_an_attempt(world):
    campaign_id = world.sending()
    world.meanwhile("inspect", lambda: 1 / 0)
    world.look()
    (job,) = [row for row in world.jobs() if row["state"] == "queued"]
    assert (job["attempts"], job["last_error"]) == (1, "handler_exception")
    world.run()
    assert world.state(campaign_id) == "sent"


def test_a_look_that_was_under_way_when_the_watch_was_stopped_reads_nothing(world):
    campaign_id = world.sending()
    world.rewrite(world.remote_id(campaign_id), status="archived")
    stop(world, campaign_id)
    seen = look(world.bridge.wiring, campaign_id, actor=None)
    assert (seen.news, seen.reason) == ("stopped", "untracked")
    assert world.heard() == []
