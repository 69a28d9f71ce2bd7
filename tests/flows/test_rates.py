"""Turns at an account's rate: shared by all workers, given out in order, and never more than the provider allows."""

from campaignbridge.bootstrap import behind_gates
from campaignbridge.domain.provider import Accepted, Category, Refused
from campaignbridge.flows.gate import AccountGate
from campaignbridge.host import HostClock
from campaignbridge.providers.resend import open_resend
from campaignbridge.store.limits import SECOND_US
from campaignbridge.store.unit import Store
from support.resend import RESEND_KEY
from support.stores import Counting, in_processes
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world", "support.resend"]
RATE, SECONDS, WORKERS = 10, 4, 4


class Waiting:
    """Local time that only waiting moves; it remembers how long was waited."""

    def __init__(self):
        self.waits = []

    def mark(self):
        return HostClock().mark()

    def since_ms(self, mark):
        return 0

    def wait_ms(self, ms):
        self.waits.append(ms)


def gate(store, clock=None, rate=2, holder="a"):
    return AccountGate(store, clock or Waiting(), "acc", holder, rate)


def test_turns_are_given_out_one_after_the_other_at_the_providers_rate(home):
    clock, passed, began = Waiting(), [], None
    for _ in range(4):
        assert gate(home.store(), clock).turn(10_000) is None
        with home.store().reading() as unit:
            began = began or unit.now_ms()
            passed.append(unit.now_ms() - began)
    step = SECOND_US // 1000 / 2
    # A turn is at its own time, so whoever comes later waits for less.
    for number, (waited, late) in enumerate(zip(clock.waits, passed[1:], strict=True), start=1):
        assert number * step - late - 50 <= waited <= number * step + 1


def test_a_turn_that_is_too_far_away_is_refused_and_pauses_nobody(home):
    clock = Waiting()
    refusal = None
    while refusal is None:
        refusal = gate(home.store(), clock).turn(2_000)
        assert len(clock.waits) < 10
    assert refusal == Refused("too_many_calls", Category.RATE_LIMITED, retry_after_s=5)
    one = gate(home.store(), clock)
    slot = one.enter(hold_ms=1_000, urgent=True)
    one.leave(slot, refusal)
    assert isinstance(one.enter(hold_ms=1_000, urgent=True), int)


def test_a_rate_that_was_set_counts_for_all_and_none_brings_the_providers_own_back(resend):
    bridge = resend.bridge
    connection = bridge.limit_rate("letters", calls_per_s=100, actor=DANA)
    clock = Waiting()
    for holder in ("a", "b", "c", "d"):
        assert AccountGate(resend.home.store(), clock, connection.account, holder, 2).turn(10_000) is None
    assert sum(clock.waits) <= 4 * 40
    bridge.limit_rate("letters", calls_per_s=None, actor=DANA)
    assert AccountGate(resend.home.store(), clock, connection.account, "a", 2).turn(10_000) is None
    for wrong in (0, 1_001):
        with refused("invalid_input"):
            bridge.limit_rate("letters", calls_per_s=wrong, actor=DANA)


def test_a_turn_costs_one_statement(home):
    counting = Counting(home.store().database)
    one = gate(Store(counting), rate=1000)
    one.turn(10_000)
    counting.names.clear()
    one.turn(10_000)
    assert counting.names == ["limits.turn"]


# --- four processes --------------------------------------------------------------------------------------


def asking(home, member, number, url, seconds):
    """Read the account again and again, as fast as its gate lets us; return how often, and how often refused."""
    clock, store = HostClock(), home.store()
    with store.reading() as unit:
        [connection] = unit.accounts.all()

    def opener(_connection):
        return open_resend(key=RESEND_KEY, base_url=url, clock=clock)

    provider = behind_gates(opener, store, clock, f"host:{number}:x")(connection)
    member.say("ready")
    member.wait()
    began, accepted, others = clock.mark(), 0, 0
    while clock.since_ms(began) < seconds * 1000:
        outcome = provider.verify(limit_ms=20_000)
        accepted += isinstance(outcome, Accepted)
        others += not isinstance(outcome, Accepted)
    return [accepted, others]


def shared(world, seconds):
    """Let four processes ask; return how many calls a second the provider saw, and how many it turned away."""
    world.bridge.limit_rate("letters", calls_per_s=RATE, actor=DANA)
    world.sandbox.world.behave(calls_per_s=RATE)
    results = in_processes(world.home, WORKERS, asking, world.server.resend_url, seconds)
    seen = [one for one in world.sandbox.truth.requests() if one.operation == "account"][1:]
    assert sum(others for _, others in results) == 0
    assert all(accepted > 0 for accepted, _ in results)
    span_s = (seen[-1].at_ms - seen[0].at_ms) / 1000
    return (len(seen) - 1) / span_s, sum(one.status == 429 for one in seen)


def test_four_processes_share_one_rate_stay_below_it_and_use_nearly_all_of_it(resend):
    rate, turned_away = shared(resend, SECONDS)
    print(f"{WORKERS} processes: {rate:.2f} calls a second of {RATE}, {turned_away} turned away")
    assert turned_away == 0
    assert 0.93 * RATE <= rate <= RATE
