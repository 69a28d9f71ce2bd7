"""What one guarded send costs, counted: statements and transactions at the store, requests at the provider."""

import pytest

from campaignbridge.store.unit import Store
from support.world import DRAFT, SEND, Costs

pytest_plugins = ["support.stores", "support.world"]


@pytest.fixture
def counted(world):
    """Return a world, the costs of its store, and a process that causes them."""
    costs = Costs(world.home.open())
    return world, costs, world.process(store=Store(costs))


def spent(costs):
    found = len(costs.names), costs.transactions
    costs.names.clear()
    costs.transactions = 0
    return found


def test_one_guarded_send_is_five_requests_and_a_bounded_number_of_statements(counted):
    world, costs, bridge = counted
    campaign_id = world.drafted()
    world.send(campaign_id, bridge=bridge)
    assert world.heard() == SEND
    assert len(world.heard()) == 0
    names = list(costs.names)
    statements, transactions = spent(costs)
    print(f"one guarded send: {statements} statements in {transactions} transactions, {len(SEND)} requests")
    assert statements <= 18, names
    assert transactions <= 6, names


def test_a_refused_second_click_costs_one_transaction_and_no_request(counted):
    world, costs, bridge = counted
    campaign_id = world.drafted()
    with world.held(campaign_id):
        spent(costs)
        with pytest.raises(Exception):  # noqa: B017  locked; what it costs is asked here
            world.send(campaign_id, bridge=bridge)
    statements, transactions = spent(costs)
    assert (transactions, world.heard()) == (1, [])
    assert statements <= 2


def test_a_handoff_is_six_requests_and_a_bounded_number_of_statements(counted):
    world, costs, bridge = counted
    campaign_id = world.approved()
    world.heard()
    spent(costs)
    world.draft(campaign_id, bridge=bridge)
    assert world.heard() == DRAFT
    names = list(costs.names)
    statements, transactions = spent(costs)
    print(f"one handoff: {statements} statements in {transactions} transactions, {len(DRAFT)} requests")
    assert statements <= 22, names
    assert transactions <= 7, names


def test_one_look_of_the_watch_is_one_request_and_a_bounded_number_of_statements(counted):
    world, costs, bridge = counted
    world.sending()
    world.later(minutes=5, seconds=2)
    spent(costs)
    bridge.tick()
    assert world.heard() == ["GET inspect"]
    names = list(costs.names)
    statements, transactions = spent(costs)
    print(f"one look: {statements} statements in {transactions} transactions, one request")
    assert statements <= 18, names
    assert transactions <= 8, names
