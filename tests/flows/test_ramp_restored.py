"""A store that goes back in time: nobody is mailed twice, whatever it has forgotten."""

from dataclasses import replace

import pytest

from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.sweep import sweep
from support.ramps import WHY, Backup
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


def rotated(lite):
    """Write a wave off whose people are returned, and let the next one mail them."""
    ramp_recovery.force_release(lite.wiring, "winter", lite.aim(), actor=DANA)
    ramp_recovery.discard(lite.wiring, "winter", lite.aim(), actor=DANA, return_contacts=True)
    lite.wave()
    assert [one.label for one in lite.waves() if one.sent_at] == ["wave-2"]


@pytest.mark.parametrize("step", [None, "picking", "picked", "segment_created", "pushed", "verified"])
def test_a_store_that_forgot_a_wave_of_another_label_counts_its_people_as_mailed(lite, tmp_path, step):
    lite.people(300)
    lite.init(tiers=(100, 150))
    if step is not None:
        lite.started(step)
    backup = Backup(lite.world, tmp_path / "before.db")
    if step is None:
        lite.started("picked")
    rotated(lite)
    mailed = lite.inside(lite.waves()[-1].segment_id)
    lite.world.later(hours=25)
    backup.restore()
    if step is None:
        assert lite.tick() == "wave_claimed"
    lite.work(hours=6)
    if lite.ramp().facts.needs_operator is not None:
        assert lite.opened().failed == "forgotten_wave"
        ramp_recovery.discard(lite.wiring, "winter", lite.aim(), actor=DANA, return_contacts=True)
        assert lite.tick() == "wave_claimed"
        lite.work(hours=6)
    (found,) = [one for one in lite.waves() if one.closed is Closed.SENT]
    assert (found.label, found.requested) == ("wave-2", 100), lite.log()
    lite.world.later(hours=24)
    lite.wave()
    went = lite.waves()[-1]
    # Where the label that was written off is the forgotten one's, that wave is found as the next one's own.
    assert (went.closed, went.tier) == (Closed.SENT, 0 if found.by_hand else 1), lite.log()
    assert not mailed & lite.inside(went.segment_id)
    assert lite.nobody_twice() == 100 + went.requested


def test_no_later_wave_gets_the_label_of_one_that_was_forgotten(one, tmp_path):
    one.people(400)
    one.init(tiers=(100, 110))
    backup = Backup(one.world, tmp_path / "before.db")
    for _ in range(2):
        one.started("picked")
        ramp_recovery.discard(one.wiring, "winter", one.aim(), actor=DANA, return_contacts=True)
    one.wave()
    assert one.waves()[-1].label == "wave-3"
    one.world.later(hours=25)
    backup.restore()
    one.wave()
    for _ in range(2):
        one.world.later(hours=24)
        one.wave()
    sent = [(wave.label, wave.tier) for wave in one.waves() if wave.closed is Closed.SENT]
    assert sent == [("wave-3", None), ("wave-4", 0), ("wave-5", 1)], one.log()
    assert one.nobody_twice() == 310


def test_a_store_that_forgot_a_whole_ramp_counts_its_people_as_mailed(lite, tmp_path):
    lite.people(300)
    lite.init(tiers=(100, 150))
    backup = Backup(lite.world, tmp_path / "before.db")
    ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.init("summer", tiers=(150,))
    lite.wave("summer")
    lite.world.later(hours=25)
    backup.restore()
    assert lite.tick() == "wave_claimed"
    lite.work()
    assert [one.label for one in lite.waves() if one.by_hand] == ["summer-wave-1"]
    lite.world.later(hours=24)
    lite.wave()
    lite.world.later(hours=24)
    lite.wave()
    lite.resume_wave(accept_underfilled=True)
    lite.work()
    assert lite.nobody_twice() == 300


CHANGES = [
    ("picked", "find_segment", "create_segment"),
    ("pushed", "segment_members", "remove_contacts"),
    ("draft_ready", "segment_members", "remove_contacts"),
]


@pytest.mark.parametrize(("step", "read", "change"), CHANGES)
def test_a_step_that_was_claimed_before_its_store_became_a_copy_changes_nothing(lite, step, read, change):
    lite.people(300)
    lite.init()
    lite.started(step)
    if change == "remove_contacts":
        lite.put(lite.opened().segment_id, "stranger@example.com")
    lite.world.meanwhile(
        read,
        lambda: lite.world.home.rows(
            "UPDATE installation SET place = coalesce(place, 'there'), paused_since = 1, paused_reason = 'backup'"
        ),
    )
    lite.world.calls.clear()
    lite.world.step()
    assert read in lite.world.calls
    assert change not in lite.world.calls
    assert lite.opened().step.value == step
    lite.world.home.rows("UPDATE installation SET paused_since = NULL, paused_reason = NULL")
    lite.work()
    sweep(lite.wiring, None)
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 100
