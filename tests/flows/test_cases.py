"""One test for each case of docs/cases.md: what went wrong elsewhere, played here from end to end."""

import os
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaignbridge.bootstrap import assemble
from campaignbridge.domain.job import Done
from campaignbridge.domain.lock import LOCK_TTL_MS
from campaignbridge.domain.provider import Accepted
from campaignbridge.engine.runtime import Runtime
from campaignbridge.engine.tick import tick
from campaignbridge.flows.holding import Held
from campaignbridge.flows.outcome import record
from campaignbridge.host import HostChance, HostClock, process_identity
from campaignbridge.ports import Mark
from campaignbridge.providers.registry import open_provider
from campaignbridge.sandbox.problems import Problem
from campaignbridge.store.unit import Store
from support.stores import Child, Diary, claim, claim_one, enqueue, in_processes, together
from support.world import (
    DANA,
    GUARD,
    KEY,
    PEOPLE,
    SEND,
    Broken,
    child_sends,
    confirmation,
    outcome_of,
    refused,
    waiting_until,
)

pytest_plugins = ["support.stores", "support.world"]


# AMB-1: a timeout was shown as an error, and the campaign was sent again


def silent(world, monkeypatch):
    monkeypatch.setattr("campaignbridge.flows.delivery.MUTATION_LIMIT_MS", 600)
    world.fault("send", "accept_then_withhold")


def localised(world, monkeypatch):
    words = ("Zeitüberschreitung", "Die Kampagne wurde NICHT gesendet. Bitte erneut senden.")
    monkeypatch.setattr("campaignbridge.sandbox.problems.broken", lambda status: Problem(status, *words))
    world.fault("send", "accept_then_5xx", status=500)


AFTER_IT_LEFT = {
    "no answer": silent,
    "reset": lambda world, _: world.fault("send", "accept_then_drop"),
    "502 with a page": lambda world, _: world.fault("send", "proxy_page", status=502, applied=True),
    "404 with a page": lambda world, _: world.fault("send", "proxy_page", status=404, applied=True),
    "words in another language": localised,
}


@pytest.mark.parametrize("variant", AFTER_IT_LEFT)
def test_amb_1_whatever_happens_after_the_request_left_is_unknown_and_blocks_the_send(
    world, monkeypatch, variant
):
    campaign_id = world.drafted()
    AFTER_IT_LEFT[variant](world, monkeypatch)
    with refused("reconciliation_required"):
        world.send(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("unknown", ["unknown"])
    for key in ("s1", "s2"):
        with refused("reconciliation_required"):
            world.send(campaign_id, key)
    assert "send" not in world.actions(campaign_id)
    assert world.heard() == SEND
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), world.posts()) == ("sent", 1, 1)


@pytest.mark.parametrize("variant", ["dns", "refused", "tls"])
def test_amb_1_only_a_connection_that_was_never_established_counts_as_not_sent(world, monkeypatch, variant):
    campaign_id = world.drafted()
    before = world.ledger(campaign_id)

    def no_name(*_args, **_facts):
        raise socket.gaierror(-2, "Der Name ist unbekannt")

    if variant == "tls":
        place = world.server.url.replace("http://", "https://")
        world.home.rows("UPDATE connections SET base_url = ?", place)
    else:
        how = (
            (lambda: monkeypatch.setattr(socket, "getaddrinfo", no_name))
            if variant == "dns"
            else (world.server.stop)
        )
        world.meanwhile("dial", how)
    with refused("provider_failed") as no:
        world.send(campaign_id)
    monkeypatch.undo()
    assert no.value.facts["provider"]["category"] == "unreachable"
    assert no.value.facts["provider"]["code"] == {"refused": "connect_refused"}.get(variant, variant)
    assert (world.posts(), world.ledger(campaign_id)) == (0, before), (
        "nothing is recorded: it may be repeated"
    )
    assert world.heard() == ([] if variant == "tls" else GUARD)


# AMB-2: a worker died between acceptance and its record


