"""The sandbox's limit of simultaneous requests, its page and its control API, over real sockets."""

import base64
import contextlib
import hashlib
import http.client
import json
import re
import socket

import pytest

from campaignbridge.sandbox import Behaviour, Fault, Request, Sandbox, SandboxServer
from campaignbridge.sandbox.faults import BREAKS, OPERATIONS, QUIRKS
from campaignbridge.sandbox.slots import Slots
from unit.test_sandbox import START_MS

PATIENCE_S = 20  # how long a test waits for what must happen; never waited out when all is well


class Place:
    """A running sandbox with a hand-turned clock."""

    def __init__(self):
        self.now_ms = START_MS
        self.sandbox = Sandbox(lambda: self.now_ms, 7, keys=("one-us1", "two-us1"))
        self.server = SandboxServer(self.sandbox)

    def hung(self, count, key="one-us1"):
        """Open connections whose request will never be answered."""
        self.sandbox.faults.add(Fault("lists", "hang", times=count))
        lines = [self.line("GET /3.0/lists", key) for _ in range(count)]
        assert self.server.await_busy(count, PATIENCE_S)
        return lines

    def line(self, what, key):
        line = socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S)
        line.sendall(f"{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        return line

    def ask(self, method, path, body=None, **headers):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.port, 20)) as line:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode(), answer.headers

    def ping(self, key="one-us1"):
        return self.ask("GET", "/3.0/ping", Authorization=f"Bearer {key}")[:2]


@pytest.fixture
def place():
    made = Place()
    with made.server:
        yield made


def test_the_eleventh_request_of_an_account_is_refused_and_another_accounts_is_not(place):
    lines = place.hung(10)
    status, body = place.ping()
    assert (status, json.loads(body)["detail"]) == (
        429,
        "You have exceeded the limit of 10 simultaneous connections.",
    )
    assert place.ping("two-us1")[0] == 200
    assert place.ping("no-us1")[0] == 401
    seen = [row for row in place.sandbox.truth.requests() if row.fault == "connection_limit"]
    assert [(row.operation, row.status) for row in seen] == [("ping", 429)]
    place.server.release()
    assert place.server.await_busy(0, PATIENCE_S)
    assert place.ping()[0] == 200
    for line in lines:
        line.close()


def test_a_refused_request_uses_up_no_fault(place):
    lines = place.hung(10)
    place.sandbox.faults.add(Fault("ping", "bare_403"))
    assert place.ping()[0] == 429
    place.server.release()
    assert place.server.await_busy(0, PATIENCE_S)
    assert place.ping() == (403, "")
    for line in lines:
        line.close()


def test_a_slow_request_counts_until_its_time_is_over(place):
    place.sandbox.world.behave(connection_limit=1)
    place.sandbox.faults.add(Fault("lists", "slow", ms=3_600_000))
    with place.line("GET /3.0/lists", "one-us1"):
        assert place.server.await_busy(1, PATIENCE_S)
        assert place.ping()[0] == 429
        place.sandbox.world.behave(connection_limit=0)
        assert place.ping()[0] == 200


@pytest.mark.parametrize(("abandoned_ms", "status"), [(0, 200), (120_000, 429)])
def test_a_request_whose_client_gave_up_still_counts_where_the_world_says_so(place, abandoned_ms, status):
    place.sandbox.world.behave(abandoned_ms=abandoned_ms)
    for line in place.hung(10):
        line.close()
    assert place.server.await_busy(0, PATIENCE_S)
    assert place.ping()[0] == status
    place.now_ms += 120_001
    assert place.ping()[0] == 200


def test_slots_are_counted_apart_and_given_back():
    slots = Slots()
    assert [slots.take("a", 0, 2) for _ in range(3)] == [True, True, False]
    assert slots.take("b", 0, 2)
    slots.give("a", until_ms=50)
    assert [slots.take("a", now, 2) for now in (49, 50)] == [False, True]


def test_in_process_calls_are_never_limited(place):
    place.sandbox.world.behave(connection_limit=1)
    lines = place.hung(1)
    request = Request("GET", "/3.0/ping", headers={"authorization": "Bearer one-us1"})
    assert place.sandbox.handle(request)[0].status == 200
    for line in lines:
        line.close()


def test_the_page_shows_truth_requests_faults_in_effect_and_switches_and_escapes_all_of_it(place):
    place.sandbox.faults.add(Fault("send", "slow", ms=900), Fault("ping", "bare_403"), Fault("*", "vanish"))
    place.sandbox.world.behave(repeated_send="silent_204")
    place.ping()
    title = "<b>Hi</b> to jane@doe.example"
    place.ask(
        "POST",
        "/3.0/campaigns",
        {"type": "regular", "settings": {"title": title}},
        Authorization="Bearer one-us1",
    )
    status, page, headers = place.ask("GET", "/")
    assert status == 200
    faults = page.partition("Faults in effect")[2].partition("World switches")[0]
    assert "<td>send</td><td>slow</td><td>1</td><td>0</td><td>ms 900" in faults
    assert "bare_403" not in faults  # used up
    assert "<tr class=on><td>repeated_send</td><td>silent_204</td><td>refused</td>" in page
    assert "<td>/3.0/ping</td><td>403</td><td>bare_403" in page
    assert "&lt;b&gt;Hi&lt;/b&gt; to (address)" in page
    for absent in ("<b>", "jane@doe", "one-us1", "<script", "http:", "https:", "url(", "@import"):
        assert absent not in page
    assert "color-scheme:light dark" in page
    assert 'name="viewport"' in page
    assert len(page) < 20_000
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_pages_style_is_the_one_that_its_policy_lets_through(place):
    _, page, headers = place.ask("GET", "/")
    style = re.search("<style>(.*)</style>", page)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in headers["Content-Security-Policy"]
    assert " style=" not in page


def test_the_control_api_prints_itself_with_every_name_that_it_takes(place):
    status, text, headers = place.ask("GET", "/control")
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    words = set(re.findall(r"[a-z_0-9*]+", text))
    assert words >= OPERATIONS - {"*"}
    assert words >= BREAKS | QUIRKS
    assert words >= set(Behaviour.__dataclass_fields__)
    for path in re.findall(r"^  GET +(/\S*)", text, re.MULTILINE):
        assert place.ask("GET", path)[0] == 200


def test_a_list_is_opened_and_resized_over_http(place):
    status, text, _ = place.ask("POST", "/control/lists", {"id": "b2", "name": "Staff", "members": 12})
    assert (status, json.loads(text)[1]) == (200, {"id": "b2", "name": "Staff", "members": 12})
    for wrong in (
        {"id": "b2", "name": "Staff"},
        {"id": "../x", "name": "Staff", "members": 1},
        {"id": "b2", "name": "Staff", "members": -1},
        [],
    ):
        assert place.ask("POST", "/control/lists", wrong)[0] == 400
    assert json.loads(place.ask("GET", "/control/lists")[1])[1]["members"] == 12
    assert place.ask("DELETE", "/control/lists")[0] == 404
