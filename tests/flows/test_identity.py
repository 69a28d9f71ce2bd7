"""A store that isn't where it was recorded is a copy: paused, and nothing of it reaches a provider until adopted."""

import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from campaignbridge.bootstrap import place_of as found_place
from campaignbridge.bootstrap import prepare
from campaignbridge.domain.errors import CopyPaused
from campaignbridge.domain.installation import Place, machine_fingerprint, place_from
from campaignbridge.domain.job import Again
from campaignbridge.engine.runtime import Runtime
from campaignbridge.flows import identity
from campaignbridge.flows.checkup import Subject
from campaignbridge.flows.doctor import checks_for
from campaignbridge.flows.watch import watch
from campaignbridge.host import HostClock, machine_identity
from campaignbridge.installing import downgrade_schema, upgrade_schema
from campaignbridge.settings import Settings
from campaignbridge.store import migrate
from campaignbridge.store.place import place_of
from campaignbridge.store.unit import Store
from support import postgres
from support.stores import BOTH, Counting, Diary, Home, claim, enqueue, home_of
from support.world import DANA, ERIN, SEND, World, refused, world_of

pytest_plugins = ["support.stores", "support.world", "support.resend"]

REASON = "the old machine burnt down"
GUARD = "AND (:acts = 0 OR NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL))"
BARE_GUARD = "AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)"


# an original and its copies


