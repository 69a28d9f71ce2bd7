"""Cases that people met with other tools, of one campaign's whole life; docs/cases.md says what happens here."""

import sqlite3
from contextlib import closing, contextmanager

import pytest

from campaignbridge.domain.errors import CommitUnknown
from campaignbridge.domain.when import instant_of, iso
from campaignbridge.store.unit import Store
from support.stores import Home
from support.world import BOUND, DANA, HOUR_MS, KEY, MINUTE_MS, PEOPLE, outcome_of, refused

pytest_plugins = ["support.stores", "support.world"]


def test_amb_3_a_second_process_leaves_a_request_under_way_alone_and_its_late_success_counts(world):
    campaign_id = world.drafted()
    other = world.process()
    seen = []

    def another_process_recovers():
        other.tick()
        seen.append((world.state(campaign_id), world.statuses(campaign_id)))

    world.meanwhile("send", another_process_recovers)
    world.send(campaign_id)
    assert seen == [("provider_draft", ["pending"])], "the one that is alive goes on"
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])


def test_amb_3_a_success_that_comes_after_the_request_was_called_unknown_is_evidence(world):
    campaign_id = world.drafted()
    other = world.process(store=world.home.store(ahead_ms=6 * MINUTE_MS))
    seen = []

    def another_process_recovers():
        outcome_of(lambda: world.reconcile(campaign_id, bridge=other))
        seen.append((world.state(campaign_id), world.statuses(campaign_id)))

    world.meanwhile("send", another_process_recovers)
    world.send(campaign_id)
    assert seen == [("unknown", ["unknown"])], "never failed"
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), world.posts()) == ("sent", 1, 1)


@pytest.mark.parametrize("ask", ["send", "schedule", "unschedule", "cancel"])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_amb_11_a_5xx_after_acceptance_is_unknown_and_is_never_asked_again(sqlite_world, ask, status):
    world = sqlite_world
    world.sandbox.world.behave(sending_ms=30 * MINUTE_MS)
    before = {"unschedule": world.scheduled, "cancel": world.sending}.get(ask, world.drafted)
    campaign_id = before()
    world.fault(ask, "accept_then_5xx", status=status)
    with refused("reconciliation_required"):
        getattr(world, ask)(campaign_id)
    assert world.statuses(campaign_id, ask) == ["unknown"]
    world.run()
    seen = [one for one in world.sandbox.truth.requests() if one.operation == ask]
    assert (len(seen), world.statuses(campaign_id, ask)) == (1, ["succeeded"])
    expected = {"send": "sent", "schedule": "sent", "unschedule": "provider_draft", "cancel": "cancelled"}
    assert world.state(campaign_id) == expected[ask]


class Lossy:
    """A database that loses one COMMIT, or its answer, when told to."""

    def __init__(self, database) -> None:
        self.database = database
        self.lose = ""

    @contextmanager
    def transaction(self, *, write=True):
        lose, self.lose = (self.lose, "") if write else ("", self.lose)
        try:
            with self.database.transaction(write=write) as tx:
                yield tx
                if lose == "before":
                    raise ZeroDivisionError
        except ZeroDivisionError:
            raise CommitUnknown("The answer to a COMMIT was lost.") from None
        if lose == "after":
            raise CommitUnknown("The answer to a COMMIT was lost.")

    def close(self) -> None:
        self.database.close()


@pytest.mark.parametrize("lose", ["before", "after"])
@pytest.mark.parametrize("ask", ["send", "schedule", "unschedule", "cancel"])
def test_amb_12_an_intent_whose_commit_is_in_doubt_asks_nobody_and_a_new_key_goes_through(world, ask, lose):
    world.sandbox.world.behave(sending_ms=30 * MINUTE_MS)
    campaign_id = {"unschedule": world.scheduled, "cancel": world.sending}.get(ask, world.drafted)()
    lossy = Lossy(world.home.open())
    bridge = world.process(store=Store(lossy))
    state = world.state(campaign_id)
    world.meanwhile("dial", lambda: setattr(lossy, "lose", lose), before=False)
    with refused("persistence_failed"):
        getattr(world, ask)(campaign_id, "k1", bridge=bridge)
    assert f"POST {ask}" not in world.heard()
    assert (world.state(campaign_id), world.campaign(campaign_id).open_attempt) == (state, None)
    assert world.statuses(campaign_id, ask) == (["failed"] if lose == "after" else [])
    getattr(world, ask)(campaign_id, "k2", bridge=bridge)
    assert world.heard().count(f"POST {ask}") == 1


