"""Webhooks in: an event is stored once, wakes a watch at most once a minute, and never does more than have it read."""

from contextlib import contextmanager
from itertools import pairwise

import pytest

from campaignbridge.domain.errors import CommitUnknown, StoreGone
from campaignbridge.flows import webhooks
from campaignbridge.flows.webhooks import Posted
from campaignbridge.store.unit import Store
from support.posting import FORM, SIGNING_KEY, Address, form, heard, signed, stamp
from support.world import AUDIENCE, DANA, MINUTE_MS, SENDING_MS, Broken, Costs, refused

pytest_plugins = ["support.stores", "support.world"]

OTHER_KEY = "fedcba9876543210fedcba9876543210-us1"
READ = ["GET inspect"]


@pytest.fixture
def address(world):
    return Address.of(world)


def settle(world, *, minutes=0.4):
    """Run what is due within some seconds."""
    world.run(hours=minutes / 60)


def sent_there(world):
    """Return a campaign that has been sent at the provider since we last looked, as we don't know yet."""
    campaign_id = world.sending()
    world.later(ms=SENDING_MS + 1)
    return campaign_id


# what an event does


def test_an_event_has_a_campaign_read_at_once_instead_of_at_its_cadence(world, address):
    campaign_id = sent_there(world)
    assert address.sent(campaign_id) == "stored"
    assert world.state(campaign_id) == "sending", "it is stored first; nothing follows from it by itself"
    settle(world)
    assert (world.state(campaign_id), world.heard()) == ("sent", READ)
    heard, followed = world.events(campaign_id)[-2:]
    assert (heard["kind"], heard["actor"], heard["automatic"]) == ("webhook_heard", None, True)
    assert heard["data"] == {"provider_says": "sent", "restarted": False, "verified": False}
    assert (followed["kind"], followed["automatic"]) == ("followed", True)
    assert address.outcomes() == ["woke"]


def test_an_event_that_lies_changes_nothing_but_that_the_provider_is_read(world, address):
    campaign_id = world.sending()
    before = world.ledger(campaign_id)
    address.sent(campaign_id, status="canceled")
    settle(world)
    assert world.heard() == READ
    assert world.ledger(campaign_id) == before
    assert world.campaign(campaign_id).look_at > world.now()


def test_the_same_event_again_and_again_early_and_late_is_one_event_and_one_reading(world, address):
    campaign_id = sent_there(world)
    body = address.about(world.remote_id(campaign_id))
    assert [address.hear(body) for _ in range(5)] == ["stored", *["known"] * 4]
    settle(world)
    assert world.heard() == READ
    facts = world.ledger(campaign_id), len(world.events(campaign_id))
    world.later(hours=29)
    assert address.hear(body) == "known"
    settle(world)
    assert (world.heard(), len(address.rows())) == ([], 1)
    assert (world.ledger(campaign_id), len(world.events(campaign_id))) == facts


def test_events_out_of_order_and_after_the_end_change_nothing(world, address):
    campaign_id = sent_there(world)
    remote_id = world.remote_id(campaign_id)
    address.hear(address.about(remote_id))
    settle(world)
    facts = world.ledger(campaign_id), len(world.events(campaign_id))
    world.heard()
    for ago_ms in (1_000, 40_000, 90_000):
        assert address.hear(address.about(remote_id, "canceled", ago_ms=ago_ms)) == "stored"
    settle(world)
    assert world.heard() == []
    assert (world.ledger(campaign_id), len(world.events(campaign_id))) == facts
    assert sorted(address.outcomes()) == ["finished", "finished", "finished", "woke"]


def test_a_campaign_is_woken_at_most_once_a_minute_however_many_events_come(world, address):
    world.sandbox.world.behave(sending_ms=60 * MINUTE_MS)
    campaign_id = world.sending()
    began, readings = world.now(), []
    for second in range(0, 180, 5):
        world.later(ms=began + 1_000 * second - world.now())
        assert address.sent(campaign_id, ago_ms=-1_000 * second) == "stored"
        world.bridge.tick(batch=10)
        world.bridge.tick(batch=10)
        readings += [second] * len(world.heard())
    assert readings[0] == 0
    assert len(readings) in (3, 4)
    # A minute lies between what they are due at; each comes with the first tick after that, here up to 5 s later.
    assert all(later - before >= 55 for before, later in pairwise(readings))