@contextmanager
def own_database(server: str):
    """Make a database of its own on the server; yield its URL."""
    name = f"d_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield server.rpartition("/")[0] + f"/{name}"
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@dataclass
class Twins:
    """An original, and how a copy of it is made."""

    world: World
    folder: Path
    server: str = ""

    def copy(self) -> Home:
        """Copy the store as it is now to another place."""
        home = self.world.home
        home.close()
        if home.dialect == "sqlite":
            place = self.folder / f"copy-{secrets.token_hex(3)}.db"
            with closing(sqlite3.connect(home.where)) as there, closing(sqlite3.connect(place)) as here:
                there.backup(here)
            return self._home(str(place))
        source = home.where.rpartition("/")[2]
        name = f"{source}_{secrets.token_hex(3)}"
        with psycopg.connect(self.server, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {source}")
        return self._home(self.server.rpartition("/")[0] + f"/{name}")

    def _home(self, where: str) -> Home:
        home = Home(self.world.home.dialect, where, self.world.home.offset_ms)
        self.made.append(home)
        return home

    def __post_init__(self) -> None:
        self.made: list[Home] = []

    def end(self) -> None:
        for home in self.made:
            home.close()
            if home.dialect == "postgres":
                with psycopg.connect(self.server, autocommit=True) as admin:
                    admin.execute(f"DROP DATABASE {home.where.rpartition('/')[2]} WITH (FORCE)")


@pytest.fixture(params=BOTH)
def twins(request, tmp_path):
    if request.param == "sqlite":
        with home_of("sqlite", str(tmp_path / "store.db")) as home, world_of(home) as world:
            yield from _settled(Twins(world, tmp_path))
        return
    server = request.getfixturevalue("postgres_server")
    with own_database(server) as url, home_of("postgres", url) as home, world_of(home) as world:
        yield from _settled(Twins(world, tmp_path, server))


def _settled(twins):
    prepare(twins.world.home.store())
    try:
        yield twins
    finally:
        twins.end()


def standing(home):
    with home.store().reading() as unit:
        return unit.identity.standing()


def opened(home: Home):
    """Open a store as a process does; return its place."""
    return prepare(home.store())


def bridge_on(world, home, place=None):
    """Start a process on another store, with the world's provider."""
    bridge = world.process(store=home.store())
    bridge.wiring = replace(bridge.wiring, place=place)
    return bridge


def paused_copy(twins):
    home = twins.copy()
    place = opened(home)
    assert standing(home).paused
    return home, bridge_on(twins.world, home, place)


def adopt(bridge, home, **changes):
    facts = {"reason": REASON, "confirmed": standing(home).id, "actor": DANA, **changes}
    return bridge.adopt(**facts)


def pause(home):
    """Pause a store, as a process does that finds it elsewhere."""
    with home.store().unit() as unit:
        place = unit.identity.standing().place
        if place is None:
            place = Place(home.dialect, "m", "p", "f")
            unit.identity.settle(place)
        assert unit.identity.pause(place, "path")


def kinds(home):
    return [row["kind"] for row in home.rows("SELECT kind FROM audit_events ORDER BY id")]


def look_at(home, campaign_id):
    (row,) = home.rows("SELECT look_at, stopped_reason FROM campaigns WHERE id = ?", campaign_id)
    return row["look_at"]


# what is a copy


def test_the_first_open_records_where_a_store_lives_and_later_ones_find_it_there(twins):
    home = twins.world.home
    recorded = standing(home)
    assert recorded.place == opened(home)
    assert standing(home).paused_since is None
    assert "copy_paused" not in kinds(home)


def test_a_copy_starts_paused_and_its_original_goes_on(twins):
    original = standing(twins.world.home)
    home = twins.copy()
    opened(home)
    opened(home)
    copy = standing(home)
    assert (copy.id, copy.place, copy.paused) == (original.id, original.place, True)
    assert kinds(home).count("copy_paused") == 1
    opened(twins.world.home)
    assert standing(twins.world.home).paused_since is None
    campaign_id = twins.world.drafted()
    twins.world.send(campaign_id)
    assert twins.world.sends(campaign_id) == 1


def test_a_pause_stays_until_a_person_lifts_it_wherever_the_store_is_opened(home):
    opened(home)
    pause(home)
    opened(home)
    assert standing(home).paused


def test_a_fresh_store_in_memory_is_nobodys_copy():
    place = prepare(Store(Home("sqlite", ":memory:").open()))
    assert place is None


def test_a_store_that_was_moved_on_the_same_machine_counts_as_a_copy(sqlite_home):
    opened(sqlite_home)
    sqlite_home.close()
    moved = Path(sqlite_home.where).with_name("renamed.db")
    Path(sqlite_home.where).rename(moved)
    home = Home("sqlite", str(moved))
    opened(home)
    assert standing(home).paused_reason == "path"
    home.close()


def test_a_symbolic_link_and_a_relative_path_lead_to_the_same_place(sqlite_home, tmp_path, monkeypatch):
    opened(sqlite_home)
    sqlite_home.close()
    (tmp_path / "link.db").symlink_to(sqlite_home.where)
    monkeypatch.chdir(tmp_path)
    for where in (str(tmp_path / "link.db"), "store.db", "./link.db"):
        home = Home("sqlite", where)
        opened(home)
        assert not standing(home).paused
        home.close()


def test_another_file_at_the_same_path_is_a_copy(sqlite_home, tmp_path):
    opened(sqlite_home)
    sqlite_home.close()
    shutil.copy(sqlite_home.where, tmp_path / "saved.db")
    (tmp_path / "saved.db").replace(sqlite_home.where)
    opened(sqlite_home)
    assert standing(sqlite_home).paused_reason == "file"


def test_another_machine_makes_a_copy_unless_it_is_given_the_same_name(sqlite_home):
    prepare(sqlite_home.store(), machine="mail-1")
    prepare(sqlite_home.store(), machine="mail-1")
    assert not standing(sqlite_home).paused
    prepare(sqlite_home.store(), machine="mail-2")
    assert standing(sqlite_home).paused_reason == "machine"


def test_the_machines_own_id_is_kept_as_a_fingerprint_only(sqlite_home):
    opened(sqlite_home)
    known = machine_identity()
    assert known.partition(":")[2] not in sqlite_home.everything()
    assert standing(sqlite_home).place.machine == machine_fingerprint(known)


def test_a_machine_is_known_by_its_own_id_else_by_its_card_or_its_name(tmp_path, monkeypatch):
    empty, unset, real = (tmp_path / name for name in ("empty", "unset", "real"))
    empty.write_text("")
    unset.write_text("uninitialized\n")
    real.write_text("0123456789abcdef0123456789abcdef\n")
    files = (str(tmp_path / "absent"), str(empty), str(unset))
    assert machine_identity((*files, str(real))) == "id:0123456789abcdef0123456789abcdef"
    monkeypatch.setattr("uuid.getnode", lambda: 0x001122334455)
    assert machine_identity(files) == "card:001122334455"
    monkeypatch.setattr("uuid.getnode", lambda: 0x021122334455)  # given out locally, as a container's is
    monkeypatch.setattr("socket.gethostname", lambda: "mail-1")
    assert machine_identity(files) == "host:mail-1"


def test_what_is_recorded_of_a_place_can_be_read_back():
    place = Place("sqlite", "m", "/srv/\udce4.db", "12")
    assert place_from(place.text) == place
    assert place.differs_from(place) == ()
    assert place.differs_from(replace(place, kind="postgres")) == ("machine", "path", "file")


def test_a_store_from_before_places_were_recorded_lives_where_it_is_upgraded(empty_home):
    migrate.upgrade(empty_home.open(), target=1)
    with empty_home.store().unit() as unit:
        unit.name_installation("i0000001")
    with refused("store_unusable"):
        opened(empty_home)
    settings = Settings(database=empty_home.where)
    upgrade_schema(settings)
    assert (standing(empty_home).place, standing(empty_home).paused) == (opened(empty_home), False)


def test_a_copy_can_not_be_made_to_forget_that_it_is_one_by_its_schema(home):
    opened(home)
    settings = Settings(database=home.where)
    pause(home)
    home.close()
    with refused("copy_paused"):
        downgrade_schema(settings, target=1)
    assert standing(home).paused


# what a copy doesn't do

MUTATIONS = {
    "draft": ("approved", lambda w, i, b: w.draft(i, "x1", bridge=b)),
    "send": ("drafted", lambda w, i, b: w.send(i, "x1", bridge=b)),
    "schedule": ("drafted", lambda w, i, b: w.schedule(i, "x1", bridge=b)),
    "test": ("drafted", lambda w, i, b: w.test(i, "x1", bridge=b)),
    "unschedule": ("scheduled", lambda w, i, b: w.unschedule(i, "x1", bridge=b)),
    "cancel of a schedule": ("scheduled", lambda w, i, b: w.cancel(i, "x1", bridge=b)),
    "cancel of a send": ("sending", lambda w, i, b: w.cancel(i, "x1", bridge=b)),
}


def test_a_copy_asks_nothing_of_the_provider_and_changes_nothing(twins):
    world = twins.world
    made = {name: getattr(world, stage)(subject=f"For {name}") for name, (stage, _) in MUTATIONS.items()}
    home, bridge = paused_copy(twins)
    world.heard()
    before = home.everything()
    for name, (_, ask) in MUTATIONS.items():
        with refused("copy_paused") as caught:
            ask(world, made[name], bridge)
        assert caught.value.facts["command"].startswith("campaignbridge db adopt")
        assert (world.heard(), home.everything()) == ([], before), name


def test_a_copy_watches_nothing(twins):
    twins.world.scheduled()
    twins.world.sending(subject="Another")
    twins.world.doubted(subject="A third")
    home, bridge = paused_copy(twins)
    twins.world.heard()
    home.pass_ms(40 * 3_600_000)
    before = home.rows("SELECT * FROM jobs ORDER BY id")
    done = bridge.tick()
    assert (len(before), done.ran, done.paused) == (3, 0, True)
    assert home.rows("SELECT * FROM jobs ORDER BY id") == before
    assert twins.world.heard() == []


def test_a_copy_takes_over_no_job_that_its_original_had_in_hand(twins):
    enqueue(twins.world.home.store())
    assert claim(twins.world.home.store(), "original")
    home, _ = paused_copy(twins)
    home.pass_ms(3_600_000)
    assert claim(home.store(), "copy") == []


def test_a_watch_that_was_claimed_before_the_pause_comes_back_later_and_reads_nothing(world):
    world.sending()
    world.later(minutes=6)
    (job,) = claim(world.home.store(), "w")
    pause(world.home)
    world.heard()
    assert isinstance(watch(world.bridge.wiring, job), Again)
    assert world.heard() == []


def test_on_a_copy_people_can_look_write_and_read_the_provider_by_hand(twins):
    campaign_id = twins.world.sending()
    _, bridge = paused_copy(twins)
    twins.world.heard()
    assert bridge.show(campaign_id, actor=DANA).dossier.paused
    assert [row["id"] for row in bridge.newest(actor=DANA)] == [campaign_id]
    assert bridge.duplicate(campaign_id, actor=DANA, key="copy1").campaign.state.value == "draft"
    assert twins.world.heard() == []
    bridge.reconcile(campaign_id, actor=DANA)
    assert twins.world.heard() == ["GET inspect"]


# the pause is restated where it counts


@pytest.mark.parametrize(
    ("nth", "heard"),
    [(1, ["GET inspect"]), (2, ["GET inspect", "PATCH update", "PUT content", "GET inspect"])],
)
def test_a_pause_that_comes_after_the_checks_still_keeps_upload_and_send_from_happening(world, nth, heard):
    campaign_id = world.drafted()
    world.meanwhile("inspect", lambda: pause(world.home), nth=nth, before=False)
    with refused("copy_paused"):
        world.send(campaign_id)
    assert world.heard() == heard
    assert (world.attempts(campaign_id), world.sends(campaign_id)) == ([], 0)


@pytest.mark.parametrize(
    ("statement", "guard", "nth", "asked"),
    [
        ("remotes.start_writing", BARE_GUARD, 1, "PATCH update"),
        ("locks.hold", GUARD, 2, "POST send"),
    ],
)
def test_without_the_guard_in_the_statement_a_paused_copy_would_act(world, statement, guard, nth, asked):
    campaign_id = world.drafted()
    bridge = world.process(store=world.home.mutant(statement, guard))
    world.meanwhile("inspect", lambda: pause(world.home), nth=nth, before=False)
    try:
        world.send(campaign_id, bridge=bridge)
    except CopyPaused:
        assert statement == "remotes.start_writing", "the intent still refuses it"
    assert asked in world.heard()


def test_a_test_and_a_draft_restate_the_pause_too(world):
    campaign_id = world.drafted()
    world.meanwhile("dial", lambda: pause(world.home), nth=1)
    with refused("copy_paused"):
        world.test(campaign_id)
    assert "POST test" not in world.heard()


def test_a_create_restates_the_pause(world):
    campaign_id = world.approved()
    world.meanwhile("find_by_token", lambda: pause(world.home))
    with refused("copy_paused"):
        world.draft(campaign_id)
    assert "POST create" not in world.heard()
    assert not world.sandbox.truth.events("created")


def test_without_the_guard_in_the_claim_a_paused_copy_would_claim_jobs(home):
    enqueue(home.store())
    pause(home)
    assert claim(home.store()) == []
    assert len(claim(home.mutant("jobs.claim", BARE_GUARD))) == 1


def test_a_worker_whose_store_is_paused_while_it_runs_claims_nothing_and_says_so(home, caplog):
    enqueue(home.store())
    diary = Diary()
    runtime = Runtime(diary.worker(home.store(), diary.handler()))
    pause(home)
    runtime._check_skew()
    runtime._check_skew()
    assert runtime._one_batch() is False
    home.rows("UPDATE installation SET paused_since = NULL, paused_reason = NULL")
    runtime._check_skew()
    assert runtime._one_batch() is True
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the store is a copy of another installation, and paused",
        "the store was made the real one",
    ]


