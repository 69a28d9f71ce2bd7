"""Reading rows: one broken row never takes others with it, and no bytes make it crash."""

import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaignbridge.domain.columns import mapping_of
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.importing import RowReader
from campaignbridge.flows.rejects import neutral
from campaignbridge.flows.rows import MAX_LINE, json_records, records
from campaignbridge.flows.tables import Choices, look_at


def read(text: str, delimiter: str = ",") -> list:
    return [tuple(record) for record in records(io.StringIO(text, newline=""), delimiter)]


def test_a_quoted_line_break_belongs_to_its_row_and_the_count_is_of_rows():
    found = read('a,b\r\n1,"x\r\ny"\r\n2,z')
    assert found == [(1, ["a", "b"], "", ""), (2, ["1", "x\r\ny"], "", ""), (4, ["2", "z"], "", "")]


def test_no_carriage_return_stays_in_the_last_column():
    assert [cells for _, cells, _, _ in read("a,b\r\nc,d\re,f\n")] == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_a_quote_that_is_never_closed_costs_its_own_row_only():
    found = read('a,b\nx,"open\ny,fine\nz,"closed"\n')
    assert [(line, problem) for line, _, problem, _ in found] == [
        (1, ""),
        (2, "open_quote"),
        (3, ""),
        (4, ""),
    ]
    assert found[3][1] == ["z", "closed"]


def test_a_quote_in_the_middle_of_a_plain_cell_is_a_letter():
    assert read('x,5" pipe\ny,2\n')[0][1] == ["x", '5" pipe']


def test_a_row_longer_than_any_row_is_given_up_and_the_next_one_is_read():
    found = read("a" * (3 * MAX_LINE) + "\nb,c\n")
    assert [(line, problem) for line, _, problem, _ in found] == [(1, "long_row"), (2, "")]


def test_what_is_no_flat_json_object_is_told_by_line():
    text = '{"email":"a@example.com","n":1,"t":true}\n[1]\n\n{"email":{"x":1}}\nnonsense\n' + "[" * 50_000
    found = list(json_records(io.StringIO(text), ("email", "n", "t")))
    assert [(one.line, one.problem) for one in found] == [
        (1, ""),
        (2, "not_json"),
        (4, "nested"),
        (5, "not_json"),
        (6, "not_json"),
    ]
    assert found[0].cells == ["a@example.com", "1", "true"]


@given(st.text(alphabet='ab@.",;\n\r \t\x00é', max_size=200))
def test_any_text_is_read_as_rows_with_rising_lines(text):
    found = read(text)
    lines = [line for line, *_ in found]
    assert lines == sorted(set(lines))
    assert len(found) <= text.count("\n") + text.count("\r") + 1
    reader = RowReader(mapping_of(("email", "name"), []))
    batch = reader.read(list(records(io.StringIO(text, newline=""), ",")))
    assert len(batch.candidates) + len(batch.rejected) == len(found)


def table_of(data: bytes, folder: str):
    """Return the table, or the code of the refusal."""
    path = Path(folder) / "people.csv"
    path.write_bytes(data)
    try:
        return look_at(str(path), Choices())
    except Refusal as refusal:
        return refusal.code


@settings(max_examples=150)
@given(st.binary(max_size=300) | st.text(alphabet='ab@.example,com";\n', max_size=200).map(str.encode))
def test_any_bytes_are_a_table_or_a_refusal_that_is_known(data):
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(data, folder)
        if isinstance(table, str):
            assert table in {"invalid_input", "encoding_unclear", "nothing_imported"}
            return
        with table.rows() as rows:
            found = rows.batch(1_000)
        batch = RowReader(table.mapping).read(found)
        assert len(batch.candidates) + len(batch.rejected) == len(found)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_no_cell_of_the_rejects_is_run_by_a_spreadsheet(cell):
    assert neutral(cell).startswith("'")
    assert neutral("a=1") == "a=1"
