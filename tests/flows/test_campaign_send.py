"""A send: one request, made only when everything is as approved, and never made again."""

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from support.world import AUDIENCE, BOUND, DANA, ERIN, GUARD, MINUTE_MS, PEOPLE, READS, SEND, refused

pytest_plugins = ["support.stores", "support.world"]


def test_a_send_is_five_requests_in_this_order_and_is_followed_to_its_end(world):
    campaign_id = world.drafted()
    sent = world.send(campaign_id)
    assert world.heard() == SEND
    assert (sent.replay, sent.recipients) == (False, PEOPLE)
    assert world.state(campaign_id) == "sending", "accepted is not sent"
    assert world.statuses(campaign_id) == ["succeeded"]
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.posts()) == (1, 1)
    assert world.sandbox.truth.duplicates() == 0


# drift


def test_a_draft_that_was_scheduled_by_hand_is_never_written_to_and_is_followed(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.schedule_by_hand(campaign_id)
    with refused("invalid_state") as no:
        world.send(campaign_id)
    assert no.value.facts["observed"] == "scheduled"
    assert world.heard() == ["GET inspect"], "nothing was written"
    assert world.ledger(campaign_id) == before, "no attempt and no version was used up"
    world.step()
    assert world.state(campaign_id) == "scheduled"
    (followed,) = world.events(campaign_id, "followed")
    assert (followed["actor"], followed["data"]["unexplained"]) == (None, True)
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.posts()) == (1, 0), "it went by the schedule alone"
    assert not {"update", "content"} & set(world.heard())


