"""`doctor` looks at everything, goes on after a failure and changes nothing; `init` begins and overwrites nothing."""

import json
import os
import pty
import sqlite3
import stat
import subprocess
import threading
import time

import psycopg
import pytest

from campaignbridge import open_bridge
from campaignbridge.cli import doctor as cli
from campaignbridge.cli.pages import PAGES
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.flows import checkup, doctor
from campaignbridge.flows.checkup import Check, Finding, Subject
from campaignbridge.host import HostClock
from campaignbridge.sandbox import Fault
from cli.nursery import nursery
from cli.program import KEY_ENV, campaign

OTHER_KEY = "feedbead" * 4 + "-us1"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def change(program, text, *params):
    with sqlite3.connect(program.database) as connection:
        connection.create_function("now_ms", 0, lambda: time.time_ns() // 1_000_000)
        connection.execute(text, params)
    connection.close()


def looked(program, *flags, **more):
    """Run it; return its exit code and its findings by id."""
    done = program.run("doctor", "--json", *flags, **more)
    document = done.document
    assert set(document) == {"ok", "checks"}
    for check in document["checks"]:
        assert set(check) == {"id", "status", "summary", "effect", "fix", "help"}
        assert check["status"] in ("ok", "warn", "fail", "skipped")
        assert not check["help"] or check["help"] in PAGES
    assert document["ok"] == (done.code != 5 or "--strict" in flags)
    return done.code, {check["id"]: check for check in document["checks"]}


def statuses(checks):
    return {name: check["status"] for name, check in checks.items()}


ALL = [
    "settings_file", "secrets", "reachable", "schema", "disk", "integrity", "clock", "installation", "last_tick",
    "stuck_jobs", "dead_jobs", "notices", "connection:news", "needs_you", "unresolved",
]  # fmt: skip


# doctor


def test_a_healthy_installation_is_ok_and_its_checks_stand_in_a_fixed_order(connected):
    code, checks = looked(connected)
    assert (code, list(checks)) == (0, ALL)
    assert set(statuses(checks).values()) == {"ok"}


def test_for_people_it_reads_as_groups_of_lines_and_a_sum(connected):
    done = connected.run("doctor", NO_COLOR="1")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0].startswith("campaignbridge ")
    assert lines[0].endswith("   sqlite:campaigns.db")
    assert [line for line in lines[1:-1] if line and line[0] != " "] == [
        "Settings", "Store", "Work", "Providers", "Campaigns",
    ]  # fmt: skip
    assert "  ok    news          Mailchimp, key accepted" in lines
    assert lines[-1] == "0 failed, 15 ok"
    assert all(len(line) <= 80 for line in lines)


def test_it_changes_nothing(connected):
    campaign(connected, "sending")
    before = connected.dump()
    for flags in ((), ("--offline",), ("--strict",), ("--json",)):
        connected.run("doctor", *flags)
    assert connected.dump() == before


