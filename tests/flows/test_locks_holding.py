"""Holding a campaign's lock: takeover, release, and a lease that is too short for the call."""

import pytest

from campaignbridge.domain.errors import CommitUnknown, LeaseLost, Locked, NotFound
from campaignbridge.domain.lock import LOCK_TTL_MS
from campaignbridge.flows.holding import nothing_else, working_on
from support.stores import MovedClock, seed_campaign, through_proxy, wiring

pytest_plugins = ["support.stores"]


@pytest.fixture
def campaign(home, store):
    return seed_campaign(home)


def work(parts, operation="send", actor="cli:dana", campaign_id="cmp_a"):
    return working_on(parts, campaign_id, operation, actor=actor, also=nothing_else)


def abandon(home, store):
    """Leave a lock behind as a killed process does, and let its time pass."""
    with store.unit() as unit:
        unit.locks.acquire("campaign:cmp_a", holder="gone", operation="send", actor="cli:dana")
    home.pass_ms(LOCK_TTL_MS + 1_000)


def holders(home):
    return [row["holder"] for row in home.rows("SELECT holder FROM locks")]


def events(store):
    with store.unit() as unit:
        return unit.events.of_campaign("cmp_a")


def test_the_lock_is_held_for_the_block_and_released_after_it(home, store, campaign):
    with work(wiring(store, holder="h1")):
        assert holders(home) == ["h1"]
        with pytest.raises(Locked), work(wiring(store, holder="h2"), "reconcile"):
            pass
    assert holders(home) == [None]
    with work(wiring(store, holder="h2")):
        assert holders(home) == ["h2"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, LeaseLost("lost")])
def test_the_lock_is_released_when_the_work_raises(home, store, campaign, error):
    kind = error if isinstance(error, type) else type(error)
    with pytest.raises(kind), work(wiring(store)):
        raise error
    assert holders(home) == [None]


def test_a_lock_on_a_campaign_that_does_not_exist_is_not_left_behind(home, store, campaign):
    with pytest.raises(NotFound), work(wiring(store), campaign_id="cmp_none"):
        pass
    assert holders(home) == []


def test_a_takeover_is_audited_with_both_operations_and_without_an_actor(home, store, campaign):
    abandon(home, store)
    with work(wiring(store, holder="h2"), "reconcile") as found:
        assert found.held.lease.interrupted == "send"
        assert found.held.lease.fence == 2
    (event,) = events(store)
    assert event["kind"] == "campaign_lock_takeover"
    assert (event["actor"], event["automatic"]) == (None, True)
    assert event["data"] == {"operation": "reconcile", "interrupted_operation": "send"}


def test_the_audit_of_a_takeover_is_in_the_transaction_that_takes_over(home, store, campaign):
    abandon(home, store)

    def fails(_unit, _dossier):
        raise ZeroDivisionError

    parts = wiring(store)
    with pytest.raises(ZeroDivisionError), working_on(parts, "cmp_a", "reconcile", actor=None, also=fails):
        pass
    assert holders(home) == ["gone"]
    assert events(store) == []


def test_an_undisturbed_acquisition_is_not_audited(store, campaign):
    with work(wiring(store)):
        pass
    assert events(store) == []


def test_a_worker_that_ran_past_its_lease_frees_nothing_of_the_one_that_took_over(home, store, campaign):
    slow = work(wiring(store, holder="slow"))
    slow.__enter__()
    home.pass_ms(LOCK_TTL_MS + 1_000)
    with work(wiring(store, holder="h2")):
        slow.__exit__(None, None, None)
        assert holders(home) == ["h2"]


def test_a_long_lease_is_not_renewed_before_a_call(home, store, campaign):
    with work(wiring(store)) as found:
        before = home.rows("SELECT * FROM locks")
        found.held.require(35_000)
        assert home.rows("SELECT * FROM locks") == before


