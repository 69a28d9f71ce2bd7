"""Status: what needs a person, oldest first, each with its reason, since when, and the one command to run next."""

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.need import COMMANDS, FLAGS, OTHERS, STOPPED
from campaignbridge.flows.status import LISTED
from campaignbridge.store import migrate
from campaignbridge.store.unit import Store
from support.stores import Counting, enqueue, seed_campaign
from support.world import DANA, HOUR_MS, KEY, MINUTE_MS, refused

pytest_plugins = ["support.stores", "support.world"]

VERSIONS = [migration.version for migration in migrate.migrations("sqlite")]


def shown(world, actor=DANA):
    return world.bridge.status(actor=actor)


def only(world):
    (need,) = shown(world).needs
    return need


def gone(world, **changes) -> str:
    """Return a campaign that was deleted at the provider, with its watch stopped."""
    campaign_id = world.sending(**changes)
    world.sandbox.world.hide(world.remote_id(campaign_id))
    world.run(hours=2)
    assert world.campaign(campaign_id).stopped_reason == "missing"
    return campaign_id


def dead(world, job_id="job_1", code="handler_exception", kind="work"):
    """Put a job into the store that was given up just now."""
    enqueue(world.home.store(), job_id, type=kind)
    world.home.rows(
        "UPDATE jobs SET state = 'dead', last_error = ?, finished_at = ? WHERE id = ?",
        code,
        world.now(),
        job_id,
    )


def test_where_nothing_is_wrong_nothing_needs_a_person(world):
    world.sending()
    found = shown(world)
    assert (found.total, found.needs, found.needs_person) == (0, (), False)
    assert found.states["sending"] == 1


def test_a_stopped_watch_says_what_why_since_when_and_what_to_run(world):
    campaign_id = world.sending()
    world.sandbox.world.hide(world.remote_id(campaign_id))
    world.look()
    world.look()
    stopped_at = world.now()
    world.later(hours=3)
    need = only(world)
    assert (need.kind, need.target, need.name, need.connection) == (
        "campaign", campaign_id, "November letter", "news",
    )  # fmt: skip
    assert (need.reason, need.help, need.command) == (
        "missing",
        "missing",
        f"campaigns reconcile {campaign_id}",
    )
    assert "Mailchimp no longer has this campaign" in need.why
    assert abs(need.since - stopped_at) < 5_000, "since the watch stopped, not since it was sent"
    assert (need.provider, need.sandboxed) == ("Mailchimp", True)


def test_what_has_waited_longest_stands_first(world):
    older = gone(world)
    world.later(minutes=10)
    younger = gone(world, subject="Another letter")
    world.later(minutes=10)
    dead(world)
    assert [need.target for need in shown(world).needs] == [older, younger, "work"]


def test_a_refused_send_needs_a_person(world):
    campaign_id = world.drafted()
    world.fault("send", "status_429")
    with refused("provider_failed"):
        world.send(campaign_id)
    need = only(world)
    assert (need.reason, need.command) == ("send_refused", f"campaigns show {campaign_id}")


def test_a_flag_needs_a_person_while_the_watch_goes_on(world):
    world.sandbox.world.behave(sending_ms=72 * HOUR_MS)
    campaign_id = world.sending()
    world.run(hours=25)
    need = only(world)
    assert (need.reason, need.command) == ("sending_long", f"campaigns reconcile {campaign_id}")
    assert world.campaign(campaign_id).look_at is not None


def test_a_need_that_is_settled_is_gone_and_one_that_changes_begins_anew(world):
    campaign_id = gone(world)
    first = only(world)
    world.later(hours=1)
    world.home.rows("UPDATE campaigns SET flag = 'possible_double' WHERE id = ?", campaign_id)
    graver = only(world)
    assert (graver.reason, graver.command) == ("possible_double", f"campaigns timeline {campaign_id}")
    assert graver.since != first.since
    world.home.rows("UPDATE campaigns SET flag = NULL WHERE id = ?", campaign_id)
    assert only(world).reason == "missing", "the other reason is still there"
    world.rewrite(world.remote_id(campaign_id), hidden=False)
    world.reconcile(campaign_id)
    assert shown(world).total == 0


def test_what_happens_to_a_needy_campaign_otherwise_does_not_move_since(world):
    campaign_id = gone(world)
    before = only(world).since
    world.later(hours=1)
    world.home.rows("UPDATE campaigns SET version = version + 1 WHERE id = ?", campaign_id)
    world.home.rows("UPDATE campaigns SET stopped_reason = 'missing' WHERE id = ?", campaign_id)
    world.home.rows("UPDATE campaigns SET flag = 'sent_zero' WHERE id = ?", campaign_id)
    assert only(world).since == before


