"""Locks: acquired, refused, taken over, renewed, held and released by one conditional statement each."""

# ruff: noqa: PT012  a block that fails, and is rolled back as a whole, is what is tested

import pytest

from campaignbridge.domain.errors import Locked
from campaignbridge.domain.lock import LOCK_TTL_MS

pytest_plugins = ["support.stores"]

KEY = "campaign:cmp_a"


def acquire(store, holder="a", key=KEY, operation="send", actor="cli:dana"):
    with store.unit() as unit:
        return unit.locks.acquire(key, holder=holder, operation=operation, actor=actor)


def do(store, name, *args, **params):
    with store.unit() as unit:
        return getattr(unit.locks, name)(*args, **params)


def test_a_second_holder_is_refused_with_the_remaining_wait(home, store):
    acquire(store)
    home.pass_ms(100_000)
    with pytest.raises(Locked) as refused:
        acquire(store, "b", operation="reconcile")
    assert 199 <= refused.value.facts["retry_after"] <= 200
    assert refused.value.facts["held_by"] == {"operation": "send", "actor": "cli:dana"}
    assert refused.value.facts["key"] == KEY


@pytest.mark.parametrize("passed_ms", [0, 1_000, 150_000, 299_000])
def test_the_remaining_wait_lies_between_one_and_three_hundred_seconds(home, store, passed_ms):
    acquire(store)
    home.pass_ms(passed_ms)
    with pytest.raises(Locked) as refused:
        acquire(store, "b")
    assert 1 <= refused.value.facts["retry_after"] <= 300


def test_a_refusal_changes_nothing(home, store):
    acquire(store)
    before = home.rows("SELECT * FROM locks")
    with pytest.raises(Locked):
        acquire(store, "b", operation="reconcile")
    assert home.rows("SELECT * FROM locks") == before


def test_a_lock_is_not_reentrant(store):
    acquire(store)
    with pytest.raises(Locked):
        acquire(store)


def test_different_campaigns_do_not_block_each_other(store):
    assert acquire(store, "a", "campaign:cmp_a").fence == 1
    assert acquire(store, "b", "campaign:cmp_b").fence == 1


def test_a_background_check_that_holds_a_lock_is_named_without_an_actor(store):
    acquire(store, actor=None, operation="reconcile")
    with pytest.raises(Locked) as refused:
        acquire(store, "b")
    assert "background check" in refused.value.what
    assert refused.value.facts["held_by"] == {"operation": "reconcile", "actor": None}


def test_only_the_owner_releases(store):
    lease = acquire(store, "a")
    stranger = type(lease)(lease.key, lease.fence, "b", None)
    earlier = type(lease)(lease.key, lease.fence - 1, "a", None)
    assert not do(store, "release", stranger)
    assert not do(store, "release", earlier)
    assert do(store, "release", lease)
    assert not do(store, "release", lease)


def test_without_its_guards_anybody_releases(home):
    store = home.mutant("locks.release", "AND fence = :fence AND holder = :holder")
    lease = acquire(store, "a")
    assert do(store, "release", type(lease)(lease.key, 99, "b", None))
    assert acquire(store, "c").fence == 2, "two holders at once"


def test_a_fence_that_a_failover_hands_out_twice_frees_nothing_without_the_holder(home, store):
    lease = acquire(store, "a")
    twin = type(lease)(lease.key, lease.fence, "b", None)
    assert not do(store, "release", twin)
    assert do(home.mutant("locks.release", "AND holder = :holder"), "release", twin)


def test_an_abandoned_lock_is_taken_over_with_the_next_fence_and_what_was_interrupted(home, store):
    assert acquire(store, "a", operation="send").fence == 1
    home.pass_ms(LOCK_TTL_MS + 1_000)
    lease = acquire(store, "b", operation="reconcile", actor=None)
    assert (lease.fence, lease.interrupted, lease.holder) == (2, "send", "b")


def test_a_released_lock_is_taken_without_an_interruption_and_its_fence_still_rises(store):
    do(store, "release", acquire(store, "a"))
    lease = acquire(store, "b")
    assert (lease.fence, lease.interrupted) == (2, None)


def test_a_live_lock_is_not_taken_over_and_without_the_guard_it_would_be(home, store):
    acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS - 1_000)
    with pytest.raises(Locked):
        acquire(store, "b")
    assert acquire(home.mutant("locks.acquire", "WHERE locks.held_until < now_ms()"), "b").fence == 2


