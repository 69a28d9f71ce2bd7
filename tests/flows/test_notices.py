"""Notices: what needs a person is told to people elsewhere, once for as long as it lasts, and never in a loop."""

import base64

import pytest
from standardwebhooks import Webhook

from campaignbridge.bootstrap import assemble, notice_openers, provider_opener
from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Secret
from campaignbridge.domain.job import Done, Retry
from campaignbridge.flows.notices import ONE_BY_ONE, TRIES, collect
from campaignbridge.host import HostChance
from campaignbridge.settings import Settings
from campaignbridge.store.unit import Store
from campaignbridge.targets import Target
from contract.faultserver import FaultServer, answering, http
from support.stores import Counting, enqueue
from support.world import DANA, KEY, refused

pytest_plugins = ["support.stores", "support.world"]

SECRET = "whsec_" + base64.b64encode(b"canary secret of thirty-two bytes").decode()
GOOD, BAD = answering(http(204)), answering(http(500))


@pytest.fixture
def receiver():
    with FaultServer(GOOD) as server:
        yield server


@pytest.fixture
def broken():
    with FaultServer(BAD) as server:
        yield server


def hook(server, name="ops", secret=SECRET) -> Target:
    url = Secret(f"http://127.0.0.1:{server.port}/canary-path")
    return Target(name=name, kind="webhook", url=url, secret=Secret(secret), secret_env="NOT_SET")


def telling(world, *targets, store=None):
    """Start a process that has these notice targets."""
    openers = notice_openers(Settings(notices=targets), world.clock)
    opener = provider_opener(Settings(), world.clock)
    parts = (store or world.home.store(), opener, world.clock, HostChance(), f"host:{len(world.calls)}:tell")
    return assemble(*parts, notice_targets=openers)


def needy(world, name="November letter", flag="sent_zero", **changes) -> str:
    campaign_id = world.create(name=name, **changes)
    world.home.rows("UPDATE campaigns SET flag = ? WHERE id = ?", flag, campaign_id)
    return campaign_id


def settle(world, campaign_id) -> None:
    world.home.rows("UPDATE campaigns SET flag = NULL WHERE id = ?", campaign_id)


def deliver(world, bridge, *, minutes=0) -> None:
    """Collect, then tick until no notice is due for a while."""
    world.later(minutes=minutes)
    collect(bridge.wiring)
    for _ in range(20):
        if not bridge.tick(batch=50).ran:
            return
    raise AssertionError("it never comes to rest")


def told(server) -> list[dict]:
    return [one.json["data"] for one in server.requests]


def notice_jobs(world) -> list[dict]:
    return [job for job in world.jobs() if job["type"] == "send_notice"]


def test_what_needs_a_person_is_told_once_with_its_reason_and_command(world, receiver):
    campaign_id = needy(world)
    bridge = telling(world, hook(receiver))
    deliver(world, bridge)
    deliver(world, bridge, minutes=2)
    (got,) = receiver.requests
    data = got.json["data"]
    assert got.json["type"] == "campaign.needs_person"
    assert (data["kind"], data["target"], data["reason"]) == ("campaign", campaign_id, "sent_zero")
    assert data["command"] == f"campaignbridge campaigns reconcile {campaign_id}"
    assert data["title"] == "November letter needs a person: sent zero"
    assert f"Do: campaignbridge campaigns reconcile {campaign_id}" in data["text"].splitlines()


def test_the_signature_is_verified_by_the_reference_implementation(world, receiver):
    needy(world)
    deliver(world, telling(world, hook(receiver)))
    (got,) = receiver.requests
    assert Webhook(SECRET).verify(got.body, got.headers)["type"] == "campaign.needs_person"


def test_a_need_that_goes_away_and_comes_back_is_told_again(world, receiver):
    campaign_id = needy(world)
    bridge = telling(world, hook(receiver))
    deliver(world, bridge)
    settle(world, campaign_id)
    deliver(world, bridge, minutes=1)
    assert len(receiver.requests) == 1
    world.home.rows("UPDATE campaigns SET flag = 'sent_zero' WHERE id = ?", campaign_id)
    deliver(world, bridge, minutes=1)
    deliver(world, bridge, minutes=1)
    first, second = receiver.requests
    assert first.headers["webhook-id"] != second.headers["webhook-id"]


def test_another_reason_of_the_same_campaign_is_another_need(world, receiver):
    campaign_id = needy(world)
    bridge = telling(world, hook(receiver))
    deliver(world, bridge)
    world.home.rows("UPDATE campaigns SET flag = 'possible_double' WHERE id = ?", campaign_id)
    deliver(world, bridge, minutes=1)
    assert [one["reason"] for one in told(receiver)] == ["sent_zero", "possible_double"]


