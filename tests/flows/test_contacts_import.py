"""Contacts come in: every row counted once, nobody twice, whatever the file and wherever it was stopped."""

import csv
import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows import importing, people
from support.contacts import ACTOR, FILES, Desk, big
from support.stores import together

pytest_plugins = ["support.stores"]


@pytest.fixture
def desk(home, tmp_path) -> Desk:
    return Desk(home, tmp_path)


def figures(done) -> tuple[int, int, int, int]:
    counts = done.counts
    assert counts["rows_read"] == sum(counts[name] for name in ("added", "merged", "unchanged", "rejected"))
    return counts["added"], counts["merged"], counts["unchanged"], counts["rejected"]


def rejected(desk) -> list[list[str]]:
    with Path(desk.rejects.path).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def attributes(desk, identity: str) -> dict:
    return json.loads(desk.contacts()[identity]["attributes"])


# the files of the cases


def test_a_byte_order_mark_is_no_part_of_the_first_column(desk):
    assert figures(desk.bring(FILES["bom"])) == (2, 0, 0, 0)
    assert attributes(desk, "ann@example.com") == {"name": "Ann"}


def test_a_file_split_by_semicolons_keeps_the_commas_in_its_cells(desk):
    assert figures(desk.bring(FILES["semicolon"])) == (3, 0, 0, 0)
    assert attributes(desk, "jane@example.com") == {"name": "Doe, Jane", "city": "Bonn"}


def test_a_quoted_line_break_makes_no_row_of_its_own(desk):
    assert figures(desk.bring(FILES["quoted_newline"])) == (3, 0, 0, 0)
    assert attributes(desk, "bob@example.com")["note"] == 'first "line"\nsecond'
    assert attributes(desk, "zoe@example.com")["note"] == "last"


def test_bytes_that_are_not_utf_8_stop_the_import_until_somebody_says_what_they_are(desk):
    with pytest.raises(Refusal) as refused:
        desk.bring(FILES["cp1252"])
    assert refused.value.code == "encoding_unclear"
    assert refused.value.facts["line"] == 2
    assert "E9" in refused.value.what
    assert desk.contacts() == {}
    assert figures(desk.bring(FILES["cp1252"], encoding="cp1252")) == (4, 0, 0, 0)
    names = [attributes(desk, f"{who}@example.com")["name"] for who in ("ann", "bob", "zoe", "eve")]
    assert names == ["Stéphane", "Müller", "5 €", "Özgür"]


def test_the_same_address_in_other_cases_is_one_person_as_first_written(desk):
    done = desk.bring(FILES["case_dupes"])
    assert figures(done) == (1, 1, 2, 0)
    assert done.counts["repeated"] == 3
    assert done.people == 1
    assert desk.contacts()["ann@example.com"]["email"] == "Ann@Example.com"
    assert attributes(desk, "ann@example.com") == {"name": "Annie"}


def test_invisible_characters_are_taken_off_the_ends_and_refused_inside(desk):
    done = desk.bring(FILES["invisible"])
    assert figures(done) == (2, 0, 0, 3)
    assert done.counts["repaired"] == 2
    assert done.reasons == {"invisible": 1, "lookalike_at": 1, "mixed_scripts": 1}
    assert set(desk.contacts()) == {"ann@example.com", "bob@example.com"}
    told = {row[1]: (row[0], row[2]) for row in rejected(desk)}
    assert told["invisible"][0] == "4"
    assert "U+2060" in told["invisible"][1]
    assert "U+FF20" in told["lookalike_at"][1]
    assert "U+0430" in told["mixed_scripts"][1]


def test_padded_cells_are_trimmed_and_an_open_quote_costs_one_row(desk):
    done = desk.bring(FILES["padded"])
    assert figures(done) == (5, 0, 0, 1)
    assert done.reasons == {"open_quote": 1}
    assert attributes(desk, "zoe@example.com") == {"name": "Zoe", "city": "Berlin"}
    assert attributes(desk, "lou@example.com") == {"name": "Lou", "city": "Paris"}


