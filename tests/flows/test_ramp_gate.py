"""The gate: what trips it, what doesn't, what a person may decide in spite of it."""

import pytest

from campaignbridge.domain.gate import Figures, Thresholds, Verdict, judge
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import gating, ramping
from support.ramps import WHY
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]
USUAL = Thresholds()


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        (Figures(1_000, 40), Verdict.PASSED),  # exactly 4 %
        (Figures(1_000, 41), Verdict.TRIPPED),
        (Figures(50, 450), Verdict.TRIPPED),  # a wave that mostly bounces doesn't wait
        (Figures(0, 100), Verdict.TRIPPED),
        (Figures(0, 99), Verdict.WAITING),
        (Figures(99, 0), Verdict.WAITING),
        (Figures(100, 0), Verdict.PASSED),
        (Figures(100, 0, 1), Verdict.PASSED),  # one complaint never trips
        (Figures(2_499, 0, 2), Verdict.TRIPPED),
        (Figures(2_500, 0, 2), Verdict.PASSED),
        (Figures(2_501, 0, 2), Verdict.PASSED),
    ],
)
def test_a_rate_trips_strictly_above_its_threshold_and_never_on_one_complaint(figures, verdict):
    assert judge(figures, USUAL) is verdict


def test_a_wave_that_bounces_trips_and_nothing_goes_until_a_person_clears_and_resumes(ramp):
    ramp.people(600)
    ramp.behave(hard_bounces=300)
    ramp.init(tiers=(200, 300))
    ramp.wave()
    ramp.world.later(hours=24)
    assert ramp.tick() == "paused"
    facts = ramp.ramp().facts
    assert facts.gate_tripped_at is not None
    assert ramp.ramp().gate_tripped["bounced"] > 8
    with refused("invalid_state"):
        ramping.resume(ramp.wiring, "winter", actor=DANA, reason=WHY)
    ramping.clear_gate(ramp.wiring, "winter", actor=DANA, reason=WHY)
    assert ramp.tick() == "paused", "clearing alone starts nothing"
    ramping.resume(ramp.wiring, "winter", actor=DANA, reason=WHY)
    ramp.behave(hard_bounces=0)
    ramp.wave()
    assert [one.closed for one in ramp.waves()] == [Closed.SENT, Closed.SENT], ramp.log()
    assert ramp.waves()[0].verdict is Verdict.WAIVED
    assert ramp.nobody_twice() == 500


def test_a_gate_that_trips_while_a_wave_is_under_way_stops_it_before_its_send(lite):
    lite.people(600)
    lite.init(tiers=(200, 300))
    lite.wave()
    lite.world.later(hours=24)
    lite.started("draft_ready")
    bounce(lite, 50)
    lite.work()
    assert lite.opened().step.value == "draft_ready"
    assert lite.ramp().facts.gate_tripped_at is not None
    assert lite.world.sends() == 1
    assert not unfinished(lite), "nothing is asked again and again"
    ramping.clear_gate(lite.wiring, "winter", actor=DANA, reason=WHY)
    ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    assert lite.world.sends() == 2, lite.log()


def test_a_gate_that_trips_in_the_very_transaction_before_the_intent_stops_the_send(lite):
    lite.people(600)
    lite.init(tiers=(200, 300))
    lite.wave()
    lite.world.later(hours=24)
    lite.started("looked")

    def trip():
        with lite.wiring.store.unit() as unit:
            assert unit.ramps.trip(lite_id, {"wave": None})

    lite_id = lite.ramp().id
    lite.world.meanwhile("dial", trip)
    lite.work()
    assert lite.world.sends() == 1
    assert not unfinished(lite)
    ramping.clear_gate(lite.wiring, "winter", actor=DANA, reason=WHY)
    ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    assert lite.world.sends() == 2, lite.log()


def bounce(ramping_, bounced, delivered=200, complained=0):
    """Have the first wave's figures be these, as a report told them."""
    first = ramping_.waves()[0]
    with ramping_.wiring.store.unit() as unit:
        unit.waves.judged(first.id, Verdict.PASSED, Figures(delivered, bounced, complained))


def unfinished(ramping_):
    return [
        job
        for job in ramping_.world.jobs()
        if job["type"] == "wave_step" and job["state"] in ("queued", "claimed")
    ]


def test_a_late_or_repeated_report_never_lowers_a_count(one):
    one.people(300)
    one.init(tiers=(200,))
    one.wave()
    bounce(one, 3, 197)
    one.world.later(hours=24)
    one.tick()
    assert one.waves()[0].figures == Figures(200, 3, 0), "the higher of each"


def test_a_small_late_wave_cannot_hide_a_bad_one(one):
    one.people(900)
    one.init(tiers=(200, 300, 100))
    one.wave()
    one.next_day()
    bounce(one, 9, 191)
    one.world.later(hours=24)
    assert one.tick() == "paused"
    assert one.ramp().gate_tripped["wave"] == "wave-1"


def test_the_total_trips_where_no_wave_does_by_itself(one):
    one.people(900)
    one.init(tiers=(99, 98, 97), allow_small_tiers=True)
    one.wave()
    bounce(one, 5, 90)
    ramping.waive(one.wiring, "winter", "wave-1", actor=DANA, reason=WHY)
    assert gating.judge_ramp(one.wiring, one.ramp().id).tripped is False, (
        "what was waived isn't counted again"
    )


