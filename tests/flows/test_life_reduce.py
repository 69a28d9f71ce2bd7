"""Unschedule and cancel: they only make fewer people get a mail, at every stage, and never on a guess."""

import pytest

from campaignbridge.domain.actor import RIGHTS, Actor
from campaignbridge.domain.ledger import SETTLE_MS, Operation
from support.world import DANA, HOUR_MS, MINUTE_MS, PEOPLE, SEND, refused

pytest_plugins = ["support.stores", "support.world"]

READ = "GET inspect"
OFF = [READ, "POST unschedule"]
STOP = [READ, "POST cancel"]
WINDOW_MS = 30_000 + SETTLE_MS


def requests(world, operation):
    seen = world.sandbox.truth.requests()
    return sum(1 for one in seen if one.operation == operation and id(one) not in world._by_hand)


def slow(world, *, minutes=60):
    """Make the provider take so long to mail everybody."""
    world.sandbox.world.behave(sending_ms=int(minutes * MINUTE_MS))


# unschedule


def test_an_unschedule_is_a_reading_and_one_request_and_leaves_a_draft_that_nobody_watches(world):
    campaign_id = world.scheduled()
    done = world.unschedule(campaign_id)
    assert world.heard() == OFF
    assert (done.asked, done.state.value, done.replay) == (Operation.UNSCHEDULE, "provider_draft", False)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for, campaign.look_at) == ("provider_draft", None, None)
    world.run(hours=24)
    assert (world.heard(), world.sends(campaign_id)) == ([], 0)


@pytest.mark.parametrize("status", ["save", "paused"])
def test_what_was_unscheduled_may_be_scheduled_anew_or_sent(world, status):
    world.sandbox.world.behave(unscheduled_status=status)
    campaign_id = world.scheduled()
    world.unschedule(campaign_id)
    world.schedule(campaign_id, "p2")
    world.unschedule(campaign_id, "u2")
    world.send(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


@pytest.mark.parametrize("kind", ["accept_then_drop", "accept_then_5xx"])
def test_an_unschedule_without_an_answer_that_was_applied_is_settled_at_the_first_look(world, kind):
    campaign_id = world.scheduled()
    world.fault("unschedule", kind)
    with refused("reconciliation_required"):
        world.unschedule(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id, "unschedule")) == ("unknown", ["unknown"])
    world.step()
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("provider_draft", None)
    assert world.statuses(campaign_id, "unschedule") == ["succeeded"]
    world.run()
    assert (world.sends(campaign_id), requests(world, "unschedule")) == (0, 1)


def test_an_unschedule_without_an_answer_that_was_not_applied_is_scheduled_again_and_goes(world):
    campaign_id = world.scheduled()
    at_ms = world.campaign(campaign_id).scheduled_for
    world.fault("unschedule", "drop_before")
    with refused("reconciliation_required"):
        world.unschedule(campaign_id)
    began, readings = world.now(), []
    world.heard()
    while world.state(campaign_id) == "unknown":
        world.step()
        readings += [world.now() - began] * len(world.heard())
    assert len([moment for moment in readings if moment > WINDOW_MS - MINUTE_MS]) == 2
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms)
    assert world.statuses(campaign_id, "unschedule") == ["failed"]
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_an_unschedule_that_is_still_in_doubt_when_its_time_comes_ends_as_what_really_happened(world):
    campaign_id = world.scheduled(in_minutes=30)
    at_ms = world.campaign(campaign_id).scheduled_for
    world.later(ms=at_ms - world.now() - 3 * MINUTE_MS)
    world.fault("unschedule", "drop_before")
    with refused("reconciliation_required"):
        world.unschedule(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)
    assert world.statuses(campaign_id, "unschedule") == ["failed"]


