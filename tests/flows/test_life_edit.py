"""Editing, withdrawing, copying and putting away: local, versioned, and never a way past an approval."""

import hashlib

import pytest

from campaignbridge.domain.actor import RIGHTS, Actor
from campaignbridge.domain.ledger import SETTLE_MS
from support.world import AUDIENCE, BOUND, DANA, DRAFT, HTML, PEOPLE, refused

pytest_plugins = ["support.stores", "support.world"]

NEW = "<h1>Corrected</h1><p>Read this instead.</p><p><a href='*|UNSUB|*'>Unsubscribe</a></p>"
STAGES = [
    "draft", "ready_for_review", "approved", "provider_draft", "scheduled", "sending", "sent", "cancelled",
    "archived", "failed", "unknown",
]  # fmt: skip
MOVING = ["provider_draft", "scheduled", "sending", "sent", "cancelled", "archived", "unknown"]


def at(world, stage):
    """Return a campaign in this state."""
    make = {
        "draft": world.create,
        "ready_for_review": world.create,
        "approved": world.approved,
        "provider_draft": world.drafted,
        "scheduled": world.scheduled,
        "sending": world.sending,
        "sent": world.sending,
        "cancelled": world.create,
        "archived": world.create,
        "failed": world.sending,
        "unknown": world.doubted,
    }
    campaign_id = make[stage]()
    if stage == "ready_for_review":
        world.bridge.submit(campaign_id, actor=DANA)
    elif stage == "sent":
        world.run()
    elif stage == "cancelled":
        world.cancel(campaign_id)
    elif stage == "archived":
        world.bridge.archive(campaign_id, actor=DANA)
    elif stage == "failed":
        world.home.rows(
            "UPDATE campaigns SET state = 'failed', look_at = NULL, stopped_reason = NULL WHERE id = ?",
            campaign_id,
        )
    assert world.state(campaign_id) == stage
    world.heard()
    return campaign_id


def rewrite(world, campaign_id, html=NEW, **changes):
    return world.bridge.set_content(campaign_id, actor=DANA, content=html.encode(), markdown=False, **changes)


def approve_anew(world, campaign_id):
    _, checked = world.bridge.submit(campaign_id, actor=DANA)
    world.bridge.approve(campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=BOUND)


def sha(html):
    return hashlib.sha256(html.encode()).hexdigest()


# content


@pytest.mark.parametrize("stage", ["draft", "ready_for_review", "approved"])
def test_new_content_is_a_revision_more_drops_the_approval_and_is_a_draft_again(world, stage):
    campaign_id = at(world, stage)
    before = world.campaign(campaign_id)
    rewrite(world, campaign_id)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.approval) == ("draft", None)
    assert (campaign.version, campaign.revision) == (before.version + 1, before.revision + 1)
    snapshot = world.bridge.show(campaign_id, actor=DANA).snapshot
    assert (snapshot.html, snapshot.envelope.subject, snapshot.intact) == (NEW, "What we shipped", True)
    (event,) = world.events(campaign_id, "content_changed")
    assert (event["actor"], event["data"]["revision"]) == ("cli:dana", campaign.revision)
    assert world.heard() == []


def test_every_revision_is_kept_and_a_new_subject_alone_is_one(world):
    campaign_id = world.create()
    rewrite(world, campaign_id, HTML, subject="Another subject", preview_text="Look inside")
    rewrite(world, campaign_id)
    rows = world.home.rows("SELECT revision, subject, html FROM snapshots ORDER BY revision")
    assert [(row["revision"], row["subject"], row["html"]) for row in rows] == [
        (1, "What we shipped", HTML),
        (2, "Another subject", HTML),
        (3, "Another subject", NEW),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "two\nlines"},
        {"subject": "x" * 151},
        {"preview_text": "a\x00b"},
        {"subject": ""},
        {"html": ""},
    ],
)
def test_content_that_could_never_be_sent_leaves_everything_as_it_was(sqlite_world, changes):
    world = sqlite_world
    campaign_id = world.approved()
    before = world.campaign(campaign_id)
    with refused("invalid_input"):
        rewrite(world, campaign_id, **changes)
    assert world.campaign(campaign_id) == before
    assert len(world.home.rows("SELECT 1 AS one FROM snapshots")) == 1


@pytest.mark.parametrize("stage", [*MOVING, "failed"])
def test_content_and_audience_of_what_is_further_than_approved_stay_as_they_are(world, stage):
    campaign_id = at(world, stage)
    before = world.campaign(campaign_id)
    code = "reconciliation_required" if stage == "unknown" else "invalid_state"
    with refused(code):
        rewrite(world, campaign_id)
    with refused(code):
        world.bridge.set_audience(campaign_id, actor=DANA, audience="zz9")
    assert (world.campaign(campaign_id), world.heard()) == (before, [])