def test_figures_that_never_come_call_for_an_operator_after_three_days_and_a_waiver_goes_on(lite):
    lite.people(400)
    lite.init(tiers=(60, 70), allow_small_tiers=True)
    lite.wave()
    lite.world.later(hours=24)
    assert lite.tick() == "awaiting_stats"
    lite.world.later(hours=49)
    assert lite.tick() == "needs_operator"
    assert lite.ramp().facts.needs_operator == "stats_missing"
    ramping.waive(lite.wiring, "winter", "wave-1", actor=DANA, reason=WHY)
    assert lite.ramp().facts.needs_operator is None
    lite.wave()
    assert lite.nobody_twice() == 130


def test_a_waiver_of_another_wave_does_not_answer_for_the_one_whose_figures_are_missing(one):
    one.people(600)
    one.init(tiers=(150, 160, 170))
    one.wave()
    one.next_day()
    one.world.fault("report", "refuse_5xx", times=None)
    one.world.later(hours=73)
    assert one.tick() == "needs_operator"
    ramping.waive(one.wiring, "winter", "wave-1", actor=DANA, reason=WHY)
    assert one.ramp().facts.needs_operator == "stats_missing"
    ramping.waive(one.wiring, "winter", "wave-2", actor=DANA, reason=WHY)
    assert one.ramp().facts.active


def test_figures_that_come_late_end_the_call_for_them_and_the_next_wave_goes(lite):
    lite.people(600)
    lite.init(tiers=(150, 160))
    lite.wave()
    lite.world.fault("report", "refuse_5xx", times=None)
    lite.world.later(hours=73)
    assert lite.tick() == "needs_operator"
    assert lite.ramp().facts.needs_operator == "stats_missing"
    lite.world.sandbox.faults.clear()
    lite.wave()
    assert [one.closed for one in lite.waves()] == [Closed.SENT, Closed.SENT], lite.log()
    assert lite.nobody_twice() == 310


def test_a_waiver_holds_until_a_count_is_a_quarter_worse(one):
    waived = Figures(1_000, 80, 8)
    assert judge(Figures(1_000, 100, 10), USUAL, waived=waived) is Verdict.WAIVED
    assert judge(Figures(1_000, 101, 8), USUAL, waived=waived) is Verdict.TRIPPED
    assert judge(Figures(1_000, 80, 11), USUAL, waived=waived) is Verdict.TRIPPED


def test_changed_thresholds_count_from_the_next_judgement_on_and_are_audited(one):
    one.people(600)
    one.behave(hard_bounces=300)
    one.init(tiers=(200, 300), thresholds=Thresholds(900_000, 800))
    one.wave()
    ramping.set_thresholds(one.wiring, "winter", Thresholds(20_000, 800), actor=DANA, reason=WHY)
    one.world.later(hours=24)
    assert one.tick() == "paused"
    assert "thresholds_changed" in one.log()


def test_a_waiver_made_while_the_gate_reads_is_not_judged_away(one):
    one.people(600)
    one.behave(hard_bounces=300)
    one.init(tiers=(200, 300))
    one.wave()
    one.world.later(hours=24)
    gating.judge_ramp(one.wiring, one.ramp().id)
    one.world.meanwhile(
        "report", lambda: ramping.clear_gate(one.wiring, "winter", actor=DANA, reason=WHY), before=False
    )
    assert gating.judge_ramp(one.wiring, one.ramp().id).tripped is False
    assert one.ramp().facts.gate_tripped_at is None


def test_a_trip_names_the_send_that_it_could_not_stop(one):
    one.people(600)
    one.init(tiers=(200, 300))
    one.wave()
    one.world.later(hours=24)
    one.started("looked")

    def trip():
        bounce(one, 50)
        assert gating.judge_ramp(one.wiring, one.ramp().id).tripped

    one.world.meanwhile("send", trip)
    one.world.step()
    ramp_id = one.ramp().id
    with one.wiring.store.reading() as unit:
        (row,) = [row for row in unit.ramps.log_of(ramp_id, most=100) if row["outcome"] == "gate_tripped"]
    assert (row["data"]["leaving_wave"], row["data"]["leaving"]) == ("wave-2", 300)
    assert row["data"]["until"] > one.world.now()


def test_the_gate_of_a_paused_ramp_is_judged_all_the_same(one):
    one.people(600)
    one.behave(hard_bounces=300)
    one.init(tiers=(200, 300))
    one.wave()
    ramping.pause(one.wiring, "winter", actor=DANA, reason=WHY)
    one.world.later(hours=24)
    assert one.tick() == "paused"
    assert one.ramp().facts.gate_tripped_at is not None


def test_who_complained_or_bounced_for_good_is_suppressed_after_its_wave(lite):
    lite.people(600)
    lite.behave(hard_bounces=10, unsubscribes=100, complaints=0)  # far from the threshold, and from nobody
    lite.init(tiers=(200, 300))
    lite.wave()
    lite.world.later(hours=24)
    assert lite.tick() == "wave_claimed"
    lite.work()
    with lite.wiring.store.reading() as unit:
        assert unit.suppressions.count() > 0, lite.log()
    assert "suppressions_mirrored" in lite.log()


def test_each_who_complained_bounced_or_left_is_suppressed_for_that_reason(ramp):
    ramp.people(600)
    ramp.behave(hard_bounces=30, unsubscribes=60, complaints=20)
    ramp.init(tiers=(400, 100))
    ramp.wave()
    ramp.world.later(hours=24)
    ramp.tick()
    ramp.work()
    assert ramp.ramp().facts.gate_tripped_at is not None
    (wave,) = ramp.waves()
    rows = ramp.world.home.rows("SELECT reason, count(*) AS n FROM suppressions GROUP BY reason")
    found = {row["reason"]: row["n"] for row in rows}
    assert found["bounce"] == wave.figures.bounced > 0
    assert found["complaint"] == wave.figures.complained > 0
    assert found["unsubscribe"] > 0