def test_an_event_within_the_minute_is_followed_when_the_minute_is_over(world, address):
    campaign_id = world.sending()
    address.sent(campaign_id, status="sending", ago_ms=5_000)
    settle(world)
    assert (world.heard(), world.state(campaign_id)) == (READ, "sending")
    world.later(ms=SENDING_MS - 30_000)
    address.sent(campaign_id)
    world.later(ms=1)
    world.run(hours=70 / 3600)
    assert (world.heard(), world.state(campaign_id)) == (READ, "sent")


def test_a_reading_by_an_operator_in_between_does_not_swallow_a_later_event(world, address):
    campaign_id = world.sending()
    address.sent(campaign_id, status="a", ago_ms=9_000)
    settle(world)
    world.later(seconds=20)
    address.sent(campaign_id, status="b", ago_ms=8_000)
    world.bridge.tick()
    planned = world.campaign(campaign_id).look_at
    assert planned <= world.now() + MINUTE_MS
    world.reconcile(campaign_id)
    assert world.campaign(campaign_id).look_at > planned + MINUTE_MS
    address.sent(campaign_id, status="c", ago_ms=7_000)
    world.bridge.tick()
    assert world.campaign(campaign_id).look_at == planned


def test_nothing_is_read_before_the_send_time_but_when_an_event_says_so(world, address):
    campaign_id = world.scheduled(in_minutes=120)
    world.run(hours=1)
    assert world.heard() == []
    world.by_hand("POST", f"/campaigns/{world.remote_id(campaign_id)}/actions/unschedule")
    world.send_by_hand(campaign_id)
    address.sent(campaign_id, status="sending")
    settle(world)
    assert (world.heard(), world.state(campaign_id)) == (READ, "sending")


def test_a_draft_that_somebody_sends_at_the_provider_is_followed_on_its_event(world, address):
    campaign_id = world.drafted()
    world.send_by_hand(campaign_id)
    world.later(ms=SENDING_MS + 1)
    address.sent(campaign_id)
    settle(world)
    assert (world.heard(), world.state(campaign_id)) == (READ, "sent")
    assert world.events(campaign_id, "followed")[-1]["data"]["unexplained"]
    assert world.posts() == 0


def test_an_unconfirmed_send_is_settled_by_the_reading_that_an_event_brings_forward(world, address):
    campaign_id = world.drafted()
    world.fault("send", "apply_late", ms=100_000, answer="drop")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    world.run(hours=0.02)
    assert world.statuses(campaign_id) == ["unknown"]
    assert world.campaign(campaign_id).look_at > world.now() + 2 * MINUTE_MS, (
        "the next look: when the window ends"
    )
    world.later(ms=100_000)
    world.heard()
    address.sent(campaign_id, status="sending")
    settle(world)
    assert (world.statuses(campaign_id), world.heard()) == (["succeeded"], READ)
    assert world.sends(campaign_id) == world.posts() == 1


# what is being worked on meanwhile


def test_an_event_that_comes_before_our_own_record_of_the_answer_is_followed_after_it(world, address):
    """WH-6: the webhook is there before the outcome's commit."""
    world.sandbox.world.behave(sending_ms=0)
    campaign_id = world.drafted()
    seen = []

    def hear():
        seen.append(address.sent(campaign_id))
        world.process().tick()

    world.meanwhile("send", hear, before=False)
    world.send(campaign_id)
    assert (seen, address.outcomes(), world.state(campaign_id)) == (["stored"], [None], "sending")
    world.heard()
    settle(world)
    assert (world.heard(), world.state(campaign_id)) == (READ, "sent")
    assert world.sends(campaign_id) == world.posts() == 1


