"""How a member may change: what is checked, and what is refused in which words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.people import Person
from campaignbridge.sandbox.wire import is_address

STATUSES = ("subscribed", "unsubscribed", "cleaned", "pending", "transactional")
_FIELDS = ("FNAME", "LNAME")
_FAKE = ("foo@example.com", "test@example.com")
_LONGEST = 255


class Turned(Exception):
    """A member that isn't taken: one sentence, and the whole refusal where a call is about one member."""

    def __init__(self, problem: problems.Problem) -> None:
        """Keep the refusal."""
        super().__init__(problem.title)
        self.problem = problem


def email_of(body: Mapping[str, Any]) -> str:
    """Return the address that a body names. Raises Turned when it is none."""
    value = body.get("email_address")
    if not isinstance(value, str) or not is_address(value):
        raise Turned(problems.unwanted("Please provide a valid email address."))
    if value.lower() in _FAKE:
        text = f"{value} looks fake or invalid, please enter a real email address."
        raise Turned(problems.unwanted(text))
    return value


def changed(person: Person, body: Mapping[str, Any], at_ms: int) -> Person:
    """Return a member as a body wants it. Raises Turned; somebody who left can't be brought back."""
    status = body.get("status", person.status)
    if status not in STATUSES and status != person.status:
        wrong = f"Value is not one of the accepted values: {', '.join(STATUSES)}."
        raise Turned(problems.invalid(("status", wrong)))
    if person.status in ("unsubscribed", "cleaned") and status == "subscribed":
        raise Turned(problems.in_compliance_state(person.email))
    kind = body.get("email_type", person.email_type)
    language, vip = body.get("language", person.language), body.get("vip", person.vip)
    if kind not in ("html", "text") or not isinstance(language, str) or not isinstance(vip, bool):
        raise Turned(problems.invalid(("", "email_type, language or vip is not valid.")))
    left = status == "unsubscribed" and person.status != "unsubscribed"
    return replace(
        person,
        status=status,
        merge_fields=_merged(person, body),
        email_type=kind,
        language=language[:_LONGEST],
        vip=vip,
        changed_ms=at_ms,
        reason="N/A (Unsubscribed by an admin)" if left else person.reason,
    )


def newcomer(email: str, body: Mapping[str, Any], status: object, at_ms: int) -> Person:
    """Return a member who hasn't been there. Raises Turned without a status to begin with."""
    if status not in STATUSES:
        wrong = f"Value is not one of the accepted values: {', '.join(STATUSES)}."
        raise Turned(problems.invalid(("status", wrong)))
    fresh = Person(email, str(status), joined_ms=at_ms, changed_ms=at_ms, source="API - Generic")
    return changed(fresh, {**body, "status": status}, at_ms)


def _merged(person: Person, body: Mapping[str, Any]) -> Mapping[str, str]:
    given = body.get("merge_fields", {})
    if not isinstance(given, dict):
        raise Turned(
            problems.invalid(("merge_fields", "Schema describes object, another type found instead."))
        )
    known = {name: given[name] for name in _FIELDS if name in given}
    wrong = [name for name, value in known.items() if not isinstance(value, str) or len(value) > _LONGEST]
    if wrong:
        errors = [(name, "Please enter a text of at most 255 characters") for name in wrong]
        raise Turned(problems.Problem(400, "Invalid Resource", "Your merge fields were invalid.", errors))
    return {**person.merge_fields, **known}