def test_formulas_come_in_as_text_and_leave_the_rejects_as_text(desk):
    done = desk.bring(FILES["formula"])
    assert figures(done) == (1, 0, 0, 4)
    assert attributes(desk, "ann@example.com") == {"name": "=SUM(A1)"}
    assert [row[3:] for row in rejected(desk)] == [
        ["'=1+1", "'=1+1"],
        ["bad", "'+cmd"],
        ["bad", "'-2"],
        ["'@bad", "'@x"],
    ]


def test_a_provider_s_export_with_other_headers_and_tags_comes_in(desk):
    assert figures(desk.bring(FILES["export_mailchimp_like"])) == (3, 0, 0, 0)
    ann = desk.contacts()["ann@example.com"]
    assert ann["locale"] == "de"
    assert json.loads(ann["attributes"])["TAGS"] == '"News","VIP"'
    assert attributes(desk, "zoe@example.com") == {"OPTIN_TIME": "2024-05-03 10:00:00"}


def test_duplicates_all_over_a_long_file_are_one_person_each(desk):
    rows = 20_000
    done = desk.bring(big(rows), batch_rows=3_000)
    assert figures(done) == (rows - 10 - rows // 100, 0, rows // 100, 10)
    assert done.counts["repeated"] == rows // 100
    assert done.reasons == {"columns": 10}
    assert done.people == len(desk.contacts()) == rows - 10 - rows // 100
    assert {row[2] for row in rejected(desk)} == {
        "another number of columns than the header (40 instead of 3)"
    }


# the shape of files


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("people.tsv", b"email\tname\nann@example.com\tDoe, Ann\n"),
        ("people.csv", 'email,name\nann@example.com,"Doe, Ann"\n'.encode("utf-16")),
        ("people.ndjson", b'{"email": "ann@example.com", "name": "Doe, Ann"}\n'),
        ("people.csv", b"email|name\nann@example.com|Doe, Ann\n"),
    ],
)
def test_other_delimiters_encodings_and_lines_of_json_are_found_out(desk, name, data):
    assert figures(desk.bring(data, name=name)) == (1, 0, 0, 0)
    assert attributes(desk, "ann@example.com") == {"name": "Doe, Ann"}


def test_a_parquet_file_is_read_by_its_own_names(desk, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(
        {"email": ["ann@example.com", None, "bad"], "age": [41, 2, None], "tags": [None, ["x"], None]}
    )
    parquet.write_table(table, tmp_path / "people.parquet")
    done = desk.bring(str(tmp_path / "people.parquet"))
    assert figures(done) == (1, 0, 0, 2)
    assert done.reasons == {"nested": 1, "no_at": 1}
    assert attributes(desk, "ann@example.com") == {"age": "41"}


def test_a_file_without_a_header_takes_no_person_for_one(desk):
    assert figures(desk.bring(b"ann@example.com,Ann\nbob@example.com,Bob\n")) == (2, 0, 0, 0)
    assert attributes(desk, "bob@example.com") == {"column_2": "Bob"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "nothing_imported"),
        (b"\n\n", "nothing_imported"),
        (b"email,name\n", "nothing_imported"),
        (b"email,name\nbad,x\n", "nothing_imported"),
        (b"name,city\nAnn,Bern\n", "invalid_input"),
        (b"email,name,name\nann@example.com,a,b\n", "invalid_input"),
        (b'"email\nann@example.com\n', "invalid_input"),
        (b"a@example.com,b@example.com\nc@example.com,d@example.com\n", "invalid_input"),
    ],
)
def test_a_file_that_brings_nobody_is_an_error(desk, data, code):
    with pytest.raises(Refusal) as refused:
        desk.bring(data)
    assert refused.value.code == code
    assert desk.contacts() == {}


def test_columns_are_what_the_operator_says(desk):
    data = b"a,b,wo\nann@example.com,bob@example.com,Europe/Berlin\nzoe@example.com,x,Mars\n"
    done = desk.bring(data, email="a", zone="wo")
    assert figures(done) == (1, 0, 0, 1)
    assert done.reasons == {"bad_zone": 1}
    assert desk.contacts()["ann@example.com"]["zone"] == "Europe/Berlin"
    with pytest.raises(Refusal, match="no column of that name"):
        desk.bring(data, email="mail")


