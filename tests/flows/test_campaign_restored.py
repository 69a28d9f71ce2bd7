"""A store that was restored from a backup has forgotten what it decided; the provider has not."""

import sqlite3
from contextlib import closing

import pytest

from support.world import refused

pytest_plugins = ["support.stores", "support.world"]


class Backup:
    """A copy of the store as it was, taken and put back the way an operator would."""

    def __init__(self, world, folder) -> None:
        self.world = world
        self.place = folder / "backup.db"
        self._copy(world.home.where, self.place)

    def restore(self) -> None:
        self.world.home.close()
        self._copy(self.place, self.world.home.where)

    def _copy(self, source, target) -> None:
        with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
            there.backup(here)


@pytest.fixture
def world(sqlite_world):
    return sqlite_world


@pytest.mark.parametrize("stage", ["draft", "sending", "sent"])
def test_a_store_from_before_the_handoff_finds_what_it_made(world, tmp_path, stage):
    campaign_id = world.approved()
    backup = Backup(world, tmp_path)
    made = world.draft(campaign_id)
    if stage != "draft":
        world.send(campaign_id)
    if stage == "sent":
        world.run()
    backup.restore()
    assert (world.state(campaign_id), world.remote(campaign_id)) == ("approved", None)
    again = world.draft(campaign_id, "d2")
    assert (again.adopted, again.remote_id) == (True, made.remote_id)
    assert len(world.sandbox.truth.events("created")) == 1
    if stage == "draft":
        world.send(campaign_id, "s2")
    else:
        assert world.state(campaign_id) == "sending", "only a reading says sent"
        with refused("invalid_state"):
            world.send(campaign_id, "s2")
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.sandbox.truth.duplicates()) == (1, 0)


@pytest.mark.parametrize("key", ["s1", "s2"])
@pytest.mark.parametrize("finished", [False, True])
def test_a_store_from_before_the_send_does_not_send_again(world, tmp_path, key, finished):
    campaign_id = world.drafted()
    backup = Backup(world, tmp_path)
    world.send(campaign_id)
    if finished:
        world.run()
    backup.restore()
    assert (world.state(campaign_id), world.attempts(campaign_id)) == ("provider_draft", [])
    world.heard()
    with refused("invalid_state"):
        world.send(campaign_id, key)
    assert world.heard() == ["GET inspect"]
    world.run()
    assert world.state(campaign_id) == "sent", "it was followed"
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_a_store_from_before_a_send_that_is_still_in_doubt_settles_it_from_the_provider(world, tmp_path):
    campaign_id = world.drafted()
    world.fault("send", "accept_then_drop")
    backups = []
    world.meanwhile("send", lambda: backups.append(Backup(world, tmp_path)))
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.run()
    (backup,) = backups
    backup.restore()
    assert world.statuses(campaign_id) == ["pending"], "the copy was taken in mid-request"
    with refused("reconciliation_required"):
        world.send(campaign_id, "s2")
    world.run()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_a_store_from_before_the_handoff_of_a_twin_sends_neither_twice(world, tmp_path):
    first, second = world.drafted(), world.drafted(name="The same again")
    backup = Backup(world, tmp_path)
    world.send(first)
    world.run()
    backup.restore()
    with refused("invalid_state"):
        world.send(first, "s2")
    world.run()
    with refused("already_sent_elsewhere"):
        world.send(second)
    assert world.posts() == 1
