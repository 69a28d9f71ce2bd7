"""The transport against a real loopback server that misbehaves, and against a scripted socket."""

import logging
import socket
import ssl
import struct
import subprocess
import threading
import traceback

import httpcore2
import pytest

from campaignbridge.domain.provider import Ambiguous, Category, Refused
from campaignbridge.providers.transport import Answer, Line, Transport
from contract.clocks import HandClock, OwnClock
from contract.faultserver import PATIENCE_S, FaultServer, answering, http, silent

SECRET = "0123456789abcdef0123456789abcdef-us19"
LONG_MS = 15_000


def transport_to(server, **options):
    return Transport(server.url, OwnClock(), **options)


def post(server, *, limit_ms=LONG_MS, body=None, **options):
    line = transport_to(server, **options).dial(limit_ms=LONG_MS)
    assert isinstance(line, Line)
    return line.exchange("POST", "/campaigns", json_body=body or {"title": "x"}, limit_ms=limit_ms)


class ScriptedStream(httpcore2.NetworkStream):
    """A socket whose every operation is written down beforehand and takes `cost_ms`."""

    def __init__(self, clock, *, reads=(), cost_ms=0, fail_write_at=None, error=httpcore2.WriteError):
        self.clock, self.reads, self.cost_ms = clock, list(reads), cost_ms
        self.fail_write_at, self.error = fail_write_at, error
        self.writes = []
        self.timeouts = []
        self.closed = 0

    def read(self, max_bytes, timeout=None):
        self._pass(timeout)
        step = self.reads.pop(0) if self.reads else b""
        if isinstance(step, Exception):
            raise step
        return step

    def write(self, buffer, timeout=None):
        self._pass(timeout)
        if self.fail_write_at is not None and len(self.writes) >= self.fail_write_at:
            raise self.error
        self.writes.append(buffer)

    def close(self):
        self.closed += 1

    def _pass(self, timeout):
        self.timeouts.append(timeout)
        self.clock.now_ms += self.cost_ms


class ScriptedBackend(httpcore2.NetworkBackend):
    def __init__(self, outcome, on_connect=lambda: None):
        self.outcome, self.on_connect = outcome, on_connect
        self.asked = []

    def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        self.asked.append((host, port, timeout, list(socket_options or [])))
        self.on_connect()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def scripted(clock=None, **options):
    clock = clock or HandClock()
    stream = ScriptedStream(clock, **options)
    line = Transport("http://127.0.0.1/3.0", clock, ScriptedBackend(stream)).dial(limit_ms=1000)
    assert isinstance(line, Line)
    return line, stream


# --- no connection ---------------------------------------------------------------------------------------


def test_a_refused_connection_is_refused_as_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    line = Transport(f"http://127.0.0.1:{port}", OwnClock()).dial(limit_ms=LONG_MS)
    assert line == Refused("connect_refused", Category.UNREACHABLE)
    assert line.retryable


def test_an_unknown_host_is_refused_as_dns():
    host = "no-such-host.invalid"
    transport = Transport(f"https://{host}", OwnClock(), allow_hosts=frozenset({host}))
    assert transport.dial(limit_ms=LONG_MS) == Refused("dns", Category.UNREACHABLE)


def test_a_host_name_that_no_resolver_can_encode_is_refused_as_dns():
    host = "a" * 64 + ".invalid"
    transport = Transport(f"https://{host}", OwnClock(), allow_hosts=frozenset({host}))
    assert transport.dial(limit_ms=LONG_MS) == Refused("dns", Category.UNREACHABLE)


@pytest.mark.parametrize(
    ("error", "cause", "code"),
    [
        (
            httpcore2.ConnectError("Verbindung verweigert"),
            ConnectionRefusedError(111, "x"),
            "connect_refused",
        ),
        (httpcore2.ConnectError("接続が拒否されました"), socket.gaierror(-2, "x"), "dns"),
        (httpcore2.ConnectError("dns timeout tls refused"), OSError(113, "x"), "connect_failed"),
        (httpcore2.ConnectError("connection refused"), ssl.SSLError(1, "x"), "tls"),
        (httpcore2.ConnectTimeout("refused"), TimeoutError(), "connect_timeout"),
        (httpcore2.ConnectError("never mind"), None, "connect_failed"),
    ],
)
def test_a_failed_dial_is_named_by_exception_type_whatever_the_text_says(error, cause, code):
    error.__cause__ = cause
    transport = Transport("http://127.0.0.1", HandClock(), ScriptedBackend(error))
    assert transport.dial(limit_ms=1000) == Refused(code, Category.UNREACHABLE)


