"""The simulation's own rules, every mutant by name, and a first look at each scenario."""

from dataclasses import replace

import pytest

from campaignbridge.domain.errors import Refusal
from sim.explore import CRASH, every_loss, every_restore, late_application, run, swarm, twins
from sim.invariants import Violation
from sim.machine import OPERATOR, Machine
from sim.mutants import Mutant, mutants
from sim.people import sends, ticks
from sim.ramp_explore import every_hand, ramp_swarm
from sim.ramp_explore import every_restore as restores
from sim.ramp_explore import run as run_ramp
from sim.ramp_mutants import ramp_mutants
from sim.ramp_scenarios import HANDS, WAVES, RampScenario
from sim.scenarios import ALL, SENDS, Scenario, Tally
from sim.schedule import Crash, Strike


@pytest.mark.parametrize("mutant", [*mutants(), *ramp_mutants()], ids=lambda one: one.name.replace(" ", "_"))
def test_a_missing_guard_is_noticed_by_its_own_schedule(mutant: Mutant) -> None:
    assert mutant.caught()


@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name.replace(" ", "_"))
def test_each_scenario_ends_well_without_a_strike_with_and_without_locks(scenario: Scenario) -> None:
    tally = Tally()
    for seed in (1, 2, 3):
        run(tally, scenario, seed, {})
        run(tally, scenario, seed, {}, locks=False)
    assert tally.violations == []


@pytest.mark.parametrize("scenario", WAVES, ids=lambda one: one.name.replace(" ", "_"))
def test_each_wave_goes_without_a_strike_and_mails_nobody_twice(scenario: RampScenario) -> None:
    tally = Tally()
    run_ramp(tally, scenario, 1, {})
    assert tally.violations == []


def test_the_second_wave_of_a_ramp_mails_others_than_the_first() -> None:
    for scenario in (WAVES[0], WAVES[-1]):
        machine, _ = replace(scenario, wanted=2).run(1)
        assert [len(one.receivers) for one in machine.sandbox.world.deliveries.values()] == [7, 9]


@pytest.mark.parametrize("hand", HANDS)
def test_what_somebody_does_at_a_few_points_of_a_wave_harms_nobody(hand: str) -> None:
    world = replace(WAVES[0], previous=hand == "tripped")
    assert every_hand(world, hand, 2, step=40).violations == []


def test_a_store_put_back_to_commits_of_a_wave_mails_nobody_twice() -> None:
    assert [one for at in ("mailchimp", "resend") for one in restores(at, 5, step=24).violations] == []


def test_random_worlds_with_a_ramp_hold_their_invariants() -> None:
    assert ramp_swarm(range(10_000, 10_004)).violations == []


def test_what_is_violated_inside_a_job_ends_the_run_whatever_its_handler_catches() -> None:
    machine = Machine(1)
    machine.author(drafted=True)

    def object_to_all(*_: object) -> None:
        raise Violation("I0: a test objects")

    machine.memory.after_commit.append(object_to_all)
    machine.spawn("w1", ticks)
    with pytest.raises(Violation, match="a test objects"):
        machine.run()


def test_jobs_that_are_lost_at_any_point_of_a_send_are_found_by_the_sweep() -> None:
    assert every_loss(SENDS[1], 1, step=6).violations == []


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
