"""Real processes that send are ended by signals at every dangerous moment; another one settles it."""

import random
import signal
import subprocess
import sys

import pytest

from support.stores import PATIENCE_S, Child
from support.world import (
    AUDIENCE,
    PAUSE,
    PEOPLE,
    READS,
    child_drafts,
    child_sends,
    child_ticks,
    refused,
    waiting_until,
)

pytest_plugins = ["support.stores", "support.world"]

AFTER = [
    0,
    2,
    4,
    4,
    4,
    5,
    5,
    5,
    5,
    5,
]  # requests that were seen before a random instant: the fifth is the send


def started(world, work, *args) -> Child:
    """Start a process that is about to work."""
    child = Child(world.home, work, world.server.url, *args)
    assert child.hear() == "ready"
    return child


def under_way(world, work, *args) -> Child:
    """Start a process that works."""
    child = started(world, work, *args)
    child.tell()
    return child


def killed_when(world, child, fact, number=signal.SIGKILL) -> None:
    """End a process by a signal as soon as something is so."""
    try:
        waiting_until(lambda: fact() or child.process.poll() is not None)
        assert child.process.poll() is None, f"it ended by itself: {child.process.stderr.read()}"
        child.process.send_signal(number)
        child.process.wait(PATIENCE_S)
        assert child.process.returncode == -number
    finally:
        child.close()
        world.server.release()


def another_process_ticks(world) -> int:
    child = Child(world.home, child_ticks, world.server.url)
    try:
        return child.hear()
    finally:
        child.close()


def hanging(world, operation):
    """Return the question whether the provider has kept a request of this kind without an answer."""

    def fact():
        seen = world.sandbox.truth.requests()
        return any(one.operation == operation and one.fault in WITHHELD for one in seen)

    return fact


WITHHELD = {"hang", "accept_then_withhold"}


def test_a_sender_that_is_killed_after_the_provider_accepted_is_settled_by_another_process(world):
    campaign_id = world.drafted()
    world.fault("send", "accept_then_withhold")
    child = under_way(world, child_sends, campaign_id)
    killed_when(world, child, lambda: world.sends(campaign_id))
    assert (world.statuses(campaign_id), world.state(campaign_id)) == (["pending"], "provider_draft")
    with refused("locked"):
        world.send(campaign_id, "s2")
    world.heard()
    assert another_process_ticks(world) == 0, "nothing is due before the window's end"
    world.later(minutes=10)
    assert another_process_ticks(world) == 2, "the look at this campaign, and the sweep that is due again"
    assert {request.split()[0] for request in world.heard()} == {"GET"}
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.posts(), world.sandbox.truth.duplicates()) == (1, 1, 0)
    (takeover,) = world.events(campaign_id, "campaign_lock_takeover")
    assert takeover["data"] == {"operation": "reconcile", "interrupted_operation": "send"}
    (settled,) = world.events(campaign_id, "reconciled")
    assert (settled["actor"], settled["automatic"]) == (None, True)
    assert another_process_ticks(world) == 0, "and that is the end of it"


def test_a_creator_that_is_killed_after_the_provider_accepted_is_settled_by_another_process(world):
    campaign_id = world.approved()
    world.fault("create", "accept_then_withhold")
    child = under_way(world, child_drafts, campaign_id)
    killed_when(world, child, lambda: world.sandbox.truth.events("created"))
    assert world.statuses(campaign_id, "create") == ["pending"]
    world.later(minutes=10)
    assert another_process_ticks(world) == 1
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == (
        "provider_draft",
        ["succeeded"],
    )
    world.draft(campaign_id)
    world.send(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)
    assert len(world.sandbox.truth.events("created")) == 1


