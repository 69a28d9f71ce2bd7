"""What is offered is what may be done: every action that is allowed passes its first checks, every other is refused."""

import pytest

from campaignbridge.domain.actor import RIGHTS, Actor, with_all_rights
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.resolving import Ruling, Verdict
from campaignbridge.flows.views import RULES
from support.world import BOUND, DANA, KEY, MINUTE_MS, outcome_of, refused

pytest_plugins = ["support.stores", "support.world"]

WRONG_KEY = "00000000000000000000000000000000-us1"
ASKS = {
    "content": lambda world, one, who: world.bridge.set_content(
        one, actor=who, content=b"<p>x *|UNSUB|*</p>", markdown=False
    ),
    "submit": lambda world, one, who: world.bridge.submit(one, actor=who),
    "approve": lambda world, one, who: world.bridge.approve(
        one, actor=who, approved=world.bridge.show(one, actor=DANA).snapshot.fingerprint, max_recipients=BOUND
    ),
    "revoke": lambda world, one, who: world.bridge.revoke(one, actor=who),
    "draft": lambda world, one, who: world.draft(one, "x1", actor=who),
    "test": lambda world, one, who: world.test(one, "x1", actor=who),
    "schedule": lambda world, one, who: world.schedule(one, "x1", actor=who),
    "send": lambda world, one, who: world.send(one, "x1", actor=who),
    "withdraw": lambda world, one, who: world.bridge.withdraw(one, actor=who),
    "unschedule": lambda world, one, who: world.unschedule(one, "x1", actor=who),
    "retire": lambda world, one, who: world.bridge.retire(one, actor=who),
    "cancel": lambda world, one, who: world.cancel(one, "x1", actor=who),
    "archive": lambda world, one, who: world.bridge.archive(one, actor=who),
    "duplicate": lambda world, one, who: world.bridge.duplicate(one, actor=who, key="x1"),
    "reconcile": lambda world, one, who: world.bridge.reconcile(one, actor=who),
    "resolve": lambda world, one, who: world.bridge.resolve(
        one, actor=who, ruling=Ruling(verdict=_verdict(world, one), evidence="ticket 1")
    ),
}  # fmt: skip
BEFORE_A_SEND = {"content", "cancel", "archive", "duplicate"}
OFFERED = {
    "draft": BEFORE_A_SEND | {"submit"},
    "ready_for_review": BEFORE_A_SEND | {"approve"},
    "approved": BEFORE_A_SEND | {"revoke", "draft"},
    "provider_draft": {"test", "schedule", "send", "retire", "withdraw", "cancel", "duplicate", "reconcile"},
    "scheduled": {"unschedule", "cancel", "duplicate", "reconcile"},
    "sending": {"cancel", "duplicate", "reconcile"},
    "sent": {"duplicate"},
    "failed": {"archive", "duplicate", "reconcile"},
    "cancelled": {"duplicate"},
    "archived": {"duplicate"},
    "lost create": {"reconcile"},
    "unknown send": {"cancel", "reconcile"},
    "unknown schedule": {"cancel", "reconcile"},
    "unknown unschedule": {"reconcile"},
    "unknown cancel": {"reconcile"},
    "stopped": {"cancel", "reconcile", "resolve"},
    "pending content": {"draft", "retire", "withdraw", "cancel", "duplicate", "reconcile"},
    "withdrawn": BEFORE_A_SEND | {"revoke", "draft", "retire", "reconcile"},
    "not applied": {"test", "schedule", "send", "retire", "cancel", "duplicate", "reconcile"},
}
# What depends on what the provider shows just now is refused later than by the campaign's own facts.
LATER = {
    ("unknown send", "cancel"): "in_progress",
    ("unknown schedule", "cancel"): "in_progress",
    ("stopped", "cancel"): "in_progress",
    # Mailchimp can't make a draft unsendable: a person deletes it there first.
    ("provider_draft", "retire"): "invalid_state",
    ("pending content", "retire"): "invalid_state",
    ("withdrawn", "retire"): "invalid_state",
    ("not applied", "retire"): "invalid_state",
}
# Not offered, yet it may be asked for: it uploads what was approved anew, and that does no harm.
HARMLESS = {
    "provider_draft": {"draft"},
    "not applied": {"draft"},
    "pending content": {"test", "schedule", "send"},
}


def _verdict(world, campaign_id):
    attempt = world.dossier(campaign_id).attempt
    lost = attempt is not None and attempt.operation.value == "create"
    return Verdict.NOT_CREATED if lost else Verdict.SENT


def unanswered(world, campaign_id, ask):
    world.fault("create" if ask == "draft" else ask, "drop_before")
    with refused("reconciliation_required"):
        getattr(world, ask)(campaign_id)
    return campaign_id