def test_each_edit_refuses_a_stale_version_with_the_current_one(world):
    campaign_id = world.drafted()
    version = world.campaign(campaign_id).version
    edits = [lambda stale: world.bridge.withdraw(campaign_id, actor=DANA, expected_version=stale)]
    edits[0](version)
    version += 1
    edits += [
        lambda stale: rewrite(world, campaign_id, expected_version=stale),
        lambda stale: world.bridge.archive(campaign_id, actor=DANA, expected_version=stale),
        lambda stale: world.cancel(campaign_id, version=stale),
    ]
    for edit in edits[1:]:
        with refused("conflict") as no:
            edit(version - 1)
        assert no.value.facts["version"] == version
    assert world.state(campaign_id) == "approved"


def test_an_edit_between_the_checks_of_a_handoff_and_its_intent_stops_the_handoff(world):
    campaign_id = world.approved()
    world.meanwhile("dial", lambda: rewrite(world, campaign_id))
    with refused("conflict"):
        world.draft(campaign_id)
    assert "POST create" not in world.heard()
    assert (world.state(campaign_id), world.attempts(campaign_id, "create")) == ("draft", [])


@pytest.mark.parametrize(
    ("right", "edit"),
    [
        (
            "author",
            lambda world, who: world.bridge.set_content("cmp_x", actor=who, content=b"x", markdown=False),
        ),
        ("author", lambda world, who: world.bridge.set_audience("cmp_x", actor=who, audience="a")),
        ("author", lambda world, who: world.bridge.duplicate("cmp_x", actor=who, key="k")),
        ("manage", lambda world, who: world.bridge.withdraw("cmp_x", actor=who)),
        ("manage", lambda world, who: world.bridge.archive("cmp_x", actor=who)),
        ("operate", lambda world, who: world.bridge.acknowledge("cmp_x", actor=who, reason="seen")),
    ],
)
def test_every_edit_needs_its_right_before_it_looks_at_anything(sqlite_world, right, edit):
    with refused("forbidden") as no:
        edit(sqlite_world, Actor("cli:tom", RIGHTS - {right, "admin"}))
    assert no.value.facts["right"] == right
    with refused("not_found"):
        edit(sqlite_world, Actor("cli:ann", frozenset({right})))


# audience


@pytest.mark.parametrize(
    ("stage", "after"),
    [("draft", "draft"), ("ready_for_review", "ready_for_review"), ("approved", "ready_for_review")],
)
def test_another_audience_drops_the_approval_and_goes_back_to_review(world, stage, after):
    campaign_id = at(world, stage)
    version = world.campaign(campaign_id).version
    world.bridge.set_audience(campaign_id, actor=DANA, audience="zz9")
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.audience, campaign.approval) == (after, "zz9", None)
    assert (campaign.version, world.heard()) == (version + 1, [])


def test_the_audience_of_a_withdrawn_draft_is_never_swapped(world):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    with refused("invalid_state"):
        world.bridge.set_audience(campaign_id, actor=DANA, audience="zz9")
    rewrite(world, campaign_id)
    with refused("invalid_state"):
        world.bridge.set_audience(campaign_id, actor=DANA, audience="zz9")
    assert (world.campaign(campaign_id).audience, world.heard()) == (AUDIENCE, [])


# withdraw


def test_a_withdrawn_draft_is_approved_again_by_the_same_person_at_the_same_time(world):
    campaign_id = world.drafted()
    before = world.campaign(campaign_id)
    world.later(minutes=3)
    world.bridge.withdraw(campaign_id, actor=DANA)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.version) == ("approved", before.version + 1)
    assert campaign.approval == before.approval
    assert (world.heard(), campaign.look_at) == ([], None), "nobody was asked, and nothing is watched"


def test_withdrawn_and_rewritten_content_goes_into_the_same_remote_draft_and_only_that_is_mailed(world):
    campaign_id = world.drafted()
    remote_id = world.remote_id(campaign_id)
    world.bridge.withdraw(campaign_id, actor=DANA)
    rewrite(world, campaign_id)
    approve_anew(world, campaign_id)
    world.heard()
    made = world.draft(campaign_id, "d2")
    assert world.heard() == ["GET list_campaigns", "GET inspect", "PATCH update", "PUT content"]
    assert (made.remote_id, made.adopted) == (remote_id, True)
    world.send(campaign_id)
    world.run()
    (mailed,) = world.sandbox.truth.events("mailed")
    assert mailed.html_sha256 == sha(world.sandbox.world.current(remote_id).content.html)
    assert "Read this instead" in world.sandbox.world.current(remote_id).content.html
    assert (world.state(campaign_id), len(world.sandbox.truth.events("created"))) == ("sent", 1)


