"""Commands that meet a request of their wave just then: what it came to decides, and neither is lost."""

import pytest

from campaignbridge.domain.ramp import Closed
from campaignbridge.flows import ramp_recovery, ramping
from campaignbridge.store.unit import Store
from support.meeting import Meeting
from support.ramps import WHY, WORLDS
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


@pytest.fixture(params=WORLDS)
def big(request, postgres_home, tmp_path):
    """Return a ramp at each provider, on PostgreSQL, where transactions overlap."""
    yield from WORLDS[request.param](postgres_home, tmp_path)


def unknown(ramp):
    """Have a send be in doubt that did not take effect."""
    ramp.people(300)
    ramp.init()
    ramp.started("looked")
    ramp.world.fault("send", "refuse_5xx")
    ramp.world.step()
    assert ramp.world.state(ramp.campaign()) == "unknown"


def aborting(ramp, bridge):
    return ramping.abort(bridge.wiring, "winter", actor=DANA, reason=WHY)


@pytest.mark.postgres
def test_an_abort_while_a_send_is_settled_as_not_gone_ends_its_wave(big):
    unknown(big)
    other = big.world.process()
    meeting = Meeting(big.world.home, "campaigns.settle", lambda: aborting(big, other))
    big.world.run(hours=1, bridge=big.world.process(store=Store(meeting)))
    meeting.done()
    big.work()
    (wave,) = big.waves()
    assert wave.closed is Closed.DISCARDED, big.log()


@pytest.mark.postgres
def test_a_send_that_is_settled_as_not_gone_while_its_ramp_is_aborted_ends_its_wave(big):
    unknown(big)
    other = big.world.process()
    meeting = Meeting(big.world.home, "waves.discard", lambda: big.world.run(hours=1, bridge=other))
    aborting(big, big.world.process(store=Store(meeting)))
    meeting.done()
    big.work()
    (wave,) = big.waves()
    assert wave.closed is Closed.DISCARDED, big.log()


@pytest.mark.postgres
def test_without_its_campaigns_row_held_an_abort_leaves_its_wave_open(big):
    home = big.world.home
    unknown(big)
    careless = big.world.process(store=home.mutant("campaigns.hold", "id = :id", "id = :id AND 1 = 0"))
    meeting = Meeting(home, "campaigns.settle", lambda: aborting(big, careless))
    big.world.run(hours=1, bridge=big.world.process(store=Store(meeting)))
    meeting.done()
    assert big.waves()[0].closed is None


def looking(ramp, last, what):
    """Return a process to which something happens right after the last statement of its look."""
    meeting = Meeting(ramp.world.home, last, what)
    return meeting, ramp.world.process(store=Store(meeting))


def test_a_wave_that_got_a_draft_since_it_was_looked_at_is_not_written_off(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("verified")
    other, aim = ramp.world.process(), ramp.aim()
    meeting, bridge = looking(ramp, "waves.of_ramp", lambda: ramp.world.step(bridge=other))
    with refused("conflict"):
        ramp_recovery.discard(bridge.wiring, "winter", aim, actor=DANA, return_contacts=True)
    meeting.done()
    assert ramp.opened().campaign_id is not None
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()
    assert ramp.nobody_twice() == 100


def test_a_call_for_an_operator_that_came_after_the_look_is_not_answered_by_a_resume(ramp):
    ramp.people(300)
    ramp.init()
    ramp.started("looked")
    ramp.world.fault("send", "accept_then_drop")
    other, aim = ramp.world.process(), ramp.aim()
    meeting, bridge = looking(ramp, "campaigns.get", lambda: ramp.world.step(bridge=other))
    with refused("conflict"):
        ramp_recovery.resume_wave(bridge.wiring, "winter", aim, actor=DANA)
    meeting.done()
    assert ramp.ramp().facts.needs_operator == "send_unconfirmed"
    ramp.work()
    assert ramp.waves()[0].closed is Closed.SENT, ramp.log()
    assert ramp.nobody_twice() == 100


@pytest.mark.postgres
def test_two_ramps_that_pick_at_once_and_exclude_each_other_pick_nobody_twice(big):
    big.people(150)
    big.people(150, slug="others")
    big.init("summer", tiers=(150,), audience="others")
    big.init(tiers=(100,), exclude_ramps=("summer",))
    assert big.tick("summer") == big.tick() == "wave_claimed"
    other = big.world.process()
    meeting = Meeting(big.world.home, "assignments.pick", lambda: big.world.step(bridge=other))
    big.world.step(bridge=big.world.process(store=Store(meeting)))
    meeting.done()
    big.work()
    rows = big.world.home.rows(
        "SELECT c.identity FROM assignments a JOIN contacts c ON c.id = a.contact_id"
        " GROUP BY c.identity HAVING count(*) > 1"
    )
    assert rows == []
