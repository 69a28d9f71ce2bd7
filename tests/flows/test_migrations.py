"""The schema goes up and down, by one process at a time, and nothing is applied twice or in doubt."""

import pytest

from campaignbridge.domain.errors import StoreUnusable
from campaignbridge.store import migrate
from campaignbridge.store.migrate import Migration
from campaignbridge.store.unit import Store
from support.stores import Child, enqueue, in_processes, seed_campaign, until

pytest_plugins = ["support.stores"]

VERSIONS = [migration.version for migration in migrate.migrations("sqlite")]
NEWEST = VERSIONS[-1]


def program_with(dialect, *further):
    """Return the migrations of a newer program: ours, and one more for each text."""
    ours = migrate.migrations(dialect)
    return ours + tuple(
        Migration(NEWEST + n, f"step_{NEWEST + n}", up, f"DROP TABLE step_{NEWEST + n};\n")
        for n, up in enumerate(further, start=1)
    )


def steps(count):
    return [f"CREATE TABLE step_{NEWEST + n} (id bigint);\n" for n in range(1, count + 1)]


@pytest.fixture
def newer(monkeypatch, empty_home):
    """Return a function that makes this process a newer program with further migrations."""

    def become(*further):
        known = program_with(empty_home.dialect, *further)
        monkeypatch.setattr(migrate, "migrations", lambda _dialect: known)

    return become


def tables(home):
    text = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        "postgres": "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
    }[home.dialect]
    return {row["name"] for row in home.rows(text)}


def history(home):
    return [row["version"] for row in home.rows("SELECT version FROM schema_migrations ORDER BY version")]


def test_the_schema_goes_up_down_and_up_again(empty_home):
    database = empty_home.open()
    assert migrate.current(database) == 0
    names = migrate.upgrade(database)
    assert [migrate.current(database), names] == [
        NEWEST,
        [m.name for m in migrate.migrations(empty_home.dialect)],
    ]
    full = tables(empty_home)
    assert migrate.downgrade(database, target=0) == names[::-1]
    assert (migrate.current(database), tables(empty_home)) == (0, {"schema_migrations"})
    assert migrate.upgrade(database) == names
    assert tables(empty_home) == full
    enqueue(Store(database))


def test_stored_events_survive_the_step_at_which_they_learn_to_act_and_back(home):
    """Schema 11 makes the table anew on SQLite; back from it only the kind that 10 doesn't know is lost."""
    database = home.open()
    seed_campaign(home)
    for kind in ("campaign", "unsubscribe", "cleaned", "removed"):
        home.rows(
            "INSERT INTO webhook_events (connection_id, kind, audience, subject, fired_at, status, verified, "
            "received_at, due_at) VALUES ('con_1', ?, 'l', 's', 1, 'x', 1, 1, 5)",
            kind,
        )
    kept = home.rows("SELECT * FROM webhook_events WHERE kind <> 'removed' ORDER BY kind")
    indexes = indexes_of(home)
    assert "acting_events" in migrate.downgrade(database, target=10)
    assert home.rows("SELECT * FROM webhook_events ORDER BY kind") == kept
    assert "acting_events" in migrate.upgrade(database)
    assert home.rows("SELECT * FROM webhook_events ORDER BY kind") == kept
    assert indexes_of(home) == indexes


def indexes_of(home):
    text = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'webhook_events'",
        "postgres": "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'webhook_events' "
        "AND schemaname = current_schema()",
    }[home.dialect]
    names = {row["name"] for row in home.rows(text)}
    return {name for name in names if "autoindex" not in name}


def test_an_upgrade_with_nothing_to_do_does_nothing(home):
    database = home.open()
    before = home.rows("SELECT * FROM schema_migrations")
    assert migrate.upgrade(database) == []
    assert home.rows("SELECT * FROM schema_migrations") == before


def test_both_databases_have_the_same_migrations_and_each_can_be_taken_back():
    sqlite_list, postgres_list = migrate.migrations("sqlite"), migrate.migrations("postgres")
    assert [(m.version, m.name) for m in sqlite_list] == [(m.version, m.name) for m in postgres_list]
    assert sorted(set(VERSIONS)) == VERSIONS
    assert all(m.down.strip() for m in (*sqlite_list, *postgres_list))


def test_an_upgrade_stops_at_the_version_that_was_asked_for(empty_home, newer):
    newer(*steps(3))
    database = empty_home.open()
    migrate.upgrade(database, target=NEWEST + 1)
    assert migrate.current(database) == NEWEST + 1
    assert migrate.upgrade(database) == [f"step_{NEWEST + 2}", f"step_{NEWEST + 3}"]
    assert migrate.downgrade(database, target=NEWEST + 1) == [f"step_{NEWEST + 3}", f"step_{NEWEST + 2}"]
    assert migrate.current(database) == NEWEST + 1


def test_rows_survive_a_later_migration_and_its_taking_back(home, newer):
    enqueue(home.store())
    before = home.rows("SELECT * FROM jobs")
    newer(*steps(1))
    database = home.open()
    migrate.upgrade(database)
    assert home.rows("SELECT * FROM jobs") == before
    migrate.downgrade(database, target=NEWEST)
    assert home.rows("SELECT * FROM jobs") == before