def test_what_no_column_may_hold_costs_its_row(desk):
    data = b"email,name\nann@example.com,a\x00b\nbob@example.com," + b"x" * 1_001 + b"\nzoe@example.com,ok\n"
    assert desk.bring(data).reasons == {"control": 1, "long_value": 1}
    assert set(desk.contacts()) == {"zoe@example.com"}


# coming again


def test_a_second_import_of_the_same_file_changes_nothing(desk):
    desk.bring(FILES["semicolon"])
    before = desk.contacts()
    assert figures(desk.bring(FILES["semicolon"])) == (0, 0, 3, 0)
    assert desk.contacts() == before


def test_later_rows_add_and_replace_and_empty_cells_take_nothing_away(desk):
    desk.bring(b"email,name,city,lang\nann@example.com,Ann,Bern,de\n")
    done = desk.bring(b"email,name,city,lang\nann@example.com,Anna,,\n")
    assert figures(done) == (0, 1, 0, 0)
    assert attributes(desk, "ann@example.com") == {"name": "Anna", "city": "Bern"}
    assert desk.contacts()["ann@example.com"]["locale"] == "de"


def test_one_person_may_be_in_two_audiences_and_has_the_same_lot_in_both(desk):
    desk.bring(FILES["bom"])
    desk.bring(FILES["bom"], "other")
    assert desk.contacts()["ann@example.com"]["lot"] == desk.contacts("other")["ann@example.com"]["lot"]
    listed = {row["slug"]: row["people"] for row in people.list_audiences(desk.wiring, actor=ACTOR)}
    assert listed == {"eu": 2, "other": 2}


def test_an_import_never_takes_anybody_off_the_suppressed(desk):
    people.suppress(desk.wiring, ["ANN@example.com"], reason=people.Suppressed.UNSUBSCRIBE, actor=ACTOR)
    done = desk.bring(FILES["bom"])
    assert done.suppressed == 1
    assert people.why(desk.wiring, "ann@example.com", actor=ACTOR).suppression["reason"] == "unsubscribe"


def test_bringing_people_in_needs_the_right_for_it(desk):
    desk.bring(FILES["bom"])
    with pytest.raises(Refusal) as refused:
        importing.make_audience(desk.wiring, "x", actor=Actor("cli:eve", frozenset({"read", "author"})))
    assert refused.value.code == "forbidden"


# stopped and gone on with


class Stop(Exception):
    """What ends an import in the middle."""


def stop_after(batches: int):
    seen = []

    def tell(progress, fraction):
        seen.append(progress.rows_read)
        if len(seen) == batches:
            raise Stop

    return tell


def test_a_stopped_import_goes_on_behind_the_last_batch_and_rejects_stand_once(desk):
    data = b"email,name\n" + b"".join(b"p%d@example.com,P\nbad%d,x\n" % (n, n) for n in range(50))
    with pytest.raises(Stop):
        desk.bring(data, batch_rows=7, tell=stop_after(3))
    assert len(desk.contacts()) == 11
    with Path(desk.rejects.path).open("a", encoding="utf-8") as file:
        file.write("of a batch that was never committed\n")
    done = desk.bring(data, batch_rows=7)
    assert done.resumed_at == 21
    assert figures(done) == (50, 0, 0, 50)
    assert [row[3] for row in rejected(desk)] == [f"bad{n}" for n in range(50)]
    (event,) = desk.home.rows("SELECT data FROM audit_events WHERE kind = 'contacts_imported'")
    assert json.loads(event["data"])["rows_read"] == 100


def test_another_file_or_another_reading_of_it_begins_at_its_first_row(desk):
    data = b"email,name\n" + b"".join(b"p%d@example.com,de\n" % n for n in range(20))
    with pytest.raises(Stop):
        desk.bring(data, batch_rows=5, tell=stop_after(1))
    assert desk.bring(data, batch_rows=5, locale="name").resumed_at == 0
    assert desk.bring(data + b"zoe@example.com,Z\n").resumed_at == 0
    assert desk.bring(data, "other").resumed_at == 0


