"""Recovering a wave by hand: what each command needs and does, and that no state is a dead end."""

import pytest

from campaignbridge.domain.gate import Thresholds
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.aiming import Aim
from campaignbridge.flows.resolving import Ruling, Verdict
from support.ramps import WHY
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def finish(ramping_, **facts):
    return ramp_recovery.finish_by_hand(ramping_.wiring, "winter", ramping_.aim(), actor=DANA, **facts)


def discard(ramping_, *, back=False):
    return ramp_recovery.discard(ramping_.wiring, "winter", ramping_.aim(), actor=DANA, return_contacts=back)


def release(ramping_):
    ramp_recovery.force_release(ramping_.wiring, "winter", ramping_.aim(), actor=DANA)


def clear(ramping_):
    ramp_recovery.clear_failure(ramping_.wiring, "winter", ramping_.aim(), actor=DANA)


def delete_draft(ramping_):
    if ramping_.container:
        ramping_.world.by_hand("DELETE", f"/campaigns/{ramping_.world.remote_id(ramping_.campaign())}")


def released(ramping_, step, **init):
    """Have a wave come to a step, and take it out of its run's hands."""
    ramping_.people(400)
    ramping_.init(**init)
    ramping_.started(step)
    release(ramping_)
    ramping_.work()


STEPS = ["picking", "picked", "segment_created", "pushed", "verified", "draft_ready", "looked"]


@pytest.mark.parametrize("step", STEPS)
def test_a_wave_taken_out_of_its_runs_hands_at_any_step_can_be_gone_on_with(lite, step):
    released(lite, step)
    assert lite.ramp().facts.needs_operator == "force_released"
    assert lite.tick() == "needs_operator"
    lite.resume_wave()
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 100


@pytest.mark.parametrize("step", STEPS)
def test_a_wave_taken_out_of_its_runs_hands_at_any_step_can_be_written_off(lite, step):
    released(lite, step)
    if step in ("draft_ready", "looked"):
        delete_draft(lite)
    discard(lite, back=True)
    assert lite.ramp().facts.active
    lite.wave()
    first, second = lite.waves()
    assert (first.closed, second.closed, second.tier, second.label) == (
        Closed.DISCARDED,
        Closed.SENT,
        0,
        "wave-2",
    ), lite.log()
    assert lite.nobody_twice() == 100


def test_people_of_a_wave_that_was_written_off_stay_out_unless_they_are_returned(one):
    released(one, "segment_created", tiers=(150, 200))
    kept = {member.email for member in members(one, one.opened())}
    assert discard(one) == 0
    one.wave()
    mailed = one.inside(one.waves()[1].segment_id)
    assert not kept & mailed
    assert len(mailed) == 150


def members(ramping_, wave):
    with ramping_.wiring.store.reading() as unit:
        return unit.assignments.members(wave.id)


