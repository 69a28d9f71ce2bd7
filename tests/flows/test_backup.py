"""A backup is one sound moment of a store in use, and putting one back destroys nothing and sends nothing."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from campaignbridge.bootstrap import prepare
from campaignbridge.domain.errors import StoreUnusable
from campaignbridge.domain.job import Request
from campaignbridge.store import backup, checking, migrate
from campaignbridge.store.backup import back_up, restore, time_stamp
from support.stores import Child, Home, claim, enqueue, seed_campaign
from support.world import DANA, refused

pytest_plugins = ["support.stores", "support.world"]

WRITERS, PAIRS = 4, 120


def rows(path, text):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(text).fetchall()


def sound(path):
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    return True


def standing(where):
    home = Home("sqlite", str(where))
    try:
        with home.store().reading() as unit:
            return unit.identity.standing()
    finally:
        home.close()


def taken(home, target, **changes):
    return back_up(home.where, str(target), **{"replace": False, "unique": "u1", **changes})


def put_back(file, where, kept=None):
    return restore(str(file), str(where), kept=str(kept or f"{where}.before"), unique="u2")


@pytest.fixture
def home(sqlite_home):
    prepare(sqlite_home.store())
    return sqlite_home


@pytest.fixture
def saved(home, tmp_path):
    """A backup of a store with one campaign; the store has another one since."""
    seed_campaign(home, "cmp_a")
    home.close()
    taken(home, tmp_path / "saved.db")
    seed_campaign(home, "cmp_b")
    home.close()
    return tmp_path / "saved.db"


def campaigns(where):
    return [name for (name,) in rows(where, "SELECT id FROM campaigns ORDER BY id")]


# taking one


def child_writes(home: Home, parent, number: int) -> int:
    """Commit pairs of jobs, each pair in one transaction."""
    store = home.store()
    parent.say("ready")
    parent.wait()
    for count in range(PAIRS):
        with store.unit() as unit:
            for half in "ab":
                name = f"{number}-{count}-{half}"
                unit.jobs.enqueue(f"job_{name}", Request(type="work", target=f"t:{name}"))
    return PAIRS


def test_a_backup_while_four_processes_write_is_one_sound_moment(home, tmp_path):
    crew = [Child(home, child_writes, number) for number in range(WRITERS)]
    try:
        assert [one.hear() for one in crew] == ["ready"] * WRITERS
        for one in crew:
            one.tell()
        found = []
        for number in range(5):
            target = tmp_path / f"backup-{number}.db"
            taken(home, target)
            assert sound(target)
            ((halves,),) = rows(target, "SELECT count(*) FROM jobs")
            assert halves % 2 == 0, "no half of a transaction"
            found.append(halves)
        assert [one.hear() for one in crew] == [PAIRS] * WRITERS
    finally:
        for one in crew:
            one.close()
    assert found == sorted(found)
    assert found[0] < 2 * PAIRS * WRITERS, "they were still writing"
    assert home.rows("SELECT count(*) AS n FROM jobs") == [{"n": 2 * PAIRS * WRITERS}]
    assert sound(home.where)


def test_a_backup_says_what_is_in_it_and_only_its_owner_can_read_it(home, tmp_path):
    seed_campaign(home)
    target = tmp_path / "saved.db"
    copy = taken(home, target)
    assert (copy.campaigns, copy.installation, copy.bytes) == (1, "i0000001", target.stat().st_size)
    assert copy.schema == migrate.migrations("sqlite")[-1].version
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "saved" in path.name) == ["saved.db"]


def test_a_backup_can_be_read_from_a_disk_that_can_not_be_written_to(home, tmp_path):
    taken(home, tmp_path / "saved.db")
    with closing(sqlite3.connect(f"file:{tmp_path}/saved.db?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT id FROM installation").fetchall() == [("i0000001",)]
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def test_a_backup_is_a_copy_wherever_it_is_put_and_the_store_is_none(home, tmp_path):
    taken(home, tmp_path / "saved.db")
    assert standing(tmp_path / "saved.db").paused_reason == "backup"
    assert not standing(home.where).paused
    # over the very file of the store: same path, same inode
    home.close()
    Path(home.where).write_bytes((tmp_path / "saved.db").read_bytes())
    prepare(home.store())
    assert standing(home.where).paused


def test_a_backup_overwrites_nothing_unless_it_is_told_to_and_never_the_store(home, tmp_path):
    target = tmp_path / "saved.db"
    target.write_text("mine")
    with refused("invalid_state"):
        taken(home, target)
    assert target.read_text() == "mine"
    taken(home, target, replace=True)
    assert sound(target)
    for place in (Path(home.where), tmp_path):
        with refused("invalid_state"):
            taken(home, place, replace=True)
    assert standing(home.where).paused_since is None


def test_a_file_that_comes_up_meanwhile_is_kept(home, tmp_path, monkeypatch):
    target = tmp_path / "saved.db"
    looked = backup._look_through

    def meanwhile(*args, **facts):
        target.write_text("mine")
        return looked(*args, **facts)

    monkeypatch.setattr(backup, "_look_through", meanwhile)
    with refused("invalid_state"):
        taken(home, target)
    assert target.read_text() == "mine"


def damaged(path):
    """Damage the middle of a store's file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = Path(path).stat().st_size
    with Path(path).open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 2 * 4096))


