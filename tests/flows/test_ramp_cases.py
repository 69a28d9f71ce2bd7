"""What other people's ramps, audiences and broadcasts went wrong on; see docs/cases.md."""

import pytest

from campaignbridge.domain.gate import Figures, Thresholds, Verdict, judge
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramping
from support.ramps import WHY
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def test_bc_1_a_worker_that_dies_within_a_push_leaves_nobody_out(lite):
    lite.people(300)
    lite.init(tiers=(163,))
    lite.started("segment_created")
    dying, bridge = lite.dying()
    dying.left = 9
    lite.survive(bridge)
    lite.work()
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert lite.counts(wave) == {"in_segment": 163}
    assert lite.nobody_twice() == 163


def test_bc_2_five_resumes_after_errors_mail_everybody_once(lite):
    lite.people(300)
    lite.init(tiers=(163,))
    lite.started("segment_created")
    for _ in range(5):
        ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY)
        lite.work()
        ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
        lite.world.fault("*", "drop_before")
        lite.world.step()
    lite.work(hours=6)
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 163


def test_bc_5_every_person_picked_is_mailed_or_left_out_for_a_reason(lite):
    lite.people(300)
    lite.init(tiers=(150,))
    lite.started("pushed")
    lite.suppress(lite.chosen())
    lite.work()
    (wave,) = lite.waves()
    counts = lite.counts(wave)
    assert sum(counts.values()) == wave.picked == 150
    assert counts == {"in_segment": 149, "released": 1}
    rows = lite.world.home.rows("SELECT code FROM assignments WHERE status <> 'in_segment'")
    assert [row["code"] for row in rows] == ["suppressed"]
    assert lite.nobody_twice() == 149


def test_bc_7_a_wave_of_nobody_ends_at_once_and_no_gate_is_asked(lite):
    lite.people(100)
    lite.suppress(*(f"p{number}@example.com" for number in range(100)))
    lite.init()
    lite.wave()
    assert lite.ramp().facts.ended == "complete"
    assert lite.waves()[0].closed is Closed.DISCARDED
    assert lite.world.sends() == 0


def test_bc_8_a_pause_says_how_many_can_still_leave_and_until_when(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    answers = []
    lite.world.meanwhile(
        "send", lambda: answers.append(ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY))
    )
    lite.work()
    (answer,) = answers
    assert (answer.wave, answer.people) == ("wave-1", 100)
    assert answer.until > lite.waves()[0].sent_at


def test_aud_8_who_left_is_never_subscribed_again_by_a_push(one):
    one.people(300)
    one.init(tiers=(300,))
    gone = "p7@example.com"
    one.world.by_hand(
        "PUT",
        f"/lists/{one.container}/members/{gone}",
        {"email_address": gone, "status_if_new": "unsubscribed", "status": "unsubscribed"},
    )
    one.wave()
    (wave,) = one.waves()
    assert wave.closed is Closed.SENT, one.log()
    person = one.world.by_hand("GET", f"/lists/{one.container}/members/{gone}")
    assert person["status"] == "unsubscribed"
    assert one.nobody_twice() == 299
    assert one.counts(wave) == {"in_segment": 299, "refused": 1}


def test_aud_3_who_comes_after_the_pick_is_not_in_that_wave_but_in_a_later_one(one):
    one.people(100)
    one.init(tiers=(100, 100))
    one.started("picked")
    one.people(100, first=100)
    one.work()
    assert one.nobody_twice() == 100
    one.next_day()
    assert one.nobody_twice() == 200


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        (Figures(1, 3), Verdict.WAITING),  # 3 of 4: too few to say
        (Figures(970, 30), Verdict.TRIPPED),  # 30 of 1,000, where 2 % are allowed
        (Figures(990, 10), Verdict.PASSED),
    ],
)
def test_gate_1_a_share_counts_from_a_least_number_on(figures, verdict):
    assert judge(figures, Thresholds(bounce_ppm=20_000)) is verdict


def test_gate_2_the_worst_wave_decides_whatever_the_average(one):
    one.people(900)
    one.init(tiers=(100, 700), min_age_ms=0)
    one.wave()
    one.wave()
    first, second = one.waves()
    with one.wiring.store.unit() as unit:
        unit.waves.judged(first.id, Verdict.PASSED, Figures(90, 10))
        unit.waves.judged(second.id, Verdict.PASSED, Figures(700, 0))
    assert one.tick() == "paused"
    assert one.ramp().gate_tripped["wave"] == "wave-1"


def test_gate_3_a_complaint_leaves_its_person_out_of_everything(lite):
    lite.people(300)
    lite.init(tiers=(150, 150))
    lite.wave()
    left = sorted(
        {f"p{number}@example.com" for number in range(300)} - lite.inside(lite.waves()[0].segment_id)
    )
    lite.suppress(left[0])
    lite.next_day()
    assert lite.waves()[1].picked == 149
    assert lite.nobody_twice() == 299


def test_gate_4_without_figures_the_next_wave_is_held_and_after_three_days_a_person_is_called(one):
    one.people(400)
    one.init(tiers=(150, 200))
    one.wave()
    one.world.fault("report", "refuse_5xx", times=None)
    one.world.later(hours=24)
    assert one.tick() == "awaiting_stats"
    one.world.later(hours=49)
    assert one.tick() == "needs_operator"
    assert one.ramp().facts.needs_operator == "stats_missing"


def test_gate_5_a_tier_is_used_once_and_a_pause_of_days_skips_none(lite):
    lite.people(900)
    lite.init(tiers=(100, 150, 200))
    lite.wave()
    assert [lite.tick() for _ in range(3)] == ["awaiting_age"] * 3
    ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.world.later(hours=96)
    ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.wave()
    assert [one.tier for one in lite.waves()] == [0, 1]
    assert lite.nobody_twice() == 250


def test_gate_8_thresholds_are_readable_and_change_only_on_record(one):
    one.people(10)
    ramp = one.init(tiers=(100,))
    assert ramp.plan.thresholds == Thresholds(40_000, 800)
    with refused("invalid_input"):
        ramping.set_thresholds(one.wiring, "winter", Thresholds(0, 1), actor=DANA, reason=WHY)
    ramping.set_thresholds(one.wiring, "winter", Thresholds(30_000, 700), actor=DANA, reason=WHY)
    assert one.ramp().plan.thresholds == Thresholds(30_000, 700)
    assert one.log()[-1] == "thresholds_changed"
