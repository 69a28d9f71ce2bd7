"""A wave is claimed once, displaced runs touch nothing, and a stop either stops or names what it couldn't."""

import pytest

from campaignbridge.domain.gate import Figures
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.flows.delivery import Confirmation
from campaignbridge.flows.ramp_tick import tick
from campaignbridge.flows.sweep import sweep
from support.ramps import WHY
from support.stores import together
from support.world import DANA, outcome_of, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def test_a_held_claim_stays_held_however_old_it_is(ramp):
    ramp.people(300)
    ramp.init()
    assert ramp.tick() == "wave_claimed"
    assert ramp.tick() == "wave_in_flight"
    ramp.world.later(hours=6)
    assert ramp.tick() == "stalled"
    assert len(ramp.waves()) == 1


def test_two_ticks_at_once_claim_one_wave(ramp):
    ramp.people(300)
    ramp.init()
    bridges = [ramp.world.process() for _ in range(6)]
    ramp_id = ramp.ramp().id
    outcomes = together(ramp.world.home, 6, lambda number: tick(bridges[number].wiring, ramp_id))
    assert sorted(outcomes) == ["wave_claimed", *["wave_in_flight"] * 5]
    assert len(ramp.waves()) == 1
    ramp.work()
    assert ramp.nobody_twice() == 100


def test_a_claim_after_the_tier_moved_is_refused_and_says_so(one):
    one.people(300)
    one.init()
    one.tick()
    wave = one.opened()
    with one.wiring.store.unit() as unit:
        assert not unit.waves.claim(
            "wav_x", ramp_id=wave.ramp_id, tier=1, label="wave-9", run_id="r", requested=10
        )


@pytest.mark.parametrize("fact", ["paused", "tripped", "needs_operator", "ended"])
def test_no_wave_is_claimed_while_one_of_the_facts_stands(one, fact):
    one.people(300)
    one.init()
    with one.wiring.store.unit() as unit:
        ramp_id = unit.ramps.get("winter").id
        set_fact(unit, ramp_id, fact)
        assert not unit.waves.claim("wav_x", ramp_id=ramp_id, tier=0, label="l-1", run_id="r", requested=10)
    assert one.tick() in (fact, "paused", "ended")


def set_fact(unit, ramp_id, fact):
    match fact:
        case "paused":
            unit.ramps.pause(ramp_id)
        case "tripped":
            unit.ramps.trip(ramp_id, {})
        case "needs_operator":
            unit.ramps.need_operator(ramp_id, "wave_failed")
        case "ended":
            unit.ramps.end(ramp_id, "aborted")


def test_what_a_tick_says_never_clears_a_call_for_an_operator(one):
    one.people(300)
    one.init()
    with one.wiring.store.unit() as unit:
        unit.ramps.need_operator(unit.ramps.get("winter").id, "label_collides")
    assert one.tick() == "needs_operator"
    assert one.ramp().facts.needs_operator == "label_collides"


def test_a_label_that_is_taken_is_a_clear_and_recorded_refusal(one):
    one.people(300)
    one.init(tiers=(100, 150))
    ramp_id = one.ramp().id
    with one.wiring.store.unit() as unit:
        unit.waves.add_by_hand(
            "wav_h", ramp_id=ramp_id, label="wave-1", run_id="r", broadcast_id="b", sent_at=1
        )
        unit.waves.waive("wav_h", Figures())
    assert one.tick() == "label_collides"
    assert "label_collides" in one.log()
    assert one.tick() == "needs_operator"