def make(world, stage, **changes):  # noqa: C901, PLR0911, PLR0912  a list of cases
    world.sandbox.world.behave(sending_ms=600 * MINUTE_MS)
    match stage:
        case "draft":
            return world.create(**changes)
        case "ready_for_review":
            campaign_id = world.create(**changes)
            world.bridge.submit(campaign_id, actor=DANA)
            return campaign_id
        case "approved":
            return world.approved(**changes)
        case "provider_draft":
            return world.drafted(**changes)
        case "scheduled":
            return world.scheduled(**changes)
        case "sending":
            return world.sending(**changes)
        case "sent":
            world.sandbox.world.behave(sending_ms=0)
            campaign_id = world.sending(**changes)
            world.run()
            return campaign_id
        case "failed":
            campaign_id = make(world, "stopped", **changes)
            ruling = Ruling(verdict=Verdict.NOT_SENT, evidence="ticket 1")
            world.bridge.resolve(campaign_id, actor=DANA, ruling=ruling)
            return campaign_id
        case "cancelled":
            campaign_id = world.create(**changes)
            world.cancel(campaign_id)
            return campaign_id
        case "archived":
            campaign_id = world.create(**changes)
            world.bridge.archive(campaign_id, actor=DANA)
            return campaign_id
        case "lost create":
            return unanswered(world, world.approved(**changes), "draft")
        case "unknown send":
            return unanswered(world, world.drafted(**changes), "send")
        case "unknown schedule":
            return unanswered(world, world.drafted(**changes), "schedule")
        case "unknown unschedule":
            return unanswered(world, world.scheduled(**changes), "unschedule")
        case "unknown cancel":
            return unanswered(world, world.sending(**changes), "cancel")
        case "stopped":
            campaign_id = unanswered(world, world.drafted(**changes), "send")
            world.key = WRONG_KEY
            world.run(hours=0.1)
            world.key = KEY
            world.later(minutes=10)
            assert world.campaign(campaign_id).stopped_reason == "credential_refused"
            return campaign_id
        case "pending content":
            campaign_id = world.approved(**changes)
            world.fault("content", "status_429")
            with refused("provider_failed"):
                world.draft(campaign_id)
            return campaign_id
        case "withdrawn":
            campaign_id = world.drafted(**changes)
            world.bridge.withdraw(campaign_id, actor=DANA)
            return campaign_id
        case "not applied":
            campaign_id = unanswered(world, world.drafted(**changes), "send")
            world.run(hours=0.5)
            return campaign_id
    raise AssertionError(stage)


@pytest.mark.parametrize("stage", OFFERED)
def test_for_each_state_and_open_request_exactly_this_is_offered(world, stage):
    campaign_id = make(world, stage)
    assert set(world.actions(campaign_id)) == OFFERED[stage]
    shown = world.bridge.show(campaign_id, actor=DANA).actions
    assert [one.name for one in shown] == [*(rule[0] for rule in RULES), "reconcile", "resolve"]
    assert all(bool(one.why_not) != one.allowed and one.what for one in shown), "each no has its reason"


@pytest.mark.parametrize("stage", OFFERED)
def test_what_is_offered_may_be_asked_for_and_what_is_not_is_refused(sqlite_world, stage):
    world = sqlite_world
    campaign_id = make(world, stage)
    offered = set(world.actions(campaign_id))
    before = world.campaign(campaign_id)
    for name in sorted(set(ASKS) - offered - HARMLESS.get(stage, set())):
        with pytest.raises(Refusal) as no:
            ASKS[name](world, campaign_id, DANA)
        assert no.value.code in {"invalid_state", "reconciliation_required", "in_progress"}, name
        assert world.campaign(campaign_id) == before, f"{name}: a refusal changes nothing"
    for number, name in enumerate(sorted(offered)):
        another = make(world, stage, subject=f"Letter {number}")
        code = outcome_of(lambda name=name, one=another: ASKS[name](world, one, DANA))
        assert code in {"accepted", LATER.get((stage, name))}, f"{name}: {code}"


@pytest.mark.parametrize(
    "stage", ["draft", "ready_for_review", "approved", "provider_draft", "scheduled", "stopped"]
)
def test_without_its_right_an_action_is_neither_offered_nor_done(sqlite_world, stage):
    world = sqlite_world
    campaign_id = make(world, stage)
    world.heard()
    before = world.campaign(campaign_id)
    for right in sorted(RIGHTS - {"admin", "read"}):
        poor = Actor("cli:tom", RIGHTS - {right, "admin"})
        shown = {one.name: one for one in world.bridge.show(campaign_id, actor=poor).actions}
        for name in OFFERED[stage]:
            if not shown[name].allowed:
                assert shown[name].why_not
                with refused("forbidden"):
                    ASKS[name](world, campaign_id, poor)
    assert (world.heard(), world.campaign(campaign_id)) == ([], before)


def test_with_separated_duties_neither_send_nor_schedule_is_offered_to_the_approver(world):
    campaign_id = world.drafted()
    bridge = world.process(separated=True)

    def offered(actor):
        return {one.name for one in bridge.show(campaign_id, actor=actor).actions if one.allowed}

    assert offered(DANA) == OFFERED["provider_draft"] - {"send", "schedule"}
    assert offered(with_all_rights("cli:erin")) == OFFERED["provider_draft"]


def test_a_twin_is_not_offered_a_send_and_is_told_whose_it_is(world):
    first, twin = world.scheduled(), world.drafted(name="The same again")
    shown = {one.name: one for one in world.bridge.show(twin, actor=DANA).actions}
    for name in ("send", "schedule"):
        assert not shown[name].allowed
        assert first in shown[name].why_not
    assert shown["test"].allowed