def test_a_need_that_is_settled_before_its_notice_is_sent_is_not_told(world, receiver):
    campaign_id = needy(world)
    bridge = telling(world, hook(receiver))
    collect(bridge.wiring)
    settle(world, campaign_id)
    bridge.tick()
    assert receiver.requests == []
    assert [job["state"] for job in notice_jobs(world)] == ["succeeded"]


def test_each_kind_of_need_is_told(world, receiver):
    world.sending()
    world.key = KEY.replace("0", "9")
    world.later(minutes=6)
    world.bridge.tick()
    world.key = KEY
    enqueue(world.home.store(), "job_dead", type="work")
    world.home.rows(
        "UPDATE jobs SET state = 'dead', last_error = 'no_handler', finished_at = 1 WHERE id = 'job_dead'"
    )
    stuck = needy(world, flag=None, subject="Another")
    world.home.rows("UPDATE campaigns SET look_at = 1 WHERE id = ?", stuck)
    needy(world, subject="A third", flag="possible_double")
    deliver(world, telling(world, hook(receiver)))
    assert sorted((one["kind"], one["reason"]) for one in told(receiver)) == [
        ("campaign", "possible_double"),
        ("campaign", "watch_stuck"),
        ("connection", "credential_refused"),
        ("job", "no_handler"),
    ]


def test_a_failing_target_leaves_the_others_and_ends_dead_without_a_loop(world, receiver, broken):
    needy(world)
    bridge = telling(world, hook(broken, "broken"), hook(receiver))
    for _ in range(TRIES + 3):
        deliver(world, bridge, minutes=70)
    assert len(receiver.requests) == 1
    assert len(broken.requests) == TRIES
    assert len({one.headers["webhook-id"] for one in broken.requests}) == 1, "a receiver can drop what it has"
    dead, done = sorted(notice_jobs(world), key=lambda job: job["state"])
    assert (dead["state"], dead["last_error"], done["state"]) == ("dead", "http_500", "succeeded")
    needs = {need.target: need for need in bridge.status(actor=DANA).needs}
    assert needs["send_notice"].command == f"jobs requeue {dead['id']}", "Status tells it, and no notice"
    deliver(world, bridge, minutes=600)
    assert len(notice_jobs(world)) == 2


def test_a_dead_notice_is_told_after_all_when_its_job_is_queued_again(world):
    needy(world)
    with FaultServer(*[BAD] * TRIES, GOOD) as server:
        bridge = telling(world, hook(server))
        for _ in range(TRIES):
            deliver(world, bridge, minutes=70)
        (job,) = notice_jobs(world)
        bridge.requeue_job(job["id"], actor=DANA)
        deliver(world, bridge)
        assert len(server.requests) == TRIES + 1
        assert notice_jobs(world)[0]["state"] == "succeeded"


def test_a_failing_target_touches_no_campaign(world, broken):
    campaign_id = world.sending()
    needy(world, subject="Another")
    bridge = telling(world, hook(broken))
    world.later(minutes=5)
    deliver(world, bridge)
    assert world.state(campaign_id) == "sent"


def test_a_notice_may_be_told_twice_after_a_crash_and_has_the_same_id(world, receiver):
    needy(world)
    bridge = telling(world, hook(receiver))
    collect(bridge.wiring)
    (claimed,) = bridge.worker.claim(1)
    assert bridge.handlers["send_notice"].run(claimed.job) == Done()
    world.later(ms=bridge.worker.lease_ms + 60_000)  # its worker died before it could write that down
    bridge.tick()
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_a_second_collector_that_lost_the_race_tells_nothing(world, receiver):
    needy(world)
    bridge = telling(world, hook(receiver))
    with bridge.wiring.store.unit() as unit:
        (row,) = unit.notices.untold(most=5)
        unit.notices.make([("ntc_first", row)])
        unit.notices.make([("ntc_second", row)])
        assert unit.notices.of_id("ntc_second") is None
    deliver(world, bridge)
    assert receiver.requests == []


