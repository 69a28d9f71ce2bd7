"""Carries webhooks to addresses on this machine, and to no other. Follows no redirect and reads no answer."""

import base64
import hashlib
import hmac
import http.client
from urllib.parse import urlsplit

from campaignbridge.sandbox.wire import is_loopback_url

FORM = "application/x-www-form-urlencoded"
SIGNATURE = "X-Mailchimp-Signature"
_VISIT_S = 5.0
_POST_S = 10.0


def visit(url: str) -> bool:
    """Say whether an address answers 200 to GET, as Mailchimp asks before it takes it."""
    return _ask("GET", url, None, {}, _VISIT_S) == 200


def post(url: str, body: bytes, signing_key: str, now_ms: int) -> int | None:
    """Post a form; return the status of the answer, None without one."""
    headers = {"Content-Type": FORM, "User-Agent": "MailChimp"}
    if signing_key.startswith("whsec_"):
        headers = {"Content-Type": "application/json", "User-Agent": "Svix-Webhooks"}
        headers |= svix_headers(body, signing_key, now_ms)
    elif signing_key:
        headers[SIGNATURE] = signature(body, signing_key, now_ms)
    return _ask("POST", url, body, headers, _POST_S)


def signature(body: bytes, signing_key: str, now_ms: int) -> str:
    """Return the header that signs a body at this moment."""
    stamp = str(now_ms // 1000)
    digest = hmac.new(signing_key.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def svix_headers(body: bytes, signing_key: str, now_ms: int) -> dict[str, str]:
    """Return the three headers that sign a body at this moment, as svix does; an event keeps its id."""
    stamp, event_id = str(now_ms // 1000), f"msg_{hashlib.sha256(body).hexdigest()[:27]}"
    key = base64.b64decode(signing_key.removeprefix("whsec_"))
    digest = hmac.new(key, f"{event_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "svix-id": event_id,
        "svix-timestamp": stamp,
        "svix-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _ask(method: str, url: str, body: bytes | None, headers: dict[str, str], limit_s: float) -> int | None:
    if not is_loopback_url(url):
        return None
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=limit_s)
    try:
        connection.request(
            method, f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}", body, headers
        )
        with connection.getresponse() as answer:
            return answer.status
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