def test_a_migration_that_fails_in_its_middle_leaves_nothing_of_itself(home, newer):
    enqueue(home.store())
    newer(steps(1)[0] + "\nDELETE FROM jobs;\n\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreUnusable):
        migrate.upgrade(home.open())
    assert f"step_{NEWEST + 1}" not in tables(home)
    assert len(home.rows("SELECT * FROM jobs")) == 1
    assert history(home) == VERSIONS


def test_a_semicolon_inside_of_a_line_ends_no_statement(home, newer):
    newer(
        "CREATE TABLE step_x (id bigint, note text DEFAULT 'a; b');\n\nINSERT INTO step_x (id) VALUES (1);\n"
    )
    migrate.upgrade(home.open())
    assert home.rows("SELECT * FROM step_x") == [{"id": 1, "note": "a; b"}]


# who may use it


def record(home, version, compatible_from, checksum="0"):
    home.rows(
        "INSERT INTO schema_migrations (version, name, checksum, compatible_from, applied_at) "
        "VALUES (?, 'later', ?, ?, 1)",
        version,
        checksum,
        compatible_from,
    )


def test_a_newer_schema_is_refused(home):
    record(home, NEWEST + 1, NEWEST + 1)
    database = home.open()
    for use in (migrate.current, migrate.upgrade, lambda d: migrate.downgrade(d, target=0)):
        with pytest.raises(StoreUnusable) as refused:
            use(database)
        assert str(NEWEST + 1) in refused.value.what
        assert refused.value.todo
    assert "jobs" in tables(home)


def test_a_newer_schema_that_says_it_is_compatible_is_used_and_left_alone(home):
    record(home, NEWEST + 1, NEWEST)
    database = home.open()
    assert migrate.current(database) == NEWEST + 1
    assert migrate.upgrade(database) == []
    assert migrate.downgrade(database, target=0) == [], "what lies above is not ours to take back"
    assert "jobs" in tables(home)


def test_an_applied_migration_whose_text_has_changed_is_refused(home):
    home.rows("UPDATE schema_migrations SET checksum = 'other' WHERE version = 1")
    with pytest.raises(StoreUnusable) as refused:
        migrate.upgrade(home.open())
    assert "Migration 1" in refused.value.what


def test_a_changed_text_is_noticed_by_its_checksum():
    first = Migration(1, "core", "CREATE TABLE a (id int);\n", "")
    assert first.checksum != Migration(1, "core", "CREATE TABLE a (id bigint);\n", "").checksum


# several processes


def upgrade_at_once(home, parent, number, further):
    known = program_with(home.dialect, *further)
    migrate.migrations = lambda _dialect: known  # this process is a newer program
    parent.say("ready")
    parent.wait()
    return migrate.upgrade(home.open())


def test_five_processes_that_start_on_an_empty_database_apply_each_step_once(empty_home):
    """MIG-1: nobody fails, everybody returns with the schema in place."""
    applied = in_processes(empty_home, 5, upgrade_at_once, steps(3))
    names = [m.name for m in program_with(empty_home.dialect, *steps(3))]
    assert sorted(name for one in applied for name in one) == sorted(names)
    assert history(empty_home) == [*VERSIONS, NEWEST + 1, NEWEST + 2, NEWEST + 3]


def test_five_processes_that_start_on_an_older_schema_apply_what_is_missing_once(home):
    """MIG-1 from version N-1, on PostgreSQL and SQLite."""
    applied = in_processes(home, 5, upgrade_at_once, steps(1))
    assert sorted(map(len, applied)) == [0, 0, 0, 0, 1]


def upgrade_that_stands_still(home, parent, stop_after):
    known = program_with(home.dialect, *steps(4))
    migrate.migrations = lambda _dialect: known
    execute = migrate._execute

    def slow(tx, text):
        execute(tx, text)
        if f"step_{stop_after} " in text:
            parent.say("inside")
            parent.wait()

    migrate._execute = slow
    return migrate.upgrade(home.open())


def plain_upgrade(home, parent):
    known = program_with(home.dialect, *steps(4))
    migrate.migrations = lambda _dialect: known
    parent.say("starting")
    return migrate.upgrade(home.open())


def test_a_process_killed_half_way_leaves_no_lock_and_the_next_goes_on_there(empty_home, newer):
    """MIG-3: SIGKILL in a step; what was applied stands, the step itself left nothing."""
    child = Child(empty_home, upgrade_that_stands_still, NEWEST + 2)
    try:
        assert child.hear() == "inside"
        child.kill()
    finally:
        child.close()
    newer(*steps(4))
    database = empty_home.open()
    assert migrate.current(database) == NEWEST + 1
    assert migrate.upgrade(database) == [f"step_{NEWEST + n}" for n in (2, 3, 4)]
    assert history(empty_home) == [*VERSIONS, NEWEST + 1, NEWEST + 2, NEWEST + 3, NEWEST + 4]


def test_a_second_process_waits_for_a_live_migration_and_goes_on_when_that_one_dies(postgres_url):
    """MIG-3: the lock is never broken while its session lives, and vanishes with it."""
    from support.stores import Home

    home = Home("postgres", postgres_url)
    first = Child(home, upgrade_that_stands_still, NEWEST + 2)
    second = None
    try:
        assert first.hear() == "inside"
        second = Child(home, plain_upgrade)
        assert second.hear() == "starting"
        waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        until(lambda: home.rows(waiting))
        assert history(home) == [*VERSIONS, NEWEST + 1]
        first.kill()
        assert second.hear() == [f"step_{NEWEST + n}" for n in (2, 3, 4)]
    finally:
        first.close()
        if second:
            second.close()


@pytest.mark.postgres
def test_waiting_for_another_migration_is_not_cut_short_by_the_limit_of_a_statement(postgres_home):
    database = postgres_home.open()
    with migrate._session_lock(database), database.transaction() as tx:
        ask = lambda name: tx._connection.execute(f"SHOW {name}").fetchone()[name]  # noqa: E731
        assert (ask("statement_timeout"), ask("lock_timeout")) == ("0", "2min")
    with database.transaction() as tx:
        assert (ask("statement_timeout"), ask("lock_timeout")) == ("30s", "10s")
        assert not tx._connection.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        ).fetchall()
