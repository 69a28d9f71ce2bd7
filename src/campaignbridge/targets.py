"""Where notices go, as configured: by tables `[notices.NAME]` of the settings file, or their environment twins.

A target's secret is named (a variable, or a file that only we can read) or stands in its own variable; it is
looked up when a notice is sent, and never printed. An Apprise URL holds its secret, so it is one.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from campaignbridge.domain.connection import NO_SECRET, Secret
from campaignbridge.domain.errors import InvalidInput

WEBHOOK, APPRISE = "webhook", "apprise"
MOST_TARGETS = 20
KEYS = ("webhook", "secret_env", "secret_file", "apprise_env", "apprise_file")

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,19}")
_TWIN = re.compile(r"CAMPAIGNBRIDGE_NOTICES_([A-Z][A-Z0-9_]{0,19}?)_(WEBHOOK|SECRET|APPRISE)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TODO = "A target has webhook = URL with secret_env or secret_file, or else apprise_env or apprise_file."


@dataclass(frozen=True, slots=True)
class Target:
    """One place where notices go."""

    name: str
    kind: str  # webhook or apprise
    url: Secret = field(default=NO_SECRET, repr=False)  # of a webhook: its path may hold a token
    secret: Secret = field(default=NO_SECRET, repr=False)  # itself, from its own variable
    secret_env: str | None = None  # else the variable that holds it
    secret_file: str | None = None  # else the file


def targets_from(filed: Mapping[str, object], environment: Mapping[str, str]) -> tuple[Target, ...]:
    """Return the targets by name. Raises `InvalidInput` for one that can't be used; it repeats no value."""
    found: dict[str, dict[str, str]] = {}
    for name, table in filed.items():
        if not _NAME.fullmatch(name) or not isinstance(table, dict):
            raise InvalidInput(
                f"The settings name a notice target {name[:20]!a}: a table [notices.NAME] is wanted.",
                todo="A name is up to 20 lower-case letters, digits, _ or -.",
            )
        found[name] = _checked(name, table)
    for variable, text in environment.items():
        twin = _TWIN.fullmatch(variable)
        if twin and text:
            found.setdefault(twin[1].lower(), {})[f"own_{twin[2].lower()}"] = text
    if len(found) > MOST_TARGETS:
        raise InvalidInput(f"There are more than {MOST_TARGETS} notice targets.", todo="Leave some out.")
    return tuple(_target(name, values) for name, values in sorted(found.items()))


def decoded(secret: Secret, *, name: str) -> bytes:
    """Return the key of a webhook's secret: `whsec_` and 24 to 64 bytes in base64."""
    text = secret.reveal().strip()
    try:
        key = base64.b64decode(text.removeprefix("whsec_").encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise InvalidInput(
            f"The secret of the notice target {name} is not whsec_ and 24 to 64 bytes in base64.",
            todo="Make one: printf 'whsec_%s' \"$(openssl rand -base64 32)\"",
        )
    return key


def _checked(name: str, table: Mapping[str, object]) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in table.items():
        if key not in KEYS or not isinstance(value, str) or not value:
            raise InvalidInput(
                f"The notice target {name} can't be understood: {key[:20]!a} is no text that it takes.",
                todo=_TODO,
            )
        values[key] = value
    return values


def _target(name: str, values: Mapping[str, str]) -> Target:
    url = values.get("own_webhook") or values.get("webhook")
    by_apprise = [key for key in ("own_apprise", "apprise_env", "apprise_file") if key in values]
    if bool(url) == bool(by_apprise):
        raise InvalidInput(
            f"The notice target {name} is neither a webhook nor Apprise's, or both.", todo=_TODO
        )
    own, variable, file = (
        ("own_secret", "secret_env", "secret_file") if url else ("own_apprise", "apprise_env", "apprise_file")
    )
    if not any(key in values for key in (own, variable, file)):
        raise InvalidInput(f"The notice target {name} has no secret to sign with.", todo=_TODO)
    named = values.get(variable)
    if named is not None and not _VARIABLE.fullmatch(named):
        raise InvalidInput(
            f"The notice target {name} wants the name of a variable, not a secret itself.", todo=_TODO
        )
    return Target(
        name=name,
        kind=WEBHOOK if url else APPRISE,
        url=Secret(url or ""),
        secret=Secret(values.get(own, "")),
        secret_env=named,
        secret_file=values.get(file),
    )
