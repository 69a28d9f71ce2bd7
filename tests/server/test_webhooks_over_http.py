"""What providers may post, over real HTTP: who gets in, how much, and what is told to whom."""

import json
import threading

import pytest

from campaignbridge.server import webhooks as served_webhooks
from campaignbridge.store.unit import Store
from server.conftest import serving
from support.posting import FORM, Address, form, stamp
from support.world import DANA, SENDING_MS, Broken, waiting_until

pytest_plugins = ["support.stores", "support.world"]

EMPTY = b""


def path_of(address):
    return f"/webhooks/{address.connection_id}/{address.secret}"


def body_of(number=0):
    return form(
        "campaign",
        stamp(1_800_000_000_000 + 1_000 * number),
        id="c0ffee1234",
        status="sent",
        list_id="a1b2c3",
    )


def test_an_event_is_answered_with_a_number_and_nothing_else_once_it_is_stored(world, served, address):
    status, headers, body = served.ask("POST", path_of(address), body_of(), FORM)
    assert (status, body) == (200, EMPTY)
    assert set(headers) <= {"content-length", "connection"}
    assert [row["subject"] for row in address.rows()] == ["c0ffee1234"]
    assert served.post(address, body_of()) == 200
    assert len(address.rows()) == 1


def test_a_visit_is_answered_the_same_whoever_s_address_it_is(served, address):
    """Mailchimp visits an address before it takes it."""
    for path in (path_of(address), f"/webhooks/{address.connection_id}/wrong", "/webhooks/con_nobody/wrong"):
        status, _, body = served.ask("GET", path)
        assert (status, body) == (200, EMPTY)


def test_what_is_not_on_a_right_address_is_not_found_and_leaves_no_row(world, served, address):
    before = world.home.everything()
    answers = [
        served.ask("POST", path, body_of(), FORM)
        for path in (
            f"/webhooks/{address.connection_id}/{address.secret[:-1]}",
            f"/webhooks/{address.connection_id}/{address.secret}x",
            f"/webhooks/con_000000000000/{address.secret}",
            "/webhooks/%00/%ff",
            f"/webhooks/{address.connection_id}/%E2%82%AC",
        )
    ]
    assert {(status, body) for status, _, body in answers} == {(404, EMPTY)}
    assert len({tuple(sorted(headers.items())) for _, headers, _ in answers}) == 1
    assert world.home.everything() == before


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": "text/plain"}, b"{}", 415),
        ({"content-type": "application/json"}, b"{}", 400),  # of Resend's shape, at Mailchimp's address
        ({}, b"type=campaign", 415),
        (FORM, b"", 400),
        (FORM, b"type=campaign", 400),
        (FORM, b"\xff\xfe=\x00", 400),
        (FORM, b"&".join([b"a=b"] * 2_000), 400),
        (FORM, b"type=campaign&type=campaign", 400),
        (FORM, b"type=subscribe&fired_at=x", 200),
        (FORM, b"a=" + b"x" * 65_535, 413),
        ({**FORM, "content-length": "99999999"}, b"", 413),
    ],
)
def test_what_is_no_event_is_refused_by_its_form_and_leaves_no_row(sqlite_world, headers, body, status):
    address = Address.of(sqlite_world)
    before = sqlite_world.home.everything()
    with serving(sqlite_world.bridge) as served:
        assert served.post(address, body, headers) == status
    assert sqlite_world.home.everything() == before