def test_the_stopped_holder_frees_renews_and_holds_nothing_after_a_takeover(home, store):
    stopped = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    lease = acquire(store, "b")
    assert not do(store, "release", stopped)
    assert not do(store, "renew", stopped)
    assert not do(store, "hold", stopped, need_ms=0)
    assert do(store, "hold", lease, need_ms=0)


def test_without_the_fence_a_holder_that_took_over_from_itself_is_freed_by_its_earlier_run(home):
    store = home.mutant("locks.release", "AND fence = :fence")
    earlier = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    acquire(store, "a")
    assert do(store, "release", earlier)


def test_a_lease_is_renewed_while_it_is_live_and_by_its_owner_only(home, store):
    lease = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS - 1_000)
    assert not do(store, "renew", type(lease)(lease.key, lease.fence, "b", None))
    assert do(store, "renew", lease)
    home.pass_ms(LOCK_TTL_MS - 1_000)
    with pytest.raises(Locked):
        acquire(store, "b")
    home.pass_ms(2_000)
    assert not do(store, "renew", lease), "it ended, so somebody else may have had it since"


def test_without_the_guard_a_lease_that_ended_is_brought_back_to_life(home):
    store = home.mutant("locks.renew", "AND held_until > now_ms()")
    lease = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    assert do(store, "renew", lease)


def test_hold_wants_the_lease_to_outlive_what_is_about_to_be_done(home, store):
    lease = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS - 30_000)
    assert do(store, "hold", lease, need_ms=20_000)
    assert not do(store, "hold", lease, need_ms=35_000)
    assert do(
        home.mutant("locks.hold", "AND held_until >= now_ms() + :need_ms"), "hold", lease, need_ms=35_000
    )


def test_a_lock_whose_transaction_rolls_back_was_never_taken(store):
    with pytest.raises(ZeroDivisionError), store.unit() as unit:
        unit.locks.acquire(KEY, holder="a", operation="send", actor=None)
        raise ZeroDivisionError
    assert acquire(store, "b").fence == 1


def test_an_administrator_frees_only_an_expired_lock(home, store):
    lease = acquire(store, "a")
    assert not do(store, "free", KEY, fence=lease.fence)
    home.pass_ms(LOCK_TTL_MS + 1_000)
    assert not do(store, "free", KEY, fence=lease.fence + 1), "somebody else's fence"
    assert do(store, "free", KEY, fence=lease.fence)
    assert not do(store, "free", KEY, fence=lease.fence), "nobody holds it now"
    assert not do(store, "release", lease)
    assert acquire(store, "b").fence > lease.fence + 1, "a freed holder's fence is worth nothing"


def test_an_administrator_frees_a_lock_that_a_jumping_clock_holds_too_far_ahead(home, store):
    lease = acquire(home.store(ahead_ms=3_600_000), "a")
    with pytest.raises(Locked):
        acquire(store, "b")
    assert do(store, "free", KEY, fence=lease.fence)
    assert acquire(store, "b").interrupted == "send"  # what the freed lock was held for


def test_without_its_guard_an_administrator_frees_a_lock_that_is_in_use(home, store):
    lease = acquire(store, "a")
    mutant = home.mutant("locks.free", "AND (held_until < now_ms() OR held_until > now_ms() + :ttl_ms)")
    assert do(mutant, "free", KEY, fence=lease.fence)
    assert acquire(store, "b").fence > 1


def test_without_the_fence_a_lock_is_freed_that_was_taken_anew_after_somebody_looked(home, store):
    seen = acquire(store, "a")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    acquire(store, "b")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    assert not do(store, "free", KEY, fence=seen.fence)
    assert do(home.mutant("locks.free", "AND fence = :fence"), "free", KEY, fence=seen.fence)


def test_people_see_what_is_held_and_what_was_left_behind(home, store):
    acquire(store, "a", operation="send")
    do(store, "release", acquire(store, "b", key="campaign:cmp_b"))
    home.pass_ms(LOCK_TTL_MS + 1_000)
    (row,) = do(store, "held")
    assert (row["key"], row["holder"], row["operation"], row["actor"]) == (KEY, "a", "send", "cli:dana")
    assert row["held_until"] < row["now"]