@pytest.mark.parametrize("lose", ["before", "after"])
@pytest.mark.parametrize("ask", ["send", "schedule", "unschedule", "cancel"])
def test_amb_12_an_outcome_whose_commit_is_in_doubt_is_recorded_once_and_never_as_failed(world, ask, lose):
    world.sandbox.world.behave(sending_ms=30 * MINUTE_MS)
    campaign_id = {"unschedule": world.scheduled, "cancel": world.sending}.get(ask, world.drafted)()
    lossy = Lossy(world.home.open())
    world.meanwhile(ask, lambda: setattr(lossy, "lose", lose), before=False)
    getattr(world, ask)(campaign_id, "k1", bridge=world.process(store=Store(lossy)))
    assert world.statuses(campaign_id, ask) == ["succeeded"]
    assert len(world.events(campaign_id, f"{ask}_accepted")) == 1
    assert world.events(campaign_id, "late_outcome") == []
    assert world.heard().count(f"POST {ask}") == 1


def test_dup_5_a_restored_copy_with_a_scheduled_campaign_only_reads_and_finds_that_it_went(
    sqlite_world, tmp_path
):
    world = sqlite_world
    campaign_id = world.scheduled()
    copy = str(tmp_path / "copy.db")
    with closing(sqlite3.connect(world.home.where)) as there, closing(sqlite3.connect(copy)) as here:
        there.backup(here)
    world.run()
    assert world.state(campaign_id) == "sent"
    world.later(hours=5)
    world.heard()
    restored = Home("sqlite", copy, offset_ms=world.home.offset_ms)
    bridge = world.process(store=restored.store())
    bridge.tick()
    shown = bridge.show(campaign_id, actor=DANA).dossier.campaign
    assert (shown.state.value, shown.look_at) == ("sent", None)
    assert set(world.heard()) == {"GET inspect"}
    restored.close()
    assert (world.sends(campaign_id), world.sandbox.truth.duplicates()) == (1, 0)


def test_sched_1_a_local_time_that_is_skipped_or_repeated_is_asked_back_and_schedules_nothing(world):
    campaign_id = world.drafted()
    for text, zone in (
        ("2027-03-14T02:30", "America/New_York"),
        ("2027-11-07T01:30", "America/New_York"),
        ("2027-03-28T02:30", "Europe/Berlin"),
        ("2027-10-31T02:30", "Europe/Berlin"),
    ):
        code = outcome_of(
            lambda text=text, zone=zone: world.schedule(campaign_id, at_ms=instant_of(text, zone))
        )
        assert code == "invalid_input"
    assert (world.heard(), world.state(campaign_id)) == ([], "provider_draft")


def test_sched_2_what_was_scheduled_across_a_clock_change_keeps_its_instant_and_is_told_in_utc(world):
    before, after = (
        instant_of("2026-10-24T09:00", "Europe/Berlin"),
        instant_of("2026-10-26T09:00", "Europe/Berlin"),
    )
    assert after - before == 49 * HOUR_MS, "the same local time is an hour later"
    campaign_id = world.scheduled(in_minutes=21 * 24 * 60)
    at_ms = world.campaign(campaign_id).scheduled_for
    assert instant_of(iso(at_ms), None) == at_ms
    world.bridge.close()
    world.later(hours=24)
    again = world.process()
    assert again.show(campaign_id, actor=DANA).dossier.campaign.scheduled_for == at_ms
    world.run(hours=21 * 24)
    (began,) = world.sandbox.truth.events("send_accepted")
    assert began.at_ms == at_ms


def test_sched_5_a_look_that_was_due_while_the_host_slept_is_made_once_and_nothing_is_dropped(world):
    campaign_id = world.scheduled()
    world.later(hours=9)
    for _ in range(3):
        world.bridge.tick()
    assert world.heard() == ["GET inspect"]
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