def test_it_makes_no_store_where_there_is_none(program):
    code, checks = looked(program)
    assert code == 5
    assert statuses(checks)["reachable"] == "fail"
    assert checks["reachable"]["fix"] == "campaignbridge init"
    assert checks["schema"]["summary"] == "skipped: needs the store"
    assert statuses(checks)["disk"] == "ok"
    assert list(program.folder.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be read as one"])
def test_a_file_that_is_no_store_is_left_as_it_is(program, content):
    program.database.write_bytes(content)
    code, checks = looked(program)
    assert (code, statuses(checks)["reachable"]) == (5, "fail")
    assert program.database.read_bytes() == content


def test_a_store_without_its_write_ahead_log_is_not_switched_by_looking(connected):
    change(connected, "PRAGMA journal_mode = DELETE")
    before = connected.database.read_bytes()
    code, checks = looked(connected)
    assert (code, statuses(checks)["reachable"], statuses(checks)["schema"]) == (0, "skipped", "skipped")
    assert connected.database.read_bytes() == before
    assert connected.run("db", "current").code == 0
    assert statuses(looked(connected)[1])["reachable"] == "ok"


def test_damaged_pages_are_found(connected):
    with open_bridge(str(connected.database)):
        pass
    change(connected, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(connected.database.read_bytes())
    data[4096 * 8 : 4096 * 9] = b"\x55" * 4096
    connected.database.write_bytes(bytes(data))
    code, checks = looked(connected, "--offline")
    assert (code, statuses(checks)["integrity"]) == (5, "fail")


def test_an_older_schema_fails_and_what_needs_it_is_skipped(connected):
    connected.run("db", "downgrade", "--to", "0", "--yes")
    code, checks = looked(connected)
    assert (code, statuses(checks)["schema"], statuses(checks)["integrity"]) == (5, "fail", "ok")
    assert checks["last_tick"]["summary"] == "skipped: needs the schema"
    assert checks["schema"]["fix"] == "campaignbridge db upgrade"


def test_settings_that_cannot_be_read_fail_and_the_rest_is_skipped(connected):
    (connected.folder / "campaignbridge.toml").write_text("databse = 'x'\n")
    code, checks = looked(connected)
    assert (code, statuses(checks)["settings_file"]) == (5, "fail")
    assert "database" in checks["settings_file"]["summary"]
    assert set(statuses(checks).values()) == {"fail", "skipped"}


def test_a_secret_file_that_others_read_fails(connected):
    ring = connected.folder / "ring"
    ring.write_text("k:" + "A" * 43 + "=")
    ring.chmod(0o644)
    code, checks = looked(connected, CAMPAIGNBRIDGE_SECRET_FILE=str(ring))
    assert (code, statuses(checks)["secrets"], statuses(checks)["schema"]) == (5, "fail", "ok")


def test_work_that_nobody_does_fails(connected):
    campaign(connected, "sending")
    late = time.time_ns() // 1_000_000 - 6 * HOUR_MS
    change(connected, "UPDATE jobs SET run_at = ?", late)
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"]) == (5, "fail")
    assert checks["last_tick"]["summary"].startswith("none yet, should be under 5 min; 1 job is overdue")
    assert connected.run("tick").code == 0
    assert statuses(looked(connected)[1])["last_tick"] == "ok"
    change(connected, "UPDATE workers SET ticked_at = ?, claimed_at = ?", late, late)
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"]) == (5, "fail")
    assert checks["last_tick"]["summary"] == "6 h 0 min ago, should be under 5 min"
    assert checks["last_tick"]["effect"] == "Nothing is being sent, checked or watched."
    assert (checks["last_tick"]["fix"], checks["last_tick"]["help"]) == ("campaignbridge worker", "no_tick")


def test_overdue_work_is_told_apart_by_whether_anybody_asks_for_it(connected):
    campaign(connected, "sending")
    assert connected.run("tick").code == 0
    late = time.time_ns() // 1_000_000 - 12 * MINUTE_MS
    change(connected, "UPDATE jobs SET run_at = ?", late)
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"], checks["last_tick"]["help"]) == (0, "warn", "work_late")
    assert "1 job is overdue, the oldest for 12 min" in checks["last_tick"]["summary"]
    change(connected, "UPDATE workers SET claimed_at = ?", late)
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"], checks["last_tick"]["help"]) == (5, "fail", "work_stalled")


def test_stuck_and_dead_jobs_are_warned_of(connected):
    campaign(connected, "sending")
    change(connected, "UPDATE jobs SET state = 'claimed', lease_until = now_ms() - 240000")
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"], statuses(checks)["stuck_jobs"]) == (0, "ok", "warn")
    change(connected, "UPDATE jobs SET lease_until = now_ms() - 720000")
    code, checks = looked(connected)
    assert (code, statuses(checks)["last_tick"], statuses(checks)["stuck_jobs"]) == (5, "fail", "warn")
    assert checks["stuck_jobs"]["summary"] == "1 job, the longest for 12 min"
    change(connected, "UPDATE jobs SET state = 'dead', last_error = 'abandoned', lease_until = NULL")
    change(connected, "UPDATE jobs SET finished_at = now_ms() - 7200000")
    _, checks = looked(connected)
    assert checks["dead_jobs"]["summary"] == "1 job (abandoned 1), the newest 2 h 0 min ago"


def test_warnings_end_with_five_only_when_they_are_to_count(connected):
    campaign_id = campaign(connected)
    change(connected, "UPDATE campaigns SET flag = 'sent_zero'")
    code, checks = looked(connected)
    assert (code, statuses(checks)["needs_you"]) == (0, "warn")
    assert campaign_id in checks["needs_you"]["summary"]
    assert checks["needs_you"]["fix"] == "campaignbridge status"
    assert looked(connected, "--strict")[0] == 5


def test_an_unresolved_request_is_told_by_its_age(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    server.sandbox.faults.add(Fault("send", "accept_then_drop"))
    flags = ("--confirm-recipients", "24318", "--confirm-audience", "a1b2c3")
    assert connected.run("campaigns", "send", campaign_id, *flags).code == 5
    assert statuses(looked(connected)[1])["unresolved"] == "ok"
    change(connected, "UPDATE attempts SET created_at = now_ms() - 7200000 WHERE status = 'unknown'")
    code, checks = looked(connected)
    assert (code, statuses(checks)["unresolved"]) == (0, "warn")
    assert "1 over an hour, 0 over a day" in checks["unresolved"]["summary"]


def test_each_connection_costs_one_read_and_none_offline(connected, server):
    def reads():
        return [seen.operation for seen in server.sandbox.truth.requests()]

    before = reads()
    looked(connected)
    assert reads()[len(before) :] == ["account"]
    _, checks = looked(connected, "--offline")
    assert checks["connection:news"]["summary"] == "skipped: --offline"
    assert len(reads()) == len(before) + 1


def test_a_refused_key_fails_and_says_what_waits(connected):
    campaign(connected, "sending")
    connected.extra[KEY_ENV] = OTHER_KEY
    code, checks = looked(connected)
    found = checks["connection:news"]
    assert (code, found["status"], found["help"]) == (5, "fail", "credential_refused")
    assert found["effect"] == "1 campaign waits. None was lost."
    assert found["fix"].startswith("campaignbridge connections replace-key con_")


@pytest.mark.parametrize("fault", ["status_429", "accept_then_drop", "refuse_5xx"])
def test_a_provider_that_gives_no_answer_is_a_warning(connected, server, fault):
    server.sandbox.faults.add(Fault("account", fault))
    assert statuses(looked(connected)[1])["connection:news"] == "warn"


def test_a_provider_that_is_not_there_fails(connected, server):
    server.stop()
    code, checks = looked(connected)
    assert (code, checks["connection:news"]["help"]) == (5, "provider_failed")


def test_a_variable_that_is_not_set_fails(connected):
    del connected.extra[KEY_ENV]
    code, checks = looked(connected, **{KEY_ENV: ""})
    assert (code, checks["connection:news"]["help"]) == (5, "connection_unusable")


@pytest.mark.parametrize("fault", ["slow", "broken"])
def test_a_check_that_hangs_or_breaks_does_not_keep_the_others_from_being_told(fault, monkeypatch):
    hold = threading.Event()

    def look(_subject):
        if fault == "broken":
            raise ZeroDivisionError("canary-text")
        hold.wait(20)

    fine = [Check(name, "Store", name, "", lambda _subject: Finding("ok", "")) for name in checkup.GATES]
    odd = Check("odd", "Store", "odd", "", look)
    last = Check("last", "Campaigns", "last", "", lambda _subject: Finding("ok", ""))
    monkeypatch.setattr(doctor, "checks_for", lambda _settings: [*fine, odd, last])
    monkeypatch.setattr(doctor, "connection_checks", lambda _subject, offline: [])
    monkeypatch.setattr(cli, "LIMIT_S", 0.2)
    subject = Subject(InvalidInput("no settings"), HostClock())
    found = {check.id: finding for check, finding in cli._examine(subject, offline=True)}
    hold.set()
    words = {"slow": "no answer within 0.2 s", "broken": "this check broke: ZeroDivisionError"}
    assert found["odd"].summary == words[fault]
    assert found["last"].status == "ok"


@pytest.mark.postgres
def test_on_postgresql_the_standby_and_the_clock_are_looked_at(connected, postgres_url):
    assert looked(connected, CAMPAIGNBRIDGE_DATABASE=postgres_url)[1]["schema"]["status"] == "fail"
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass('installation')").fetchone() == (None,)
    with open_bridge(postgres_url):
        pass
    _, checks = looked(connected, CAMPAIGNBRIDGE_DATABASE=postgres_url)
    assert statuses(checks)["standby"] == "warn"
    assert statuses(checks)["clock"] == "ok"
    assert checks["disk"]["status"] == "skipped"
    assert "integrity" not in checks
    assert "fail" not in statuses(checks).values()


@pytest.mark.postgres
def test_a_database_that_is_gone_fails_without_its_password(program):
    done = program.run("doctor", CAMPAIGNBRIDGE_DATABASE="postgresql://me:hush@127.0.0.1:9/nothing")
    assert done.code == 5
    assert "hush" not in done.words
    assert "postgresql:nothing at 127.0.0.1" in done.words


# init


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_init_makes_settings_a_private_ring_and_a_store_that_doctor_finds_well(program):
    made = program.run("init", "--json").document
    ring = (program.folder / "campaignbridge.secret").read_text()
    assert (made["settings"], made["secret_file"]) == ("campaignbridge.toml", "campaignbridge.secret")
    assert mode(program.folder / "campaignbridge.secret") == 0o600
    assert f"{made['key_id']}:" in ring
    assert ring.strip().rpartition(":")[2] not in json.dumps(made)
    code, checks = looked(program)
    assert (code, checks["settings_file"]["summary"]) == (0, "campaignbridge.toml, 5 keys, none unknown")
    assert checks["secrets"]["summary"].startswith("1 key in the ring")


def test_two_inits_make_two_rings(program, tmp_path_factory):
    rings = []
    for _ in range(2):
        program.folder = tmp_path_factory.mktemp("init")
        assert program.run("init").code == 0
        rings.append((program.folder / "campaignbridge.secret").read_text())
    assert rings[0] != rings[1]


@pytest.mark.parametrize("name", ["campaignbridge.toml", "campaignbridge.secret"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_init_overwrites_nothing_and_then_makes_nothing(program, name, kind):
    there = program.folder / name
    there.write_text("mine") if kind == "file" else there.symlink_to("nowhere")
    done = program.run("init", "--json")
    assert (done.code, done.document["code"]) == (3, "invalid_state")
    assert [path.name for path in program.folder.iterdir()] == [name]
    assert there.is_symlink() or there.read_text() == "mine"


def test_init_that_cannot_write_its_settings_leaves_no_ring_behind(program):
    done = program.run("init", CAMPAIGNBRIDGE_SETTINGS="absent/folder.toml")
    assert done.code == 3
    assert not (program.folder / "campaignbridge.secret").exists()


def test_init_writes_places_that_hold_from_another_folder(program):
    (program.folder / "etc").mkdir()
    where = {"CAMPAIGNBRIDGE_SETTINGS": "etc/cb.toml"}
    assert program.run("init", "--secret-file", "etc/ring", **where).code == 0
    text = (program.folder / "etc" / "cb.toml").read_text()
    assert 'database = "../campaigns.db"' in text
    assert 'secret_file = "ring"' in text
    assert looked(program, **where)[0] == 0


def test_an_unknown_setting_is_one_clear_error_for_every_command(program):
    (program.folder / "campaignbridge.toml").write_text("alow_hosts = []\n")
    done = program.run("campaigns", "list")
    assert done.code == 3
    assert "allow_hosts" in done.err
    assert not program.database.exists()


# keys on the command line


@pytest.fixture
def begun(program, server):
    """A folder with what init makes, and a letter."""
    program.letter()
    assert program.run("init").code == 0
    (program.folder / "key").write_text(server.sandbox.key + "\n")
    return program


def adding(server, *more):
    return ["connections", "add", "news", "--provider", "mailchimp", "--base-url", server.url, *more]


def test_a_key_comes_from_a_file_or_stdin_and_is_never_printed(begun, server):
    done = begun.run(*adding(server, "--key-file", "key", "--json"))
    assert (done.code, done.document["key_env"]) == (0, None)
    (begun.folder / "second").write_text(server.sandbox.key)
    replaced = subprocess.run(
        begun.command("connections", "replace-key", "news", "--key-stdin", "--json", "--debug"),
        cwd=begun.folder, env=begun.environment(), input=server.sandbox.key, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert replaced.returncode == 0, replaced.stderr
    listed = begun.run("connections", "list")
    assert "in the store" in listed.out
    shown = done.out + replaced.stdout + replaced.stderr + listed.words + "".join(begun.dump())
    assert server.sandbox.key not in shown
    assert server.sandbox.key[:32] not in shown
    assert server.sandbox.key.encode() not in begun.database.read_bytes()


def test_without_a_terminal_the_key_is_not_asked_for(begun, server):
    done = begun.run(*adding(server))
    assert (done.code, done.out) == (2, "")
    assert "--key-file FILE" in done.words


def test_a_flag_wins_over_the_environment_and_two_flags_are_one_too_many(begun, server):
    done = begun.run(*adding(server, "--key-file", "key", "--json"), CAMPAIGNBRIDGE_KEY_ENV="ABSENT")
    assert done.document["key_id"]
    done = begun.run("connections", "replace-key", "news", "--key-file", "key", "--key-env", "X")
    assert done.code == 2


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff\xfe", b"k" * 5000, b"a\nb"])
def test_a_key_file_that_holds_no_key_is_refused_without_its_text(begun, server, content):
    (begun.folder / "bad").write_bytes(content) if content is not None else None
    done = begun.run(*adding(server, "--key-file", "bad"))
    assert done.code == 3
    assert "two words" not in done.words
    assert "kkkk" not in done.words


def test_on_a_terminal_the_key_is_asked_for_and_not_echoed(begun, server):
    mine, theirs = pty.openpty()
    running = subprocess.Popen(
        begun.command(*adding(server)), cwd=begun.folder, env=begun.environment(), stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(mine, 1000)
    os.write(mine, server.sandbox.key.encode() + b"\n")
    try:
        while part := os.read(mine, 1000):
            shown += part
    except OSError:
        pass  # the terminal is closed
    assert running.wait(timeout=30) == 0, shown
    assert server.sandbox.key.encode() not in shown
    os.close(mine)


def test_a_disconnected_connection_is_listed_as_that(begun, server):
    begun.run(*adding(server, "--key-file", "key"))
    done = begun.run("connections", "disconnect", "news", "--json")
    assert done.document["disconnected_at"]
    assert "disconnected" in begun.run("connections", "list").out
    assert looked(begun)[1]["connection:news"]["summary"] == "disconnected"


def test_a_key_sealed_under_an_older_key_of_the_ring_is_named_until_it_is_verified(begun, server):
    begun.run(*adding(server, "--key-file", "key"))
    ring = begun.folder / "campaignbridge.secret"
    ring.write_text("newer:" + "A" * 43 + "=\n" + ring.read_text())
    _, checks = looked(begun)
    assert (checks["secrets"]["summary"], statuses(checks)["connection:news"]) == (
        "2 keys in the ring, newer seals", "warn",
    )  # fmt: skip
    assert begun.run("connections", "verify", "news", "--json").document["key_id"] == "newer"
    assert statuses(looked(begun)[1])["connection:news"] == "ok"


def test_canaries_are_in_no_output_and_no_report_of_a_bug(begun, server, tmp_path):
    begun.run(*adding(server, "--key-file", "key"))
    key = server.sandbox.key
    ring = (begun.folder / "campaignbridge.secret").read_text().strip().rpartition(":")[2]
    sender, tester = "canary.sender@acme.example", "canary.tester@acme.example"
    created = begun.run(*begun.creating(from_email=sender), "--json").document["campaign"]
    change(begun, "UPDATE audit_events SET data = 'no JSON'")  # a bug, for whoever asks for the timeline
    commands = [
        ["campaigns", "show", created], ["campaigns", "timeline", created], ["campaigns", "list"],
        ["campaigns", "test", created, "--to", tester], ["connections", "list"], ["connections", "verify", "news"],
        ["connections", "verify", key], ["connections", "add", key, "--provider", "mailchimp", "--key-env", "X"],
        ["connections", "replace-key", "news", "--key-env", key], ["doctor"], ["tick"], ["jobs", "list"],
        ["connections", "disconnect", "news"],
    ]  # fmt: skip
    shown = ""
    for command in commands:
        for flags in (["--json"], ["-v", "--debug"]):
            where = begun.environment(TMPDIR=str(tmp_path))
            shown += "".join(nursery().run([*command, *flags], str(begun.folder), where)[1:])
    reports = [path.read_text() for path in tmp_path.glob("campaignbridge-report-*")]
    shown += "".join(reports)
    assert "Traceback" in shown
    assert reports
    files = b"".join(path.read_bytes() for path in begun.folder.glob("campaigns.db*"))
    for canary in (key, key[:32], ring, tester):
        assert canary not in shown
        assert canary.encode() not in files
    assert sender not in shown
