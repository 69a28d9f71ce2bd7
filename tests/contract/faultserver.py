"""A loopback server of raw sockets that does to a client what networks and proxies do. Uses no HTTP library."""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, urlsplit

PATIENCE_S = 20


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> dict:
        return json.loads(self.body)


class Peer:
    """The server's end of one connection."""

    def __init__(self, sock: socket.socket, server: "FaultServer") -> None:
        self.sock = sock
        self.server = server

    def read_request(self) -> Received:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", "0")):
            body += self._more()
        method, target, _ = first.split(" ")
        received = Received(method, target, headers, body)
        self.server.requests.append(received)
        return received

    def wait_for_first_byte(self) -> None:
        """Wait until something of the request has come, without reading it."""
        self.sock.recv(1, socket.MSG_PEEK)

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def finish(self) -> None:
        """Close in the polite way: a FIN."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close in the rude way: a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_for_end(self) -> None:
        """Keep the connection open and silent until the test is over."""
        self.server.over.wait(PATIENCE_S)

    def _more(self) -> bytes:
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionError
        return data


Behaviour = Callable[[Peer], None]


class FaultServer:
    """Serve each connection with the next behaviour; the last one again when none is left."""

    def __init__(
        self, *behaviours: Behaviour, context: ssl.SSLContext | None = None, receive_bytes: int | None = None
    ) -> None:
        self._behaviours = list(behaviours)
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        if receive_bytes is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/3.0"
        self.requests: list[Received] = []
        self.connections = 0
        self.over = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            behaviour = self._behaviours[min(self.connections, len(self._behaviours) - 1)]
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, behaviour), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, behaviour: Behaviour) -> None:
        sock.settimeout(PATIENCE_S)
        try:
            if self._context is not None:
                sock = self._context.wrap_socket(sock, server_side=True)
            behaviour(Peer(sock, self))
        except OSError:
            pass
        finally:
            sock.close()


def http(status: int, body: bytes | str | object = b"", *, content_type: str = "", **headers: str) -> bytes:
    """Write one whole HTTP answer; what is neither bytes nor text becomes JSON."""
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
        content_type = content_type or "application/json; charset=utf-8"
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Some Words"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    if status != 204:
        lines.append(f"Content-Length: {len(raw)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


def answering(answer: bytes) -> Behaviour:
    """Read the request, give this answer, and close."""

    def behave(peer: Peer) -> None:
        peer.read_request()
        peer.say(answer)

    return behave


def silent(peer: Peer) -> None:
    """Read the request and never answer."""
    peer.read_request()
    peer.wait_for_end()