def test_amb_2_the_first_pass_makes_one_unknown_and_the_second_changes_nothing(world):
    campaign_id = world.drafted()
    world.fault("send", "accept_then_withhold")
    child = Child(world.home, child_sends, world.server.url, campaign_id)
    try:
        assert child.hear() == "ready"
        child.tell()
        waiting_until(lambda: world.sends(campaign_id))
        child.kill()
    finally:
        child.close()
        world.server.release()
    world.fault("inspect", "refuse_5xx", times=None)  # it can't be settled yet
    world.later(minutes=10)
    second = world.process()
    second.tick()
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("unknown", ["unknown"])
    told = world.events(campaign_id)
    assert [row["kind"] for row in told][-2:] == ["campaign_lock_takeover", "send_unconfirmed"]
    before = world.ledger(campaign_id)
    for _ in range(2):
        world.step(bridge=second)
    assert (world.ledger(campaign_id), world.events(campaign_id)) == (before, told)
    world.sandbox.faults.clear()
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id), world.posts()) == ("sent", 1, 1)
    assert world.next_due() is None, "nothing is left to be tried again"


# AMB-9: the idempotency key had expired, or named other content


def test_amb_9_a_retry_a_day_later_is_refused_until_the_first_is_settled(world):
    campaign_id = world.doubted()
    world.later(hours=25)
    for key in ("s1", "s2"):
        with refused("reconciliation_required"):
            world.send(campaign_id, key)
    assert world.heard() == []
    world.reconcile(campaign_id)
    again = world.send(campaign_id, "s1")
    assert again.replay is True
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


def test_amb_9_a_key_is_bound_to_the_exact_request_for_ever(world):
    campaign_id = world.sending()
    world.later(hours=24 * 400)
    assert world.send(campaign_id, "s1").replay is True
    with refused("idempotency_conflict"):
        world.send(campaign_id, "s1", recipients=PEOPLE - 1)
    world.home.rows("UPDATE campaigns SET approved_fingerprint = 'sha256:edited'")
    with refused("idempotency_conflict"):
        world.draft(campaign_id, "d1")
    assert (world.heard(), world.posts()) == ([], 1)


# DUP-1: a gateway's 504, and a second click from another browser


def test_dup_1_a_504_and_a_second_click_at_the_same_time_make_one_request(world):
    campaign_id = world.drafted()
    world.fault("send", "proxy_page", status=504, applied=True, times=None)
    browsers = [world.process(), world.process()]
    outcomes = together(
        world.home,
        2,
        lambda n: outcome_of(lambda: world.send(campaign_id, f"s{n}", bridge=browsers[n])),
    )
    assert outcomes.count("reconciliation_required") >= 1
    assert set(outcomes) <= {"reconciliation_required", "locked"}
    assert world.posts() == 1
    with refused("reconciliation_required") as no:
        world.send(campaign_id, "s9", bridge=browsers[1])
    assert no.value.facts["attempt"] == world.attempts(campaign_id)[0].id, "it is told of the one run"
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


# DUP-8: a key that was too coarse dropped wanted mail in silence


def test_dup_8_only_the_very_same_content_to_the_same_people_is_held_back_and_never_in_silence(world):
    world.sandbox.add_list("zz9", "Customers US", PEOPLE)
    first = world.sending()
    wanted = {
        "another letter": world.drafted(subject="Another letter", content=b"<p>B *|UNSUB|*</p>"),
        "corrected": world.drafted(content=b"<h1>News, corrected</h1>*|UNSUB|*"),
        "another subject": world.drafted(subject="What we shipped (sorry)"),
    }
    for campaign_id in wanted.values():
        world.send(campaign_id)
    elsewhere = world.drafted(audience="zz9")
    world.send(elsewhere, audience="zz9")
    same = world.drafted(name="Copied by mistake")
    with refused("already_sent_elsewhere") as no:
        world.send(same)
    assert no.value.facts["campaign"] == first
    (event,) = world.events(same, "send_not_made")
    assert (event["actor"], event["data"]["code"]) == ("cli:dana", "already_sent_elsewhere")
    assert [world.sends(one) for one in (first, *wanted.values(), elsewhere, same)] == [1, 1, 1, 1, 1, 0]


# LEASE-1: a long job was handed to a second worker because of its age


