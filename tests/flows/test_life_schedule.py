"""A schedule: asked for once, read back once, then left alone until its time, and followed to its end."""

import pytest

from campaignbridge.domain.actor import RIGHTS, Actor
from campaignbridge.domain.ledger import SETTLE_MS
from campaignbridge.domain.when import instant_of
from support.stores import together
from support.world import (
    BOUND,
    ERIN,
    GUARD,
    HOUR_MS,
    MINUTE_MS,
    PEOPLE,
    Broken,
    outcome_of,
    refused,
)

pytest_plugins = ["support.stores", "support.world"]

READ = "GET inspect"
SCHEDULE = [*GUARD, "POST schedule", READ]
WINDOW_MS = 30_000 + SETTLE_MS  # from the intent to the end of the settle window


def requests(world, operation="schedule"):
    """Return how many requests of ours of this kind reached the provider."""
    seen = world.sandbox.truth.requests()
    return sum(1 for one in seen if one.operation == operation and id(one) not in world._by_hand)


def doubted(world, kind, *, in_minutes=60, **facts):
    """Return a campaign whose schedule had no usable answer, and the time that was asked for."""
    campaign_id = world.drafted()
    at_ms = world.slot(in_minutes=in_minutes)
    world.fault("schedule", kind, **facts)
    with refused("reconciliation_required") as no:
        world.schedule(campaign_id, at_ms=at_ms)
    assert no.value.facts["attempt"]["operation"] == "schedule"
    assert (world.state(campaign_id), world.statuses(campaign_id, "schedule")) == ("unknown", ["unknown"])
    world.heard()
    return campaign_id, at_ms


# accepted


def test_a_schedule_is_these_requests_in_this_order_and_then_it_is_scheduled_for_its_time(world):
    campaign_id = world.drafted()
    at_ms = world.slot()
    done = world.schedule(campaign_id, at_ms=at_ms)
    assert world.heard() == SCHEDULE
    assert (done.replay, done.recipients) == (False, PEOPLE)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for, campaign.flag) == ("scheduled", at_ms, None)
    assert world.statuses(campaign_id, "schedule") == ["succeeded"]
    assert 0 <= campaign.look_at - (at_ms + 2 * MINUTE_MS) < 1_000
    assert world.sandbox.world.current(world.remote_id(campaign_id)).send_ms == at_ms
    assert world.posts() == 0, "nothing was sent by a send"


def test_an_accepted_schedule_is_read_by_nobody_before_its_time_and_followed_to_sent_by_the_system(world):
    campaign_id = world.scheduled(in_minutes=7 * 24 * 60)
    at_ms = world.campaign(campaign_id).scheduled_for
    while world.state(campaign_id) == "scheduled":
        world.step()
        if world.heard():
            assert at_ms + 2 * MINUTE_MS <= world.now() < at_ms + 3 * MINUTE_MS
    world.run()
    assert world.state(campaign_id) == "sent"
    followed = world.events(campaign_id, "followed")
    assert [row["data"]["state"] for row in followed] in (["sent"], ["sending", "sent"])
    assert {(row["actor"], row["automatic"], row["data"]["unexplained"]) for row in followed} == {
        (None, True, False)
    }
    assert (world.sends(campaign_id), world.posts(), requests(world)) == (1, 0, 1)


def test_a_local_time_reaches_the_provider_as_the_instant_that_was_meant(world):
    campaign_id = world.drafted()
    at_ms = instant_of(world.home.rows("SELECT '2099-07-01T09:00' AS text")[0]["text"], "Europe/Berlin")
    with refused("invalid_input"):
        world.schedule(campaign_id, at_ms=at_ms)  # too far
    world.later(ms=at_ms - world.now() - 30 * 24 * HOUR_MS)
    world.schedule(campaign_id, "p2", at_ms=at_ms)
    assert world.sandbox.world.current(world.remote_id(campaign_id)).send_ms == at_ms
    assert world.campaign(campaign_id).scheduled_for == at_ms


# read back


def test_a_time_that_is_read_back_differently_is_flagged_followed_and_told_as_not_ours(world):
    campaign_id = world.drafted()
    at_ms = world.slot()

    def somebody_moves_it():
        world.rewrite(world.remote_id(campaign_id), send_ms=at_ms + 30 * MINUTE_MS)

    world.meanwhile("schedule", somebody_moves_it, before=False)
    world.schedule(campaign_id, at_ms=at_ms)
    assert world.heard() == SCHEDULE
    assert world.campaign(campaign_id).flag == "schedule_differs"
    world.step()
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms + 30 * MINUTE_MS)
    assert campaign.flag == "schedule_differs", (
        "it is flagged until the next request, not until the next look"
    )
    (told,) = world.events(campaign_id, "followed")
    assert (told["data"]["state"], told["data"]["unexplained"]) == ("scheduled", True)
    assert world.unschedule(campaign_id).state.value == "provider_draft"
    assert world.campaign(campaign_id).flag is None


