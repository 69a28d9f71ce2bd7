"""A campaign at Resend from its draft to the end, and what becomes of a draft whose send was in doubt."""

import pytest

from campaignbridge.domain.campaign import State
from campaignbridge.domain.evidence import Applied, CantTell, NotApplied, Stop, vetoed
from campaignbridge.flows.resolving import Ruling, Verdict
from support.resend import PAGES, RESEND_DRAFT, RESEND_GUARD, RESEND_HTML
from support.world import DANA, Actor, refused

pytest_plugins = ["support.stores", "support.world", "support.resend"]
READER = Actor("cli:rita", frozenset({"read", "manage", "operate", "author", "approve", "test"}))


def went_once(world, campaign_id):
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(), world.sandbox.truth.duplicates()) == (1, 0)
    [mailed] = world.sandbox.truth.events("mailed")
    assert mailed.recipients == 240


def test_a_campaign_goes_from_its_draft_to_sent_with_exactly_these_requests(resend):
    campaign_id = resend.approved()
    resend.heard()
    resend.draft(campaign_id)
    assert resend.heard() == RESEND_DRAFT
    resend.send(campaign_id)
    fields = ["GET merge_fields"]  # the content mentions one, and none were read since
    asked = resend.heard()
    assert [one for one in asked if one not in fields] == [*RESEND_GUARD, "POST send"]
    assert resend.state(campaign_id) == "sending"
    went_once(resend, campaign_id)
    assert resend.remote(campaign_id).recipient_count == 240
    assert resend.remote(campaign_id).emails_sent == 240


def test_a_lost_answer_to_a_send_that_went_is_followed_to_sent_and_nobody_is_mailed_twice(resend):
    campaign_id = resend.doubted("accept_then_drop")
    assert resend.state(campaign_id) == "unknown"
    went_once(resend, campaign_id)


def test_a_lost_create_is_found_by_paging_through_names_and_not_made_again(resend):
    campaign_id = resend.approved()
    resend.fault("create", "accept_then_drop")
    with refused("reconciliation_required"):
        resend.draft(campaign_id)
    for number in range(30):  # more than a page of others came since
        resend.by_hand(
            "POST",
            "/broadcasts",
            {
                "name": f"other {number}",
                "segment_id": resend.segment,
                "from": "a@acme.example",
                "subject": "x",
            },
        )
    resend.run(hours=1)
    assert resend.state(campaign_id) == "provider_draft"
    assert sum("News" not in one.title for one in resend.sandbox.truth.events("created")) == 31
    resend.draft(campaign_id, "d2")
    resend.send(campaign_id)
    went_once(resend, campaign_id)


def test_a_schedule_is_kept_to_the_minute_and_taken_back_by_cancel(resend):
    campaign_id = resend.scheduled(in_minutes=61)
    assert resend.state(campaign_id) == "scheduled"
    assert resend.campaign(campaign_id).flag is None
    resend.unschedule(campaign_id)
    assert (resend.state(campaign_id), resend.sends()) == ("provider_draft", 0)
    resend.schedule(campaign_id, "p2")
    went_once(resend, campaign_id)


def test_a_send_under_way_is_stopped_and_what_left_is_told(resend):
    campaign_id = resend.sending()
    resend.later(ms=20_000)
    resend.cancel(campaign_id)
    resend.run(hours=2)
    assert resend.state(campaign_id) == "cancelled"
    [mailed] = resend.sandbox.truth.events("mailed")
    assert 0 < mailed.recipients < 240


def test_a_test_goes_to_its_addresses_as_an_ordinary_mail_with_the_drafts_content(resend):
    campaign_id = resend.drafted()
    assert resend.test(campaign_id).confirmed
    [event] = resend.sandbox.truth.events("test_mailed")
    assert event.recipients == 1
    went = resend.sandbox.world.current(resend.remote_id(campaign_id)).content.html
    assert went == RESEND_HTML


# --- spent and retired -----------------------------------------------------------------------------------


def test_a_send_settled_as_not_applied_leaves_a_spent_draft_that_is_never_sent(resend):
    campaign_id = resend.spent()
    assert resend.remote(campaign_id).spent
    assert "retire" in resend.actions(campaign_id)
    assert not {"send", "schedule"} & set(resend.actions(campaign_id))
    for ask in (lambda: resend.send(campaign_id, "s2"), lambda: resend.schedule(campaign_id, "p2")):
        with refused("invalid_state") as caught:
            ask()
        assert "retire" in caught.value.todo
    assert resend.posts() == 1
    assert resend.sends() == 0


