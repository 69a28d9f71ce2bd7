"""Jobs in the queue: enqueued once, claimed in order, ended by their owner."""

# ruff: noqa: PT012  a block that fails, and is rolled back as a whole, is what is tested

import pytest

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.job import Again, JobState, Request, encode_payload
from support.stores import MINUTE_MS, claim, claim_one, enqueue

pytest_plugins = ["support.stores"]

LEASE_MS = 120_000


def do(store, name, *args, **params):
    with store.unit() as unit:
        return getattr(unit.jobs, name)(*args, **params)


def end(store, job, state=JobState.DEAD, code="broken"):
    return do(store, "end", job, state, code, fresh_id=f"{job.id}_fresh")


def jobs(home):
    return home.rows("SELECT * FROM jobs ORDER BY created_at, id")


# enqueue


def test_a_second_enqueue_returns_the_unfinished_job_and_drops_its_payload(home, store):
    assert enqueue(store, "job_1", target="t", payload={"n": 1}) == "job_1"
    assert enqueue(store, "job_2", target="t", payload={"n": 2}) == "job_1"
    (row,) = jobs(home)
    assert row["payload"] == '{"n": 1}'


def test_jobs_of_another_type_or_target_or_without_a_key_are_no_duplicates(home, store):
    enqueue(store, "job_1", target="t")
    enqueue(store, "job_2", target="u")
    enqueue(store, "job_3", target="t", type="other")
    enqueue(store, "job_4", target="t", dedupe_key="")
    enqueue(store, "job_5", target="t", dedupe_key="")
    assert len(jobs(home)) == 5


def test_a_duplicate_of_a_queued_job_takes_the_earlier_time(home, store):
    enqueue(store, "job_1", target="t", delay_ms=60 * MINUTE_MS)
    late = home.job("job_1")["run_at"]
    enqueue(store, "job_2", target="t", delay_ms=90 * MINUTE_MS)
    assert home.job("job_1")["run_at"] == late
    enqueue(store, "job_3", target="t", delay_ms=MINUTE_MS)
    assert late - 60 * MINUTE_MS <= home.job("job_1")["run_at"] <= late - 58 * MINUTE_MS
    assert home.job("job_1")["rerun_at"] is None


def test_a_duplicate_of_a_claimed_job_is_remembered_at_its_earliest_wish(home, store):
    enqueue(store, "job_1", target="t")
    claim_one(store)
    for at in (5_000, 9_000, 3_000):
        assert enqueue(store, "job_2", target="t", at=at) == "job_1"
    assert home.job("job_1")["rerun_at"] == 3_000
    assert home.job("job_1")["state"] == "claimed"


def test_a_job_that_is_done_is_queued_again_when_somebody_wished_for_it_meanwhile(home, store):
    enqueue(store, "job_1", target="t")
    job = claim_one(store)
    enqueue(store, "job_2", target="t", at=777)
    assert do(store, "finish", job)
    row = home.job("job_1")
    assert (row["state"], row["run_at"], row["rerun_at"], row["attempts"]) == ("queued", 777, None, 0)
    assert do(store, "finish", claim_one(store))
    assert home.job("job_1")["state"] == "succeeded"


@pytest.mark.parametrize(("wish", "own", "expected"), [(5_000, 9_000, 5_000), (9_000, 5_000, 5_000)])
def test_again_takes_the_earlier_of_its_own_time_and_a_wish(home, store, wish, own, expected):
    enqueue(store, "job_1", target="t")
    job = claim_one(store)
    enqueue(store, "job_2", target="t", at=wish)
    assert do(store, "again", job, Again(at=own))
    row = home.job("job_1")
    assert (row["state"], row["run_at"], row["rerun_at"]) == ("queued", expected, None)