def test_a_refused_key_is_one_need_of_its_connection_however_many_campaigns_wait(world):
    for number in range(3):
        world.sending(subject=f"Letter {number}", audience="a1b2c3")
    world.key = KEY.replace("0", "9")
    world.later(minutes=6)
    world.bridge.tick()
    need = only(world)
    assert (need.kind, need.name, need.reason) == ("connection", "news", "credential_refused")
    assert need.command == "connections replace-key news"
    assert (need.count, "3 campaigns wait; none was lost." in need.why) == (3, True)
    (standing,) = shown(world).connections
    assert (standing.key, standing.waiting, standing.sandboxed) == ("refused", 3, True)
    assert standing.since == need.since
    world.key = KEY
    world.bridge.verify_connection("news", actor=DANA)
    assert shown(world).total == 0
    assert shown(world).connections[0].key == "works"


def test_a_refused_key_that_no_campaign_waits_for_counts_none(world):
    world.home.rows("UPDATE connections SET refused_at = 1, refused_code = 'http_401'")
    need = only(world)
    assert (need.count, "wait" in need.why) == (0, False)


def test_a_key_of_another_account_is_one_need_with_the_campaigns_that_wait(world):
    for number in range(2):
        campaign_id = world.sending(subject=f"Letter {number}")
        world.home.rows(
            "UPDATE campaigns SET look_at = NULL, stopped_reason = 'other_account' WHERE id = ?", campaign_id
        )
    need = only(world)
    assert (need.kind, need.reason, need.count) == ("connection", "other_account", 2)
    assert "2 campaigns wait; none was lost." in need.why


def test_campaigns_that_wait_for_a_key_are_never_without_an_owner(world):
    """Also where the connection's own mark is gone."""
    campaign_id = world.sending()
    world.home.rows(
        "UPDATE campaigns SET look_at = NULL, stopped_reason = 'credential_refused' WHERE id = ?", campaign_id
    )
    need = only(world)
    assert (need.kind, need.reason, need.count) == ("connection", "credential_refused", 1)


def test_dead_jobs_are_grouped_by_type_and_code(world):
    for number in range(3):
        dead(world, f"job_{number}")
    dead(world, "job_9", code="no_handler")
    found = {need.reason: need for need in shown(world).needs}
    assert found["handler_exception"].count == 3
    assert found["handler_exception"].command == "jobs list --state dead"
    assert (found["no_handler"].command, found["no_handler"].help) == ("jobs show job_9", "jobs_dead")


def test_one_dead_job_that_is_safe_to_repeat_is_queued_again_by_its_command(world):
    dead(world, "job_1", kind="send_notice")
    assert only(world).command == "jobs requeue job_1"
    world.bridge.requeue_job("job_1", actor=DANA)
    assert shown(world).total == 0


def test_a_dead_watch_is_told_once_as_its_campaign(world):
    campaign_id = world.sending()
    world.home.rows("UPDATE campaigns SET flag = 'watch_failed' WHERE id = ?", campaign_id)
    dead(world, "job_w", kind="watch_campaign")
    need = only(world)
    assert (need.target, need.reason) == (campaign_id, "watch_failed")


def test_a_watch_that_fails_for_two_hours_is_stuck(world):
    campaign_id = world.sending()
    due = world.campaign(campaign_id).look_at
    world.home.rows("UPDATE jobs SET attempts = 3, last_error = 'handler_exception'")
    world.later(ms=due - world.now() + 2 * HOUR_MS - MINUTE_MS)
    assert shown(world).total == 0
    world.later(minutes=2)
    need = only(world)
    assert (need.target, need.reason, need.since) == (campaign_id, "watch_stuck", due)
    world.bridge.tick()
    assert shown(world).total == 0


def test_a_watch_that_only_waits_for_a_worker_is_told_as_the_workers_matter(world):
    world.bridge.tick()
    world.sending()
    world.later(hours=5)
    found = shown(world)
    assert (found.total, found.standstill) == (0, "no_tick")
    world.bridge.tick()
    assert not shown(world).needs_person


def test_a_campaign_whose_watch_has_no_job_is_stuck(world):
    world.sending()
    world.home.rows("DELETE FROM jobs")
    world.later(hours=3)
    assert only(world).reason == "watch_stuck"


def test_an_archived_campaign_needs_nobody(world):
    campaign_id = world.create()
    world.home.rows("UPDATE campaigns SET flag = 'possible_double' WHERE id = ?", campaign_id)
    assert shown(world).total == 1
    world.bridge.archive(campaign_id, actor=DANA)
    assert shown(world).total == 0