def test_a_dial_that_took_the_whole_limit_is_refused_and_its_socket_closed():
    clock = HandClock()
    stream = ScriptedStream(clock)

    def slow():
        clock.now_ms += 1000

    line = Transport("http://127.0.0.1", clock, ScriptedBackend(stream, slow)).dial(limit_ms=1000)
    assert line == Refused("connect_timeout", Category.UNREACHABLE)
    assert stream.closed == 1


def test_a_dial_without_time_contacts_nobody():
    backend = ScriptedBackend(ScriptedStream(HandClock()))
    line = Transport("http://127.0.0.1", HandClock(), backend).dial(limit_ms=0)
    assert line == Refused("connect_timeout", Category.UNREACHABLE)
    assert backend.asked == []


def test_a_plain_answer_to_a_tls_handshake_is_refused_as_tls():
    with FaultServer(lambda peer: peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
        transport = Transport(server.url.replace("http:", "https:"), OwnClock())
        assert transport.dial(limit_ms=LONG_MS) == Refused("tls", Category.UNREACHABLE)


def test_a_reset_during_the_tls_handshake_is_refused_as_tls():
    def behave(peer):
        peer.sock.recv(1)
        peer.reset()

    with FaultServer(behave) as server:
        transport = Transport(server.url.replace("http:", "https:"), OwnClock())
        assert transport.dial(limit_ms=LONG_MS) == Refused("tls", Category.UNREACHABLE)


def test_a_silent_tls_handshake_ends_at_the_limit():
    with FaultServer(lambda peer: peer.wait_for_end()) as server:
        transport = Transport(server.url.replace("http:", "https:"), OwnClock())
        assert transport.dial(limit_ms=200) == Refused("connect_timeout", Category.UNREACHABLE)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # by ssl itself, which drops its own socket
def test_a_peer_that_reset_before_the_tls_handshake_is_refused_as_tls():
    connected, gone = threading.Event(), threading.Event()

    def behave(peer):
        assert connected.wait(PATIENCE_S)
        peer.reset()
        gone.set()

    class LateBackend(httpcore2.SyncBackend):
        def connect_tcp(self, *arguments, **options):
            stream = super().connect_tcp(*arguments, **options)
            connected.set()
            assert gone.wait(PATIENCE_S)
            return stream

    with FaultServer(behave) as server:
        transport = Transport(server.url.replace("http:", "https:"), OwnClock(), LateBackend())
        assert transport.dial(limit_ms=LONG_MS) == Refused("tls", Category.UNREACHABLE)


def test_a_tls_stream_whose_handshake_was_skipped_is_refused_as_tls():
    never_connected = socket.socket()
    skipped = ssl.create_default_context().wrap_socket(never_connected, server_hostname="localhost")
    stream = ScriptedStream(HandClock())
    stream.start_tls = lambda *_: stream
    stream.get_extra_info = {"socket": skipped}.get
    transport = Transport("https://localhost", HandClock(), ScriptedBackend(stream))
    assert transport.dial(limit_ms=1000) == Refused("tls", Category.UNREACHABLE)
    assert stream.closed == 1
    skipped.close()


# --- TLS with a certificate ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    try:
        subprocess.run(
            [
                *command.split(),
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                "key.pem",
                "-out",
                "crt.pem",
            ],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl program to make a certificate with")
    return folder / "crt.pem", folder / "key.pem"


@pytest.fixture
def tls_server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with FaultServer(answering(http(200, {"id": "a"})), context=context) as server:
        yield server


def test_an_unknown_certificate_is_refused_as_tls_before_any_request(tls_server):
    transport = Transport(f"https://localhost:{tls_server.port}", OwnClock())
    assert transport.dial(limit_ms=LONG_MS) == Refused("tls", Category.UNREACHABLE)
    assert tls_server.requests == []


def test_a_certificate_for_another_name_is_refused_as_tls(tls_server, certificate):
    context = ssl.create_default_context(cafile=certificate[0])
    transport = Transport(f"https://127.0.0.1:{tls_server.port}", OwnClock(), ssl_context=context)
    assert transport.dial(limit_ms=LONG_MS) == Refused("tls", Category.UNREACHABLE)


def test_a_trusted_certificate_carries_an_exchange_and_the_socket_still_resets_on_close(
    tls_server, certificate
):
    context = ssl.create_default_context(cafile=certificate[0])
    line = Transport(f"https://localhost:{tls_server.port}", OwnClock(), ssl_context=context).dial(
        limit_ms=LONG_MS
    )
    assert linger_of(line) == (1, 0)
    answer = line.exchange("GET", "/", limit_ms=LONG_MS)
    assert (answer.status, answer.body) == (200, b'{"id": "a"}')


def test_tls_settings_that_verify_nothing_are_not_accepted():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="verify the certificate"):
        Transport("https://localhost", OwnClock(), ssl_context=context)


def test_only_http_1_1_is_offered_in_the_tls_handshake(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    transport = Transport("https://localhost", OwnClock())
    transport._ssl_context.load_verify_locations(certificate[0])
    spoken = []
    with FaultServer(
        lambda peer: spoken.append(peer.sock.selected_alpn_protocol()), context=context
    ) as server:
        address = transport._address
        transport._address = type(address)(True, "localhost", server.port, "")
        line = transport.dial(limit_ms=LONG_MS)
        line.close()
    assert spoken == ["http/1.1"]


# --- a line ----------------------------------------------------------------------------------------------


def linger_of(line):
    sock = line._wire.get_extra_info("socket")
    return struct.unpack("ii", sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))


def test_a_line_is_set_to_reset_on_close_and_to_send_at_once():
    with FaultServer(silent) as server:
        line = transport_to(server).dial(limit_ms=LONG_MS)
        sock = line._wire.get_extra_info("socket")
        assert linger_of(line) == (1, 0)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        line.close()


def test_the_options_are_handed_over_with_the_connect():
    backend = ScriptedBackend(ScriptedStream(HandClock()))
    Transport("http://127.0.0.1:81", HandClock(), backend).dial(limit_ms=1500)
    [(host, port, timeout, options)] = backend.asked
    assert (host, port, timeout) == ("127.0.0.1", 81, 1.5)
    assert (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)) in options


