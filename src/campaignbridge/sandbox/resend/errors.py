"""Refusals in Resend's shape: three fields, of which `name` is the code."""

import json
from collections.abc import Mapping

from campaignbridge.sandbox.wire import Response

JSON = {"Content-Type": "application/json; charset=utf-8"}


class Wrong(Exception):
    """A request that is refused. Nothing has been applied when it is raised."""

    def __init__(
        self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep what the answer will say."""
        super().__init__(name)
        self.status = status
        self.name = name
        self.message = message
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the answer."""
        body = {"statusCode": self.status, "message": self.message, "name": self.name}
        return Response(self.status, {**JSON, **self.headers}, json.dumps(body).encode())


def missing(what: str) -> Wrong:
    """Return the refusal of an unknown id or path."""
    return Wrong(404, "not_found", f"{what} not found")


def lacking(field: str) -> Wrong:
    """Return the refusal of a body without a field that must be there."""
    return Wrong(422, "missing_required_field", f"Missing `{field}` field.")


def invalid(message: str) -> Wrong:
    """Return the refusal of a value that can't be."""
    return Wrong(422, "validation_error", message)


def wrong_state(message: str) -> Wrong:
    """Return the refusal of a well-formed request at the wrong time; seen as 403 with this name."""
    return Wrong(403, "validation_error", message)


def throttled(retry_after: int | None) -> Wrong:
    """Return the refusal of a call beyond the rate."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Wrong(429, "rate_limit_exceeded", "Too many requests. Slow down.", headers)


def broken(status: int) -> Wrong:
    """Return a server error in Resend's own words."""
    return Wrong(status, "application_error", "Internal server error.")
