"""What is shown of a ramp, in real states: why, what comes by itself, and a command that is not refused."""

import re

import pytest

from campaignbridge.cli.pages import PAGES
from campaignbridge.domain.need import RAMPS
from campaignbridge.domain.notice import of_need
from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery, ramp_views, ramping
from campaignbridge.flows.aiming import Aim
from campaignbridge.flows.people import why
from campaignbridge.flows.ramp_advice import Draft
from campaignbridge.store.unit import Store
from support.ramps import WHY
from support.rampwalk import do, failed, follow, started, status, steps
from support.world import DANA, Costs, refused
from tidy import tree

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]

MOST_STATEMENTS = 12


def marked(ramp, reason: str) -> None:
    """Have the ramp need an operator for this."""
    ramp_id = ramp.ramp().id
    with ramp.wiring.store.unit() as unit:
        assert unit.ramps.need_operator(ramp_id, reason)


def needs(ramp):
    return [one for one in ramp.world.bridge.status(actor=DANA).needs if one.kind == "ramp"]


def test_a_fresh_ramp_says_what_its_next_tick_starts(ramp):
    ramp.people(400)
    ramp.init(cron="0 9 * * *")
    view = status(ramp)
    assert (view.state, view.next_wave, view.mailed) == ("active", ("wave-1", 100), 0)
    assert view.known.tick is not None
    assert view.advice.command is None


def test_a_fresh_ramp_without_a_cron_waits_for_somebody_to_run_it(ramp):
    ramp.people(400)
    ramp.init()
    view = status(ramp)
    assert view.known.tick is None
    assert (view.advice.command, view.advice.people) == ("ramps run winter", 100)


def test_an_open_wave_shows_every_marker_and_what_the_provider_has(ramp):
    started(ramp)
    steps(ramp, "looked")
    view = status(ramp, read=True)
    wave = view.known.opened
    assert (wave.label, wave.picked, wave.verified, wave.marked) == ("wave-1", 100, 100, True)
    assert view.known.counts == {"in_segment": 100}
    assert view.known.delivery.campaign.wave.label == "wave-1"
    assert view.known.step is not None
    assert (view.there.segment, view.there.draft, view.there.members) == ("there", Draft.DRAFT, 100)
    assert view.advice.command is None


