"""An administrator's hand on locks and jobs: what may be freed or queued anew, by whom, and with what on record."""

import json

import pytest

from campaignbridge.bootstrap import assemble
from campaignbridge.domain.actor import Actor, with_all_rights
from campaignbridge.domain.errors import (
    Forbidden,
    InvalidInput,
    InvalidState,
    Locked,
    NotFound,
    ValidationFailed,
)
from campaignbridge.domain.job import job_id
from campaignbridge.domain.lock import LOCK_TTL_MS
from campaignbridge.flows import releasing, views
from support.stores import Dice, MovedClock, claim_one, enqueue, no_provider, seed_campaign, wiring

pytest_plugins = ["support.stores"]

ADMIN = with_all_rights("cli:ada")
OPERATOR = Actor("cli:olga", frozenset({"read", "operate", "deliver"}))
KEY = "campaign:cmp_a"
REASON = "worker-3 was switched off"


def hold(store, holder="w3:1:abcd"):
    with store.unit() as unit:
        return unit.locks.acquire(KEY, holder=holder, operation="send", actor="cli:dana").fence


def release(store, fence, *, reason=REASON, actor=ADMIN):
    releasing.release_lock(wiring(store), KEY, fence=fence, reason=reason, actor=actor)


def kept(home):
    return home.rows("SELECT kind, actor, data FROM audit_events")


# locks


def test_a_lock_that_was_left_behind_is_freed_with_the_reason_on_record(home, store):
    seed_campaign(home)
    fence = hold(store)
    home.pass_ms(LOCK_TTL_MS + 1_000)
    (row,) = views.locks(wiring(store), actor=OPERATOR)
    assert (row["state"], row["host"], row["fence"]) == ("left_behind", "w3", fence)
    release(store, fence)
    assert views.locks(wiring(store), actor=OPERATOR) == []
    (event,) = kept(home)
    assert (event["kind"], event["actor"]) == ("lock_released", "cli:ada")
    assert json.loads(event["data"]) == {"key": KEY, "fence": fence, "reason": REASON}


def test_a_lock_that_is_held_is_refused_with_the_wait(home, store):
    fence = hold(store)
    assert views.locks(wiring(store), actor=OPERATOR)[0]["state"] == "held"
    with pytest.raises(Locked) as refused:
        release(store, fence)
    assert 0 < refused.value.facts["retry_after"] <= 300
    assert kept(home) == []


def test_a_lock_that_is_held_too_far_ahead_is_freed_by_its_fence(home, store):
    fence = hold(home.store(ahead_ms=3_600_000))
    assert views.locks(wiring(store), actor=OPERATOR)[0]["state"] == "overlong"
    with pytest.raises(ValidationFailed):
        release(store, fence + 1)
    release(store, fence)
    assert views.locks(wiring(store), actor=OPERATOR) == []


def test_a_lock_that_was_taken_anew_since_somebody_looked_is_not_freed(home, store):
    seen = hold(store)
    home.pass_ms(LOCK_TTL_MS + 1_000)
    hold(store, "w4:1:efgh")
    home.pass_ms(LOCK_TTL_MS + 1_000)
    with pytest.raises(ValidationFailed):
        release(store, seen)


@pytest.mark.parametrize("reason", ["", "short", "   short   ", "line\nbreak in it", "x" * 301])
def test_a_reason_has_ten_to_three_hundred_characters_in_one_line(home, store, reason):
    fence = hold(store)
    home.pass_ms(LOCK_TTL_MS + 1_000)
    with pytest.raises(InvalidInput):
        release(store, fence, reason=reason)
    assert len(views.locks(wiring(store), actor=OPERATOR)) == 1


def test_only_an_administrator_frees_a_lock(home, store):
    fence = hold(store)
    home.pass_ms(LOCK_TTL_MS + 1_000)
    with pytest.raises(Forbidden):
        release(store, fence, actor=OPERATOR)


def test_a_lock_that_nobody_holds_is_not_found(store):
    with pytest.raises(NotFound):
        release(store, 1)


# jobs


@pytest.fixture
def bridge(store):
    return assemble(store, no_provider, MovedClock(), Dice(), "a:1:x")