@pytest.mark.parametrize("wish", [5_000, 9_000_000_000_000_000])
def test_retry_takes_the_earlier_of_its_own_delay_and_a_wish(home, store, wish):
    enqueue(store, "job_1", target="t")
    job = claim_one(store)
    enqueue(store, "job_2", target="t", at=wish)
    assert do(store, "retry", job, "busy", delay_ms=MINUTE_MS)
    row = home.job("job_1")
    assert row["run_at"] == min(wish, row["updated_at"] + MINUTE_MS)
    assert row["rerun_at"] is None


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.DEAD])
def test_a_job_that_ends_badly_stands_and_a_wish_makes_a_fresh_one(home, store, state):
    enqueue(store, "job_1", target="t", payload={"n": 1}, max_attempts=7)
    job = claim_one(store)
    enqueue(store, "job_2", target="t", at=4_000)
    assert end(store, job, state)
    old, fresh = jobs(home)
    assert (old["id"], old["state"], old["last_error"]) == ("job_1", state.value, "broken")
    assert (fresh["id"], fresh["state"], fresh["run_at"]) == ("job_1_fresh", "queued", 4_000)
    assert (fresh["dedupe_key"], fresh["max_attempts"], fresh["attempts"]) == ("work:t", 7, 0)
    assert fresh["payload"] == "{}"


def test_without_a_wish_nothing_follows_a_job_that_ended(home, store):
    enqueue(store)
    end(store, claim_one(store))
    assert [row["state"] for row in jobs(home)] == ["dead"]


@pytest.mark.parametrize("ending", ["finish", "failed", "dead"])
def test_the_key_is_free_after_the_end(home, store, ending):
    enqueue(store, "job_1", target="t")
    job = claim_one(store)
    if ending == "finish":
        do(store, "finish", job)
    else:
        end(store, job, JobState(ending))
    assert enqueue(store, "job_2", target="t") == "job_2"


def test_a_job_exists_exactly_when_its_callers_change_does(home, store):
    with pytest.raises(ZeroDivisionError), store.unit() as unit:
        unit.events.add("kind", campaign_id=None, actor=None)
        unit.jobs.enqueue("job_1", Request(type="work", target="t"))
        raise ZeroDivisionError
    assert jobs(home) == home.rows("SELECT * FROM audit_events") == []
    with store.unit() as unit:
        unit.events.add("kind", campaign_id=None, actor=None)
        unit.jobs.enqueue("job_1", Request(type="work", target="t"))
    assert len(jobs(home)) == 1


def test_a_duplicates_wish_is_rolled_back_with_its_caller(home, store):
    enqueue(store, "job_1", target="t", delay_ms=MINUTE_MS)
    before = jobs(home)
    with pytest.raises(ZeroDivisionError), store.unit() as unit:
        unit.jobs.enqueue("job_2", Request(type="work", target="t"))
        raise ZeroDivisionError
    assert jobs(home) == before


def test_a_negative_delay_counts_as_none(home, store):
    enqueue(store, delay_ms=-MINUTE_MS)
    row = home.job("job_1")
    assert row["run_at"] > row["created_at"] - 1_000
    assert claim_one(store).id == "job_1"


def test_many_are_queued_at_once_with_the_same_rules(home, store):
    enqueue(store, "job_x", target="t3", delay_ms=MINUTE_MS)
    requests = [(f"job_{n}", Request(type="work", target=f"t{n % 50}")) for n in range(100)]
    with store.unit() as unit:
        unit.jobs.enqueue_many(requests)
        unit.jobs.enqueue_many([])
    assert len(jobs(home)) == 50
    assert len(claim(store, batch=100)) == 50


# what a job may carry


@pytest.mark.parametrize(
    "name", ["api_key", "Secret", "access_token", "PASSWORD", "authorization", "credential_id", "monkey"]
)
def test_a_payload_key_that_looks_like_a_credential_is_refused(name):
    with pytest.raises(InvalidInput) as refused:
        Request(type="work", target="t", payload={name: "x"})
    assert name in refused.value.what
    assert refused.value.todo


@pytest.mark.parametrize(
    "payload",
    [
        {f"n{number}": 1 for number in range(17)},
        {"text": "x" * 192},
        {"text": "é" * 96},
        {f"n{number}": "x" * 150 for number in range(16)},
        {"nested": {"a": 1}},
        {"nested": [1]},
    ],
)
def test_a_payload_that_is_not_flat_and_small_is_refused(payload):
    with pytest.raises(InvalidInput):
        Request(type="work", target="t", payload=payload)


def test_a_payload_comes_back_as_it_was_given(store):
    payload = {"text": "é\U0001f4e7\x00" + "x" * 180, "n": 1, "r": 0.5, "yes": True, "none": None}
    enqueue(store, payload=payload)
    assert claim_one(store).payload == payload


