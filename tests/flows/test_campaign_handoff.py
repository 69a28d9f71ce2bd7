"""The handoff: approved content becomes one draft at the provider, found again instead of made twice."""

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from support.world import AUDIENCE, DANA, DRAFT, HTML, refused

pytest_plugins = ["support.stores", "support.world"]

SEARCH = ["GET list_campaigns"]
UPLOAD = ["GET inspect", "PATCH update", "PUT content"]


def create_by_hand(world, campaign_id, generation=1, **settings):
    """Make a remote campaign that carries the campaign's mark, as a lost request of ours would have."""
    dossier = world.dossier(campaign_id)
    body = {
        "type": "regular",
        "recipients": {"list_id": AUDIENCE},
        "settings": {
            "title": f"Found [{dossier.stem}.g{generation}]",
            "subject_line": "Old",
            "from_name": "Dana",
            "reply_to": "news@acme.example",
            **settings,
        },
    }
    remote_id = world.by_hand("POST", "/campaigns", body)["id"]
    world.by_hand("PUT", f"/campaigns/{remote_id}/content", {"html": HTML})
    return remote_id


def test_a_handoff_searches_then_creates_then_uploads(world):
    campaign_id = world.approved()
    world.heard()
    made = world.draft(campaign_id)
    assert world.heard() == DRAFT
    assert (made.adopted, made.replay, made.state) == (False, False, State.PROVIDER_DRAFT)
    remote = world.sandbox.world.current(made.remote_id)
    dossier = world.dossier(campaign_id)
    assert remote.text("title") == f"November letter [{dossier.token}]"
    assert remote.content.html == HTML
    assert dossier.remote.content_pending is False
    assert dossier.campaign.open_attempt is None


def test_a_replayed_handoff_contacts_nobody(world):
    campaign_id = world.drafted()
    again = world.draft(campaign_id)
    assert (again.replay, again.remote_id) == (True, world.remote_id(campaign_id))
    assert world.heard() == []


def test_asking_for_the_draft_again_by_a_new_key_only_uploads_anew(world):
    campaign_id = world.drafted()
    world.draft(campaign_id, "d2")
    assert world.heard() == UPLOAD
    assert world.statuses(campaign_id, "create") == ["succeeded"]


def test_content_that_was_not_uploaded_is_uploaded_by_the_replay_and_nothing_else(world):
    campaign_id = world.approved()
    world.fault("content", "status_429")
    with refused("provider_failed"):
        world.draft(campaign_id)
    assert world.state(campaign_id) == "provider_draft"
    assert world.remote(campaign_id).content_pending is True
    world.heard()
    world.draft(campaign_id)
    assert world.heard() == UPLOAD
    assert world.remote(campaign_id).content_pending is False
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


def test_a_draft_whose_content_is_pending_gets_it_by_the_guard_before_it_is_sent(world):
    campaign_id = world.approved()
    world.fault("update", "status_429")
    with refused("provider_failed"):
        world.draft(campaign_id)
    world.send(campaign_id)
    remote = world.sandbox.world.current(world.remote_id(campaign_id))
    assert remote.content.html == HTML


def test_a_remote_draft_that_carries_the_mark_is_adopted_and_overwritten_with_what_was_approved(world):
    campaign_id = world.approved()
    remote_id = create_by_hand(world, campaign_id)
    world.heard()
    made = world.draft(campaign_id)
    assert (made.adopted, made.remote_id) == (True, remote_id)
    assert world.heard() == [*SEARCH, *UPLOAD]
    assert world.sandbox.world.current(remote_id).text("subject_line") == "What we shipped"
    (attempt,) = world.attempts(campaign_id, "create")
    assert (attempt.status.value, attempt.error_code) == ("succeeded", "adopted")
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("schedule", "scheduled"),
        ("sending", "sending"),
        ("sent", "sending"),  # a search has no figures: only a reading says sent
        ("canceled", "cancelled"),
        ("canceling", "sending"),
    ],
)
def test_what_is_further_than_a_draft_is_adopted_as_that_and_never_written_to(world, status, state):
    campaign_id = world.approved()
    remote_id = create_by_hand(world, campaign_id)
    world.rewrite(remote_id, status=status)
    world.heard()
    made = world.draft(campaign_id)
    assert (made.adopted, made.state.value, made.remote_id) == (True, state, remote_id)
    assert world.heard() == SEARCH
    assert world.state(campaign_id) == state
    with refused("invalid_state"):
        world.send(campaign_id)
    assert (world.heard(), world.posts()) == ([], 0)
    assert (world.next_due() is not None) == (state in ("scheduled", "sending")), "what moves is watched"


