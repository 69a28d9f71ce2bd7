"""One request to Mailchimp and its judgement: what every call of the adapter has in common."""

import base64
from collections.abc import Callable
from typing import TypeVar

from campaignbridge import ports
from campaignbridge.domain.provider import Accepted, Ambiguous, Outcome, Refused
from campaignbridge.providers import mailchimp_wire as wire
from campaignbridge.providers.answers import JsonObject, read_object
from campaignbridge.providers.transport import Answer, Line, Transport

T = TypeVar("T")


class Speech:
    """The way to one account, with its key."""

    def __init__(self, transport: Transport, key: str) -> None:
        basic = base64.b64encode(f"campaignbridge:{key}".encode()).decode()
        self.transport = transport
        self.hide = (key, basic)
        self._headers = {"Authorization": f"Basic {basic}"}

    def get(self, path: str, query: dict[str, str], *, limit_ms: int) -> Answer | Ambiguous | Refused:
        """Ask for something on a connection of its own."""
        return self.transport.ask("GET", path, query=query, headers=self._headers, limit_ms=limit_ms)

    def write(
        self, method: str, path: str, body: JsonObject, *, limit_ms: int
    ) -> Answer | Ambiguous | Refused:
        """Make a repeatable write on a connection of its own."""
        return self.transport.ask(method, path, headers=self._headers, json_body=body, limit_ms=limit_ms)

    def say(
        self, line: ports.Line, method: str, path: str, body: JsonObject | None, *, limit_ms: int
    ) -> Answer | Ambiguous | Refused:
        """Make the one request of a line."""
        assert isinstance(line, Line), "a line comes from this provider's own dial"
        return line.exchange(method, path, headers=self._headers, json_body=body, limit_ms=limit_ms)

    def judge(
        self,
        answer: Answer | Ambiguous | Refused,
        read: Callable[[JsonObject], T | None],
        *,
        reading: bool,
    ) -> Outcome[T]:
        """Accept a 200 whose object `read` understands; anything else is not the documented success."""
        if not isinstance(answer, Answer) or answer.status != 200:
            return self.otherwise(answer, reading=reading)
        body = read_object(answer.body)
        value = None if body is None else read(body)
        if value is None:
            return Ambiguous("unreadable", answer.status, answer.bytes_out)
        return Accepted(value)

    def otherwise(self, answer: Answer | Ambiguous | Refused, *, reading: bool) -> Ambiguous | Refused:
        """Judge what is not the documented success."""
        if isinstance(answer, Answer):
            return wire.classify(answer, reading=reading, hide=self.hide)
        return answer