def test_again_checks_the_payload_that_rides_along(home, store):
    enqueue(store, payload={"n": 1})
    job = claim_one(store)
    with pytest.raises(InvalidInput), store.unit() as unit:
        unit.jobs.again(job, Again(after_ms=0, payload={"token": "x"}))
    assert do(store, "again", job, Again(after_ms=0, payload={"n": 2}))
    assert claim_one(store).payload == {"n": 2}
    assert encode_payload({"b": 1, "a": 2}) == '{"a": 2, "b": 1}'


@pytest.mark.parametrize(
    "facts",
    [
        {"type": "Work"},
        {"type": ""},
        {"target": "UP"},
        {"target": "a b"},
        {"max_attempts": 0},
        {"max_attempts": 51},
    ],
)
def test_malformed_types_targets_and_attempts_are_refused(facts):
    with pytest.raises(InvalidInput):
        Request(**{"type": "work", "target": "t", **facts})


@pytest.mark.parametrize("code", ["The Provider said: no", "", "UPPER", "with space"])
def test_an_error_that_is_no_stable_code_never_reaches_the_store(home, store, code):
    enqueue(store)
    job = claim_one(store)
    with pytest.raises(AssertionError), store.unit() as unit:
        unit.jobs.retry(job, code, delay_ms=0)
    with pytest.raises(AssertionError), store.unit() as unit:
        unit.jobs.end(job, JobState.DEAD, code, fresh_id="job_f")
    assert home.job("job_1")["last_error"] is None


# claim


def test_due_jobs_are_claimed_in_the_order_in_which_they_were_due(store):
    for job_id, at in (("job_c", 3), ("job_b", 2), ("job_a", 2), ("job_d", 1)):
        enqueue(store, job_id, at=at)
    assert [job.id for job in claim(store, batch=3)] == ["job_d", "job_a", "job_b"]
    assert [job.id for job in claim(store, batch=3)] == ["job_c"]


def test_a_job_is_not_claimed_before_its_time(home, store):
    enqueue(store, delay_ms=MINUTE_MS)
    assert claim(store) == []
    home.pass_ms(MINUTE_MS)
    assert claim_one(store).id == "job_1"


def test_without_the_guard_a_job_is_claimed_before_its_time(home):
    mutant = home.mutant("jobs.claim", "AND run_at <= (SELECT now_ms())")
    enqueue(mutant, delay_ms=MINUTE_MS)
    assert claim_one(mutant).id == "job_1"


def test_a_claim_counts_an_attempt_raises_the_fence_and_sets_the_lease(home, store):
    enqueue(store)
    job = claim_one(store, "a")
    row = home.job("job_1")
    assert (job.attempts, job.fence, job.holder, job.taken_over, job.exhausted) == (1, 1, "a", False, False)
    assert (row["state"], row["attempts"], row["fence"], row["holder"]) == ("claimed", 1, 1, "a")
    assert row["lease_until"] == pytest.approx(row["updated_at"] + LEASE_MS, abs=1_000)


def test_the_lease_is_set_exactly_while_a_job_is_claimed(home, store):
    enqueue(store)
    assert do(store, "retry", claim_one(store), "busy", delay_ms=0)
    assert home.job("job_1")["lease_until"] is None
    assert do(store, "finish", claim_one(store))
    assert home.job("job_1")["lease_until"] is None


def test_a_live_job_is_claimed_by_nobody_else(home, store):
    enqueue(store)
    claim_one(store, "a")
    home.pass_ms(LEASE_MS - 1_000)
    assert claim(store, "b") == []
    expired = "AND lease_until < (SELECT now_ms())"
    mutant = home.mutant(
        "jobs.claim", [expired, "AND lease_until < now_ms()"] if home.dialect == "postgres" else expired
    )
    assert claim_one(mutant, "b").fence == 2, "two workers have it"


def test_an_expired_lease_is_claimed_alone_and_before_what_is_due(home, store):
    enqueue(store, "job_a")
    claim_one(store, "a")
    for number in range(5):
        enqueue(store, f"job_{number}", at=number)
    home.pass_ms(LEASE_MS + 1_000)
    job = claim_one(store, "b", batch=10)
    assert (job.id, job.taken_over, job.attempts, job.fence) == ("job_a", True, 2, 2)
    assert len(claim(store, "b", batch=10)) == 5


