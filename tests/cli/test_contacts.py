"""Our own people on the command line: what is shown, what is asked, and that nobody is named where they must not be."""

import json
import signal
import stat

import pytest

from support.contacts import FILES

CANARY = "canary.person@example.com"


def put(program, data, name="people.csv"):
    (program.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return name


def bring(program, data, *flags, name="people.csv"):
    return program.run("audiences", "import", put(program, data, name), "--audience", "eu", *flags)


def test_the_preview_shows_what_was_found_before_anything_is_imported(program):
    done = bring(program, FILES["semicolon"])
    assert done.code == 2
    assert "utf-8, columns split by semicolon" in done.words
    assert "email address" in done.words
    assert "name attribute" in done.words
    assert "Doe, Jane" in done.words
    assert "--yes" in done.words
    assert program.run("audiences", "list").words.startswith("No contacts yet.")


def test_a_yes_imports_and_tells_what_became_of_every_row(program):
    done = bring(program, FILES["invisible"], "--yes")
    assert done.code == 0
    assert "2 people came in. eu has 2." in done.words
    assert "3 rows were not taken." in done.words
    assert "The other 2 are in." in done.words
    rejects = program.folder / "people.rejects-1.csv"
    assert str(rejects.name) in done.words
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600


def test_merged_people_are_told(program):
    assert "3 rows named people who were there already" in bring(program, FILES["case_dupes"], "--yes").words


def test_progress_is_a_line_for_every_tenth_where_nothing_can_move(program):
    rows = "email\n" + "".join(f"p{n}@example.com\n" for n in range(45_000))
    done = bring(program, rows, "--yes")
    assert "100 % 45,000 rows, 0 not taken" in done.words


def test_as_json_it_is_one_document_of_figures(program):
    done = bring(program, FILES["padded"], "--yes", "--json").document
    assert (done["rows_read"], done["added"], done["rejected"]) == (6, 5, 1)
    assert done["columns"][0] == {"name": "email", "becomes": "address"}
    listed = program.run("audiences", "list", "--json").document["audiences"]
    assert (listed[0]["slug"], listed[0]["people"], listed[0]["suppressed"]) == ("eu", 5, 0)


@pytest.mark.parametrize(
    ("data", "code", "exits"),
    [
        (FILES["cp1252"], "encoding_unclear", 3),
        (b"email\nbad\n", "nothing_imported", 3),
        (b"", "nothing_imported", 3),
        (b"a,b\n1,2\n", "invalid_input", 3),
    ],
)
def test_a_file_that_can_t_be_taken_is_refused_by_code(program, data, code, exits):
    done = bring(program, data, "--yes", "--json")
    assert (done.document["code"], done.code) == (code, exits)
    assert program.run("help", code).code == 0


@pytest.mark.parametrize(
    "flags", [("--audience", "Not A Slug"), ("--audience", "eu", "--encoding", "klingon")]
)
def test_flags_that_can_t_be_used_are_refused_in_a_sentence(program, flags):
    assert program.run("audiences", "import", put(program, FILES["bom"]), *flags, "--yes").code == 3


@pytest.mark.parametrize("place", ["nowhere.csv", "."])
def test_what_is_no_file_is_refused_in_a_sentence(program, place):
    assert program.run("audiences", "import", place, "--audience", "eu", "--yes").code == 3


def test_one_that_is_interrupted_says_how_much_is_in_and_the_same_command_goes_on(program):
    rows = "email\n" + "".join(f"p{n}@example.com\n" for n in range(300_000))
    put(program, rows)
    import subprocess

    process = program.start(
        "audiences",
        "import",
        "people.csv",
        "--audience",
        "eu",
        "--yes",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    told = ""
    while "%" not in told:
        told = process.stderr.readline()
        assert told, "it ended early"
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "rows are in." in rest
    assert "Run the same command to go on." in rest
    listed = program.run("audiences", "list", "--json").document["audiences"][0]
    assert 0 < listed["people"] < 300_000
    assert listed["finished_at"] is None
    assert "stopped" in program.run("audiences", "list").words


def test_somebody_is_suppressed_by_a_file_and_why_tells_it(program):
    bring(program, f"email,name\n{CANARY},Canary\n", "--yes")
    put(program, f"Email;Reason\n{CANARY};x\nbad;y\n", "out.csv")
    done = program.run("audiences", "suppress", "out.csv", "--reason", "unsubscribe")
    assert "1 person was suppressed." in done.words
    assert "1 rows are no addresses." in done.words
    told = program.run("why", CANARY)
    assert "no: unsubscribe since" in told.words
    assert "eu, since" in told.words
    known = program.run("why", CANARY, "--json").document
    assert known["suppressed"]["reason"] == "unsubscribe"
    assert program.run("audiences", "unsuppress", CANARY, "--reason", "unsubscribe", "--yes").code == 0
    assert "yes, where" in program.run("why", CANARY).words


def test_an_erased_person_is_told_as_such_and_no_longer_named(program):
    bring(program, f"email,name\n{CANARY},Canary\nann@example.com,Ann\n", "--yes")
    exported = program.run("audiences", "export", CANARY, "--json").document
    assert exported["contacts"][0]["attributes"] == {"name": "Canary"}
    assert program.run("audiences", "erase", CANARY).code == 2
    assert program.run("audiences", "erase", CANARY, "--yes").code == 0
    assert "never: erased" in program.run("why", CANARY).words
    assert program.run("audiences", "export", "nobody@example.com").code == 3
    assert "canary" not in "".join(program.dump()).lower()


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", CANARY + "@"),
        ("why", "canary person"),
        ("audiences", "export", CANARY),
        ("audiences", "erase", CANARY + "@", "--yes"),
        ("audiences", "suppress", CANARY + "@"),
        ("audiences", "suppress", CANARY, "--reason", CANARY),
        ("audiences", "unsuppress", CANARY, "--reason", "dislike"),
        ("audiences", "import", CANARY, "--audience", "eu"),
        ("audiences", "suppress", CANARY, CANARY),
    ],
)
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_refusal_repeats_an_address_that_was_typed(program, arguments, as_json):
    done = program.run(*arguments, *as_json)
    assert done.code in {2, 3}
    assert "canary.person" not in done.out + done.err


def test_a_person_in_a_file_stands_in_no_document_and_in_no_event(program):
    rows = f"email,name\n{CANARY},Canary\ncanary..person@example.com,Canary\n"
    for done in (
        bring(program, rows, "--yes", "--json"),
        bring(program, rows, "--json"),
        program.run("audiences", "list", "--json"),
        program.run("audiences", "suppress", CANARY, "--json"),
        program.run("why", CANARY, "--json"),
        program.run("audiences", "erase", CANARY, "--yes", "--json"),
    ):
        assert "canary" not in json.dumps(done.document).lower()
    assert not [line for line in program.dump() if "audit_events" in line and "canary" in line.lower()]
