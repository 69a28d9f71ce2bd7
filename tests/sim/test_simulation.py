"""The simulation's own rules, every mutant by name, and a first look at each scenario."""

import pytest

from campaignbridge.domain.errors import Refusal
from sim.explore import CRASH, every_restore, late_application, run, swarm, twins
from sim.machine import OPERATOR, Machine
from sim.mutants import Mutant, mutants
from sim.people import sends
from sim.scenarios import ALL, SENDS, Scenario, Tally
from sim.schedule import Crash, Strike


@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: one.name.replace(" ", "_"))
def test_a_missing_guard_is_noticed_by_its_own_schedule(mutant: Mutant) -> None:
    assert mutant.caught()


@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name.replace(" ", "_"))
def test_each_scenario_ends_well_without_a_strike_with_and_without_locks(scenario: Scenario) -> None:
    tally = Tally()
    for seed in (1, 2, 3):
        run(tally, scenario, seed, {})
        run(tally, scenario, seed, {}, locks=False)
    assert tally.violations == []


def test_the_same_seed_and_strikes_give_the_same_run_to_the_last_point() -> None:
    def trace() -> tuple[list[str], list[str], list[object]]:
        machine, actors = SENDS[1].run(5, {"a": {17: CRASH}, "w1": {9: Strike("lost")}})
        truth = [(event.at_ms, event.kind, event.campaign) for event in machine.sandbox.truth.events()]
        return actors["b"].points, actors["w1"].points, truth

    assert trace() == trace()


def test_another_seed_gives_another_order() -> None:
    orders = set()
    for seed in range(1, 9):
        machine, _ = SENDS[0].run(seed, locks=False)
        orders.add(tuple(event.path for event in machine.sandbox.truth.requests()))
    assert len(orders) > 1


def test_a_process_that_crashed_can_neither_write_nor_call_from_its_finally_blocks() -> None:
    machine = Machine(1)
    machine.author(drafted=True)
    machine.spawn("a", sends, strikes={"net.before POST send": CRASH})
    machine.run()
    lock = machine.rows("SELECT holder FROM locks")[0]
    assert lock["holder"].startswith("a:"), "a dead process releases nothing"
    assert machine.sends_asked() == 0


def test_a_crash_cannot_be_caught_as_an_exception() -> None:
    assert not issubclass(Crash, Exception)


def test_a_refusal_in_a_simulated_world_is_the_shipping_one() -> None:
    machine = Machine(1)
    machine.author(drafted=True)
    said: list[str] = []

    def asks(world: Machine, bridge: object) -> None:
        with pytest.raises(Refusal) as caught:
            bridge.reconcile("cmp_nobody", actor=OPERATOR)  # type: ignore[attr-defined]
        said.append(caught.value.code)

    machine.spawn("a", asks)
    machine.run()
    assert said == ["not_found"]


def test_a_store_put_back_to_any_of_its_commits_sends_nothing_twice() -> None:
    assert every_restore(3).violations == []


def test_twins_that_are_sent_at_the_same_time_mail_once() -> None:
    assert [violation for seed in range(5) for violation in twins(seed).violations] == []


def test_a_request_applied_late_at_any_half_minute_of_its_window_mails_once() -> None:
    assert late_application(2, step_ms=30_000).violations == []


def test_random_worlds_hold_their_invariants() -> None:
    assert swarm(range(10_000, 10_040)).violations == []
