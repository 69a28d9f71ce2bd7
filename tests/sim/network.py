"""The socket, replaced: bytes from our adapter reach the sandbox in process, and its answer comes back."""

from collections.abc import Iterable
from typing import Any

import httpcore2

from campaignbridge.sandbox import Delivery, Effect, Request, Response, Sandbox
from sim.schedule import Actor

CONNECT_MS = 5
CALL_MS = 20


class Backend(httpcore2.NetworkBackend):
    """Opens streams to the sandbox for one actor."""

    def __init__(self, actor: Actor, sandbox: Sandbox) -> None:
        self._actor = actor
        self._sandbox = sandbox

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        self._actor.point("net.connect")
        self._actor.schedule.now += CONNECT_MS
        return Stream(self._actor, self._sandbox)


class Stream(httpcore2.NetworkStream):
    """One connection, good for one request."""

    def __init__(self, actor: Actor, sandbox: Sandbox) -> None:
        self._actor = actor
        self._sandbox = sandbox
        self._out = b""
        self._answer: bytes | None = None
        self._effect = Effect()

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._actor.alive()
        self._out += buffer
        head, separator, body = self._out.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        if len(body) < int(headers.get("Content-Length", headers.get("content-length", "0"))):
            return
        method, target, _ = lines[0].split(" ")
        name = f"{method} {target.partition('?')[0].rsplit('/', 1)[-1]}"
        self._actor.point(f"net.before {name}")
        response, self._effect = self._sandbox.handle(Request.parse(method, target, headers, body))
        self._answer = _bytes_of(response)
        self._actor.schedule.now += CALL_MS
        self._actor.point(f"net.after {name}")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._actor.alive()
        wait_ms = int((timeout or 0) * 1000)
        if self._answer is None or self._effect.delivery is Delivery.WITHHOLD:
            self._actor.sleep(wait_ms)
            raise httpcore2.ReadTimeout
        if self._effect.delivery is Delivery.DROP:
            raise httpcore2.ReadError
        if self._effect.delay_ms > wait_ms:
            self._actor.sleep(wait_ms)
            raise httpcore2.ReadTimeout
        if self._effect.delay_ms:
            self._actor.sleep(self._effect.delay_ms)
            self._effect = Effect(first_bytes=self._effect.first_bytes)
        chunk, self._answer = self._answer[:max_bytes], self._answer[max_bytes:]
        return chunk

    def close(self) -> None:
        self._answer = b""

    def get_extra_info(self, info: str) -> Any:
        return None


def _bytes_of(response: Response) -> bytes:
    headers = {**response.headers, "Connection": "close", "Content-Length": str(len(response.body))}
    if response.status == 204:
        del headers["Content-Length"]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {response.status} X\r\n{head}\r\n".encode("latin-1") + response.body