def test_a_damaged_store_makes_no_backup_and_leaves_nothing_behind(home, tmp_path):
    home.close()
    damaged(home.where)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StoreUnusable):
        taken(home, tmp_path / "saved.db")
    assert not [
        path.name for path in tmp_path.iterdir() if path.name not in [*before, "store.db-wal", "store.db-shm"]
    ]


@pytest.mark.parametrize("place", ["nowhere/saved.db", "saved\0.db"])
def test_a_place_that_can_not_be_written_is_refused_in_one_sentence(home, tmp_path, place):
    with refused("invalid_input"):
        taken(home, tmp_path / place)


def test_an_older_schema_can_be_copied_before_it_is_upgraded(tmp_path):
    home = Home("sqlite", str(tmp_path / "old.db"))
    migrate.upgrade(home.open(), target=1)
    assert taken(home, tmp_path / "saved.db").schema == 1
    home.close()


# putting one back


def test_a_backup_is_put_back_paused_and_the_store_that_was_there_is_kept(home, saved):
    before = saved.read_bytes()
    done = put_back(saved, home.where)
    assert (campaigns(home.where), campaigns(done.kept)) == (["cmp_a"], ["cmp_a", "cmp_b"])
    assert sound(home.where)
    assert sound(done.kept)
    assert standing(home.where).paused
    assert not standing(done.kept).paused, "the old one is as it was"
    assert saved.read_bytes() == before
    prepare(home.store())
    assert standing(home.where).paused


def test_a_backup_is_put_where_no_store_is(saved, tmp_path):
    target = tmp_path / "fresh.db"
    done = put_back(saved, target)
    assert (done.kept, campaigns(target), standing(target).paused) == (None, ["cmp_a"], True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_whoever_could_use_the_old_store_can_use_the_new_one(home, saved):
    Path(home.where).chmod(0o640)
    put_back(saved, home.where)
    assert stat.S_IMODE(Path(home.where).stat().st_mode) == 0o640


def test_a_log_that_was_left_without_its_store_does_not_get_into_the_restored_one(saved, tmp_path):
    target = tmp_path / "fresh.db"
    log = tmp_path / "fresh.db-wal"
    log.write_bytes(b"left over")
    put_back(saved, target)
    assert campaigns(target) == ["cmp_a"]
    assert (tmp_path / "fresh.db.before-wal").read_bytes() == b"left over"


def test_what_the_old_store_had_only_in_its_log_is_kept_with_it(home, saved):
    with closing(sqlite3.connect(home.where)) as reader:
        reader.execute("PRAGMA journal_mode").fetchall()
        seed_campaign(home, "cmp_c")
        assert Path(home.where + "-wal").stat().st_size > 0
    home.close()
    done = put_back(saved, home.where)
    assert campaigns(done.kept) == ["cmp_a", "cmp_b", "cmp_c"]
    assert campaigns(home.where) == ["cmp_a"]


def test_a_store_that_a_worker_works_in_is_not_replaced(home, saved):
    enqueue(home.store())
    assert claim(home.store(), "worker")
    home.close()
    with refused("locked") as caught:
        put_back(saved, home.where)
    assert 0 < caught.value.facts["retry_after"] <= 120
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]