def test_what_went_wins_over_a_newer_draft(world):
    campaign_id = world.approved()
    gone = create_by_hand(world, campaign_id)
    world.by_hand("POST", f"/campaigns/{gone}/actions/send")
    create_by_hand(world, campaign_id)
    made = world.draft(campaign_id)
    assert (made.remote_id, made.state) == (gone, State.SENDING)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_what_can_only_be_judged_by_a_person_is_neither_adopted_nor_made_again(world):
    campaign_id = world.approved()
    remote_id = create_by_hand(world, campaign_id)
    world.rewrite(remote_id, status="archived")
    before = world.ledger(campaign_id)
    world.heard()
    with refused("reconciliation_required") as no:
        world.draft(campaign_id)
    assert no.value.facts["reason"] == "untracked"
    assert (world.heard(), world.ledger(campaign_id)) == (SEARCH, before)


def test_a_campaign_of_another_installation_or_without_the_mark_at_the_end_is_not_ours(world):
    campaign_id = world.approved()
    stem = world.dossier(campaign_id).stem
    for title in (f"[{stem}.g1] old", f"[x{stem}.g1]", f"[{stem}]", f"[{stem}.gx]", "[other.cmp.g1]"):
        remote_id = create_by_hand(world, campaign_id)
        world.by_hand("PATCH", f"/campaigns/{remote_id}", {"settings": {"title": title}})
    made = world.draft(campaign_id)
    assert made.adopted is False


@pytest.mark.parametrize("kind", ["refuse_5xx", "drop_before", "garbled", "status_429", "truncated"])
def test_a_search_without_an_answer_makes_nothing(world, kind):
    campaign_id = world.approved()
    before = world.ledger(campaign_id)
    world.fault("list_campaigns", kind)
    world.heard()
    with refused("provider_failed") as no:
        world.draft(campaign_id)
    assert no.value.facts["provider"]["retryable"] is True
    assert (world.heard(), world.ledger(campaign_id)) == (SEARCH, before)
    world.draft(campaign_id)
    assert len(world.sandbox.truth.events("created")) == 1


def test_a_search_that_did_not_see_everything_makes_nothing(world, monkeypatch):
    campaign_id = world.approved()
    for _ in range(3):
        create_by_hand(world, campaign_id, title="Somebody else's")
    before = world.ledger(campaign_id)
    monkeypatch.setattr("campaignbridge.providers.mailchimp.PAGE_SIZE", 1)
    monkeypatch.setattr("campaignbridge.providers.mailchimp.MAX_PAGES", 2)
    world.heard()
    with refused("provider_failed"):
        world.draft(campaign_id)
    assert (world.heard(), world.ledger(campaign_id)) == (SEARCH * 2, before)


def test_a_key_that_opens_another_account_makes_nothing_there(world):
    campaign_id = world.approved()
    before = world.ledger(campaign_id)
    other = "ffffffffffffffffffffffffffffffff-us1"
    world.sandbox.add_account(other, "Another account")
    world.sandbox.add_list("b1", "Theirs", 5, key=other)
    world.key = other
    with refused("provider_failed"):
        world.draft(campaign_id)
    assert (world.sandbox.truth.events("created"), world.ledger(campaign_id)) == ((), before)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [(429, "http_429", True), (400, "http_400", False), (401, "http_401", False)],
)
def test_a_refused_create_has_failed_and_a_new_key_goes_through(world, status, code, retryable):
    campaign_id = world.approved()
    kind = "status_429" if status == 429 else "refuse_5xx"
    world.fault("create", kind, status=0 if status == 429 else status)
    with refused("provider_failed"):
        world.draft(campaign_id)
    (attempt,) = world.attempts(campaign_id, "create")
    assert (attempt.status.value, attempt.error_code, attempt.retryable) == ("failed", code, retryable)
    assert world.state(campaign_id) == "approved"
    world.heard()
    with refused("provider_failed"):
        world.draft(campaign_id)
    assert world.heard() == [], "a recorded failure is not tried again"
    world.draft(campaign_id, "d2")
    assert world.state(campaign_id) == "provider_draft"
    assert len(world.sandbox.truth.events("created")) == 1