def test_a_withdrawn_campaign_can_be_handed_off_again_unchanged(world):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    world.draft(campaign_id, "d2")
    assert world.state(campaign_id) == "provider_draft"
    world.send(campaign_id)
    assert (world.sends(campaign_id), len(world.sandbox.truth.events("created"))) == (1, 1)


def test_the_old_handoffs_key_does_not_stand_for_the_new_content(world):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    rewrite(world, campaign_id)
    approve_anew(world, campaign_id)
    with refused("idempotency_conflict"):
        world.draft(campaign_id)
    assert world.state(campaign_id) == "approved"


@pytest.mark.parametrize("rewritten", [False, True])
def test_looking_at_a_withdrawn_campaign_neither_undoes_that_nor_calls_it_a_contradiction(world, rewritten):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    if rewritten:
        rewrite(world, campaign_id)
    state, version = world.state(campaign_id), world.campaign(campaign_id).version
    for _ in range(3):
        assert world.reconcile(campaign_id).news == "same"
        world.later(minutes=2)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.version) == (state, version)
    assert (campaign.look_at, campaign.stopped_reason) == (None, None)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "provider_draft"])
def test_only_a_draft_at_the_provider_can_be_withdrawn(world, stage):
    campaign_id = at(world, stage)
    before = world.campaign(campaign_id)
    with refused("reconciliation_required" if stage == "unknown" else "invalid_state"):
        world.bridge.withdraw(campaign_id, actor=DANA)
    assert world.campaign(campaign_id) == before


def test_a_draft_whose_send_did_not_apply_cannot_be_withdrawn_while_that_is_read_again(world):
    campaign_id = world.doubted("drop_before")
    world.run(hours=0.5)
    assert world.state(campaign_id) == "provider_draft"
    with refused("invalid_state"):
        world.bridge.withdraw(campaign_id, actor=DANA)
    assert "withdraw" not in world.actions(campaign_id)
    world.run(hours=48)
    assert "withdraw" in world.actions(campaign_id)
    world.bridge.withdraw(campaign_id, actor=DANA)
    assert world.state(campaign_id) == "approved"


def test_a_withdrawn_draft_that_somebody_schedules_at_the_provider_is_found_before_anything_is_written(world):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    rewrite(world, campaign_id)
    approve_anew(world, campaign_id)
    world.schedule_by_hand(campaign_id)
    world.heard()
    made = world.draft(campaign_id, "d2")
    assert (made.state.value, world.heard()) == ("scheduled", ["GET list_campaigns"])
    with refused("invalid_state"):
        world.send(campaign_id)
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_more_recipients_are_approved_by_withdrawing_and_revoking_and_never_behind_the_draft(world):
    campaign_id = world.drafted(bound=PEOPLE - 1)
    with refused("validation_failed") as no:
        world.send(campaign_id)
    assert "withdraw" in no.value.todo
    digest = world.campaign(campaign_id).approval.fingerprint
    ask = lambda: world.bridge.approve(campaign_id, actor=DANA, approved=digest, max_recipients=BOUND)  # noqa: E731
    with refused("invalid_state"):
        ask()
    world.bridge.withdraw(campaign_id, actor=DANA)
    world.bridge.revoke(campaign_id, actor=DANA)
    ask()
    world.draft(campaign_id, "d2")
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


# an upload that lands late


@pytest.mark.parametrize("ask", ["send", "schedule", "test"])
def test_an_older_upload_that_may_still_arrive_keeps_everything_from_being_mailed(world, ask):
    """It carries the content from before the withdrawal, and lands after the new content has."""
    campaign_id = world.approved()
    world.fault("content", "apply_late", ms=120_000, answer="504")
    with refused("provider_failed"):
        world.draft(campaign_id)
    remote_id = world.remote_id(campaign_id)
    world.bridge.withdraw(campaign_id, actor=DANA)
    rewrite(world, campaign_id)
    approve_anew(world, campaign_id)
    world.draft(campaign_id, "d2")
    assert "Read this instead" in world.sandbox.world.current(remote_id).content.html
    world.heard()
    with refused("in_progress") as no:
        getattr(world, ask)(campaign_id)
    assert world.heard() == []
    world.later(seconds=121)
    assert "Read it." in world.sandbox.world.current(remote_id).content.html, "the old one has landed"
    with refused("in_progress") as no:
        getattr(world, ask)(campaign_id)
    wait = no.value.facts["retry_after"]
    assert wait > SETTLE_MS / 1000 - 130
    world.later(seconds=wait + 1)
    getattr(world, ask)(campaign_id)
    world.run()
    kind = "test_mailed" if ask == "test" else "mailed"
    assert [event.html_sha256 for event in world.sandbox.truth.events(kind)] == [
        sha(world.sandbox.world.current(remote_id).content.html)
    ]
    assert "Read this instead" in world.sandbox.world.current(remote_id).content.html