def test_an_outcome_is_recorded_even_if_the_store_was_paused_during_the_call(world):
    campaign_id = world.drafted()
    world.meanwhile("send", lambda: pause(world.home))
    world.send(campaign_id)
    assert (world.state(campaign_id), world.statuses(campaign_id)) == ("sending", ["succeeded"])


# adopting


def test_an_adopted_copy_sends(twins):
    campaign_id = twins.world.drafted()
    home, bridge = paused_copy(twins)
    assert adopt(bridge, home).looked_at == 0
    now = standing(home)
    assert (now.paused, now.place, now.paused_reason) == (False, bridge.wiring.place, None)
    opened(home)
    assert not standing(home).paused, "it lives here now"
    twins.world.heard()
    twins.world.send(campaign_id, bridge=bridge)
    assert twins.world.heard() == SEND


def test_adopting_is_written_down_with_its_reason_and_by_whom(twins):
    home, bridge = paused_copy(twins)
    adopt(bridge, home)
    (event,) = home.rows("SELECT * FROM audit_events WHERE kind = 'installation_adopted'")
    assert (event["actor"], REASON in event["data"]) == (DANA.name, True)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"reason": "too short"}, "invalid_input"),
        ({"reason": "two\nlines of a reason"}, "invalid_input"),
        ({"reason": "x" * 301}, "invalid_input"),
        ({"confirmed": ""}, "validation_failed"),
        ({"confirmed": "another1"}, "validation_failed"),
        ({"actor": ERIN}, "forbidden"),
    ],
)
def test_a_copy_stays_paused_without_a_reason_the_right_id_and_the_right_to_adopt(twins, changes, code):
    home, bridge = paused_copy(twins)
    with refused(code):
        adopt(bridge, home, **changes)
    assert standing(home).paused