def test_an_event_that_comes_during_a_reading_has_it_read_once_more(world, address):
    campaign_id = world.sending()
    happened = []

    def hear():
        happened.append(address.sent(campaign_id))
        world.process().tick()

    world.meanwhile("inspect", hear, before=False)
    world.reconcile(campaign_id)
    assert (happened, address.outcomes(), world.heard()) == (["stored"], [None], READ)
    settle(world)
    assert (address.outcomes(), world.heard()) == (["woke"], READ)


def test_an_event_of_a_locked_campaign_waits_until_it_is_free(world, address):
    campaign_id = sent_there(world)
    with world.held(campaign_id):
        address.sent(campaign_id)
        world.run(hours=0.02)
        assert (address.outcomes(), world.heard()) == ([None], [])
    settle(world)
    assert (world.state(campaign_id), world.heard()) == ("sent", READ)


def test_an_event_of_a_request_without_an_outcome_waits_for_its_window(world, address):
    """A process died between the provider's acceptance and its record."""
    campaign_id = world.drafted()

    def die():
        raise KeyboardInterrupt

    world.meanwhile("send", die, before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id)
    world.heard()
    address.sent(campaign_id)
    world.run(hours=0.05)
    assert (world.heard(), address.outcomes()) == ([], [None]), (
        "inside the window a reading would prove nothing"
    )
    world.run(hours=1)
    assert (world.state(campaign_id), world.sends(campaign_id), world.posts()) == ("sent", 1, 1)
    assert address.outcomes() == ["finished"]


def test_two_workers_with_the_same_event_wake_once(world, address):
    campaign_id = sent_there(world)
    address.sent(campaign_id)
    first, second = world.process(), world.process()
    (claimed,) = [one for one in first.worker.claim(10) if one.job.type == "process_webhooks"]
    webhooks.process(first.wiring, claimed.job)
    webhooks.process(second.wiring, claimed.job)
    assert len(world.events(campaign_id, "webhook_heard")) == 1
    assert address.outcomes() == ["woke"]


# forged, foreign, unknown


def test_what_is_forged_leaves_no_row_and_always_gets_the_same_answer(world, address):
    campaign_id = sent_there(world)
    body = address.about(world.remote_id(campaign_id))
    secret, connection = address.secret, address.connection_id
    before = world.home.everything()
    for there, guess in (
        (connection, secret[:-1]),
        (connection, secret + "a"),
        (connection, secret.upper()),
        (connection, ""),
        (connection, "ä"),
        ("con_000000000000", secret),
        ("news", secret),
        ("", ""),
        ("x" * 5_000, secret),
        ("con_\x00", secret),
    ):
        assert heard(world.bridge, there, guess, body) == "unknown"
    assert world.home.everything() == before


def other_account(world):
    world.sandbox.add_account(OTHER_KEY, "Somebody else")
    world.key, kept = OTHER_KEY, world.key
    world.bridge.add_connection(
        "other", provider="mailchimp", key_env="SANDBOX_KEY", base_url=world.server.url, actor=DANA
    )
    world.key = kept
    return Address.of(world, "other")


def test_an_event_of_another_account_wakes_nothing_and_is_kept_as_ignored(world, address):
    """WH-2: a right address proves only that its own account speaks."""
    campaign_id = sent_there(world)
    world.heard()
    before = world.campaign(campaign_id)
    foreign = other_account(world)
    world.heard()
    assert foreign.sent(campaign_id) == "stored"
    settle(world)
    assert (foreign.outcomes(), world.heard(), world.campaign(campaign_id)) == (["foreign"], [], before)


def test_an_event_of_another_list_wakes_nothing_and_is_kept_as_ignored(world, address):
    campaign_id = sent_there(world)
    before = world.campaign(campaign_id)
    assert address.sent(campaign_id, audience="f0e1d2c3b4") == "stored"
    settle(world)
    assert (address.outcomes(), world.heard(), world.campaign(campaign_id)) == (["foreign"], [], before)


