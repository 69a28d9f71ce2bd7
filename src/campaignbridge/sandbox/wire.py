"""What crosses the network: a request, an answer, and what the network does with that answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qsl, unquote, urlsplit

BODY_LIMIT = 5 * 1024 * 1024  # bytes
_QUERY_LIMIT = 64  # parameters
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ADDRESS = re.compile(r"[^@\s]{1,64}@[^@\s]+\.[^@\s.]+")


def is_address(text: str) -> bool:
    """Say whether this looks like an e-mail address."""
    return len(text) <= 254 and _ADDRESS.fullmatch(text) is not None


def is_loopback_url(url: str) -> bool:
    """Say whether this is a plain http address on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme == "http" and host in _LOOPBACK and url.isascii() and url.isprintable()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as received. Header names are lower-case; of a repeated query name the last counts."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    @classmethod
    def parse(cls, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> "Request":
        """Split a request target. Raises ValueError when it has more query parameters than we read."""
        parts = urlsplit(target)
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_QUERY_LIMIT)
        lowered = {name.lower(): value for name, value in headers.items()}
        return cls(method.upper(), unquote(parts.path) or "/", dict(pairs), lowered, body)


@dataclass(frozen=True, slots=True)
class Response:
    """One answer. `status` 0 stands for no answer at all; its effect is then never `deliver`."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


NO_ANSWER = Response(0)


class Delivery(StrEnum):
    """What becomes of the answer."""

    DELIVER = "deliver"
    DROP = "drop"  # the connection is reset; no byte of the answer arrives
    WITHHOLD = "withhold"  # no byte arrives, and the connection stays open until somebody gives up


@dataclass(frozen=True, slots=True)
class Effect:
    """What the network does, as data: whoever carries the answer applies it, `handle` never waits."""

    delivery: Delivery = Delivery.DELIVER
    delay_ms: int = 0  # before any of it
    first_bytes: int | None = None  # of the body; the rest is announced by Content-Length and never comes


DELIVERED = Effect()
DROPPED = Effect(Delivery.DROP)
WITHHELD = Effect(Delivery.WITHHOLD)
