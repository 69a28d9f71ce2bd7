"""Test sends: few addresses, few times a day, kept nowhere, and no way to deliver by them."""

import io
import logging
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest

from campaignbridge.bridge import Bridge
from campaignbridge.domain.actor import Actor
from support.world import DANA, HOUR_MS, refused

pytest_plugins = ["support.stores", "support.world"]

TEST = ["GET inspect", "PATCH update", "PUT content", "POST test"]
TOM = Actor("cli:tom", frozenset({"read", "test"}))
CANARIES = ("canary.one@acme.example", "zweiter-kanarienvogel@acme.example")


def mailed(world):
    """Return how many addresses each test reached at the provider."""
    return [event.recipients for event in world.sandbox.truth.events("test_mailed")]


def limited_to(world, *domains) -> Bridge:
    bridge = world.process()
    bridge.wiring = replace(bridge.wiring, test_domains=frozenset(domains))
    return bridge


def test_a_test_is_these_requests_in_this_order_and_changes_nothing_of_the_campaign(world):
    campaign_id = world.drafted()
    before = world.campaign(campaign_id)
    done = world.test(campaign_id, "t1", "a@acme.example", "b@acme.example")
    assert world.heard() == TEST
    assert (done.confirmed, done.replay, mailed(world)) == (True, False, [2])
    assert world.campaign(campaign_id) == before, "no version, no open request"
    assert world.statuses(campaign_id, "test") == ["succeeded"]
    world.run()
    assert (world.heard(), world.sends(campaign_id)) == ([], 0), "nobody watches it"


def test_what_is_tested_is_what_was_approved(world):
    campaign_id = world.drafted()
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    world.by_hand("PUT", f"{place}/content", {"html": "<p>Something else *|UNSUB|*</p>"})
    world.test(campaign_id)
    assert "Read it." in world.sandbox.world.current(world.remote_id(campaign_id)).content.html


# rights and addresses


def test_the_right_to_test_alone_cannot_deliver_or_stop_anything(world):
    campaign_id = world.drafted()
    world.test(campaign_id, actor=TOM)
    world.heard()
    for ask in (world.send, world.schedule, world.unschedule, world.cancel, world.draft):
        with refused("forbidden"):
            ask(campaign_id, "x1", actor=TOM)
    assert (world.heard(), world.sends(campaign_id)) == ([], 0)


def test_the_right_to_deliver_alone_cannot_test(world):
    campaign_id = world.drafted()
    with refused("forbidden"):
        world.test(campaign_id, actor=Actor("cli:eve", frozenset({"read", "deliver"})))
    assert world.heard() == []


@pytest.mark.parametrize("count", [0, 6, 100])
def test_no_address_and_more_than_five_are_refused_without_a_call(world, count):
    campaign_id = world.drafted()
    addresses = tuple(f"p{n}@acme.example" for n in range(count))
    with refused("invalid_input"):
        world.bridge.send_test(campaign_id, actor=DANA, key="t1", addresses=addresses)
    assert (world.heard(), world.attempts(campaign_id, "test")) == ([], [])


def test_five_addresses_are_allowed(world):
    campaign_id = world.drafted()
    world.test(campaign_id, "t1", *(f"p{n}@acme.example" for n in range(5)))
    assert mailed(world) == [5]


@pytest.mark.parametrize(
    "address",
    ["", "ann", "ann@", "@other.example", "a b@acme.example", "a@b@c", "a\n@acme.example", "<a@b.c>"],
)
def test_what_is_no_address_is_refused_without_quoting_it(sqlite_world, address):
    campaign_id = sqlite_world.drafted()
    with refused("invalid_input") as no:
        sqlite_world.bridge.send_test(campaign_id, actor=DANA, key="t1", addresses=(address,))
    assert not address or address not in no.value.what + no.value.todo
    assert sqlite_world.heard() == []


@pytest.mark.parametrize(
    "address",
    [
        "ann@sub.acme.example",
        "ann@xacme.example",
        "ann@acme.example.evil.test",
        "ann@acme.examples",
        "ann@acme",
        "acme.example@evil.test",
    ],
)
def test_only_exactly_the_allowed_domains_get_a_test(sqlite_world, address):
    world = sqlite_world
    bridge = limited_to(world, "acme.example", "other.example")
    campaign_id = world.drafted()
    with refused("forbidden") as no:
        world.test(campaign_id, "t1", "ann@acme.example", address, bridge=bridge)
    assert address not in str(no.value.what) + no.value.todo
    assert (world.heard(), mailed(world)) == ([], [])


