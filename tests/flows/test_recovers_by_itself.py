"""A send whose answer is lost, and then nothing but ticks: what is known, and what is done, without anybody."""

import pytest

from support.world import HOUR_MS, MINUTE_MS

pytest_plugins = ["support.stores", "support.world"]


def states_by_ticks(world, campaign_id, *, hours):
    """Tick whenever something is due; return the states it went through, one after the other."""
    seen = [world.state(campaign_id)]
    until = world.now() + hours * HOUR_MS
    while (due := world.next_due()) is not None and due <= until:
        world.step(due)
        if world.state(campaign_id) != seen[-1]:
            seen.append(world.state(campaign_id))
    return seen


def automatic(world, campaign_id):
    """Return the events that nobody caused."""
    found = [event for event in world.events(campaign_id) if event["automatic"]]
    assert all(event["actor"] is None for event in found)
    return [event["kind"] for event in found]


def test_a_lost_answer_is_followed_to_sent_by_ticks_alone(world):
    campaign_id = world.doubted("accept_then_drop")
    assert states_by_ticks(world, campaign_id, hours=2) == ["unknown", "sending", "sent"]
    assert world.sends(campaign_id) == 1
    assert world.posts() == 1
    assert automatic(world, campaign_id) == ["reconciled", "followed"]
    assert all(request.startswith("GET ") for request in world.heard())


def test_a_send_that_never_applied_is_a_draft_again_after_the_window(world):
    campaign_id = world.doubted("drop_before")
    (attempt,) = world.attempts(campaign_id)
    assert states_by_ticks(world, campaign_id, hours=1) == ["unknown", "provider_draft"]
    (event,) = world.events(campaign_id, "reconciled")
    assert event["at"] >= attempt.window_end + MINUTE_MS, "not before the second reading"
    assert (event["actor"], event["automatic"]) == (None, True)
    assert world.sends(campaign_id) == 0
    assert all(request.startswith("GET ") for request in world.heard())


@pytest.mark.parametrize("second", range(0, 326, 25))
def test_a_send_that_is_applied_late_is_found_whenever_in_its_window_it_was(world, second):
    """Every single second is run by the simulation."""
    campaign_id = world.drafted()
    world.fault("send", "apply_late", ms=second * 1000, answer="drop")
    with pytest.raises(Exception, match="Not confirmed"):
        world.send(campaign_id)
    states = states_by_ticks(world, campaign_id, hours=2)
    assert states[-1] == "sent"
    assert "provider_draft" not in states
    assert world.sends(campaign_id) == 1
