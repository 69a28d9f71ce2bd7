"""Read what Resend posts to a webhook: JSON, signed in svix's way. Needs no key of the account.

The signature covers `{svix-id}.{svix-timestamp}.{raw body}`; the key is what stands in base64 behind `whsec_`, and
several signatures may stand side by side while a key is being changed. A delivery comes again until it is answered
with 2xx, and by hand from Resend's pages: late, twice or out of order. There is no event about a broadcast as a
whole, only about its mails, each with `broadcast_id`, and about contacts.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.webhook import EventKind, Heard, Unheard
from campaignbridge.providers.answers import JsonObject, child, read_object, text
from campaignbridge.providers.resend_wire import is_id, time_ms

MAX_ADDRESS = 320
TOLERANCE_MS = 300_000
_MINUTE_MS = 60_000
ID, STAMP, SIGNATURE = "svix-id", "svix-timestamp", "svix-signature"

_EVENT_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_SIGNED_AT = re.compile(r"[0-9]{1,12}")
_TYPE = re.compile(r"[a-z_]{1,40}\.[a-z_]{1,40}")
_MOST_SIGNATURES = 8
# What became of a mail, and the word for it. All are word of its broadcast; the last three say it of a person, too.
_MAILS = {
    "email.sent": (EventKind.CAMPAIGN, "sent"),
    "email.delivered": (EventKind.CAMPAIGN, "delivered"),
    "email.bounced": (EventKind.CLEANED, "hard"),
    "email.complained": (EventKind.CLEANED, "abuse"),
    "email.suppressed": (EventKind.REMOVED, "suppressed"),  # Resend itself won't mail this address any more
}
_CONTACTS = {
    "contact.updated": (EventKind.UNSUBSCRIBE, "manual"),
    "contact.deleted": (EventKind.REMOVED, "manual"),
}


class ResendWebhooks:
    """The reader of Resend's webhooks."""

    def parse_webhook(self, headers: Mapping[str, str], body: bytes) -> Heard | Unheard:
        """Return the event of a body, or why there is none. Header names are lower-case.

        A bounce that isn't permanent is no word of the person: the address may be fine tomorrow.
        """
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return Unheard.UNREADABLE
        event = read_object(body)
        kind = "" if event is None else text(event, "type")
        if event is None or not _TYPE.fullmatch(kind):
            return Unheard.UNREADABLE
        if kind not in _MAILS and kind not in _CONTACTS:
            return Unheard.OF_NO_USE
        try:
            fired_at = time_ms(text(event, "created_at"))
        except ValueError:
            return Unheard.UNREADABLE
        if fired_at < 0:
            return Unheard.UNREADABLE
        data = child(event, "data")
        return _of_contact(kind, data, fired_at) if kind in _CONTACTS else _of_mail(kind, data, fired_at)

    def is_authentic(self, headers: Mapping[str, str], body: bytes, signing_key: Secret, now_ms: int) -> bool:
        """Say whether the raw body carries a signature of this key that is at most 300 s old or early."""
        event_id, stamp = headers.get(ID, ""), headers.get(STAMP, "")
        key = _key_of(signing_key)
        if key is None or not _EVENT_ID.fullmatch(event_id) or not _SIGNED_AT.fullmatch(stamp):
            return False
        signatures = headers.get(SIGNATURE, "").split(" ")
        if len(signatures) > _MOST_SIGNATURES:
            return False
        signed = f"{event_id}.{stamp}.".encode() + body
        ours = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        theirs = [one.removeprefix("v1,").encode() for one in signatures if one.startswith("v1,")]
        matching = [one for one in theirs if hmac.compare_digest(one, ours)]
        return bool(matching) and abs(1_000 * int(stamp) - now_ms) <= TOLERANCE_MS


def _key_of(signing_key: Secret) -> bytes | None:
    try:
        key = base64.b64decode(signing_key.reveal().removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key or None


def _of_contact(kind: str, data: JsonObject, fired_at: int) -> Heard | Unheard:
    """Read word of a contact; a change that leaves them subscribed is of no use, and never brings anybody back."""
    if kind == "contact.updated" and data.get("unsubscribed") is not True:
        return Unheard.OF_NO_USE
    address = text(data, "email")
    return (
        Heard(_CONTACTS[kind][0], "", "", _CONTACTS[kind][1], fired_at, address)
        if _is_address(address)
        else Unheard.UNREADABLE
    )


def _of_mail(name: str, data: JsonObject, fired_at: int) -> Heard | Unheard:
    kind, word = _MAILS[name]
    remote_id = text(data, "broadcast_id")
    if remote_id and not is_id(remote_id):
        return Unheard.UNREADABLE
    if name == "email.bounced" and text(child(data, "bounce"), "type").lower() != "permanent":
        kind, word = EventKind.CAMPAIGN, "soft"
    if kind is EventKind.CAMPAIGN and not remote_id:
        return Unheard.OF_NO_USE  # of a mail that belongs to no broadcast
    to = data.get("to")
    address = to[0] if isinstance(to, list) and len(to) == 1 and isinstance(to[0], str) else ""
    if not _is_address(address):
        if kind is not EventKind.CAMPAIGN:
            return Unheard.UNREADABLE
        address = ""
    if kind is EventKind.CAMPAIGN:
        # Every mail of a broadcast brings one: the minute is enough to be woken by, and to know it again.
        fired_at = fired_at // _MINUTE_MS * _MINUTE_MS
    return Heard(kind, "", remote_id, word, fired_at, address)


def _is_address(text: str) -> bool:
    return 3 <= len(text) <= MAX_ADDRESS and "@" in text and text.isprintable()
