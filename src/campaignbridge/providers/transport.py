"""Make one HTTP/1.1 request on one fresh connection under one deadline, and say honestly what it came to.

1. `dial` opens a connection, TLS included. A failure here is `Refused`: no request exists yet.
2. `Line.exchange` writes the request and reads the answer under one total limit, once. A whole answer of
   any status is an `Answer`; judging it is the adapter's business. An end without an answer is `Ambiguous`,
   unless no byte had been handed to the socket; its phase is never "connecting", which is always a refusal.
3. The connection is closed after the exchange, whatever happened. Nothing is reused, repeated or redirected.

Outcomes follow from exception types, from the phase and from counted bytes, never from a message's text.
"""

import json
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import httpcore2

from campaignbridge.domain.provider import Ambiguous, Category, Refused
from campaignbridge.ports import Clock, Pace
from campaignbridge.providers.address import Address, parse_address
from campaignbridge.providers.wire import Wire, hushed

MAX_ANSWER_BYTES = 5 * 1024 * 1024

# Linger 0 makes every close a reset, even the kernel's own after a kill -9: bytes that are still queued are
# dropped instead of arriving after the deadline.
_SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer, not yet judged. Its repr shows neither headers nor body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)  # names in lower case
    body: bytes = field(repr=False)
    bytes_out: int = 0


class Line:
    """One fresh connection. Good for exactly one exchange."""

    def __init__(self, wire: Wire, address: Address, max_answer_bytes: int) -> None:
        """Take over an open stream. Made by `Transport.dial` only."""
        self._wire = wire
        self._address = address
        self._max_answer_bytes = max_answer_bytes
        self._spent = False

    def __repr__(self) -> str:
        """Name the peer and nothing of what was said."""
        return f"<Line to {self._address.host_header}{' spent' if self._spent else ''}>"

    def close(self) -> None:
        """Reset the connection. May be called again and at any time."""
        self._spent = True
        self._wire.close()

    def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json_body: Mapping[str, object] | None = None,
        limit_ms: int,
    ) -> Answer | Ambiguous | Refused:
        """Send one request and read its answer, both within `limit_ms`.

        `Refused` (code `not_sent`) only if no byte was handed to the socket. An answer that comes after the
        request broke off counts only if it is a 4xx: nothing else can be believed about half a request.
        """
        if self._spent:
            msg = "a line is good for exactly one exchange"
            raise AssertionError(msg)
        self._spent = True
        self._wire.start(limit_ms)
        try:
            request = _request(self._address, method, _target(path, query), headers or {}, json_body)
            with hushed():
                return self._speak(request)
        finally:
            self.close()

    def _speak(self, request: httpcore2.Request) -> Answer | Ambiguous | Refused:
        status: int | None = None
        try:
            response = httpcore2.HTTP11Connection(request.url.origin, self._wire).handle_request(request)
            status = response.status
            body = self._body(response)
        except Exception as exc:  # noqa: BLE001 - whatever it was, the bytes may be gone
            if self._wire.bytes_out == 0:
                return _unreachable("not_sent")
            return self._broken(_reason(exc, self._wire), status)
        if body is None:
            return self._broken("oversized", status)
        if self._wire.write_broke and not _is_client_error(status):
            return self._broken("reset", status)
        return Answer(status, _lower(response.headers), body, self._wire.bytes_out)

    def _broken(self, reason: str, status: int | None) -> Ambiguous:
        return Ambiguous(reason, status, self._wire.bytes_out, self._wire.phase)

    def _body(self, response: httpcore2.Response) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_stream():
            size += len(part)
            if size > self._max_answer_bytes:
                return None
            parts.append(part)
        return b"".join(parts)