def test_a_store_with_a_held_lock_is_not_replaced(home, saved):
    with home.store().unit() as unit:
        unit.locks.acquire("campaign:cmp_a", holder="w", operation="send", actor=None)
    home.close()
    with refused("locked"):
        put_back(saved, home.where)


def child_idles(home: Home, parent) -> str:
    """Have the store open, as a worker does that has nothing to do."""
    with home.store().reading() as unit:
        unit.now_ms()
    parent.say("open")
    parent.wait()
    return "closed"


def test_a_store_that_an_idle_process_has_open_is_not_replaced(home, saved):
    idle = Child(home, child_idles)
    try:
        assert idle.hear() == "open"
        with refused("locked") as caught:
            put_back(saved, home.where)
        assert "open" in caught.value.what
        assert campaigns(home.where) == ["cmp_a", "cmp_b"]
        idle.tell()
        assert idle.hear() == "closed"
    finally:
        idle.close()
    assert put_back(saved, home.where).kept


def test_a_damaged_store_is_moved_aside_as_it_is(home, saved):
    damaged(home.where)
    with Path(home.where).open("r+b") as file:
        file.write(b"no SQLite any more")
    Path(home.where + "-wal").write_bytes(b"its log")
    before = Path(home.where).read_bytes()
    done = put_back(saved, home.where)
    assert Path(done.kept).read_bytes() == before
    assert Path(done.kept + "-wal").read_bytes() == b"its log"
    assert campaigns(home.where) == ["cmp_a"]


def test_another_programs_database_is_not_replaced(saved, tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with refused("invalid_state"):
        put_back(saved, other)
    assert rows(other, "SELECT count(*) FROM theirs") == [(0,)]


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be read as one" * 100])
def test_what_is_no_backup_changes_nothing(home, saved, tmp_path, content):
    file = tmp_path / "wrong.db"
    file.write_bytes(content)
    with refused("store_unusable"):
        put_back(file, home.where)
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_damaged_backup_changes_nothing(home, saved):
    damaged(saved)
    with refused("store_unusable"):
        put_back(saved, home.where)
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]


def test_a_backup_of_a_newer_schema_is_refused(home, saved):
    with closing(sqlite3.connect(saved)) as connection, connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, 'later', '0', 999, 1)")
    with refused("store_unusable") as caught:
        put_back(saved, home.where)
    assert "999" in caught.value.what
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]


def test_a_backup_from_before_copies_were_known_is_paused_as_well(tmp_path):
    old = Home("sqlite", str(tmp_path / "old.db"))
    migrate.upgrade(old.open(), target=1)
    with old.store().unit() as unit:
        unit.name_installation("i0000001")
    old.close()
    taken(old, tmp_path / "saved.db")
    done = put_back(tmp_path / "saved.db", tmp_path / "new.db")
    assert done.copy.schema == migrate.GUARDED
    home = Home("sqlite", str(tmp_path / "new.db"))
    migrate.upgrade(home.open())
    prepare(home.store())
    assert standing(home.where).paused
    home.close()


def test_a_store_is_not_restored_from_itself_or_from_nothing(home, tmp_path):
    with refused("invalid_state"):
        put_back(home.where, home.where)
    with refused("invalid_input"):
        put_back(tmp_path / "nothing.db", home.where)


