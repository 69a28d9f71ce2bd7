"""The gate to an account: slots and pauses that all workers share."""

import pytest

from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Refused
from campaignbridge.flows.gate import AccountGate
from campaignbridge.store.limits import OPENS_AT, ORDINARY_SLOTS, SLOTS
from support.stores import MovedClock

pytest_plugins = ["support.stores"]

THROTTLED = Refused("http_429", Category.RATE_LIMITED, 429, retry_after_s=30)


@pytest.fixture
def gate(store):
    return AccountGate(store, MovedClock(), "acc", "worker:1")


def ordinary(gate):
    return gate.enter(hold_ms=10_000, urgent=False)


def hear(gate, outcome):
    gate.leave(0, outcome)  # a slot that nobody has: only what was heard counts


def urgent(gate):
    return gate.enter(hold_ms=10_000, urgent=True)


def test_calls_take_slots_of_their_own_and_give_them_back(gate):
    first, second = ordinary(gate), ordinary(gate)
    assert {first, second} == {1, 2}
    gate.leave(first, None)
    assert ordinary(gate) == first


def test_no_more_calls_than_slots_and_the_last_two_are_kept_for_urgent_ones(gate):
    taken = [ordinary(gate) for _ in range(ORDINARY_SLOTS)]
    assert sorted(taken) == list(range(1, ORDINARY_SLOTS + 1))
    assert ordinary(gate).code == "too_many_calls"
    assert [urgent(gate) for _ in range(SLOTS - ORDINARY_SLOTS)] == [7, 8]
    assert urgent(gate).category is Category.RATE_LIMITED


def test_a_slot_of_a_process_that_died_ends_by_itself_and_is_not_given_back_twice(home, store):
    dead = AccountGate(store, MovedClock(), "acc", "dead:1")
    lost = dead.enter(hold_ms=10_000, urgent=False)
    later = AccountGate(home.store(ahead_ms=16_000), MovedClock(), "acc", "alive:1")
    assert later.enter(hold_ms=10_000, urgent=False) == lost
    dead.leave(lost, None)
    assert later.enter(hold_ms=10_000, urgent=False) != lost, "it is somebody else's now"


def test_other_accounts_have_slots_of_their_own(gate, store):
    for _ in range(SLOTS):
        urgent(gate)
    assert AccountGate(store, MovedClock(), "other", "worker:1").enter(hold_ms=1, urgent=False) == 1


def test_when_the_provider_asks_for_patience_everybody_waits_as_long_as_it_said(home, gate, store):
    ordinary(gate)
    hear(gate, THROTTLED)
    other = AccountGate(store, MovedClock(), "acc", "worker:2")
    refusal = other.enter(hold_ms=1, urgent=True)
    assert (refusal.code, refusal.category) == ("paused", Category.RATE_LIMITED)
    assert 28 <= refusal.retry_after_s <= 30
    after = AccountGate(home.store(ahead_ms=31_000), MovedClock(), "acc", "worker:2")
    assert isinstance(after.enter(hold_ms=1, urgent=False), int)


def test_a_shorter_pause_does_not_undercut_a_longer_one(gate):
    ordinary(gate)
    hear(gate, THROTTLED)
    hear(gate, Refused("http_429", Category.RATE_LIMITED, 429, retry_after_s=1))
    assert urgent(gate).retry_after_s > 20


@pytest.mark.parametrize("failure", [Ambiguous("http_503"), Refused("dns", Category.UNREACHABLE)])
def test_several_failures_in_a_row_open_the_breaker_and_one_answer_closes_the_count(gate, failure):
    gate.leave(ordinary(gate), None)
    for _ in range(OPENS_AT - 1):
        hear(gate, failure)
    hear(gate, Accepted(None))
    for _ in range(OPENS_AT - 1):
        hear(gate, failure)
    slot = ordinary(gate)
    assert isinstance(slot, int)
    gate.leave(slot, None)
    hear(gate, failure)
    assert ordinary(gate).code == "paused"


def test_the_breaker_stays_open_longer_with_every_further_failure_up_to_ten_minutes(gate):
    gate.leave(ordinary(gate), None)
    waits = []
    for _ in range(OPENS_AT + 7):
        hear(gate, Ambiguous("timeout"))
        refusal = ordinary(gate)
        if isinstance(refusal, int):
            gate.leave(refusal, None)
        else:
            waits.append(refusal.retry_after_s)
    assert waits == sorted(waits)
    assert waits[0] <= 30
    assert 590 <= waits[-1] <= 600


def test_a_definite_refusal_is_an_answer_and_opens_nothing(gate):
    gate.leave(ordinary(gate), None)
    for _ in range(20):
        hear(gate, Refused("http_400", Category.REJECTED, 400))
    assert isinstance(ordinary(gate), int)
