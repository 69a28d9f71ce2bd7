"""Read answers without trusting them: JSON objects, typed fields, words for people, waiting times."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import quote

DETAIL_MAX_CHARS = 300
NAME_MAX_CHARS = 200

# Cut before masking, so that a hostile megabyte costs nothing; far more than is ever shown.
_RAW_MAX_CHARS = 2_000
_MAX_WAIT_DIGITS = 6
_WORD = re.compile(r"\w{3,}")
_ADDRESS = re.compile(r'(?:"[^"\s]*"|[^\s<>,;()"]*)@[^\s<>,;()"]+')

JsonObject = Mapping[str, object]


def read_object(body: bytes) -> JsonObject | None:
    """Return the JSON object in `body`, or None if it isn't one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def child(value: JsonObject, name: str) -> JsonObject:
    """Return the object under `name`; an empty one where there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def text(value: JsonObject, name: str) -> str:
    """Return the string under `name`; an empty one where there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, str) else ""


def whole(value: JsonObject, name: str) -> int | None:
    """Return the whole number under `name`, or None; true and false are no numbers."""
    inner = value.get(name)
    return inner if isinstance(inner, int) and not isinstance(inner, bool) else None


def time_ms(stamp: str) -> int:
    """Return an ISO 8601 time as epoch milliseconds; without a zone it is UTC.

    Raises `ValueError` where it is no such time.
    """
    moment = datetime.fromisoformat(stamp)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def retry_after_s(headers: Mapping[str, str]) -> int | None:
    """Return the seconds of a Retry-After header; None without one, or where it is a date."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit() and len(value) <= _MAX_WAIT_DIGITS:
        return int(value)
    return None


def clean(words: str, *, hide: Iterable[str] = ()) -> str:
    """Return a provider's words fit for logs and pages: one line, no addresses, nothing of `hide`."""
    # Cut only at a blank, or half an address could lose the sign that makes it one.
    if len(words) > _RAW_MAX_CHARS:
        words = words[:_RAW_MAX_CHARS].rpartition(" ")[0]
    for secret in hide:
        words = words.replace(secret, "<key>")
    return _ADDRESS.sub("<address>", _one_line(words))[:DETAIL_MAX_CHARS]


def cleaned_name(words: str) -> str:
    """Return a name that somebody gave at a provider: one line, printable, at most 200 characters."""
    return _one_line(words[:_RAW_MAX_CHARS])[:NAME_MAX_CHARS].rstrip()


def forget(words: str, addresses: Iterable[str]) -> str:
    """Return `words` without these addresses, whole or encoded, and without their part before the sign.

    It hides too much rather than too little: any word that is also a word of such a part goes.
    """
    local = {address.rpartition("@")[0] for address in addresses}
    parts = {*addresses, *local, *(word for part in local for word in _WORD.findall(part))}
    parts |= {quote(part, safe="") for part in parts}
    for part in sorted(parts - {""}, key=len, reverse=True):
        words = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", "<address>", words, flags=re.IGNORECASE)
    return words


def _one_line(words: str) -> str:
    spaced = " ".join(words.split())
    return "".join(char for char in spaced if char == " " or unicodedata.category(char)[0] not in "CZ")
