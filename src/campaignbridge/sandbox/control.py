"""The control API beside the fake: the truth log, faults, behaviour and reset, as plain HTTP answers."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.faults import Fault
from campaignbridge.sandbox.page import render
from campaignbridge.sandbox.wire import BODY_LIMIT, Request, Response

_LOCAL = ("127.0.0.1", "localhost")
_PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


class Control:
    """GET /, GET /truth, GET|POST|DELETE /control/faults, GET|POST /control/world, POST /control/reset.

    It has no password: it is for loopback. Requests that a web page of another origin could make are
    refused, by their Host and Origin headers.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        """Control this sandbox."""
        self._sandbox = sandbox

    def handle(self, request: Request) -> Response:
        """Answer one request: 400 with a reason when it can't be done, and then nothing has changed."""
        try:
            if not _is_local(request.headers):
                return _json(403, {"error": "only from this machine's own address"})
            if len(request.body) > BODY_LIMIT:
                return _json(413, {"error": "body too large"})
            return self._answer(request)
        except (ValueError, RecursionError) as error:
            return _json(400, {"error": str(error)[:300]})

    def _answer(self, request: Request) -> Response:
        sandbox = self._sandbox
        match (request.method, request.path):
            case ("GET", "/"):
                return Response(200, _PAGE_HEADERS, render(sandbox).encode())
            case ("GET", "/truth"):
                sandbox.settle()
                return _json(200, sandbox.truth.as_dict())
            case ("GET", "/control/faults"):
                return _json(200, sandbox.faults.listing())
            case ("POST", "/control/faults"):
                orders = json.loads(request.body)
                sandbox.faults.add(*(Fault.of(order) for order in _list(orders)))
                return _json(200, sandbox.faults.listing())
            case ("DELETE", "/control/faults"):
                sandbox.faults.clear()
                return Response(204)
            case ("GET", "/control/world"):
                return _json(200, asdict(sandbox.world.behaviour))
            case ("POST", "/control/world"):
                changes = json.loads(request.body)
                return _json(200, asdict(sandbox.world.behave(**_object(changes))))
            case ("POST", "/control/reset"):
                sandbox.reset()
                return Response(204)
            case _:
                return _json(404, {"error": "nothing here"})


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a JSON list of faults is expected")  # noqa: TRY004  # one kind of error for `handle` to answer
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is expected")  # noqa: TRY004  # one kind of error for `handle` to answer
    return value


def _is_local(headers: Mapping[str, str]) -> bool:
    host = headers.get("host", "127.0.0.1")
    origin = headers.get("origin")
    return urlsplit(f"//{host}").hostname in _LOCAL and (origin is None or urlsplit(origin).netloc == host)


def _json(status: int, value: object) -> Response:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return Response(status, headers, json.dumps(value).encode())
