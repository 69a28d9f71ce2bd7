"""One socket under one deadline, with a count of what was handed to it."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2

from campaignbridge.ports import Clock, Mark

# Small enough for one send() each: httpcore2's own write loop restarts its timeout after every partial send.
_CHUNK_BYTES = 16 * 1024
_HTTP_LOGGER = "httpcore2.http11"

_speaking: ContextVar[bool] = ContextVar("campaignbridge_speaking", default=False)


class Wire(httpcore2.NetworkStream):
    """A network stream that gives each operation only what is left of one total limit.

    `bytes_out` counts plaintext bytes before they are handed to the socket, so zero proves that nothing of
    the request can have left this host. More than zero proves nothing.
    """

    def __init__(self, stream: httpcore2.NetworkStream, clock: Clock) -> None:
        """Wrap an open stream. No byte passes before `start`."""
        self._stream = stream
        self._clock = clock
        self._mark: Mark | None = None
        self._limit_ms = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self.write_broke = False
        self.ended = False
        self._listening = False

    @property
    def phase(self) -> str:
        """How far the exchange has come: "sending", "waiting" or "reading".

        The HTTP library begins to read only after the last byte of the request was taken, or after a write
        broke. So an exchange without a read, or with a broken write, never handed its request over whole,
        even if an answer came.
        """
        if self.write_broke or not self._listening:
            return "sending"
        return "reading" if self.bytes_in else "waiting"

    def start(self, limit_ms: int) -> None:
        """Start the clock: from now on write and read share `limit_ms`."""
        self._mark = self._clock.mark()
        self._limit_ms = limit_ms

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Hand `buffer` to the socket, piece by piece, while time is left."""
        for start in range(0, len(buffer), _CHUNK_BYTES):
            left_ms = self._left_ms()
            if left_ms <= 0:
                raise httpcore2.WriteTimeout
            chunk = buffer[start : start + _CHUNK_BYTES]
            self.bytes_out += len(chunk)
            try:
                self._stream.write(chunk, timeout=left_ms / 1000)
            except httpcore2.WriteError:
                # httpcore2 swallows this and goes on to read: remembered, or a half-sent request looks whole.
                self.write_broke = True
                raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Read what has come, waiting at most for what is left of the limit."""
        self._listening = True
        left_ms = self._left_ms()
        if left_ms <= 0:
            raise httpcore2.ReadTimeout
        data = self._stream.read(max_bytes, timeout=left_ms / 1000)
        self.bytes_in += len(data)
        if not data:
            self.ended = True
        return data

    def close(self) -> None:
        """Close the socket; with SO_LINGER 0 this resets the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Never: TLS is up before a wire exists."""
        raise NotImplementedError

    def get_extra_info(self, info: str) -> Any:
        """Pass questions on to the stream below."""
        return self._stream.get_extra_info(info)

    def _left_ms(self) -> int:
        if self._mark is None:
            return 0
        return self._limit_ms - self._clock.since_ms(self._mark)


@contextmanager
def hushed() -> Iterator[None]:
    """Keep httpcore2's own debug log silent for this call: it prints requests, headers and exceptions.

    Other users of httpcore2 in the same process keep their log.
    """
    logging.getLogger(_HTTP_LOGGER).addFilter(_not_ours)
    token = _speaking.set(True)
    try:
        yield
    finally:
        _speaking.reset(token)


def _not_ours(_record: logging.LogRecord) -> bool:
    return not _speaking.get()