def test_a_draft_that_was_sent_by_hand_is_not_sent_again(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.send_by_hand(campaign_id)
    with refused("invalid_state"):
        world.send(campaign_id)
    assert (world.heard(), world.ledger(campaign_id)) == (["GET inspect"], before)
    world.run()
    assert world.state(campaign_id) == "sent"
    assert world.sends(campaign_id) == 1


def test_a_draft_that_is_scheduled_while_it_is_written_to_is_not_sent(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.meanwhile("inspect", lambda: world.schedule_by_hand(campaign_id), nth=2)
    with refused("invalid_state"):
        world.send(campaign_id)
    assert (world.heard(), world.ledger(campaign_id)) == (GUARD, before)


def test_a_draft_whose_audience_was_swapped_by_hand_is_not_written_to(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.sandbox.add_list("zz9", "Everybody", 90_000)
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    world.by_hand("PATCH", place, {"recipients": {"list_id": "zz9"}})
    with refused("audience_drift") as no:
        world.send(campaign_id)
    assert (no.value.facts["approved"], no.value.facts["observed"]) == (AUDIENCE, "zz9")
    assert (world.heard(), world.ledger(campaign_id)) == (["GET inspect"], before)


def test_a_draft_that_was_narrowed_to_a_segment_by_hand_has_another_audience(world):
    campaign_id = world.drafted()
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    segment = {"saved_segment_id": 7, "match": "all"}
    world.by_hand("PATCH", place, {"recipients": {"list_id": AUDIENCE, "segment_opts": segment}})
    with refused("audience_drift"):
        world.send(campaign_id)
    assert world.heard() == ["GET inspect"]


def test_an_audience_that_is_swapped_between_upload_and_send_is_seen(world):
    campaign_id = world.drafted()
    world.sandbox.add_list("zz9", "Everybody", PEOPLE)
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    swap = {"recipients": {"list_id": "zz9"}}
    world.meanwhile("inspect", lambda: world.by_hand("PATCH", place, swap), nth=2)
    with refused("audience_drift"):
        world.send(campaign_id)
    assert (world.heard(), world.posts()) == (GUARD, 0)


def test_words_that_were_changed_by_hand_are_put_back_before_the_send(world):
    campaign_id = world.drafted()
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    world.by_hand("PATCH", place, {"settings": {"subject_line": "Something else"}})
    world.by_hand("PUT", f"{place}/content", {"html": "<p>Something else *|UNSUB|*</p>"})
    world.send(campaign_id)
    remote = world.sandbox.world.current(world.remote_id(campaign_id))
    assert remote.text("subject_line") == "What we shipped"
    assert "Read it." in remote.content.html


def test_a_subject_that_somebody_is_editing_at_the_provider_stops_the_send(world):
    campaign_id = world.drafted()
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    edit = {"settings": {"subject_line": "Draft by Bob"}}
    world.meanwhile("inspect", lambda: world.by_hand("PATCH", place, edit), nth=2)
    with refused("provider_failed"):
        world.send(campaign_id)
    assert (world.heard(), world.attempts(campaign_id)) == (GUARD, [])


# replay and keys


def test_a_key_that_succeeded_is_answered_from_the_ledger(world):
    campaign_id = world.sending()
    first = world.attempts(campaign_id)[0]
    for _ in range(3):
        again = world.send(campaign_id)
        assert (again.replay, again.attempt_id) == (True, first.id)
    assert world.heard() == []


@pytest.mark.parametrize("state", ["sending", "sent"])
def test_another_key_after_a_send_is_refused_without_contact(world, state):
    campaign_id = world.sending()
    if state == "sent":
        world.run()
    world.heard()
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    assert (world.heard(), world.posts()) == ([], 1)


def test_a_key_that_failed_says_so_and_a_new_one_goes_through(world):
    campaign_id = world.drafted()
    world.fault("send", "status_429", retry_after=7)
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["provider"]["retryable"] is True
    assert no.value.facts["provider"]["retry_after"] == 7
    (attempt,) = world.attempts(campaign_id)
    assert (attempt.status.value, attempt.retryable, attempt.error_code) == ("failed", True, "http_429")
    assert world.state(campaign_id) == "provider_draft"
    world.heard()
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["attempt"]["status"] == "failed"
    assert world.heard() == [], "a recorded failure is not tried again"
    world.send(campaign_id, "s2")
    assert (world.heard(), world.sends(campaign_id)) == (SEND, 1)


def test_a_key_whose_outcome_is_unknown_never_contacts_the_provider(world):
    campaign_id = world.doubted()
    for _ in range(2):
        with refused("reconciliation_required") as no:
            world.send(campaign_id)
        assert no.value.facts["attempt"]["status"] == "unknown"
    assert world.heard() == []


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "unknown"])
def test_a_key_that_named_another_request_is_a_conflict(world, outcome):
    campaign_id = world.drafted()
    if outcome == "succeeded":
        world.send(campaign_id)
    else:
        world.fault("send", "status_429" if outcome == "failed" else "refuse_5xx")
        with refused("provider_failed" if outcome == "failed" else "reconciliation_required"):
            world.send(campaign_id)
    assert world.statuses(campaign_id) == [outcome]
    world.heard()
    with refused("idempotency_conflict"):
        world.send(campaign_id, recipients=PEOPLE - 1)
    assert world.heard() == []


def test_a_malformed_key_is_refused_before_anything_else(world):
    campaign_id = world.drafted()
    for key in ("", "with space", "k" * 101, "Ü", "a\nb"):
        with refused("invalid_input"):
            world.send(campaign_id, key)
    assert world.heard() == []


def test_a_key_belongs_to_one_campaign(world):
    first, second = world.sending(), world.drafted(subject="Another letter")
    world.send(second)
    assert (world.sends(first), world.sends(second)) == (1, 1)


# unresolved


def test_a_503_on_send_is_unknown_and_only_reconcile_and_cancel_are_offered(world):
    campaign_id = world.drafted()
    world.fault("send", "refuse_5xx", status=503)
    with refused("reconciliation_required") as no:
        world.send(campaign_id)
    assert no.value.facts["attempt"]["status"] == "unknown"
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("unknown", ["unknown"])
    assert world.actions(campaign_id) == ["cancel", "reconcile"]
    assert world.heard() == SEND, "it was not repeated"


def test_an_unknown_send_blocks_every_key_and_every_edit(world):
    campaign_id = world.doubted()
    fingerprint = world.campaign(campaign_id).approval.fingerprint
    blocked = [
        lambda: world.send(campaign_id),
        lambda: world.send(campaign_id, "s2"),
        lambda: world.draft(campaign_id, "d2"),
        lambda: world.bridge.submit(campaign_id, actor=DANA),
        lambda: world.bridge.approve(campaign_id, actor=DANA, approved=fingerprint, max_recipients=BOUND),
        lambda: world.bridge.revoke(campaign_id, actor=DANA),
    ]
    before = world.ledger(campaign_id)
    for attempt in blocked:
        with refused("reconciliation_required"):
            attempt()
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)