def test_closing_an_unused_line_resets_it():
    seen = []
    heard = threading.Event()

    def listen(peer):
        try:
            seen.append(peer.sock.recv(1))
        except ConnectionResetError:
            seen.append("reset")
        heard.set()

    with FaultServer(listen) as server:
        line = transport_to(server).dial(limit_ms=LONG_MS)
        line.close()
        line.close()
        assert heard.wait(PATIENCE_S)
    assert seen == ["reset"]


def test_a_second_exchange_on_one_line_is_a_bug_and_sends_nothing():
    with FaultServer(answering(http(204))) as server:
        line = transport_to(server).dial(limit_ms=LONG_MS)
        line.exchange("POST", "/a", limit_ms=LONG_MS)
        with pytest.raises(AssertionError, match="exactly one exchange"):
            line.exchange("POST", "/a", limit_ms=LONG_MS)
        assert len(server.requests) == 1


def test_a_closed_line_takes_no_exchange():
    line, stream = scripted()
    line.close()
    with pytest.raises(AssertionError):
        line.exchange("POST", "/a", limit_ms=1000)
    assert stream.writes == []


def test_every_dial_is_a_fresh_connection_and_each_request_says_close():
    with FaultServer(answering(http(200, {}))) as server:
        transport = transport_to(server)
        for _ in range(2):
            assert transport.ask("GET", "/lists", limit_ms=LONG_MS).status == 200
        assert server.connections == 2
        assert [request.headers["connection"] for request in server.requests] == ["close", "close"]