def test_of_two_processes_with_one_file_the_second_stops_and_nobody_is_twice(desk):
    data = b"email,name\n" + b"".join(b"p%d@example.com,P\n" % n for n in range(30))
    inner = []

    def meanwhile(progress, fraction):
        if not inner:
            inner.append(None)
            inner[0] = desk.bring(data, batch_rows=5)

    with pytest.raises(Refusal) as refused:
        desk.bring(data, batch_rows=5, tell=meanwhile)
    assert refused.value.code == "import_in_progress"
    assert figures(inner[0]) == (30, 0, 0, 0)
    assert len(desk.contacts()) == 30


def test_the_rejects_of_two_processes_with_one_file_are_whole(desk):
    data = b"email,name\n" + b"".join(b"p%d@example.com,P\nbad%d,x\n" % (n, n) for n in range(30))
    inner = []

    def meanwhile(progress, fraction):
        if not inner:
            inner.append(None)
            inner[0] = desk.bring(data, batch_rows=7), desk.rejects

    with pytest.raises(Refusal):
        desk.bring(data, batch_rows=7, tell=meanwhile)
    done, desk.rejects = inner[0]
    assert figures(done) == (30, 0, 0, 30)
    assert [row[3] for row in rejected(desk)] == [f"bad{n}" for n in range(30)]


def test_the_rejects_are_for_their_owner_only(desk):
    desk.bring(FILES["invisible"])
    assert stat.S_IMODE(Path(desk.rejects.path).stat().st_mode) == 0o600


def test_a_file_without_rejects_leaves_none(desk):
    desk.bring(FILES["bom"])
    assert desk.rejects.path is None
    assert not list(Path(desk.folder).glob("*rejects*"))


def test_imports_of_overlapping_files_at_once_take_turns(desk, tmp_path):
    """Rows in opposite orders, which deadlocks where whoever comes first takes the row's lock."""
    numbers = list(range(600))
    importing.make_audience(desk.wiring, "eu", actor=ACTOR)
    paths = []
    for name, order in (("up", numbers), ("down", numbers[::-1]), ("mid", numbers[300:] + numbers[:300])):
        text = "email,name\n" + "".join(f"p{n}@example.com,{name}\n" for n in order)
        paths.append(desk.file(text.encode(), f"{name}.csv"))

    def work(number: int):
        return figures(Desk(desk.home, tmp_path).bring(paths[number], batch_rows=50))

    done = together(desk.home, 3, work)
    assert sum(added for added, *_ in done) == 600
    assert all(sum(counts) == 600 and counts[3] == 0 for counts in done)
    assert len(desk.contacts()) == 600
    assert people.list_audiences(desk.wiring, actor=ACTOR)[0]["people"] == 600


ROW = st.tuples(
    st.sampled_from(["ann", "Bob", "zoe", "b\u200bad", "", "x y"]),
    st.sampled_from(["@example.com", "", "@EXAMPLE.com "]),
    st.sampled_from(["", "Ann", '"q"', '"open', "a,b", "é", '5" x']),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=30), batch=st.integers(1, 9), noise=st.binary(max_size=10))
def test_of_any_file_every_row_is_counted_once(desk, rows, batch, noise):
    text = "email,name\n" + "".join(f"{a}{b},{c}\n" for a, b, c in rows)
    before = len(desk.contacts())
    try:
        done = desk.bring(text.encode() + noise, batch_rows=batch)
    except Refusal as refusal:
        known = {"encoding_unclear", "nothing_imported", "invalid_input"}
        assert refusal.code in known, refusal.code  # noqa: PT017  which refusal it is depends on the file
        return
    added, _, _, refused = figures(done)
    assert len(desk.contacts()) == before + added
    assert sum(done.reasons.values()) == refused
    if refused:
        assert len(rejected(desk)) == refused