def test_a_spent_draft_is_retired_and_a_new_one_is_sent_once(resend):
    campaign_id = resend.spent()
    old = resend.remote_id(campaign_id)
    retired = resend.retire(campaign_id)
    assert resend.heard() == ["GET inspect", "DELETE delete", "GET recipients"]
    assert (retired.remote_id, retired.generation, retired.state) == (old, 2, State.APPROVED)
    assert resend.dossier(campaign_id).remote is None
    resend.draft(campaign_id, "d2")
    assert resend.remote_id(campaign_id) != old
    resend.send(campaign_id, "s2")
    went_once(resend, campaign_id)


def test_a_late_send_finds_a_retired_draft_gone(resend):
    campaign_id = resend.drafted()
    resend.fault("send", "apply_late", ms=20 * 60_000, answer="drop")  # beyond the settle window
    with refused("reconciliation_required"):
        resend.send(campaign_id)
    resend.run(hours=0.2)
    assert resend.state(campaign_id) == "provider_draft"
    resend.retire(campaign_id)
    resend.draft(campaign_id, "d2")
    resend.send(campaign_id, "s2")
    went_once(resend, campaign_id)


def test_a_lost_answer_to_a_retirement_is_repeated_and_its_404_is_the_normal_end(resend):
    campaign_id = resend.spent()
    resend.fault("delete", "accept_then_drop")
    with refused("provider_failed"):
        resend.retire(campaign_id)
    assert resend.campaign(campaign_id).generation == 1
    assert resend.remote(campaign_id).writing_until is not None
    resend.retire(campaign_id)
    assert resend.campaign(campaign_id).generation == 2
    assert resend.state(campaign_id) == "approved"


def test_while_a_retirement_may_still_land_nothing_is_sent(resend):
    campaign_id = resend.drafted()
    resend.fault("delete", "drop_before")
    with refused("provider_failed"):
        resend.retire(campaign_id)
    with refused("invalid_state"):
        resend.send(campaign_id)
    with refused("in_progress"):
        resend.test(campaign_id)
    resend.later(hours=1)
    with refused("invalid_state"):
        resend.send(campaign_id, "s2")
    assert resend.posts() == 0


@pytest.mark.parametrize("state", ["scheduled", "queued", "sent"])
def test_what_is_no_draft_any_more_is_not_retired(resend, state):
    campaign_id = resend.drafted()
    place = f"/broadcasts/{resend.remote_id(campaign_id)}/send"
    body = {"scheduled_at": "2090-01-01T00:00:00Z"} if state == "scheduled" else {}
    resend.by_hand("POST", place, body)
    if state == "sent":
        resend.later(hours=1)
    with refused("invalid_state"):
        resend.retire(campaign_id)
    assert "DELETE delete" not in resend.heard()
    assert resend.campaign(campaign_id).generation == 1


def test_a_draft_that_is_scheduled_between_reading_and_deleting_is_not_retired(resend):
    campaign_id = resend.drafted()
    place = f"/broadcasts/{resend.remote_id(campaign_id)}/send"
    resend.meanwhile(
        "retire", lambda: resend.by_hand("POST", place, {"scheduled_at": "2090-01-01T00:00:00Z"})
    )
    with refused("invalid_state"):
        resend.retire(campaign_id)
    assert resend.campaign(campaign_id).generation == 1


def test_a_provider_that_deletes_what_is_being_sent_is_found_out_by_its_record(resend):
    resend.sandbox.world.behave(delete_undraft="accepted")
    campaign_id = resend.drafted()

    def sent():
        resend.send_by_hand(campaign_id)
        resend.later(seconds=30)

    resend.meanwhile("retire", sent)
    with refused("reconciliation_required") as caught:
        resend.retire(campaign_id)
    assert caught.value.facts["reason"] == "retired_but_went"
    assert resend.campaign(campaign_id).generation == 1
    assert resend.campaign(campaign_id).flag == "retired_but_went"
    with refused("invalid_state"):
        resend.send(campaign_id)
    assert resend.posts() == 0
    assert resend.sends() == 1


def test_a_draft_that_somebody_deleted_after_a_send_of_ours_is_not_replaced(resend):
    campaign_id = resend.spent()
    resend.by_hand("DELETE", f"/broadcasts/{resend.remote_id(campaign_id)}")
    with refused("reconciliation_required") as caught:
        resend.retire(campaign_id)
    assert caught.value.facts["reason"] == "missing"
    assert resend.campaign(campaign_id).generation == 1


