"""Both databases behind the low seam: every statement, every pragma, and every way to be gone."""

# ruff: noqa: PT012  a block that fails, and is rolled back as a whole, is what is tested

import os
import re
import shutil
import signal
import socket
import sqlite3
from pathlib import Path

import psycopg
import pytest

from campaignbridge.domain.errors import CommitUnknown, StoreGone, StoreUnusable
from campaignbridge.engine.tick import tick
from campaignbridge.store import migrate
from campaignbridge.store.postgres import Postgres
from campaignbridge.store.sql import catalogue
from campaignbridge.store.sqlite import Sqlite
from campaignbridge.store.unit import Store
from support.stores import (
    Child,
    Diary,
    Home,
    claim,
    enqueue,
    in_processes,
    server_home,
    through_proxy,
    together,
    until,
)

pytest_plugins = ["support.stores"]


LOADED = {"audiences.load"}


def parameters(text, dialect):
    pattern = r"(?<![:\w]):([a-z_]+)" if dialect == "sqlite" else r"%\(([a-z_]+)\)s"
    return set(re.findall(pattern, text))


def test_every_statement_of_the_catalogue_prepares(home):
    statements = catalogue(home.dialect)
    assert len(statements) > 40
    database = home.open()
    for name, statement in statements.items():
        text = statement.filled(dict.fromkeys(statement.literals, 1))
        values = dict.fromkeys(parameters(text, home.dialect))
        with database.transaction() as tx:
            if name in LOADED:
                tx.load(name, [])  # by position: SQLite prepares it, PostgreSQL begins and ends the COPY
            else:
                tx._connection.execute(f"EXPLAIN {text}", values)
        assert name.count(".") == 1


def test_both_databases_know_the_same_statements_with_the_same_parameters():
    sqlite_texts, postgres_texts = catalogue("sqlite"), catalogue("postgres")
    assert sqlite_texts.keys() == postgres_texts.keys()
    for name, statement in sqlite_texts.items():
        ours = parameters(statement.text, "sqlite") - set(statement.literals)
        assert ours == parameters(postgres_texts[name].text, "postgres"), name
        assert set(statement.literals) == set(postgres_texts[name].literals), name


def test_a_literal_that_is_no_integer_never_reaches_the_database(store):
    with pytest.raises(AssertionError), store.unit() as unit:
        unit.jobs.claim(holder="a", batch="1; DROP TABLE jobs", lease_ms=1)


def test_a_block_that_raises_leaves_nothing(home, store):
    with pytest.raises(ZeroDivisionError), store.unit() as unit:
        unit.events.add("kind", campaign_id=None, actor=None)
        raise ZeroDivisionError
    assert home.rows("SELECT * FROM audit_events") == []
    enqueue(store)  # the connection is as good as new


def test_an_installation_keeps_the_first_id_that_it_was_given(store):
    with store.unit() as unit:
        unit.name_installation("other000")
        assert unit.installation() == "i0000001"


def test_the_store_has_one_clock_and_a_test_moves_it(home, store):
    with store.unit() as unit:
        before = unit.now_ms()
    home.pass_ms(3_600_000)
    with store.unit() as unit:
        assert 3_600_000 <= unit.now_ms() - before < 3_660_000


@pytest.mark.postgres
def test_in_production_nothing_moves_the_clock_of_postgresql(postgres_url):
    database = Postgres(postgres_url, offset_ms=3_600_000)
    migrate.upgrade(database)
    with Store(database).unit() as unit:
        ahead = unit.now_ms()
    database.close()
    plain = Postgres(postgres_url)
    with Store(plain).unit() as unit:
        assert 0 <= unit.now_ms() - ahead < 60_000
    plain.close()


# how SQLite is opened