def test_a_status_that_is_read_back_differently_is_flagged_and_looked_at(world):
    campaign_id = world.drafted()
    undo = f"/campaigns/{world.remote_id(campaign_id)}/actions/unschedule"
    world.meanwhile("schedule", lambda: world.by_hand("POST", undo), before=False)
    world.schedule(campaign_id)
    assert world.campaign(campaign_id).flag == "schedule_differs"
    world.step()
    assert world.state(campaign_id) == "provider_draft"
    (told,) = world.events(campaign_id, "followed")
    assert told["data"]["unexplained"] is True


@pytest.mark.parametrize("kind", ["refuse_5xx", "drop_before", "status_429", "garbled"])
def test_a_reading_back_without_an_answer_changes_nothing_about_what_was_accepted(world, kind):
    campaign_id = world.drafted()
    world.fault("inspect", kind, after=2)
    world.schedule(campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.flag) == ("scheduled", None)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_a_store_that_is_gone_while_it_is_read_back_does_not_make_an_accepted_schedule_fail(world):
    campaign_id = world.drafted()
    at_ms = world.slot()
    broken = Broken(world.home.open())
    bridge = world.process(store=type(world.bridge.wiring.store)(broken))

    def gone():
        world.rewrite(world.remote_id(campaign_id), send_ms=at_ms + 30 * MINUTE_MS)
        broken.down = True

    world.meanwhile("inspect", gone, nth=3)
    done = world.schedule(campaign_id, at_ms=at_ms, bridge=bridge)
    assert done.replay is False
    assert (world.state(campaign_id), world.events(campaign_id, "schedule_not_made")) == ("scheduled", [])


# no usable answer


@pytest.mark.parametrize(
    ("kind", "facts"),
    [("accept_then_drop", {}), ("accept_then_5xx", {"status": 504}), ("proxy_page", {"applied": True})],
)
def test_a_schedule_without_an_answer_that_was_accepted_is_settled_at_the_first_look(world, kind, facts):
    campaign_id, at_ms = doubted(world, kind, **facts)
    world.step()
    assert world.heard() == [READ]
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms)
    assert world.statuses(campaign_id, "schedule") == ["succeeded"]
    (settled,) = world.events(campaign_id, "reconciled")
    assert (settled["actor"], settled["automatic"], settled["data"]["applied"]) == (None, True, True)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), requests(world)) == ("sent", 1, 1)


def test_a_schedule_without_an_answer_that_was_never_applied_takes_the_window_and_two_readings(world):
    campaign_id, _ = doubted(world, "drop_before")
    began, readings = world.now(), []
    while world.state(campaign_id) == "unknown":
        world.step()
        readings += [world.now() - began] * len(world.heard())
    early, first, second = readings
    assert early < WINDOW_MS - MINUTE_MS < first
    assert second >= first + MINUTE_MS
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("provider_draft", None)
    (attempt,) = world.attempts(campaign_id, "schedule")
    assert (attempt.status.value, attempt.error_code, attempt.retryable) == ("failed", "not_applied", True)
    world.schedule(campaign_id, "p2")
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), requests(world)) == ("sent", 1, 2)


@pytest.mark.parametrize("second", [1, 29, 31, 60, 150, 299, 329, 331, 359, 389, 391])
def test_a_schedule_that_is_applied_at_any_second_is_never_asked_for_twice_and_never_lost(
    sqlite_world, second
):
    world = sqlite_world
    campaign_id, at_ms = doubted(world, "apply_late", ms=second * 1000, answer="drop", in_minutes=120)
    world.run(hours=1.6)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), requests(world)) == ("sent", 1, 1)
    assert world.sandbox.truth.duplicates() == 0


def test_a_schedule_that_arrives_after_it_was_settled_as_not_applied_is_followed_and_blocks_a_send(world):
    campaign_id, at_ms = doubted(world, "apply_late", ms=20 * MINUTE_MS, answer="drop", in_minutes=180)
    world.run(hours=0.25)
    assert world.statuses(campaign_id, "schedule") == ["failed"]
    world.later(minutes=15)
    with refused("invalid_state") as no:
        world.send(campaign_id, "s2")
    assert no.value.facts["observed"] == "scheduled"
    world.step()
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms)
    (told,) = world.events(campaign_id, "followed")
    assert told["data"]["unexplained"] is True
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), world.posts()) == ("sent", 1, 0)


def test_a_process_that_died_right_after_its_schedule_is_found_by_the_watch(world):
    campaign_id = world.drafted()
    at_ms = world.slot()
    world.meanwhile("schedule", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.schedule(campaign_id, at_ms=at_ms)
    assert world.statuses(campaign_id, "schedule") == ["pending"]
    world.run(hours=0.2)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms)
    world.run()
    assert (world.sends(campaign_id), requests(world)) == (1, 1)