def test_what_is_no_copy_can_not_be_adopted(twins):
    with refused("invalid_state"):
        adopt(twins.world.bridge, twins.world.home)


def test_after_adopting_all_that_moves_or_is_unconfirmed_is_looked_at_soon(twins):
    world = twins.world
    moving = [world.scheduled(), world.sending(subject="Another"), world.doubted(subject="A third")]
    stopped = world.sending(subject="A fourth")
    world.home.rows("UPDATE campaigns SET look_at = NULL, stopped_reason = 'missing' WHERE id = ?", stopped)
    still = [world.drafted(subject="A fifth"), world.create(subject="A sixth")]
    home, bridge = paused_copy(twins)
    home.rows("DELETE FROM jobs")
    assert adopt(bridge, home).looked_at == 4
    now = standing(home).now
    assert all(now - 60_000 < look_at(home, one) <= now for one in [*moving, stopped])
    assert [look_at(home, one) for one in still] == [None, None]
    queued = home.rows("SELECT target FROM jobs WHERE state = 'queued' AND run_at <= ?", now)
    assert {row["target"] for row in queued} == {f"campaign:{one}" for one in [*moving, stopped]}


def test_adopting_takes_the_same_number_of_statements_whatever_moves(twins):
    for number in range(4):
        twins.world.sending(subject=f"Letter {number}")
    home, _ = paused_copy(twins)
    counted = Counting(home.open())
    bridge = bridge_on(twins.world, home)
    bridge.wiring = replace(bridge.wiring, store=Store(counted))
    bridge.adopt(reason=REASON, confirmed=standing(home).id, actor=DANA)
    assert len(counted.names) == 5, counted.names


