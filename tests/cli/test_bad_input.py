"""Bad input: one clear sentence with what to do next, the right exit code, nothing changed, nothing lost."""

import os
import socket
import sqlite3

import pytest

from campaignbridge.cli import main
from cli.program import KEY_ENV, campaign

BAD_FILES = {
    "missing.html": "no such file",
    "letter.html/inside": "not a directory",
    "folder": "a folder",
    "pipe": "a pipe",
    "/dev/zero": "a device",
    "binary.html": "NUL bytes",
    "latin.html": "not UTF-8",
    "huge.html": "more than 1,000,000 bytes",
    "empty.html": "is empty",
}


@pytest.fixture
def files(connected):
    folder = connected.folder
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "binary.html").write_bytes(b"\x89PNG\x00\x01")
    (folder / "latin.html").write_bytes("Grüße *|UNSUB|*".encode("latin-1"))
    (folder / "huge.html").write_bytes(b"x" * 1_000_001)
    (folder / "empty.html").write_bytes(b" \n")
    return connected


def refused(done, code, exit_code=3):
    """Check the shape of a refusal: a sentence, what to do, a command to paste as the last line."""
    assert done.code == exit_code
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[0].strip()
    assert lines[-1].strip().startswith(("campaignbridge ", "--"))
    return code


@pytest.mark.parametrize("content", BAD_FILES)
def test_a_content_file_that_cannot_be_used_is_refused_and_nothing_is_created(files, content):
    before = files.dump()
    done = files.run(*files.creating(content=content))
    refused(done, "invalid_input")
    assert BAD_FILES[content] in done.words
    assert files.dump() == before


@pytest.mark.parametrize("subject", ["two\nlines", "carriage\rreturn", "", "x" * 151])
def test_a_subject_that_could_not_be_sent_is_refused(connected, subject):
    before = connected.dump()
    done = connected.run(*connected.creating(subject=subject))
    refused(done, "invalid_input")
    assert "subject" in done.words
    assert connected.dump() == before


def test_a_subject_with_a_nul_is_refused(connected, monkeypatch, capsys):
    monkeypatch.chdir(connected.folder)
    before = connected.dump()
    assert main([*connected.creating(subject="a\x00b"), "--json"]) == 3
    assert '"code": "invalid_input"' in capsys.readouterr().out
    assert connected.dump() == before


def test_emoji_of_four_bytes_are_kept(connected):
    created = connected.run(*connected.creating(subject="👩🏽‍🌾 ready"), "--json").document
    assert (
        connected.run("campaigns", "show", created["campaign"], "--json").document["subject"]
        == "👩🏽‍🌾 ready"
    )


def test_an_audience_that_the_provider_does_not_know_is_refused(connected):
    campaign_id = campaign(connected, audience="zzz999")
    before = connected.dump()
    done = connected.run("campaigns", "submit", campaign_id)
    refused(done, "validation_failed")
    assert "knows no audience zzz999" in done.words
    assert connected.dump() == before


def test_content_without_a_way_to_unsubscribe_is_refused(connected):
    campaign_id = campaign(connected, content="<p>Hello</p>")
    before = connected.dump()
    done = connected.run("campaigns", "submit", campaign_id)
    refused(done, "validation_failed")
    assert "no way to unsubscribe" in done.words
    assert connected.dump() == before


def test_a_version_that_is_not_the_present_one_is_refused_with_the_present_one(connected):
    campaign_id = campaign(connected)
    before = connected.dump()
    done = connected.run("campaigns", "submit", campaign_id, "--expected-version", "7", "--json")
    assert done.code == 3
    assert (done.document["code"], done.document["version"]) == ("conflict", 1)
    assert connected.dump() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("campaigns", "show", "cmp_nope"),
        ("campaigns", "submit", "cmp_nope"),
        ("campaigns", "timeline", "cmp_nope"),
        ("campaigns", "reconcile", "cmp_nope"),
        ("campaigns", "send", "cmp_nope", "--confirm-recipients", "1", "--confirm-audience", "x"),
        ("connections", "verify", "nope"),
        ("jobs", "show", "job_nope"),
        ("jobs", "requeue", "job_nope"),
        ("locks", "release", "campaign:nope", "--reason", "none"),
    ],
    ids=" ".join,
)
def test_an_unknown_id_is_not_found_and_says_where_to_look(connected, arguments):
    before = connected.dump()
    refused(connected.run(*arguments), "not_found")
    assert connected.dump() == before


