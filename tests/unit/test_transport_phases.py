"""The phase in which an exchange broke off: told by what was written and read, whatever the exception says."""

import httpcore2
import pytest

from campaignbridge.domain.provider import Ambiguous, Category, Refused
from campaignbridge.providers.transport import Answer, Line, Transport
from contract.clocks import HandClock, OwnClock
from contract.faultserver import FaultServer, answering, http, silent


class Stream(httpcore2.NetworkStream):
    """A socket that takes `takes` writes and then gives the reads; an exception in either list is raised."""

    def __init__(self, takes, reads):
        self.takes, self.reads = list(takes), list(reads)

    def write(self, buffer, timeout=None):
        self._next(self.takes)

    def read(self, max_bytes, timeout=None):
        return self._next(self.reads)

    def close(self):
        pass

    def _next(self, steps):
        step = steps.pop(0) if steps else b""
        if isinstance(step, Exception):
            raise step
        return step


class Backend(httpcore2.NetworkBackend):
    def __init__(self, stream):
        self.stream = stream

    def connect_tcp(self, *_, **__):
        return self.stream


def exchange(takes=(), reads=()):
    line = Transport("http://127.0.0.1", HandClock(), Backend(Stream(takes, reads))).dial(limit_ms=1000)
    assert isinstance(line, Line)
    return line.exchange("POST", "/a", json_body={"a": 1}, limit_ms=1000)


HALF = http(200, b"hello")[:-2]
TEXTS = ["", "connect timeout", "Zeitüberschreitung beim Senden"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("takes", "reads", "phase"),
    [
        ([httpcore2.WriteError], [], "sending"),
        ([httpcore2.WriteTimeout], [], "sending"),
        ([None, httpcore2.WriteError], [], "sending"),
        ([None, httpcore2.WriteTimeout], [], "sending"),
        ([None, ZeroDivisionError], [], "sending"),
        ([None, httpcore2.WriteError], [HALF, httpcore2.ReadTimeout], "sending"),
        ([], [httpcore2.ReadTimeout], "waiting"),
        ([], [httpcore2.ReadError], "waiting"),
        ([], [httpcore2.WriteError], "waiting"),
        ([], [ZeroDivisionError], "waiting"),
        ([], [b""], "waiting"),
        ([], [b"H", httpcore2.ReadTimeout], "reading"),
        ([], [HALF, httpcore2.ReadError], "reading"),
        ([], [HALF, b""], "reading"),
        ([], [b"220 smtp\r\n\r\n"], "reading"),
    ],
)
def test_the_phase_follows_from_what_was_written_and_read(text, takes, reads, phase):
    def made(steps):
        return [step(text) if isinstance(step, type) else step for step in steps]

    outcome = exchange(made(takes), made(reads))
    assert isinstance(outcome, Ambiguous)
    assert outcome.phase == phase
    assert outcome.bytes_out > 0


def test_a_whole_answer_to_half_a_request_broke_while_sending():
    outcome = exchange([None, httpcore2.WriteError()], [http(200)])
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status, outcome.phase) == ("reset", 200, "sending")


def test_an_answer_that_came_whole_is_in_no_phase():
    assert isinstance(exchange([], [http(503)]), Answer)


def test_an_oversized_answer_broke_while_reading():
    with FaultServer(answering(http(200, b"x" * 3000))) as server:
        outcome = Transport(server.url, OwnClock(), max_answer_bytes=99).ask("GET", "/", limit_ms=15_000)
    assert (outcome.reason, outcome.phase) == ("oversized", "reading")


def test_a_silent_peer_broke_while_waiting():
    with FaultServer(silent) as server:
        outcome = Transport(server.url, OwnClock()).ask("GET", "/", limit_ms=200)
    assert (outcome.reason, outcome.phase) == ("timeout", "waiting")


def test_a_peer_that_takes_nothing_broke_while_sending():
    with FaultServer(lambda peer: peer.wait_for_end(), receive_bytes=4096) as server:
        body = {"html": "x" * 8_000_000}
        outcome = Transport(server.url, OwnClock()).ask("POST", "/", json_body=body, limit_ms=500)
    assert (outcome.reason, outcome.phase) == ("timeout", "sending")


def test_a_connection_that_never_opened_is_refused_and_never_an_ambiguous_connecting():
    class Dead(httpcore2.NetworkBackend):
        def connect_tcp(self, *_, **__):
            raise httpcore2.ConnectTimeout

    outcome = Transport("http://127.0.0.1", HandClock(), Dead()).ask("POST", "/", limit_ms=1000)
    assert outcome == Refused("connect_timeout", Category.UNREACHABLE)