# refused


@pytest.mark.parametrize(
    ("off", "why"),
    [
        (1, "every 15"),
        (MINUTE_MS, "every 15"),
        (1_000, "every 15"),
        (-2 * HOUR_MS, "10 minutes"),
        (400 * 24 * HOUR_MS, "a year"),
        (10**15 // (15 * MINUTE_MS) * 15 * MINUTE_MS, "a year"),
    ],
)
def test_a_time_that_cannot_be_had_is_refused_without_a_call(world, off, why):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    with refused("invalid_input") as no:
        world.schedule(campaign_id, at_ms=world.slot() + off)
    assert why in no.value.what
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)
    (left,) = world.events(campaign_id, "schedule_not_made")
    assert (left["actor"], left["data"]["code"]) == ("cli:dana", "invalid_input")


def test_a_time_nine_minutes_ahead_is_too_soon_although_it_is_on_the_grid(world):
    campaign_id = world.drafted()
    at_ms = world.slot(in_minutes=30)
    world.later(ms=at_ms - world.now() - 9 * MINUTE_MS)
    with refused("invalid_input"):
        world.schedule(campaign_id, at_ms=at_ms)
    assert world.heard() == []


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"audience": "zz9"}, "validation_failed"),
        ({"recipients": BOUND + 1}, "validation_failed"),
        ({"key": "with space"}, "invalid_input"),
        ({"version": 1}, "conflict"),
        ({"actor": Actor("cli:tom", RIGHTS - {"deliver", "admin"})}, "forbidden"),
    ],
)
def test_what_is_wrong_before_the_guard_is_refused_without_a_call(world, facts, code):
    campaign_id = world.drafted()
    with refused(code):
        world.schedule(campaign_id, **facts)
    assert (world.heard(), world.attempts(campaign_id, "schedule")) == ([], [])


def test_a_count_that_is_not_the_confirmed_one_is_never_scheduled(world):
    campaign_id = world.drafted()
    with refused("validation_failed"):
        world.schedule(campaign_id, recipients=PEOPLE - 1)
    assert (world.heard(), requests(world)) == (GUARD, 0)


def test_a_remote_that_somebody_has_scheduled_already_is_never_overwritten(world):
    campaign_id = world.drafted()
    theirs = world.schedule_by_hand(campaign_id, in_minutes=120)
    before = world.ledger(campaign_id)
    with refused("invalid_state"):
        world.schedule(campaign_id, at_ms=world.slot(in_minutes=30))
    assert (world.heard(), world.ledger(campaign_id)) == ([READ], before)
    assert world.sandbox.world.current(world.remote_id(campaign_id)).send_ms == theirs
    world.step()
    assert world.campaign(campaign_id).scheduled_for == theirs


def test_what_is_scheduled_takes_no_second_schedule_and_no_send(world):
    campaign_id = world.scheduled()
    before = world.ledger(campaign_id)
    for ask in (lambda: world.schedule(campaign_id, "p2"), lambda: world.send(campaign_id)):
        with refused("invalid_state"):
            ask()
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)


def test_a_schedule_that_the_provider_refuses_has_failed_and_leaves_the_draft(world):
    campaign_id = world.drafted()
    world.fault("schedule", "status_429", retry_after=9)
    with refused("provider_failed") as no:
        world.schedule(campaign_id)
    assert no.value.facts["provider"]["retryable"] is True
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("provider_draft", None)
    assert world.statuses(campaign_id, "schedule") == ["failed"]
    world.schedule(campaign_id, "p2")
    assert world.state(campaign_id) == "scheduled"


def test_a_plan_without_scheduling_is_told_after_one_more_reading_and_read_again_later(world):
    world.sandbox.world.behave(schedule_gate="refused_403")
    campaign_id = world.drafted()
    with refused("provider_failed"):
        world.schedule(campaign_id)
    assert world.heard() == [*SCHEDULE, "GET checklist"]
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.flag) == ("provider_draft", "send_refused")
    world.run()
    assert world.heard() == [READ, READ]


# keys


def test_a_schedules_key_is_answered_from_the_ledger_and_is_bound_to_its_time(world):
    campaign_id = world.drafted()
    at_ms = world.slot()
    first = world.schedule(campaign_id, at_ms=at_ms)
    world.heard()
    again = world.schedule(campaign_id, at_ms=at_ms)
    assert (again.replay, again.attempt_id) == (True, first.attempt_id)
    with refused("idempotency_conflict"):
        world.schedule(campaign_id, at_ms=at_ms + 15 * MINUTE_MS)
    assert (world.heard(), requests(world)) == ([], 1)


