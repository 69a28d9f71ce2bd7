"""A ramp from its first wave to its end: each person in one wave, and mailed once."""

from campaignbridge.domain.ramp import Closed

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def test_a_ramp_mails_its_waves_day_by_day_and_everybody_once(ramp):
    ramp.people(400)
    ramp.init(tiers=(100, 150))
    ramp.wave()
    (first,) = ramp.waves()
    assert (first.closed, first.tier, first.label) == (Closed.SENT, 0, "wave-1"), ramp.log()
    assert ramp.tick() == "awaiting_age"
    ramp.next_day()
    assert [(one.label, one.closed) for one in ramp.waves()] == [
        ("wave-1", Closed.SENT),
        ("wave-2", Closed.SENT),
    ]
    assert ramp.world.sends() == 2
    assert ramp.nobody_twice() == 250
    ramp.world.later(hours=24)
    assert ramp.tick() == "complete"
    assert ramp.ramp().facts.ended == "complete"
