"""A lost create is found by its mark, or proven not to have happened by two searches; never made twice."""

import pytest

from campaignbridge.domain.lock import Lease, campaign_key
from campaignbridge.domain.provider import Accepted
from campaignbridge.flows.holding import Held
from campaignbridge.flows.outcome import record
from flows.test_campaign_handoff import create_by_hand
from support.world import DANA, HTML, PEOPLE, READS, refused

pytest_plugins = ["support.stores", "support.world"]


def lost(world, kind="accept_then_drop"):
    """Return an approved campaign whose create had no answer."""
    campaign_id = world.approved()
    world.fault("create", kind)
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    assert world.statuses(campaign_id, "create") == ["unknown"]
    world.heard()
    world.calls.clear()
    return campaign_id


def only(world, campaign_id):
    """Return the remote id of the only remote campaign there is."""
    (created,) = world.sandbox.truth.events("created")
    return created.campaign


def test_a_lost_create_is_found_by_its_mark_and_adopted(world):
    campaign_id = lost(world)
    world.step()
    assert world.heard() == ["GET list_campaigns"]
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == (
        "provider_draft",
        ["succeeded"],
    )
    assert world.remote_id(campaign_id) == only(world, campaign_id)
    assert world.remote(campaign_id).content_pending is True
    assert set(world.calls) <= READS, "the background uploads nothing"
    world.draft(campaign_id)
    world.send(campaign_id)
    assert (world.sends(campaign_id), len(world.sandbox.truth.events("created"))) == (1, 1)


@pytest.mark.parametrize(
    ("status", "state"),
    [("schedule", "scheduled"), ("sending", "sending"), ("sent", "sending"), ("canceled", "cancelled")],
)
def test_a_lost_create_is_adopted_in_whatever_state_it_is_by_now(world, status, state):
    campaign_id = lost(world)
    world.rewrite(only(world, campaign_id), status=status)
    world.step()
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == (state, ["succeeded"])
    with refused("invalid_state"):
        world.send(campaign_id)
    assert world.posts() == 0


@pytest.mark.parametrize(("mailed", "state"), [(PEOPLE, "sent"), (0, "sending")])
def test_a_lost_create_that_is_sent_by_now_is_sent_once_a_reading_says_to_how_many(world, mailed, state):
    campaign_id = lost(world)
    world.rewrite(only(world, campaign_id), status="sent", emails_sent=mailed)
    world.run(hours=1)
    assert world.state(campaign_id) == state
    assert world.campaign(campaign_id).flag == (None if mailed else "sent_zero")


def test_a_lost_create_that_somebody_finished_and_sent_by_hand_is_followed_to_sent(world):
    campaign_id = lost(world)
    place = f"/campaigns/{only(world, campaign_id)}"
    world.by_hand("PUT", f"{place}/content", {"html": HTML})
    world.by_hand("POST", f"{place}/actions/send")
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.posts()) == (1, 0)
    twin = world.drafted(name="The same again")
    with refused("already_sent_elsewhere") as no:
        world.send(twin)
    assert no.value.facts["campaign"] == campaign_id


def test_a_create_that_did_not_happen_is_proven_by_two_searches_after_the_window(world):
    campaign_id = lost(world, "drop_before")
    window_end = world.attempts(campaign_id, "create")[0].window_end
    searches = []
    while world.statuses(campaign_id, "create") == ["unknown"]:
        world.step()
        searches += [world.now() >= window_end] * world.heard().count("GET list_campaigns")
    assert searches == [False, True, True]
    (attempt,) = world.attempts(campaign_id, "create")
    assert (attempt.status.value, attempt.retryable, attempt.error_code) == ("failed", True, "not_applied")
    assert world.state(campaign_id) == "approved"
    assert world.next_due() is None
    world.draft(campaign_id, "d2")
    assert len(world.sandbox.truth.events("created")) == 1