def test_an_allowed_domain_counts_in_any_case(world):
    bridge = limited_to(world, "acme.example")
    campaign_id = world.drafted()
    world.test(campaign_id, "t1", "Ann@ACME.Example", bridge=bridge)
    assert mailed(world) == [1]


# the quota


def test_the_eleventh_test_in_a_day_is_refused_whatever_became_of_the_others(world):
    campaign_id = world.drafted()
    outcomes = ["succeeded"] * 6 + ["failed"] * 2 + ["unknown"] * 2
    for number, outcome in enumerate(outcomes):
        if outcome == "failed":
            world.fault("test", "status_429")
            with refused("provider_failed"):
                world.test(campaign_id, f"t{number}")
        else:
            if outcome == "unknown":
                world.fault("test", "accept_then_drop")
            assert world.test(campaign_id, f"t{number}").confirmed is (outcome == "succeeded")
        world.later(minutes=1)
    assert sorted(world.statuses(campaign_id, "test")) == sorted(outcomes)
    world.heard()
    with refused("rate_limited") as no:
        world.test(campaign_id, "t10")
    assert no.value.facts["retry_after"] > 0
    assert world.heard() == []
    assert world.test(campaign_id, "t0").replay is True, "an old key is still answered"
    other = world.drafted(subject="Another letter")
    assert world.test(other).confirmed is True, "each campaign has its own"
    world.later(ms=24 * HOUR_MS - 10 * 60_000 + 1_000)
    assert world.test(campaign_id, "t11").confirmed is True
    with refused("rate_limited"):
        world.test(campaign_id, "t12")


def test_a_test_that_was_refused_before_its_request_does_not_count(world):
    campaign_id = world.drafted()
    world.fault("inspect", "refuse_5xx", times=12)
    for number in range(12):
        with refused("provider_failed"):
            world.test(campaign_id, f"t{number}")
    assert world.attempts(campaign_id, "test") == []
    assert world.test(campaign_id, "t99").confirmed is True


# outcomes


@pytest.mark.parametrize("kind", ["accept_then_drop", "drop_before", "refuse_5xx", "garbled", "proxy_page"])
def test_an_unconfirmed_test_is_final_blocks_nothing_and_its_replay_points_to_the_inbox(world, kind):
    campaign_id = world.drafted()
    world.fault("test", kind)
    done = world.test(campaign_id)
    assert (done.confirmed, done.replay) == (False, False)
    assert world.statuses(campaign_id, "test") == ["unknown"]
    campaign = world.campaign(campaign_id)
    assert (campaign.state.value, campaign.open_attempt, campaign.look_at) == ("provider_draft", None, None)
    world.heard()
    again = world.test(campaign_id)
    assert (again.confirmed, again.replay, again.attempt_id) == (False, True, done.attempt_id)
    assert world.heard() == []
    world.run()
    assert world.heard() == [], "nobody looks for it"
    assert world.statuses(campaign_id, "test") == ["unknown"]
    assert world.test(campaign_id, "t2").confirmed is True
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