def give_up(home, store, job, state="dead", **facts):
    enqueue(store, job, **{"type": "watch_campaign", **facts})
    claim_one(store)
    home.rows(
        "UPDATE jobs SET state = ?, last_error = 'abandoned', lease_until = NULL, finished_at = now_ms() WHERE id = ?",
        state, job,
    )  # fmt: skip


def test_an_administrator_queues_a_dead_job_anew_and_it_is_on_record(home, store, bridge):
    give_up(home, store, "job_1")
    assert bridge.job("job_1", actor=ADMIN)["requeue"] == {"allowed": True, "why_not": ""}
    bridge.requeue_job("job_1", actor=ADMIN)
    assert (home.job("job_1")["state"], home.job("job_1")["attempts"]) == ("queued", 0)
    (event,) = kept(home)
    assert (event["kind"], json.loads(event["data"])) == ("job_requeued", {"job": "job_1"})


@pytest.mark.parametrize(
    ("actor", "facts", "state", "expected", "why_not"),
    [
        (OPERATOR, {}, "dead", Forbidden, "only an administrator may"),
        (ADMIN, {"type": "unknown_kind"}, "dead", InvalidState, "its kind is not safe to repeat"),
        (ADMIN, {}, "succeeded", InvalidState, "it is succeeded"),
    ],
)
def test_a_job_that_may_not_be_queued_anew_says_why(  # noqa: PLR0917  a table of cases
    home, store, bridge, actor, facts, state, expected, why_not
):
    give_up(home, store, "job_1", state, **facts)
    assert bridge.job("job_1", actor=actor)["requeue"] == {"allowed": False, "why_not": why_not}
    with pytest.raises(expected):
        bridge.requeue_job("job_1", actor=actor)
    assert home.job("job_1")["state"] == state


def test_a_job_whose_handler_is_not_safe_to_repeat_is_never_queued_anew(home, store):
    give_up(home, store, "job_1", type="send_once")
    with pytest.raises(InvalidState):
        releasing.requeue_job(wiring(store), "job_1", safe_types=frozenset({"watch_campaign"}), actor=ADMIN)
    assert home.job("job_1")["state"] == "dead"


def test_what_a_job_carries_is_shown_to_nobody(home, store, bridge):
    enqueue(store, "job_1", payload={"note": "for-internal-use"})
    shown = [*bridge.jobs(actor=ADMIN), bridge.job("job_1", actor=ADMIN)]
    for state in ("queued", "claimed", "succeeded", "failed", "dead"):
        shown += bridge.jobs(actor=ADMIN, state=state)
    assert "for-internal-use" in home.everything()
    assert "for-internal-use" not in repr(shown)
    assert "payload" not in repr(shown)


@pytest.mark.parametrize("state", ["", "queued", "claimed", "dead"])
def test_jobs_are_listed_page_by_page_each_once(home, store, bridge, state):
    for number in range(7):
        enqueue(store, f"job_{number}", at=number // 2)
    if state == "claimed":
        home.rows("UPDATE jobs SET state = 'claimed', lease_until = now_ms()")
    if state == "dead":
        home.rows("UPDATE jobs SET state = 'dead', finished_at = run_at")
    found, cursor = [], ""
    for _ in range(4):
        page = bridge.jobs(actor=ADMIN, state=state, most=2, cursor=cursor)
        found += [row["id"] for row in page]
        cursor = page[-1]["cursor"]
    assert bridge.jobs(actor=ADMIN, state=state, most=2, cursor=cursor) == []
    expected = [f"job_{number}" for number in range(7)]
    assert found == (expected if state in ("queued", "claimed") else expected[::-1])


@pytest.mark.parametrize("cursor", ["x", "1", "-1.job", "1" * 30 + ".job", "²." + "x", "1." + "x" * 200])
def test_a_cursor_that_is_none_of_ours_is_refused(bridge, cursor):
    with pytest.raises(InvalidInput):
        bridge.jobs(actor=ADMIN, cursor=cursor)


def test_ids_of_jobs_sort_by_when_they_were_made():
    times = [0, 1, 35, 36, 1_700_000_000_000, 1_700_000_000_001, 2_800_000_000_000]
    ids = [job_id(at, "zzzzzzzz") for at in times]
    assert ids == sorted(ids)
    assert {len(one) for one in ids} == {len("job_") + 16}