def test_two_connections_of_one_account_wake_its_campaign_once(world, address):
    campaign_id = sent_there(world)
    world.bridge.add_connection(
        "twin", provider="mailchimp", key_env="SANDBOX_KEY", base_url=world.server.url, actor=DANA
    )
    twin = Address.of(world, "twin")
    world.heard()
    assert [address.sent(campaign_id), twin.sent(campaign_id)] == ["stored", "stored"]
    settle(world)
    assert (world.state(campaign_id), world.heard()) == ("sent", READ)


def test_an_unknown_campaign_is_parked_and_matched_once_it_is_known(world, address):
    """WH-6: the event is there before we know which campaign it is about."""
    campaign_id = world.approved()
    world.fault("create", "accept_then_drop")
    with refused("reconciliation_required"):
        world.draft(campaign_id)
    (made,) = world.sandbox.truth.events("created")
    assert address.hear(address.about(made.campaign)) == "stored"
    world.bridge.tick()
    (row,) = address.rows()
    assert (row["parked"], row["outcome"]) == (1, None)
    world.run(hours=0.5)
    assert world.remote_id(campaign_id) == made.campaign
    assert address.outcomes()[0] in ("woke", "soon")


def test_a_parked_event_is_given_up_after_a_week_and_forgotten_after_another(world, address):
    address.hear(address.about("abcdef0123"))
    world.run(hours=24 * 6.9)
    assert address.outcomes() == [None]
    world.run(hours=24 * 0.3)
    assert address.outcomes() == ["unmatched"]
    world.run(hours=24 * 7)
    assert address.rows() == []
    assert world.next_due() is None, "with nothing stored there is nothing to do"


def test_an_event_of_a_draft_that_was_replaced_since_wakes_nothing(world, address):
    campaign_id = world.drafted()
    remote_id = world.remote_id(campaign_id)
    world.home.rows(
        "UPDATE campaigns SET generation = 2 WHERE id = ?", campaign_id
    )  # as a retired draft leaves it
    address.hear(address.about(remote_id))
    settle(world)
    assert (address.outcomes(), world.heard()) == (["superseded"], [])


def test_a_withdrawn_draft_that_somebody_sends_at_the_provider_is_noticed(world, address):
    campaign_id = world.drafted()
    world.bridge.withdraw(campaign_id, actor=DANA)
    world.heard()
    world.send_by_hand(campaign_id)
    address.sent(campaign_id, status="sending")
    world.run(hours=1)
    assert READ[0] in world.heard()
    campaign = world.campaign(campaign_id)
    assert campaign.stopped_reason or campaign.state.value in ("sending", "sent"), campaign
    assert world.posts() == 0


# many at once


def test_what_comes_at_the_same_time_is_stored_in_one_commit_and_answered_one_by_one(world, address):
    campaign_id = sent_there(world)
    database = Costs(world.home.open())
    bridge = world.process(store=Store(database))
    good = address.about(world.remote_id(campaign_id))
    posted = [
        Posted(address.connection_id, secret, FORM, body)
        for secret, body in (
            (address.secret, good),
            ("wrong", good),
            (address.secret, b"nothing"),
            (address.secret, good),
            (address.secret, address.about("abcdef0123")),
            (address.secret, form("profile", stamp(world.now()), list_id=AUDIENCE)),
        )
    ]
    found = [one.value for one in bridge.receive_webhooks(posted)]
    assert found == ["stored", "unknown", "unreadable", "known", "stored", "of_no_use"]
    assert database.transactions == 2
    assert database.names.count("jobs.enqueue") == 1
    assert len(address.rows()) == 2
    settle(world)
    assert (world.state(campaign_id), world.heard()) == ("sent", READ)


# bounds


