"""Refusals in Mailchimp's shape: `application/problem+json`, five fields, and `errors` on validation."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from campaignbridge.sandbox.wire import Response

_TYPE = "https://mailchimp.com/developer/marketing/docs/errors/"
NOT_READY = "Your Campaign is not ready to send."
NOT_SCHEDULABLE = "This campaign cannot be scheduled: ."
NAME_TAKEN = "Sorry, that tag already exists."
UNKNOWN_CONDITION = "This sandbox evaluates EmailAddress and StaticSegment conditions only."


class Problem(Exception):
    """A request that is refused. Nothing has been applied when it is raised."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        *,
        typed: bool = True,
    ) -> None:
        """Keep what the answer will say; `errors` are pairs of field and message. Some refusals lack `type`."""
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.typed = typed

    def response(self, request_id: str, root: str) -> Response:
        """Return the answer. `root` is the address that the schema link points into."""
        body: dict[str, Any] = {
            **({"type": _TYPE} if self.typed else {}),
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": request_id,
        }
        if self.errors:
            body["errors"] = [{"field": field, "message": message} for field, message in self.errors]
        headers = {
            "Content-Type": "application/problem+json; charset=utf-8",
            "X-Request-Id": request_id,
            "Link": f'<{root}/schema/3.0/Definitions/ProblemDetailDocument.json>; rel="describedBy"',
            **self.headers,
        }
        return Response(self.status, headers, json.dumps(body, ensure_ascii=False).encode())


def invalid(*errors: tuple[str, str]) -> Problem:
    """Return the refusal of a body or query that doesn't fit the schema."""
    detail = (
        "The resource submitted could not be validated. For field-specific details, see the 'errors' array."
    )
    return Problem(400, "Invalid Resource", detail, errors)


def bad_request(detail: str) -> Problem:
    """Return the refusal of a well-formed request at the wrong time."""
    return Problem(400, "Bad Request", detail)


def missing() -> Problem:
    """Return the refusal of an unknown id or path."""
    return Problem(404, "Resource Not Found", "The requested resource could not be found.")


def key_invalid() -> Problem:
    """Return the refusal of a key that opens nothing."""
    detail = "Your API key may be invalid, or you've attempted to access the wrong datacenter."
    return Problem(401, "API Key Invalid", detail)


def key_missing() -> Problem:
    """Return the refusal of a request without credentials."""
    return Problem(401, "API Key Missing", "Your request did not include an API key.")


def method_not_allowed(allowed: Iterable[str]) -> Problem:
    """Return the refusal of a method that this path doesn't know."""
    names = ", ".join(allowed)
    detail = "The requested method and resource are not compatible. See the Allow header."
    return Problem(405, "Method Not Allowed", detail, headers={"Allow": names})


def unwanted(detail: str) -> Problem:
    """Return the refusal of an address that is none, or that nobody reads."""
    return Problem(400, "Invalid Resource", detail)


def member_exists(email: str) -> Problem:
    """Return the refusal to add somebody twice."""
    detail = f"{email} is already a list member. Use PUT to insert or update list members."
    return Problem(400, "Member Exists", detail, typed=False)


def in_compliance_state(email: str) -> Problem:
    """Return the refusal to bring back somebody who left. It is final."""
    why = (
        "is in a compliance state due to unsubscribe, bounce, or compliance review and cannot be subscribed."
    )
    return Problem(400, "Member In Compliance State", f"{email} {why}", typed=False)


def not_removable() -> Problem:
    """Return the refusal to archive somebody who is no active member."""
    detail = (
        "This list member cannot be removed. Can not archive a contact that is bounced, pending or archived"
    )
    return Problem(405, "Method Not Allowed", detail, headers={"Allow": "GET, PUT"})


def not_static(number: int) -> Problem:
    """Return the refusal to name members of a saved segment."""
    detail = f"A Static Segment with an id of {number} does not exist for this list"
    return Problem(404, "Resource Not Found", detail)


def plan_gate(what: str) -> Problem:
    """Return the refusal of something that the account's plan doesn't include."""
    return Problem(403, "Forbidden", f"Your plan does not include {what}.")


def too_large() -> Problem:
    """Return the refusal of a body beyond the limit."""
    return Problem(413, "Request Entity Too Large", "The request body is larger than this sandbox reads.")


def throttled(retry_after: int | None) -> Problem:
    """Return the refusal of a request beyond the number of simultaneous connections."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    detail = "You have exceeded the limit of 10 simultaneous connections."
    return Problem(429, "Too Many Requests", detail, headers=headers)


def broken(status: int) -> Problem:
    """Return a server error in the provider's own words."""
    return Problem(status, "Internal Server Error", "An unexpected internal error has occurred.")