def test_a_wave_that_was_mailed_or_is_not_settled_is_not_written_off(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    aim = lite.aim()
    lite.world.fault("send", "accept_then_drop")
    lite.world.step()
    with refused("in_progress") as caught:
        discard(lite)
    assert caught.value.facts["people"] == 100
    lite.work()
    with refused("invalid_state"):
        ramp_recovery.discard(lite.wiring, "winter", aim, actor=DANA, return_contacts=True)
    assert lite.counts(lite.waves()[0]) == {"in_segment": 100}


def test_people_are_not_returned_once_a_send_was_asked_for(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.fault("send", "refuse_5xx")
    lite.world.step()
    lite.work(hours=1)
    delete_draft(lite)
    assert discard(lite, back=True) == 0
    assert lite.counts(lite.waves()[0]) == {"in_segment": 100}


def test_a_wave_whose_draft_a_person_sent_is_not_written_off(lite):
    released(lite, "draft_ready")
    lite.world.send_by_hand(lite.campaign())
    with refused("invalid_state"):
        discard(lite, back=True)
    assert lite.opened()


def test_a_drained_pool_is_agreed_to_whatever_became_of_the_run(lite):
    lite.people(120)
    lite.init(tiers=(300,))
    lite.wave()
    release(lite)
    assert lite.opened().failed is None
    with refused("invalid_state"):
        lite.resume_wave()
    lite.resume_wave(accept_underfilled=True)
    lite.work()
    assert lite.nobody_twice() == 120


def test_nobody_agrees_to_too_few_people_before_they_are_found(lite):
    lite.people(120)
    lite.init(tiers=(300,))
    lite.started("picking")
    release(lite)
    lite.resume_wave(accept_underfilled=True)
    lite.work()
    assert lite.opened().failed == "pool_drained"
    assert lite.world.sends() == 0


def test_who_agreed_to_too_few_people_did_not_agree_to_others(lite):
    lite.people(120)
    lite.init(tiers=(300,))
    lite.wave()
    ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.resume_wave(accept_underfilled=True)
    lite.suppress(*(f"p{number}@example.com" for number in range(110)))
    clear(lite)
    ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    assert (lite.opened().failed, lite.opened().picked) == ("pool_drained", 10)
    assert lite.world.sends() == 0


def test_clearing_a_failure_begins_anew_while_nothing_exists_elsewhere(lite):
    lite.people(120)
    lite.init(tiers=(300,))
    lite.wave()
    assert lite.opened().failed == "pool_drained"
    lite.people(400, first=120)
    clear(lite)
    lite.work()
    (wave,) = lite.waves()
    assert (wave.closed, wave.picked, wave.label) == (Closed.SENT, 300, "wave-1"), lite.log()
    assert lite.nobody_twice() == 300


@pytest.mark.parametrize("step", STEPS[2:])
def test_clearing_a_failure_is_refused_while_any_marker_stands(one, step):
    released(one, step)
    before = one.opened().run_id
    with refused("invalid_state"):
        clear(one)
    assert one.opened().run_id == before


def test_a_segment_that_was_asked_for_without_an_answer_is_a_marker(lite):
    lite.people(300)
    lite.init()
    lite.started("picked")
    lite.world.fault("create_segment", "accept_then_drop")
    lite.world.step()
    wave = lite.opened()
    assert (wave.segment_id, wave.marked) == (None, True)
    release(lite)
    with refused("invalid_state"):
        clear(lite)
    lite.resume_wave()
    lite.work()
    assert lite.nobody_twice() == 100


def test_a_wave_that_goes_its_way_is_not_finished_by_hand(one):
    one.people(300)
    one.init()
    one.started("pushed")
    with refused("invalid_state"):
        finish(one, broadcast_id="x", sent_at=1, mailed=1)


def test_what_is_missing_to_finish_by_hand_is_listed(one):
    released(one, "picked")
    with refused("invalid_input") as caught:
        finish(one)
    assert caught.value.facts["missing"] == ["--broadcast-id", "--sent-at", "--mailed"]


def test_finishing_by_hand_fills_in_what_markers_and_provider_know(lite):
    released(lite, "draft_ready", tiers=(100, 150))
    lite.world.send_by_hand(lite.campaign())
    lite.world.later(minutes=5)
    facts = finish(lite)
    assert facts.broadcast_id == lite.world.remote_id(lite.campaign())
    assert facts.mailed == 100
    assert facts.sent_at > 0
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT
    assert lite.ramp().facts.active, lite.ramp().facts
    lite.next_day()
    assert lite.nobody_twice() == 250


def test_what_a_person_says_beats_what_markers_say(one):
    released(one, "pushed", tiers=(100, 150))
    facts = finish(one, broadcast_id="b-by-hand", sent_at=one.world.now() - 1_000, mailed=77)
    wave = one.waves()[0]
    assert (wave.closed, wave.by_hand, wave.broadcast_id, wave.sent_at) == (
        Closed.SENT,
        True,
        "b-by-hand",
        facts.sent_at,
    )
    assert wave.verified == 77
    assert one.tick() == "awaiting_age"


def test_a_draft_of_ours_is_made_unsendable_first_when_another_object_went(lite):
    released(lite, "draft_ready")
    delete_draft(lite)
    finish(lite, broadcast_id="another", sent_at=lite.world.now(), mailed=100)
    assert lite.waves()[0].closed is Closed.SENT
    lite.work()
    assert lite.world.sends() == 0
    remote = lite.world.remote(lite.campaign())
    assert remote.retiring_at is not None or lite.container


def test_what_the_provider_shows_as_a_draft_is_not_finished_by_hand(lite):
    released(lite, "draft_ready")
    remote_id = lite.world.remote_id(lite.campaign())
    with refused("invalid_state"):
        finish(lite, broadcast_id=remote_id, sent_at=1_000, mailed=100)


def test_a_draft_of_ours_that_cannot_be_read_is_not_taken_for_gone(lite):
    released(lite, "draft_ready")
    lite.world.fault("inspect", "refuse_5xx", times=None)
    with refused("provider_failed"):
        finish(lite, sent_at=lite.world.now(), mailed=100)
    lite.world.sandbox.faults.clear()
    delete_draft(lite)
    if lite.container:
        finish(lite, sent_at=lite.world.now(), mailed=100)
        assert lite.waves()[0].closed is Closed.SENT


def test_a_send_without_an_answer_whose_draft_still_is_one_did_not_go(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.fault("send", "refuse_5xx")
    lite.world.step()
    lite.world.later(minutes=8)
    with refused("invalid_state"):
        finish(lite, sent_at=lite.world.now(), mailed=100)
    assert lite.opened(), "its draft could still be sent by somebody"


@pytest.mark.parametrize("named", ["another", None])
def test_a_draft_that_was_asked_for_without_an_answer_is_settled_before_its_wave_is_finished(lite, named):
    lite.people(300)
    lite.init()
    lite.started("verified")
    lite.world.fault("create", "accept_then_drop")
    lite.world.step()
    release(lite)
    lite.world.later(minutes=8)
    with refused("reconciliation_required" if named else "invalid_input"):
        finish(lite, broadcast_id=named, sent_at=lite.world.now(), mailed=100)
    lite.work()
    delete_draft(lite)
    finish(lite, broadcast_id="another", sent_at=lite.world.now(), mailed=100)
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT
    assert lite.world.remote(lite.campaign()).retired_at is not None
    assert lite.world.sends() == 0


def test_an_unconfirmed_wave_is_finished_by_hand_after_its_window_and_not_before(lite):
    lite.people(400)
    lite.init(tiers=(100, 150))
    lite.started("looked")
    lite.world.fault("send", "accept_then_drop")
    lite.world.step()
    lite.world.fault("inspect", "refuse_5xx", times=None)
    with refused("in_progress"):
        finish(lite, sent_at=1_000, mailed=100)
    lite.world.later(minutes=8)
    finish(lite, sent_at=lite.world.now(), mailed=100)
    assert lite.waves()[0].closed is Closed.SENT
    assert lite.world.statuses(lite.campaign()) == ["succeeded"]
    assert lite.ramp().facts.needs_operator is None


def test_a_campaign_resolved_as_not_sent_leaves_its_wave_to_be_written_off(lite):
    stopped_watch(lite)
    lite.world.bridge.resolve(
        lite.campaign(), actor=DANA, ruling=Ruling(verdict=Verdict.NOT_SENT, evidence=WHY)
    )
    assert lite.opened().failed == "campaign_failed"
    lite.world.sandbox.faults.clear()
    delete_draft(lite)
    discard(lite)
    assert lite.waves()[0].closed is Closed.DISCARDED


def test_a_campaign_resolved_as_sent_closes_its_wave(lite):
    stopped_watch(lite)
    lite.world.bridge.resolve(lite.campaign(), actor=DANA, ruling=Ruling(verdict=Verdict.SENT, evidence=WHY))
    assert lite.waves()[0].closed is Closed.SENT
    assert lite.ramp().facts.needs_operator is None


def test_a_campaign_resolved_as_stopped_after_some_closes_its_wave_as_sent(lite):
    stopped_watch(lite)
    lite.world.bridge.resolve(
        lite.campaign(), actor=DANA, ruling=Ruling(verdict=Verdict.STOPPED, evidence=WHY, mailed=7)
    )
    assert lite.waves()[0].closed is Closed.SENT, "whoever was mailed is never un-marked"


def stopped_watch(ramping_):
    """Have a send be in doubt whose watch has stopped."""
    ramping_.people(300)
    ramping_.init()
    ramping_.started("looked")
    ramping_.world.fault("send", "refuse_5xx")
    ramping_.world.step()
    ramping_.world.later(minutes=8)
    connection_id = ramping_.ramp().connection_id
    with ramping_.wiring.store.unit() as unit:
        unit.campaigns.stop_connection(connection_id, "missing")
    ramping_.world.home.rows("DELETE FROM jobs WHERE type = 'watch_campaign'")


def test_commands_name_the_wave_and_run_that_were_looked_at(one):
    released(one, "pushed")
    stale = Aim(label="wave-1", run_id="another", reason=WHY)
    for ask in (
        lambda: ramp_recovery.resume_wave(one.wiring, "winter", stale, actor=DANA),
        lambda: ramp_recovery.discard(one.wiring, "winter", stale, actor=DANA, return_contacts=False),
        lambda: ramp_recovery.clear_failure(one.wiring, "winter", stale, actor=DANA),
        lambda: ramp_recovery.force_release(one.wiring, "winter", stale, actor=DANA),
        lambda: ramp_recovery.finish_by_hand(one.wiring, "winter", stale, actor=DANA),
    ):
        with refused("conflict"):
            ask()


def test_nobody_mailed_is_no_wave_that_went(one):
    released(one, "pushed")
    with refused("invalid_input"):
        finish(one, broadcast_id="b", sent_at=1, mailed=0)
    with refused("invalid_input"):
        finish(one, broadcast_id="no/such?id", sent_at=1, mailed=1)


def test_a_written_off_wave_that_goes_after_all_counts_as_mailed(one):
    released(one, "draft_ready", tiers=(100, 150))
    campaign_id = one.campaign()
    with one.wiring.store.unit() as unit:
        assert unit.waves.discard(one_open(unit))
        assert unit.assignments.release_all(
            unit.waves.of_ramp(unit.ramps.get("winter").id)[0].id, code="discarded"
        )
    one.world.send_by_hand(campaign_id)
    one.world.reconcile(campaign_id)
    (wave,) = one.waves()
    assert wave.closed is Closed.SENT_LATE
    assert one.counts(wave) == {"in_segment": 100}
    assert one.tick() in ("awaiting_age", "needs_operator")


def one_open(unit):
    (wave,) = [one for one in unit.waves.of_ramp(unit.ramps.get("winter").id) if one.closed is None]
    return wave


def test_a_discard_and_a_change_of_thresholds_at_once_lose_neither(one):
    released(one, "pushed")
    ramp = one.ramp()
    ramping.set_thresholds(one.wiring, "winter", Thresholds(20_000, 700), actor=DANA, reason=WHY)
    discard(one)
    plan = one.ramp().plan
    assert (plan.offset, plan.thresholds) == (ramp.plan.offset + 1, Thresholds(20_000, 700))


def test_a_wave_that_a_person_sent_and_stopped_midway_is_not_written_off_even_when_it_is_deleted(one):
    released(one, "draft_ready")
    campaign_id = one.campaign()
    one.world.send_by_hand(campaign_id)
    one.world.later(seconds=30)
    path = f"/campaigns/{one.world.remote_id(campaign_id)}"
    one.world.by_hand("POST", f"{path}/actions/cancel-send")
    one.world.later(minutes=5)
    one.world.reconcile(campaign_id)
    assert one.world.state(campaign_id) == "cancelled"
    mailed = one.world.remote(campaign_id).emails_sent
    assert 0 < mailed < 100
    one.world.by_hand("DELETE", path)
    with refused("invalid_state"):
        discard(one, back=True)
    view = one.world.bridge.ramp_status("winter", read=True, actor=DANA)
    assert "--manual-finished" in view.advice.command
    finish(one, sent_at=one.world.now(), mailed=mailed)
    assert one.waves()[0].closed is Closed.SENT
    assert one.counts(one.waves()[0]) == {"in_segment": 100}


@pytest.mark.parametrize("hours", [1, 24 * 365])
def test_a_wave_did_not_go_in_the_future(one, hours):
    released(one, "pushed")
    with refused("invalid_input"):
        finish(one, broadcast_id="b", sent_at=one.world.now() + hours * 3_600_000, mailed=1)


def test_our_own_broadcast_that_went_is_never_called_not_sent_for_another(lite):
    lite.people(400)
    lite.init(tiers=(100, 150))
    lite.started("looked")
    lite.world.fault("send", "accept_then_drop")
    lite.world.step()
    lite.world.later(minutes=8)
    with refused("invalid_state"):
        finish(lite, broadcast_id="another", sent_at=lite.world.now(), mailed=100)
    assert lite.world.state(lite.campaign()) == "unknown"
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.world.state(lite.campaign()) == "sent"


def test_a_campaign_that_was_called_not_sent_and_went_is_recorded_as_what_it_did(one):
    stopped_watch(one)
    campaign_id = one.campaign()
    one.world.bridge.resolve(campaign_id, actor=DANA, ruling=Ruling(verdict=Verdict.NOT_SENT, evidence=WHY))
    one.world.sandbox.faults.clear()
    one.world.send_by_hand(campaign_id)
    one.world.later(minutes=5)
    view = one.world.bridge.ramp_status("winter", read=True, actor=DANA)
    assert "--manual-finished" in view.advice.command
    finish(one)
    assert one.waves()[0].closed is Closed.SENT
    assert one.waves()[0].verified == 100