@pytest.mark.parametrize("renewed", [True, False])
def test_lease_1_a_long_job_keeps_its_lease_by_heartbeats_and_loses_it_only_without_them(
    home, store, renewed
):
    enqueue(store)
    first, second, polls = Diary(), Diary(), []
    other = second.worker(home.store(), second.handler(lease_ms=60_000), holder="b")

    def ten_minutes(_job):
        for _ in range(20):
            home.pass_ms(30_000)
            if renewed:
                runtime.renew()
            polls.append(tick(other).ran)

    handler = first.handler(ten_minutes, lease_ms=60_000)
    runtime = Runtime(first.worker(store, handler))
    runtime._one_batch()
    row = home.job("job_1")
    if renewed:
        assert (sum(polls), second.ran) == (0, [])
        assert (row["state"], row["attempts"], row["fence"]) == ("succeeded", 1, 1)
    else:
        assert second.ran == ["job_1"]
        assert first.logged == [("taken_over", "job_1")], "its own write touched nothing"
        assert (row["state"], row["attempts"], row["fence"]) == ("succeeded", 2, 2)


# LEASE-3: a starved heartbeat or a frozen process went on after its lease


@pytest.mark.parametrize("starved", ["host and store", "host alone"])
def test_lease_3_a_process_that_was_starved_past_its_lease_sends_nothing(world, starved):
    """(a) pure Python, (b) a C call, (c) forty threads: nothing of it ran while all of the time passed."""
    campaign_id = world.drafted()
    other = world.process(store=world.home.store(ahead_ms=2 * LOCK_TTL_MS))

    def starve():
        if starved == "host and store":
            world.later(ms=2 * LOCK_TTL_MS)
        else:
            world.clock.pass_ms(2 * LOCK_TTL_MS)
            assert world.draft(campaign_id, "d2", bridge=other).replay is False  # the lock was taken over

    world.meanwhile("inspect", starve, nth=2)
    with refused("lease_lost"):
        world.send(campaign_id)
    assert (world.posts(), world.attempts(campaign_id)) == (0, [])
    world.later(ms=2 * LOCK_TTL_MS)
    world.send(campaign_id, "s2")
    world.run()
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


class LeapClock(HostClock):
    """A host's clocks, ahead by what the parent has written into a file: it counts through the freeze."""

    def __init__(self, place):
        self.place = Path(place)

    def mark(self):
        ahead = int(self.place.read_text() or 0)
        now = super().mark()
        return Mark(now.boot_ms + ahead, now.wall_ms + ahead)


class Announced(Store):
    """A store that tells the parent when an intent is about to be written, or has been, and waits."""

    def __init__(self, database, parent, stage):
        super().__init__(database)
        self.parent = parent
        self.stage = stage

    @contextmanager
    def unit(self):
        with super().unit() as unit:
            intended, insert = [], unit.ledger.insert

            def noted(*args, **facts):
                intended.append(True)
                return insert(*args, **facts)

            unit.ledger.insert = noted
            yield unit
        if intended and self.stage == "after":
            self.parent.say("there")
            self.parent.wait()


def frozen_sender(home, parent, url, campaign_id, freeze):
    """Send, and stop on the way: just before the intent, or between its commit and the first byte."""
    place, stage = freeze
    clock, chance = LeapClock(place), HostChance()

    class Stopping:
        def __init__(self, provider):
            self.provider = provider

        def __getattr__(self, name):
            if name == "dial" and stage == "before":
                parent.say("there")
                parent.wait()
            return getattr(self.provider, name)

    def opener(_connection):
        return Stopping(open_provider("mailchimp", key=KEY, base_url=url, clock=clock))

    store = Announced(home.open(), parent, stage)
    bridge = assemble(store, opener, clock, chance, process_identity(chance))
    return outcome_of(lambda: bridge.send(campaign_id, actor=DANA, key="s1", confirmed=confirmation()))