def test_unconfirmed_requests_are_counted_by_status_and_age(world):
    for number, minutes in enumerate((2, 30, 300, 3_000)):
        campaign_id = world.doubted(subject=f"Letter {number}")
        world.home.rows(
            "UPDATE attempts SET created_at = created_at - ? WHERE campaign_id = ? AND operation = 'send'",
            minutes * MINUTE_MS, campaign_id,
        )  # fmt: skip
    found = shown(world).unresolved
    assert found["unknown"] == {"under_5_min": 1, "under_1_h": 1, "under_1_day": 1, "older": 1}
    assert not any(found["pending"].values())


def test_the_next_five_scheduled_campaigns_are_listed_in_order(world):
    ids = [
        world.scheduled(in_minutes=60 * (7 - n), subject=f"Letter {n}", name=f"Letter {n}") for n in range(6)
    ]
    found = shown(world).upcoming
    assert [one.id for one in found] == list(reversed(ids))[:5]
    assert [one.at for one in found] == sorted(one.at for one in found)
    assert found[0].connection == "news"


def test_the_background_work_is_shown_as_its_health(world):
    world.bridge.tick()
    world.sending()
    found = shown(world)
    assert (found.health.due_since, found.health.waiting, found.standstill) == (None, 1, "")
    assert [one.holder for one in found.health.workers] == [world.bridge.wiring.holder]


def test_where_no_worker_has_ticked_for_five_minutes_nothing_is_running(world):
    world.bridge.tick()
    world.later(minutes=4)
    assert (shown(world).standstill, shown(world).needs_person) == ("", False)
    world.later(minutes=2)
    assert (shown(world).standstill, shown(world).needs_person) == ("no_tick", True)
    world.bridge.tick()
    assert (shown(world).standstill, shown(world).needs_person) == ("", False)


def test_a_paused_copy_says_so_before_anything_else(world):
    world.bridge.tick()
    world.home.rows("UPDATE installation SET paused_since = 1, paused_reason = 'machine'")
    assert (shown(world).standstill, shown(world).needs_person) == ("copy_paused", True)


def test_a_fresh_store_without_a_worker_needs_one_only_once_something_is_overdue(world):
    assert not shown(world).needs_person
    world.sending()
    world.later(hours=1)
    assert (shown(world).standstill, shown(world).needs_person) == ("no_tick", True)


@pytest.mark.parametrize("needy", [1, 3 * LISTED])
def test_status_takes_the_same_number_of_statements_and_at_most_a_page_of_rows(world, needy):
    seed = world.create()
    for number in range(needy):
        world.home.rows(
            "INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner, "
            "state_changed_at, created_at) SELECT ?, name, connection_id, audience, state, 1, 1, 1, owner, 1, 1 "
            "FROM campaigns WHERE id = ?", f"cmp_{number}", seed,
        )  # fmt: skip
    world.home.rows("UPDATE campaigns SET flag = 'sent_zero' WHERE id <> ?", seed)
    counting = Counting(world.home.open())
    found = world.process(store=Store(counting)).status(actor=DANA)
    assert len(counting.names) == 10, counting.names
    assert (found.total, len(found.needs), found.exact) == (needy, min(needy, LISTED), True)


def test_status_needs_the_right_to_read_and_nothing_more(world):
    assert shown(world, Actor("cli:eve", frozenset({"read"}))).total == 0
    with refused("forbidden"):
        shown(world, Actor("cli:eve", frozenset()))


def test_status_asks_no_provider_and_changes_nothing(world):
    gone(world)
    before = world.home.everything()
    world.heard()
    shown(world)
    assert world.heard() == []
    assert world.home.everything() == before


def test_no_name_that_holds_an_address_leaves_by_status(world):
    gone(world, name="For ann@acme.example only")
    need = only(world)
    assert need.name == "For (address) only"


def test_every_reason_has_a_sentence_and_every_command_fits_a_reason():
    assert set(COMMANDS) <= set(STOPPED) | set(FLAGS) | set(OTHERS)


@pytest.mark.parametrize("earlier", [version for version in VERSIONS if version < 4])
def test_an_upgrade_finds_what_needed_a_person_before(empty_home, earlier):
    database = empty_home.open()
    migrate.upgrade(database, target=earlier)
    for campaign_id, flag, reason in (
        ("cmp_a", "sent_zero", None),
        ("cmp_b", None, "missing"),
        ("cmp_c", None, None),
    ):
        seed_campaign(empty_home, campaign_id)
        empty_home.rows(
            "UPDATE campaigns SET flag = ?, stopped_reason = ? WHERE id = ?", flag, reason, campaign_id
        )
    migrate.upgrade(database)
    found = empty_home.rows("SELECT target, reason, since FROM needs ORDER BY target")
    assert [tuple(row.values()) for row in found] == [("cmp_a", "sent_zero", 1), ("cmp_b", "missing", 1)]
    migrate.downgrade(database, target=earlier)
    assert empty_home.rows("SELECT flag FROM campaigns WHERE id = 'cmp_a'") == [{"flag": "sent_zero"}]
