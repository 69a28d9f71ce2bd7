"""A wave whose provider posts what its mails came to: the sandbox delivers, posts, and its record says who it was."""

from copy import copy

from campaignbridge.flows import gating
from server.conftest import serving
from support.posting import Address, keeping_keys
from support.world import DANA, HOUR_MS, waiting_until

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]

KINDS = [
    "email.sent",
    "email.delivered",
    "email.bounced",
    "email.complained",
    "contact.updated",
    "contact.deleted",
]
LAG_H = 100
SOURCES = {"user": True, "admin": True, "api": True}
MAILCHIMP = {"campaign": True, "unsubscribe": True, "cleaned": True, "upemail": True}


def registered(ramping, address, port):
    """Register an address as at the provider, and have only what it signs count."""
    world = ramping.world
    url = f"http://127.0.0.1:{port}/webhooks/{address.connection_id}/{address.secret}"
    if ramping.container:
        world.sandbox.world.behave(webhook_signing="on")
        made = world.by_hand(
            "POST",
            f"/lists/{ramping.container}/webhooks",
            {"url": url, "events": MAILCHIMP, "sources": SOURCES},
        )
    else:
        made = world.by_hand("POST", "/webhooks", {"endpoint": url, "events": KINDS})
    label = "news" if ramping.container else "letters"
    address.bridge.sign_webhook(label, signing_key=made["signing_secret"], actor=DANA)


def test_what_the_sandbox_posts_of_a_wave_is_what_its_record_says_and_whom_it_names_is_suppressed(ramp):
    world = ramp.world
    ramp.people(600)
    ramp.behave(hard_bounces=300, complaints=200, unsubscribes=200)
    ramp.init(tiers=(200, 300))
    address = Address.of(world, "news" if ramp.container else "letters", keeping_keys(world))
    with serving(address.bridge) as served:
        registered(ramp, address, served.port)
        world.sandbox.world.behave(webhook_lag_ms=LAG_H * HOUR_MS)  # nothing is on its way while time jumps
        assert ramp.tick() == "wave_claimed"
        ramp.work()
        world.later(hours=72)
        world.later(hours=LAG_H)
        hooks = world.sandbox.world.hooks
        ask = "/ping" if ramp.container else "/domains"
        waiting_until(lambda: world.by_hand("GET", ask) and not hooks.waiting)
        waiting_until(lambda: len(hooks.log) == next(copy(hooks._numbers)) - 1)
    assert {one["status"] for one in hooks.log} == {200}
    ramp.work()
    (wave,) = ramp.waves()
    report = ramp.provider().report(world.remote_id(wave.campaign_id), limit_ms=10_000).value
    with ramp.wiring.store.reading() as unit:
        told = unit.fates.figures([wave.id])[wave.id]
        suppressed = {row["reason"] for row in world.home.rows("SELECT reason FROM suppressions")}
    assert report.hard_bounces > 0
    assert report.complaints > 0
    assert (told.bounced, told.complained) == (report.hard_bounces, report.complaints)
    if not ramp.container:
        assert told.delivered >= report.delivered - report.complaints - 5
    assert {"complaint", "bounce", "unsubscribe"} <= suppressed
    assert gating.judge_ramp(ramp.wiring, ramp.ramp().id).tripped
