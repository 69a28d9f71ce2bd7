"""Mailchimp's front door: which operation a request asks for, and whose key it is."""

import base64
import binascii
from dataclasses import replace

from campaignbridge.sandbox import mailing, problems
from campaignbridge.sandbox.answers import ROOT
from campaignbridge.sandbox.call import Call, Quirks
from campaignbridge.sandbox.routes import TABLE, Handler
from campaignbridge.sandbox.wire import BODY_LIMIT, Request, Response
from campaignbridge.sandbox.world import Account, World

PREFIX = "/3.0"


class Mailchimp:
    """The API over one world. Every answer has an `X-Request-Id`; every refusal is problem+json."""

    def __init__(self, world: World) -> None:
        """Speak for this world."""
        self._world = world

    def operation(self, request: Request) -> str:
        """Name the operation that a request asks for, "" when there is none."""
        for pattern, methods in TABLE:
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
            handler, path = self._route(request)
            call = Call(self._world, account, request, at_ms, path, quirks, by)
            if path and _below(request.path).startswith(("/campaigns/", "/reports/")):
                self._befall(call)
            response = handler(call)
        except problems.Problem as problem:
            return problem.response(request_id, ROOT)
        return replace(response, headers={**response.headers, "X-Request-Id": request_id})

    def refusal(self, problem: problems.Problem) -> Response:
        """Answer with a refusal that no handler has decided."""
        return problem.response(self._request_id(), ROOT)

    def throttled(self, retry_after: int | None) -> Response:
        """Answer as beyond the number of connections."""
        return self.refusal(problems.throttled(retry_after))

    def broken(self, status: int) -> Response:
        """Answer with a server error."""
        return self.refusal(problems.broken(status))

    def caller(self, request: Request) -> str | None:
        """Return the account that a request is counted for, None without a key that opens one."""
        try:
            return self._account(request.headers.get("authorization", "")).account_id
        except problems.Problem:
            return None

    def _befall(self, call: Call) -> None:
        # Nothing happens to somebody else's campaign: only to one that the caller could see.
        if call.quirks.archive:
            mailing.archive(self._world, call.campaign(), call.at_ms, by="fault")
        if call.quirks.vanish:
            self._world.hide(call.campaign().id)

    def _route(self, request: Request) -> tuple[Handler, dict[str, str]]:
        for pattern, methods in TABLE:
            found = pattern.fullmatch(_below(request.path))
            if found is None:
                continue
            if request.method not in methods:
                raise problems.method_not_allowed(methods)
            return methods[request.method][1], found.groupdict()
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
        if account is None or account.provider != "mailchimp":
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
