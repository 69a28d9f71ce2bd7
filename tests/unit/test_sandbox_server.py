"""The sandbox over real sockets: where the network's behaviour is what matters."""

import base64
import contextlib
import http.client
import json
import socket
import threading

import pytest

from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from unit.test_sandbox import HTML, START_MS

PATIENCE_S = 20  # how long a test waits for what must happen; never waited out when all is well


@pytest.fixture
def server():
    with SandboxServer(Sandbox(lambda: START_MS, 7)) as running:
        yield running


@pytest.fixture
def sandbox(server):
    return server.sandbox


@pytest.fixture
def line(server):
    with contextlib.closing(connect(server)) as connection:
        yield connection


def connect(server):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)


def ask(line, sandbox, method, path, body=None):
    token = base64.b64encode(f"any:{sandbox.key}".encode()).decode()
    payload = None if body is None else json.dumps(body)
    line.request(method, f"/3.0{path}", payload, {"Authorization": f"Basic {token}"})


def answered(line):
    response = line.getresponse()
    return response.status, response.read()


def call(line, sandbox, method, path, body=None):
    ask(line, sandbox, method, path, body)
    return answered(line)


def ready_draft(line, sandbox):
    body = {
        "type": "regular",
        "recipients": {"list_id": "a1b2c3"},
        "settings": {"title": "[x.g1]", "subject_line": "S", "from_name": "F", "reply_to": "f@shop.example"},
    }
    made = json.loads(call(line, sandbox, "POST", "/campaigns", body)[1])["id"]
    assert call(line, sandbox, "PUT", f"/campaigns/{made}/content", {"html": HTML})[0] == 200
    return made


def control(server, method, path, body=None, headers=None):
    with contextlib.closing(connect(server)) as line:
        line.request(method, path, None if body is None else json.dumps(body), headers or {})
        response = line.getresponse()
        raw = response.read()
        return response.status, raw.decode()


def test_one_connection_carries_a_campaign_from_draft_to_send(server, sandbox, line):
    campaign = ready_draft(line, sandbox)
    assert call(line, sandbox, "POST", f"/campaigns/{campaign}/actions/send") == (204, b"")
    status, raw = call(line, sandbox, "GET", f"/campaigns/{campaign}")
    assert (status, json.loads(raw)["status"]) == (200, "sending")
    assert server.url.endswith(f":{server.port}/3.0")


@pytest.mark.parametrize(("kind", "sends"), [("drop_before", 0), ("accept_then_drop", 1)])
def test_a_dropped_connection_is_a_reset_without_a_byte(sandbox, line, kind, sends):
    campaign = ready_draft(line, sandbox)
    sandbox.faults.add(Fault("send", kind))
    ask(line, sandbox, "POST", f"/campaigns/{campaign}/actions/send")
    with pytest.raises(ConnectionResetError) as caught:
        line.getresponse()
    assert type(caught.value) is ConnectionResetError  # an orderly end would be RemoteDisconnected
    assert sandbox.truth.sends_accepted() == sends


def test_a_withheld_answer_keeps_the_connection_open_until_it_is_released(server, sandbox, line):
    campaign = ready_draft(line, sandbox)
    sandbox.faults.add(Fault("send", "accept_then_withhold"))
    ask(line, sandbox, "POST", f"/campaigns/{campaign}/actions/send")
    line.sock.settimeout(0.05)
    with pytest.raises(TimeoutError):
        line.sock.recv(1)
    assert sandbox.truth.sends_accepted() == 1
    line.sock.settimeout(PATIENCE_S)
    server.release()
    assert line.sock.recv(1) == b""


def test_a_client_that_gives_up_on_a_withheld_answer_frees_its_connection(server, sandbox, line):
    sandbox.faults.add(Fault("ping", "hang"))
    ask(line, sandbox, "GET", "/ping")
    assert server.await_connections(1, PATIENCE_S)
    line.close()
    assert server.await_connections(0, PATIENCE_S)


def test_a_truncated_answer_ends_before_its_announced_length(sandbox, line):
    sandbox.faults.add(Fault("ping", "truncated", keep=5))
    ask(line, sandbox, "GET", "/ping")
    with pytest.raises(http.client.IncompleteRead) as caught:
        answered(line)
    assert len(caught.value.partial) == 5


def test_stopping_ends_delays_and_withheld_answers(server, sandbox):
    sandbox.faults.add(Fault("ping", "slow", ms=3_600_000), Fault("lists", "hang"))
    slow, hung = connect(server), connect(server)
    ask(slow, sandbox, "GET", "/ping")
    ask(hung, sandbox, "GET", "/lists")
    assert server.await_connections(2, PATIENCE_S)
    server.stop()
    server.stop()
    for line in (slow, hung):
        with contextlib.suppress(OSError, http.client.HTTPException):
            line.getresponse().read()
        line.close()
    assert server.await_connections(0, PATIENCE_S)
    with pytest.raises(ConnectionRefusedError):
        connect(server).connect()


