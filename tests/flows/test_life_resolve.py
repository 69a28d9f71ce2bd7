"""Resolving by hand: what the provider can never tell is settled by an administrator, with evidence, once."""

import pytest

from campaignbridge.domain.actor import RIGHTS, Actor
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.ledger import Operation
from campaignbridge.flows.resolving import TOOK_EFFECT, Ruling, Verdict
from support.world import AUDIENCE, DANA, ERIN, HOUR_MS, KEY, refused

pytest_plugins = ["support.stores", "support.world"]

EVIDENCE = "Ticket 4711: the provider's support read it in their log"


def ruling(verdict, **facts):
    if verdict == "stopped":
        facts.setdefault("mailed", 120)
    return Ruling(verdict=Verdict(verdict), evidence=EVIDENCE, **facts)


def resolve(world, campaign_id, verdict, *, actor=DANA, version=None, **facts):
    return world.bridge.resolve(
        campaign_id, actor=actor, ruling=ruling(verdict, **facts), expected_version=version
    )


def stopped(world, reason, campaign_id=None):
    """Return a campaign whose checks have stopped for this reason; its send is unconfirmed."""
    if reason == "duplicate_drafts":
        campaign_id = world.approved()
        world.fault("create", "accept_then_drop")
        with refused("reconciliation_required"):
            world.draft(campaign_id)
        (made,) = [one.campaign for one in world.sandbox.truth.events("created")]
        title = world.sandbox.world.current(made).text("title")
        body = {"type": "regular", "recipients": {"list_id": AUDIENCE}, "settings": {"title": title}}
        world.by_hand("POST", "/campaigns", body)
    else:
        campaign_id = campaign_id or world.doubted("drop_before")
    remote = world.remote(campaign_id)
    match reason:
        case "missing":
            world.sandbox.world.hide(remote.remote_id)
        case "untracked":
            world.rewrite(remote.remote_id, status="archived")
        case "contradiction":
            world.home.rows("UPDATE remote_campaigns SET went = 1 WHERE campaign_id = ?", campaign_id)
        case "credential_refused":
            world.key = "00000000000000000000000000000000-us1"
        case "other_account":
            world.key = "ffffffffffffffffffffffffffffffff-us1"
            world.sandbox.add_account(world.key, "Another account")
        case "watch_failed":
            world.later(minutes=10)
            world.home.rows("UPDATE campaigns SET flag = 'watch_failed'")
            world.heard()
            return campaign_id
    world.run(hours=2)
    campaign = world.campaign(campaign_id)
    assert (campaign.stopped_reason, campaign.look_at) == (reason, None)
    world.key = KEY
    world.later(minutes=10)
    world.heard()
    return campaign_id


SENDS = ["missing", "untracked", "contradiction", "credential_refused", "other_account", "watch_failed"]


@pytest.mark.parametrize("reason", SENDS)
@pytest.mark.parametrize(
    ("verdict", "state", "status"),
    [("sent", "sent", "succeeded"), ("stopped", "cancelled", "succeeded"), ("not_sent", "failed", "failed")],
)
def test_from_every_reason_to_stop_a_send_is_settled_as_what_a_person_found_out(
    sqlite_world, reason, verdict, state, status
):
    settled(sqlite_world, reason, verdict, state, status)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("verdict", "state", "status"),
    [("sent", "sent", "succeeded"), ("stopped", "cancelled", "succeeded"), ("not_sent", "failed", "failed")],
)
def test_a_send_is_settled_by_hand_on_postgresql_too(postgres_world, verdict, state, status):
    settled(postgres_world, "missing", verdict, state, status)


def settled(world, reason, verdict, state, status):
    campaign_id = stopped(world, reason)
    before = world.campaign(campaign_id)
    assert resolve(world, campaign_id, verdict).value == state
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt, campaign.version) == (
        state,
        None,
        before.version + 1,
    )
    assert (campaign.look_at, campaign.stopped_reason, campaign.flag) == (None, None, None)
    assert (campaign.approval is None) == (verdict == "not_sent")
    assert world.statuses(campaign_id) == [status]
    (event,) = world.events(campaign_id, "resolved")
    assert (event["actor"], event["automatic"]) == ("cli:dana", False)
    data = event["data"]
    assert (data["verdict"], data["evidence"], data["stopped_reason"]) == (verdict, EVIDENCE, reason)
    assert data.get("mailed") == (120 if verdict == "stopped" else None)
    (claim,) = world.home.rows("SELECT * FROM content_claims WHERE campaign_id = ?", campaign_id)
    held_ms = claim["until"] - world.now()
    assert held_ms < 0 if verdict == "not_sent" else 29 * 24 * HOUR_MS < held_ms <= 30 * 24 * HOUR_MS
    world.run(hours=48)
    assert (world.heard(), world.posts()) == ([], 1), "nobody is asked any more"


def test_a_lost_draft_that_was_not_made_is_approved_again(world):
    campaign_id = stopped(world, "duplicate_drafts")
    assert resolve(world, campaign_id, "not_created").value == "approved"
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt, campaign.stopped_reason) == ("approved", None, None)
    assert campaign.approval is not None
    assert world.statuses(campaign_id, "create") == ["failed"]


