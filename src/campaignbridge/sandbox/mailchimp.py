"""Mailchimp's front door: which path and method is which operation, and whose key it is."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from campaignbridge.sandbox import actions, audiences, campaigns, problems
from campaignbridge.sandbox.answers import ROOT
from campaignbridge.sandbox.call import Call, Quirks
from campaignbridge.sandbox.wire import BODY_LIMIT, Request, Response
from campaignbridge.sandbox.world import Account, World

PREFIX = "/3.0"
Handler = Callable[[Call], Response]
_ID = r"(?P<id>[^/]+)"
_ROUTES: tuple[tuple[str, Mapping[str, tuple[str, Handler]]], ...] = (
    ("", {"GET": ("account", audiences.account)}),
    ("/ping", {"GET": ("ping", audiences.ping)}),
    ("/lists", {"GET": ("lists", audiences.lists)}),
    (f"/lists/{_ID}", {"GET": ("list", audiences.one)}),
    (f"/lists/{_ID}/merge-fields", {"GET": ("merge_fields", audiences.merge_fields)}),
    ("/campaigns", {"GET": ("list_campaigns", campaigns.listing), "POST": ("create", campaigns.create)}),
    (
        f"/campaigns/{_ID}",
        {
            "GET": ("inspect", campaigns.inspect),
            "PATCH": ("update", campaigns.update),
            "DELETE": ("delete", campaigns.delete),
        },
    ),
    (
        f"/campaigns/{_ID}/content",
        {"GET": ("read_content", campaigns.read_content), "PUT": ("content", campaigns.put_content)},
    ),
    (f"/campaigns/{_ID}/send-checklist", {"GET": ("checklist", campaigns.read_checklist)}),
    (f"/campaigns/{_ID}/actions/test", {"POST": ("test", actions.test)}),
    (f"/campaigns/{_ID}/actions/schedule", {"POST": ("schedule", actions.schedule)}),
    (f"/campaigns/{_ID}/actions/unschedule", {"POST": ("unschedule", actions.unschedule)}),
    (f"/campaigns/{_ID}/actions/send", {"POST": ("send", actions.send)}),
    (f"/campaigns/{_ID}/actions/cancel-send", {"POST": ("cancel", actions.cancel)}),
    (f"/campaigns/{_ID}/actions/replicate", {"POST": ("replicate", actions.replicate)}),
)
_TABLE = tuple((re.compile(pattern), methods) for pattern, methods in _ROUTES)


class Mailchimp:
    """The API over one world. Every answer has an `X-Request-Id`; every refusal is problem+json."""

    def __init__(self, world: World) -> None:
        """Speak for this world."""
        self._world = world

    def operation(self, request: Request) -> str:
        """Name the operation that a request asks for, "" when there is none."""
        for pattern, methods in _TABLE:
            if pattern.fullmatch(_below(request.path)):
                return methods[request.method][0] if request.method in methods else ""
        return ""

    def answer(self, request: Request, at_ms: int, quirks: Quirks, *, by: str = "request") -> Response:
        """Apply a request at a moment and answer it. The caller holds the world's lock."""
        request_id = self._request_id()
        try:
            if len(request.body) > BODY_LIMIT:
                raise problems.too_large()
            account = self._account(request.headers.get("authorization", ""))
            handler, subject = self._route(request)
            call = Call(self._world, account, request, at_ms, subject, quirks, by)
            if quirks.vanish and subject and handler not in (audiences.one, audiences.merge_fields):
                self._vanish(call)
            response = handler(call)
        except problems.Problem as problem:
            return problem.response(request_id, ROOT)
        return replace(response, headers={**response.headers, "X-Request-Id": request_id})

    def refusal(self, problem: problems.Problem) -> Response:
        """Answer with a refusal that no handler has decided."""
        return problem.response(self._request_id(), ROOT)

    def _vanish(self, call: Call) -> None:
        # Somebody else's campaign must not vanish: only one that the caller could see.
        self._world.hide(call.campaign().id)

    def _route(self, request: Request) -> tuple[Handler, str]:
        for pattern, methods in _TABLE:
            found = pattern.fullmatch(_below(request.path))
            if found is None:
                continue
            if request.method not in methods:
                raise problems.method_not_allowed(methods)
            return methods[request.method][1], found.groupdict().get("id", "")
        raise problems.missing()

    def _account(self, header: str) -> Account:
        scheme, _, rest = header.strip().partition(" ")
        match scheme.lower():
            case "":
                raise problems.key_missing()
            case "bearer":
                key = rest.strip()
            case "basic":
                key = _password(rest)
            case _:
                raise problems.key_invalid()
        account = self._world.account(key)
        if account is None:
            raise problems.key_invalid()
        return account

    def _request_id(self) -> str:
        digits = self._world.digest("request", 32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _below(path: str) -> str:
    """Return what stands below the prefix, without a trailing slash; something unroutable otherwise."""
    if path != PREFIX and not path.startswith(f"{PREFIX}/"):
        return "\n"
    return path[len(PREFIX) :].rstrip("/")


def _password(encoded: str) -> str:
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise problems.key_invalid() from None
    return text.partition(":")[2]
