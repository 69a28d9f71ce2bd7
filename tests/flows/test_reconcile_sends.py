"""An unknown send is settled by what the provider shows: at once if it went, by two late readings if not."""

import pytest

from campaignbridge.domain.cadence import EARLY_LOOK_MS, SECOND_READING_MS
from campaignbridge.domain.ledger import SETTLE_MS
from campaignbridge.domain.lock import Lease, campaign_key
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Refused
from campaignbridge.flows.holding import Held
from campaignbridge.flows.outcome import record
from support.world import HOUR_MS, MINUTE_MS, SEND, refused

pytest_plugins = ["support.stores", "support.world"]


def looks(world, *, hours):
    """Step through what is due within that time; return when the provider was read, in ms from now."""
    began, found = world.now(), []
    while (due := world.next_due()) is not None and due <= began + hours * HOUR_MS:
        world.step(due)
        found += [world.now() - began] * len(world.heard())
    return found


def test_an_unknown_send_that_did_not_go_settles_after_the_window_and_two_readings(world):
    campaign_id = world.doubted("drop_before")
    (attempt,) = world.attempts(campaign_id)
    began = world.now()
    until_window = attempt.window_end - began
    early, first, second = looks(world, hours=0.5)
    assert EARLY_LOOK_MS - 5_000 <= early < until_window
    assert until_window <= first
    assert first + SECOND_READING_MS <= second < first + SECOND_READING_MS + 10_000
    assert world.state(campaign_id) == "provider_draft"
    (attempt,) = world.attempts(campaign_id)
    assert (attempt.status.value, attempt.error_code, attempt.retryable) == ("failed", "not_applied", True)
    (settled,) = world.events(campaign_id, "reconciled")
    assert (settled["actor"], settled["automatic"]) == (None, True)
    assert settled["data"]["applied"] is False
    assert (world.sends(campaign_id), world.posts()) == (0, 1), "nothing was sent by itself"


def test_before_its_second_reading_an_unknown_send_is_settled_by_nothing_but_positive_evidence(world):
    campaign_id = world.doubted("drop_before")
    world.later(ms=SETTLE_MS + 31_000)
    assert world.reconcile(campaign_id).news == "waiting"
    for _ in range(5):
        world.later(seconds=10)
        assert world.reconcile(campaign_id).news == "waiting", "too soon after the first to count"
    assert world.state(campaign_id) == "unknown"
    world.later(seconds=11)
    assert world.reconcile(campaign_id).news == "settled"
    assert world.state(campaign_id) == "provider_draft"


def test_readings_inside_the_window_never_count_as_absence(world):
    campaign_id = world.doubted("drop_before")
    for _ in range(4):
        world.later(seconds=70)
        assert world.reconcile(campaign_id).news == "waiting"
    assert world.remote(campaign_id).negative is None
    assert world.state(campaign_id) == "unknown"


def test_a_send_that_is_applied_late_but_inside_the_window_is_settled_as_sent(world):
    campaign_id = world.drafted()
    world.fault("send", "apply_late", ms=200_000, answer="504")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


@pytest.mark.parametrize("kind", ["accept_then_drop", "accept_then_5xx", "proxy_page"])
def test_positive_evidence_inside_the_window_settles_at_once(world, kind):
    campaign_id = world.drafted()
    facts = {"applied": True} if kind == "proxy_page" else {}
    world.fault("send", kind, **facts)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert world.heard() == SEND
    began = world.now()
    world.step()
    assert world.now() - began < MINUTE_MS
    assert world.heard() == ["GET inspect"]
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])


def test_an_operators_reconcile_settles_it_at_once_and_is_named_in_the_timeline(world):
    campaign_id = world.doubted()
    seen = world.reconcile(campaign_id)
    assert (seen.news, seen.state.value) == ("settled", "sending")
    (settled,) = world.events(campaign_id, "reconciled")
    assert (settled["actor"], settled["automatic"]) == ("cli:dana", False)


def test_after_not_applied_it_is_read_again_after_an_hour_and_a_day_and_then_no_more(world):
    campaign_id = world.doubted("drop_before")
    world.run(hours=0.5)
    assert world.state(campaign_id) == "provider_draft"
    world.heard()
    settled_at = world.attempts(campaign_id)[0].settled_at
    base = world.now() - settled_at
    found = [round((at + base) / HOUR_MS) for at in looks(world, hours=24 * 30)]
    assert found == [1, 24]
    assert world.next_due() is None
    world.send(campaign_id, "s2")
    assert (world.sends(campaign_id), world.posts()) == (1, 2)