def test_a_bare_429_and_a_proxy_page_arrive_as_they_are(sandbox, line):
    sandbox.faults.add(Fault("ping", "status_429", bare=True), Fault("ping", "proxy_page", status=504))
    ask(line, sandbox, "GET", "/ping")
    assert answered(line) == (429, b"")
    ask(line, sandbox, "GET", "/ping")
    status, page = answered(line)
    assert (status, page[:6]) == (504, b"<html>")


def test_many_clients_at_once_each_get_their_own_campaign(server, sandbox):
    made = []
    sandbox.world.behave(connection_limit=24)

    def create():
        with contextlib.closing(connect(server)) as line:
            made.append(json.loads(call(line, sandbox, "POST", "/campaigns", {"type": "regular"})[1])["id"])

    threads = [threading.Thread(target=create) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(set(made)) == 24
    assert len(sandbox.truth.events("created")) == 24


def test_a_body_that_is_too_large_chunked_or_unfinished_is_never_applied(server, sandbox):
    heads = {
        b"Content-Length: 99999999\r\n\r\n": b"HTTP/1.1 413",
        b"Content-Length: 99999999999999999999\r\n\r\n": b"HTTP/1.1 413",
        b"Content-Length: x\r\n\r\n": b"HTTP/1.1 400",
        b"Transfer-Encoding: chunked\r\n\r\n": b"HTTP/1.1 411",
    }
    for head, answer in heads.items():
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as raw:
            raw.sendall(b"POST /3.0/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head)
            assert raw.recv(12) == answer
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as raw:
        raw.sendall(b"POST /3.0/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 20\r\n\r\n{")
        raw.shutdown(socket.SHUT_WR)
        assert raw.recv(1) == b""
    assert sandbox.truth.requests() == ()


def test_a_client_that_resets_leaves_no_noise_on_stderr(server, sandbox, line, capfd):
    sandbox.faults.add(Fault("ping", "accept_then_drop"))
    ask(line, sandbox, "GET", "/ping")
    with pytest.raises(ConnectionResetError):
        line.getresponse()
    server.stop()
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == ""


def test_only_loopback_is_served(sandbox):
    with pytest.raises(ValueError):
        SandboxServer(sandbox, "0.0.0.0")


def test_faults_are_ordered_listed_and_cleared_over_http(server, sandbox, line):
    status, _ = control(server, "POST", "/control/faults", [{"operation": "ping", "kind": "bare_403"}])
    assert status == 200
    assert call(line, sandbox, "GET", "/ping") == (403, b"")
    assert json.loads(control(server, "GET", "/control/faults")[1])[0]["used"] == 1
    assert control(server, "DELETE", "/control/faults") == (204, "")
    assert sandbox.faults.listing() == []


def test_a_wrong_order_is_refused_whole(server, sandbox):
    orders = [{"operation": "ping", "kind": "hang"}, {"operation": "ping", "kind": "explode"}]
    for body in (orders, {"operation": "ping"}, "hang"):
        assert control(server, "POST", "/control/faults", body)[0] == 400
    assert control(server, "POST", "/control/world", {"repeated_send": "maybe"})[0] == 400
    assert control(server, "POST", "/control/world", [])[0] == 400
    assert sandbox.faults.listing() == []


def test_the_truth_and_the_behaviour_are_read_and_reset_over_http(server, sandbox, line):
    campaign = ready_draft(line, sandbox)
    assert control(server, "POST", "/control/world", {"repeated_send": "accepted_again"})[0] == 200
    for _ in range(2):
        assert call(line, sandbox, "POST", f"/campaigns/{campaign}/actions/send")[0] == 204
    truth = json.loads(control(server, "GET", "/truth")[1])
    assert (truth["sends_accepted"], truth["duplicates"]) == (2, 1)
    assert control(server, "POST", "/control/reset")[0] == 204
    assert json.loads(control(server, "GET", "/truth")[1])["events"] == []
    assert control(server, "GET", "/elsewhere")[0] == 404


def test_the_page_shows_campaigns_escaped_and_without_a_key(server, sandbox, line):
    body = {"type": "regular", "settings": {"title": "<script>alert(1)</script>"}}
    call(line, sandbox, "POST", "/campaigns", body)
    status, page = control(server, "GET", "/")
    assert status == 200
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert sandbox.key not in page


def test_a_web_page_of_another_origin_can_not_control_the_sandbox(server, sandbox):
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert control(server, "POST", "/control/reset", headers=headers)[0] == 403
        assert control(server, "GET", "/truth", headers=headers)[0] == 403
    own = {"Origin": server.control_url}
    assert control(server, "POST", "/control/reset", headers=own)[0] == 204