def test_two_unresolved_attempts_of_a_campaign_are_impossible(world):
    """The first request is under way, and its lock is over by the store's clock: the ledger still refuses."""
    campaign_id = world.drafted()
    codes = []

    def second_sender():
        other = world.process(store=world.home.store(ahead_ms=6 * MINUTE_MS))
        for key in ("s1", "s2"):
            with refused("reconciliation_required") as no:
                world.send(campaign_id, key, bridge=other)
            codes.append(no.value.code)
        with refused("reconciliation_required"):
            world.draft(campaign_id, "d2", bridge=other)

    world.meanwhile("send", second_sender)
    world.send(campaign_id)
    assert codes == ["reconciliation_required"] * 2
    assert (world.statuses(campaign_id), world.posts()) == (["succeeded"], 1)


@pytest.mark.parametrize("key", ["s1", "s2"])
def test_a_second_request_while_the_first_is_under_way_is_refused(world, key):
    campaign_id = world.drafted()
    other = world.process()
    waits = []

    def second_click():
        with refused("locked") as no:
            world.send(campaign_id, key, bridge=other)
        waits.append(no.value.facts["retry_after"])

    world.meanwhile("send", second_click)
    world.send(campaign_id)
    assert 1 <= waits[0] <= 300
    assert (world.heard(), world.posts()) == (SEND, 1)


def test_a_racer_whose_facts_are_stale_leaves_no_attempt(world):
    campaign_id = world.drafted()

    def somebody_changes_it():
        world.home.rows("UPDATE campaigns SET version = version + 1 WHERE id = ?", campaign_id)

    world.meanwhile("inspect", somebody_changes_it, nth=2)
    with refused("conflict"):
        world.send(campaign_id)
    assert (world.heard(), world.attempts(campaign_id)) == (GUARD, [])
    assert world.campaign(campaign_id).open_attempt is None
    assert world.home.rows("SELECT * FROM content_claims") == []
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


# what is confirmed


def test_a_wrong_audience_is_refused_without_a_call(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    with refused("validation_failed") as no:
        world.send(campaign_id, audience="zz9")
    assert no.value.facts["audience"] == AUDIENCE
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)


def test_a_count_above_the_approved_bound_is_refused_without_a_call(world):
    campaign_id = world.drafted()
    with refused("validation_failed") as no:
        world.send(campaign_id, recipients=BOUND + 1)
    assert no.value.facts["max_recipients"] == BOUND
    assert world.heard() == []


@pytest.mark.parametrize("count", [0, 1, PEOPLE - 1, PEOPLE + 1])
def test_a_wrong_count_is_never_sent(world, count):
    campaign_id = world.drafted()
    with refused("validation_failed") as no:
        world.send(campaign_id, recipients=count)
    assert no.value.facts["recipients"] == PEOPLE
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])


def test_a_count_that_has_changed_since_it_was_confirmed_is_not_sent(world):
    campaign_id = world.drafted()
    world.sandbox.add_list(AUDIENCE, "Customers EU", PEOPLE + 5)
    with refused("validation_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["recipients"] == PEOPLE + 5
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])
    world.send(campaign_id, recipients=PEOPLE + 5)
    assert world.sends(campaign_id) == 1


def test_an_audience_that_has_outgrown_the_approval_is_not_sent(world):
    campaign_id = world.drafted()
    world.sandbox.add_list(AUDIENCE, "Customers EU", BOUND + 1)
    with refused("validation_failed") as no:
        world.send(campaign_id, recipients=BOUND)
    assert no.value.facts["max_recipients"] == BOUND
    assert world.posts() == 0


@pytest.mark.parametrize("believed", [0, PEOPLE])
def test_a_count_that_is_not_known_yet_is_not_sent(world, believed):
    world.fault("create", "count_lag", ms=120_000)
    campaign_id = world.drafted()
    with refused("validation_failed"):
        world.send(campaign_id, recipients=believed)
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])
    world.later(minutes=3)
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


def test_a_stale_version_is_a_conflict_with_the_current_one(world):
    campaign_id = world.drafted()
    version = world.campaign(campaign_id).version
    with refused("conflict") as no:
        world.send(campaign_id, version=version - 1)
    assert no.value.facts["version"] == version
    assert world.heard() == []
    world.send(campaign_id, version=version)
    assert world.sends(campaign_id) == 1


