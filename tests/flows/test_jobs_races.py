"""Jobs under real concurrency: each is claimed by one."""

from collections import Counter

import pytest

from campaignbridge.domain.job import Request
from support.stores import claim, enqueue, in_processes, together

pytest_plugins = ["support.stores"]

JOBS = 2_000
LEASE_MS = 120_000


def fill(store, count=JOBS):
    with store.unit() as unit:
        unit.jobs.enqueue_many((f"job_{n:05}", Request(type="work", target=f"t{n}")) for n in range(count))


def claim_all(store, holder, batch=25):
    got = []
    while jobs := claim(store, holder, batch=batch):
        got += [job.id for job in jobs]
    return got


def claim_as_process(home, parent, number):
    store = home.store()
    with store.unit() as unit:
        unit.now_ms()
    parent.say("ready")
    parent.wait()
    return claim_all(store, f"p{number}")


def assert_each_once(home, shares, count=JOBS):
    claims = Counter(job_id for share in shares for job_id in share)
    assert len(claims) == count
    assert set(claims.values()) == {1}
    assert home.rows("SELECT DISTINCT attempts, fence, state FROM jobs") == [
        {"attempts": 1, "fence": 1, "state": "claimed"}
    ]


def test_of_two_thousand_jobs_that_eight_threads_claim_each_has_one_worker(home, store):
    fill(store)
    assert_each_once(home, together(home, 8, lambda number: claim_all(store, f"t{number}")))


def test_of_two_thousand_jobs_that_four_processes_claim_each_has_one_worker(home, store):
    fill(store)
    assert_each_once(home, in_processes(home, 4, claim_as_process))


def test_of_many_workers_that_race_for_one_expired_lease_one_takes_it_over(home, store):
    enqueue(store)
    claim(store, "gone")
    home.pass_ms(LEASE_MS + 1_000)
    won = together(home, 12, lambda number: len(claim(store, f"t{number}")))
    assert sorted(won) == [0] * 11 + [1]
    assert home.job("job_1")["fence"] == 2


@pytest.mark.postgres
def test_without_a_row_lock_and_a_restated_predicate_two_workers_claim_one_job(postgres_home):
    """What SKIP LOCKED and the predicate in the UPDATE are for: one without both claims what is claimed."""
    store = postgres_home.mutant(
        "jobs.claim",
        [
            "FOR UPDATE SKIP LOCKED",
            "AND (state = 'queued' OR (state = 'claimed' AND lease_until < now_ms()))",
        ],
    )
    doubles = 0
    for turn in range(40):
        enqueue(store, f"job_{turn}")
        won = together(postgres_home, 4, lambda number: [job.id for job in claim(store, f"t{number}")])
        doubles += sum(map(len, won)) - 1
        postgres_home.rows("DELETE FROM jobs")
        if doubles:
            break
    assert doubles > 0


def test_of_many_duplicates_that_are_queued_at_once_one_job_comes(home, store):
    ids = together(home, 12, lambda number: enqueue(store, f"job_{number}", target="t"))
    assert len(set(ids)) == 1
    assert [row["id"] for row in home.rows("SELECT id FROM jobs")] == [ids[0]]


def test_two_bulk_enqueues_of_the_same_keys_in_opposite_order_do_not_deadlock(home, store):
    requests = [Request(type="work", target=f"t{number}") for number in range(300)]

    def bulk(number):
        ordered = requests if number % 2 else requests[::-1]
        with store.unit() as unit:
            unit.jobs.enqueue_many((f"job_{number}_{n}", request) for n, request in enumerate(ordered))

    together(home, 4, bulk)
    assert home.rows("SELECT count(*) AS n FROM jobs") == [{"n": 300}]


def test_a_wish_that_races_with_the_end_of_the_job_is_never_lost(home, store):
    """Whichever comes first: a run that starts after the wish is still to come."""
    for turn in range(15):
        target = f"t{turn}"
        enqueue(store, f"job_{turn}", target=target)
        (job,) = claim(store)

        def finish_or_wish(number, job=job, target=target, turn=turn):
            if number:
                return enqueue(store, f"wish_{turn}", target=target)
            with store.unit() as unit:
                return unit.jobs.finish(job)

        finished, _ = together(home, 2, finish_or_wish)
        assert finished is True
        assert len(claim(store)) == 1
