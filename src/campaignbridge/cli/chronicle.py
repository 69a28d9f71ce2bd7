"""A campaign's events in words that a person would use."""

from collections.abc import Mapping
from typing import Any

from campaignbridge.cli import terminal
from campaignbridge.cli.moments import clock_time

SYSTEM = "by itself"
_REQUESTS = {
    "create": "Draft",
    "send": "Send",
    "schedule": "Schedule",
    "unschedule": "Unschedule",
    "cancel": "Cancel",
}
_PLAIN = {
    "submitted": "Handed in for review",
    "approval_revoked": "Approval taken back",
}


def lines(events: list[Any], *, provider: str, now_ms: int, width: int = terminal.WIDTH) -> list[str]:
    """Return each event as when, who, what; a long one goes on under its beginning."""
    rows = [(clock_time(one["at"], now_ms), actor_of(one), in_words(one, provider)) for one in events]
    when = max((len(row[0]) for row in rows), default=0)
    who = max((len(row[1]) for row in rows), default=0)
    found = []
    for at, actor, what in rows:
        first, *rest = terminal.wrapped(what, width=max(30, width - when - who - 4)) or [""]
        found.append(f"{at:<{when}}  {actor:<{who}}  {first}")
        found += [f"{'':<{when}}  {'':<{who}}  {more}" for more in rest]
    return found


def actor_of(event: Mapping[str, Any]) -> str:
    """Return who did it."""
    return SYSTEM if event["automatic"] else terminal.clean(event["actor"])


def in_words(event: Mapping[str, Any], provider: str) -> str:
    """Return what happened."""
    kind, data = str(event["kind"]), event["data"]
    if kind in _PLAIN:
        return _PLAIN[kind]
    request, _, outcome = kind.partition("_")
    if request in _REQUESTS and outcome:
        return _of_request(_REQUESTS[request], outcome, data, provider)
    match kind:
        case "created":
            return f"Created, {short(data.get('fingerprint', ''))}"
        case "approved":
            return f"Approved {short(data.get('fingerprint', ''))} for {data.get('max_recipients', 0):,} people at most"
        case "campaign_lock_takeover":
            return f"Recovered an interrupted operation (Interrupted: {data.get('interrupted_operation')})"
        case "draft_adopted":
            return f"Found at {provider} instead of made anew: {_word(data.get('status'))}"
        case _:
            return _of_watching(kind, event, provider)


def _of_request(name: str, outcome: str, data: Mapping[str, Any], provider: str) -> str:
    match outcome:
        case "requested":
            return f"{name} requested"
        case "accepted":
            return f"{name} accepted by {provider}"
        case "refused":
            said = terminal.clean(data.get("detail") or data.get("code") or "")
            return f"{name} refused by {provider}: {said}"
        case "unconfirmed":
            return f"{name} not confirmed ({_word(data.get('reason'))})"
        case "not_called":
            return f"{name} not asked for: it had become too late"
        case "not_made":
            return f"{name} not made: {_word(data.get('code'))}"
        case _:
            return f"{name}: {_word(outcome)}"


def _of_watching(kind: str, event: Mapping[str, Any], provider: str) -> str:
    data = event["data"]
    checked = "Checked automatically" if event["automatic"] else f"Checked with {provider}"
    says = (
        f"{provider} says {_word(data['provider_says'])}"
        if data.get("provider_says")
        else "nothing found there"
    )
    match kind:
        case "reconciled":
            name = _REQUESTS.get(str(data.get("operation")), "Request").lower()
            proved = "took effect" if data.get("applied") else "did not take effect"
            return f"{checked}: {says}; the {name} {proved}{_now(data)}"
        case "followed":
            changed = ", changed there and not by us" if data.get("unexplained") else ""
            return f"{checked}: {says}{changed}{_now(data)}"
        case "watch_stopped":
            return f"{checked}: {says}. Checks stopped: {_word(data.get('reason'))}"
        case "late_outcome":
            late = "accepted" if data.get("accepted") else "not accepted"
            double = ". This may have been a second mailing" if data.get("possible_double") else ""
            return (
                f"A late answer came: {late}, after it was settled as {_word(data.get('settled_as'))}{double}"
            )
        case "lock_released":
            return f"Lock released: {terminal.clean(data.get('reason', ''))}"
        case _:
            return _word(kind).capitalize()


def _now(data: Mapping[str, Any]) -> str:
    """Return where the campaign is, unless that is the provider's own word."""
    same = data.get("state") == data.get("provider_says")
    return "" if same else f". Now {_word(data.get('state'))}"


def short(fingerprint: str) -> str:
    """Return the first eight digits of a fingerprint."""
    return fingerprint[: len("sha256:") + 8]


def _word(code: object) -> str:
    return terminal.clean(code).replace("_", " ")
