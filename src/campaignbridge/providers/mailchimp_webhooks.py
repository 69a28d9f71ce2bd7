"""Read what Mailchimp posts to a webhook: a form, signed where the webhook was made with signing. Needs no key.

There is no delivery id, so an event is known by what it says; a delivery is repeated until it is answered
with 2xx, and may come late, twice or out of order. Seen in the vendor's guide and in public handlers.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.webhook import EventKind, Heard, Unheard

MAX_FIELDS = 1_000  # a list with all its merge fields stays well below it
MAX_ADDRESS = 320
TOLERANCE_MS = 300_000
SIGNATURE = "x-mailchimp-signature"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORD = re.compile(r"[a-z][a-z_]{0,19}")
_TYPE = re.compile(r"[a-z_]{1,40}")
_FIRED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)
_SIGNED_AT = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_SIGNATURES = 8
_KINDS = {
    "campaign": EventKind.CAMPAIGN,
    "unsubscribe": EventKind.UNSUBSCRIBE,
    "cleaned": EventKind.CLEANED,
    "upemail": EventKind.REMOVED,  # the old address has been given up; the new one is nobody's business here
}


class MailchimpWebhooks:
    """The reader of Mailchimp's webhooks."""

    def parse_webhook(self, headers: Mapping[str, str], body: bytes) -> Heard | Unheard:
        """Return the event of a body, or why there is none. Header names are lower-case."""
        if headers.get("content-type", "").partition(";")[0].strip().lower() != (
            "application/x-www-form-urlencoded"
        ):
            return Unheard.UNREADABLE
        fields = _fields(body)
        if fields is None or not _TYPE.fullmatch(fields.get("type", "")):
            return Unheard.UNREADABLE
        kind = _KINDS.get(fields["type"])
        if kind is None:
            return Unheard.OF_NO_USE
        fired_at = _moment(fields.get("fired_at", ""))
        audience = fields.get("data[list_id]", "")
        if fired_at is None or not _ID.fullmatch(audience):
            return Unheard.UNREADABLE
        if kind is EventKind.CAMPAIGN:
            return _of_campaign(fields, audience, fired_at)
        return _of_person(kind, fields, audience, fired_at)

    def is_authentic(self, headers: Mapping[str, str], body: bytes, signing_key: Secret, now_ms: int) -> bool:
        """Say whether the raw body carries a signature of this key that is at most 300 s old or early."""
        parts = [part.strip().partition("=") for part in headers.get(SIGNATURE, "").split(",")]
        stamps = [value for name, _, value in parts if name == "t"]
        digests = [value for name, _, value in parts if name == "v1" and _DIGEST.fullmatch(value)]
        if len(stamps) != 1 or not _SIGNED_AT.fullmatch(stamps[0]) or len(parts) > _MOST_SIGNATURES:
            return False
        signed = f"{stamps[0]}.".encode() + body
        ours = hmac.new(signing_key.reveal().encode(), signed, hashlib.sha256).hexdigest()
        matching = [one for one in digests if hmac.compare_digest(one, ours)]
        return bool(matching) and abs(1_000 * int(stamps[0]) - now_ms) <= TOLERANCE_MS


def _fields(body: bytes) -> dict[str, str] | None:
    """Return the form's fields; None for what is no form, or names a field twice."""
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        return None
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else None


def _of_campaign(fields: Mapping[str, str], audience: str, fired_at: int) -> Heard | Unheard:
    remote_id = fields.get("data[id]", "")
    if not _ID.fullmatch(remote_id):
        return Unheard.UNREADABLE
    return Heard(EventKind.CAMPAIGN, audience, remote_id, _word(fields, "data[status]"), fired_at)


def _of_person(kind: EventKind, fields: Mapping[str, str], audience: str, fired_at: int) -> Heard | Unheard:
    address = fields.get("data[old_email]" if kind is EventKind.REMOVED else "data[email]", "").strip()
    remote_id, word = fields.get("data[campaign_id]", ""), _word(fields, "data[reason]")
    if fields.get("data[action]") == "delete" and word != "abuse":
        kind = EventKind.REMOVED  # by somebody at Mailchimp, or by another program
    if not 3 <= len(address) <= MAX_ADDRESS or "@" not in address or not address.isprintable():
        return Unheard.UNREADABLE
    if remote_id and not _ID.fullmatch(remote_id):
        return Unheard.UNREADABLE
    return Heard(kind, audience, remote_id, word, fired_at, address)


def _word(fields: Mapping[str, str], name: str) -> str:
    """Return one of the provider's words; anything that is no word may hold anything, and isn't kept."""
    value = fields.get(name, "")
    return value if _WORD.fullmatch(value) else ""


def _moment(text: str) -> int | None:
    """Return the epoch milliseconds of `2009-03-26 21:40:57`, which has no zone and is taken for UTC."""
    if not _FIRED.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
    found = int(moment.timestamp()) * 1_000
    return found if found >= 0 else None
