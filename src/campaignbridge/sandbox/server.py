"""The sandbox over real HTTP/1.1 on loopback: effects become what a real network would do."""

import contextlib
import http.server
import socket
import socketserver
import struct
import sys
import threading
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.control import Control
from campaignbridge.sandbox.gate import Gate
from campaignbridge.sandbox.mailchimp import PREFIX
from campaignbridge.sandbox.slots import Slots
from campaignbridge.sandbox.wire import BODY_LIMIT, DELIVERED, Delivery, Effect, Request, Response

_LOOPBACK = ("127.0.0.1", "localhost")
_CONNECTIONS = 128  # at once; one more is reset
_IDLE_S = 60.0  # for a client that sends nothing
_STOP_S = 5.0
_CARRY_EVERY_S = 0.05
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, zero seconds
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class SandboxServer:
    """Serves a sandbox below `/3.0` and its control API beside it. A context manager.

    Nothing is written to stderr: a client that goes away is an everyday thing here. A delay ends early
    and a withheld answer's connection is closed when the server stops. An account's requests beyond the
    world's `connection_limit` at once are refused with 429; one that is slow counts until its time is
    over, one whose client left counts `abandoned_ms` longer.
    """

    def __init__(self, sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0) -> None:
        """Bind, without serving yet. Raises ValueError for anything but loopback."""
        if host not in _LOOPBACK:
            raise ValueError("the sandbox listens on loopback only")
        self.sandbox = sandbox
        self._listener = _Listener(("127.0.0.1", port), sandbox)
        self._thread: threading.Thread | None = None
        self._courier: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.server_address[1])

    @property
    def url(self) -> str:
        """The base address of the API."""
        return f"{self.control_url}{PREFIX}"

    @property
    def resend_url(self) -> str:
        """The base address of Resend's API."""
        return self.control_url

    @property
    def control_url(self) -> str:
        """The base address of the control API and the page."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Serve in daemon threads."""
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True, name="sandbox"
        )
        self._thread.start()
        self._courier = threading.Thread(target=self._carry, daemon=True, name="sandbox-webhooks")
        self._courier.start()
        return self

    def _carry(self) -> None:
        while not self._listener.stopping.wait(_CARRY_EVERY_S):
            self.sandbox.carry()

    def stop(self) -> None:
        """Stop listening, end delays, close every connection. Safe to call twice."""
        if self._thread is not None:
            self._listener.shutdown()
            self._thread.join(_STOP_S)
            self._thread = None
        self._listener.end()
        if self._courier is not None:
            self._courier.join(_STOP_S)
            self._courier = None

    def release(self) -> None:
        """Close the connections whose answers are being withheld; the answers never arrive."""
        self._listener.gate.open()

    def await_connections(self, count: int, timeout_s: float) -> bool:
        """Wait until so many connections are open, and say whether it came to that."""
        return self._listener.await_open(count, timeout_s)

    def await_busy(self, count: int, timeout_s: float) -> bool:
        """Wait until so many requests are being answered, and say whether it came to that."""
        return self._listener.slots.await_held(count, timeout_s)

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.control = Control(sandbox)
        self.gate = Gate()
        self.slots = Slots()
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # The base class would ask a name server who we are.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # as in the base
        with self._changed:
            room = len(self._open) < _CONNECTIONS and not self.stopping.is_set()
            if room:
                self._open.add(request)
                self._changed.notify_all()
        if room:
            super().process_request(request, client_address)
        else:
            arm_reset(request)
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:  # as in the base
        # An orderly shutdown would send FIN before the reset that was asked for.
        with contextlib.suppress(OSError):
            if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(_RESET)) != _RESET:
                request.shutdown(socket.SHUT_WR)
        self.close_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:  # as in the base
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def await_open(self, count: int, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._open) == count, timeout_s)

    def end(self) -> None:
        if self.stopping.is_set():
            return
        self.stopping.set()
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, timeout=_STOP_S)
        self.gate.close()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    disable_nagle_algorithm = True
    server: _Listener

    def serve(self) -> None:
        """Read one request, have it answered, and let the network do what it does."""
        body = self._body()
        if isinstance(body, Response):
            self.close_connection = True
            self._apply(body, DELIVERED)
            return
        try:
            request = Request.parse(self.command, self.path, dict(self.headers.items()), body)
        except ValueError:
            self.close_connection = True
            self._apply(Response(400), DELIVERED)
            return
        if self.server.sandbox.owns(request):
            self._limited(request)
        else:
            self._apply(self.server.control.handle(request), DELIVERED)

    def _limited(self, request: Request) -> None:
        """Answer while the account has a slot: until the answer is out, a delay and a hang included."""
        sandbox, slots = self.server.sandbox, self.server.slots
        account = sandbox.caller(request)
        if account is None:
            self._apply(*sandbox.handle(request))
            return
        now_ms = sandbox.settle()
        if not slots.take(account, now_ms, sandbox.world.behaviour.connection_limit):
            self._apply(*sandbox.turn_away(request))
            return
        until_ms = 0
        try:
            if self._apply(*sandbox.handle(request)) and sandbox.world.behaviour.abandoned_ms:
                until_ms = sandbox.settle() + sandbox.world.behaviour.abandoned_ms
        finally:
            slots.give(account, until_ms)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base
        """Say nothing: the truth log tells more."""

    def _body(self) -> bytes | Response:
        """Return the body, or the answer to one that we don't read."""
        if "transfer-encoding" in self.headers:
            return Response(411)
        length = self.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return Response(400)
        if len(length) > 10 or int(length) > BODY_LIMIT:  # digits that int() may read
            return Response(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionResetError("the client left before its body was complete")
        return body

    def _apply(self, response: Response, effect: Effect) -> bool:
        """Let the network do what it does, and say whether the client left before it was over."""
        if effect.delay_ms:
            self.server.stopping.wait(effect.delay_ms / 1000)
        match effect.delivery:
            case Delivery.DELIVER:
                self._deliver(response, effect.first_bytes)
            case Delivery.DROP:
                self.close_connection = True
                arm_reset(self.connection)
            case Delivery.WITHHOLD:
                self.close_connection = True
                self.connection.settimeout(None)
                return self.server.gate.wait(self.connection)
        return False

    def _deliver(self, response: Response, first_bytes: int | None) -> None:
        if first_bytes is not None:
            self.close_connection = True
        headers = dict(response.headers)
        if response.status != HTTPStatus.NO_CONTENT:
            headers["Content-Length"] = str(len(response.body))
        if self.close_connection:
            headers["Connection"] = "close"
        try:
            phrase = HTTPStatus(response.status).phrase
        except ValueError:
            phrase = ""
        lines = [
            f"HTTP/1.1 {response.status} {phrase}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.wfile.write(head + response.body[:first_bytes])


for _method in _METHODS:
    setattr(_Handler, f"do_{_method}", _Handler.serve)


def arm_reset(connection: socket.socket) -> None:
    """Make the next close of this connection a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
