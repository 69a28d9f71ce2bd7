"""Two senders, two clicks, two campaigns with the same content: one delivery."""

import pytest

from flows.test_campaign_handoff import create_by_hand
from support.stores import in_processes, together
from support.world import DANA, PEOPLE, SEND, confirmation, outcome_of, process_bridge, refused

pytest_plugins = ["support.stores", "support.world"]


# two senders


@pytest.mark.parametrize("keys", [("s1", "s1"), ("s1", "s2")], ids=["same key", "two keys"])
def test_two_threads_that_send_at_once_make_one_request(world, keys):
    campaign_id = world.drafted()
    bridges = [world.process() for _ in keys]
    outcomes = together(
        world.home,
        len(keys),
        lambda n: outcome_of(lambda: world.send(campaign_id, keys[n], bridge=bridges[n])),
    )
    assert outcomes.count("accepted") >= 1
    assert set(outcomes) <= {"accepted", "locked", "invalid_state"}
    assert (world.posts(), world.sends(campaign_id)) == (1, 1)
    assert world.statuses(campaign_id) == ["succeeded"]


def test_ten_threads_that_hand_off_at_once_make_one_draft(world):
    campaign_id = world.approved()
    bridges = [world.process() for _ in range(10)]
    outcomes = together(
        world.home,
        10,
        lambda n: outcome_of(lambda: world.draft(campaign_id, f"d{n}", bridge=bridges[n])),
    )
    assert outcomes.count("accepted") >= 1
    assert set(outcomes) <= {"accepted", "locked"}
    assert len(world.sandbox.truth.events("created")) == 1


def send_in_process(home, parent, number, url, click):
    bridge = process_bridge(home, url)
    campaign_id, keys = click
    bridge.show(campaign_id, actor=DANA)
    parent.say("ready")
    parent.wait()
    return outcome_of(
        lambda: bridge.send(campaign_id, actor=DANA, key=keys[number], confirmed=confirmation())
    )


@pytest.mark.parametrize("keys", [["s1"] * 2, ["s1", "s2"]], ids=["same key", "two keys"])
def test_two_processes_that_send_at_once_make_one_request(world, keys):
    campaign_id = world.drafted()
    outcomes = in_processes(world.home, 2, send_in_process, world.server.url, [campaign_id, keys])
    assert outcomes.count("accepted") >= 1
    assert set(outcomes) <= {"accepted", "locked", "invalid_state"}
    assert (world.posts(), world.sends(campaign_id)) == (1, 1)
    world.run()
    assert (world.state(campaign_id), world.sandbox.truth.duplicates()) == ("sent", 0)


# a second click


@pytest.mark.parametrize("key", ["s1", "s2"])
def test_a_504_from_a_proxy_and_a_second_click_make_one_request(world, key):
    campaign_id = world.drafted()
    world.fault("send", "proxy_page", status=504, applied=True)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert world.heard() == SEND
    other = world.process()
    for _ in range(3):
        with refused("reconciliation_required"):
            world.send(campaign_id, key, bridge=other)
    assert (world.heard(), world.posts()) == ([], 1)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_a_click_while_the_first_ones_answer_is_lost_makes_no_second_request(world):
    """The client has given up on its own request, which is still under way here."""
    campaign_id = world.drafted()
    other = world.process()
    clicks = []

    def second_click():
        clicks.append(outcome_of(lambda: world.send(campaign_id, "s2", bridge=other)))

    world.fault("send", "accept_then_5xx", status=504)
    world.meanwhile("send", second_click)
    world.meanwhile("send", second_click, before=False)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    second_click()
    assert clicks == ["locked", "reconciliation_required"]
    assert (world.posts(), world.sends(campaign_id)) == (1, 1)


# twins


def twins(world):
    return world.drafted(), world.drafted(name="The same again")


