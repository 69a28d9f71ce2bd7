"""Contacts out of another database: read only, in blocks, cleaned as those of a file, on SQLite and PostgreSQL."""

import csv
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.flows import importing
from campaignbridge.flows.queries import MOST_COLUMNS, look_at_query
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices
from campaignbridge.store import foreign
from support.contacts import ACTOR, Desk
from support.world import refused

pytest_plugins = ["support.stores"]

SECRET = "hush-hush-4711"
ALL = "SELECT * FROM customers"
SERIES = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < {last}) "
    "SELECT 'p' || n || '@example.com' AS email, {more} FROM s",
    "postgres": "SELECT 'p' || n || '@example.com' AS email, {more} FROM generate_series(0, {last}) AS n",
}


@dataclass
class Shop:
    """Another database, with its own tables, beside ours."""

    desk: Desk
    place: str

    @property
    def dialect(self) -> str:
        return self.desk.home.dialect

    def do(self, text: str, *rows: tuple) -> None:
        if self.dialect == "sqlite":
            with closing(sqlite3.connect(self.place)) as connection:
                connection.executemany(text, rows) if rows else connection.execute(text)
                connection.commit()
            return
        with psycopg.connect(self.place, autocommit=True) as connection:
            for row in rows or [None]:
                connection.execute(text.replace("?", "%s"), row)

    def names(self) -> set[str]:
        """Return the tables that it has, and the files beside it."""
        beside = {one.name for one in self.desk.folder.iterdir() if one.suffix in (".db", ".out")}
        if self.dialect == "postgres":
            rows = self.desk.home.rows(
                "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
            )
            return {row["name"] for row in rows} | beside
        with closing(sqlite3.connect(self.place)) as connection:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")} | beside

    def series(self, count: int, more: str = "1 AS one") -> str:
        return SERIES[self.dialect].format(last=count - 1, more=more)

    def bring(self, query: str = ALL, audience: str = "eu", *, batch_rows=1_000, tell=None, **choices):
        desk = self.desk
        found = look_at_query(self.place, query, Choices(**choices))
        importing.make_audience(desk.wiring, audience, actor=ACTOR)
        desk.rejects = RejectsFile(str(desk.folder / f"{audience}.query"))
        return importing.import_contacts(
            desk.wiring,
            found,
            audience,
            rejects=desk.rejects,
            tell=tell or (lambda *_: None),
            actor=ACTOR,
            batch_rows=batch_rows,
        )


@pytest.fixture
def shop(home, tmp_path) -> Shop:
    desk = Desk(home, tmp_path)
    found = Shop(desk, str(tmp_path / "shop.db") if home.dialect == "sqlite" else home.where)
    found.do("CREATE TABLE customers (email text, name text, lang text, spent numeric, since text)")
    return found


def filled(shop):
    shop.do(
        "INSERT INTO customers VALUES (?, ?, ?, ?, ?)",
        ("Ann@Example.com", "Ann", "de", 12.5, None),
        ("bob@example.com", "Bob", "en-gb", None, "2024-05-01"),
        ("ann@example.com", "Annie", None, 12.5, None),
        ("nobody", "x", "en", 1, ""),
        (None, "y", "en", 1, ""),
        ("c\u2060arl@example.com", "Carl", "en", 1, ""),
    )
    return shop


def counts(done):
    return tuple(done.counts[name] for name in ("rows_read", "added", "merged", "unchanged", "rejected"))


def test_rows_of_a_query_are_cleaned_as_those_of_a_file(shop):
    done = filled(shop).bring()
    assert counts(done) == (6, 2, 1, 0, 3)
    assert done.reasons == {"no_at": 1, "empty": 1, "invisible": 1}
    people = shop.desk.contacts()
    assert (people["ann@example.com"]["email"], people["ann@example.com"]["locale"]) == (
        "Ann@Example.com",
        "de",
    )
    assert json.loads(people["ann@example.com"]["attributes"]) == {"name": "Annie", "spent": "12.5"}
    assert people["bob@example.com"]["locale"] == "en-GB"
    with Path(shop.desk.rejects.path).open(encoding="utf-8", newline="") as file:
        told = {row[1]: row[0] for row in list(csv.reader(file))[1:]}
    assert told == {"no_at": "4", "empty": "5", "invisible": "6"}