def test_looking_changes_nothing_and_costs_a_fixed_number_of_statements(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.heard()
    before = ramp.world.home.rows("SELECT count(*) AS n FROM ramp_log")
    costs = Costs(ramp.world.home.open())
    bridge = ramp.world.process(store=Store(costs))
    bridge.ramp_status("winter", actor=DANA)
    assert costs.transactions == 1
    assert len(costs.names) <= MOST_STATEMENTS, costs.names
    costs.names.clear()
    bridge.ramps(actor=DANA)
    assert (costs.transactions, len(costs.names)) == (2, 4), costs.names
    assert ramp.world.heard() == []
    assert ramp.world.home.rows("SELECT count(*) AS n FROM ramp_log") == before
    assert bridge.ramp_log("winter", actor=DANA)[0]["outcome"] == "looked"
    bridge.close()


def test_the_list_has_what_was_mailed_and_what_comes(ramp):
    started(ramp)
    ramp.work()
    (shown,) = ramp_views.listed(ramp.wiring, actor=DANA)
    assert (shown.state, shown.mailed, [one.label for one in shown.waves]) == ("active", 100, ["wave-1"])


def test_a_paused_ramp_says_how_many_its_wave_may_mail_when_it_is_resumed(ramp):
    started(ramp)
    steps(ramp, "verified")
    ramping.pause(ramp.wiring, "winter", actor=DANA, reason=WHY)
    view = status(ramp)
    assert (view.state, view.advice.people) == ("paused", 100)
    assert "100 people" in view.advice.effect
    follow(ramp)
    assert ramp.waves()[0].closed is Closed.SENT
    assert ramp.nobody_twice() == 100


@pytest.mark.parametrize(
    "step", ["picking", "picked", "segment_created", "pushed", "verified", "draft_ready", "looked"]
)
def test_a_wave_that_was_force_released_anywhere_comes_to_an_end_by_what_is_advised(ramp, step):
    started(ramp)
    steps(ramp, step)
    ramp_recovery.force_release(ramp.wiring, "winter", ramp.aim(), actor=DANA)
    (need,) = needs(ramp)
    assert (need.target, need.reason, need.command) == ("winter", "force_released", "ramps status winter")
    done = follow(ramp)
    assert 'ramps resume-wave winter --reason "..."' in done
    assert ramp.waves()[0].closed is Closed.SENT, done
    assert ramp.nobody_twice() == 100
    assert needs(ramp) == []


@pytest.mark.parametrize("reason", ["too_many_refused", "nobody_in_segment"])
def test_a_wave_that_would_only_fail_again_is_written_off(ramp, reason):
    started(ramp)
    steps(ramp, "pushed")
    failed(ramp, reason)
    done = follow(ramp)
    assert done == ['ramps recover winter --discard-and-rotate --reason "..."', "ramps run winter"]
    assert [(one.label, one.closed) for one in ramp.waves()] == [
        ("wave-1", Closed.DISCARDED),
        ("wave-2", Closed.SENT),
    ]
    assert ramp.nobody_twice() == 100


def test_a_wave_with_a_draft_is_written_off_only_when_that_draft_cannot_go_any_more(ramp):
    started(ramp)
    steps(ramp, "looked")
    failed(ramp, "nobody_in_segment")
    done = follow(ramp)
    assert 'ramps recover winter --discard-and-rotate --reason "..."' in done
    assert [one.closed for one in ramp.waves()] == [Closed.DISCARDED, Closed.SENT]
    assert ramp.nobody_twice() == 100


def test_a_wave_whose_draft_somebody_deleted_is_written_off(ramp):
    if not ramp.container:
        pytest.skip("by hand is written for Mailchimp's paths; at Resend a draft is retired")
    started(ramp)
    steps(ramp, "looked")
    ramp.world.by_hand("DELETE", f"/campaigns/{status(ramp).known.delivery.remote.remote_id}")
    failed(ramp, "http_404")
    assert status(ramp, read=True).there.draft is Draft.GONE
    follow(ramp)
    assert ramp.waves()[0].closed is Closed.DISCARDED
    assert ramp.nobody_twice() == 100


def test_a_wave_that_somebody_sent_at_the_provider_is_found_out_by_reading(ramp):
    if not ramp.container:
        pytest.skip("by hand is written for Mailchimp's paths")
    started(ramp)
    steps(ramp, "looked")
    failed(ramp, "http_400")
    ramp.world.send_by_hand(status(ramp).known.delivery.campaign.id)
    view = status(ramp, read=True)
    assert view.there.draft is Draft.WENT
    assert view.advice.command.startswith("campaigns reconcile")
    do(ramp, view.advice.command)
    assert ramp.waves()[0].closed is Closed.SENT
    assert ramp.ramp().facts.active
    assert ramp.nobody_twice() == 100


def test_a_wave_with_a_draft_is_gone_on_with_only_after_a_reading(ramp):
    started(ramp)
    steps(ramp, "looked")
    failed(ramp, "http_400")
    done = follow(ramp)
    assert done[:2] == ["ramps status winter --read", 'ramps resume-wave winter --reason "..."']
    assert ramp.nobody_twice() == 100


def test_a_recommendation_is_withheld_when_the_provider_does_not_answer(ramp):
    started(ramp)
    steps(ramp, "looked")
    failed(ramp, "http_400")
    assert status(ramp).advice.command == "ramps status winter --read"
    ramp.world.fault("inspect", "drop_before")
    view = status(ramp, read=True)
    assert view.there.draft is Draft.UNREAD
    assert view.advice.withheld
    assert view.there.problem
    assert status(ramp, read=True).advice.command == 'ramps resume-wave winter --reason "..."'


def test_a_drained_pool_asks_before_fewer_are_mailed(ramp):
    ramp.people(40)
    ramp.init(tiers=(100,))
    ramp.wave()
    view = status(ramp)
    assert view.state == "needs_operator"
    assert view.advice.command == 'ramps resume-wave winter --accept-underfilled --reason "..."'
    assert view.advice.people == 40
    (need,) = needs(ramp)
    assert need.reason == "pool_drained"
    follow(ramp)
    assert ramp.nobody_twice() == 40


def test_a_send_without_an_answer_is_only_read_and_settles_by_itself(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.fault("send", "accept_then_drop")
    ramp.world.step()
    view = status(ramp)
    assert view.state == "needs_operator"
    assert view.ramp.facts.needs_operator == "send_unconfirmed"
    assert view.advice.command is None or view.advice.command.startswith("campaigns reconcile")
    ramp.work(hours=2)
    assert ramp.waves()[0].closed is Closed.SENT
    assert status(ramp).state == "active"
    assert ramp.nobody_twice() == 100


def test_a_send_that_was_proven_not_to_have_gone_has_a_way_out(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.fault("send", "drop_before")
    ramp.world.step()
    ramp.work(hours=3)
    assert ramp.opened().closed is None
    done = follow(ramp)
    assert done
    assert ramp.waves()[0].closed in (Closed.SENT, Closed.DISCARDED), done
    assert ramp.nobody_twice() in (0, 100)


def test_a_wave_that_went_while_it_was_force_released_needs_nobody_any_more(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.fault("send", "accept_then_drop")
    ramp.world.step()
    ramp_recovery.force_release(ramp.wiring, "winter", ramp.aim(), actor=DANA)
    ramp.work(hours=2)
    assert ramp.waves()[0].closed is Closed.SENT
    assert ramp.ramp().facts.active, "what had to be decided was decided by the provider's record"
    assert needs(ramp) == []


def test_an_aborted_ramp_ends_its_wave_when_its_send_is_settled_as_not_gone(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.fault("send", "drop_before")
    ramp.world.step()
    stopped = ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    assert (stopped.wave, stopped.people) == ("wave-1", 100)
    assert ramp.opened().label == "wave-1"
    ramp.work(hours=3)
    assert ramp.waves()[0].closed is Closed.DISCARDED
    view = status(ramp)
    assert (view.state, view.advice.command) == ("aborted", 'ramps abort winter --reason "..."')
    assert view.known.left[0]["remote_id"] in view.advice.first
    gone(ramp, view.known.left[0]["remote_id"])
    do(ramp, view.advice.command)
    assert status(ramp).advice.command is None
    assert ramp.nobody_twice() == 0


def gone(ramp, draft: str) -> None:
    """Delete a draft as a person does where the provider has no way to make one unsendable."""
    if ramp.container:
        ramp.world.by_hand("DELETE", f"/campaigns/{draft}")


def test_an_abort_that_could_not_make_its_draft_unsendable_names_it_until_it_is(ramp):
    started(ramp)
    steps(ramp, "looked")
    ramp.world.fault("inspect", "refuse_5xx", times=None)
    stopped = ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    assert stopped.left == (ramp.world.remote_id(ramp.campaign()),)
    assert ramp.log()[-1] == "draft_left"
    with refused("provider_failed"):
        ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    ramp.world.sandbox.faults.clear()
    if ramp.container:
        with refused("invalid_state"):
            ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    gone(ramp, stopped.left[0])
    do(ramp, status(ramp).advice.command)
    assert status(ramp).advice.command is None
    assert ramp.log()[-1] == "draft_retired"
    with refused("invalid_state"):
        ramping.abort(ramp.wiring, "winter", actor=DANA, reason=WHY)
    assert ramp.nobody_twice() == 0


def test_a_tripped_gate_is_cleared_first_and_resumed_then(ramp):
    started(ramp)
    ramp.work()
    figures = {"wave": "wave-1", "delivered": 95, "bounced": 5, "complained": 0}
    ramp_id = ramp.ramp().id
    with ramp.wiring.store.unit() as unit:
        assert unit.ramps.trip(ramp_id, figures)
    (need,) = needs(ramp)
    assert (need.reason, need.help) == ("gate_tripped", "gate_tripped")
    told = of_need(need, notice_id="ntc_1", now=ramp.world.now())
    assert (told.type, told.title) == ("ramp.needs_person", "winter needs a person: gate tripped")
    assert f"Ramp: winter on {need.connection} (" in told.text
    assert "Do: campaignbridge ramps status winter" in told.text
    view = status(ramp)
    assert view.state == "gate_tripped"
    assert view.advice.then == 'ramps resume winter --reason "..."'
    assert follow(ramp)[:2] == [
        'ramps clear-gate winter --reason "..."',
        'ramps resume winter --reason "..."',
    ]


def test_missing_figures_are_waived_by_the_waves_label(ramp):
    started(ramp)
    ramp.work()
    marked(ramp, "stats_missing")
    assert status(ramp).advice.command == 'ramps waive winter wave-1 --reason "..."'
    follow(ramp)
    assert ramp.ramp().facts.active


def test_a_label_that_was_used_before_ends_the_ramp(ramp):
    ramp.people(400)
    ramp.init()
    marked(ramp, "label_collides")
    assert status(ramp).advice.command.startswith("ramps abort")
    follow(ramp)
    assert ramp.ramp().facts.ended == "aborted"


def test_a_wave_without_movement_is_told_of_after_a_quarter_of_an_hour(ramp):
    started(ramp)
    steps(ramp, "pushed")
    assert status(ramp).idle_ms is None
    ramp.world.later(minutes=16)
    view = status(ramp)
    assert view.idle_ms >= 15 * 60_000
    assert (view.advice.command, view.advice.people) == ("worker", 100)


def test_a_failed_wave_without_a_reason_to_stop_is_a_need_of_its_own(ramp):
    started(ramp)
    steps(ramp, "pushed")
    failed(ramp, "strangers_in_segment")
    ramp_id = ramp.ramp().id
    with ramp.wiring.store.unit() as unit:
        assert unit.ramps.operator_done(ramp_id, "wave_failed")
    (need,) = needs(ramp)
    assert (need.reason, need.name) == ("wave_failed", "winter")
    assert "wave-1" in need.why
    assert status(ramp).advice.command == 'ramps resume-wave winter --reason "..."'


def test_an_aim_at_another_run_is_refused(ramp):
    started(ramp)
    with refused("conflict"):
        ramp.world.bridge.force_release(
            "winter", Aim(label="wave-1", run_id="another", reason=WHY), actor=DANA
        )


def test_why_tells_which_waves_somebody_was_in_and_what_became_of_it(ramp):
    started(ramp, people=100, tiers=(100, 150))
    assert [one["status"] for one in why(ramp.wiring, "p7@example.com", actor=DANA).waves] == []
    ramp.work()
    (wave,) = why(ramp.wiring, "p7@example.com", actor=DANA).waves
    assert (wave["ramp"], wave["label"], wave["closed"], wave["status"]) == (
        "winter",
        "wave-1",
        "sent",
        "in_segment",
    )


def test_every_reason_to_need_an_operator_has_its_words_and_page():
    asked = set()
    for source in tree.package():
        asked |= set(re.findall(r'need_operator\([^)"]+"(\w+)"', source.text))
    assert len(asked) >= 5
    assert asked <= set(RAMPS)
    assert set(RAMPS) <= set(PAGES)