@pytest.mark.parametrize(
    ("kind", "facts", "retryable"), [("status_429", {}, True), ("bare_403", {}, True), ("gone", {}, False)]
)
def test_an_unschedule_that_the_provider_refuses_has_failed_and_what_is_scheduled_stays(
    world, kind, facts, retryable
):
    campaign_id = world.scheduled()
    at_ms = world.campaign(campaign_id).scheduled_for
    if kind == "gone":
        undo = f"/campaigns/{world.remote_id(campaign_id)}/actions/unschedule"
        world.meanwhile("unschedule", lambda: world.by_hand("POST", undo))
    else:
        world.fault("unschedule", kind, **facts)
    with refused("provider_failed") as no:
        world.unschedule(campaign_id)
    assert no.value.facts["provider"]["retryable"] is retryable
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt, campaign.scheduled_for) == ("scheduled", None, at_ms)
    assert world.statuses(campaign_id, "unschedule") == ["failed"]
    assert 0 <= campaign.look_at - (at_ms + 2 * MINUTE_MS) < 1_000, "it is watched as before"
    world.run()
    gone = kind == "gone"
    assert (world.state(campaign_id), world.sends(campaign_id)) == (
        "provider_draft" if gone else "sent",
        0 if gone else 1,
    )


def test_an_unschedule_without_an_answer_blocks_everything_else(world):
    campaign_id = world.scheduled()
    world.fault("unschedule", "accept_then_drop")
    with refused("reconciliation_required"):
        world.unschedule(campaign_id)
    world.heard()
    for ask in (
        lambda: world.unschedule(campaign_id),
        lambda: world.unschedule(campaign_id, "u2"),
        lambda: world.cancel(campaign_id),
        lambda: world.send(campaign_id),
        lambda: world.schedule(campaign_id, "p2"),
    ):
        with refused("reconciliation_required"):
            ask()
    assert world.heard() == []


@pytest.mark.parametrize("before_ms", [2 * MINUTE_MS - 1_000, MINUTE_MS, 1_000])
def test_from_two_minutes_before_its_time_on_nothing_is_unscheduled(sqlite_world, before_ms):
    world = sqlite_world
    campaign_id = world.scheduled(in_minutes=30)
    world.later(ms=world.campaign(campaign_id).scheduled_for - world.now() - before_ms)
    before = world.ledger(campaign_id)
    for ask in (lambda: world.unschedule(campaign_id), lambda: world.cancel(campaign_id)):
        with refused("invalid_state"):
            ask()
    assert (world.heard(), world.ledger(campaign_id)) == ([READ, READ], before)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_until_two_minutes_before_its_time_it_is_unscheduled(world):
    campaign_id = world.scheduled(in_minutes=30)
    world.later(ms=world.campaign(campaign_id).scheduled_for - world.now() - 2 * MINUTE_MS - 20_000)
    world.unschedule(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("provider_draft", 0)


def test_the_providers_own_time_counts_for_how_late_it_may_be_unscheduled(world):
    campaign_id = world.scheduled(in_minutes=30)
    at_ms = world.campaign(campaign_id).scheduled_for
    world.rewrite(world.remote_id(campaign_id), send_ms=at_ms + 2 * HOUR_MS)
    world.later(ms=at_ms - world.now() - MINUTE_MS)
    world.unschedule(campaign_id)
    assert world.state(campaign_id) == "provider_draft"


def test_an_unschedules_key_is_answered_from_the_ledger(world):
    campaign_id = world.scheduled()
    first = world.unschedule(campaign_id)
    world.heard()
    again = world.unschedule(campaign_id)
    assert (again.replay, again.attempt_id) == (True, first.attempt_id)
    assert world.heard() == []


@pytest.mark.parametrize("stage", ["drafted", "sending", "sent"])
def test_only_what_is_scheduled_can_be_unscheduled(world, stage):
    campaign_id = world.drafted() if stage == "drafted" else world.sending()
    if stage == "sent":
        world.run()
    world.heard()
    with refused("invalid_state"):
        world.unschedule(campaign_id)
    assert world.heard() == []


def test_an_unschedule_frees_its_content_for_a_twin(world):
    campaign_id = world.scheduled()
    twin = world.drafted(name="The same again")
    with refused("already_sent_elsewhere"):
        world.send(twin)
    world.unschedule(campaign_id)
    world.send(twin)
    with refused("already_sent_elsewhere"):
        world.schedule(campaign_id, "p2")
    assert (world.sends(twin), world.sends(campaign_id)) == (1, 0)


def test_with_separated_duties_the_approver_may_still_unschedule_and_cancel(world):
    bridge = world.process(separated=True)
    slow(world)
    first, second, third = world.scheduled(), world.sending(subject="Two"), world.drafted(subject="Three")
    assert world.unschedule(first, bridge=bridge).state.value == "provider_draft"
    assert world.cancel(second, bridge=bridge).asked is Operation.CANCEL
    assert world.cancel(third, bridge=bridge).state.value == "cancelled"


def test_without_the_right_to_deliver_nothing_is_unscheduled_or_cancelled(world):
    campaign_id = world.scheduled()
    tom = Actor("cli:tom", RIGHTS - {"deliver", "admin"})
    for ask in (world.unschedule, world.cancel):
        with refused("forbidden"):
            ask(campaign_id, actor=tom)
    assert (world.heard(), world.state(campaign_id)) == ([], "scheduled")


def test_a_stale_version_neither_unschedules_nor_cancels(world):
    campaign_id = world.scheduled()
    version = world.campaign(campaign_id).version
    for ask in (world.unschedule, world.cancel):
        with refused("conflict") as no:
            ask(campaign_id, version=version - 1)
        assert no.value.facts["version"] == version
    assert world.heard() == []


def test_scheduled_for_next_week_unscheduled_and_sent_now_by_a_process_that_dies_is_looked_at_in_minutes(
    world,
):
    campaign_id = world.scheduled(in_minutes=7 * 24 * 60)
    world.unschedule(campaign_id)
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id, bridge=world.process())
    assert world.statuses(campaign_id) == ["pending"]
    began = world.now()
    world.heard()
    world.look()
    assert world.now() - began < 7 * MINUTE_MS
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