def test_when_everything_breaks_at_once_the_rest_is_only_counted(world, receiver):
    seed = world.create()
    for number in range(ONE_BY_ONE + 30):
        world.home.rows(
            "INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner, "
            "state_changed_at, created_at) SELECT ?, name, connection_id, audience, state, 1, 1, 1, owner, 1, 1 "
            "FROM campaigns WHERE id = ?", f"cmp_{number}", seed,
        )  # fmt: skip
    world.home.rows("UPDATE campaigns SET flag = 'sent_zero' WHERE id <> ?", seed)
    bridge = telling(world, hook(receiver))
    deliver(world, bridge)
    kinds = [one["kind"] for one in told(receiver)]
    assert (kinds.count("campaign"), kinds.count("more"), len(kinds)) == (ONE_BY_ONE, 1, ONE_BY_ONE + 1)
    (more,) = [one for one in told(receiver) if one["kind"] == "more"]
    assert (more["count"], more["command"]) == (30, "campaignbridge status")
    deliver(world, bridge, minutes=1)
    assert len(receiver.requests) == ONE_BY_ONE + 1
    needy(world, subject="One more")
    deliver(world, bridge, minutes=1)
    assert told(receiver)[-1]["reason"] == "sent_zero"
    world.later(hours=24 * 8)
    deliver(world, bridge)
    assert world.home.rows("SELECT count(*) AS n FROM notices WHERE kind = 'more'") == [{"n": 0}]


@pytest.mark.parametrize(("needs", "statements"), [(0, 2), (1, 4), (ONE_BY_ONE + 5, 6)])
def test_collecting_takes_a_bounded_number_of_statements(world, receiver, needs, statements):
    for number in range(needs):
        needy(world, subject=f"Letter {number}")
    counting = Counting(world.home.open())
    bridge = telling(world, hook(receiver), hook(receiver, "other"), store=Store(counting))
    collect(bridge.wiring)
    assert len(counting.names) == statements, counting.names


def test_where_no_target_is_configured_nothing_is_asked_or_stored(world):
    needy(world)
    counting = Counting(world.home.open())
    bridge = telling(world, store=Store(counting))
    assert collect(bridge.wiring) == Done()
    assert counting.names == []
    world.later(minutes=5)
    bridge.tick()
    assert notice_jobs(world) == []


def test_ticks_collect_by_themselves_once_a_minute(world, receiver):
    bridge = telling(world, hook(receiver))
    bridge.tick()
    needy(world)
    world.later(seconds=61)
    bridge.tick()
    bridge.tick()
    assert len(receiver.requests) == 1


def test_a_target_that_this_worker_does_not_know_or_cannot_open_waits_for_another(world, receiver):
    needy(world)
    bridge = telling(world, hook(receiver), hook(receiver, "unset", secret=""))
    collect(bridge.wiring)
    jobs = {one.job.target.partition(":")[2]: one.job for one in bridge.worker.claim(5)}
    run = bridge.handlers["send_notice"].run
    assert run(jobs["unset"]) == Retry("target_unusable")
    assert telling(world).handlers["send_notice"].run(jobs["ops"]) == Retry("target_unknown")
    assert run(jobs["ops"]) == Done()


def test_no_secret_address_or_subject_is_in_any_notice_job_or_event(world, receiver, broken):
    needy(world, name="For canary@acme.example", subject="Canary subject")
    bridge = telling(world, hook(receiver), hook(broken, "broken"))
    deliver(world, bridge)
    bodies = b"".join(one.body for one in (*receiver.requests, *broken.requests)).decode()
    assert "(address)" in bodies
    tables = [world.home.rows(f"SELECT * FROM {name}") for name in ("notices", "jobs", "audit_events")]
    for canary in ("canary@", "acme.example", "Canary subject", SECRET, "canary-path", KEY):
        assert canary not in bodies
        assert canary not in repr(tables)
    assert all(job["payload"] == "{}" for job in notice_jobs(world)), "ids only"
    assert SECRET not in world.home.everything()


def test_a_test_notice_goes_to_every_target_and_is_stored_nowhere(world, receiver, broken):
    bridge = telling(world, hook(receiver), hook(broken, "broken"))
    before = world.home.everything()
    found = {one.target: one.code for one in bridge.try_notices(actor=DANA)}
    assert found == {"ops": None, "broken": "http_500"}
    assert receiver.requests[0].json["type"] == "notice.test"
    assert world.home.everything() == before
    with refused("forbidden"):
        bridge.try_notices(actor=Actor("cli:eve", frozenset({"read"})))


def test_a_need_is_told_through_apprise(world, receiver):
    campaign_id = needy(world)
    url = Secret(f"json://127.0.0.1:{receiver.port}/")
    bridge = telling(world, Target(name="chat", kind="apprise", secret=url))
    deliver(world, bridge)
    (got,) = receiver.requests
    assert got.json["title"] == "November letter needs a person: sent zero"
    assert campaign_id in got.json["message"]