def test_every_new_sqlite_connection_proves_its_pragmas(sqlite_home):
    database = sqlite_home.open()

    def pragmas(_number):
        with database.transaction() as tx:
            ask = lambda name: tx._connection.execute(f"PRAGMA {name}").fetchone()[0]  # noqa: E731
            return [ask(name) for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")]

    assert [pragmas(0), *together(sqlite_home, 3, pragmas)] == [["wal", 2, 1, 10_000]] * 4


def test_every_sqlite_transaction_takes_the_write_lock_at_its_start(sqlite_home):
    first = sqlite_home.open()
    second = Sqlite(sqlite_home.where, busy_timeout_s=0)
    with first.transaction() as tx:
        tx.one("installation.now")  # only reads, and holds the write lock all the same
        with pytest.raises(StoreGone), second.transaction():
            pass
    with second.transaction() as tx:
        assert tx.one("installation.get")
    second.close()


def test_a_deferred_transaction_fails_on_its_upgrade_whatever_the_timeout(sqlite_home):
    """Why every transaction is immediate: this is what a deferred one does."""
    sqlite_home.open().close()
    reader = sqlite3.connect(sqlite_home.where, timeout=10, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM locks").fetchall()
    sqlite_home.rows("INSERT INTO locks (key, fence, acquired_at, held_until) VALUES ('k', 1, 1, 1)")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        reader.execute("UPDATE locks SET fence = 2")
    reader.close()


def busy_process(home, parent, number, rounds):
    """Enqueue and claim (or, for the last number, read) as fast as it goes; return how many jobs were ended."""
    store = home.store()
    with store.unit() as unit:
        unit.now_ms()
    parent.say("ready")
    parent.wait()
    ended = 0
    for turn in range(rounds):
        if number == 4:
            with store.unit() as unit:
                unit.jobs.newest(most=20)
            continue
        enqueue(store, f"job_{number}_{turn}")
        for job in claim(store, f"p{number}", batch=3):
            with store.unit() as unit:
                ended += unit.jobs.finish(job)
    return ended


def test_four_writing_processes_and_a_reader_see_no_lock_error(home):
    """STORE-1: every process ends without an error, and every job was ended once."""
    ended = in_processes(home, 5, busy_process, 80)
    left = claim(home.store(), "last", batch=1000)
    assert sum(ended) + len(left) == 320
    assert ended[4] == 0


# gone


def test_a_sqlite_file_that_somebody_keeps_locked_is_gone_for_now(sqlite_home):
    database = Sqlite(sqlite_home.where, busy_timeout_s=0.01)
    other = sqlite3.connect(sqlite_home.where, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreGone) as gone, database.transaction():
        pass
    assert gone.value.code == "persistence_failed"
    assert "busy" in gone.value.what
    assert gone.value.todo
    other.execute("ROLLBACK")
    other.close()
    with database.transaction() as tx:
        assert tx.one("installation.get")
    database.close()


@pytest.mark.parametrize("where", ["missing/store.db", "."])
def test_a_sqlite_path_without_its_folder_or_that_is_one_is_gone(tmp_path, where):
    database = Sqlite(str(tmp_path / where))
    with pytest.raises(StoreGone), database.transaction():
        pass


@pytest.mark.parametrize(
    "content", [b"hello, world\n", b"x" * 5_000, b"\x00\xff" * 4_096, b"PK\x03\x04" + b"\x00" * 600]
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path, content):
    place = tmp_path / "notes.txt"
    place.write_bytes(content)
    database = Sqlite(str(place))
    with pytest.raises(StoreUnusable) as refused:
        migrate.upgrade(database)
    assert refused.value.todo
    assert place.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_store_is_refused(sqlite_home, tmp_path):
    sqlite_home.close()
    data = bytearray(Path(sqlite_home.where).read_bytes())
    data[100:4096] = b"\xee" * (4096 - 100)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(bytes(data))
    with pytest.raises(StoreUnusable):
        migrate.current(Sqlite(str(damaged)))


def test_a_sqlite_disk_that_is_full_loses_nothing_that_was_saved(sqlite_home):
    store = sqlite_home.store()
    enqueue(store, "job_before")
    store.database._connection().execute("PRAGMA max_page_count = 1")  # SQLite takes the present size
    with pytest.raises(StoreGone) as gone, store.unit() as unit:
        for number in range(5_000):
            unit.events.add("kind", campaign_id="c", actor=None, note="x" * 200 + str(number))
    assert "full" in gone.value.what
    assert [row["id"] for row in sqlite_home.rows("SELECT id FROM jobs")] == ["job_before"]
    assert sqlite_home.rows("SELECT count(*) AS n FROM audit_events") == [{"n": 0}]


def pid_of(tx) -> int:
    return tx._connection.info.backend_pid


def terminate(home, pid):
    assert home.rows("SELECT pg_terminate_backend(?, 10000) AS done", pid)[0]["done"]


def test_a_killed_backend_is_gone_once_and_the_next_transaction_has_a_new_one(postgres_home):
    database = postgres_home.open()
    with pytest.raises(StoreGone), database.transaction() as tx:
        tx.run(
            "events.add",
            campaign_id=None,
            kind="k",
            actor=None,
            automatic=1,
            version=None,
            attempt_id=None,
            data="",
        )
        terminate(postgres_home, pid_of(tx))
        tx.one("installation.now")
    with database.transaction() as tx:
        assert tx.one("installation.get")
    assert postgres_home.rows("SELECT * FROM audit_events") == []


def test_a_backend_that_was_killed_between_transactions_is_gone_once(postgres_home):
    database = postgres_home.open()
    with database.transaction() as tx:
        pid = pid_of(tx)
    terminate(postgres_home, pid)
    with pytest.raises(StoreGone), database.transaction():
        pass
    with database.transaction() as tx:
        assert pid_of(tx) != pid


def test_a_transaction_that_stood_idle_for_too_long_is_gone(postgres_home):
    database = postgres_home.open()
    with pytest.raises(StoreGone), database.transaction() as tx:
        pid = pid_of(tx)
        tx._connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10ms'")
        until(lambda: not postgres_home.rows("SELECT 1 FROM pg_stat_activity WHERE pid = ?", pid))
        tx.one("installation.now")
    with database.transaction() as tx:
        assert tx.one("installation.get")


def test_a_server_that_only_reads_since_a_failover_is_gone_for_now(postgres_home):
    database = postgres_home.open()
    with pytest.raises(StoreGone), database.transaction() as tx:
        tx._connection.execute("SET TRANSACTION READ ONLY")
        tx.run("installation.create", id="other000")


def test_a_row_that_stays_locked_is_gone_for_now_and_not_for_ever(postgres_home):
    store = postgres_home.store()
    enqueue(store)
    (job,) = claim(store)
    other = psycopg.connect(postgres_home.where)
    other.execute("SELECT 1 FROM jobs FOR UPDATE")
    with pytest.raises(StoreGone), store.unit() as unit:
        unit._tx._connection.execute("SET LOCAL lock_timeout = '10ms'")
        unit.jobs.finish(job)
    other.close()
    with store.unit() as unit:
        assert unit.jobs.finish(job)


def test_a_postgresql_that_is_not_there_is_gone():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    database = Postgres(f"postgresql://postgres:hunter2@127.0.0.1:{port}/postgres")
    with pytest.raises(StoreGone) as gone, database.transaction():
        pass
    assert "hunter2" not in str(gone.value) + gone.value.todo + repr(database)


@pytest.mark.postgres
def test_a_server_that_is_stopped_in_mid_transaction_is_gone(postgres_server):
    with server_home() as home:
        database = Postgres(home.where)
        with pytest.raises(StoreGone), database.transaction() as tx:
            pid = tx._connection.execute("SELECT pg_backend_pid() AS pid").fetchone()["pid"]
            postmaster = int(Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[1])
            os.kill(postmaster, signal.SIGINT)  # PostgreSQL's fast shutdown
            until(lambda: not Path(f"/proc/{postmaster}").exists(), tries=5_000_000)
            tx.one("installation.now")
        with pytest.raises(StoreGone), database.transaction():
            pass
        database.close()


@pytest.mark.postgres
def test_a_schema_that_does_not_exist_is_unusable(postgres_server):
    database = Postgres(f"{postgres_server}?options=-csearch_path%3Dnowhere_at_all")
    with pytest.raises(StoreUnusable) as refused:
        migrate.upgrade(database)
    assert refused.value.todo
    database.close()


# the answer to a COMMIT


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_lost_answer_to_the_commit_of_a_claim_is_unknown_and_the_job_is_not_lost(postgres_home, cut):
    """AMB-12: whichever way it went, a look by key tells, and nobody runs the job twice."""
    enqueue(postgres_home.store())
    with through_proxy(postgres_home) as (proxy, store):
        proxy.cut = cut
        with pytest.raises(CommitUnknown) as unknown:
            claim(store, "cut_off")
        assert unknown.value.code == "persistence_failed"
        proxy.cut = None
        with store.unit() as unit:
            row = unit.jobs.get("job_1")
    assert row["state"] == ("queued" if cut == "before" else "claimed")
    assert row["fence"] == (0 if cut == "before" else 1)
    assert row["holder"] == (None if cut == "before" else "cut_off")


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_lost_answer_to_the_commit_of_an_outcome_is_unknown_and_a_repeat_changes_nothing(
    postgres_home, cut
):
    """AMB-12: the repeated step recognises its own earlier write by zero rows and the state of the job."""
    enqueue(postgres_home.store())
    with through_proxy(postgres_home) as (proxy, store):
        (job,) = claim(store)
        proxy.cut = cut
        with pytest.raises(CommitUnknown), store.unit() as unit:
            assert unit.jobs.finish(job)
        proxy.cut = None
        with store.unit() as unit:
            assert unit.jobs.finish(job) is (cut == "before")
    assert postgres_home.job("job_1")["state"] == "succeeded"


@pytest.mark.parametrize("cut", ["before", "after"])
def test_an_unknown_answer_to_the_commit_of_the_started_mark_runs_nothing(postgres_home, cut):
    """AMB-12: whoever doesn't know whether the mark stands doesn't run; the next one decides by what stands."""
    enqueue(postgres_home.store())
    diary = Diary()
    handler = diary.handler(retry_safe=False)
    with through_proxy(postgres_home) as (proxy, store):
        worker = diary.worker(store, handler)
        (claimed,) = worker.claim(1)
        proxy.cut = cut
        with pytest.raises(CommitUnknown):
            worker.run(claimed)
    assert diary.ran == []
    postgres_home.pass_ms(121_000)
    other = diary.worker(postgres_home.store(), handler, holder="b")
    for _ in range(500):  # the server may not have noticed yet that the first one's session is gone
        tick(other)
        if diary.ran or diary.abandoned:
            break
    assert (diary.ran, diary.abandoned) == ((["job_1"], []) if cut == "before" else ([], ["job_1"]))


def test_a_backend_that_is_killed_before_the_commit_leaves_the_change_in_doubt_and_undone(postgres_home):
    store = postgres_home.store()
    with pytest.raises(CommitUnknown), store.unit() as unit:
        unit.events.add("kind", campaign_id=None, actor=None)
        terminate(postgres_home, pid_of(unit._tx))
    assert postgres_home.rows("SELECT * FROM audit_events") == []


def test_a_commit_that_is_in_doubt_counts_as_a_store_that_is_gone():
    assert issubclass(CommitUnknown, StoreGone)


# other people's databases


def test_a_sqlite_file_of_another_program_is_refused_and_left_alone(tmp_path):
    place = str(tmp_path / "other.db")
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE bookmarks (url text)")
    other.close()
    with pytest.raises(StoreUnusable):
        migrate.upgrade(Sqlite(place))
    assert Home("sqlite", place).rows("SELECT name FROM sqlite_master") == [{"name": "bookmarks"}]


def test_another_program_with_a_history_of_the_same_name_is_refused(empty_home):
    """Rails and others call their history schema_migrations too."""
    empty_home.rows("CREATE TABLE schema_migrations (version text)")
    with pytest.raises(StoreUnusable):
        migrate.upgrade(empty_home.open())
    assert empty_home.rows("SELECT * FROM schema_migrations") == []


@pytest.mark.postgres
def test_another_program_with_tables_of_our_names_is_refused(postgres_url):
    home = Home("postgres", postgres_url)
    home.rows("CREATE TABLE jobs (id int)")
    with pytest.raises(StoreUnusable) as refused:
        migrate.upgrade(home.open())
    assert refused.value.todo
    assert home.rows("SELECT * FROM jobs") == []
    home.close()


def test_a_store_without_a_schema_says_how_to_make_one(empty_home):
    with pytest.raises(StoreUnusable), Store(empty_home.open()).unit() as unit:
        unit.jobs.newest()


def test_a_store_that_was_copied_works_as_before(sqlite_home, tmp_path):
    enqueue(sqlite_home.store())
    sqlite_home.close()
    copy = str(tmp_path / "copy.db")
    shutil.copy(sqlite_home.where, copy)
    assert [job.id for job in claim(Home("sqlite", copy).store())] == ["job_1"]


def test_a_process_that_is_killed_in_a_transaction_leaves_neither_change_nor_lock(home):
    child = Child(home, killed_in_transaction)
    try:
        assert child.hear() == "inside"
        child.kill()
    finally:
        child.close()
    assert home.rows("SELECT * FROM audit_events") == []
    store = home.store()
    with store.unit() as unit:
        assert unit.locks.acquire("campaign:cmp_a", holder="b", operation="send", actor=None).fence == 1


def killed_in_transaction(home, parent):
    with home.store().unit() as unit:
        unit.events.add("kind", campaign_id=None, actor=None)
        unit.locks.acquire("campaign:cmp_a", holder="a", operation="send", actor=None)
        parent.say("inside")
        parent.wait()