def test_a_schedules_key_that_is_not_settled_contacts_nobody(world):
    campaign_id, at_ms = doubted(world, "accept_then_drop")
    for key in ("p1", "p2"):
        with refused("reconciliation_required"):
            world.schedule(campaign_id, key, at_ms=at_ms)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert world.heard() == []


def test_with_separated_duties_the_approver_may_not_schedule_and_somebody_else_may(world):
    bridge = world.process(separated=True)
    campaign_id = world.drafted()
    with refused("forbidden"):
        world.schedule(campaign_id, bridge=bridge)
    assert (world.heard(), world.attempts(campaign_id, "schedule")) == ([], [])
    world.schedule(campaign_id, actor=ERIN, bridge=bridge)
    assert world.state(campaign_id) == "scheduled"


# twins


@pytest.mark.parametrize("stage", ["scheduled", "unknown", "sent"])
def test_a_twin_of_what_is_scheduled_or_went_by_schedule_is_refused_with_its_id(world, stage):
    twin = world.drafted(name="The same again")
    if stage == "unknown":
        first, _ = doubted(world, "accept_then_drop")
    else:
        first = world.scheduled()
        if stage == "sent":
            world.run()
            assert world.state(first) == "sent"
    world.heard()
    for ask in (lambda: world.send(twin), lambda: world.schedule(twin)):
        with refused("already_sent_elsewhere") as no:
            ask()
        assert no.value.facts["campaign"] == first
    assert world.heard() == []


def test_of_two_twins_that_are_scheduled_together_one_is_and_the_other_is_told(world):
    twins = [world.drafted(), world.drafted(name="The same again")]
    at_ms = world.slot()
    ask = lambda n: outcome_of(lambda: world.schedule(twins[n], at_ms=at_ms, bridge=world.process()))  # noqa: E731
    found = sorted(together(world.home, 2, ask))
    assert found == ["accepted", "already_sent_elsewhere"]
    assert requests(world) == 1


def test_two_threads_that_schedule_and_send_the_same_campaign_make_one_request(world):
    campaign_id = world.drafted()
    asks = [
        lambda: world.schedule(campaign_id, bridge=world.process()),
        lambda: world.send(campaign_id, bridge=world.process()),
    ]
    found = together(world.home, 2, lambda n: outcome_of(asks[n]))
    assert found.count("accepted") == 1
    assert set(found) - {"accepted"} <= {"locked", "invalid_state", "conflict"}
    assert requests(world) + requests(world, "send") == 1
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


# what changes at the provider


def test_a_new_time_that_was_set_at_the_provider_is_followed_and_told_as_not_ours(world):
    campaign_id = world.scheduled()
    at_ms = world.campaign(campaign_id).scheduled_for
    world.rewrite(world.remote_id(campaign_id), send_ms=at_ms + 3 * HOUR_MS)
    version = world.campaign(campaign_id).version
    world.look()
    assert world.heard() == [READ]
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for) == ("scheduled", at_ms + 3 * HOUR_MS)
    assert campaign.version == version
    assert 0 <= campaign.look_at - (at_ms + 3 * HOUR_MS + 2 * MINUTE_MS) < 1_000
    (told,) = world.events(campaign_id, "followed")
    assert (told["actor"], told["data"]["state"], told["data"]["unexplained"]) == (None, "scheduled", True)


def test_a_schedule_that_was_taken_back_at_the_provider_is_followed_as_not_ours_and_frees_its_content(world):
    campaign_id = world.scheduled()
    twin = world.drafted(name="The same again")
    world.by_hand("POST", f"/campaigns/{world.remote_id(campaign_id)}/actions/unschedule")
    world.reconcile(campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.scheduled_for, campaign.look_at) == ("provider_draft", None, None)
    (told,) = world.events(campaign_id, "followed")
    assert (told["actor"], told["data"]["unexplained"]) == ("cli:dana", True)
    world.send(twin)
    assert (world.sends(twin), world.sends(campaign_id)) == (1, 0)


def test_a_schedule_whose_time_has_passed_by_half_an_hour_is_flagged_and_watched_on(world):
    campaign_id = world.scheduled()
    due = world.campaign(campaign_id).scheduled_for
    world.by_hand("POST", f"/campaigns/{world.remote_id(campaign_id)}/actions/unschedule")
    world.rewrite(world.remote_id(campaign_id), status="schedule", send_ms=due)  # and it stays like that
    world.rewrite(world.remote_id(campaign_id), send_ms=due - 1)
    flags = {}
    while world.now() < due + 45 * MINUTE_MS:
        world.step()
        flags[(world.now() - due) // MINUTE_MS] = world.campaign(campaign_id).flag
    assert {flag for minute, flag in flags.items() if minute < 30} == {None}
    assert {flag for minute, flag in flags.items() if minute > 31} == {"scheduled_late"}
    assert world.campaign(campaign_id).look_at is not None
