"""`audiences import --query`: what is shown and asked, and that no password of another database is told."""

import os
import sqlite3
from contextlib import closing

import pytest

from support.stores import Home

pytest_plugins = ["support.stores"]

SECRET = "hush-hush-4711"
QUERY = "SELECT mail AS email, name, lang AS language FROM customers"


@pytest.fixture
def shop(program):
    with closing(sqlite3.connect(program.folder / "shop.db")) as connection:
        connection.execute("CREATE TABLE customers (mail text, name text, lang text)")
        people = [(f"p{number}@example.com", f"P{number}", "de") for number in range(30)]
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", [*people, ("nobody", "x", "en")])
        connection.commit()
    return program


def bring(program, *flags, place="shop.db", query=QUERY, **more):
    return program.run(
        "audiences", "import", "--audience", "eu", "--from", place, "--query", query, *flags, **more
    )


def test_the_preview_of_a_query_shows_its_columns_and_first_rows_before_anything_is_imported(shop):
    done = bring(shop)
    assert done.code == 2
    assert "Found a query of another database" in done.words
    assert "email address" in done.words
    assert "language language" in done.words
    assert "20 p19@example.com P19" in done.words
    assert '--query "SELECT ..." --from PLACE --audience eu --yes' in done.words
    assert shop.run("audiences", "list").words.startswith("No contacts yet.")


def test_a_yes_imports_and_what_was_not_taken_lies_in_this_folder(shop):
    done = bring(shop, "--yes")
    assert done.code == 0
    assert "30 people came in. eu has 30." in done.words
    assert "1 rows were not taken. 1: no @." in done.words
    rejects = shop.folder / "eu.rejects-1.csv"
    assert "31,no_at" in rejects.read_text("utf-8")
    assert rejects.stat().st_mode & 0o077 == 0


def test_as_json_it_is_one_document_and_the_flags_have_twins_in_the_environment(shop):
    done = shop.run(
        "audiences",
        "import",
        "--audience",
        "eu",
        "--yes",
        "--json",
        CAMPAIGNBRIDGE_IMPORT_FROM="shop.db",
        CAMPAIGNBRIDGE_IMPORT_QUERY=QUERY,
    ).document
    assert (done["rows_read"], done["added"], done["rejected"], done["resumed_at"]) == (31, 30, 1, 0)
    assert done["columns"][2] == {"name": "language", "becomes": "language"}
    again = bring(shop, "--yes", "--json").document
    assert (again["rows_read"], again["added"], again["unchanged"], again["people"]) == (31, 0, 30, 30)


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--query", QUERY),
        ("--from", "shop.db"),
        ("people.csv", "--query", QUERY, "--from", "shop.db"),
        ("--query", QUERY, "--from", "shop.db", "--encoding", "cp1252"),
        ("--query", QUERY, "--from", "shop.db", "--delimiter", ";"),
    ],
)
def test_it_takes_either_a_file_or_a_query_with_its_database(shop, flags):
    done = shop.run("audiences", "import", *flags, "--audience", "eu", "--yes", "--json")
    assert (done.code, done.document["code"]) == (2, "usage")


@pytest.mark.parametrize(
    ("place", "query", "told"),
    [
        (f"postgresql://ann:{SECRET}@127.0.0.1:1/shop", QUERY, ("source_unreachable", 4)),
        (f"postgresql://ann:{SECRET}@[bad/shop", QUERY, ("invalid_input", 3)),
        ("nowhere.db", QUERY, ("invalid_input", 3)),
        ("shop.db", "SELECT * FROM nowhere", ("invalid_input", 3)),
        ("shop.db", "DROP TABLE customers", ("invalid_input", 3)),
        ("shop.db", "SELECT mail FROM customers WHERE 0", ("nothing_imported", 3)),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--json",), ("--debug",)])
def test_what_cannot_be_read_is_one_sentence_without_a_password(shop, flags, place, query, told):
    code, exits = told
    done = bring(shop, "--yes", *flags, place=place, query=query)
    assert done.code == exits
    assert SECRET not in done.out + done.err
    if "--json" in flags:
        assert done.document["code"] == code
        assert shop.run("help", code).code == 0


def test_without_a_known_end_progress_is_a_line_for_each_hundred_thousand_rows(shop):
    series = "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 119999) "
    done = bring(shop, "--yes", query=f"{series} SELECT 'p' || (n % 500) || '@example.com' AS email FROM s")
    assert done.code == 0
    assert "100,000 rows, 0 not taken" in done.words
    assert "500 people came in." in done.words


@pytest.mark.postgres
def test_a_query_of_postgresql_takes_its_password_from_the_environment(program, postgres_url):
    Home("postgres", postgres_url).rows("CREATE TABLE customers (mail text, name text, lang text)")
    Home("postgres", postgres_url).rows("INSERT INTO customers VALUES ('ann@example.com', 'Ann', 'de')")
    done = bring(program, "--yes", place=postgres_url, PGPASSWORD=os.environ.get("PGPASSWORD", SECRET))
    assert done.code == 0, done.words
    assert "1 people came in. eu has 1." in done.words
    assert SECRET not in done.out + done.err
