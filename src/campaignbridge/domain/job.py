"""A job: background work that survives crashes. Work that isn't safe to repeat is never repeated."""

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from campaignbridge.domain.errors import InvalidInput

LEASE_MS = 120_000
MAX_ATTEMPTS = 5
MAX_BACKOFF_MS = 3_600_000
MINUTE_MS = 60_000

Scalar = str | int | float | bool | None
Payload = Mapping[str, Scalar]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TARGET = re.compile(r"[a-z0-9][a-z0-9_:.-]{0,127}")
_SECRET = re.compile(r"key|secret|token|password|authorization|credential", re.IGNORECASE)
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


class JobState(StrEnum):
    """Where a job is. Queued and claimed are unfinished."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job. Fence and holder are repeated by every later write."""

    id: str
    type: str
    target: str
    payload: Payload
    attempts: int
    max_attempts: int
    fence: int
    holder: str
    taken_over: bool  # its lease had expired under somebody else
    exhausted: bool  # taken over on its last attempt: only to be ended
    started: bool  # its handler isn't retry-safe and had begun


@dataclass(frozen=True, slots=True)
class Done:
    """The job did its work."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The job can never succeed. `code` is stable and lower-case."""

    code: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The job failed and may succeed later: with backoff, or after `after_ms`."""

    code: str
    after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """The job did its work and goes back in the queue, with its attempts reset to 0.

    Give `at` (epoch milliseconds, the store's clock) or `after_ms`. A changed payload may ride along.
    """

    at: int | None = None
    after_ms: int | None = None
    payload: Payload | None = None


JobOutcome = Done | Fail | Retry | Again


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one type of job is run. `retry_safe` has no default: it must be thought about.

    `run` is a plain function or a coroutine function. `abandoned` is told of a job that will never run again;
    it must not contact a provider.
    """

    type: str
    run: Callable[[Job], JobOutcome | Coroutine[Any, Any, JobOutcome]]
    retry_safe: bool
    abandoned: Callable[[Job], None] | None = None
    lease_ms: int = LEASE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job to be queued. Its dedupe key defaults to `type:target`; "" means none."""

    type: str
    target: str
    payload: Payload = field(default_factory=dict)
    dedupe_key: str | None = None
    max_attempts: int = MAX_ATTEMPTS

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.type):
            raise InvalidInput(
                "A job's type is a lower-case identifier.", todo="Use one such as watch_campaign."
            )
        if not _TARGET.fullmatch(self.target):
            raise InvalidInput(
                "A job's target is a lower-case identifier.", todo="Use one such as campaign:ab12."
            )
        if not 1 <= self.max_attempts <= 50:
            raise InvalidInput("A job has 1 to 50 attempts.", todo="Give max_attempts in that range.")
        encode_payload(self.payload)

    @property
    def key(self) -> str | None:
        """The key under which only one unfinished job may exist."""
        return f"{self.type}:{self.target}" if self.dedupe_key is None else self.dedupe_key or None


def encode_payload(payload: Payload) -> str:
    """Return the payload as JSON, or raise `InvalidInput`: flat, small, and without credentials."""
    if len(payload) > 16:
        raise InvalidInput("A job's payload has at most 16 keys.", todo="Store the rest and pass its id.")
    for name, value in payload.items():
        if _SECRET.search(name):
            raise InvalidInput(
                f"A job's payload must not carry a credential, and {name[:40]!r} looks like one.",
                todo="Store the credential and pass its id.",
            )
        if not isinstance(value, Scalar):
            raise InvalidInput("A job's payload is flat.", todo="Store nested data and pass its id.")
        if isinstance(value, str) and len(value.encode(errors="replace")) > 191:
            raise InvalidInput("A text in a job's payload has at most 191 bytes.", todo="Pass an id instead.")
    try:
        text = json.dumps(payload, sort_keys=True, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except ValueError:
        raise InvalidInput(
            "A job's payload holds numbers and valid Unicode text.", todo="Leave out NaN and lone surrogates."
        ) from None
    if size > 2_048:
        raise InvalidInput("A job's payload has at most 2,048 bytes.", todo="Store it and pass its id.")
    return text


def job_id(wall_ms: int, token: str) -> str:
    """Return a fresh opaque id that sorts by when it was made, so that new jobs lie side by side in the store."""
    digits = ""
    for _ in range(8):
        wall_ms, digit = divmod(wall_ms, 36)
        digits = _DIGITS[digit] + digits
    return f"job_{digits}{token}"


def require_code(code: str) -> str:
    """Return a stable error code; anything else is a bug, since messages are stored nowhere."""
    assert _CODE.fullmatch(code), "a job's error is a stable code, never a message"
    return code


def backoff_ms(attempts: int, fraction: float) -> int:
    """Return the wait after `attempts` tries: 1, 2, 4 ... 60 minutes, with up to 10 % more."""
    base = min(MINUTE_MS << min(max(attempts, 1) - 1, 16), MAX_BACKOFF_MS)
    return base + int(base * 0.1 * fraction)