def test_columns_are_named_by_the_query_or_by_flags(shop):
    filled(shop)
    renamed = shop.bring("SELECT email AS who, lang AS sprache, name AS first FROM customers", email="who")
    assert renamed.counts["added"] == 2
    assert json.loads(shop.desk.contacts()["bob@example.com"]["attributes"]) == {"first": "Bob"}
    with refused("invalid_input"):
        shop.bring(email="nothing")
    with refused("invalid_input"):
        shop.bring("SELECT email, email FROM customers")


def test_run_again_it_reads_every_row_and_nobody_comes_in_twice(shop):
    filled(shop).bring()
    again = shop.bring()
    assert counts(again) == (6, 0, 2, 1, 3), "the first row says Ann again, the third Annie"
    assert again.resumed_at == 0
    assert again.people == 2


def test_one_that_was_stopped_begins_at_its_first_row_and_nobody_is_missing_or_twice(shop):
    class Stopped(Exception):
        pass

    def stop(progress, fraction):
        assert fraction is None
        if progress.rows_read >= 2_000:
            raise Stopped

    with pytest.raises(Stopped):
        shop.bring(shop.series(5_000), tell=stop)
    assert len(shop.desk.contacts()) == 2_000
    done = shop.bring(shop.series(5_000))
    assert counts(done) == (5_000, 3_000, 0, 2_000, 0)
    assert done.people == 5_000


def test_values_that_are_no_text_come_in_as_text_and_what_has_parts_is_rejected(shop):
    values = {
        "sqlite": "SELECT 'ann@example.com' AS email, 7 AS n, 1.5 AS f, NULL AS missing, x'00ff' AS raw "
        "UNION ALL SELECT 'bob@example.com', 7, 1.5, NULL, 'ok'",
        "postgres": "SELECT 'ann@example.com' AS email, 7 AS n, true AS yes, NULL AS missing, "
        "CAST('infinity' AS timestamp) AS at, 1.50 AS price, ARRAY[1, 2] AS parts "
        "UNION ALL SELECT 'bob@example.com', 7, true, NULL, CAST('2024-05-01 10:00' AS timestamp), 1.50, NULL",
    }
    done = shop.bring(values[shop.dialect])
    assert done.reasons == {"nested": 1}
    told = json.loads(shop.desk.contacts()["bob@example.com"]["attributes"])
    assert (
        told
        == {
            "sqlite": {"n": "7", "f": "1.5", "raw": "ok"},
            "postgres": {"n": "7", "yes": "true", "at": "2024-05-01 10:00:00", "price": "1.50"},
        }[shop.dialect]
    )


def test_a_row_of_more_than_a_line_may_have_is_rejected_and_the_rest_comes_in(shop):
    shop.do(
        "INSERT INTO customers (email, name) VALUES (?, ?)",
        ("ann@example.com", "x" * 70_000),
        ("bob@example.com", "Bob"),
    )
    assert shop.bring("SELECT email, name FROM customers").reasons == {"long_row": 1}


WRITES = {
    "sqlite": [
        "DROP TABLE customers",
        "DELETE FROM customers RETURNING email",
        "SELECT email FROM customers; DROP TABLE customers",
        "VACUUM INTO '{folder}/copy.out'",
        "ATTACH '{folder}/other.out' AS other",
        "PRAGMA query_only = 0",
        "BEGIN",
        "EXPLAIN DROP TABLE customers",
    ],
    "postgres": [
        "DROP TABLE customers",
        "DELETE FROM customers RETURNING email",
        "WITH gone AS (DELETE FROM customers RETURNING email) SELECT email FROM gone",
        "SELECT email FROM customers; COMMIT; DROP TABLE customers",
        "SELECT 'ann@example.com' AS email, nextval('numbers') AS n",
        "COPY customers TO PROGRAM 'true'",
        "COMMIT",
        "SELECT email INTO stolen FROM customers",
    ],
}


