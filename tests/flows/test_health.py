"""How the background work fares: what is counted, by what, and which warnings follow."""

from dataclasses import replace

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Forbidden
from campaignbridge.domain.job import Fail, JobState
from campaignbridge.engine.tick import tick
from campaignbridge.flows import health as reading
from campaignbridge.flows.health import LATE_MS, Health, Seen, health, look, warnings
from campaignbridge.store.unit import Store
from support.stores import Counting, Diary, claim, enqueue, wiring

pytest_plugins = ["support.stores"]

MINUTE_MS = 60_000
LEASE_MS = 120_000
READER = Actor("cli:dana", frozenset({"read"}))


def looked(store) -> Health:
    with store.reading() as unit:
        return look(unit)


def test_an_empty_queue_has_no_figures_and_no_worker(store):
    found = looked(store)
    assert (found.waiting, found.claimed, found.stopped, found.overdue) == (0, 0, 0, 0)
    assert (found.due_since, found.stopped_since, found.dead_at, found.last_tick) == (None,) * 4
    assert (found.dead, found.failed, found.workers) == ((), (), ())


def test_waiting_claimed_stopped_and_overdue_jobs_are_told_apart(home, store):
    for number in range(6):
        enqueue(store, f"job_{number}", delay_ms=number)
    enqueue(store, "later", delay_ms=24 * 60 * MINUTE_MS)
    home.pass_ms(1_000)
    claim(store, batch=2)
    found = looked(store)
    assert (found.waiting, found.claimed, found.stopped, found.overdue) == (5, 2, 0, 0)
    assert found.due_since == home.job("job_2")["run_at"]
    home.pass_ms(LEASE_MS)
    assert looked(store).stopped == 2
    home.pass_ms(LATE_MS)
    found = looked(store)
    assert (found.waiting, found.claimed, found.stopped, found.overdue) == (5, 2, 2, 4)
    assert found.overdue_since == home.job("job_2")["run_at"]
    assert found.stopped_since == home.job("job_0")["lease_until"]


def test_dead_and_failed_jobs_are_counted_by_code(home, store):
    for number, (state, code) in enumerate(
        [("dead", "abandoned"), ("dead", "abandoned"), ("dead", "no_handler"), ("failed", "gone")]
    ):
        enqueue(store, f"job_{number}")
        with store.unit() as unit:
            unit.jobs.end(_claimed(unit), JobState(state), code, fresh_id="x")
    found = looked(store)
    assert found.dead == (("abandoned", 2), ("no_handler", 1))
    assert found.failed == (("gone", 1),)
    assert found.dead_at == home.job("job_2")["finished_at"]


def _claimed(unit):
    (job,) = unit.jobs.claim(holder="a", batch=1, lease_ms=LEASE_MS)
    return job


def test_every_count_ends_at_its_bound(store, monkeypatch):
    monkeypatch.setattr(reading, "MOST", 3)
    for number in range(8):
        enqueue(store, f"job_{number}")
    assert looked(store).waiting == 3
    diary = Diary()
    tick(diary.worker(store, diary.handler(Fail("gone"))))
    assert looked(store).failed == (("gone", 3),)


def test_it_costs_three_statements_whatever_is_queued(home):
    database = Counting(home.open())
    store = Store(database)
    for number in range(5):
        enqueue(store, f"job_{number}")
    database.names.clear()
    looked(store)
    assert len(database.names) == 3


def test_a_completed_tick_and_the_last_claim_are_recorded_for_each_worker(home, store):
    diary = Diary()
    first = diary.worker(store, diary.handler(), holder="alpha:1:aaaa")
    second = diary.worker(home.store(), diary.handler(), holder="beta:2:bbbb")
    tick(first)
    home.pass_ms(90_000)
    tick(second, batch=0)
    found = looked(store)
    assert [(one.holder, one.host) for one in found.workers] == [
        ("beta:2:bbbb", "beta"),
        ("alpha:1:aaaa", "alpha"),
    ]
    assert found.workers[0].claimed_at is None, "it ticked and asked for no work"
    assert found.last_tick == found.workers[0].ticked_at
    assert found.last_claim == found.workers[1].claimed_at
    assert found.last_tick - found.last_claim >= 90_000


def test_a_claim_is_recorded_at_the_time_at_which_it_was_made(home, store):
    diary = Diary()
    worker = diary.worker(store, diary.handler())
    worker.claim(1)
    worker.clock.pass_ms(40_000)
    tick(worker, batch=0)
    (seen,) = looked(store).workers
    assert seen.ticked_at - seen.claimed_at == 40_000


def test_a_tick_that_broke_off_is_no_completed_tick(store):
    enqueue(store)

    def broken(event, job):
        raise KeyboardInterrupt

    diary = Diary()
    worker = diary.worker(store)
    worker.log = broken
    worker.handlers = {"work": diary.handler(lambda job: 1 / 0)}
    with pytest.raises(KeyboardInterrupt):
        tick(worker)
    assert looked(store).last_tick is None


def test_workers_that_are_long_gone_are_forgotten_and_the_last_tick_never_is(home, store):
    diary = Diary()
    for number in range(3):
        tick(diary.worker(store, diary.handler(), holder=f"cron:{number}:aaaa"))
    home.pass_ms(25 * 60 * MINUTE_MS)
    assert len(looked(store).workers) == 3
    tick(diary.worker(store, diary.handler(), holder="cron:9:aaaa"))
    assert [one.holder for one in looked(store).workers] == ["cron:9:aaaa"]


def test_it_needs_the_right_to_read(store):
    assert health(wiring(store), actor=READER).waiting == 0
    with pytest.raises(Forbidden):
        health(wiring(store), actor=Actor("cli:dana", frozenset()))


# warnings


NOW = 1_700_000_000_000
WELL = Health(
    now=NOW, waiting=3, claimed=1, stopped=0, stopped_since=None, due_since=NOW - 1_000, overdue=0, dead=(),
    failed=(), dead_at=None, workers=(Seen("a:1:x", NOW - 30_000, NOW - 31_000, None),),
)  # fmt: skip
LONG_AGO = Seen("a:1:x", NOW - LATE_MS - 1, NOW - LATE_MS - 1, None)
HANGING = Seen("a:1:x", NOW - 1_000, NOW - LATE_MS - 1, None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"workers": ()}, ("no_tick",)),
        ({"workers": (LONG_AGO,)}, ("no_tick",)),
        ({"workers": (replace(LONG_AGO, ticked_at=NOW - LATE_MS),)}, ()),
        ({"overdue": 1}, ("work_late",)),
        ({"overdue": 1, "workers": (HANGING,)}, ("work_stalled",)),
        ({"overdue": 1, "workers": (HANGING, LONG_AGO)}, ("work_stalled",)),
        ({"overdue": 1, "workers": (LONG_AGO,)}, ("no_tick", "work_stalled")),
        ({"stopped": 1, "stopped_since": NOW - LATE_MS}, ()),
        ({"stopped": 1, "stopped_since": NOW - LATE_MS - 1, "workers": (HANGING,)}, ("work_stalled",)),
    ],
)
def test_warnings_follow_from_what_ran_and_what_is_late(changes, expected):
    assert warnings(replace(WELL, **changes)) == expected