def test_an_unknown_create_blocks_every_key_and_every_edit(world):
    campaign_id = world.approved()
    world.fault("create", "accept_then_drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id, "create")) == ("approved", ["unknown"])
    assert world.actions(campaign_id) == ["reconcile"]
    fingerprint = world.campaign(campaign_id).approval.fingerprint
    before = world.ledger(campaign_id)
    world.heard()
    blocked = [
        lambda: world.draft(campaign_id),
        lambda: world.draft(campaign_id, "d2"),
        lambda: world.send(campaign_id),
        lambda: world.bridge.submit(campaign_id, actor=DANA),
        lambda: world.bridge.approve(campaign_id, actor=DANA, approved=fingerprint, max_recipients=9),
        lambda: world.bridge.revoke(campaign_id, actor=DANA),
    ]
    for attempt in blocked:
        with refused("reconciliation_required"):
            attempt()
    assert (world.heard(), world.ledger(campaign_id)) == ([], before)


def test_an_approval_that_is_taken_back_meanwhile_stops_the_create_and_leaves_no_attempt(world):
    campaign_id = world.approved()
    world.meanwhile("find_by_token", lambda: world.bridge.revoke(campaign_id, actor=DANA))
    with refused("conflict"):
        world.draft(campaign_id)
    assert (world.state(campaign_id), world.attempts(campaign_id, "create")) == ("ready_for_review", [])
    assert world.campaign(campaign_id).open_attempt is None
    assert world.sandbox.truth.events("created") == ()


def test_a_key_that_named_the_handoff_of_another_approval_is_a_conflict(world):
    campaign_id = world.drafted()
    world.home.rows("UPDATE campaigns SET approved_fingerprint = 'sha256:other'")
    with refused("idempotency_conflict"):
        world.draft(campaign_id)
    assert world.heard() == []


@pytest.mark.parametrize("state", ["draft", "ready_for_review"])
def test_content_that_is_not_approved_is_not_handed_off(world, state):
    campaign_id = world.create()
    if state == "ready_for_review":
        world.bridge.submit(campaign_id, actor=DANA)
    world.heard()
    with refused("invalid_state"):
        world.draft(campaign_id)
    assert world.heard() == []


def test_without_the_right_to_manage_nobody_is_contacted(world):
    campaign_id = world.approved()
    world.heard()
    with refused("forbidden"):
        world.draft(campaign_id, actor=Actor("cli:tess", frozenset({"read", "author", "approve", "deliver"})))
    assert world.heard() == []


def test_a_handoff_with_a_stale_version_is_a_conflict_with_the_current_one(world):
    campaign_id = world.approved()
    version = world.campaign(campaign_id).version
    world.heard()
    with refused("conflict") as no:
        world.draft(campaign_id, version=version - 1)
    assert (no.value.facts["version"], world.heard()) == (version, [])


def test_stored_bytes_that_were_changed_in_the_database_are_not_handed_off(world):
    campaign_id = world.approved()
    on = " ON snapshots" if world.home.dialect == "postgres" else ""
    world.home.rows(f"DROP TRIGGER snapshots_are_frozen{on}")
    world.home.rows("UPDATE snapshots SET subject = 'Win a car'")
    world.heard()
    with refused("validation_failed"):
        world.draft(campaign_id)
    assert (world.heard(), world.attempts(campaign_id, "create")) == ([], [])


def test_a_draft_that_was_scheduled_by_hand_is_not_uploaded_to(world):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)
    world.schedule_by_hand(campaign_id)
    with refused("invalid_state"):
        world.draft(campaign_id, "d2")
    assert (world.heard(), world.ledger(campaign_id)) == (["GET inspect"], before)


def test_a_long_name_is_cut_but_the_mark_that_finds_it_again_is_whole(world):
    campaign_id = world.approved(name="Ä" * 100)
    made = world.draft(campaign_id)
    title = world.sandbox.world.current(made.remote_id).text("title")
    assert title == f"{'Ä' * 60} [{world.dossier(campaign_id).token}]"