@pytest.mark.parametrize("verdict", ["sent", "stopped", "not_sent"])
def test_a_lost_draft_takes_no_verdict_about_a_send(world, verdict):
    campaign_id = stopped(world, "duplicate_drafts")
    before = world.ledger(campaign_id)
    with refused("invalid_input"):
        resolve(world, campaign_id, verdict)
    assert world.ledger(campaign_id) == before


def test_a_send_takes_no_verdict_about_a_draft(world):
    campaign_id = stopped(world, "missing")
    before = world.ledger(campaign_id)
    with refused("invalid_input"):
        resolve(world, campaign_id, "not_created")
    assert world.ledger(campaign_id) == before


@pytest.mark.parametrize("stage", ["drafted", "scheduled", "sending", "doubted"])
def test_while_checks_go_on_nothing_is_settled_by_hand(world, stage):
    campaign_id = getattr(world, stage)()
    before = world.ledger(campaign_id)
    for verdict in ("sent", "stopped", "not_sent", "not_created"):
        with refused("invalid_state"):
            resolve(world, campaign_id, verdict)
    assert (world.ledger(campaign_id), world.events(campaign_id, "resolved")) == (before, [])


@pytest.mark.parametrize("verdict", ["sent", "not_sent"])
def test_inside_the_settle_window_nothing_is_settled_by_hand(world, verdict):
    campaign_id = world.doubted()
    world.key = "00000000000000000000000000000000-us1"
    world.step()
    assert world.campaign(campaign_id).stopped_reason == "credential_refused"
    before = world.ledger(campaign_id)
    with refused("in_progress") as no:
        resolve(world, campaign_id, verdict)
    assert world.ledger(campaign_id) == before
    assert "resolve" not in world.actions(campaign_id)
    world.later(seconds=no.value.facts["retry_after"] + 1)
    assert "resolve" in world.actions(campaign_id)
    resolve(world, campaign_id, verdict)
    assert len(world.events(campaign_id, "resolved")) == 1


def test_only_an_administrator_settles_by_hand(world):
    campaign_id = stopped(world, "missing")
    for actor in (ERIN, Actor("cli:tom", RIGHTS - {"admin"}), Actor("cli:ann", frozenset({"read"}))):
        with refused("forbidden"):
            resolve(world, campaign_id, "sent", actor=actor)
    assert world.state(campaign_id) == "unknown"


@pytest.mark.parametrize("evidence", ["", "   ", "two\nlines", "x" * 501, "a\x00b"])
def test_evidence_is_one_line_of_words(sqlite_world, evidence):
    world = sqlite_world
    campaign_id = stopped(world, "missing")
    with refused("invalid_input"):
        world.bridge.resolve(campaign_id, actor=DANA, ruling=Ruling(verdict=Verdict.SENT, evidence=evidence))
    assert world.state(campaign_id) == "unknown"


@pytest.mark.parametrize("mailed", [None, 0, -1])
def test_stopped_says_how_many_had_been_mailed(sqlite_world, mailed):
    world = sqlite_world
    campaign_id = stopped(world, "missing")
    with refused("invalid_input"):
        resolve(world, campaign_id, "stopped", mailed=mailed)
    assert world.state(campaign_id) == "unknown"


def test_a_stale_version_settles_nothing_by_hand(world):
    campaign_id = stopped(world, "missing")
    version = world.campaign(campaign_id).version
    with refused("conflict"):
        resolve(world, campaign_id, "sent", version=version - 1)
    resolve(world, campaign_id, "sent", version=version)
    with refused("invalid_state"):
        resolve(world, campaign_id, "not_sent")
    assert world.state(campaign_id) == "sent"


def test_while_somebody_else_looks_nothing_is_settled_by_hand(world):
    campaign_id = stopped(world, "missing")
    with world.held(campaign_id, "reconcile"), refused("locked"):
        resolve(world, campaign_id, "sent")
    assert world.state(campaign_id) == "unknown"


@pytest.mark.parametrize("place", ["attempts.settle", "campaigns.resolve", "events.add"])
def test_campaign_attempt_and_event_are_settled_together_or_not_at_all(world, place):
    campaign_id = stopped(world, "missing")
    before = world.ledger(campaign_id)
    database = world.home.open()
    transaction = database.transaction

    def failing(*, write=True):
        return _Failing(transaction(write=write), place)

    database.transaction = failing
    bridge = world.process(store=type(world.bridge.wiring.store)(database))
    with pytest.raises(ZeroDivisionError):
        bridge.resolve(campaign_id, actor=DANA, ruling=ruling("sent"))
    assert (world.ledger(campaign_id), world.events(campaign_id, "resolved")) == (before, [])


class _Failing:
    """A transaction that breaks right after one statement has run."""

    def __init__(self, transaction, place) -> None:
        self._transaction, self._place = transaction, place

    def __enter__(self):
        self._tx = self._transaction.__enter__()
        return self

    def __exit__(self, *error):
        return self._transaction.__exit__(*error)

    def __getattr__(self, kind):
        call = getattr(self._tx, kind)

        def failing(name, /, *args, **params):
            found = call(name, *args, **params)
            if name == self._place:
                raise ZeroDivisionError
            return found

        return failing