def test_an_earlier_kept_store_is_never_replaced(home, saved):
    kept = Path(home.where + ".before")
    kept.write_text("from yesterday")
    with refused("invalid_state"):
        put_back(saved, home.where)
    assert kept.read_text() == "from yesterday"
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]


def test_a_store_that_dies_while_it_is_replaced_is_there_under_one_name_or_both(home, saved, monkeypatch):
    """Between the two steps the old store has both names: at no moment is there none."""
    seen = []
    replace = Path.replace

    def looking(self, target):
        seen.append((campaigns_of_file(home.where), campaigns_of_file(home.where + ".before")))
        raise OSError(5, "the power went")

    monkeypatch.setattr(Path, "replace", looking)
    with refused("invalid_input"):
        put_back(saved, home.where)
    monkeypatch.setattr(Path, "replace", replace)
    assert seen == [(True, True)]
    assert campaigns(home.where) == ["cmp_a", "cmp_b"]


def campaigns_of_file(path):
    return Path(path).read_bytes().startswith(b"SQLite format 3")


def test_the_name_of_a_kept_store_has_its_moment():
    assert time_stamp(1_796_000_000_000) == "20261130T005320Z"


def test_a_restored_store_sends_nothing_twice_once_it_is_adopted(sqlite_world, tmp_path):
    world = sqlite_world
    prepare(world.home.store())
    campaign_id, other = world.drafted(), world.scheduled(subject="Another")
    taken(world.home, tmp_path / "saved.db")
    world.send(campaign_id)
    world.run(hours=5)
    world.home.close()
    put_back(tmp_path / "saved.db", world.home.where)
    prepare(world.home.store())
    world.heard()
    assert world.bridge.tick().paused
    with refused("copy_paused"):
        world.send(campaign_id, "s2")
    assert world.heard() == []
    world.bridge.adopt(reason="restored after a bad upgrade", confirmed="i0000001", actor=DANA)
    with refused("invalid_state"):
        world.send(campaign_id, "s2")
    world.run()
    assert (world.state(campaign_id), world.state(other)) == ("sent", "sent")
    assert (world.sends(campaign_id), world.sends(other)) == (1, 1)
    assert (world.posts(), world.sandbox.truth.duplicates()) == (1, 0)
    assert sound(world.home.where)


# looking through a store


def test_a_sound_store_has_no_problems_and_its_rows_are_counted(world):
    world.sending()
    world.doubted(subject="Another")
    found = checking.check(world.home.open())
    assert found.problems == ()
    assert (found.counts["campaigns"], found.counts["unfinished_jobs"]) == (2, 2)


def test_a_store_whose_rows_disagree_is_told_so(world):
    doubted, sending = world.doubted(), world.sending(subject="Another")
    world.home.rows("UPDATE campaigns SET open_attempt = NULL, state = 'sending' WHERE id = ?", doubted)
    assert any("unresolved requests" in one for one in checking.check(world.home.open()).problems)
    world.home.rows("UPDATE campaigns SET open_attempt = 'att_none' WHERE id = ?", sending)
    assert any("isn't unresolved" in one for one in checking.check(world.home.open()).problems)


def test_a_reference_that_leads_nowhere_is_found(home):
    seed_campaign(home)
    home.close()
    with closing(sqlite3.connect(home.where)) as connection, connection:
        connection.execute("DELETE FROM connections")
    assert "refer to others" in checking.check(home.open()).problems[0]


def test_a_state_without_an_owner_is_found_even_where_the_table_lets_it_in(home):
    seed_campaign(home)
    home.close()
    with closing(sqlite3.connect(home.where)) as connection, connection:
        connection.create_function("now_ms", 0, lambda: 1)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE campaigns SET state = 'sending', approved_fingerprint = 'x'")
    found = checking.check(home.open()).problems
    assert any("nobody looks" in one for one in found)
    assert any("damaged" in one for one in found), "SQLite's own check sees the broken promise, too"