def test_the_request_carries_path_query_headers_and_body():
    with FaultServer(answering(http(200, {}))) as server:
        line = transport_to(server).dial(limit_ms=LONG_MS)
        line.exchange(
            "PUT",
            "/campaigns/a",
            query={"since": "2026-01-01T00:00:00+00:00", "fields": "a,b"},
            headers={"Authorization": "Basic eA=="},
            json_body={"title": "Grüße \ud800"},
            limit_ms=LONG_MS,
        )
        [request] = server.requests
    assert (request.method, request.path) == ("PUT", "/3.0/campaigns/a")
    assert request.query == {"since": "2026-01-01T00:00:00+00:00", "fields": "a,b"}
    assert request.headers["authorization"] == "Basic eA=="
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.json == {"title": "Grüße \ud800"}


def test_a_post_without_a_body_says_so():
    with FaultServer(answering(http(204))) as server:
        line = transport_to(server).dial(limit_ms=LONG_MS)
        assert line.exchange("POST", "/send", limit_ms=LONG_MS).status == 204
        [request] = server.requests
    assert request.headers["content-length"] == "0"
    assert "content-type" not in request.headers


def test_an_answer_has_lower_case_headers_and_the_count_of_bytes_sent():
    line, stream = scripted(reads=[http(200, b"hello", X_Request_ID="7")])
    answer = line.exchange("POST", "/a", json_body={"a": 1}, limit_ms=1000)
    assert isinstance(answer, Answer)
    assert (answer.headers["x-request-id"], answer.body) == ("7", b"hello")
    assert answer.bytes_out == sum(map(len, stream.writes)) > len(b'{"a":1}')
    assert stream.closed


# --- the request left, the answer didn't come ------------------------------------------------------------


def test_a_reset_before_the_request_was_read_is_ambiguous():
    def behave(peer):
        peer.wait_for_first_byte()  # else the reset may come before the connection counts as established
        peer.reset()

    with FaultServer(behave) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "reset"
    assert outcome.bytes_out > 0


def test_a_reset_after_the_request_was_read_is_ambiguous_and_counts_every_byte():
    def behave(peer):
        peer.read_request()
        peer.reset()

    body = {"html": "x" * 200_000}
    with FaultServer(behave) as server:
        outcome = post(server, body=body)
        [request] = server.requests
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "reset"
    assert outcome.bytes_out > len(request.body) > 200_000


def test_a_polite_end_without_an_answer_is_ambiguous():
    def behave(peer):
        peer.read_request()
        peer.finish()

    with FaultServer(behave) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "closed"


def test_half_the_headers_and_an_end_is_ambiguous():
    with FaultServer(answering(b"HTTP/1.1 204 No Content\r\nX-Requ")) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("closed", None)


def test_a_body_cut_short_is_ambiguous_and_keeps_the_status_as_evidence():
    answer = http(400, {"title": "Bad Request"})[:-5]
    with FaultServer(answering(answer)) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("closed", 400)


def test_an_answer_that_is_not_http_is_ambiguous():
    with FaultServer(answering(b"220 smtp.example.com ESMTP\r\n\r\n")) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "protocol"


def test_no_answer_within_the_limit_is_ambiguous_and_the_connection_is_reset():
    seen = []

    def behave(peer):
        peer.read_request()
        try:
            seen.append(peer.sock.recv(1))
        except ConnectionResetError:
            seen.append("reset")

    with FaultServer(behave) as server:
        outcome = post(server, limit_ms=200)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "timeout"
    assert seen == ["reset"]


def test_a_dribbled_answer_ends_at_the_one_total_limit():
    def dribble(peer):
        peer.read_request()
        peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not peer.server.over.wait(0.02):
            peer.say(b"x")

    with FaultServer(dribble) as server:
        clock = OwnClock()
        mark = clock.mark()
        outcome = post(server, limit_ms=200)
        assert clock.since_ms(mark) < 5_000
    assert isinstance(outcome, Ambiguous)
    assert (outcome.reason, outcome.status) == ("timeout", 200)


