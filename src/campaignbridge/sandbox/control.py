"""The control API beside the fake, on the same port. It has no password: it answers on loopback only.

  GET    /                 a page for people: campaigns, truth, requests, faults, switches
  GET    /truth            the truth log as JSON: what was really accepted and mailed, and every request
  GET    /control          this text
  GET    /control/faults   the faults in effect, each with how often it was used
  POST   /control/faults   order faults: a JSON list, such as [{"operation": "send", "kind": "slow", "ms": 900}]
  DELETE /control/faults   forget all faults
  GET    /control/world    the switches
  POST   /control/world    set switches: a JSON object, such as {"repeated_send": "silent_204"}
  GET    /control/outcomes rules for how mail fares where
  POST   /control/outcomes add rules: a JSON list, such as [{"segment": "*wave-3*", "hard_bounces": 60}]
  DELETE /control/outcomes forget all rules
  GET    /control/lists    the lists of the first account
  POST   /control/lists    open a list or change its size: {"id": "b2", "name": "Staff", "members": 12}
  GET    /control/webhooks what waits to be posted, and how the last 1,000 posts were answered
  POST   /control/reset    forget campaigns, segments, webhooks, faults, rules, switches and the truth log

A fault has an operation and a kind. Optional: `times` (1; null: always), `after` (calls that go well first),
`ms`, `status`, `answer` (of apply_late), `applied` (of proxy_page and garbled), `retry_after` and `bare` (of
status_429), `keep` (bytes of a truncated answer).
A rule names deliveries by patterns (`list` id, `segment` name, `title`; `*` and `?` stand for anything) and the rates
and times that count there in place of the switches; rates that it doesn't name are 0. The last rule that fits counts.
A request that can't be done is answered 400 with a reason, and then nothing has changed. Requests that a web
page of another origin could make are refused, by their Host and Origin headers.
Webhooks are posted to http:// addresses on this machine only. One that isn't answered with 2xx within 10 s goes
out again, six times at most; beyond 10,000 that wait, events are lost. Their faults have the operation `webhook`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from textwrap import fill
from typing import Any
from urllib.parse import urlsplit

from campaignbridge.sandbox import behaviour
from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.faults import BREAKS, HOOK_FAULTS, OPERATIONS, QUIRKS, Fault
from campaignbridge.sandbox.outcome_rules import OutcomeRule
from campaignbridge.sandbox.page import STYLE_HASH, render
from campaignbridge.sandbox.wire import BODY_LIMIT, Request, Response

_LOCAL = ("127.0.0.1", "localhost")
_PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src '{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MOST_MEMBERS = 1_000_000  # an unknown subscriber hash costs a look at each of them, once


class Control:
    """Answers the requests beside `/3.0`; which ones, this file's first lines tell."""

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
        match (request.method, request.path):
            case ("GET", path):
                return self._read(path)
            case ("POST", path):
                return self._write(path, request.body)
            case ("DELETE", "/control/faults"):
                self._sandbox.faults.clear()
                return Response(204)
            case ("DELETE", "/control/outcomes"):
                self._sandbox.world.outcome_rules.clear()
                return Response(204)
            case _:
                return _nothing()

    def _read(self, path: str) -> Response:
        sandbox = self._sandbox
        match path:
            case "/":
                return Response(200, _PAGE_HEADERS, render(sandbox).encode())
            case "/truth":
                sandbox.settle()
                return _json(200, sandbox.truth.as_dict())
            case "/control":
                return Response(200, {"Content-Type": "text/plain; charset=utf-8"}, manual().encode())
            case "/control/faults":
                return _json(200, sandbox.faults.listing())
            case "/control/world":
                return _json(200, asdict(sandbox.world.behaviour))
            case "/control/outcomes":
                return _json(200, self._rules())
            case "/control/lists":
                return _json(200, self._lists())
            case "/control/webhooks":
                return _json(200, self._webhooks())
            case _:
                return _nothing()

    def _write(self, path: str, body: bytes) -> Response:
        sandbox = self._sandbox
        match path:
            case "/control/faults":
                sandbox.faults.add(*(Fault.of(order) for order in _list(json.loads(body))))
                return _json(200, sandbox.faults.listing())
            case "/control/world":
                return _json(200, asdict(sandbox.world.behave(**_object(json.loads(body)))))
            case "/control/outcomes":
                sandbox.world.rule_outcomes(*(OutcomeRule.of(order) for order in _list(json.loads(body))))
                return _json(200, self._rules())
            case "/control/lists":
                sandbox.add_list(*_opened(_object(json.loads(body))))
                return _json(200, self._lists())
            case "/control/reset":
                sandbox.reset()
                return Response(204)
            case _:
                return _nothing()

    def _webhooks(self) -> dict[str, Any]:
        with self._sandbox.world.lock:
            hooks = self._sandbox.world.hooks
            # An address may hold a secret: it is not shown.
            known = [{"id": one.id, "list_id": one.list_id} for one in hooks.everywhere()]
            return {"webhooks": known, "waiting": hooks.waiting, "lost": hooks.lost, "log": list(hooks.log)}

    def _rules(self) -> list[dict[str, object]]:
        return [rule.listing() for rule in list(self._sandbox.world.outcome_rules)]

    def _lists(self) -> list[dict[str, Any]]:
        world = self._sandbox.world
        account = world.account(self._sandbox.key)
        assert account is not None, "the sandbox opened this account itself"
        return [
            {"id": item.id, "name": item.name, "members": world.subscribed(item)}
            for item in world.audiences(account.account_id)
        ]


def manual() -> str:
    """Return the control API in words, with every name that it takes."""
    sections = {
        "Operations": ", ".join(sorted(OPERATIONS)),
        "Faults that break a call": ", ".join(sorted(BREAKS)),
        "Faults that change what is told": ", ".join(sorted(QUIRKS)),
        "Faults of webhooks": ", ".join(sorted(HOOK_FAULTS)),
    }
    named = [
        f"{title}:\n{fill(text, 100, initial_indent='  ', subsequent_indent='  ')}"
        for title, text in sections.items()
    ]
    switches = [f"  {name}: {values}" for name, values in behaviour.described().items()]
    return "\n\n".join([str(__doc__).strip(), *named, "Switches:\n" + "\n".join(switches)]) + "\n"


def _opened(order: Mapping[str, Any]) -> tuple[str, str, int]:
    """Read which list is to be opened. Raises ValueError."""
    list_id, name, members = (order.get(key) for key in ("id", "name", "members"))
    plain = isinstance(list_id, str) and list_id.isascii() and list_id.isalnum() and len(list_id) <= 24
    if set(order) != {"id", "name", "members"} or not plain or not isinstance(name, str) or not name:
        raise ValueError("a list has an id of letters and digits, a name, and members")
    if type(members) is not int or not 0 <= members <= _MOST_MEMBERS:
        raise ValueError(f"members is a whole number from 0 to {_MOST_MEMBERS}")
    return str(list_id), name[:100], members


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a JSON list is expected")  # noqa: TRY004  # one kind of error for `handle` to answer
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is expected")  # noqa: TRY004  # one kind of error for `handle` to answer
    return value


def _is_local(headers: Mapping[str, str]) -> bool:
    host = headers.get("host", "127.0.0.1")
    origin = headers.get("origin")
    return urlsplit(f"//{host}").hostname in _LOCAL and (origin is None or urlsplit(origin).netloc == host)


def _nothing() -> Response:
    return _json(404, {"error": "nothing here; GET /control tells what is"})


def _json(status: int, value: object) -> Response:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return Response(status, headers, json.dumps(value).encode())