def test_a_flood_is_refused_when_too_much_waits_and_taken_again_afterwards(world, address, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_WAITING", 5)
    bodies = [address.about(f"unknown{number}") for number in range(8)]
    assert [address.hear(body) for body in bodies] == ["stored"] * 5 + ["full"] * 3
    assert address.hear(bodies[0]) == "known", "what is stored is answered for, however full it is"
    world.bridge.tick()
    assert [address.hear(body) for body in bodies[5:]] == ["stored"] * 3


def test_beyond_the_bound_the_oldest_parked_events_are_given_up(world, address, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_PARKED", 3)
    for number in range(7):
        address.hear(address.about(f"unknown{number}"))
        world.later(ms=10)
    world.bridge.tick()
    assert address.outcomes() == ["overflow"] * 4 + [None] * 3


def test_beyond_the_bound_the_oldest_settled_events_are_forgotten(world, address, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_SETTLED", 2)
    campaign_id = world.sending()
    for ago_ms in range(0, 5_000, 1_000):
        address.sent(campaign_id, ago_ms=ago_ms)
        world.bridge.tick(batch=1)
        world.later(ms=10)
    world.run(hours=0.01)
    assert len(address.rows()) == 2


def test_a_batch_is_bounded_and_the_job_comes_back_for_the_rest(world, address, monkeypatch):
    monkeypatch.setattr(webhooks, "BATCH", 4)
    for number in range(10):
        address.hear(address.about(f"unknown{number}"))
    world.bridge.tick(batch=1)
    assert sum(row["parked"] for row in address.rows()) == 4
    settle(world)
    assert sum(row["parked"] for row in address.rows()) == 10


# people


CANARY = "canary.person@wh-test.example"


def test_no_address_of_a_person_is_in_any_row_or_log(world, address, caplog):
    """I9: what an event says about a person is kept as a hash that only the address's secret can make."""
    caplog.set_level("DEBUG")
    fired = stamp(world.now())
    about = {
        "id": "8a25ff1d98",
        "email": CANARY,
        "list_id": AUDIENCE,
        "merges__EMAIL": CANARY,
        "merges__FNAME": "Canary",
    }
    assert address.hear(form("unsubscribe", fired, action="unsub", reason="manual", **about)) == "stored"
    assert (
        address.hear(form("cleaned", fired, reason="hard", email=CANARY.upper(), list_id=AUDIENCE))
        == "stored"
    )
    assert (
        address.hear(form("cleaned", fired, reason=CANARY, email="b" + CANARY, list_id=AUDIENCE)) == "stored"
    )
    moved = form("upemail", fired, old_email=CANARY + "x", new_email=CANARY, list_id=AUDIENCE)
    assert address.hear(moved) == "stored"
    for kind in ("subscribe", "profile"):
        assert address.hear(form(kind, fired, new_email=CANARY, **about)) == "of_no_use"
    assert address.hear(form("cleaned", fired, reason="hard", email=CANARY, list_id=CANARY)) == "unreadable"
    settle(world)
    kept = (world.home.everything() + caplog.text).lower()
    for trace in ("canary", "wh-test", "192.0.2.1"):
        assert trace not in kept
    assert set(address.outcomes()) == {"noted"}
    by_kind = {}
    for row in address.rows():
        by_kind.setdefault(row["kind"], []).append(row["subject"])
    (gone,), (given_up,) = by_kind["unsubscribe"], by_kind["removed"]
    assert {len(gone), len(given_up)} == {64}
    assert gone in by_kind["cleaned"], "the same person, whatever the case of the letters"
    assert world.heard() == []


def test_a_hash_of_a_person_can_not_be_made_without_the_secret(world, address):
    again = {"action": "unsub", "reason": "manual", "email": CANARY, "list_id": AUDIENCE}
    address.hear(form("unsubscribe", stamp(world.now()), **again))
    opened = world.bridge.open_webhook("news", public_url="https://a.example", replace=True, actor=DANA)
    assert address.hear(form("unsubscribe", stamp(world.now()), **again)) == "unknown", (
        "the one before is shut"
    )
    address.secret = opened.url.reveal().rpartition("/")[2]
    assert address.hear(form("unsubscribe", stamp(world.now()), **again)) == "stored"
    first, second = address.rows()
    assert first["subject"] != second["subject"]
    assert address.secret not in world.home.everything()


# the store


def test_while_the_store_is_gone_nothing_is_taken_and_the_provider_s_repetition_is(world, address):
    campaign_id = sent_there(world)
    database = Broken(world.home.open())
    address.bridge = world.process(store=Store(database))
    body = address.about(world.remote_id(campaign_id))
    database.down = True
    with pytest.raises(StoreGone):
        address.hear(body)
    database.down = False
    assert (address.rows(), address.hear(body)) == ([], "stored")


class AnswerLost:
    """A database whose next commit happens, and its answer gets lost."""

    def __init__(self, database) -> None:
        self.database, self.loses = database, False

    @contextmanager
    def transaction(self, *, write=True):
        with self.database.transaction(write=write) as tx:
            yield tx
        if write and self.loses:
            self.loses = False
            raise CommitUnknown("The store did not say.")

    def close(self) -> None:
        self.database.close()


def test_a_commit_whose_answer_got_lost_is_not_answered_for_and_its_repetition_is_known(world, address):
    campaign_id = sent_there(world)
    database = AnswerLost(world.home.open())
    address.bridge = world.process(store=Store(database))
    body = address.about(world.remote_id(campaign_id))
    database.loses = True
    with pytest.raises(CommitUnknown):
        address.hear(body)
    assert address.hear(body) == "known"
    settle(world)
    assert (world.state(campaign_id), world.heard()) == ("sent", READ)


# stopped watches, and signed events


def stopped(world):
    """Return a campaign whose watch has stopped, since the provider says something that we don't know."""
    campaign_id = world.sending()
    world.rewrite(world.remote_id(campaign_id), status="archived")
    world.run(hours=1)
    assert world.campaign(campaign_id).stopped_reason == "untracked"
    world.rewrite(world.remote_id(campaign_id), status="sending")
    world.heard()
    return campaign_id


def test_an_unsigned_event_does_not_start_a_stopped_watch(world, address):
    campaign_id = stopped(world)
    before = world.campaign(campaign_id)
    address.sent(campaign_id)
    world.run(hours=24)
    assert (world.heard(), world.campaign(campaign_id), address.outcomes()) == ([], before, ["stopped"])


@pytest.fixture
def signing(world):
    """Return an address whose provider signs."""
    return Address.signing(world)


def hear_signed(address, body, *, key=SIGNING_KEY, late_ms=0):
    return address.hear(body, signed(body, key, address.world.now() - late_ms))


def test_a_signed_event_starts_a_stopped_watch(world, signing):
    campaign_id = stopped(world)
    assert hear_signed(signing, signing.about(world.remote_id(campaign_id))) == "stored"
    settle(world)
    assert (world.heard(), world.campaign(campaign_id).stopped_reason) == (READ, None)
    assert world.events(campaign_id, "webhook_heard")[-1]["data"]["restarted"]


def test_a_signed_event_rules_out_that_a_send_was_not_applied(world, signing):
    """The provider says in its own name that it went, and then shows a draft for hours."""
    campaign_id = world.drafted()
    world.fault("send", "drop_before")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    hear_signed(signing, signing.about(world.remote_id(campaign_id)))
    world.run(hours=30)
    assert (world.statuses(campaign_id), world.campaign(campaign_id).stopped_reason) == (
        ["unknown"],
        "contradiction",
    )
    with refused("reconciliation_required"):
        world.send(campaign_id, key="s2")
    assert world.posts() == 1


def test_an_unsigned_event_rules_nothing_out(world, address):
    campaign_id = world.drafted()
    world.fault("send", "drop_before")
    with refused("reconciliation_required"):
        world.send(campaign_id)
    address.sent(campaign_id)
    world.run(hours=30)
    assert (world.statuses(campaign_id), world.state(campaign_id)) == (["failed"], "provider_draft")


def test_no_event_starts_a_watch_that_stopped_on_its_key(world, signing):
    campaign_id = sent_there(world)
    world.key, kept = OTHER_KEY, world.key
    world.run(hours=0.2)
    world.key = kept
    assert world.campaign(campaign_id).stopped_reason == "credential_refused"
    world.heard()
    hear_signed(signing, signing.about(world.remote_id(campaign_id)))
    world.run(hours=2)
    assert (world.heard(), signing.outcomes()) == ([], ["stopped"])


def test_where_the_provider_signs_what_is_forged_replayed_or_tampered_with_leaves_no_row(world, signing):
    """WH-1: over the raw body, within 300 s either way."""
    campaign_id = sent_there(world)
    body = signing.about(world.remote_id(campaign_id))
    good = signed(body, SIGNING_KEY, world.now())["x-mailchimp-signature"]
    before = world.home.everything()
    headers = [
        FORM,
        {**FORM, "x-mailchimp-signature": ""},
        {**FORM, "x-mailchimp-signature": good.partition(",")[2]},
        {**FORM, "x-mailchimp-signature": good + "," + good},
        {**FORM, "x-mailchimp-signature": good[:-1] + ("0" if good[-1] != "0" else "1")},
        {**FORM, "x-mailchimp-signature": "t=\u0663,v1=" + "0" * 64},
        {**FORM, "x-mailchimp-signature": "t=" + "9" * 4_000},
    ]
    assert [signing.hear(body, one) for one in headers] == ["unknown"] * len(headers)
    assert signing.hear(body + b"&a=b", signed(body, SIGNING_KEY, world.now())) == "unknown"
    for late_ms in (600_000, 302_000, -302_000):
        assert hear_signed(signing, body, late_ms=late_ms) == "unknown"
    assert hear_signed(signing, body, key="another key of somebody") == "unknown"
    assert world.home.everything() == before
    for late_ms in (298_000, -298_000):
        assert hear_signed(signing, body, late_ms=late_ms) in ("stored", "known")


def test_a_process_without_the_key_ring_says_so_instead_of_taking_an_event_unverified(world, signing):
    signing.bridge = world.bridge
    assert hear_signed(signing, signing.about("abcdef0123")) == "no_key"
    assert signing.rows() == []


def test_the_signing_key_and_the_secret_are_in_no_row(world, signing):
    kept = world.home.everything()
    assert SIGNING_KEY not in kept
    assert signing.secret not in kept


# the address


def test_a_second_address_is_made_only_when_asked_for_and_the_secret_is_never_told_again(world, address):
    with refused("invalid_state") as caught:
        world.bridge.open_webhook("news", public_url="https://a.example", actor=DANA)
    assert address.secret not in str(caught.value.facts)
    opened = world.bridge.open_webhook("news", public_url="https://a.example/x/", replace=True, actor=DANA)
    assert opened.replaced
    assert opened.url.reveal().startswith(f"https://a.example/x/webhooks/{address.connection_id}/")
    assert opened.url.reveal() not in repr(opened)
    kinds = world.home.rows("SELECT kind, actor FROM audit_events WHERE kind LIKE 'webhook%' ORDER BY id")
    assert [(row["kind"], row["actor"]) for row in kinds] == [("webhook_opened", "cli:dana")] * 2


@pytest.mark.parametrize(
    "place",
    [
        "http://hooks.example.org",
        "https://",
        "https://user:secret@hooks.example.org",
        "https://hooks.example.org/?a=b",
        "https://hooks.example.org/#x",
        "ftp://127.0.0.1",
        "https://hooks.example.org:99999999",
        "https://hooks exämple.org",
        "https://[::1",
        "https://" + "a" * 400,
    ],
)
def test_an_address_that_is_no_place_or_not_private_is_refused(sqlite_world, place):
    with refused("invalid_input"):
        sqlite_world.bridge.open_webhook("news", public_url=place, actor=DANA)


def test_a_signing_key_needs_an_address_and_some_length(sqlite_world):
    with refused("invalid_state"):
        sqlite_world.bridge.sign_webhook("news", signing_key=SIGNING_KEY, actor=DANA)
    Address.of(sqlite_world)
    for key in ("", "short", "with a blank in it for sure", "k" * 201, "ключ" * 10):
        with refused("invalid_input"):
            sqlite_world.bridge.sign_webhook("news", signing_key=key, actor=DANA)