def test_a_test_whose_process_died_is_answered_as_unconfirmed_and_blocks_nothing(world):
    campaign_id = world.drafted()
    world.meanwhile("send_test", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.test(campaign_id)
    assert world.statuses(campaign_id, "test") == ["pending"]
    again = world.test(campaign_id)
    assert (again.confirmed, again.replay, mailed(world)) == (False, True, [1])
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


def test_a_confirmed_tests_key_is_answered_from_the_ledger_and_is_bound_to_its_addresses(world):
    campaign_id = world.drafted()
    first = world.test(campaign_id, "t1", "a@acme.example", "b@acme.example")
    world.heard()
    again = world.test(campaign_id, "t1", "b@acme.example", "a@acme.example")
    assert (again.confirmed, again.replay, again.attempt_id) == (True, True, first.attempt_id)
    with refused("idempotency_conflict"):
        world.test(campaign_id, "t1", "c@acme.example")
    assert (world.heard(), mailed(world)) == ([], [2])


def test_a_refused_tests_key_says_so_and_is_not_tried_again(world):
    campaign_id = world.drafted()
    world.fault("test", "status_429")
    for _ in range(2):
        with refused("provider_failed"):
            world.test(campaign_id)
    assert (len(world.attempts(campaign_id, "test")), mailed(world)) == (1, [])


def test_a_test_for_which_the_lease_became_too_short_was_not_made_and_says_so(world):
    campaign_id = world.drafted()
    database = world.home.open()
    store = type(world.bridge.wiring.store)(database)
    bridge = world.process(store=store)
    transaction, slow = database.transaction, []

    def frozen(*, write=True):
        if slow:
            world.clock.pass_ms(slow.pop())
        return transaction(write=write)

    database.transaction = frozen
    world.meanwhile("dial", lambda: slow.append(6_000), before=False)
    with refused("lease_lost"):
        world.test(campaign_id, bridge=bridge)
    (attempt,) = world.attempts(campaign_id, "test")
    assert (attempt.status.value, attempt.error_code, attempt.retryable) == ("failed", "not_called", True)
    assert "POST test" not in world.heard()
    with refused("provider_failed"):
        world.test(campaign_id)
    assert mailed(world) == []


# what stands in its way


@pytest.mark.parametrize("ask", ["send", "schedule"])
def test_an_unresolved_request_blocks_a_test(world, ask):
    campaign_id = world.drafted()
    world.fault(ask, "accept_then_drop")
    with refused("reconciliation_required"):
        getattr(world, ask)(campaign_id)
    world.heard()
    with refused("reconciliation_required"):
        world.test(campaign_id)
    assert (world.heard(), mailed(world)) == ([], [])


def test_an_upload_without_an_answer_blocks_a_test_until_it_can_no_longer_arrive(world):
    campaign_id = world.drafted()
    world.fault("content", "drop_before")
    with refused("provider_failed"):
        world.test(campaign_id)
    world.heard()
    with refused("in_progress") as no:
        world.test(campaign_id, "t2")
    assert world.heard() == []
    world.later(seconds=no.value.facts["retry_after"] + 1)
    assert world.test(campaign_id, "t2").confirmed is True


@pytest.mark.parametrize("stage", ["draft", "approved", "scheduled", "sending"])
def test_only_a_draft_at_the_provider_can_be_tested(world, stage):
    make = {
        "draft": world.create,
        "approved": world.approved,
        "scheduled": world.scheduled,
        "sending": world.sending,
    }
    campaign_id = make[stage]()
    world.heard()
    with refused("invalid_state"):
        world.test(campaign_id)
    assert (world.heard(), mailed(world)) == ([], [])


def test_a_draft_that_somebody_scheduled_at_the_provider_is_not_tested_nor_written_to(world):
    campaign_id = world.drafted()
    world.schedule_by_hand(campaign_id)
    with refused("invalid_state"):
        world.test(campaign_id)
    assert world.heard() == ["GET inspect"]


def test_a_draft_whose_audience_was_swapped_at_the_provider_is_not_tested(world):
    campaign_id = world.drafted()
    world.sandbox.add_list("zz9", "Everybody", 90_000)
    place = f"/campaigns/{world.remote_id(campaign_id)}"
    world.by_hand("PATCH", place, {"recipients": {"list_id": "zz9"}})
    with refused("audience_drift"):
        world.test(campaign_id)
    assert world.heard() == ["GET inspect"]


# kept nowhere


@pytest.mark.parametrize("fault", [None, "status_429", "accept_then_drop", "bare_403", "garbled", "too_many"])
def test_addresses_of_a_test_are_in_no_table_log_or_refusal(world, fault, caplog):
    campaign_id = world.drafted()
    caplog.set_level(logging.DEBUG)
    if fault not in (None, "too_many"):
        world.fault("test", fault)
    addresses = CANARIES if fault != "too_many" else (*CANARIES, *(f"p{n}@acme.example" for n in range(9)))
    printed, said = io.StringIO(), ""
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            done = world.bridge.send_test(campaign_id, actor=DANA, key="t1", addresses=addresses)
            said = repr(done)
        except Exception as error:  # noqa: BLE001  whatever it is, it must not quote them
            said = f"{error!r} {error.__dict__!r}"
        world.run(hours=2)
    view = world.bridge.show(campaign_id, actor=DANA)
    everywhere = "\n".join(
        [
            world.home.everything(),
            caplog.text,
            printed.getvalue(),
            said,
            repr(view),
            repr(world.events(campaign_id)),
        ]
    ).lower()
    assert "test" in everywhere
    for canary in CANARIES:
        assert canary not in everywhere
        assert canary.partition("@")[0] not in everywhere
