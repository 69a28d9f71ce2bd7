"""Real processes are struck at every named point of every operation; another one settles what is left.

Each test plays one round for each point: kill -9, SIGTERM, or SIGSTOP until lease and window are over. On
PostgreSQL each COMMIT is cut off, too. The truth log of the provider is compared after every round.
"""

import json
import signal

import pytest

from support.rounds import Nursery, field_of
from support.stores import Proxy

pytest_plugins = ["support.stores"]
pytestmark = pytest.mark.timeout(400)

OPERATIONS = ["handoff", "send", "schedule", "unschedule", "cancel", "reconcile", "tick"]


@pytest.fixture(scope="session")
def nursery():
    parent = Nursery()
    yield parent
    parent.close()


@pytest.fixture
def ground(home, nursery, tmp_path, record_property):
    with field_of(home, nursery, str(tmp_path)) as ready:
        yield ready
    record_property("rounds", json.dumps({"dialect": home.dialect, **vars(ready.tally)}))


@pytest.fixture
def cut_ground(postgres_home, nursery, tmp_path, record_property):
    with field_of(postgres_home, nursery, str(tmp_path)) as ready:
        ready.proxy = Proxy(postgres_home.where)
        yield ready
        ready.proxy.close()
    record_property("rounds", json.dumps({"dialect": "postgres", **vars(ready.tally)}))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_killed_at_any_point_is_settled_by_another_and_nothing_doubles(ground, operation):
    ground.every_point(operation, signal.SIGKILL)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_told_to_end_at_any_point_leaves_nothing_doubled_or_lost(ground, operation):
    ground.every_point(operation, signal.SIGTERM)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_stopped_at_any_point_beyond_its_lease_doubles_nothing_when_it_wakes(ground, operation):
    ground.every_point(operation, signal.SIGSTOP)


@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_commit_whose_answer_is_cut_off_neither_doubles_nor_loses_anything(cut_ground, operation, cut):
    cut_ground.every_commit(operation, cut)