def test_a_lease_too_short_for_the_call_is_renewed_first(home, store, campaign):
    clock = MovedClock()
    with work(wiring(store, clock=clock)) as found:
        clock.pass_ms(280_000)
        home.pass_ms(280_000)
        found.held.require(35_000)
        assert found.held.remaining_ms() == LOCK_TTL_MS
        home.pass_ms(100_000)
        with pytest.raises(Locked), work(wiring(store, holder="h2")):
            pass


def test_a_lease_that_was_taken_over_stops_the_call(home, store, campaign):
    clock = MovedClock()
    with work(wiring(store, holder="slow", clock=clock)) as found:
        clock.pass_ms(LOCK_TTL_MS + 1_000)
        home.pass_ms(LOCK_TTL_MS + 1_000)
        with work(wiring(store, holder="h2")), pytest.raises(LeaseLost) as lost:
            found.held.require(35_000)
    assert lost.value.facts["retry_after"] >= 1


def test_a_call_longer_than_any_lease_is_never_made(store, campaign):
    with work(wiring(store)) as found, pytest.raises(LeaseLost):
        found.held.require(LOCK_TTL_MS + 1)


def test_a_suspended_host_knows_on_waking_that_its_lease_is_over(home, store, campaign):
    clock = MovedClock()
    with work(wiring(store, clock=clock)) as found:
        clock.boot_ms += 20 * 60_000  # only the clock that counts through a suspend has moved
        home.pass_ms(20 * 60_000)
        assert found.held.remaining_ms() < 0
        with pytest.raises(LeaseLost):
            found.held.require(35_000)


def test_a_wall_clock_stepped_forward_shortens_what_a_host_believes_it_has(store, campaign):
    clock = MovedClock()
    with work(wiring(store, clock=clock)) as found:
        clock.wall_ms += 290_000
        assert found.held.remaining_ms() == 10_000
        found.held.require(35_000)  # renewed, since the store says that the lease is live
        assert found.held.remaining_ms() == LOCK_TTL_MS


def test_a_wall_clock_stepped_back_does_not_lengthen_a_lease(home, store, campaign):
    clock = MovedClock()
    with work(wiring(store, clock=clock)) as found:
        clock.wall_ms -= 3_600_000
        clock.pass_ms(310_000)
        home.pass_ms(310_000)
        assert found.held.remaining_ms() == -10_000
        with pytest.raises(LeaseLost):
            found.held.require(35_000)


def test_what_is_left_counts_from_before_the_lock_was_asked_for(store, campaign):
    class Slow(MovedClock):
        """A host on which everything after the first look at the clock takes a minute."""

        def mark(self):
            now = super().mark()
            self.pass_ms(60_000)
            return now

    with work(wiring(store, clock=Slow())) as found:
        assert found.held.remaining_ms() == LOCK_TTL_MS - 60_000


def test_renewals_that_the_store_refuses_for_longer_than_the_lease_stop_every_call(home, store, campaign):
    """LEASE-5: the gate before the call enforces the deadline, no callback does."""
    clock = MovedClock()
    with work(wiring(store, clock=clock)) as found:
        clock.pass_ms(LOCK_TTL_MS + 1)
        home.pass_ms(LOCK_TTL_MS + 1_000)
        for _ in range(3):
            with pytest.raises(LeaseLost):
                found.held.require(1)
            assert found.held.remaining_ms() < 0


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_lock_whose_commit_went_unanswered_is_not_worked_under_and_not_left_behind(postgres_home, cut):
    """AMB-12: whether or not it was taken, nobody works, and nobody else has to wait for it to end."""
    seed_campaign(postgres_home)
    with through_proxy(postgres_home) as (proxy, store):
        proxy.cut = cut
        with pytest.raises(CommitUnknown), work(wiring(store)):
            pytest.fail("nobody may work under a lock that is in doubt")
    assert holders(postgres_home) in ([], [None])
    with work(wiring(postgres_home.store(), holder="h2")):
        assert holders(postgres_home) == ["h2"]