def test_a_copy_from_before_the_send_sends_nothing_again_once_it_is_adopted(twins):
    world = twins.world
    campaign_id = world.drafted()
    home, bridge = paused_copy(twins)
    world.send(campaign_id)
    adopt(bridge, home)
    for key in ("s1", "s2"):
        with refused("invalid_state"):
            world.send(campaign_id, key, bridge=bridge)
    assert (world.sends(campaign_id), world.posts(), world.sandbox.truth.duplicates()) == (1, 1, 0)


def test_a_copy_from_before_the_handoff_finds_what_the_original_made_by_the_id_that_it_keeps(twins):
    world = twins.world
    campaign_id = world.approved()
    home, bridge = paused_copy(twins)
    made = world.draft(campaign_id)
    adopt(bridge, home)
    again = world.draft(campaign_id, "d2", bridge=bridge)
    assert (again.adopted, again.remote_id) == (True, made.remote_id)
    assert len(world.sandbox.truth.events("created")) == 1


def test_a_copy_made_in_the_middle_of_a_send_settles_it_by_reading_once_it_is_adopted(twins):
    world = twins.world
    campaign_id = world.drafted()
    homes = []
    world.meanwhile("send", lambda: homes.append(twins.copy()))
    world.send(campaign_id)
    (home,) = homes
    bridge = bridge_on(world, home, opened(home))
    adopt(bridge, home)
    for _ in range(20):
        home.pass_ms(6 * 60_000)
        world.later(minutes=6)
        bridge.tick()
    (row,) = home.rows("SELECT state FROM campaigns WHERE id = ?", campaign_id)
    assert row["state"] == "sent"
    assert (world.sends(campaign_id), world.posts()) == (1, 1)


# doctor


def looked(home, place):
    subject = Subject(
        Settings(database=home.where), HostClock(), home.open(), None, None, None, lambda: place
    )
    (check,) = [one for one in checks_for(subject.settings) if one.id == "installation"]
    return check.look(subject)