@pytest.mark.parametrize("verdict", ["sent", "stopped", "not_sent"])
def test_a_scheduled_campaign_whose_checks_stopped_is_settled_without_an_attempt(world, verdict):
    campaign_id = world.scheduled(in_minutes=30)
    world.sandbox.world.hide(world.remote_id(campaign_id))
    world.run(hours=2)
    assert world.campaign(campaign_id).stopped_reason == "missing"
    resolve(world, campaign_id, verdict)
    campaign = world.campaign(campaign_id)
    expected = {"sent": "sent", "stopped": "cancelled", "not_sent": "failed"}[verdict]
    assert (campaign.state.value, campaign.scheduled_for, campaign.look_at) == (expected, None, None)
    assert world.statuses(campaign_id, "schedule") == ["succeeded"], "what was accepted stays accepted"


@pytest.mark.parametrize(("ask", "status"), [("unschedule", "failed"), ("cancel", "failed")])
def test_an_unconfirmed_stop_of_what_went_is_settled_as_not_applied(world, ask, status):
    campaign_id = world.scheduled() if ask == "unschedule" else world.sending()
    world.fault(ask, "drop_before")
    with refused("reconciliation_required"):
        getattr(world, ask)(campaign_id)
    stopped(world, "missing", campaign_id)
    resolve(world, campaign_id, "sent")
    assert (world.state(campaign_id), world.statuses(campaign_id, ask)) == ("sent", [status])


def test_what_was_settled_as_not_sent_frees_its_content_and_what_was_sent_keeps_it(world):
    first = stopped(world, "missing")
    twin = world.drafted(name="The same again")
    with refused("already_sent_elsewhere"):
        world.send(twin)
    resolve(world, first, "not_sent")
    world.send(twin)
    assert (world.sends(twin), world.sends(first)) == (1, 0)


def test_after_not_sent_nothing_is_sent_and_only_a_duplicate_goes_on(world):
    campaign_id = stopped(world, "missing")
    resolve(world, campaign_id, "not_sent")
    for ask in (world.send, world.schedule, world.draft, world.test):
        with refused("invalid_state"):
            ask(campaign_id, "k9")
    assert world.heard() == []
    assert world.bridge.duplicate(campaign_id, actor=DANA, key="k1").campaign.state.value == "draft"


def test_every_operation_and_verdict_has_a_meaning():
    assert set(TOOK_EFFECT) == set(Operation) - {Operation.TEST}
    assert not any(Verdict.NOT_CREATED in verdicts for verdicts in TOOK_EFFECT.values())


# acknowledge


def doubled(world):
    """Return a sent campaign that is flagged as a possible double."""
    campaign_id = world.sending()
    world.run()
    with world.bridge.wiring.store.unit() as unit:
        unit.campaigns.alarm(campaign_id, "possible_double")
    assert world.campaign(campaign_id).flag == "possible_double"
    return campaign_id


def test_a_possible_double_is_cleared_by_a_person_who_looked_and_says_so(world):
    campaign_id = doubled(world)
    before = world.campaign(campaign_id)
    world.bridge.acknowledge(campaign_id, actor=ERIN, reason="Read the report: one delivery")
    campaign = world.campaign(campaign_id)
    assert (campaign.flag, campaign.version, campaign.state) == (None, before.version + 1, before.state)
    (event,) = world.events(campaign_id, "acknowledged")
    assert event["actor"] == "cli:erin"
    assert event["data"]["flag"] == "possible_double"
    with refused("invalid_state"):
        world.bridge.acknowledge(campaign_id, actor=ERIN, reason="again")


@pytest.mark.parametrize("flag", [None, "send_refused", "sent_zero", "scheduled_late", "schedule_differs"])
def test_no_other_flag_is_cleared_by_hand(world, flag):
    campaign_id = world.sending()
    world.home.rows("UPDATE campaigns SET flag = ? WHERE id = ?", flag, campaign_id)
    before = world.campaign(campaign_id)
    with refused("invalid_state"):
        world.bridge.acknowledge(campaign_id, actor=DANA, reason="seen")
    assert (world.campaign(campaign_id), world.events(campaign_id, "acknowledged")) == (before, [])


def test_a_possible_double_is_not_cleared_by_a_stale_look_without_reason_or_without_the_right(world):
    campaign_id = doubled(world)
    version = world.campaign(campaign_id).version
    for code, facts in (
        ("conflict", {"expected_version": version - 1}),
        ("invalid_input", {"reason": " "}),
        ("forbidden", {"actor": Actor("cli:ann", frozenset({"read", "deliver"}))}),
    ):
        with pytest.raises(Refusal) as no:
            world.bridge.acknowledge(campaign_id, **{"actor": DANA, "reason": "seen", **facts})
        assert no.value.code == code
    assert world.campaign(campaign_id).flag == "possible_double"
