"""PostgreSQL is stopped and started again at each moment of a send, and while workers watch; nothing goes twice."""

import pytest

from campaignbridge.domain.errors import Refusal
from support import postgres
from support.stores import home_of
from support.world import PEOPLE, world_of

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]
# Between which of its provider's calls a send stands when the server goes: before or after one.
MOMENTS = [
    ("inspect", 1, True),
    ("sync_draft", 1, False),
    ("dial", 1, True),
    ("dial", 1, False),
    ("send", 1, True),
    ("send", 1, False),
]


@pytest.fixture(scope="module")
def server():
    try:
        with postgres.running(durable=True) as ours:
            yield ours
    except postgres.Absent as why:
        pytest.skip(str(why))


@pytest.fixture
def restarted(server):
    with postgres.fresh_schema(server.url) as url, home_of("postgres", url) as home, world_of(home) as world:
        yield world, server


def pressed(world, campaign_id, key) -> str:
    """Press Send once; return what came of it."""
    try:
        world.send(campaign_id, key)
    except Refusal as refusal:
        return refusal.code
    return "accepted"


@pytest.mark.parametrize("mode", ["immediate", "fast"])
@pytest.mark.parametrize(("name", "nth", "before"), MOMENTS)
def test_a_server_that_restarts_in_the_middle_of_a_send_makes_no_second_one(
    restarted, mode, name, nth, before
):
    world, server = restarted
    campaign_id = world.drafted()
    world.meanwhile(name, lambda: server.restart(mode), nth=nth, before=before)
    outcomes = [pressed(world, campaign_id, "s1")]
    for click in range(2, 6):
        if world.state(campaign_id) in ("sending", "unknown", "sent"):
            break
        world.later(minutes=8)  # an upload or a lock that was left behind is over by then
        outcomes.append(pressed(world, campaign_id, f"s{click}"))
    world.run(hours=2)
    print(f"restart ({mode}) {'before' if before else 'after'} {name}: {outcomes}, {world.posts()} POST")
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.posts(), world.sandbox.truth.duplicates()) == (1, 1, 0)
    assert [event.recipients for event in world.sandbox.truth.events("mailed")] == [PEOPLE]


@pytest.mark.parametrize("kind", ["accept_then_drop", "drop_before"])
def test_a_server_that_restarts_under_every_reading_of_a_watch_leaves_it_going(restarted, kind):
    world, server = restarted
    campaign_id = world.doubted(kind)
    for _ in range(3):
        world.meanwhile("inspect", server.restart)
        world.step()
    world.run(hours=3)
    assert world.state(campaign_id) == ("sent" if kind == "accept_then_drop" else "provider_draft")
    assert world.sends(campaign_id) == (1 if kind == "accept_then_drop" else 0)