def test_each_socket_operation_gets_only_what_is_left():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    line, stream = scripted(reads=[head, *[b"x"] * 1000], cost_ms=100)
    outcome = line.exchange("GET", "/a", limit_ms=1000)
    assert stream.timeouts == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert outcome == Ambiguous("timeout", 200, sum(map(len, stream.writes)), "reading")


def test_a_request_that_is_not_drained_ends_at_the_limit():
    with FaultServer(lambda peer: peer.wait_for_end(), receive_bytes=4096) as server:
        outcome = post(server, limit_ms=1_000, body={"html": "x" * 8_000_000})
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "timeout"
    assert 0 < outcome.bytes_out < 8_000_000


def test_a_limit_that_is_over_before_the_first_byte_is_refused_as_not_sent():
    line, stream = scripted()
    assert line.exchange("POST", "/a", limit_ms=0) == Refused("not_sent", Category.UNREACHABLE)
    assert stream.writes == []
    assert stream.closed


def test_a_header_that_cannot_be_sent_is_refused_as_not_sent():
    line, stream = scripted()
    outcome = line.exchange("POST", "/a", headers={"Authorization": "a\nb"}, limit_ms=1000)
    assert outcome == Refused("not_sent", Category.UNREACHABLE)
    assert stream.writes == []


@pytest.mark.parametrize("text", ["Zeitüberschreitung", "Délai d'attente dépassé", "connection refused", ""])
def test_a_failed_read_is_named_by_its_type_in_any_language(text):
    for error, reason in ((httpcore2.ReadTimeout, "timeout"), (httpcore2.ReadError, "reset")):
        line, _ = scripted(reads=[error(text)])
        outcome = line.exchange("POST", "/a", limit_ms=1000)
        assert isinstance(outcome, Ambiguous)
        assert outcome.reason == reason


def test_an_unforeseen_exception_after_the_first_byte_is_ambiguous():
    line, stream = scripted(reads=[ZeroDivisionError()])
    outcome = line.exchange("POST", "/a", limit_ms=1000)
    assert outcome == Ambiguous("internal", None, sum(map(len, stream.writes)), "waiting")


def test_a_stop_signal_passes_through_and_the_line_is_closed():
    class Stop(BaseException):
        pass

    line, stream = scripted()
    stream.read = lambda *_, **__: (_ for _ in ()).throw(Stop())
    with pytest.raises(Stop):
        line.exchange("POST", "/a", limit_ms=1000)
    assert stream.closed


def test_a_write_that_fails_at_once_is_ambiguous_because_bytes_were_handed_over():
    line, _ = scripted(fail_write_at=0)
    outcome = line.exchange("POST", "/a", limit_ms=1000)
    assert isinstance(outcome, Ambiguous)
    assert outcome.reason == "reset"
    assert outcome.bytes_out > 0


@pytest.mark.parametrize(("status", "believed"), [(200, False), (204, False), (413, True), (502, False)])
def test_an_answer_to_half_a_request_is_believed_only_if_it_refuses(status, believed):
    line, _ = scripted(reads=[http(status)], fail_write_at=1)
    outcome = line.exchange("POST", "/a", json_body={"a": 1}, limit_ms=1000)
    if believed:
        assert isinstance(outcome, Answer)
    else:
        assert isinstance(outcome, Ambiguous)
        assert (outcome.reason, outcome.status) == ("reset", status)


# --- answers that must not be followed or swallowed ------------------------------------------------------


def test_a_proxy_page_is_an_answer_with_its_status():
    with FaultServer(
        answering(http(502, "<html>Schlechtes Gateway</html>", content_type="text/html"))
    ) as server:
        answer = post(server)
    assert isinstance(answer, Answer)
    assert answer.status == 502


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status):
    with FaultServer(answering(http(200, {"id": "elsewhere"}))) as other:
        redirect = answering(http(status, Location=other.url))
        with FaultServer(redirect) as server:
            answer = post(server)
        assert answer.status == status
        assert other.connections == 0