def test_a_send_that_arrives_after_it_was_settled_as_not_applied_is_seen_and_followed(world):
    campaign_id = world.drafted()
    world.fault("send", "apply_late", ms=20 * MINUTE_MS, answer="drop")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.run(hours=0.25)
    assert world.statuses(campaign_id) == ["failed"]
    world.run(hours=2)
    assert world.state(campaign_id) == "sent"
    (followed,) = world.events(campaign_id, "followed")
    assert followed["data"]["unexplained"] is True
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_a_new_send_after_not_applied_finds_that_the_first_went_after_all(world):
    campaign_id = world.drafted()
    world.fault("send", "apply_late", ms=20 * MINUTE_MS, answer="drop")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.run(hours=0.25)
    world.later(minutes=21)
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_a_pending_send_inside_its_window_is_not_looked_at(world):
    campaign_id = world.drafted()
    dead = world.process()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id, bridge=dead)
    assert world.statuses(campaign_id) == ["pending"]
    world.heard()
    with refused("in_progress") as no:
        world.reconcile(campaign_id)
    assert 300 < no.value.facts["retry_after"] <= 330
    assert world.heard() == []
    world.bridge.tick()
    assert world.heard() == []
    world.run(hours=0.5)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("provider_draft", ["failed"])
    assert [row["data"]["reason"] for row in world.events(campaign_id, "send_unconfirmed")] == ["no_answer"]


def test_a_send_that_finds_a_schedule_instead_is_watched_until_it_goes(world):
    """Somebody scheduled it by hand just before our request came: that proves nothing about ours."""
    campaign_id = world.drafted()
    world.fault("send", "drop_before")
    world.meanwhile("send", lambda: world.schedule_by_hand(campaign_id, in_minutes=45))
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.later(minutes=10)
    assert world.reconcile(campaign_id).news == "waiting"
    assert world.state(campaign_id) == "unknown"
    world.run()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


# an answer that comes too late


def late(world, campaign_id, outcome):
    """Deliver the provider's answer to the process that had made the request and was frozen since."""
    frozen = world.process()
    (attempt,) = world.attempts(campaign_id)
    held = Held(
        frozen.wiring,
        Lease(campaign_key(campaign_id), 1, frozen.wiring.holder, None),
        frozen.wiring.clock.mark(),
    )
    record(held, attempt, outcome)


def abandoned(world):
    """Return a campaign whose sender is frozen just before its answer, and whose send did not go."""
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id)
    world.run(hours=0.5)
    assert world.statuses(campaign_id) == ["failed"]
    return campaign_id


def test_a_late_accepted_answer_after_not_applied_flags_a_possible_double(world):
    campaign_id = abandoned(world)
    late(world, campaign_id, Accepted(None))
    campaign = world.campaign(campaign_id)
    assert campaign.flag == "possible_double"
    (event,) = world.events(campaign_id, "late_outcome")
    assert event["data"] == {"accepted": True, "settled_as": "failed", "possible_double": True}
    assert world.statuses(campaign_id) == ["failed"], "what was settled stays settled"
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    assert world.posts() == 0
    assert world.next_due() <= world.now(), "it is looked at now"


def test_a_late_accepted_answer_is_followed_to_the_truth_and_stays_flagged(world):
    campaign_id = abandoned(world)
    world.send_by_hand(campaign_id)
    late(world, campaign_id, Accepted(None))
    world.run()
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.flag) == ("sent", "possible_double")
    assert world.sends(campaign_id) == 1


@pytest.mark.parametrize(
    "outcome", [Ambiguous("timeout"), Refused("http_429", Category.RATE_LIMITED)], ids=["nothing", "refused"]
)
def test_a_late_answer_that_says_no_leaves_an_event_and_no_flag(world, outcome):
    campaign_id = abandoned(world)
    before = world.ledger(campaign_id)
    late(world, campaign_id, outcome)
    assert world.ledger(campaign_id) == before
    assert world.campaign(campaign_id).flag is None
    assert len(world.events(campaign_id, "late_outcome")) == 1


def test_a_late_accepted_answer_after_it_was_seen_sending_changes_nothing(world):
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id)
    world.run(hours=0.5)
    before = world.ledger(campaign_id)
    assert world.state(campaign_id) == "sent"
    late(world, campaign_id, Accepted(None))
    assert world.ledger(campaign_id) == before
    assert world.campaign(campaign_id).flag is None


def test_an_answer_to_an_attempt_that_is_only_unknown_yet_is_evidence(world):
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id)
    world.fault("inspect", "drop_before", times=None)
    world.later(minutes=7)
    world.bridge.tick()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("unknown", ["unknown"])
    late(world, campaign_id, Accepted(None))
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])
    world.sandbox.faults.clear()
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)
