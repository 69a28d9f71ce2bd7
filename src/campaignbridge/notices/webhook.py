"""A notice as a webhook, signed by the Standard Webhooks scheme.

1. The body is JSON: `type`, `timestamp` (when it was sent) and `data`.
2. `webhook-id` is the notice's id: the same at every try, so that a receiver can drop what it has already.
3. `webhook-signature` is `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`, by the shared key.

One request on a fresh connection under one deadline; no redirect is followed, and little of the answer is read.
"""

import base64
import hashlib
import hmac
from urllib.parse import urlsplit

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.notice import Message, stamp
from campaignbridge.domain.provider import Ambiguous, Refused
from campaignbridge.ports import Clock
from campaignbridge.providers.transport import Transport, encoded

MAX_ANSWER_BYTES = 16_384


class SignedWebhook:
    """One receiver of signed webhooks."""

    def __init__(self, url: Secret, key: bytes, clock: Clock) -> None:
        """Check the address: https, or this machine itself. Raises `ValueError` with a sentence for people."""
        address = url.reveal()
        try:
            parts = urlsplit(address)
            host = parts.hostname or ""
        except ValueError:
            parts, host = urlsplit(""), ""
        # Whoever may write the settings has allowed the host by naming it.
        self._transport = Transport(
            address, clock, allow_hosts=frozenset({host}), max_answer_bytes=MAX_ANSWER_BYTES
        )
        self._path = "/" if parts.path in ("", "/") or parts.path.endswith("/") else ""
        self._key = key

    def tell(self, message: Message, *, limit_ms: int) -> str | None:
        """Post it once. Return None when the receiver took it (2xx), else a stable code of why not."""
        body = {
            "type": message.type,
            "timestamp": stamp(message.at),
            "data": {**message.data, **_words(message)},
        }
        seconds = str(message.at // 1000)
        signed = f"{message.id}.{seconds}.".encode() + encoded(body)
        signature = base64.b64encode(hmac.digest(self._key, signed, hashlib.sha256)).decode("ascii")
        headers = {
            "webhook-id": message.id,
            "webhook-timestamp": seconds,
            "webhook-signature": f"v1,{signature}",
        }
        answer = self._transport.ask("POST", self._path, headers=headers, json_body=body, limit_ms=limit_ms)
        match answer:
            case Refused(code):
                return code
            case Ambiguous(reason, status):
                return None if status is not None and _is_good(status) else reason
        if _is_good(answer.status):
            return None
        return "redirected" if answer.status // 100 == 3 else f"http_{answer.status}"


def _words(message: Message) -> dict[str, str]:
    return {"title": message.title, "text": message.text}


def _is_good(status: int) -> bool:
    return status // 100 == 2
