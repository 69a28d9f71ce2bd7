"""The campaign's lock around handoff, send and reconcile: who comes second waits, and the provider hears nothing."""

import json
from contextlib import contextmanager

import pytest

from campaignbridge.domain.lock import LOCK_TTL_MS
from campaignbridge.store.unit import Store
from support.world import DANA, MINUTE_MS, PEOPLE, SEND, refused

pytest_plugins = ["support.stores", "support.world"]


class SlowClaim(Store):
    """A store whose host waits six seconds on a row lock when an intent is written."""

    def __init__(self, world) -> None:
        super().__init__(world.home.open())
        self.clock = world.clock

    @contextmanager
    def unit(self):
        with super().unit() as unit:
            claim = unit.campaigns.claim

            def slow_claim(*args, **facts):
                self.clock.pass_ms(6_000)
                return claim(*args, **facts)

            unit.campaigns.claim = slow_claim
            yield unit


ASKS = {
    "draft": lambda world, one: world.draft(one, "d9"),
    "send": lambda world, one: world.send(one),
    "reconcile": lambda world, one: world.reconcile(one),
}


def holders(world):
    return world.home.rows("SELECT key, holder FROM locks WHERE holder IS NOT NULL")


@pytest.mark.parametrize("holding", ["draft", "send", "reconcile"])
@pytest.mark.parametrize("ask", ASKS)
def test_while_a_worker_holds_the_campaign_everybody_else_is_told_to_wait(world, ask, holding):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    events = len(world.events(campaign_id))
    with world.held(campaign_id, holding):
        with refused("locked") as no:
            ASKS[ask](world, campaign_id)
        facts = no.value.facts
        assert 1 <= facts["retry_after"] <= 300
        assert facts["held_by"] == {"operation": holding, "actor": "cli:other"}
    assert world.heard() == []
    assert world.ledger(campaign_id) == before
    assert len(world.events(campaign_id)) == events, "not even an audit event"


def test_after_the_release_the_send_goes_through_once_and_frees_its_own_lock(world):
    campaign_id = world.drafted()
    with world.held(campaign_id), refused("locked"):
        world.send(campaign_id)
    assert holders(world) == []
    world.send(campaign_id)
    assert (world.heard(), world.sends(campaign_id)) == (SEND, 1)
    assert holders(world) == []


@pytest.mark.parametrize(
    ("operation", "kind"), [("inspect", "drop_before"), ("send", "accept_then_drop"), ("send", "status_429")]
)
def test_a_send_that_fails_frees_its_lock(world, operation, kind):
    campaign_id = world.drafted()
    world.fault(operation, kind)
    with pytest.raises(Exception):  # noqa: B017  whatever it is, the lock is free
        world.send(campaign_id)
    assert holders(world) == []


def test_a_send_that_meets_a_bug_frees_its_lock_and_its_request_is_unknown(world):
    campaign_id = world.drafted()

    def bug():
        raise RuntimeError("a bug in an adapter")

    world.meanwhile("send", bug, before=False)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert (world.statuses(campaign_id), holders(world)) == (["unknown"], [])
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_one_campaigns_lock_does_not_hold_up_another(world):
    first, second = world.drafted(), world.drafted(subject="Another letter")
    with world.held(first):
        world.send(second)
        with refused("locked"):
            world.send(first)
    assert (world.sends(first), world.sends(second)) == (0, 1)


def test_local_edits_do_not_need_the_lock(world):
    campaign_id = world.approved()
    with world.held(campaign_id, "reconcile"):
        world.bridge.revoke(campaign_id, actor=DANA)
    assert world.state(campaign_id) == "ready_for_review"


def test_an_abandoned_lock_is_taken_over_after_its_time_and_the_timeline_says_what_was_interrupted(world):
    campaign_id = world.drafted()
    world.abandon(campaign_id, "draft")
    with refused("locked"):
        world.send(campaign_id)
    world.later(ms=LOCK_TTL_MS + 1)
    world.send(campaign_id)
    (takeover,) = world.events(campaign_id, "campaign_lock_takeover")
    assert takeover["actor"] is None
    assert takeover["automatic"] is True
    assert takeover["data"] == {"operation": "send", "interrupted_operation": "draft"}
    assert world.sends(campaign_id) == 1
    assert holders(world) == []


