"""`db backup`, `db restore`, `db adopt` and `db check`, as people and scripts use them."""

import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from campaignbridge import open_bridge
from cli.program import AUDIENCE, PEOPLE, Program, campaign
from cli.test_terminal import converse

COPY = "This is a copy of another installation. It is paused and sends nothing."
REASON = ("--reason", "the old machine burnt down")


def rows(path, text):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(text).fetchall()


def installation(path):
    return rows(path, "SELECT id FROM installation")[0][0]


@pytest.fixture
def elsewhere(connected, tmp_path_factory):
    """Return the program in another folder, with a copy of the store in it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    other = Program(folder, dict(connected.extra))
    other.letter()

    def copied():
        assert connected.run("db", "backup", str(folder / "saved.db")).code == 0
        (folder / "saved.db").rename(other.database)
        return other

    return copied


def send(program, campaign_id, *more):
    facts = ("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE)
    return program.run("campaigns", "send", campaign_id, *facts, *more)


# backup


def test_a_backup_says_what_is_in_it(connected):
    campaign(connected)
    done = connected.run("db", "backup", "saved.db", "--json")
    assert done.code == 0
    saved = connected.folder / "saved.db"
    assert done.document == {
        "file": "saved.db",
        "bytes": saved.stat().st_size,
        "schema": rows(saved, "SELECT max(version) FROM schema_migrations")[0][0],
        "campaigns": 1,
        "installation": installation(connected.database),
    }
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_a_backup_overwrites_nothing_without_force(connected):
    (connected.folder / "saved.db").write_text("mine")
    done = connected.run("db", "backup", "saved.db", "--json")
    assert (done.code, done.document["code"]) == (3, "invalid_state")
    assert (connected.folder / "saved.db").read_text() == "mine"
    assert connected.run("db", "backup", "saved.db", "--force").code == 0


def test_a_backup_has_no_key_in_the_clear(connected):
    (connected.folder / "ring").touch(0o600)
    connected.run("db", "backup", "saved.db")
    key = next(iter(connected.extra.values())).encode()
    assert key not in (connected.folder / "saved.db").read_bytes()


# a copy


def test_a_copy_says_so_at_every_command_and_refuses_to_send(connected, elsewhere, server):
    campaign_id = campaign(connected, "provider_draft")
    other = elsewhere()
    asked = len(server.sandbox.truth.requests())
    listed = other.run("campaigns", "list", NO_COLOR="1")
    assert (listed.code, campaign_id in listed.out) == (0, True)
    assert COPY in " ".join(listed.err.split())
    asked_json = other.run("campaigns", "list", "--json")
    assert asked_json.document, "stderr stays empty with --json"
    for arguments in (("tick",), ("worker",), ("campaigns", "draft", campaign_id)):
        done = other.run(*arguments, "--json")
        assert (done.code, done.document["code"]) == (5, "copy_paused"), arguments
        assert done.document["detail"] == COPY
        assert done.document["safe_to_repeat"] is True
    assert send(other, campaign_id).code == 5
    assert len(server.sandbox.truth.requests()) == asked
    assert send(connected, campaign_id).code == 0
    assert connected.run("tick").code == 0


def test_doctor_fails_on_a_copy_and_names_the_way_out(connected, elsewhere):
    other = elsewhere()
    other.run("db", "current")
    done = other.run("doctor", "--offline", "--json")
    (found,) = [one for one in done.document["checks"] if one["id"] == "installation"]
    assert (done.code, found["status"], found["help"]) == (5, "fail", "copy_paused")
    assert found["fix"] == 'campaignbridge db adopt --reason "..."'
    page = other.run("help", "copy_paused").words
    assert "db adopt" in page
    assert "CAMPAIGNBRIDGE_MACHINE_ID" in page


def test_adopting_asks_for_the_installations_id_and_then_the_copy_sends(connected, elsewhere, server):
    campaign_id = campaign(connected, "provider_draft")
    other = elsewhere()
    name = installation(other.database)
    asked = other.run("db", "adopt", *REASON, "--json")
    assert (asked.code, asked.document["code"]) == (2, "confirmation_required")
    assert asked.document["installation"] == name
    assert asked.document["command"].endswith(f"--confirm-installation {name}")
    wrong = other.run("db", "adopt", *REASON, "--confirm-installation", "another1", "--json")
    assert (wrong.code, wrong.document["code"]) == (3, "validation_failed")
    short = other.run("db", "adopt", "--reason", "because", "--confirm-installation", name, "--json")
    assert (short.code, short.document["code"]) == (3, "invalid_input")
    done = other.run("db", "adopt", *REASON, "--confirm-installation", name, "--json")
    assert (done.code, done.document) == (0, {"installation": name, "paused": False, "looked_at": 0})
    again = other.run("db", "adopt", *REASON, "--confirm-installation", name, "--json")
    assert (again.code, again.document["code"]) == (3, "invalid_state")
    assert send(other, campaign_id).code == 0
    server.sandbox.settle()
    assert server.sandbox.truth.sends_accepted() == 1


def test_on_a_terminal_the_installations_id_is_typed_and_anything_else_changes_nothing(connected, elsewhere):
    other = elsewhere()
    name = installation(other.database)
    for typed, code in (("another1\n", 3), ("y\n", 3), ("\n", 130), (f"{name}\n", 0)):
        assert rows(other.database, "SELECT paused_since IS NULL FROM installation") == [(0,)]
        ended, screen = converse(other, ("db", "adopt", *REASON), typed)
        assert ended == code, screen
        assert str(connected.database) in screen, "where it lived"
    assert rows(other.database, "SELECT paused_since FROM installation") == [(None,)]


def test_a_machine_with_a_name_of_its_own_keeps_it_across_containers(connected):
    named = {"CAMPAIGNBRIDGE_MACHINE_ID": "news"}
    fresh = Program(connected.folder, {"CAMPAIGNBRIDGE_DATABASE": "container.db"})
    assert fresh.run("tick", **named).code == 0
    assert fresh.run("tick", **named).code == 0
    assert fresh.run("tick").code == 5


# restore


def test_restoring_keeps_the_old_store_and_starts_paused(connected):
    campaign(connected)
    connected.run("db", "backup", "saved.db")
    campaign(connected)
    asked = connected.run("db", "restore", "saved.db", "--json")
    assert (asked.code, asked.document["code"]) == (2, "confirmation_required")
    done = connected.run("db", "restore", "saved.db", "--yes", "--json")
    assert (done.code, done.document["paused"], done.document["campaigns"]) == (0, True, 1)
    kept = Path(done.document["kept"])
    assert kept.name.startswith("campaigns.db.before-restore-2")
    assert rows(kept, "SELECT count(*) FROM campaigns") == [(2,)]
    assert connected.run("tick").code == 5
    assert connected.run("db", "check").code == 0
    assert connected.run("doctor", "--offline").code == 5


def test_a_store_is_not_replaced_under_a_worker_and_can_be_copied_under_it(connected):
    campaign(connected, "sending")
    worker = connected.start("worker", stderr=subprocess.PIPE)
    try:
        assert worker.stderr.readline().startswith("Working")
        assert connected.run("db", "backup", "saved.db").code == 0
        done = connected.run("db", "restore", "saved.db", "--yes", "--json")
        assert (done.code, done.document["code"]) == (4, "locked")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
    assert rows(connected.folder / "saved.db", "PRAGMA integrity_check") == [("ok",)]
    assert connected.run("db", "restore", "saved.db", "--yes").code == 0


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_postgresql_store_is_sent_to_postgresqls_own_tools(program, command):
    done = program.run(
        "db", command, "saved.db", "--database", "postgresql://nobody@127.0.0.1:1/none", "--json"
    )
    assert (done.code, done.document["code"]) == (3, "invalid_state")
    assert "pg_dump" in done.document["detail"]
    assert "backup-and-restore" in done.document["todo"]


# check


def test_check_looks_through_the_whole_store(connected):
    campaign(connected)
    done = connected.run("db", "check", "--json")
    assert (done.code, done.document["ok"], done.document["counts"]["campaigns"]) == (0, True, 1)


def test_check_tells_what_is_wrong(connected):
    with open_bridge(str(connected.database)):
        pass
    with closing(sqlite3.connect(connected.database)) as connection, connection:
        connection.execute("DELETE FROM installation")
    done = connected.run("db", "check", "--json")
    assert (done.code, done.document["code"]) == (3, "store_unusable")
    assert done.document["problems"] == ["The installation has no name."]