@pytest.mark.parametrize("stage", ["unknown", "sending", "sent"])
def test_a_twin_of_a_campaign_that_may_have_gone_is_refused_with_its_id(world, stage):
    first, second = twins(world)
    if stage == "unknown":
        world.fault("send", "accept_then_drop")
        with refused("reconciliation_required"):
            world.send(first)
    else:
        world.send(first)
    if stage == "sent":
        world.run()
    before = world.ledger(second)
    world.heard()
    with refused("already_sent_elsewhere") as no:
        world.send(second)
    assert no.value.facts["campaign"] == first
    assert (world.heard(), world.ledger(second), world.posts()) == ([], before, 1)


def test_of_two_twins_that_start_together_one_is_sent_and_the_other_is_told_by_whom(world):
    first, second = twins(world)
    other = world.process()
    world.meanwhile("inspect", lambda: world.send(first, bridge=other), nth=2)
    with refused("already_sent_elsewhere") as no:
        world.send(second)
    assert no.value.facts["campaign"] == first
    assert world.attempts(second) == [], "the intent was rolled back whole"
    assert (world.sends(first), world.sends(second), world.posts()) == (1, 0, 1)


def test_two_threads_that_send_two_twins_make_one_request(world):
    pair = twins(world)
    bridges = [world.process() for _ in pair]
    outcomes = together(world.home, 2, lambda n: outcome_of(lambda: world.send(pair[n], bridge=bridges[n])))
    assert sorted(outcomes) == ["accepted", "already_sent_elsewhere"]
    assert world.posts() == 1


@pytest.mark.parametrize("how", ["refused", "unknown"])
def test_a_twin_is_free_again_once_the_first_turned_out_not_to_have_gone(world, how):
    first, second = twins(world)
    world.fault("send", "status_429" if how == "refused" else "drop_before")
    with refused("provider_failed" if how == "refused" else "reconciliation_required"):
        world.send(first)
    if how == "unknown":
        with refused("already_sent_elsewhere"):
            world.send(second)
        world.run(hours=0.5)
        assert world.statuses(first) == ["failed"]
    world.send(second)
    with refused("already_sent_elsewhere") as no:
        world.send(first, "s2")
    assert no.value.facts["campaign"] == second
    assert (world.sends(first), world.sends(second)) == (0, 1)


def test_a_twin_may_be_sent_thirty_days_after_the_first_was_seen_sent(world):
    first, second = twins(world)
    world.send(first)
    world.run()
    world.later(hours=29 * 24)
    with refused("already_sent_elsewhere"):
        world.send(second)
    world.later(hours=2 * 24)
    world.send(second)
    assert (world.sends(first), world.sends(second)) == (1, 1)


def test_a_twin_that_was_sent_by_hand_at_the_provider_counts_once_it_was_seen(world):
    first, second = twins(world)
    world.send_by_hand(first)
    with refused("invalid_state"):
        world.send(first)
    world.run()
    assert world.state(first) == "sent"
    with refused("already_sent_elsewhere") as no:
        world.send(second)
    assert no.value.facts["campaign"] == first


def test_other_content_or_another_audience_is_no_twin(world):
    world.sandbox.add_list("zz9", "Customers US", PEOPLE)
    first = world.sending()
    corrected = world.sending(subject="What we shipped (corrected)")
    elsewhere = world.drafted(audience="zz9")
    world.send(elsewhere, audience="zz9")
    assert [world.sends(one) for one in (first, corrected, elsewhere)] == [1, 1, 1]


def test_a_twin_of_what_was_adopted_as_gone_is_refused_with_its_id(world):
    first, second = world.approved(), world.drafted(name="The same again")
    lost = create_by_hand(world, first)
    world.by_hand("POST", f"/campaigns/{lost}/actions/send")
    world.draft(first)
    assert world.state(first) == "sending"
    with refused("already_sent_elsewhere") as no:
        world.send(second)
    assert no.value.facts["campaign"] == first


def test_a_twin_that_was_sent_by_hand_although_the_first_is_going_is_flagged_for_a_person(world):
    first, second = twins(world)
    world.send_by_hand(second)
    with refused("invalid_state"):
        world.send(second)
    world.send(first)
    world.run()
    assert [world.state(one) for one in (first, second)] == ["sent", "sent"]
    assert [world.campaign(one).flag for one in (first, second)] == [None, "possible_double_content"]