# who may


@pytest.mark.parametrize("rights", [set(), {"read", "test"}, {"author", "manage", "approve", "operate"}])
def test_without_the_right_to_deliver_nobody_is_contacted(world, rights):
    campaign_id = world.drafted()
    with refused("forbidden") as no:
        world.send(campaign_id, actor=Actor("cli:tess", frozenset(rights)))
    assert no.value.facts["right"] == "deliver"
    assert world.heard() == []
    assert world.home.rows("SELECT * FROM locks WHERE holder IS NOT NULL") == []


def test_where_duties_are_separated_the_approver_may_not_send(world):
    campaign_id = world.drafted()
    separated = world.process(separated=True)
    with refused("forbidden"):
        world.send(campaign_id, bridge=separated)
    assert (world.heard(), world.attempts(campaign_id)) == ([], [])
    world.send(campaign_id, actor=ERIN, bridge=separated)
    assert world.sends(campaign_id) == 1


def test_where_duties_are_separated_an_approval_by_nobody_lets_nobody_send(world):
    campaign_id = world.drafted()
    world.home.rows("UPDATE campaigns SET approved_by = NULL")
    separated = world.process(separated=True)
    for actor in (DANA, ERIN):
        with refused("forbidden"):
            world.send(campaign_id, actor=actor, bridge=separated)
    assert world.heard() == []


def test_where_duties_are_not_separated_the_approver_may_send(world):
    campaign_id = world.sending()
    assert world.sends(campaign_id) == 1


# the guard


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("inspect", "refuse_5xx"),
        ("inspect", "drop_before"),
        ("inspect", "status_429"),
        ("inspect", "garbled"),
        ("inspect", "truncated"),
        ("inspect", "proxy_page"),
        ("update", "status_429"),
        ("content", "bare_403"),
    ],
)
def test_a_guard_that_cannot_read_or_write_leaves_no_attempt_and_may_be_repeated(world, operation, kind):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.fault(operation, kind)
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["provider"]["retryable"] is True
    assert (world.posts(), world.ledger(campaign_id)) == (0, before)
    world.send(campaign_id)
    assert (world.posts(), world.sends(campaign_id)) == (1, 1)