def test_a_draft_that_somebody_deleted_before_any_send_is_replaced(resend):
    campaign_id = resend.drafted()
    resend.by_hand("DELETE", f"/broadcasts/{resend.remote_id(campaign_id)}")
    resend.retire(campaign_id)
    resend.draft(campaign_id, "d2")
    resend.send(campaign_id)
    went_once(resend, campaign_id)


def test_a_drifted_audience_is_left_by_retiring_the_draft(resend):
    campaign_id = resend.drafted()
    other = resend.by_hand("POST", "/segments", {"name": "staff"})["id"]
    resend.by_hand("PATCH", f"/broadcasts/{resend.remote_id(campaign_id)}", {"segment_id": other})
    with refused("audience_drift"):
        resend.send(campaign_id)
    resend.retire(campaign_id)
    resend.draft(campaign_id, "d2")
    resend.send(campaign_id, "s2")
    went_once(resend, campaign_id)


def test_a_listing_that_still_shows_the_retired_draft_leads_to_no_adoption(resend):
    campaign_id = resend.spent()
    old = resend.remote_id(campaign_id)
    resend.retire(campaign_id)
    resend.later(seconds=30)
    resend.fault("list_campaigns", "stale_read", ms=60_000)
    resend.draft(campaign_id, "d2")
    assert resend.remote_id(campaign_id) != old


def test_retiring_takes_the_right_to_deliver_and_the_version_that_was_looked_at(resend):
    campaign_id = resend.drafted()
    with refused("forbidden"):
        resend.retire(campaign_id, actor=READER)
    with refused("conflict"):
        resend.retire(campaign_id, version=1)
    with resend.held(campaign_id), refused("locked"):
        resend.retire(campaign_id)
    assert resend.heard() == []


def test_an_open_request_is_not_retired_away(resend):
    campaign_id = resend.doubted("refuse_5xx")
    with refused("reconciliation_required"):
        resend.retire(campaign_id)
    assert "DELETE delete" not in resend.heard()


def test_the_program_asks_first_then_retires_and_says_what_comes_next(sqlite_resend):
    campaign_id = sqlite_resend.drafted()
    code, _, told = sqlite_resend.program("campaigns", "retire", campaign_id)
    assert code != 0
    assert "--yes" in told
    code, _, told = sqlite_resend.program("campaigns", "retire", campaign_id, "--yes")
    assert (code, sqlite_resend.state(campaign_id)) == (0, "approved")
    assert f"campaigns draft {campaign_id}" in told
    code, told, _ = sqlite_resend.program("campaigns", "timeline", campaign_id)
    assert "Draft made unsendable at Resend" in told
    code, _, _ = sqlite_resend.program("connections", "rate", "letters", "--per-second", "10")
    assert code == 0


# --- cancel by retiring ----------------------------------------------------------------------------------


def test_cancelling_an_unconfirmed_send_that_reads_as_a_draft_retires_it_inside_the_window(resend):
    campaign_id = resend.doubted("refuse_5xx")
    resend.cancel(campaign_id)
    assert resend.heard() == ["GET inspect", "GET inspect", "DELETE delete", "GET recipients"]
    assert resend.state(campaign_id) == "cancelled"
    assert resend.statuses(campaign_id) == ["failed"]
    resend.run()
    assert resend.sends() == 0


def test_a_send_that_arrives_after_its_cancellation_mails_nobody(resend):
    campaign_id = resend.drafted()
    resend.fault("send", "apply_late", ms=60_000, answer="drop")
    with refused("reconciliation_required"):
        resend.send(campaign_id)
    resend.cancel(campaign_id)
    resend.later(hours=1)
    assert (resend.state(campaign_id), resend.sends()) == ("cancelled", 0)


def test_a_send_that_applies_just_before_the_deletion_is_read_again_and_stopped(resend):
    campaign_id = resend.drafted()
    resend.fault("send", "apply_late", ms=5_000, answer="drop")
    with refused("reconciliation_required"):
        resend.send(campaign_id)
    resend.meanwhile("retire", lambda: resend.later(seconds=10))
    resend.cancel(campaign_id)
    resend.run(hours=2)
    assert resend.state(campaign_id) == "cancelled"
    assert resend.statuses(campaign_id) == ["succeeded"]
    assert (resend.sends(), len(resend.sandbox.truth.events("cancelled"))) == (1, 1)