def test_an_expired_lease_with_attempts_left_comes_before_one_without(home, store):
    enqueue(store, "job_last", max_attempts=1)
    claim_one(store, "a")
    home.pass_ms(1_000)
    enqueue(store, "job_more", max_attempts=2)
    claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    assert [claim_one(store, "b").id, claim_one(store, "b").id] == ["job_more", "job_last"]


def test_a_takeover_on_the_last_attempt_is_marked_and_counts_none(home, store):
    enqueue(store, max_attempts=1)
    claim_one(store, "a")
    for holder, fence in (("b", 2), ("c", 3)):
        home.pass_ms(LEASE_MS + 1_000)
        job = claim_one(store, holder)
        assert (job.exhausted, job.taken_over, job.attempts, job.fence) == (True, True, 1, fence)


# what only the owner may do


OWNED = [
    ("finish", lambda jobs, job: jobs.finish(job)),
    ("again", lambda jobs, job: jobs.again(job, Again(after_ms=0))),
    ("retry", lambda jobs, job: jobs.retry(job, "busy", delay_ms=0)),
    ("end", lambda jobs, job: jobs.end(job, JobState.DEAD, "broken", fresh_id="job_f")),
    ("renew", lambda jobs, job: jobs.renew(job, lease_ms=LEASE_MS)),
    ("start", lambda jobs, job: jobs.start(job, lease_ms=LEASE_MS)),
    ("give_back", lambda jobs, job: jobs.give_back(job)),
]


@pytest.mark.parametrize(("name", "write"), OWNED, ids=[name for name, _ in OWNED])
def test_a_takeover_locks_the_stopped_worker_out(home, store, name, write):
    enqueue(store)
    stopped = claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    taken = claim_one(store, "b")
    before = jobs(home)
    with store.unit() as unit:
        assert write(unit.jobs, stopped) is False
    assert jobs(home) == before
    with store.unit() as unit:
        assert write(unit.jobs, taken) is True


@pytest.mark.parametrize(("name", "write"), OWNED, ids=[name for name, _ in OWNED])
def test_without_fence_and_holder_the_stopped_worker_writes_over_its_successor(home, store, name, write):
    enqueue(store)
    stopped = claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    claim_one(store, "b")
    with home.mutant(f"jobs.{name}", "AND fence = :fence AND holder = :holder").unit() as unit:
        assert write(unit.jobs, stopped) is True


@pytest.mark.parametrize(("name", "write"), OWNED, ids=[name for name, _ in OWNED])
def test_fence_and_holder_are_both_compared(home, store, name, write):
    enqueue(store)
    job = claim_one(store, "a")
    forged = [
        type(job)(**{**{f: getattr(job, f) for f in job.__slots__}, **one})
        for one in ({"fence": 2}, {"holder": "b"})
    ]
    before = jobs(home)
    for other in forged:
        with store.unit() as unit:
            assert write(unit.jobs, other) is False
    assert jobs(home) == before


@pytest.mark.parametrize("ending", ["finish", "again", "retry", "end"])
def test_work_that_outlived_its_lease_and_was_not_taken_over_is_recorded(home, store, ending):
    enqueue(store)
    job = claim_one(store)
    home.pass_ms(LEASE_MS + 1_000)
    with store.unit() as unit:
        assert dict(OWNED)[ending](unit.jobs, job) is True


@pytest.mark.parametrize("name", ["renew", "start"])
def test_a_start_and_a_heartbeat_need_a_live_lease(home, store, name):
    enqueue(store)
    job = claim_one(store)
    home.pass_ms(LEASE_MS + 1_000)
    with store.unit() as unit:
        assert dict(OWNED)[name](unit.jobs, job) is False
    with home.mutant(f"jobs.{name}", "AND lease_until > now_ms()").unit() as unit:
        assert dict(OWNED)[name](unit.jobs, job) is True


def test_a_job_is_started_once(home, store):
    enqueue(store)
    job = claim_one(store)
    with store.unit() as unit:
        assert unit.jobs.start(job, lease_ms=LEASE_MS)
        assert not unit.jobs.start(job, lease_ms=LEASE_MS)
    with home.mutant("jobs.start", "AND started_at IS NULL").unit() as unit:
        assert unit.jobs.start(job, lease_ms=LEASE_MS)