def test_a_switch_of_protocols_is_ambiguous():
    with FaultServer(answering(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)


def test_interim_answers_are_passed_over():
    with FaultServer(answering(b"HTTP/1.1 103 Early Hints\r\n\r\n" + http(200, {}))) as server:
        assert post(server).status == 200


def test_an_oversized_answer_is_ambiguous():
    with FaultServer(answering(http(200, b"x" * 3000))) as server:
        outcome = post(server, max_answer_bytes=2999)
        assert isinstance(outcome, Ambiguous)
        assert (outcome.reason, outcome.status) == ("oversized", 200)
    with FaultServer(answering(http(200, b"x" * 3000))) as server:
        assert len(post(server, max_answer_bytes=3000).body) == 3000


def test_endless_headers_are_ambiguous():
    with FaultServer(answering(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"y" * 300_000)) as server:
        outcome = post(server)
    assert isinstance(outcome, Ambiguous)


# --- one limit for dialling and asking -------------------------------------------------------------------


def test_what_dialling_took_is_missing_afterwards():
    clock = HandClock()
    stream = ScriptedStream(clock, reads=[http(200)])

    def slow():
        clock.now_ms += 400

    transport = Transport("http://127.0.0.1", clock, ScriptedBackend(stream, slow))
    assert transport.ask("GET", "/", limit_ms=1000).status == 200
    assert stream.timeouts[0] == 0.6


# --- where a key may go ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://us1.api.example.com/3.0",
        "http://127.0.0.1:8025/mailchimp",
        "http://127.9.9.9",
        "http://[::1]:8025",
        "http://localhost:1",
        "https://localhost",
    ],
)
def test_https_to_an_allowed_host_and_anything_on_loopback_is_taken(url):
    Transport(url, HandClock(), allow_hosts=frozenset({"US1.api.example.com"}))


@pytest.mark.parametrize(
    "url",
    [
        "http://us1.api.example.com",
        "https://other.example.com",
        "https://169.254.169.254/latest",
        "http://10.0.0.1",
        "https://2130706433",
        "https://0x7f.1",
        "https://localhost.example.com",
        "https://user:pw@localhost",
        "https://pw@localhost",
        "https://localhost\\@us1.api.example.com",
        "ftp://localhost",
        "localhost:8025",
        "https://",
        "https://localhost:99999",
        "https://localhost:0",
        "https://local host",
        "https://localhost/\r\nX: y",
        "https://löcalhost",
        "https://[::1",
        "https://[fe80::1%25eth0]",
        "https://localhost?x=1",
        "https://localhost/#x",
        "",
    ],
)
def test_any_other_address_is_refused_with_one_sentence(url):
    with pytest.raises(ValueError, match=r"\.$") as caught:
        Transport(url, HandClock(), allow_hosts=frozenset({"us1.api.example.com"}))
    assert "pw" not in str(caught.value)


# --- secrets ---------------------------------------------------------------------------------------------


def texts_of(caplog):
    return [record.getMessage() + repr(record.__dict__) for record in caplog.records]


@pytest.mark.parametrize("header", [f"Basic {SECRET}", f"Basic {SECRET}\n", f"Basic {SECRET}\u20ac"])
def test_the_key_is_in_no_log_repr_or_exception(caplog, header):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore2.http11").setLevel(logging.DEBUG)
    shown = []
    with FaultServer(answering(http(401, {"title": "no"}, X_Echo=SECRET))) as server:
        transport = transport_to(server)
        line = transport.dial(limit_ms=LONG_MS)
        try:
            shown.append(repr(line.exchange("GET", "/", headers={"Authorization": header}, limit_ms=LONG_MS)))
        except Exception:  # noqa: BLE001
            shown.append(traceback.format_exc())
        shown += [repr(line), repr(transport)]
    assert SECRET not in "".join(shown + texts_of(caplog))


def test_our_calls_are_missing_from_the_http_librarys_debug_log_and_others_are_not(caplog):
    log = logging.getLogger("httpcore2.http11")
    caplog.set_level(logging.DEBUG, logger="httpcore2.http11")
    with FaultServer(answering(http(200, {}))) as server:
        transport_to(server).ask("GET", "/", limit_ms=LONG_MS)
        assert caplog.records == []
        log.debug("somebody else's request")
    assert [record.getMessage() for record in caplog.records] == ["somebody else's request"]
