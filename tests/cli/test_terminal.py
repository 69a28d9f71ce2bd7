"""What a person sees: plain text, safe text, and a question only where it can be answered."""

import fcntl
import os
import pty
import re
import select
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from campaignbridge.cli import failure, main, moments, terminal
from cli.program import PEOPLE, campaign

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def converse(program, arguments, typed, *, awaited="Ctrl-C to stop:", **more):
    """Run the program on a terminal, type when it asks, return exit code and what the screen got."""
    ours, theirs = pty.openpty()
    environment = program.environment(TERM="xterm", **more)
    process = subprocess.Popen(
        program.command(*arguments),
        cwd=program.folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  so that Ctrl-C becomes a signal
    )
    os.close(theirs)
    screen, until = "", time.monotonic() + 30
    while time.monotonic() < until:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                screen += os.read(ours, 65_536).decode("utf-8", "replace")
            except OSError:
                break
        if typed is not None and awaited in screen:
            os.write(ours, typed.encode())
            typed = None
    os.close(ours)
    return process.wait(timeout=10), screen


def test_typing_the_number_of_recipients_sends(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    code, screen = converse(connected, ("campaigns", "send", campaign_id), "24,318\n")
    assert code == 0
    for words in (
        "Send now. This cannot be undone.",
        "Customers EU (a1b2c3)",
        "What is new",
        "accepted the send",
    ):
        assert words in screen
    assert server.sandbox.truth.sends_accepted() == 1


@pytest.mark.parametrize(
    ("typed", "code"), [("24138\n", 3), ("yes\n", 3), ("\n", 130), ("\x03", 130), ("\x04", 130)]
)
def test_typing_anything_else_sends_nothing(connected, server, typed, code):
    campaign_id = campaign(connected, "provider_draft")
    ended, screen = converse(connected, ("campaigns", "send", campaign_id), typed)
    assert ended == code
    assert "Traceback" not in screen
    assert server.sandbox.truth.sends_accepted() == 0


@pytest.mark.parametrize("more", [{"CI": "true"}, {"CAMPAIGNBRIDGE_NO_INPUT": "1"}])
def test_nothing_is_asked_where_nobody_would_answer(connected, more):
    campaign_id = campaign(connected, "provider_draft")
    code, screen = converse(connected, ("campaigns", "send", campaign_id), None, **more)
    assert code == 2
    assert f"--confirm-recipients {PEOPLE}" in screen


@pytest.mark.parametrize(
    ("more", "flags", "coloured"),
    [({}, (), True), ({"NO_COLOR": "1"}, (), False), ({}, ("--no-color",), False)],
)
def test_colour_is_left_out_when_it_is_not_wanted(connected, more, flags, coloured):
    _, screen = converse(connected, ("connections", "verify", "news", *flags), None, **more)
    assert "opens Sandbox account" in screen
    assert bool(COLOUR.search(screen)) is coloured


def test_text_from_outside_cannot_steer_the_terminal(connected):
    campaign_id = campaign(connected, name="Left \u202eright", subject="Before \x9b31m after")
    shown = connected.run("campaigns", "show", campaign_id).out
    assert "\u202e" not in shown
    assert "\x9b" not in shown
    assert terminal.clean("a\x1b[2Jb\x07\r\nc") == "a[2Jbc"


def test_nothing_is_wider_than_eighty_columns_but_what_cannot_be_broken(connected):
    campaign_id = campaign(connected, "provider_draft")
    for arguments in (
        ("show", campaign_id),
        ("timeline", campaign_id),
        ("list",),
        ("preflight", campaign_id),
    ):
        shown = connected.run("campaigns", *arguments).out
        assert all(len(line) <= 80 for line in shown.splitlines() if "sha256:" not in line), shown


def test_times_have_their_date_only_on_another_day():
    day = 24 * 3_600_000
    now = 20_000 * day + day // 2
    assert len(moments.clock_time(now - 1000, now)) == len("14:02:36")
    assert moments.clock_time(now - 2 * day, now).split()[1].isalpha()
    assert [moments.age(ms) for ms in (3000, 300_000, 23 * 3_600_000, 3 * day)] == [
        "3 s",
        "5 min",
        "23 h",
        "3 days",
    ]


def test_a_bug_is_one_line_and_a_private_report_without_secrets(connected, monkeypatch, capsys):
    key = "0123456789abcdef0123456789abcdef-us1"

    def broken(*_args, **_more):
        raise RuntimeError(f"{key} somebody@example.com")

    monkeypatch.setattr("campaignbridge.open_bridge", broken)
    assert main(["campaigns", "list"]) == 1
    told = capsys.readouterr().err
    assert "Traceback" not in told
    place = Path(re.search(r"(\S+campaignbridge-report-\S+\.txt)", told)[1])
    report = place.read_text("utf-8")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.unlink()
    assert "RuntimeError" in report
    assert key not in report
    assert "somebody@example.com" not in report
    assert failure.masked(f"{key} a@b.example postgresql://u:pass@host/x") == (
        "(secret) (address) postgresql(secret)host/x"
    )


def test_debug_shows_the_traceback_of_a_bug(connected, monkeypatch, capsys):
    monkeypatch.setattr("campaignbridge.open_bridge", lambda *_args: 1 / 0)
    assert main(["campaigns", "list", "--debug"]) == 1
    told = capsys.readouterr().err
    assert "ZeroDivisionError" in told
    Path(re.search(r"(\S+campaignbridge-report-\S+\.txt)", told)[1]).unlink()


def test_help_loads_neither_a_database_nor_a_provider(program):
    look = (
        "import sys; from campaignbridge.cli import main; main(['--help']); "
        "print(sorted({'psycopg', 'httpcore2', 'rich', 'sqlite3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