def test_a_worker_that_comes_back_after_its_time_does_not_free_the_next_ones_lock(world):
    campaign_id = world.drafted()
    other = world.process(store=world.home.store(ahead_ms=LOCK_TTL_MS + 1_000))

    with world.held(campaign_id):
        lease = holders(world)
        world.draft(campaign_id, "d2", bridge=other)  # taken over, and released by its own owner
        assert holders(world) == []
        world.abandon(campaign_id)
        (now,) = holders(world)
        assert [now] != lease
    assert holders(world) == [now], "the first one's release freed nothing"


def test_a_sender_whose_lock_was_taken_over_before_its_intent_sends_nothing(world):
    campaign_id = world.drafted()
    other = world.process(store=world.home.store(ahead_ms=6 * MINUTE_MS))
    world.meanwhile("inspect", lambda: world.draft(campaign_id, "d2", bridge=other), nth=2)
    with refused("lease_lost"):
        world.send(campaign_id)
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])
    assert len(world.events(campaign_id, "campaign_lock_takeover")) == 1
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


def test_a_sender_that_took_too_long_for_its_lease_renews_it_while_it_still_holds_it(world):
    campaign_id = world.drafted()
    world.meanwhile("inspect", lambda: world.later(minutes=4, seconds=50), nth=2)
    world.send(campaign_id)
    assert (world.posts(), world.sends(campaign_id)) == (1, 1)


def test_a_sender_that_was_frozen_past_its_lease_sends_nothing(world):
    campaign_id = world.drafted()
    world.meanwhile("inspect", lambda: world.later(minutes=6), nth=2)
    with refused("lease_lost") as no:
        world.send(campaign_id)
    assert no.value.facts["retry_after"] >= 1
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])
    world.later(minutes=6)
    world.send(campaign_id, "s2")
    assert world.sends(campaign_id) == 1


def test_a_host_that_was_suspended_in_mid_guard_sends_nothing_although_the_store_still_grants_the_lease(
    world,
):
    """Only this host's clock jumped: what counts is the smaller of both beliefs."""
    campaign_id = world.drafted()
    world.meanwhile("dial", lambda: world.clock.pass_ms(LOCK_TTL_MS), before=False)
    world.send(campaign_id)
    assert world.posts() == 1, "renewed, since the store says that the lease is live"


def test_an_intent_that_took_longer_than_five_seconds_to_write_is_recorded_as_not_called(world):
    campaign_id = world.drafted()
    slow = world.process(store=SlowClaim(world))
    with refused("lease_lost"):
        world.send(campaign_id, bridge=slow)
    (attempt,) = world.attempts(campaign_id)
    assert (attempt.status.value, attempt.error_code, attempt.retryable) == ("failed", "not_called", True)
    assert (world.posts(), world.state(campaign_id)) == (0, "provider_draft")
    assert len(world.events(campaign_id, "send_not_called")) == 1
    world.send(campaign_id, "s2")
    assert world.sends(campaign_id) == 1


def test_the_command_line_says_locked_by_exit_code_4_and_sends_once_it_is_free(world):
    campaign_id = world.drafted()
    confirmed = ("--confirm-recipients", str(PEOPLE), "--confirm-audience", "a1b2c3")
    asks = {
        "draft": ("campaigns", "draft", campaign_id, "--json"),
        "send": ("campaigns", "send", campaign_id, *confirmed, "--json"),
        "reconcile": ("campaigns", "reconcile", campaign_id, "--json"),
    }
    with world.held(campaign_id):
        for name, arguments in asks.items():
            code, out, _ = world.program(*arguments)
            told = json.loads(out)
            assert (name, code, told["code"]) == (name, 4, "locked")
            assert 1 <= told["retry_after"] <= 300
    assert world.heard() == []
    code, out, err = world.program(*asks["send"])
    assert code == 0, out + err
    assert (world.heard(), world.sends(campaign_id)) == (SEND, 1)
    assert holders(world) == []