def test_a_body_without_an_announced_length_is_read_no_further_than_the_bound(sqlite_world):
    address = Address.of(sqlite_world)
    with serving(sqlite_world.bridge) as served, served.line() as line:
        line.sendall(
            f"POST {path_of(address)} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM['content-type']}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
        for _ in range(5):
            line.sendall(chunk)
        assert line.recv(65_536).startswith(b"HTTP/1.1 413 ")
    assert address.rows() == []


def test_a_sender_that_is_too_slow_is_let_go(sqlite_world, monkeypatch):
    monkeypatch.setattr(served_webhooks, "BODY_WITHIN_S", 0.2)
    address = Address.of(sqlite_world)
    with serving(sqlite_world.bridge) as served, served.line() as line:
        line.sendall(
            f"POST {path_of(address)} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM['content-type']}\r\n"
            "Content-Length: 100\r\n\r\ntype=".encode()
        )
        assert line.recv(65_536).startswith(b"HTTP/1.1 408 ")


def test_an_overlong_path_or_head_is_refused_before_anything_is_looked_up(sqlite_world):
    with serving(sqlite_world.bridge) as served, served.line() as line:
        line.sendall(b"POST /webhooks/a/" + b"x" * 300_000)
        assert line.recv(65_536).startswith(b"HTTP/1.1 400 ")
        assert served.ask("POST", "/webhooks/a/" + "x" * 40_000, b"a=b", FORM)[0] == 404


def test_while_the_store_is_gone_the_answer_is_503_and_the_repetition_is_taken(world):
    database = Broken(world.home.open())
    bridge = world.process(store=Store(database))
    address = Address.of(world)
    with serving(bridge) as served:
        database.down = True
        status, _, body = served.ask("POST", path_of(address), body_of(), FORM)
        assert (status, body) == (503, EMPTY)
        database.down = False
        assert served.post(address, body_of()) == 200
    assert len(address.rows()) == 1


def test_when_too_much_waits_the_answer_is_503_and_nothing_is_stored(world, served, address, monkeypatch):
    from campaignbridge.flows import webhooks

    monkeypatch.setattr(webhooks, "MOST_WAITING", 2)
    assert [served.post(address, body_of(number)) for number in range(4)] == [200, 200, 503, 503]
    assert len(address.rows()) == 2


def test_a_bug_is_answered_with_500_and_told_to_nobody(sqlite_world, monkeypatch, caplog):
    address = Address.of(sqlite_world)

    def broken(*_args, **_facts):
        raise ZeroDivisionError(f"secret {address.secret}")

    monkeypatch.setattr(sqlite_world.bridge, "receive_webhooks", broken)
    with serving(sqlite_world.bridge) as served:
        status, _, body = served.ask("POST", path_of(address), body_of(), FORM)
    assert (status, body) == (500, EMPTY)
    assert "ZeroDivisionError" in caplog.text
    assert address.secret not in caplog.text


def test_many_senders_at_once_have_each_event_stored_once(world, served, address):
    bodies = [body_of(number) for number in range(40)]
    statuses = []

    def post(mine):
        statuses.extend(served.post(address, body) for body in mine)

    crew = [
        threading.Thread(target=post, args=(bodies[shift:] + bodies[:shift],)) for shift in range(0, 40, 10)
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert statuses == [200] * 160
    assert len(address.rows()) == 40


def test_a_sender_that_leaves_before_the_answer_repeats_itself_without_harm(world, served, address):
    body = body_of()
    with served.line() as line:
        line.sendall(
            f"POST {path_of(address)} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM['content-type']}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
    waiting_until(address.rows)
    assert served.post(address, body) == 200
    assert len(address.rows()) == 1


def test_nothing_of_a_request_is_logged(world, served, address, caplog, capfd):
    caplog.set_level("DEBUG")
    canary = "canary.person@wh-test.example"
    person = form("cleaned", stamp(world.now()), reason="hard", email=canary, list_id="a1b2c3")
    for body in (person, b"type=cleaned&canary", b"%ff"):
        served.post(address, body)
    served.ask("POST", f"/webhooks/{address.connection_id}/{canary}", person, FORM)
    said = caplog.text + "".join(capfd.readouterr())
    for trace in (address.secret, "canary", "wh-test", "/webhooks/"):
        assert trace not in said
    assert "canary" not in world.home.everything()


def test_health_is_told_without_the_store_and_nothing_else_is_to_be_found(sqlite_world):
    database = Broken(sqlite_world.home.open())
    bridge = sqlite_world.process(store=Store(database))
    database.down = True
    with serving(bridge) as served:
        assert served.ask("GET", "/healthz")[0::2] == (200, b"ok")
        found = {
            path: served.ask("GET", path)[0]
            for path in ("/", "/docs", "/openapi.json", "/webhooks", "/webhooks/a")
        }
        assert set(found.values()) == {404}
        assert [served.ask(method, "/webhooks/a/b")[0] for method in ("PUT", "DELETE", "PATCH")] == [405] * 3


def test_the_sandbox_posts_over_http_and_the_campaign_is_read_to_its_end(world, served, address):
    """Both ends: registered as at Mailchimp, posted by the sandbox, and followed without waiting for the cadence."""
    url = f"http://127.0.0.1:{served.port}{path_of(address)}"
    made = world.by_hand("POST", "/lists/a1b2c3/webhooks", {"url": url, "events": {"campaign": True}})
    campaign_id = world.sending()
    world.later(ms=SENDING_MS)
    waiting_until(lambda: world.by_hand("GET", "/ping") and address.rows())
    world.heard()
    world.run(hours=0.01)
    assert (world.state(campaign_id), world.heard()) == ("sent", ["GET inspect"])
    assert [event["kind"] for event in world.events(campaign_id)[-2:]] == ["webhook_heard", "followed"]
    assert [(one["status"], one["type"]) for one in world.sandbox.world.hooks.log] == [(200, "campaign")]
    assert made["url"] == url


@pytest.mark.parametrize("kind", ["lost", "doubled", "late", "reordered", "foreign_list", "wrong_path"])
def test_whatever_befalls_a_webhook_the_campaign_ends_as_the_provider_says(world, served, address, kind):
    """I7, with each fault of the sandbox: at most one reading beside those that the cadence makes."""
    world.by_hand(
        "POST",
        "/lists/a1b2c3/webhooks",
        {"url": f"http://127.0.0.1:{served.port}{path_of(address)}", "events": {"campaign": True}},
    )
    world.fault("webhook", kind, ms=90_000)
    campaign_id = world.sending()
    for _ in range(12):
        world.later(seconds=30)
        waiting_until(lambda: not _due(world))
        world.bridge.tick(batch=10)
        world.bridge.tick(batch=10)
    assert (world.state(campaign_id), world.sends(), world.posts()) == ("sent", 1, 1)
    readings = world.heard()
    assert set(readings) == {"GET inspect"}
    assert len(readings) <= 2
    assert set(address.outcomes()) <= {"woke", "finished", "foreign", None}
    assert len(world.events(campaign_id, "webhook_heard")) <= 1
    told = json.dumps(list(world.sandbox.world.hooks.log))
    assert address.secret not in told


def _due(world):
    hooks = world.sandbox.world.hooks
    with world.sandbox.world.lock:
        now = world.sandbox.settle()
        return any(item.at_ms <= now for item in hooks._waiting)


def test_what_was_not_stored_comes_again_from_the_sandbox_and_is_stored_then(world):
    database = Broken(world.home.open())
    bridge = world.process(store=Store(database))
    address = Address.of(world)
    with serving(bridge) as served:
        url = f"http://127.0.0.1:{served.port}{path_of(address)}"
        world.by_hand("POST", "/lists/a1b2c3/webhooks", {"url": url, "events": {"campaign": True}})
        world.sending()
        database.down = True
        world.later(ms=SENDING_MS)
        log = world.sandbox.world.hooks.log
        waiting_until(lambda: len(log) == 1)
        database.down = False
        assert (log[0]["status"], address.rows()) == (503, [])
        world.later(minutes=15)
        waiting_until(lambda: len(log) == 2)
    assert (log[1]["status"], log[1]["tries"], len(address.rows())) == (200, 2, 1)


def test_a_signed_webhook_of_the_sandbox_is_verified(world):
    from campaignbridge.bootstrap import assemble, provider_opener
    from campaignbridge.host import HostChance
    from campaignbridge.settings import Settings
    from campaignbridge.store.vault import Vault, new_ring_line, parse_ring

    ring = parse_ring(new_ring_line("k1"), place="here")
    opener = provider_opener(Settings(), world.clock)
    vault = Vault(lambda: ring)
    bridge = assemble(world.home.store(), opener, world.clock, HostChance(), "host:9:aaaa", vault=vault)
    address = Address.of(world, bridge=bridge)
    world.sandbox.world.behave(webhook_signing="on")
    with serving(bridge) as served:
        url = f"http://127.0.0.1:{served.port}{path_of(address)}"
        made = world.by_hand("POST", "/lists/a1b2c3/webhooks", {"url": url, "events": {"campaign": True}})
        bridge.sign_webhook("news", signing_key=made["signing_secret"], actor=DANA)
        world.sending()
        world.later(ms=SENDING_MS)
        log = world.sandbox.world.hooks.log
        waiting_until(lambda: len(log) == 1)
    assert (log[0]["status"], [row["verified"] for row in address.rows()]) == (200, [1])