def test_doctor_tells_an_original_from_a_copy_and_pauses_nothing_itself(twins):
    assert looked(twins.world.home, opened(twins.world.home)).status == "ok"
    home = twins.copy()
    before = looked(home, found_place(Store(home.open()), ""))
    assert (before.status, before.help) == ("fail", "copy_paused")
    assert "the next command pauses" in before.summary
    assert not standing(home).paused
    opened(home)
    after = looked(home, None)
    assert (after.status, after.fix) == ("fail", 'campaignbridge db adopt --reason "..."')


# PostgreSQL


@pytest.mark.postgres
def test_an_ordinary_role_may_read_what_tells_one_server_from_another(postgres_server):
    with own_database(postgres_server) as url:
        place = _place_as_role(url, revoke=False)
        with psycopg.connect(url) as admin:
            (identifier,) = admin.execute(
                "SELECT system_identifier::text FROM pg_control_system()"
            ).fetchone()
    assert place.machine == identifier


@pytest.mark.postgres
def test_where_a_role_may_not_read_it_the_other_parts_still_tell_copies_apart(postgres_server):
    with own_database(postgres_server) as url:
        place = _place_as_role(url, revoke=True)
    assert (place.machine, bool(place.path), bool(place.file)) == ("", True, True)


def _place_as_role(url, *, revoke):
    """Return the place that a user without rights of its own finds; the server is shared, so all is undone."""
    role = f"r_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute(f"GRANT ALL ON SCHEMA public TO {role}")
        if revoke:
            admin.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        home = Home("postgres", url.replace("//postgres@", f"//{role}@"))
        try:
            migrate.upgrade(home.open())
            return place_of(home.open(), kind="postgres", machine="m")
        finally:
            home.close()
            if revoke:
                admin.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
            admin.execute(f"DROP OWNED BY {role} CASCADE")
            admin.execute(f"DROP ROLE {role}")


@pytest.mark.postgres
def test_tables_that_were_restored_over_the_old_ones_are_a_copy(postgres_server, tmp_path):
    tool = shutil.which("pg_dump") or str(postgres.binaries() / "pg_dump")
    if not Path(tool).exists():
        pytest.skip("pg_dump is absent")
    with own_database(postgres_server) as url, home_of("postgres", url) as home:
        opened(home)
        home.close()
        dump = tmp_path / "store.sql"
        subprocess.run([tool, "--dbname", url, "--file", str(dump), "--no-owner"], check=True, timeout=60)
        psql = [str(Path(tool).with_name("psql")), "-q", "-v", "ON_ERROR_STOP=1", "-d"]
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DROP SCHEMA public CASCADE")
        with dump.open("a") as file:
            file.write("\nSELECT 1;\n")
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("CREATE SCHEMA public")
        subprocess.run([*psql, url, "-f", str(dump)], check=True, timeout=60, stdout=subprocess.DEVNULL)
        opened(home)
        assert standing(home).paused_reason == "file"
        with own_database(postgres_server) as other:
            subprocess.run([*psql, other, "-f", str(dump)], check=True, timeout=60, stdout=subprocess.DEVNULL)
            restored = Home("postgres", other)
            opened(restored)
            assert "path" in standing(restored).paused_reason
            restored.close()


@pytest.mark.postgres
def test_a_server_with_another_identity_makes_a_copy(postgres_home):
    place = opened(postgres_home)
    identity.keep_watch(postgres_home.store(), replace(place, machine="7000000000000000001"), fresh_id="x")
    assert standing(postgres_home).paused_reason == "machine"


# at a provider that retires drafts, settling by hand asks it for that first


def retired_on_a_copy(world, **process):
    """Retire a draft at Resend while the store is found to be a copy; return what was asked there."""
    campaign_id = world.drafted()
    world.meanwhile("inspect", lambda: pause(world.home), before=False)
    bridge = world.process(**process)
    code = "retired"
    try:
        world.retire(campaign_id, bridge=bridge)
    except CopyPaused:
        code = "copy_paused"
    return code, world.heard()


def test_a_pause_that_comes_after_the_checks_keeps_a_draft_from_being_retired(resend):
    assert retired_on_a_copy(resend) == ("copy_paused", ["GET inspect"])


def test_without_the_guard_in_its_statement_a_paused_copy_would_retire_a_draft(resend):
    mutant = resend.home.mutant("remotes.start_retiring", BARE_GUARD)
    code, heard = retired_on_a_copy(resend, store=mutant)
    assert any(request.startswith("DELETE") for request in heard), (code, heard)