# a cancel, here


@pytest.mark.parametrize("stage", ["draft", "ready_for_review", "approved", "provider_draft"])
def test_what_was_never_asked_to_be_sent_is_cancelled_here_without_a_call(world, stage):
    campaign_id = {"approved": world.approved, "provider_draft": world.drafted}.get(stage, world.create)()
    if stage == "ready_for_review":
        world.bridge.submit(campaign_id, actor=DANA)
    assert world.state(campaign_id) == stage
    world.heard()
    approval = world.campaign(campaign_id).approval
    done = world.cancel(campaign_id)
    assert (done.asked, done.state.value, world.heard()) == (None, "cancelled", [])
    assert world.state(campaign_id) == "cancelled"
    assert world.campaign(campaign_id).approval == approval, "who approved it when stays on record"
    (event,) = world.events(campaign_id, "cancelled")
    assert event["actor"] == "cli:dana"
    for ask in (world.send, world.schedule, world.draft, world.cancel):
        with refused("invalid_state"):
            ask(campaign_id, "k9")
    assert (world.heard(), world.sends(campaign_id)) == ([], 0)


def test_what_was_sent_cannot_be_cancelled(world):
    campaign_id = world.sending()
    world.run()
    world.heard()
    with refused("invalid_state"):
        world.cancel(campaign_id)
    assert (world.state(campaign_id), world.heard()) == ("sent", [])