def test_a_statement_that_does_more_than_read_is_refused_and_changes_nothing(shop):
    filled(shop)
    if shop.dialect == "postgres":
        shop.do("CREATE SEQUENCE numbers")
    before = shop.names()
    for text in WRITES[shop.dialect]:
        with refused("invalid_input") as caught:
            shop.bring(text.format(folder=shop.desk.folder))
        assert caught.value.todo, text
    assert shop.names() == before
    assert shop.bring().counts["rows_read"] == 6
    if shop.dialect == "postgres":
        assert shop.desk.home.rows("SELECT is_called FROM numbers") == [{"is_called": False}]


def test_mutant_without_the_authorizer_a_read_only_file_still_writes_another_one(tmp_path, monkeypatch):
    place, copy = tmp_path / "shop.db", tmp_path / "copy.out"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE customers (email text)")
    text = f"VACUUM INTO '{copy}'"
    with refused("invalid_input"):
        look_at_query(str(place), text, Choices())
    assert not copy.exists()
    monkeypatch.setattr(foreign, "_allow", lambda *_: sqlite3.SQLITE_OK)
    with refused("invalid_input"):
        look_at_query(str(place), text, Choices())
    assert copy.exists(), "so it is the authorizer that keeps it from being written"


@pytest.mark.postgres
def test_mutant_without_read_only_a_sequence_moves(postgres_home, monkeypatch):
    place = postgres_home.where
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE numbers")
    text = "SELECT 'ann@example.com' AS email, nextval('numbers') AS n"
    with refused("invalid_input"):
        look_at_query(place, text, Choices())

    def written(url):
        opened = psycopg.connect(url, autocommit=False)
        opened.read_only = False
        return opened

    monkeypatch.setattr(foreign, "_connect", written)
    assert look_at_query(place, text, Choices()).preview
    assert postgres_home.rows("SELECT last_value FROM numbers") == [{"last_value": 1}]


def test_a_query_that_the_database_does_not_understand_is_told_in_its_words_without_addresses(shop):
    for text, words in (
        ("SELECT * FROM nothing", "nothing"),
        ("SELEKT email FROM customers", "SELEKT"),
        ('SELECT "ann@example.com", email FROM nowhere', "nowhere"),
    ):
        with refused("invalid_input") as caught:
            shop.bring(text)
        assert "doesn't understand the query" in caught.value.what
        assert words in caught.value.what or "ann" not in caught.value.what
        assert "@" not in caught.value.what


@pytest.mark.parametrize("text", ["", " ;", "SELECT\x00 1", "x" * (foreign.MAX_QUERY + 1)])
def test_a_query_is_bounded(shop, text):
    with refused("invalid_input"):
        shop.bring(text)


def test_a_query_without_rows_with_too_many_columns_or_without_addresses_is_refused(shop):
    with refused("nothing_imported"):
        shop.bring()
    filled(shop)
    many = ", ".join(f"{n} AS c{n}" for n in range(MOST_COLUMNS))
    with refused("invalid_input"):
        shop.bring(f"SELECT email, {many} FROM customers")
    with refused("invalid_input"):
        shop.bring("SELECT name FROM customers")
    with refused("nothing_imported"):
        shop.bring("SELECT email FROM customers WHERE email = 'nobody'")


def test_only_whoever_manages_may_import(shop):
    filled(shop)
    found = look_at_query(shop.place, ALL, Choices())
    importing.make_audience(shop.desk.wiring, "eu", actor=ACTOR)
    with refused("forbidden"):
        importing.import_contacts(
            shop.desk.wiring,
            found,
            "eu",
            rejects=RejectsFile(str(shop.desk.folder / "x")),
            tell=lambda *_: None,
            actor=Actor("cli:eve", frozenset({"read"})),
        )


def test_the_columns_of_the_import_are_those_that_were_looked_at(shop):
    filled(shop)
    found = look_at_query(shop.place, ALL, Choices())
    shop.do("ALTER TABLE customers RENAME COLUMN name TO nick")
    importing.make_audience(shop.desk.wiring, "eu", actor=ACTOR)
    with refused("invalid_input") as caught:
        importing.import_contacts(
            shop.desk.wiring,
            found,
            "eu",
            rejects=RejectsFile(str(shop.desk.folder / "x")),
            tell=lambda *_: None,
            actor=ACTOR,
        )
    assert "changed" in caught.value.what