def test_a_provider_that_is_not_there_leaves_no_attempt(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.server.stop()
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["provider"]["category"] == "unreachable"
    assert world.ledger(campaign_id) == before


def test_a_line_that_cannot_be_opened_for_the_send_itself_leaves_no_attempt(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.meanwhile("dial", world.server.stop)
    with refused("provider_failed") as no:
        world.send(campaign_id)
    assert no.value.facts["provider"]["retryable"] is True
    assert world.ledger(campaign_id) == before


@pytest.mark.parametrize("operation", ["update", "content"])
@pytest.mark.parametrize("kind", ["accept_then_drop", "drop_before", "refuse_5xx"])
def test_an_upload_without_an_answer_blocks_the_send_until_it_can_no_longer_land(world, operation, kind):
    campaign_id = world.drafted()
    world.fault(operation, kind)
    with refused("provider_failed"):
        world.send(campaign_id)
    world.heard()
    with refused("in_progress") as no:
        world.send(campaign_id)
    wait_s = no.value.facts["retry_after"]
    assert 300 < wait_s <= 365
    assert world.heard() == []
    world.later(seconds=wait_s - 5)
    with refused("in_progress"):
        world.send(campaign_id)
    world.later(seconds=5)
    world.send(campaign_id)
    assert (world.heard(), world.sends(campaign_id)) == (SEND, 1)


def test_an_upload_that_lands_late_never_mails_other_bytes_than_were_approved(world):
    campaign_id = world.drafted()
    world.fault("content", "apply_late", ms=200_000, answer="drop")
    with refused("provider_failed"):
        world.send(campaign_id)
    with refused("in_progress") as no:
        world.send(campaign_id)
    world.later(seconds=no.value.facts["retry_after"])
    world.send(campaign_id)
    world.run()
    (mailed,) = world.sandbox.truth.events("mailed")
    late = [one for one in world.sandbox.truth.events("content") if one.by == "late"]
    (accepted,) = world.sandbox.truth.events("send_accepted")
    assert [one.at_ms < accepted.at_ms for one in late] == [True]
    assert mailed.html_sha256


# refusals of the send itself


def test_a_400_with_the_remote_still_a_draft_has_failed_and_is_read_again_after_an_hour_and_a_day(world):
    campaign_id = world.drafted()
    world.fault("send", "refuse_5xx", status=400)
    with refused("provider_failed"):
        world.send(campaign_id)
    heard = [*SEND, "GET inspect", "GET checklist"]
    assert world.heard() == heard, "it is believed after a look, and told with what the checklist says"
    (attempt,) = world.attempts(campaign_id)
    assert (attempt.status.value, attempt.retryable, attempt.error_code) == ("failed", False, "http_400")
    campaign = world.campaign(campaign_id)
    assert (campaign.state, campaign.flag) == (State.PROVIDER_DRAFT, "send_refused")
    began = world.now()
    looks = []
    while world.next_due() is not None:
        world.step()
        if world.heard() == ["GET inspect"]:
            looks.append(round((world.now() - began) / (60 * MINUTE_MS)))
    assert looks == [1, 24]
    assert world.campaign(campaign_id).look_at is None
    assert world.posts() == 1
    world.send(campaign_id, "s2")
    assert world.sends(campaign_id) == 1


def test_a_400_for_a_campaign_that_somebody_has_just_sent_by_hand_is_settled_as_sent(world):
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: world.send_by_hand(campaign_id))
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert world.heard() == [*SEND, "GET inspect"]
    assert world.state(campaign_id) == "unknown"
    world.run()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sent", ["succeeded"])
    assert (world.sends(campaign_id), world.sandbox.truth.duplicates()) == (1, 0)


def test_a_400_whose_second_look_has_no_answer_is_unknown(world):
    campaign_id = world.drafted()
    world.fault("send", "refuse_5xx", status=400)
    world.fault("inspect", "drop_before", after=2)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert world.state(campaign_id) == "unknown"
    world.run(hours=0.5)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("provider_draft", ["failed"])


def test_a_refused_key_on_the_send_itself_is_a_definite_no(world):
    campaign_id = world.drafted()
    world.fault("send", "refuse_5xx", status=401)
    with refused("provider_failed"):
        world.send(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("provider_draft", ["failed"])
    world.send(campaign_id, "s2")
    assert world.sends(campaign_id) == 1


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("accept_then_drop", {}),
        ("drop_before", {}),
        ("accept_then_5xx", {"status": 504}),
        ("proxy_page", {"applied": True}),
        ("proxy_page", {"status": 404}),
        ("garbled", {}),
        ("truncated", {}),
        ("refuse_5xx", {"status": 500}),
    ],
)
def test_every_other_answer_is_unknown_and_settles_by_itself_with_one_request(world, kind, facts):
    campaign_id = world.drafted()
    world.fault("send", kind, **facts)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert (world.heard(), world.state(campaign_id)) == (SEND, "unknown")
    world.calls.clear()
    world.run(hours=0.5)
    really = world.sends(campaign_id)
    assert world.state(campaign_id) == ("sent" if really else "provider_draft")
    assert world.statuses(campaign_id) == ["succeeded" if really else "failed"]
    assert world.posts() == 1
    assert set(world.calls) <= READS


def test_an_unknown_campaign_is_not_found_and_leaves_no_lock(world):
    for ask in (
        lambda: world.send("cmp_nobody"),
        lambda: world.draft("cmp_nobody"),
        lambda: world.reconcile("cmp_nobody"),
        lambda: world.bridge.show("cmp_nobody", actor=DANA),
        lambda: world.bridge.submit("cmp_nobody", actor=DANA),
        lambda: world.bridge.timeline("no such id'; --", actor=DANA),
    ):
        with refused("not_found"):
            ask()
    assert world.heard() == []
    assert world.home.rows("SELECT * FROM locks") == []


def test_stored_bytes_that_were_changed_in_the_database_are_not_sent(world):
    campaign_id = world.drafted()
    on = " ON snapshots" if world.home.dialect == "postgres" else ""
    world.home.rows(f"DROP TRIGGER snapshots_are_frozen{on}")
    world.home.rows("UPDATE snapshots SET html = replace(html, 'Read it', 'Buy it')")
    for ask in (lambda: world.send(campaign_id), lambda: world.draft(campaign_id, "d2")):
        with refused("validation_failed"):
            ask()
    assert (world.heard(), world.attempts(campaign_id)) == ([], [])