class Transport:
    """The way to one host. Holds no connection, no key and no state between calls."""

    def __init__(
        self,
        base_url: str,
        clock: Clock,
        backend: httpcore2.NetworkBackend | None = None,
        ssl_context: ssl.SSLContext | None = None,
        allow_hosts: frozenset[str] = frozenset(),
        *,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        """Check the address. Raises `ValueError` with one sentence for people; contacts nobody."""
        self._address = parse_address(base_url, allow_hosts=allow_hosts)
        self._clock = clock
        self._backend = httpcore2.SyncBackend() if backend is None else backend
        self._ssl_context = _ssl_context(ssl_context) if self._address.secure else None
        self._max_answer_bytes = max_answer_bytes
        self.pace: Pace | None = None  # asked for a turn before each connection

    def __repr__(self) -> str:
        """Name the peer."""
        return f"<Transport to {self._address.host_header}>"

    @property
    def host(self) -> str:
        """The host that every request of this transport goes to."""
        return self._address.host

    def dial(self, *, limit_ms: int) -> Line | Refused:
        """Open a fresh connection, TLS included; no request is made.

        The limit bounds each connection attempt and the handshake. A slow name server, or several dead
        addresses behind one name, can make it last longer: then the line is refused, so look at your lease
        *after* dialling.
        """
        left_ms = self.countdown(limit_ms)
        if self.pace is not None and limit_ms > 0:
            refused = self.pace(limit_ms)
            if refused is not None:
                return refused
        connect_ms = left_ms()
        if connect_ms <= 0:
            return _unreachable("connect_timeout")
        secured = False
        try:
            stream = self._backend.connect_tcp(
                self._address.host,
                self._address.port,
                timeout=connect_ms / 1000,
                socket_options=_SOCKET_OPTIONS,
            )
            handshake_ms = left_ms()
            if handshake_ms <= 0:
                stream.close()
                return _unreachable("connect_timeout")
            if self._ssl_context is not None:
                secured = True
                stream = stream.start_tls(self._ssl_context, self._address.host, handshake_ms / 1000)
                if not _is_shaken(stream):
                    stream.close()
                    return _unreachable("tls")
        except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError, UnicodeError) as exc:
            return _unreachable(_dial_code(exc, secured=secured))
        return Line(Wire(stream, self._clock), self._address, self._max_answer_bytes)

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json_body: Mapping[str, object] | None = None,
        limit_ms: int,
    ) -> Answer | Ambiguous | Refused:
        """Dial and exchange under one limit. For reads and repeatable writes only."""
        left_ms = self.countdown(limit_ms)
        line = self.dial(limit_ms=limit_ms)
        if isinstance(line, Refused):
            return line
        return line.exchange(
            method, path, query=query, headers=headers, json_body=json_body, limit_ms=left_ms()
        )

    def countdown(self, limit_ms: int) -> Callable[[], int]:
        """Start one limit for several requests; the result tells what is left of it, zero or less if none."""
        mark = self._clock.mark()
        return lambda: limit_ms - self._clock.since_ms(mark)


def encoded(json_body: Mapping[str, object]) -> bytes:
    """Return the bytes that a JSON body is sent as, for who must sign them."""
    # Escaped JSON never fails to encode, lone surrogates included.
    return json.dumps(json_body, separators=(",", ":")).encode("ascii")


def _ssl_context(given: ssl.SSLContext | None) -> ssl.SSLContext:
    if given is None:
        context = httpcore2.default_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context
    if given.verify_mode is not ssl.CERT_REQUIRED or not given.check_hostname:
        msg = "The TLS settings must verify the certificate and its host name."
        raise ValueError(msg)
    return given


def _request(
    address: Address,
    method: str,
    target: str,
    headers: Mapping[str, str],
    json_body: Mapping[str, object] | None,
) -> httpcore2.Request:
    content = b"" if json_body is None else encoded(json_body)
    own = {
        "Host": address.host_header,
        "User-Agent": "campaignbridge",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if json_body is not None:
        own["Content-Type"] = "application/json"
    if method != "GET":
        own["Content-Length"] = str(len(content))
    url = httpcore2.URL(
        scheme="https" if address.secure else "http",
        host=address.host,
        port=address.port,
        target=address.prefix + target,
    )
    return httpcore2.Request(method, url, headers=[*headers.items(), *own.items()], content=content or None)


def _target(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query, quote_via=quote, safe=',')}" if query else path


def _reason(exc: Exception, wire: Wire) -> str:
    if wire.write_broke:
        return "reset"
    match exc:
        case httpcore2.TimeoutException():
            return "timeout"
        case httpcore2.NetworkError():
            return "reset"
        case httpcore2.RemoteProtocolError():
            return "closed" if wire.ended else "protocol"
        case _:
            return "internal"


def _is_shaken(stream: httpcore2.NetworkStream) -> bool:
    # Python's ssl skips the handshake, silently, on a socket that isn't connected any more.
    sock = stream.get_extra_info("socket")
    return not isinstance(sock, ssl.SSLSocket) or sock.version() is not None


def _dial_code(exc: Exception, *, secured: bool) -> str:
    cause = exc.__cause__ if exc.__cause__ is not None else exc
    match exc, cause:
        case httpcore2.TimeoutException(), _:
            return "connect_timeout"
        case _, (socket.gaierror() | UnicodeError()):
            return "dns"
        case _, TimeoutError():
            return "connect_timeout"
        case _, ssl.SSLError():
            return "tls"
        case _, ConnectionRefusedError():
            return "connect_refused"
    return "tls" if secured else "connect_failed"


def _unreachable(code: str) -> Refused:
    return Refused(code, Category.UNREACHABLE)


def _is_client_error(status: int) -> bool:
    return status // 100 == 4


def _lower(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    result: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        result[name] = f"{result[name]}, {value}" if name in result else value
    return result
