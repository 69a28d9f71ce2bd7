"""A wave's steps: who is picked, pushed, proven to be in the segment, taken out again, and only then mailed."""

import pytest

from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramping
from support.ramps import WHY, Died, resend_of
from support.world import DANA, MINUTE_MS, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def test_wrong_people_in_the_segment_with_the_right_count_are_taken_out_before_it_goes(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("pushed")
    segment = ramp.opened().segment_id
    mine = sorted(ramp.inside(segment))
    ramp.take(segment, mine[0])
    ramp.put(segment, "stranger@example.com")
    assert len(ramp.inside(segment)) == 100
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()
    assert "strangers_removed" in ramp.log()
    assert mine[0] in ramp.inside(segment), "who was missing was pushed again"
    assert "stranger@example.com" not in ramp.inside(segment)
    assert ramp.nobody_twice() == 100


def test_a_stranger_who_comes_after_the_list_was_verified_is_taken_out_by_the_last_look(lite):
    lite.people(300)
    lite.init()
    lite.started("draft_ready")
    lite.put(lite.opened().segment_id, "stranger@example.com")
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 100


def test_a_stranger_who_comes_between_the_last_look_and_the_send_stops_it_until_the_number_is_right(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    lite.put(lite.opened().segment_id, "stranger@example.com")
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.log().count("looked") == 2, "it was looked over once more"
    assert lite.nobody_twice() == 100


@pytest.mark.parametrize("at", ["picked", "segment_created", "verified", "draft_ready", "looked"])
def test_who_is_suppressed_between_the_pick_and_the_send_is_not_mailed(lite, at):
    lite.people(300)
    lite.init()
    lite.started(at)
    chosen = lite.chosen()
    lite.suppress(chosen)
    lite.work()
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert wave.verified == 99
    assert lite.counts(wave) == {"in_segment": 99, "released": 1}
    assert lite.nobody_twice() == 99
    assert chosen not in lite.inside(wave.segment_id)


@pytest.mark.parametrize("how", ["suppressed", "erased"])
@pytest.mark.parametrize("at", ["picked", "segment_created"])
def test_who_is_suppressed_or_erased_before_the_push_never_comes_to_the_provider(lite, how, at):
    lite.people(300)
    lite.init()
    lite.started(at)
    chosen = lite.chosen()
    if how == "erased":
        lite.world.bridge.erase_person(chosen, actor=DANA)
    else:
        lite.suppress(chosen)
    lite.work()
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert lite.counts(wave) == {"in_segment": 99, "released": 1}
    assert "strangers_removed" not in lite.log()
    assert "suppressed_released" in lite.log()
    rosters = lite.world.sandbox.world.roster._people.values()
    assert not any(one.email == chosen for people in rosters for one in people.everyone()), "it never left"
    assert lite.nobody_twice() == 99


def test_who_left_at_the_provider_is_not_mailed_and_suppressed_here_too(one):
    one.people(300)
    one.init()
    one.started("pushed")
    gone = min(one.inside(one.opened().segment_id))
    one.world.by_hand(
        "PUT",
        f"/lists/{one.container}/members/{gone}",
        {"email_address": gone, "status_if_new": "unsubscribed", "status": "unsubscribed"},
    )
    one.work()
    (wave,) = one.waves()
    assert wave.closed is Closed.SENT, one.log()
    assert one.counts(wave) == {"in_segment": 99, "refused": 1}
    with one.wiring.store.reading() as unit:
        assert unit.suppressions.get(gone)["reason"] == "unsubscribe"
    assert one.nobody_twice() == 99


def test_a_push_whose_process_dies_is_done_again_and_its_list_believed_after_its_window_only(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("segment_created")
    ramp.world.meanwhile("add_contacts", die, before=False)
    assert ramp.survive(None)
    died_at = ramp.world.now()
    until = ramp.opened().pushing_until
    assert until is not None, "the announcement stands"
    ramp.work()
    (wave,) = ramp.waves()
    assert wave.closed is Closed.SENT, ramp.log()
    assert ramp.nobody_twice() == 100
    verified = ramp.logged_at("verified")
    assert verified >= until + 5 * MINUTE_MS, (verified - died_at) / MINUTE_MS


def test_a_late_chunk_after_a_takeover_does_not_bring_back_whom_the_last_look_took_out(one):
    one.people(300)
    one.init()
    one.started("segment_created")
    one.world.fault("change_segment_members", "apply_late", ms=4 * MINUTE_MS, answer="drop")
    one.work(hours=6)
    (wave,) = one.waves()
    assert wave.closed is Closed.SENT, one.log()
    assert one.nobody_twice() == 100


def die():
    raise Died


def test_a_lost_create_of_the_segment_is_found_by_its_name_and_not_made_twice(ramp):
    ramp.people(300)
    ramp.init()
    ramp.world.fault("create_segment", "accept_then_drop")
    ramp.wave()
    (wave,) = ramp.waves()
    assert wave.closed is Closed.SENT, ramp.log()
    assert "segment_adopted" in ramp.log()
    assert ramp.nobody_twice() == 100
    assert sum(one.operation == "create_segment" for one in ramp.world.sandbox.truth.requests()) == 1


def test_of_two_segments_of_the_name_the_oldest_is_used_and_the_other_left_alone(sqlite_home, tmp_path):
    for resend in resend_of(sqlite_home, tmp_path):  # Mailchimp has no two of one name
        resend.people(300)
        resend.init()
        resend.started("picked")
        with resend.wiring.store.reading() as unit:
            name = f"{unit.installation()}.winter.wave-1"
        refs = []
        for _ in range(2):
            line = resend.provider().dial(limit_ms=10_000)
            made = resend.provider().create_segment(line, name, audience="", limit_ms=10_000)
            line.close()
            refs.append(made.value.ref)
            resend.world.later(seconds=2)
        resend.work()
        (wave,) = resend.waves()
        assert (wave.closed, wave.segment_id) == (Closed.SENT, refs[0])
        assert resend.inside(refs[1]) == set()


def named_segment(ramp, *members):
    """Make a segment of the open wave's name at the provider, with people in it, as an older wave leaves one."""
    label = ramp.opened().label
    with ramp.wiring.store.reading() as unit:
        name = f"{unit.installation()}.winter.{label}"
    line = ramp.provider().dial(limit_ms=10_000)
    made = ramp.provider().create_segment(line, name, audience=ramp.container, limit_ms=10_000)
    line.close()
    ramp.put(made.value.ref, *members)
    return made.value.ref


def test_strangers_in_a_segment_of_the_waves_name_stop_it_and_are_never_taken_for_its_own(lite):
    lite.people(300)
    lite.init()
    lite.started("picked")
    wave_id = lite.opened().id
    with lite.wiring.store.reading() as unit:
        mine = {one.email for one in unit.assignments.members(wave_id)}
    others = [f"p{number}@example.com" for number in range(300) if f"p{number}@example.com" not in mine]
    segment = named_segment(lite, *others[:7], "stranger@example.com", *sorted(mine)[:5])
    lite.work()
    wave = lite.opened()
    assert (wave.failed, wave.segment_id) == ("strangers_in_segment", segment)
    assert lite.ramp().facts.needs_operator == "wave_failed"
    assert lite.counts(wave) == {"assigned": 100}
    assert lite.world.sends() == 0
    lite.resume_wave()
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.inside(segment) == mine
    assert lite.nobody_twice() == 100


def test_people_of_the_wave_in_a_segment_of_its_name_are_no_strangers(lite):
    lite.people(300)
    lite.init()
    lite.started("picked")
    named_segment(lite, lite.chosen())
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 100


def test_nothing_is_made_for_a_wave_of_nobody(lite):
    lite.people(100)
    lite.init(tiers=(100,))
    lite.started("picked")
    wave = lite.opened()
    with lite.wiring.store.unit() as unit:
        everybody = [one.contact_id for one in unit.assignments.members(wave.id)]
        unit.assignments.release(wave.id, everybody, code="suppressed")
    lite.world.heard()
    lite.work()
    assert lite.opened().failed == "nobody_left"
    assert not [one for one in lite.world.heard() if not one.startswith("GET")]
    assert lite.world.sends() == 0


@pytest.mark.parametrize("change", [{"segment_id": None}, {"verified": 0}])
def test_a_wave_without_people_of_its_own_gets_no_draft(lite, change):
    lite.people(300)
    lite.init()
    lite.started("verified")
    ((column, value),) = change.items()
    value = (lite.container or None) if column == "segment_id" else value
    lite.world.home.rows(f"UPDATE waves SET {column} = ?", value)
    lite.world.heard()
    lite.work()
    assert lite.opened().failed == "nobody_in_segment"
    assert not [one for one in lite.world.heard() if not one.startswith("GET")]


def test_an_outage_during_the_push_is_waited_for_and_nobody_is_burned(lite):
    lite.people(300)
    lite.init()
    lite.started("segment_created")
    lite.world.fault("*", "refuse_5xx", times=8)
    lite.work(hours=12)
    (wave,) = lite.waves()
    assert wave.closed is Closed.SENT, lite.log()
    assert lite.counts(wave) == {"in_segment": 100}


def test_a_push_that_is_asked_for_patience_goes_on_later(lite):
    lite.people(300)
    lite.init()
    lite.started("segment_created")
    lite.world.fault("*", "status_429", times=2, retry_after=30)
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()


def test_a_count_that_lags_behind_the_segment_is_waited_for(one):
    one.people(300)
    one.init()
    one.started("verified")
    one.world.fault("create", "count_lag", ms=2 * MINUTE_MS)
    one.work()
    assert one.waves()[0].closed is Closed.SENT, one.log()
    assert one.nobody_twice() == 100


def test_a_pool_that_is_drained_needs_a_person_before_anything_exists_at_the_provider(lite):
    lite.people(120)
    lite.init(tiers=(300,))
    lite.world.heard()
    lite.wave()
    wave = lite.opened()
    assert (wave.failed, lite.ramp().facts.needs_operator) == ("pool_drained", "pool_drained")
    assert not wave.marked
    assert lite.world.heard() == []
    with refused("invalid_state"):
        lite.resume_wave()
    lite.resume_wave(accept_underfilled=True)
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.nobody_twice() == 120


def test_nobody_left_completes_the_ramp_and_its_empty_wave_is_written_off(lite):
    lite.people(120)
    lite.init(tiers=(120, 150))
    lite.wave()
    lite.next_day()
    assert lite.ramp().facts.ended == "complete"
    assert [one.closed for one in lite.waves()] == [Closed.SENT, Closed.DISCARDED]


def test_a_filter_is_applied_before_the_sample_is_taken(one):
    one.people(300)
    one.people(200, slug="payers")
    one.init(tiers=(100,), filters={"not_in": ["payers"]})
    one.wave()
    (wave,) = one.waves()
    assert wave.picked == 100, one.log()
    assert not {f"p{number}@example.com" for number in range(200)} & one.inside(wave.segment_id)


def test_filters_that_name_nothing_are_refused_when_the_ramp_is_set_up(one):
    one.people(10)
    for filters in ({"not_in": ["nobody"]}, {"attributes": {'a"b': "c"}}, {"locale": "%"}, {"other": 1}):
        with pytest.raises(Exception, match=r".") as caught:
            one.init(tiers=(100,), filters=filters)
        assert caught.value.code in ("not_found", "invalid_input")


def test_two_ramps_begin_at_places_of_their_own_all_around_the_audience():
    from campaignbridge.flows.wave_people import place_of
    from campaignbridge.store.assignments import TOP

    places = [place_of(f"seed{number}") * 8 // TOP for number in range(200)]
    assert set(places) == set(range(8))


def test_a_wave_resumed_days_later_looks_at_people_and_gate_once_more(lite):
    lite.people(300)
    lite.init()
    lite.started("looked")
    ramping.pause(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    lite.world.later(hours=50)
    chosen = lite.chosen()
    lite.suppress(chosen)
    ramping.resume(lite.wiring, "winter", actor=DANA, reason=WHY)
    lite.work()
    assert lite.waves()[0].closed is Closed.SENT, lite.log()
    assert lite.log().count("looked") == 2
    assert lite.nobody_twice() == 99
