"""One request to Resend and its judgement: what every call of the adapter has in common."""

from collections.abc import Callable
from typing import TypeVar

from campaignbridge import ports
from campaignbridge.domain.provider import Accepted, Ambiguous, Outcome, Refused
from campaignbridge.providers import resend_wire as wire
from campaignbridge.providers.answers import JsonObject, read_object
from campaignbridge.providers.transport import Answer, Line, Transport

T = TypeVar("T")
Read = Callable[[JsonObject], T | None]


class Speech:
    """The way to one account, with its key."""

    def __init__(self, transport: Transport, key: str) -> None:
        self.transport = transport
        self._headers = {"Authorization": f"Bearer {key}"}
        self._hide = (key,)

    def get(self, path: str, query: dict[str, str], read: Read[T], *, limit_ms: int) -> Outcome[T]:
        """Read something: accepted is a 200 whose object `read` understands."""
        answer = self.transport.ask("GET", path, query=query, headers=self._headers, limit_ms=limit_ms)
        return self._judge(answer, read, status=200, reading=True)

    def ask(
        self,
        method: str,
        path: str,
        body: JsonObject | None,
        read: Read[T],
        *,
        status: int = 200,
        limit_ms: int,
    ) -> Outcome[T]:
        """Make a repeatable write on a connection of its own."""
        answer = self.transport.ask(method, path, headers=self._headers, json_body=body, limit_ms=limit_ms)
        return self._judge(answer, read, status=status, reading=False)

    def say(  # one argument for each part of a request and its success
        self,
        line: ports.Line,
        method: str,
        path: str,
        body: JsonObject | None,
        read: Read[T],
        *,
        status: int = 200,
        limit_ms: int,
    ) -> Outcome[T]:
        """Make the one request of a line."""
        assert isinstance(line, Line), "a line comes from this provider's own dial"
        answer = line.exchange(method, path, headers=self._headers, json_body=body, limit_ms=limit_ms)
        return self._judge(answer, read, status=status, reading=False)

    def _judge(
        self, answer: Answer | Ambiguous | Refused, read: Read[T], *, status: int, reading: bool
    ) -> Outcome[T]:
        """Accept the documented status with an object that `read` understands; all else isn't the success."""
        if not isinstance(answer, Answer):
            return answer
        if answer.status != status:
            return wire.classify(answer, reading=reading, hide=self._hide)
        body = read_object(answer.body)
        value = None if body is None else read(body)
        if value is None:
            return Ambiguous("unreadable", answer.status, answer.bytes_out)
        return Accepted(value)
