"""The same content once more, on purpose; and what a refusal's checklist says."""

from support.world import DANA, confirmation, refused

pytest_plugins = ["support.stores", "support.world"]


def test_the_same_content_goes_again_only_when_the_campaign_that_sent_it_is_named(world):
    first, second = world.drafted(), world.drafted()
    world.send(first)
    with refused("already_sent_elsewhere") as no:
        world.send(second)
    assert no.value.facts["campaign"] == first
    with refused("already_sent_elsewhere"):
        send_after(world, second, "cmp_another00000", "s2")
    send_after(world, second, first, "s3")
    assert world.sends(first) == world.sends(second) == 1
    asked = [e for e in world.bridge.timeline(second, actor=DANA) if e["kind"] == "send_requested"]
    assert asked[-1]["data"]["again_after"] == first, "it is audited"


def test_a_name_lifts_one_claim_and_the_next_campaign_is_refused_again(world):
    first, second, third = world.drafted(), world.drafted(), world.drafted()
    world.send(first)
    send_after(world, second, first, "s2")
    with refused("already_sent_elsewhere") as no:
        send_after(world, third, first, "s3")
    assert no.value.facts["campaign"] == second


def test_a_refused_send_tells_what_the_providers_checklist_says(world):
    campaign_id = world.drafted()
    world.sandbox.world.behave(unverified_sender="refused")
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert "Its checklist says: " in no.value.what
    assert "@" not in no.value.what
    assert world.sends(campaign_id) == 0


def send_after(world, campaign_id, other, key):
    return world.bridge.send(campaign_id, actor=DANA, key=key, confirmed=confirmation(), again_after=other)