def test_a_create_that_is_applied_late_is_found(world):
    campaign_id = world.approved()
    world.fault("create", "apply_late", ms=200_000, answer="drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    world.run(hours=0.5)
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == (
        "provider_draft",
        ["succeeded"],
    )


def test_a_create_that_comes_after_it_was_proven_absent_is_found_by_the_next_handoff(world):
    campaign_id = world.approved()
    world.fault("create", "apply_late", ms=1_200_000, answer="drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    world.run(hours=0.25)
    assert world.statuses(campaign_id, "create") == ["failed"]
    world.later(minutes=21)
    assert world.draft(campaign_id, "d2").adopted is True
    assert len(world.sandbox.truth.events("created")) == 1


def test_several_matches_stop_the_watch_until_a_person_has_cleared_up(world):
    campaign_id = lost(world)
    double = create_by_hand(world, campaign_id)
    world.step()
    campaign = world.campaign(campaign_id)
    assert (campaign.stopped_reason, campaign.look_at) == ("duplicate_drafts", None)
    assert world.statuses(campaign_id, "create") == ["unknown"]
    world.heard()
    world.run(hours=24)
    world.later(hours=24)
    world.bridge.tick()
    assert world.heard() == [], "nothing is read, not even a day later"
    assert world.reconcile(campaign_id).reason == "duplicate_drafts"
    assert len(world.events(campaign_id, "watch_stopped")) == 1
    world.by_hand("DELETE", f"/campaigns/{double}")
    assert world.reconcile(campaign_id).news == "settled"
    assert world.state(campaign_id) == "provider_draft"


def test_a_search_that_did_not_see_everything_concludes_nothing(world, monkeypatch):
    campaign_id = lost(world, "drop_before")
    for _ in range(3):
        create_by_hand(world, campaign_id, title="Somebody else's")
    monkeypatch.setattr("campaignbridge.providers.mailchimp.PAGE_SIZE", 1)
    monkeypatch.setattr("campaignbridge.providers.mailchimp.MAX_PAGES", 2)
    before = world.ledger(campaign_id)
    world.run(hours=3)
    assert world.ledger(campaign_id) == before
    campaign = world.campaign(campaign_id)
    assert campaign.look_at is not None, "it is looked at again"
    assert campaign.flag == "unconfirmed_long", "and a person is told after an hour"
    monkeypatch.undo()
    world.run(hours=1)
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == ("approved", ["failed"])


@pytest.mark.parametrize("kind", ["garbled", "truncated", "drop_before", "refuse_5xx"])
def test_a_search_without_an_answer_concludes_nothing(world, kind):
    campaign_id = lost(world, "drop_before")
    world.fault("list_campaigns", kind, times=None)
    before = world.ledger(campaign_id)
    world.run(hours=2)
    assert world.ledger(campaign_id) == before
    world.sandbox.faults.clear()
    world.run(hours=2)
    assert world.statuses(campaign_id, "create") == ["failed"]


def test_a_search_in_another_account_concludes_nothing(world):
    campaign_id = lost(world)
    other = "ffffffffffffffffffffffffffffffff-us1"
    world.sandbox.add_account(other, "Another account")
    right, world.key = world.key, other
    before = world.ledger(campaign_id)
    world.run(hours=2)
    assert world.ledger(campaign_id) == before
    assert world.campaign(campaign_id).stopped_reason == "other_account"
    with refused("conflict"):
        world.bridge.verify_connection("news", actor=DANA)
    world.key = right
    world.bridge.verify_connection("news", actor=DANA)
    world.run(hours=1)
    assert world.state(campaign_id) == "provider_draft"


def test_what_was_found_is_of_another_generation_than_the_create_and_stays_with_a_person(world):
    campaign_id = lost(world, "drop_before")
    create_by_hand(world, campaign_id, generation=2)
    world.run(hours=1)
    assert world.campaign(campaign_id).stopped_reason == "contradiction"
    assert world.statuses(campaign_id, "create") == ["unknown"]


def test_a_late_answer_to_a_create_after_another_draft_was_made_is_told_and_never_sent(world):
    campaign_id = world.approved()
    frozen = world.process()
    world.meanwhile("create_draft", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.draft(campaign_id, bridge=frozen)
    (attempt,) = world.attempts(campaign_id, "create")
    world.run(hours=0.5)
    made = world.draft(campaign_id, "d2").remote_id
    orphan = create_by_hand(world, campaign_id)
    held = Held(frozen.wiring, Lease(campaign_key(campaign_id), 1, "gone", None), frozen.wiring.clock.mark())
    record(held, attempt, Accepted(orphan))
    (told,) = world.events(campaign_id, "draft_orphaned")
    assert told["data"]["remote_id"] == orphan
    assert world.campaign(campaign_id).flag == "possible_double"
    assert world.remote_id(campaign_id) == made
    world.send(campaign_id)
    world.run()
    (mailed,) = world.sandbox.truth.events("mailed")
    assert mailed.campaign == made


def interrupted():
    """End the process here, as far as the rest of its own code can tell."""
    raise KeyboardInterrupt