def test_a_create_without_an_answer_is_not_cancelled_before_it_is_settled(world):
    campaign_id = world.approved()
    world.fault("create", "accept_then_drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    world.heard()
    with refused("reconciliation_required"):
        world.cancel(campaign_id)
    assert world.heard() == []
    world.run(hours=1)
    assert world.cancel(campaign_id).state.value == "cancelled"


# a cancel, off the schedule


def test_cancelling_what_is_scheduled_takes_it_off_the_schedule(world):
    campaign_id = world.scheduled()
    done = world.cancel(campaign_id)
    assert (done.asked, done.state.value) == (Operation.UNSCHEDULE, "provider_draft")
    assert world.heard() == OFF
    assert world.statuses(campaign_id, "unschedule") == ["succeeded"]
    world.run(hours=24)
    assert world.sends(campaign_id) == 0


def test_repeating_the_key_of_a_cancel_that_took_it_off_the_schedule_does_nothing_more(world):
    campaign_id = world.scheduled()
    first = world.cancel(campaign_id)
    world.heard()
    again = world.cancel(campaign_id)
    assert (again.replay, again.attempt_id, again.asked) == (True, first.attempt_id, Operation.UNSCHEDULE)
    assert (world.heard(), world.state(campaign_id)) == ([], "provider_draft")
    assert world.cancel(campaign_id, "c2").state.value == "cancelled"


def test_a_cancel_that_finds_the_schedule_running_is_refused_and_after_one_look_it_works(world):
    slow(world)
    campaign_id = world.scheduled(in_minutes=30)
    world.later(ms=world.campaign(campaign_id).scheduled_for - world.now() + 5_000)
    with refused("invalid_state") as no:
        world.cancel(campaign_id)
    assert no.value.facts["observed"] == "sending"
    world.bridge.tick()
    assert world.state(campaign_id) == "sending"
    assert world.cancel(campaign_id).asked is Operation.CANCEL
    world.run()
    assert world.state(campaign_id) == "cancelled"


# a cancel, in the middle of being sent


def test_a_cancel_while_it_is_being_sent_ends_as_cancelled_with_how_many_were_mailed(world):
    slow(world)
    campaign_id = world.sending()
    world.later(minutes=15)
    done = world.cancel(campaign_id)
    assert world.heard() == STOP
    assert (done.asked, done.state.value) == (Operation.CANCEL, "sending")
    assert world.state(campaign_id) == "sending", "accepted is not yet cancelled: a reading says so"
    world.run()
    assert world.state(campaign_id) == "cancelled"
    mailed = world.remote(campaign_id).emails_sent
    (truth,) = world.sandbox.truth.events("cancelled")
    assert mailed == truth.recipients
    assert 0 < mailed < PEOPLE
    (followed,) = world.events(campaign_id, "followed")
    assert (followed["automatic"], followed["data"]["unexplained"]) == (True, False), "we asked for it"
    assert (world.sends(campaign_id), requests(world, "cancel")) == (1, 1)


def test_a_stop_by_somebody_at_the_provider_is_told_as_not_ours(world):
    slow(world)
    campaign_id = world.sending()
    world.by_hand("POST", f"/campaigns/{world.remote_id(campaign_id)}/actions/cancel-send")
    world.run()
    assert world.state(campaign_id) == "cancelled"
    assert world.events(campaign_id, "followed")[-1]["data"]["unexplained"] is True


def test_a_cancel_that_came_too_late_ends_as_sent(world):
    campaign_id = world.sending()
    remote_id = world.remote_id(campaign_id)
    world.meanwhile("cancel", lambda: world.rewrite(remote_id, status="sent", emails_sent=PEOPLE))
    with refused("provider_failed"):
        world.cancel(campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt) == ("sending", None)
    assert world.statuses(campaign_id, "cancel") == ["failed"]
    assert campaign.look_at is not None, "it is watched on"
    world.run()
    assert world.state(campaign_id) == "sent"


def test_a_plan_without_cancelling_leaves_the_send_alone_and_watched(world):
    world.sandbox.world.behave(cancel_gate="refused_403", sending_ms=10 * MINUTE_MS)
    campaign_id = world.sending()
    with refused("provider_failed"):
        world.cancel(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id, "cancel")) == ("sending", ["failed"])
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


@pytest.mark.parametrize("applied", [True, False])
def test_a_cancel_without_an_answer_ends_as_what_really_happened(world, applied):
    slow(world, minutes=20)
    campaign_id = world.sending()
    world.later(minutes=2)
    world.fault("cancel", "accept_then_drop" if applied else "drop_before")
    with refused("reconciliation_required"):
        world.cancel(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id, "cancel")) == ("unknown", ["unknown"])
    world.heard()
    with refused("reconciliation_required"):
        world.cancel(campaign_id, "c2")
    assert world.heard() == []
    world.run()
    assert world.state(campaign_id) == ("cancelled" if applied else "sent")
    assert world.statuses(campaign_id, "cancel") == ["succeeded" if applied else "failed"]
    assert (world.sends(campaign_id), requests(world, "cancel")) == (1, 1)


def test_a_cancels_key_is_answered_from_the_ledger(world):
    slow(world)
    campaign_id = world.sending()
    first = world.cancel(campaign_id)
    world.heard()
    again = world.cancel(campaign_id)
    assert (again.replay, again.attempt_id, world.heard()) == (True, first.attempt_id, [])


def test_what_was_cancelled_in_the_middle_still_holds_its_content_against_a_twin(world):
    slow(world)
    campaign_id = world.sending()
    twin = world.drafted(name="The same again")
    world.later(minutes=5)
    world.cancel(campaign_id)
    world.run()
    assert world.state(campaign_id) == "cancelled"
    with refused("already_sent_elsewhere"):
        world.send(twin)


# a cancel, on an unresolved send