def test_a_sender_that_is_killed_in_its_guard_leaves_nothing_but_a_lock_that_ends(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.fault("inspect", "hang", after=1)
    child = under_way(world, child_sends, campaign_id)
    killed_when(world, child, hanging(world, "inspect"))
    assert world.ledger(campaign_id) == before
    with refused("locked"):
        world.send(campaign_id)
    world.later(minutes=5, seconds=1)
    world.send(campaign_id)
    assert len(world.events(campaign_id, "campaign_lock_takeover")) == 1
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_a_sender_that_is_killed_in_an_upload_may_send_only_once_it_can_no_longer_land(world):
    campaign_id = world.drafted()
    world.fault("content", "hang")
    child = under_way(world, child_sends, campaign_id)
    killed_when(world, child, hanging(world, "content"))
    world.later(minutes=5, seconds=1)
    with refused("in_progress") as no:
        world.send(campaign_id)
    world.later(seconds=no.value.facts["retry_after"])
    world.send(campaign_id)
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


@pytest.mark.parametrize("operation", ["send", "create"])
def test_a_process_that_is_killed_while_a_request_never_takes_effect_is_settled_as_not_applied(
    world, operation
):
    campaign_id = world.drafted() if operation == "send" else world.approved()
    back = world.state(campaign_id)
    world.fault(operation, "hang")
    child = under_way(world, child_sends if operation == "send" else child_drafts, campaign_id)
    killed_when(world, child, hanging(world, operation))
    world.later(minutes=10)
    assert another_process_ticks(world) == 1
    assert world.statuses(campaign_id, operation) == ["unknown"], "one reading is not enough"
    world.later(seconds=61)
    assert another_process_ticks(world) == 1
    assert (world.state(campaign_id), world.statuses(campaign_id, operation)) == (back, ["failed"])
    if operation == "create":
        world.draft(campaign_id, "d2")
    world.send(campaign_id, "s2")
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)
    assert len(world.sandbox.truth.events("created")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_the_program_that_is_told_to_end_in_mid_send_is_settled_later(world, number):
    campaign_id = world.drafted()
    world.fault("send", "accept_then_withhold")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "campaignbridge", "campaigns", "send", campaign_id),
            *("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE, "--json"),
        ],
        env=world.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        waiting_until(lambda: world.sends(campaign_id) or process.poll() is not None)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        world.server.release()
    assert process.returncode != 0
    assert world.statuses(campaign_id)[0] in ("pending", "unknown")
    code, _, _ = world.program(
        *("campaigns", "send", campaign_id, "--confirm-recipients", str(PEOPLE)),
        *("--confirm-audience", AUDIENCE, "--json"),
    )
    assert code == (5 if number == signal.SIGINT else 4), (
        "refused: an orderly end frees the lock, no other does"
    )
    assert world.posts() == 1
    world.later(minutes=10)
    another_process_ticks(world)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.posts(), world.sandbox.truth.duplicates()) == (1, 1, 0)


def test_senders_that_are_killed_at_random_instants_never_send_twice(world):
    dice = random.Random(7)
    world.fault("send", "slow", ms=25, times=None)
    world.fault("*", "slow", ms=5, times=None)
    ended = []
    for number, requests in enumerate(AFTER):
        campaign_id = world.drafted(subject=f"Letter {number}")
        child = started(world, child_sends, campaign_id)
        seen = len(world.sandbox.truth.requests())
        child.tell()
        waiting_until(
            lambda seen=seen, requests=requests: len(world.sandbox.truth.requests()) >= seen + requests,
            every_s=0.001,
        )
        PAUSE.wait(dice.uniform(0, 0.06))
        child.kill()
        child.close()
        ended.append("+".join(world.statuses(campaign_id)) or "nothing")
        world.calls.clear()
        world.later(minutes=10)
        world.run(hours=0.5)
        assert set(world.calls) <= READS
        if world.state(campaign_id) == "provider_draft":
            assert world.sends(campaign_id) == 0
            world.send(campaign_id, "s2")
            world.run(hours=2)
        assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)
    print(f"killed with: {', '.join(ended)}")
    assert world.sandbox.truth.duplicates() == 0
    assert world.sandbox.truth.mailed() == len(AFTER)