@pytest.mark.parametrize("stage", ["before", "after"])
def test_lease_3_a_process_that_is_stopped_for_two_leases_and_continued_sends_nothing(
    sqlite_world, tmp_path, stage
):
    """(d) SIGSTOP, SIGCONT: everybody's clock goes on, and another process has sent in the meantime."""
    world = sqlite_world
    campaign_id = world.drafted()
    place = tmp_path / "ahead"
    place.write_text("0")
    child = Child(world.home, frozen_sender, world.server.url, campaign_id, [str(place), stage])
    try:
        assert child.hear() == "there"
        child.process.send_signal(signal.SIGSTOP)
        world.later(ms=2 * LOCK_TTL_MS)
        place.write_text(str(2 * LOCK_TTL_MS))
        if stage == "after":
            world.run(hours=0.5)  # the intent of the frozen one is settled as not applied
            assert world.statuses(campaign_id) == ["failed"]
        world.send(campaign_id, "s2")
        child.process.send_signal(signal.SIGCONT)
        child.tell()
        assert child.hear() == "lease_lost"
    finally:
        child.process.send_signal(signal.SIGCONT)
        child.close()
    world.run()
    assert world.state(campaign_id) == "sent"
    assert (world.sends(campaign_id), world.posts(), world.sandbox.truth.duplicates()) == (1, 1, 0)
    assert len(world.events(campaign_id, "campaign_lock_takeover")) == 1


# LEASE-5: a holder believed in its lease because the callback about its loss never came


def test_lease_5_while_renewals_fail_every_send_is_stopped_by_the_gate_before_the_call(world):
    campaign_id = world.drafted()
    database = Broken(world.home.open())
    cut_off = world.process(store=Store(database))

    def lease_ends_and_the_store_refuses():
        world.clock.pass_ms(LOCK_TTL_MS)
        database.down = True

    world.meanwhile("inspect", lease_ends_and_the_store_refuses, nth=2)
    for key in ("s1", "s2", "s3"):
        with refused("persistence_failed"):
            world.send(campaign_id, key, bridge=cut_off)
    assert world.posts() == 0
    assert world.heard() == GUARD
    database.down = False
    with refused("locked"):
        world.send(campaign_id, bridge=cut_off)
    world.later(ms=LOCK_TTL_MS + 1)
    world.send(campaign_id, bridge=cut_off)
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


# REC-2: a rescuer wrote "retry" over what had just been completed


def test_rec_2_a_rescuer_that_paused_between_its_read_and_its_write_changes_nothing(home, store):
    enqueue(store)
    worker = claim_one(store, "worker")
    home.pass_ms(121_000)
    rescuer = claim_one(store, "rescuer")  # it has read "running"
    home.pass_ms(121_000)
    third = claim_one(store, "third")
    with store.unit() as unit:
        assert unit.jobs.finish(third)
    before = home.job("job_1")
    with store.unit() as unit:
        assert not unit.jobs.retry(rescuer, "rescued", delay_ms=0)
        assert not unit.jobs.finish(worker)
    assert home.job("job_1") == before
    assert before["state"] == "succeeded"


def test_rec_2_a_look_that_read_pending_does_not_write_over_the_answer_that_came_meanwhile(world):
    campaign_id = world.drafted()
    sender = world.process()
    world.meanwhile("send", lambda: (_ for _ in ()).throw(KeyboardInterrupt()), before=False)
    with pytest.raises(KeyboardInterrupt):
        world.send(campaign_id, bridge=sender)
    (attempt,) = world.attempts(campaign_id)
    world.later(minutes=7)

    def the_answer_comes():
        held = Held(sender.wiring, None, sender.wiring.clock.mark())
        record(held, attempt, Accepted(None))

    world.meanwhile("inspect", the_answer_comes)
    with refused("conflict"):
        world.reconcile(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])
    assert world.events(campaign_id, "reconciled") == []
    world.run()
    assert (world.state(campaign_id), world.sends(campaign_id)) == ("sent", 1)


# REC-4: work of a dead worker leaked, because its row was gone or its name came back


def test_rec_4_a_worker_that_starts_anew_under_the_same_name_keeps_nothing_of_the_dead_one_alive(home, store):
    chance = HostChance()
    dead, anew = process_identity(chance), process_identity(chance)
    assert dead.rsplit(":", 1)[0] == anew.rsplit(":", 1)[0], "the same host, the same process id"
    assert dead != anew
    enqueue(store)
    job = claim_one(store, dead)
    home.pass_ms(60_000)
    with store.unit() as unit:
        assert unit.jobs.renew_all([job], holder=anew, lease_ms=120_000) == set()
    home.pass_ms(61_000)
    assert claim_one(store, anew).taken_over is True, "no row of a worker is needed to find it"