def test_a_cancellation_whose_deletion_has_no_answer_leaves_everything_open(resend):
    campaign_id = resend.doubted("refuse_5xx")
    resend.fault("delete", "accept_then_drop")
    with refused("provider_failed"):
        resend.cancel(campaign_id)
    assert resend.state(campaign_id) == "unknown"
    resend.cancel(campaign_id, "c2")
    assert resend.state(campaign_id) == "cancelled"


# --- the provider's own record ---------------------------------------------------------------------------


def test_a_record_that_names_somebody_vetoes_not_applied(resend):
    campaign_id = resend.doubted("accept_then_drop")
    resend.later(minutes=20)
    resend.rewrite(resend.remote_id(campaign_id), status="save")  # the provider tells a draft, and mailed all
    resend.run(hours=0.5)
    assert resend.state(campaign_id) in ("sending", "unknown")
    assert resend.statuses(campaign_id) != ["failed"]


@pytest.mark.parametrize(
    ("mailed", "told", "finding"),
    [
        (False, False, NotApplied(State.PROVIDER_DRAFT)),
        (True, False, Applied(State.SENDING)),
        (True, True, Applied(State.SENDING)),
        (False, True, Stop("contradiction")),
        (None, False, CantTell()),
        (None, True, Stop("contradiction")),
    ],
)
def test_not_applied_stands_only_without_a_record_and_without_a_verified_event(mailed, told, finding):
    assert vetoed(NotApplied(State.PROVIDER_DRAFT), mailed=mailed, told=told) == finding


# --- resolving -------------------------------------------------------------------------------------------


def test_what_a_person_calls_not_sent_is_made_unsendable_first(resend):
    campaign_id = resend.doubted("refuse_5xx")
    resend.rewrite(resend.remote_id(campaign_id), status="archived")
    resend.run(hours=1)
    assert resend.campaign(campaign_id).stopped_reason == "untracked"
    ruling = Ruling(verdict=Verdict.NOT_SENT, evidence="the account's log")
    with refused("invalid_state"):
        resend.bridge.resolve(campaign_id, actor=DANA, ruling=ruling)
    resend.rewrite(resend.remote_id(campaign_id), status="save")
    resend.bridge.resolve(campaign_id, actor=DANA, ruling=ruling)
    assert resend.state(campaign_id) == "failed"
    assert resend.heard()[-2:] == ["DELETE delete", "GET recipients"]


# --- counting --------------------------------------------------------------------------------------------


def test_people_who_left_are_not_counted_and_a_changed_count_refuses_the_send(resend):
    campaign_id = resend.drafted()
    resend.by_hand("PATCH", "/contacts/person1@example.invalid", {"unsubscribed": True})
    with refused("validation_failed") as caught:
        resend.send(campaign_id)
    assert caught.value.facts["recipients"] == 239
    resend.send(campaign_id, "s2", recipients=239)
    went = resend.sandbox.truth.events("send_accepted")
    assert [event.recipients for event in went] == [239]


def test_an_audience_beyond_the_bound_is_not_sent(resend):
    campaign_id = resend.drafted(bound=239)
    with refused("validation_failed"):
        resend.send(campaign_id, recipients=239)
    assert resend.posts() == 0


def test_a_count_without_an_answer_refuses_the_send(resend):
    campaign_id = resend.drafted()
    resend.fault("segment_members", "drop_before", after=PAGES - 1)
    with refused("provider_failed"):
        resend.send(campaign_id)
    assert resend.posts() == 0


# --- a provider without `retire` -------------------------------------------------------------------------


def test_mailchimps_draft_is_retired_by_hand_only_and_only_before_any_send(world):
    campaign_id = world.drafted()
    with refused("invalid_state") as caught:
        world.bridge.retire(campaign_id, actor=DANA)
    assert "Delete the draft there" in caught.value.todo
    world.by_hand("DELETE", f"/campaigns/{world.remote_id(campaign_id)}")
    world.bridge.retire(campaign_id, actor=DANA)
    assert world.campaign(campaign_id).generation == 2
    world.draft(campaign_id, "d2")
    world.send(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends()) == ("sent", 1)


def test_mailchimps_draft_with_a_send_in_its_past_is_never_replaced(world):
    campaign_id = world.doubted("refuse_5xx")
    world.run(hours=0.5)
    assert world.state(campaign_id) == "provider_draft"
    assert not world.remote(campaign_id).spent
    world.by_hand("DELETE", f"/campaigns/{world.remote_id(campaign_id)}")
    with refused("reconciliation_required"):
        world.bridge.retire(campaign_id, actor=DANA)
    assert world.campaign(campaign_id).generation == 1
