"""`--watch`: redrawn on a terminal, one line or one document for each change elsewhere, at a given interval."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from campaignbridge import open_bridge
from campaignbridge.cli import following, ramp_watching, status
from campaignbridge.cli.choices import CHOICES
from campaignbridge.ports import Mark
from cli.program import ACTOR, campaign
from cli.test_ramps import WHY, failed, init, ready, started, tripped, until  # noqa: F401  a fixture

PATIENCE_S = 30


class Paced:
    """A clock that somebody else turns: each wait is noted, and something happens in it."""

    def __init__(self, *happenings):
        self.now_ms, self.waits, self._happenings = 0, [], list(happenings)

    def mark(self):
        return Mark(self.now_ms, self.now_ms)

    def since_ms(self, mark):
        return self.now_ms - mark.boot_ms

    def wait_ms(self, ms):
        self.waits.append(ms)
        self.now_ms += ms
        if not self._happenings:
            raise KeyboardInterrupt
        self._happenings.pop(0)()


def nothing():
    pass


@pytest.fixture
def as_json():
    CHOICES.start(["--json"])
    CHOICES.json = True
    yield
    CHOICES.start([])


@pytest.fixture
def plain():
    CHOICES.start([])
    yield
    CHOICES.start([])


def look(program, clock, *, every_s=2.0, most_s=None):
    with open_bridge(str(program.database)) as bridge:
        return following.follow(
            status.sight(lambda: bridge.status(actor=ACTOR)), clock, every_s=every_s, most_s=most_s
        )


def documents(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("as_json")
def test_status_prints_one_document_for_each_change_and_none_while_nothing_changes(connected, capsys):
    clock = Paced(nothing, lambda: campaign(connected), nothing, lambda: campaign(connected, "approved"))
    with pytest.raises(KeyboardInterrupt):
        look(connected, clock)
    told = [one["campaigns"] for one in documents(capsys)]
    assert [one.get("draft", 0) for one in told] == [0, 1, 1]
    assert [one.get("approved", 0) for one in told] == [0, 0, 1]
    assert clock.waits == [2_000] * 5


@pytest.mark.usefixtures("plain")
def test_without_a_terminal_status_is_one_line_for_each_change(connected, capsys):
    with pytest.raises(KeyboardInterrupt):
        look(connected, Paced(nothing, lambda: campaign(connected), nothing), every_s=7)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("Campaigns: none")
    assert second.endswith("Campaigns: 1 draft")


@pytest.mark.usefixtures("as_json")
def test_it_ends_when_the_time_is_over_and_waits_no_longer_than_that(connected, capsys):
    clock = Paced(nothing, nothing, nothing)
    ended, _ = look(connected, clock, every_s=2, most_s=5)
    assert (ended, clock.waits) == (None, [2_000, 2_000, 1_000])
    assert len(documents(capsys)) == 1
    clock = Paced()
    assert look(connected, clock, most_s=0)[0] is None
    assert clock.waits == []


@pytest.mark.usefixtures("as_json")
def test_a_ramp_is_followed_through_its_steps_until_it_needs_a_person(ready, capsys):  # noqa: F811
    started(ready)
    clock = Paced(
        lambda: until(ready, "picked"), nothing, lambda: until(ready, "looked"), lambda: failed(ready)
    )
    with open_bridge(str(ready.database)) as bridge:
        sight = ramp_watching.sight(lambda: bridge.ramp_status("winter", actor=ACTOR))
        capsys.readouterr()
        ended, view = following.follow(sight, clock, every_s=3, most_s=None)
    assert ended == 5
    assert view.state == "needs_operator"
    assert clock.waits == [3_000] * 4
    states = [one["state"] for one in documents(capsys)]
    assert states[-1] == "needs_operator"
    assert 3 <= len(states) <= 4


def test_a_ramp_that_has_ended_or_needs_a_person_is_settled_at_once(ready):  # noqa: F811
    init(ready)
    busy = ready.run("ramps", "status", "winter", "--watch", "--for", "0")
    assert busy.code == 4
    assert "It is still running; a worker goes on with it." in busy.words
    tripped(ready)
    stopped = ready.run("ramps", "status", "winter", "--watch", "--json")
    assert (stopped.code, stopped.document["state"]) == (5, "gate_tripped")
    assert ready.run("ramps", "abort", "winter", "--reason", WHY, "--yes").code == 0
    over = ready.run("ramps", "status", "winter", "--watch")
    assert over.code == 0
    assert over.words.startswith("STOPPED FOR GOOD")


def test_a_paused_ramp_is_followed_on(ready):  # noqa: F811
    init(ready)
    assert ready.run("ramps", "pause", "winter", "--reason", WHY).code == 0
    assert ready.run("ramps", "status", "winter", "--watch", "--for", "0").code == 4


def test_watching_and_reading_at_the_provider_do_not_go_together(ready, server):  # noqa: F811
    init(ready)
    before = len(server.sandbox.truth.requests())
    done = ready.run("ramps", "status", "winter", "--watch", "--read", "--json")
    assert (done.code, done.document["code"]) == (2, "usage")
    assert len(server.sandbox.truth.requests()) == before


def test_a_check_is_made_of_what_was_seen_last(connected):
    assert connected.run("status", "--watch", "--for", "0", "--check").code == 0
    campaign_id = campaign(connected, "sending")
    with open_bridge(str(connected.database)) as bridge, bridge.wiring.store.unit() as unit:
        unit._tx._connection.execute("UPDATE campaigns SET flag = 'sent_zero' WHERE id = ?", (campaign_id,))
    assert connected.run("status", "--watch", "--for", "0").code == 0
    assert connected.run("status", "--watch", "--for", "0", "--check").code == 5


@pytest.mark.parametrize("every", ["0", "0.1", "3601", "often"])
def test_an_interval_has_bounds(connected, every):
    assert connected.run("status", "--watch", "--for", "0", "--every", every).code == 2


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, program, command):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x30\x00\x50\x00\x00\x00\x00\x00")
        self.text = ""
        self.process = subprocess.Popen(
            command,
            cwd=program.folder,
            env=program.environment(TERM="xterm"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  so that Ctrl-C becomes a signal
        )
        os.close(theirs)

    def until(self, words):
        """Read what is drawn until these words have stood there."""
        patience = time.monotonic() + PATIENCE_S
        while not re.search(words, self.text):
            assert time.monotonic() < patience, f"never came: {words!r} in {self.text!r}"
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.ours, 65_536).decode("utf-8", "replace")
                except OSError:
                    raise AssertionError(self.text) from None
        seen, self.text = self.text, ""
        return seen

    def rest(self):
        """Return exit code and what is drawn until the program ends."""
        try:
            while part := os.read(self.ours, 65_536):
                self.text += part.decode("utf-8", "replace")
        except OSError:
            pass
        os.close(self.ours)
        return self.process.wait(timeout=PATIENCE_S), self.text

    def press_ctrl_c(self):
        os.write(self.ours, b"\x03")


def test_on_a_terminal_status_is_drawn_again_over_itself_until_ctrl_c(connected):
    screen = Screen(connected, connected.command("status", "--watch", "--every", "0.2"))
    screen.until("Campaigns +none")
    campaign(connected)
    redrawn = screen.until("Campaigns +1 draft")
    assert "\x1b[1A" in redrawn, "it goes up to draw over what stands there"
    screen.press_ctrl_c()
    code, end = screen.rest()
    assert code == 130
    assert "Traceback" not in end
    assert "\x1b[?25h" in end, "the cursor is there again"


def test_on_a_terminal_a_ramp_is_drawn_until_it_needs_a_person(ready):  # noqa: F811
    init(ready)
    screen = Screen(ready, ready.command("ramps", "status", "winter", "--watch", "--every", "0.2"))
    screen.until("RUNNING")
    tripped(ready)
    code, end = screen.rest()
    assert code == 5
    assert "STOPPED BY THE GATE" in end


DRIVER = """
import sys
from campaignbridge import open_bridge
from campaignbridge.cli import following, status
from cli.program import ACTOR
from cli.test_watch import Paced, nothing

clock = Paced(*[nothing] * 3)
with open_bridge(sys.argv[1]) as bridge:
    try:
        following.follow(status.sight(lambda: bridge.status(actor=ACTOR)), clock, every_s=600, most_s=None)
    except KeyboardInterrupt:
        print("waited", clock.waits)
"""


def test_a_terminal_is_drawn_once_for_each_interval_of_the_clock_that_is_handed_in(connected):
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    connected.extra["PYTHONPATH"] = tests
    screen = Screen(connected, [sys.executable, "-c", DRIVER, str(connected.database)])
    code, drawn = screen.rest()
    assert code == 0, drawn
    assert drawn.count("Nothing needs a person.") == 4 + 1  # and once for good when it ends
    assert "waited [600000, 600000, 600000, 600000]" in drawn


def test_an_interrupted_watch_ends_with_a_document_that_says_so(connected):
    watching = connected.start("status", "--watch", "--every", "0.2", "--json", stdout=-1, stderr=-1)
    assert json.loads(watching.stdout.readline())["needs_person"] == 0
    watching.send_signal(signal.SIGINT)
    out, err = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 130
    assert json.loads(out.splitlines()[-1])["code"] == "interrupted"
    assert err == ""