def test_a_cancel_of_an_unconfirmed_send_that_is_going_settles_it_and_stops_it(world):
    slow(world)
    campaign_id = world.doubted()
    world.later(minutes=1)
    done = world.cancel(campaign_id)
    assert (done.asked, world.heard()) == (Operation.CANCEL, STOP)
    assert world.statuses(campaign_id) == ["succeeded"]
    assert world.statuses(campaign_id, "cancel") == ["succeeded"]
    (settled,) = world.events(campaign_id, "reconciled")
    assert (settled["actor"], settled["data"]["operation"]) == ("cli:dana", "send")
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("cancelled", 1)
    assert 0 < world.remote(campaign_id).emails_sent < PEOPLE


def test_a_cancel_of_an_unconfirmed_send_that_is_over_settles_it_as_sent_and_is_refused(world):
    campaign_id = world.doubted()
    world.later(minutes=2)
    with refused("invalid_state"):
        world.cancel(campaign_id)
    assert (world.heard(), world.state(campaign_id)) == ([READ], "sent")
    assert world.statuses(campaign_id) == ["succeeded"]


def test_a_cancel_of_an_unconfirmed_schedule_that_stands_settles_it_and_takes_it_off(world):
    campaign_id = world.drafted()
    world.fault("schedule", "accept_then_drop")
    with refused("reconciliation_required"):
        world.schedule(campaign_id)
    world.heard()
    done = world.cancel(campaign_id)
    assert (done.asked, world.heard()) == (Operation.UNSCHEDULE, OFF)
    assert world.statuses(campaign_id, "schedule") == ["succeeded"]
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt, campaign.look_at) == ("provider_draft", None, None)
    world.run(hours=24)
    assert world.sends(campaign_id) == 0


@pytest.mark.parametrize("ask", ["send", "schedule"])
def test_a_cancel_of_an_unconfirmed_request_waits_while_a_draft_proves_nothing(world, ask):
    """Inside the window, and after it until two readings said draft: then it is cancelled here."""
    campaign_id = world.drafted()
    world.fault(ask, "drop_before")
    with refused("reconciliation_required"):
        getattr(world, ask)(campaign_id)
    before = world.ledger(campaign_id)
    world.heard()
    for wait in (0, 100, 250):
        world.later(seconds=wait)
        with refused("in_progress") as no:
            world.cancel(campaign_id, f"c{wait}")
        assert no.value.facts["retry_after"] > 0
        assert (world.heard(), world.ledger(campaign_id)) == ([READ], before)
    world.run(hours=0.2)
    assert world.state(campaign_id) == "provider_draft"
    assert world.cancel(campaign_id).state.value == "cancelled"
    assert (world.sends(campaign_id), requests(world, "cancel")) == (0, 0)


def test_a_cancel_of_a_send_whose_process_died_reads_inside_the_window_too(world):
    slow(world)
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id, bridge=world.process())
    assert world.statuses(campaign_id) == ["pending"]
    world.heard()
    assert world.cancel(campaign_id).asked is Operation.CANCEL
    assert world.statuses(campaign_id) == ["succeeded"]
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("cancelled", 1)


def test_a_cancel_of_an_unconfirmed_send_without_a_reading_changes_nothing(world):
    campaign_id = world.doubted()
    before = world.ledger(campaign_id)
    world.fault("inspect", "refuse_5xx")
    with refused("provider_failed"):
        world.cancel(campaign_id)
    assert world.ledger(campaign_id) == before


def test_a_cancel_while_the_send_is_under_way_is_refused_as_locked_and_works_right_after(world):
    slow(world)
    campaign_id = world.drafted()
    other = world.process()
    found = []

    def somebody_cancels():
        with refused("locked") as no:
            world.cancel(campaign_id, bridge=other)
        found.append(no.value.facts["retry_after"])

    world.meanwhile("send", somebody_cancels)
    world.send(campaign_id)
    assert (len(found), world.heard()) == (1, SEND)
    world.cancel(campaign_id, bridge=other)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("cancelled", 1)


def test_a_send_whose_draft_was_cancelled_just_before_makes_no_request(world):
    """The canceller has the lock after the sender's lease is over by the store's clock."""
    campaign_id = world.drafted()
    other = world.process(store=world.home.store(ahead_ms=6 * MINUTE_MS))
    world.meanwhile("inspect", lambda: world.cancel(campaign_id, bridge=other), nth=2)
    with refused("lease_lost"):
        world.send(campaign_id)
    assert (world.state(campaign_id), world.posts(), world.sends(campaign_id)) == ("cancelled", 0, 0)