def test_a_connection_without_its_key_is_refused(connected):
    before = connected.dump()
    adding = ("connections", "add", "more", "--provider", "mailchimp", "--key-env", "NOWHERE_SET")
    done = connected.run(*adding)
    refused(done, "invalid_input")
    assert "NOWHERE_SET" in done.words
    assert connected.dump() == before


def test_a_provider_that_is_not_there_adds_nothing(connected):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/3.0"
    before = connected.dump()
    adding = (
        "connections",
        "add",
        "more",
        "--provider",
        "mailchimp",
        "--key-env",
        KEY_ENV,
        "--base-url",
        url,
    )
    done = connected.run(*adding)
    refused(done, "provider_failed", 6)
    assert "could not be reached" in done.words
    assert connected.dump() == before


def test_a_key_that_the_provider_refuses_adds_nothing(connected, server):
    before = connected.dump()
    adding = ("connections", "add", "more", "--provider", "mailchimp", "--key-env", "WRONG")
    done = connected.run(*adding, "--base-url", server.url, WRONG="0" * 32 + "-us1")
    refused(done, "provider_failed", 6)
    assert "0" * 32 not in done.words
    assert connected.dump() == before


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(program):
    program.database.write_bytes(b"this is a shopping list, not a database. " * 200)
    before = program.database.read_bytes()
    refused(program.run("campaigns", "list"), "store_unusable")
    assert program.database.read_bytes() == before


def test_a_store_of_a_newer_program_is_refused(connected):
    store = sqlite3.connect(connected.database)
    with store:
        store.execute("INSERT INTO schema_migrations VALUES (99, 'future', 'x', 99, 0)")
    store.close()
    before = connected.dump()
    done = connected.run("campaigns", "list", "--json")
    assert done.code == 3
    assert done.document["code"] == "store_unusable"
    assert connected.dump() == before


def test_a_store_that_another_process_keeps_locked_is_busy_for_a_change_and_still_read(connected):
    store = sqlite3.connect(connected.database, isolation_level=None)
    store.execute("BEGIN IMMEDIATE")
    try:
        read = connected.run("campaigns", "list", "--json")
        changed = connected.run("tick", "--json")
    finally:
        store.execute("ROLLBACK")
        store.close()
    assert read.code == 0
    assert changed.code == 4
    assert changed.document["code"] == "persistence_failed"


@pytest.mark.parametrize("place", ["nowhere/campaigns.db", ".", "postgresql://nobody@127.0.0.1:1/nothing"])
def test_a_store_that_is_gone_is_told_as_try_later(program, place):
    done = program.run("campaigns", "list", "--database", place)
    refused(done, "persistence_failed", 4)
    assert list(program.folder.iterdir()) == []


def test_a_database_of_another_kind_is_refused(program):
    refused(program.run("campaigns", "list", "--database", "mysql://localhost/x"), "invalid_input")


def test_a_confirmed_number_that_is_wrong_sends_nothing(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    done = connected.run(
        "campaigns", "send", campaign_id, "--confirm-recipients", "24138", "--confirm-audience", "a1b2c3"
    )
    assert done.code == 3
    assert "24,138 is not the number of recipients (24,318). Nothing was sent." in done.words
    assert server.sandbox.truth.sends_accepted() == 0


def test_a_send_without_confirmation_prints_the_command_with_what_is_true_now(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    done = connected.run("campaigns", "send", campaign_id)
    assert done.code == 2
    assert "Can't ask here (no terminal)." in done.err
    assert done.err.splitlines()[-1].strip() == "--confirm-recipients 24318 --confirm-audience a1b2c3"
    assert "Customers EU (a1b2c3)" in done.err
    assert server.sandbox.truth.sends_accepted() == 0
