"""A store that goes back in time: nobody is mailed twice, whatever it has forgotten."""

from dataclasses import replace

import pytest

from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery
from support.ramps import Backup
from support.world import DANA

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]
STEPS = ["picking", "picked", "segment_created", "pushed", "verified", "draft_ready", "looked"]


@pytest.mark.parametrize("hours", [1, 25])
@pytest.mark.parametrize("new_name", [False, True])
def test_a_store_from_before_the_wave_finds_whom_it_mailed_and_mails_nobody_twice(
    lite, tmp_path, hours, new_name
):
    lite.people(300)
    lite.init(tiers=(100, 150))
    backup = Backup(lite.world, tmp_path / "before.db")
    lite.wave()
    mailed = lite.inside(lite.waves()[0].segment_id)
    lite.world.later(hours=hours)
    backup.restore()
    if new_name:  # others than the first time are picked now
        lite.suppress(*sorted(mailed)[:10])
    assert lite.waves() == []
    lite.wave()
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert lite.world.sends() == 1
    with lite.wiring.store.reading() as unit:
        people = {one.email for one in unit.assignments.members(wave.id)}
    assert people == mailed
    lite.next_day()
    assert lite.nobody_twice() == 250


@pytest.mark.parametrize("step", STEPS)
def test_a_store_from_any_step_of_the_wave_mails_nobody_twice(lite, tmp_path, step):
    lite.people(300)
    lite.init(tiers=(100, 150))
    lite.started(step)
    backup = Backup(lite.world, tmp_path / "before.db")
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    lite.world.later(hours=2)
    backup.restore()
    lite.work(hours=6)
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert lite.world.sends() == 1
    lite.world.later(hours=24)
    lite.wave()
    assert lite.nobody_twice() == 250


def test_a_wave_that_went_to_nobody_knows_whom_stops_for_a_person(one, tmp_path):
    one.people(300)
    one.init(tiers=(100, 150))
    backup = Backup(one.world, tmp_path / "before.db")
    one.wave()
    mailed = one.inside(one.waves()[0].segment_id)
    remote_id = one.world.remote_id(one.campaign())
    one.world.later(hours=25)
    backup.restore()
    there = one.world.sandbox.world._campaigns
    there[remote_id] = replace(there[remote_id], segment_opts=None)  # its segment was deleted there
    one.wave()
    assert one.opened().failed == "went_to_unknown", one.log()
    assert one.world.sends() == 1
    assert (
        "--manual-finished --broadcast-id"
        in one.world.bridge.ramp_status("winter", actor=DANA).advice.command
    )
    ramp_recovery.finish_by_hand(one.wiring, "winter", one.aim(), actor=DANA, broadcast_id=remote_id)
    assert one.waves()[0].closed is Closed.SENT
    assert len(mailed) == one.waves()[0].verified == 100
