"""An application that really listens, and a client that says exactly what it is told to say."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from campaignbridge.bridge import Bridge
from campaignbridge.server.app import make_app
from campaignbridge.server.listening import Listener, bind
from support.posting import FORM, Address


class Served:
    """One listening application."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None):
        """Return status, headers and body of one request."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            line.request(method, path, body, {} if headers is None else headers)
            answer = line.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            line.close()

    def post(self, address: Address, body: bytes, headers: dict | None = None) -> int:
        path = f"/webhooks/{address.connection_id}/{address.secret}"
        return self.ask("POST", path, body, FORM if headers is None else headers)[0]

    def line(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


@contextmanager
def serving(bridge: Bridge) -> Iterator[Served]:
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    listener = Listener(make_app(bridge), listening)
    thread = threading.Thread(target=listener.run)
    thread.start()
    try:
        yield Served(port)
    finally:
        listener.stop()
        thread.join(20)
        assert not thread.is_alive(), "the listener doesn't stop"


@pytest.fixture
def address(world) -> Address:
    return Address.of(world)


@pytest.fixture
def served(world) -> Iterator[Served]:
    with serving(world.bridge) as ready:
        yield ready