@pytest.mark.parametrize(
    ("place", "code"),
    [
        (f"postgresql://ann:{SECRET}@127.0.0.1:1/shop", "source_unreachable"),
        (f"postgresql://ann:{SECRET}@[bad/shop", "invalid_input"),
        (f"postgresql://ann:{SECRET}@localhost/shop?nonsense={SECRET}", "invalid_input"),
        (f"mysql://ann:{SECRET}@localhost/shop", "invalid_input"),
        (f"/nowhere/{SECRET}/shop.db", "invalid_input"),
        (f"sqlite:///{SECRET}.db", "invalid_input"),
        (f"bad\x00{SECRET}", "invalid_input"),
        ("/", "invalid_input"),
        ("", "invalid_input"),
    ],
)
def test_a_database_that_cannot_be_read_is_told_in_a_sentence_without_its_address(place, code):
    with refused(code) as caught:
        look_at_query(place, "SELECT 1", Choices())
    told = f"{caught.value.what} {caught.value.todo} {caught.value.facts}"
    assert SECRET not in told
    assert "127.0.0.1" not in told
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("open_elsewhere", [True, False])
def test_a_file_with_a_write_ahead_log_is_read_whether_or_not_somebody_has_it_open(tmp_path, open_elsewhere):
    place = str(tmp_path / "shop.db")
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE customers (email text)")
        other.execute("INSERT INTO customers VALUES ('ann@example.com')")
        if not open_elsewhere:
            other.close()
        for name in (place, f"sqlite:///{place}"):
            assert [record.cells for record in look_at_query(name, ALL, Choices()).preview] == [
                ["ann@example.com"]
            ]


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "people.csv").write_text("email\nann@example.com\n" * 100, "utf-8")
    with refused("invalid_input") as caught:
        look_at_query(str(tmp_path / "people.csv"), "SELECT * FROM people", Choices())
    assert "no SQLite database" in caught.value.what


def test_a_file_that_somebody_has_locked_is_busy_and_its_own_words_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "CONNECT_TIMEOUT_S", 0)
    place = str(tmp_path / "shop.db")
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("CREATE TABLE customers (email text)")
        other.execute("BEGIN EXCLUSIVE")
        with refused("source_unreachable"):
            look_at_query(place, ALL, Choices())


def test_what_a_query_was_looked_at_with_shows_neither_place_nor_people(shop):
    found = look_at_query(filled(shop).place, ALL, Choices())
    assert shop.place not in repr(found)
    assert "example.com" not in repr(found)


@pytest.mark.postgres
def test_rows_are_fetched_from_the_server_in_blocks(postgres_home):
    place = postgres_home.where
    query = "SELECT 'p' || n || '@example.com' AS email FROM generate_series(1, 500000) AS n"
    with foreign.reading(place, query) as result:
        assert next(result.rows) == ("p1@example.com",)
        with psycopg.connect(place, autocommit=True) as other:
            (doing,) = other.execute(
                "SELECT query, state FROM pg_stat_activity WHERE query LIKE 'FETCH FORWARD%'"
            ).fetchall()
    assert doing == (f'FETCH FORWARD {foreign.BLOCK} FROM "campaignbridge_import"', "idle in transaction")


def test_memory_does_not_grow_with_the_result(shop):
    import tracemalloc

    tracemalloc.start()
    try:
        with foreign.reading(shop.place, shop.series(200_000, "'x' AS pad")) as result:
            assert sum(1 for _ in result.rows) == 200_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000, f"{peak:,} bytes for 200,000 rows"


@pytest.mark.postgres
def test_a_database_that_goes_away_meanwhile_is_told_and_whoever_came_in_stays_in(postgres_home, tmp_path):
    shop = Shop(Desk(postgres_home, tmp_path), postgres_home.where)

    def cut(progress, _):
        postgres_home.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'FETCH FORWARD%' AND state = "
            "'idle in transaction'"
        )

    with refused("source_unreachable"):
        shop.bring(shop.series(20_000), tell=cut)
    came = len(shop.desk.contacts())
    assert 1_000 <= came < 20_000
    assert shop.bring(shop.series(20_000)).people == 20_000