def test_a_displaced_run_is_a_hard_no_op_with_one_line_in_the_log(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("segment_created")

    def release():
        ramp_recovery.force_release(ramp.wiring, "winter", ramp.aim(), actor=DANA)

    ramp.world.meanwhile("add_contacts", release, before=False)
    ramp.work()
    wave = ramp.opened()
    assert (wave.step.value, wave.failed) == ("segment_created", None)
    assert ramp.counts(wave) == {"assigned": 100}, "its results are not written"
    assert ramp.log().count("step_displaced") == 1
    assert ramp.ramp().facts.needs_operator == "force_released"
    ramp.resume_wave()
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()
    assert ramp.nobody_twice() == 100


def test_a_send_that_really_went_is_kept_whatever_became_of_its_run(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("looked")
    aim = ramp.aim()
    ramp.world.meanwhile("send", lambda: ramp_recovery.force_release(ramp.wiring, "winter", aim, actor=DANA))
    ramp.work()
    (wave,) = ramp.waves()
    assert wave.closed is Closed.SENT
    assert ramp.ramp().facts.active, "what became of it is proven, so nobody is needed"
    assert ramp.nobody_twice() == 100


POINTS = [("dial", True), ("send", True), ("send", False), ("inspect", True), ("sync_draft", False)]


@pytest.mark.parametrize(("call", "before"), POINTS)
@pytest.mark.parametrize("how", ["pause", "abort", "trip", "discard"])
def test_a_stop_at_any_instant_of_a_send_stops_it_or_names_it(lite, how, call, before):
    lite.people(300)
    lite.init()
    lite.started("looked")
    answers = []

    def stop():
        answers.append(stopped(lite, how))

    lite.world.meanwhile(call, stop, before=before)
    lite.work()
    (answer,) = answers
    mailed = lite.world.sends()
    assert mailed == (1 if answer == "named" else 0), (answer, lite.log())
    lite.nobody_twice()
    if mailed:
        assert lite.waves()[0].closed is Closed.SENT
        assert all(count for status, count in lite.counts(lite.waves()[0]).items() if status == "in_segment")


def stopped(ramping_, how):
    """Stop; say whether the answer names a send with its people and its end."""
    wiring = ramping_.wiring
    if how == "discard":
        code = outcome_of(
            lambda: ramp_recovery.discard(wiring, "winter", ramping_.aim(), actor=DANA, return_contacts=False)
        )
        if code == "accepted":
            return "stopped"
        if code == "locked":  # whoever has the campaign at this moment is not interrupted
            return "named"
        assert code == "in_progress", code
        return "named"
    if how == "trip":
        with wiring.store.unit() as unit:
            ramp = unit.ramps.get("winter")
            unit.ramps.trip(ramp.id, {})
            left = ramping.unstoppable(unit, ramp)
    else:
        left = getattr(ramping, how)(wiring, "winter", actor=DANA, reason=WHY)
    if left.wave is None:
        return "stopped"
    assert (left.wave, left.people) == ("wave-1", 100)
    return "named"


def test_an_aborted_ramp_whose_send_is_not_confirmed_closes_its_wave_as_what_happened(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.fault("send", "accept_then_drop")
    lite.world.meanwhile("send", lambda: ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY))
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()


def test_an_aborted_ramp_whose_send_turns_out_not_to_have_happened_writes_its_wave_off(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.fault("send", "refuse_5xx")
    lite.world.meanwhile("send", lambda: ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY))
    lite.work(hours=30)
    assert lite.waves()[0].closed is Closed.DISCARDED, lite.log()
    assert lite.world.sends() == 0


def test_an_aborted_ramps_draft_is_made_unsendable_where_the_provider_can(lite):
    lite.people(300)
    lite.init()
    lite.started("draft_ready")
    ramping.abort(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    assert lite.waves()[0].closed is Closed.DISCARDED
    assert ("draft_retired" in lite.log()) == ("retire" in lite.provider().capabilities)
    assert lite.world.sends() == 0


def test_a_waves_campaign_is_not_sent_scheduled_tested_changed_or_retired_by_hand(lite):
    lite.people(300)
    lite.init()
    lite.started("draft_ready")
    ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY)
    bridge, campaign_id = lite.world.bridge, lite.campaign()
    campaign = lite.world.campaign(campaign_id)
    confirmed = Confirmation(recipients=100, audience=campaign.audience)
    before = lite.world.ledger(campaign_id)
    for ask in (
        lambda: bridge.send(campaign_id, actor=DANA, key="s1", confirmed=confirmed),
        lambda: bridge.schedule(
            campaign_id, actor=DANA, key="p1", confirmed=confirmed, at_ms=lite.world.slot()
        ),
        lambda: bridge.send_test(campaign_id, actor=DANA, key="t1", addresses=("ann@acme.example",)),
        lambda: bridge.hand_off(campaign_id, actor=DANA, key="d1"),
        lambda: bridge.retire(campaign_id, actor=DANA),
        lambda: bridge.withdraw(campaign_id, actor=DANA),
        lambda: bridge.archive(campaign_id, actor=DANA),
        lambda: bridge.revoke(campaign_id, actor=DANA),
        lambda: bridge.duplicate(campaign_id, actor=DANA, key="c1"),
    ):
        with refused("belongs_to_ramp"):
            ask()
    assert lite.world.ledger(campaign_id) == before


def test_a_campaign_that_is_cancelled_by_hand_stops_its_wave_and_it_is_written_off(lite):
    lite.people(300)
    lite.init(tiers=(100, 150))
    lite.started("draft_ready")
    campaign_id = lite.campaign()
    lite.world.cancel(campaign_id)
    lite.work()
    assert lite.world.state(campaign_id) == "cancelled"
    assert lite.opened().failed == "campaign_cancelled"
    assert lite.ramp().facts.needs_operator == "campaign_stopped"
    with refused("invalid_state"):
        lite.resume_wave()
    delete_draft(lite)
    ramp_recovery.discard(lite.wiring, "winter", lite.aim(), actor=DANA, return_contacts=True)
    lite.wave()
    assert [one.closed for one in lite.waves()] == [Closed.DISCARDED, Closed.SENT]
    assert lite.nobody_twice() == 100


def delete_draft(ramping_):
    """Delete the draft as a person does where the provider has no way to make one unsendable."""
    if ramping_.container:
        ramping_.world.by_hand("DELETE", f"/campaigns/{ramping_.world.remote_id(ramping_.campaign())}")


def test_a_draft_that_a_person_sends_at_the_provider_is_followed_and_not_sent_again(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.world.send_by_hand(lite.campaign())
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.world.sends() == 1
    assert lite.nobody_twice() == 100


def test_an_unconfirmed_send_that_went_clears_its_own_call_and_no_other_fact(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("looked")
    ramp.world.fault("send", "accept_then_drop")
    ramp.world.meanwhile("send", lambda: ramping.pause(ramp.wiring, "winter", actor=DANA, reason=WHY))
    ramp.world.step()
    assert ramp.ramp().facts.needs_operator == "send_unconfirmed"
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT
    assert ramp.ramp().facts.needs_operator is None
    assert ramp.ramp().facts.paused_at is not None


def test_an_unconfirmed_send_that_did_not_go_lets_a_person_resume_the_wave(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("looked")
    ramp.world.fault("send", "refuse_5xx")
    ramp.world.step()
    with refused("in_progress"):
        ramp.resume_wave()
    ramp.work(hours=1)
    assert ramp.ramp().facts.needs_operator == "send_unconfirmed", "a person goes on, nobody else"
    assert ramp.world.sends() == 0
    ramp.resume_wave()
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()
    assert ramp.nobody_twice() == 100


def test_the_sweep_finds_open_waves_and_ticks_that_lost_their_job(ramp):
    ramp.people(300)
    ramp.init(cron="0 9 * * *")
    ramp.started("segment_created")
    ramp.world.home.rows("DELETE FROM jobs WHERE type IN ('wave_step', 'ramp_tick')")
    sweep(ramp.wiring, None)
    found = sorted(job["type"] for job in ramp.world.jobs() if job["state"] == "queued")
    assert found == ["ramp_tick", "wave_step"]
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()


def test_the_sweep_leaves_waves_of_ramps_that_stand_still_alone(one):
    one.people(300)
    one.init()
    one.started("segment_created")
    ramping.pause(one.wiring, "winter", actor=DANA, reason=WHY)
    one.world.home.rows("DELETE FROM jobs WHERE type = 'wave_step'")
    with one.wiring.store.reading() as unit:
        assert unit.waves.unattended(most=10) == []


def test_a_step_that_fails_again_and_again_calls_for_an_operator_and_can_be_gone_on_with(one):
    one.people(300)
    one.init()
    one.started("segment_created")

    def broken():
        raise RuntimeError("a bug")

    for _ in range(8):
        one.world.meanwhile("add_contacts", broken)
    one.work(hours=30)
    assert one.ramp().facts.needs_operator == "step_failed", one.log()
    one.world._happenings.clear()
    one.resume_wave()
    one.work()
    assert one.waves()[0].closed is Closed.SENT, one.log()


def test_a_wave_that_dies_at_any_transaction_is_finished_by_another_worker_and_mails_once(lite):
    lite.people(1_400)
    lite.init(tiers=(20,) * 40, allow_small_tiers=True, min_age_ms=0)
    dying, bridge = lite.dying()
    died = 0
    for number, at in enumerate(CRASHES):
        assert lite.tick() == "wave_claimed", lite.log()
        dying.left, dying.after = at, number % 2 == 1
        died += lite.survive(bridge)
        dying.left = None
        lite.work(hours=2)
        wave = lite.waves()[-1]
        if wave.closed is None and lite.ramp().facts.needs_operator == "send_unconfirmed":
            lite.resume_wave()
            lite.work(hours=2)
            wave = lite.waves()[-1]
        assert wave.closed is Closed.SENT, (at, lite.log()[-12:])
        ramping.waive(lite.wiring, "winter", wave.label, actor=DANA, reason=WHY)
    assert died > len(CRASHES) * 3 // 4
    assert lite.world.sends() == len(CRASHES)
    assert lite.nobody_twice() == 20 * len(CRASHES)


CRASHES = range(1, 61, 3)