def test_rec_4_a_process_that_starts_anew_neither_frees_nor_uses_the_lock_of_the_dead_one(world):
    campaign_id = world.drafted()
    world.abandon(campaign_id)
    with refused("locked"):
        world.send(campaign_id)
    world.later(ms=LOCK_TTL_MS + 1)
    world.send(campaign_id)
    assert world.sends(campaign_id) == 1


# RETRY-1: a job that killed its worker was never counted and ran for ever


def work_that_exits(home, parent):
    """Tick with a handler that ends the whole process on one job, as running out of memory does."""

    def run(job):
        if job.id == "job_poison":
            os._exit(9)
        return Done()

    diary = Diary()
    worker = diary.worker(
        home.store(),
        diary.handler(run),
        holder=process_identity(HostChance()),
        clock=HostClock(),
    )
    parent.say("ready")
    while tick(worker).ran:
        pass
    return diary.ran


def test_retry_1_a_job_that_kills_its_worker_is_dead_after_its_attempts_and_its_neighbours_go_on(home, store):
    enqueue(store, "job_poison", max_attempts=3)
    for number in range(30):
        enqueue(store, f"job_{number}")
    for _ in range(3):
        child = Child(home, work_that_exits)
        try:
            assert child.hear() == "ready"
            assert child.process.wait(60) == 9
        finally:
            child.close()
        home.pass_ms(121_000)
    child = Child(home, work_that_exits)
    try:
        assert child.hear() == "ready"
        child.hear()
    finally:
        child.close()
    poison = home.job("job_poison")
    assert (poison["state"], poison["attempts"], poison["last_error"]) == ("dead", 3, "attempts_exhausted")
    others = home.rows("SELECT DISTINCT state FROM jobs WHERE id <> 'job_poison'")
    assert others == [{"state": "succeeded"}]


def test_retry_1_ten_graceful_restarts_of_a_healthy_job_use_no_attempt(home, store):
    enqueue(store, max_attempts=2)
    for number in range(10):
        diary = Diary()
        worker = diary.worker(store, diary.handler(), holder=f"w{number}")
        (claimed,) = worker.claim(10)
        worker.give_back(claimed.job)
    assert home.job("job_1")["attempts"] == 0
    diary = Diary()
    tick(diary.worker(store, diary.handler(), holder="last"))
    assert diary.ran == ["job_1"]


# STORE-1: "database is locked" in spite of a timeout

CLAIMERS, ENQUEUERS, EACH, READS = 8, 4, 40, 150


def busy_process(home, parent, number):
    """Be one of eight that claim, four that enqueue and one that reads; return what was claimed."""
    database = home.open()
    store = Store(database)
    connection = database._connection()
    settings = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    }
    parent.say("ready")
    parent.wait()
    claimed = []
    if number < ENQUEUERS:
        for turn in range(EACH):
            enqueue(store, f"job_{number}_{turn}")
    elif number < ENQUEUERS + CLAIMERS:
        while len(claimed) < EACH * ENQUEUERS:
            jobs = claim(store, f"p{number}", batch=5)
            for job in jobs:
                with store.unit() as unit:
                    assert unit.jobs.finish(job)
            claimed += [job.id for job in jobs]
            if not jobs and drained(store):
                break
    else:
        for _ in range(READS):
            with store.unit() as unit:
                unit.jobs.newest(most=50)
    return {"claimed": claimed, "settings": settings}


def drained(store):
    """Say whether everything that will ever be queued has ended."""
    with store.unit() as unit:
        ended = unit.jobs.newest(state="succeeded", most=EACH * ENQUEUERS + 1)
    return len(ended) == EACH * ENQUEUERS


def test_store_1_thirteen_processes_on_one_file_meet_no_lock_error_and_claim_each_job_once(sqlite_home):
    results = in_processes(sqlite_home, ENQUEUERS + CLAIMERS + 1, busy_process)
    for result in results:
        assert result["settings"] == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 10_000,
        }
    claimed = [job_id for result in results for job_id in result["claimed"]]
    assert len(claimed) == len(set(claimed)) == EACH * ENQUEUERS
    states = sqlite_home.rows("SELECT DISTINCT state, attempts FROM jobs")
    assert states == [{"state": "succeeded", "attempts": 1}]