def test_ended_jobs_change_no_more(home, store):
    """REC-2, REC-6: a late write finds another state and changes nothing."""
    enqueue(store)
    job = claim_one(store)
    do(store, "finish", job)
    before = jobs(home)
    for _name, write in OWNED:
        with store.unit() as unit:
            assert write(unit.jobs, job) is False
    assert jobs(home) == before
    with home.mutant("jobs.retry", "AND state = 'claimed'").unit() as unit:
        assert unit.jobs.retry(job, "busy", delay_ms=0), "a finished job would run again"


# heartbeats


def renew_all(store, held, holder="a"):
    return do(store, "renew_all", held, holder=holder, lease_ms=LEASE_MS)


def test_heartbeats_keep_every_lease_that_a_worker_has_in_hand(home, store):
    for number in range(3):
        enqueue(store, f"job_{number}")
    held = claim(store, "a")
    for _ in range(20):
        home.pass_ms(LEASE_MS // 3)
        assert renew_all(store, held) == {(job.id, 1) for job in held}
        assert claim(store, "b") == []


def test_a_heartbeat_is_the_owners_only_and_only_for_a_live_lease(home, store):
    enqueue(store)
    held = claim(store, "a")
    assert renew_all(store, held, "b") == set()
    home.pass_ms(LEASE_MS + 1_000)
    assert renew_all(store, held) == set()
    assert renew_all(home.mutant("jobs.renew_all", "AND lease_until > now_ms()"), held) == {("job_1", 1)}
    assert renew_all(
        home.mutant("jobs.renew_all", "AND holder = :holder AND lease_until > now_ms()"), held, "b"
    )


def test_a_job_that_its_worker_gave_up_gets_no_heartbeat(home, store):
    enqueue(store, "job_1")
    enqueue(store, "job_10")
    first, second = claim(store, "a")
    assert renew_all(store, [second]) == {("job_10", 1)}
    home.pass_ms(LEASE_MS - 1_000)
    assert renew_all(store, [second]) == {("job_10", 1)}
    assert renew_all(store, []) == set()
    home.pass_ms(2_000)
    assert claim_one(store, "b").id == first.id


def test_without_the_guard_a_job_that_its_worker_gave_up_is_kept_alive_for_ever(home):
    guard = "AND replace(:in_hand, ',' || id || ':' || fence || ',', '') <> :in_hand"
    store = home.mutant("jobs.renew_all", guard)
    enqueue(store)
    claim(store, "a")
    for _ in range(10):
        home.pass_ms(LEASE_MS // 3)
        assert renew_all(store, []) == {("job_1", 1)}
        assert claim(store, "b") == []


def test_a_beat_that_comes_after_a_takeover_by_the_same_worker_is_not_for_the_earlier_claim(home, store):
    enqueue(store)
    earlier = claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    claim_one(store, "a")
    assert renew_all(store, [earlier]) == set()


# going back


def test_a_job_that_is_given_back_counts_no_attempt(home, store):
    """RETRY-1: ten deploys of a healthy job use up nothing."""
    enqueue(store, max_attempts=2)
    for _ in range(10):
        assert do(store, "give_back", claim_one(store))
    row = home.job("job_1")
    assert (row["state"], row["attempts"], row["lease_until"]) == ("queued", 0, None)
    assert claim_one(store).attempts == 1


def test_a_started_job_is_not_given_back(home, store):
    enqueue(store)
    job = claim_one(store)
    do(store, "start", job, lease_ms=LEASE_MS)
    assert not do(store, "give_back", job)
    with home.mutant("jobs.give_back", "AND started_at IS NULL").unit() as unit:
        assert unit.jobs.give_back(job), "an unsafe job would run twice"


def test_an_exhausted_job_that_is_given_back_gets_no_further_run(home, store):
    enqueue(store, max_attempts=1)
    claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    exhausted = claim_one(store, "b")
    assert not do(store, "give_back", exhausted)
    home.pass_ms(LEASE_MS + 1_000)
    assert claim_one(store, "c").exhausted


def test_without_the_guard_an_exhausted_job_that_is_given_back_runs_once_more(home, store):
    enqueue(store, max_attempts=1)
    claim_one(store, "a")
    home.pass_ms(LEASE_MS + 1_000)
    exhausted = claim_one(store, "b")
    with home.mutant("jobs.give_back", "AND exhausted = 0").unit() as unit:
        assert unit.jobs.give_back(exhausted)
    assert not claim_one(store, "c").exhausted


def test_every_return_to_the_queue_clears_the_started_mark(home, store):
    for write in (OWNED[1][1], OWNED[2][1]):
        enqueue(store)
        job = claim_one(store)
        do(store, "start", job, lease_ms=LEASE_MS)
        with store.unit() as unit:
            assert write(unit.jobs, job)
        assert home.job("job_1")["started_at"] is None


# purge and requeue


DAY_MS = 24 * 60 * MINUTE_MS
KEEP = {"keep_ms": 7 * DAY_MS, "keep_failed_ms": 90 * DAY_MS}


def ended(home, store, job_id, state, days):
    enqueue(store, job_id)
    home.rows(
        "UPDATE jobs SET state = ?, finished_at = now_ms() - ? WHERE id = ?",
        state,
        days * DAY_MS,
        job_id,
    )


def test_ended_jobs_are_purged_after_their_time_and_no_others(home, store):
    cases = [("succeeded", 6), ("succeeded", 8), ("failed", 8), ("failed", 91), ("dead", 89), ("dead", 91)]
    for state, days in cases:
        ended(home, store, f"job_{state}_{days}", state, days)
    enqueue(store, "job_queued", at=1)
    assert do(store, "purge", **KEEP, chunk=100) == 3
    assert {row["id"] for row in jobs(home)} == {
        "job_succeeded_6",
        "job_failed_8",
        "job_dead_89",
        "job_queued",
    }


def test_a_purge_deletes_a_bounded_chunk_oldest_first(home, store):
    for number in range(10):
        ended(home, store, f"job_{number}", "succeeded", 10 + number)
    assert do(store, "purge", **KEEP, chunk=4) == 4
    assert {row["id"] for row in jobs(home)} == {f"job_{number}" for number in range(6)}
    assert [do(store, "purge", **KEEP, chunk=4) for _ in range(3)] == [4, 2, 0]


@pytest.mark.parametrize("state", [JobState.DEAD, JobState.FAILED])
def test_a_dead_or_failed_job_is_queued_anew_with_all_its_attempts(home, store, state):
    enqueue(store)
    end(store, claim_one(store), state)
    assert do(store, "requeue", "job_1")
    row = home.job("job_1")
    assert (row["state"], row["attempts"], row["last_error"], row["finished_at"]) == ("queued", 0, None, None)
    assert claim_one(store).attempts == 1


def test_only_ended_jobs_that_did_not_succeed_are_queued_anew(home, store):
    enqueue(store)
    assert not do(store, "requeue", "job_1")
    job = claim_one(store)
    assert not do(store, "requeue", "job_1")
    do(store, "finish", job)
    assert not do(store, "requeue", "job_1")
    assert not do(store, "requeue", "job_none")
    assert do(home.mutant("jobs.requeue", "AND state IN ('dead', 'failed')"), "requeue", "job_1")


def test_a_job_whose_key_is_in_use_is_not_queued_anew(home, store):
    enqueue(store, "job_1", target="t")
    end(store, claim_one(store))
    enqueue(store, "job_2", target="t")
    assert not do(store, "requeue", "job_1")


def test_a_job_that_is_queued_anew_has_forgotten_the_wish_that_was_granted_by_a_fresh_one(home, store):
    enqueue(store, "job_1", target="t")
    job = claim_one(store)
    enqueue(store, "job_2", target="t", at=4_000)
    end(store, job)
    do(store, "finish", claim_one(store))
    assert do(store, "requeue", "job_1")
    do(store, "finish", claim_one(store))
    assert home.job("job_1")["state"] == "succeeded"


def test_the_newest_jobs_are_listed_by_state_in_bounded_pages(store):
    for number in range(5):
        enqueue(store, f"job_{number}")
    claim(store, batch=2)
    assert len(do(store, "newest")) == 5
    assert len(do(store, "newest", most=3)) == 3
    assert len(do(store, "newest", state="claimed")) == 2