def test_sched_7_a_campaign_has_one_schedule_and_the_same_content_a_second_one_only_after_the_first_is_off(
    world,
):
    first = world.scheduled()
    with refused("invalid_state"):
        world.schedule(first, "p2", at_ms=world.slot(in_minutes=12 * 60))
    twin = world.bridge.duplicate(first, actor=DANA, key="k1").campaign.id
    _, checked = world.bridge.submit(twin, actor=DANA)
    world.bridge.approve(twin, actor=DANA, approved=checked.fingerprint, max_recipients=BOUND)
    world.draft(twin)
    with refused("already_sent_elsewhere") as no:
        world.schedule(twin, at_ms=world.slot(in_minutes=12 * 60))
    assert no.value.facts["campaign"] == first
    world.unschedule(first)
    world.schedule(twin, "p2", at_ms=world.slot(in_minutes=12 * 60))
    world.run()
    assert (world.sends(first), world.sends(twin)) == (0, 1)


def test_imp_9_a_subject_of_many_scripts_arrives_whole_and_one_that_breaks_a_header_is_refused(sqlite_world):
    world = sqlite_world
    subject = ("Grüße 你好 مرحبا שלום 👩‍👩‍👧 " * 6)[:150].strip()
    campaign_id = world.drafted(subject=subject)
    assert world.sandbox.world.current(world.remote_id(campaign_id)).text("subject_line") == subject
    world.send(campaign_id)
    for broken in ("x" * 151, "ü" * 1_000, "two\r\nBcc: ann@example.com", "two\nlines", "nul\x00"):
        with refused("invalid_input"):
            world.create(subject=broken)


def test_imp_10_a_campaign_is_copied_again_and_again_whatever_its_name(sqlite_world):
    world = sqlite_world
    for name in ("November letter", "N" * 100, "Grüße 你好"):
        campaign_id = world.create(name=name)
        copies = [world.bridge.duplicate(campaign_id, actor=DANA, key=f"k{n}").campaign for n in range(3)]
        assert len({copy.id for copy in copies}) == 3
        assert len({copy.name for copy in copies}) == 1
        assert len(copies[0].name) <= 100


def test_ops_1_a_cancel_works_or_says_why_not_in_every_stuck_state(world):
    """A wrong key, no worker, a provider that is down: each is told apart, and none is called sent."""
    campaign_id = world.scheduled()
    world.key = "00000000000000000000000000000000-us1"
    with refused("provider_failed") as no:
        world.cancel(campaign_id)
    assert no.value.facts["provider"]["code"] == "http_401"
    world.key = KEY
    world.fault("inspect", "refuse_5xx", status=503)
    with refused("provider_failed") as no:
        world.cancel(campaign_id, "c2")
    assert no.value.facts["provider"]["category"] == "ambiguous"
    with world.held(campaign_id, "reconcile"), refused("locked") as no:
        world.cancel(campaign_id, "c3")
    assert no.value.facts["retry_after"] > 0
    assert world.cancel(campaign_id, "c4").state.value == "provider_draft", "no worker is needed for it"
    world.run()
    assert world.sends(campaign_id) == 0


def test_ops_2_a_lock_whose_holder_is_dead_is_named_and_a_cancel_takes_it_over_after_its_lease(world):
    campaign_id = world.scheduled()
    world.abandon(campaign_id)
    with refused("locked"):
        world.cancel(campaign_id)
    (held,) = world.bridge.locks(actor=DANA)
    assert (held["operation"], held["actor"]) == ("send", "cli:other")
    world.later(minutes=6)
    world.cancel(campaign_id, "c2")
    assert world.state(campaign_id) == "provider_draft"
    (taken,) = world.events(campaign_id, "campaign_lock_takeover")
    assert taken["data"]["interrupted_operation"] == "send"


def test_ops_4_a_send_or_schedule_is_confirmed_by_number_and_audience_and_a_test_reaches_the_named_only(
    world,
):
    campaign_id = world.drafted()
    world.later(hours=60 * 24)
    for ask in (world.send, world.schedule):
        with refused("validation_failed"):
            ask(campaign_id, recipients=240)
        with refused("validation_failed"):
            ask(campaign_id, "k2", audience="everybody")
    world.test(campaign_id, "t1", "ann@acme.example")
    (mailed,) = world.sandbox.truth.events("test_mailed")
    assert (mailed.recipients, world.sends(campaign_id)) == (1, 0)
    world.send(campaign_id, recipients=PEOPLE)
    assert world.sends(campaign_id) == 1


def test_ops_7_a_campaign_whose_last_word_is_missing_can_be_settled_by_a_person(world):
    campaign_id = world.sending()
    world.rewrite(world.remote_id(campaign_id), status="archived")
    world.run()
    assert world.campaign(campaign_id).stopped_reason == "untracked"
    assert {"reconcile", "resolve"} <= set(world.actions(campaign_id))