# duplicate


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "unknown"])
def test_a_duplicate_is_a_draft_with_the_same_content_and_nothing_of_the_delivery(world, stage):
    campaign_id = at(world, stage)
    before = world.campaign(campaign_id)
    copy = world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign
    assert (copy.state.value, copy.version, copy.revision, copy.generation) == ("draft", 1, 1, 1)
    assert (copy.approval, copy.open_attempt, copy.look_at, copy.scheduled_for) == (None, None, None, None)
    assert (copy.name, copy.audience) == ("November letter (copy)", AUDIENCE)
    view = world.bridge.show(copy.id, actor=DANA)
    assert (view.attempts, view.dossier.remote, view.snapshot.html) == ((), None, HTML)
    assert view.snapshot.fingerprint == world.bridge.show(campaign_id, actor=DANA).snapshot.fingerprint
    assert (world.campaign(campaign_id), world.heard()) == (before, [])


def test_the_same_key_makes_the_same_duplicate_once_and_another_key_another(world):
    campaign_id = world.approved()
    first = world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign
    rewrite(world, first.id)
    again = world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign
    assert (again.id, again.revision) == (first.id, 2), "it is answered, not made anew"
    other = world.bridge.duplicate(campaign_id, actor=DANA, key="k2").campaign
    of_copy = world.bridge.duplicate(first.id, actor=DANA, key="k1").campaign
    assert len({campaign_id, first.id, other.id, of_copy.id}) == 4
    assert len(world.events(first.id, "created")) == 1


def test_what_is_not_settled_is_not_duplicated(world):
    campaign_id = world.doubted()
    with refused("reconciliation_required"):
        world.bridge.duplicate(campaign_id, actor=DANA, key="k1")
    assert "duplicate" not in world.actions(campaign_id)
    world.reconcile(campaign_id)
    assert world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign.state.value == "draft"


def test_a_duplicate_of_what_was_sent_is_held_back_as_the_same_content(world):
    campaign_id = world.sending()
    world.run()
    copy = world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign.id
    approve_anew(world, copy)
    world.draft(copy)
    with refused("already_sent_elsewhere") as no:
        world.send(copy)
    assert (no.value.facts["campaign"], world.sends(copy)) == (campaign_id, 0)


@pytest.mark.parametrize("key", ["", "with space", "k" * 101])
def test_a_duplicate_needs_a_well_formed_key(sqlite_world, key):
    campaign_id = sqlite_world.create()
    with refused("invalid_input"):
        sqlite_world.bridge.duplicate(campaign_id, actor=DANA, key=key)


# archive


@pytest.mark.parametrize("stage", ["draft", "ready_for_review", "approved", "failed"])
def test_what_was_never_sent_is_put_away_for_good(world, stage):
    campaign_id = at(world, stage)
    world.bridge.archive(campaign_id, actor=DANA)
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.look_at) == ("archived", None)
    assert (world.heard(), len(world.events(campaign_id, "archived"))) == ([], 1)
    with refused("invalid_state"):
        world.bridge.archive(campaign_id, actor=DANA)


@pytest.mark.parametrize("stage", MOVING)
def test_nothing_that_may_move_or_went_is_put_away(world, stage):
    campaign_id = at(world, stage)
    before = world.campaign(campaign_id)
    with refused("reconciliation_required" if stage == "unknown" else "invalid_state"):
        world.bridge.archive(campaign_id, actor=DANA)
    assert world.campaign(campaign_id) == before


def test_a_first_handoff_searches_and_makes_the_draft_of_the_rewritten_content(world):
    campaign_id = world.approved()
    rewrite(world, campaign_id)
    approve_anew(world, campaign_id)
    world.heard()
    world.draft(campaign_id)
    assert world.heard() == DRAFT
    assert "Read this instead" in world.sandbox.world.current(world.remote_id(campaign_id)).content.html
