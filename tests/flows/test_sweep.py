"""The sweep: whatever should be looked at has a job that looks, whatever became of the last one."""

import pytest

from campaignbridge.flows import sweep
from campaignbridge.store.unit import Store
from support.world import DANA, Costs, refused

pytest_plugins = ["support.stores", "support.world"]


def run_sweep(world, bridge=None):
    wiring = (bridge or world.bridge).wiring
    return sweep.sweep(wiring, None)


def lose_jobs(world):
    """Lose every job, as a restored or meddled-with store may."""
    world.home.rows("DELETE FROM jobs")


def watches(world):
    return [job for job in world.jobs() if job["type"] == "watch_campaign" and job["state"] == "queued"]


def test_a_campaign_whose_watch_is_gone_gets_one_at_its_time_and_is_followed_to_its_end(world):
    campaign_id = world.sending()
    lose_jobs(world)
    run_sweep(world)
    (job,) = watches(world)
    assert job["target"] == f"campaign:{campaign_id}"
    assert job["run_at"] == world.campaign(campaign_id).look_at
    world.run(hours=2)
    assert world.state(campaign_id) == "sent"


def test_a_sweep_that_has_nothing_to_do_queues_nothing(world):
    world.sending()
    world.drafted()
    before = world.jobs()
    run_sweep(world)
    assert world.jobs() == before


def test_a_watch_that_died_is_queued_again(world):
    world.sending()
    world.home.rows("UPDATE jobs SET state = 'dead', finished_at = 1 WHERE type = 'watch_campaign'")
    run_sweep(world)
    assert len(watches(world)) == 1


def test_a_watch_whose_worker_died_is_left_to_whoever_takes_it_over(world):
    world.sending()
    world.home.rows(
        "UPDATE jobs SET state = 'claimed', lease_until = 1, holder = 'gone' WHERE type = 'watch_campaign'"
    )
    run_sweep(world)
    assert watches(world) == []


def test_what_stopped_with_a_reason_is_left_alone_a_day_later_too(world):
    campaign_id = world.sending()
    world.sandbox.world.hide(world.remote_id(campaign_id))
    world.run(hours=2)
    assert world.campaign(campaign_id).stopped_reason == "missing"
    world.heard()
    for _ in range(12):
        world.later(hours=2)
        run_sweep(world)
        world.bridge.tick()
    assert world.heard() == []
    world.reconcile(campaign_id)
    lose_jobs(world)
    run_sweep(world)
    assert world.heard() != [], "an operator has looked"


def test_an_approved_campaign_with_a_lost_create_is_found_too(world):
    campaign_id = world.approved()
    world.fault("create", "accept_then_drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    lose_jobs(world)
    run_sweep(world)
    world.run(hours=2)
    assert world.state(campaign_id) == "provider_draft"


def test_more_than_one_run_can_hold_is_done_by_the_next_at_once(world, monkeypatch):
    for number in range(3):
        campaign_id = world.drafted(subject=f"What we shipped {number}")
        world.send(campaign_id)
    lose_jobs(world)
    monkeypatch.setattr(sweep, "MOST", 2)
    again = run_sweep(world)
    assert (again.after_ms, len(watches(world))) == (0, 2)
    run_sweep(world)
    assert len(watches(world)) == 3


@pytest.mark.parametrize("campaigns", [0, 5])
def test_a_sweep_costs_four_statements_in_one_transaction_at_most(world, campaigns):
    for number in range(campaigns):
        world.send(world.drafted(subject=f"What we shipped {number}"))
    lose_jobs(world)
    costs = Costs(world.home.open())
    run_sweep(world, world.process(store=Store(costs)))
    assert (len(costs.names), costs.transactions) == (4 if campaigns else 3, 1)
    assert len(watches(world)) == campaigns


def test_two_sweeps_at_once_queue_one_watch(world):
    campaign_id = world.sending()
    lose_jobs(world)
    other = world.process()
    with world.bridge.wiring.store.reading() as unit:
        seen = unit.campaigns.unwatched(most=10)
    run_sweep(world, other)
    with world.bridge.wiring.store.unit() as unit:
        unit.jobs.enqueue_many(
            [("job_late", sweep.watch_request(found)) for found, _ in seen], at={"job_late": seen[0][1]}
        )
    assert len(watches(world)) == 1
    assert world.bridge.show(campaign_id, actor=DANA).dossier.campaign.look_at is not None
