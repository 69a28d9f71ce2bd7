"""Resend's front door: which operation a request asks for, whose key it is, and whether it came too soon."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from campaignbridge.sandbox import mailing
from campaignbridge.sandbox.call import Quirks
from campaignbridge.sandbox.resend import broadcasts, contacts, errors, others
from campaignbridge.sandbox.resend.call import Call
from campaignbridge.sandbox.resend.team import PROVIDER, Team, Teams
from campaignbridge.sandbox.wire import BODY_LIMIT, Request, Response
from campaignbridge.sandbox.world import World

Handler = Callable[[Call], Response]
_BROADCAST = r"/broadcasts/(?P<id>[^/]+)"
_CONTACT = r"/contacts/(?P<contact>[^/]+)"
_SEGMENT = r"/segments/(?P<segment>[^/]+)"
_ROUTES: Mapping[str, Mapping[str, tuple[str, Handler]]] = {
    "/broadcasts": {"GET": ("list_campaigns", broadcasts.listing), "POST": ("create", broadcasts.create)},
    _BROADCAST: {
        "GET": ("inspect", broadcasts.inspect),
        "PATCH": ("update", broadcasts.update),
        "DELETE": ("delete", broadcasts.delete),
    },
    f"{_BROADCAST}/send": {"POST": ("send", broadcasts.send)},
    f"{_BROADCAST}/cancel": {"POST": ("cancel", broadcasts.cancel)},
    f"{_BROADCAST}/duplicate": {"POST": ("replicate", broadcasts.duplicate)},
    f"{_BROADCAST}/recipients": {"GET": ("recipients", broadcasts.recipients)},
    "/segments": {
        "GET": ("segments", contacts.segments),
        "POST": ("create_segment", contacts.create_segment),
    },
    _SEGMENT: {"GET": ("segment", contacts.segment), "DELETE": ("delete_segment", contacts.remove_segment)},
    f"{_SEGMENT}/contacts": {"GET": ("segment_members", contacts.listing)},
    "/contacts": {"GET": ("segment_members", contacts.listing), "POST": ("add_member", contacts.add)},
    _CONTACT: {
        "GET": ("member", contacts.one),
        "PATCH": ("update_member", contacts.update),
        "DELETE": ("archive_member", contacts.remove),
    },
    f"{_CONTACT}/segments": {"GET": ("member_segments", contacts.segments_of)},
    rf"{_CONTACT}/segments/(?P<segment>[^/]+)": {
        "POST": ("add_segment_member", contacts.attach),
        "DELETE": ("remove_segment_member", contacts.detach),
    },
    "/domains": {"GET": ("account", others.domains)},
    r"/domains/(?P<id>[^/]+)": {"GET": ("verified_domain", others.domain)},
    "/contact-properties": {
        "GET": ("merge_fields", others.properties),
        "POST": ("add_field", others.add_property),
    },
    "/emails": {"POST": ("test", others.send_mail)},
    "/emails/metrics": {"GET": ("report", others.metrics)},
    "/webhooks": {"GET": ("webhooks", others.webhooks), "POST": ("add_webhook", others.add_webhook)},
    r"/webhooks/(?P<id>[^/]+)": {
        "GET": ("webhook_info", others.webhook),
        "DELETE": ("delete_webhook", others.remove_webhook),
    },
}
TABLE = tuple((re.compile(pattern), methods) for pattern, methods in _ROUTES.items())
OPERATIONS = frozenset(name for methods in _ROUTES.values() for name, _ in methods.values()) | {
    "schedule",
    "unschedule",
}
_FIRST = frozenset(pattern.split("/")[1] for pattern in _ROUTES)


class Resend:
    """The API over one world. Every answer tells the rate; every refusal has three fields."""

    def __init__(self, world: World, teams: Teams) -> None:
        """Speak for this world."""
        self._world = world
        self._teams = teams

    @staticmethod
    def owns(request: Request) -> bool:
        """Say whether a request is Resend's to answer: by the first part of its path."""
        return request.path.split("/")[1] in _FIRST

    def operation(self, request: Request) -> str:
        """Name the operation, "" when there is none. Two paths mean two things each, by body and by state."""
        for pattern, methods in TABLE:
            found = pattern.fullmatch(request.path)
            if found is None:
                continue
            name = methods[request.method][0] if request.method in methods else ""
            if name == "send" and b'"scheduled_at"' in request.body:
                return "schedule"
            if name == "cancel":
                state = self._world.current(found["id"])
                return "unschedule" if state is not None and state.status == "schedule" else name
            return name
        return ""

    def answer(self, request: Request, at_ms: int, quirks: Quirks, *, by: str = "request") -> Response:
        """Apply a request at a moment and answer it. The caller holds the world's lock."""
        headers: dict[str, str] = {}
        try:
            team = self._team(request)
            headers = self._rate(team, at_ms) if by == "request" else {}
            if len(request.body) > BODY_LIMIT:
                raise errors.Wrong(413, "validation_error", "The body is larger than this sandbox reads.")
            handler, path = self._route(request)
            call = Call(self._world, self._teams, team, request, at_ms, path, quirks, by)
            if "id" in path and request.path.startswith("/broadcasts/"):
                self._befall(call)
            response = handler(call)
        except errors.Wrong as wrong:
            response = wrong.response()
        return replace(response, headers={**headers, **response.headers})

    def caller(self, request: Request) -> str | None:  # noqa: ARG002
        """Return None: no number of calls at once is too much here, only their rate."""
        return None

    def throttled(self, retry_after: int | None) -> Response:
        """Answer as beyond the rate."""
        return errors.throttled(retry_after).response()

    def broken(self, status: int) -> Response:
        """Answer with a server error."""
        return errors.broken(status).response()

    def _rate(self, team: Team, at_ms: int) -> dict[str, str]:
        limit = self._world.behaviour.calls_per_s
        seen = team.counted(at_ms)
        shown = limit or 100
        headers = {
            "ratelimit-limit": str(shown),
            "ratelimit-policy": f"{shown};w=1",
            "ratelimit-remaining": str(max(0, shown - seen)),
            "ratelimit-reset": "1",
        }
        if limit and seen > limit:
            raise errors.Wrong(
                429, "rate_limit_exceeded", "Too many requests. Slow down.", {**headers, "retry-after": "1"}
            )
        return headers

    def _befall(self, call: Call) -> None:
        # Nothing happens to somebody else's broadcast: only to one that the caller could see.
        if call.quirks.archive:
            mailing.archive(self._world, call.broadcast(), call.at_ms, by="fault")
        if call.quirks.vanish:
            self._world.hide(call.broadcast().id)

    def _route(self, request: Request) -> tuple[Handler, dict[str, str]]:
        for pattern, methods in TABLE:
            found = pattern.fullmatch(request.path)
            if found is None:
                continue
            if request.method not in methods:
                raise errors.Wrong(405, "method_not_allowed", "This method isn't allowed here.")
            return methods[request.method][1], found.groupdict()
        raise errors.missing("The requested endpoint was")

    def _team(self, request: Request) -> Team:
        scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
        if not scheme:
            raise errors.Wrong(401, "missing_api_key", "Missing API key in the authorization header.")
        account = self._world.account(key.strip()) if scheme.lower() == "bearer" else None
        if account is None or account.provider != PROVIDER:
            raise errors.Wrong(
                401, "restricted_api_key" if account else "validation_error", "API key is invalid"
            )
        return self._teams.of(account)
