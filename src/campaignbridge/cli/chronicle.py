"""A campaign's events in words that a person would use."""

from collections.abc import Mapping
from typing import Any

from campaignbridge.cli import terminal
from campaignbridge.cli.moments import clock_time, zoned

SYSTEM = "by itself"
_REQUESTS = {
    "create": "Draft",
    "send": "Send",
    "schedule": "Schedule",
    "unschedule": "Unschedule",
    "cancel": "Cancel",
    "test": "Test",
    "draft": "Draft",
    "retire": "Retiring",
}
_PLAIN = {
    "submitted": "Handed in for review",
    "approval_revoked": "Approval taken back",
    "withdrawn": "Draft taken back to be edited; it stays at {provider}, unsent",
    "archived": "Put away",
    "cancelled": "Cancelled here; {provider} was asked for nothing",
    "draft_retired": "Draft made unsendable at {provider}; a new one can be made",
    "retired_but_went": "{provider} deleted the draft, and its record names people who were mailed",
    "possible_double_content": "Another campaign with this content is on its way too, or went lately",
}
_OF_REQUESTS = frozenset("requested accepted refused unconfirmed not_called not_made".split())


def lines(
    events: list[Any],
    *,
    provider: str,
    now_ms: int,
    due: Mapping[str, int] | None = None,
    width: int = terminal.WIDTH,
) -> list[str]:
    """Return each event as when, who, what; a long one goes on under its beginning.

    `due` has the send time that an attempt asked for.
    """
    rows = [
        (clock_time(one["at"], now_ms), actor_of(one), in_words(one, provider) + _for(one, due or {}))
        for one in events
    ]
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


def _for(event: Mapping[str, Any], due: Mapping[str, int]) -> str:
    at = due.get(str(event["attempt_id"])) if event["kind"] == "schedule_requested" else None
    return "" if at is None else f" for {zoned(at)}"


def in_words(event: Mapping[str, Any], provider: str) -> str:
    """Return what happened."""
    kind, data = str(event["kind"]), event["data"]
    if kind == "cancelled" and data.get("retired"):
        return f"Cancelled: its draft at {provider} was made unsendable before a send could take effect"
    if kind in _PLAIN:
        return _PLAIN[kind].format(provider=provider)
    request, _, outcome = kind.partition("_")
    if request in _REQUESTS and outcome in _OF_REQUESTS:
        return _of_request(_REQUESTS[request], outcome, data, provider)
    told = _of_person(kind, data)
    return told or _of_watching(kind, event, provider)


def _of_person(kind: str, data: Mapping[str, Any]) -> str:
    """Return what a person did to the campaign here; empty for anything else."""
    match kind:
        case "created":
            origin = f" as a copy of {terminal.clean(data['source'])}" if data.get("source") else ""
            return f"Created{origin}, {short(data.get('fingerprint', ''))}"
        case "content_changed":
            return f"Content is now revision {data.get('revision')}, {short(data.get('fingerprint', ''))}"
        case "audience_changed":
            return f"Audience is now {terminal.clean(data.get('audience'))}"
        case "approved":
            return f"Approved {short(data.get('fingerprint', ''))} for {data.get('max_recipients', 0):,} people at most"
        case "lock_released":
            return f"Lock released: {terminal.clean(data.get('reason', ''))}"
        case "resolved":
            return _of_resolving(data)
        case "acknowledged":
            return f"Flag {_word(data.get('flag'))} cleared: {terminal.clean(data.get('reason', ''))}"
        case _:
            return ""


def _of_resolving(data: Mapping[str, Any]) -> str:
    mailed = data.get("mailed")
    after = f" after {mailed:,} mails" if isinstance(mailed, int) else ""
    verdict, evidence = _word(data.get("verdict")), terminal.clean(data.get("evidence", ""))
    return f"Settled by hand as {verdict}{after}: {evidence}"


def _of_request(name: str, outcome: str, data: Mapping[str, Any], provider: str) -> str:
    match outcome:
        case "requested":
            return f"{name} requested"
        case "accepted" if name == "Test":
            return f"Test accepted by {provider}; only its own addresses were mailed"
        case "accepted":
            return f"{name} accepted by {provider}"
        case "refused":
            said = terminal.clean(data.get("detail") or _word(data.get("code") or ""))
            return f"{name} refused by {provider}: {said}"
        case "unconfirmed":
            return f"{name} not confirmed ({_word(data.get('reason') or data.get('code'))})"
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
        case "watch_failed":
            return f"{checked}: it failed again and again, for a reason of ours. Tried again in an hour"
        case "webhook_heard":
            word = f"{provider} sent word: {_word(data.get('provider_says') or 'something happened')}"
            return (
                f"{word}. It is looked at, and checks go on"
                if data.get("restarted")
                else f"{word}. It is looked at"
            )
        case "watch_stopped":
            why = f"Checks stopped: {_word(data.get('reason'))}"
            read = data.get("provider_says") or data.get("reason") == "missing"
            return f"{checked}: {says}. {why}" if read else why
        case "late_outcome":
            late = "accepted" if data.get("accepted") else "not accepted"
            double = ". This may have been a second mailing" if data.get("possible_double") else ""
            return (
                f"A late answer came: {late}, after it was settled as {_word(data.get('settled_as'))}{double}"
            )
        case "campaign_lock_takeover":
            return f"Recovered an interrupted operation (Interrupted: {data.get('interrupted_operation')})"
        case "draft_adopted":
            return f"Found at {provider} instead of made anew: {_word(data.get('status'))}"
        case "draft_orphaned":
            return f"A second draft stands at {provider} ({terminal.clean(data.get('remote_id'))}); it is never sent"
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
