"""Translate between Resend's shapes and ours. Pure functions: nothing here talks to anybody."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from campaignbridge.domain.provider import (
    Ambiguous,
    Category,
    ContentRules,
    Draft,
    Envelope,
    Found,
    Observation,
    Refused,
    RemoteStatus,
)
from campaignbridge.providers.answers import (
    JsonObject,
    clean,
    read_object,
    retry_after_s,
    text,
    whole,
)
from campaignbridge.providers.transport import Answer

API_URL = "https://api.resend.com"
API_HOST = "api.resend.com"
CONTENT_RULES = ContentRules("{{{RESEND_UNSUBSCRIBE_URL}}}", separate_replies=True, comments_hide=False)

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_KEY_REFUSED = frozenset({"missing_api_key", "invalid_api_key", "restricted_api_key"})
_PLAIN_NAME = re.compile(r"[^\x00-\x1f\x7f\"(),.:;<>@\[\]\\]*")
_FROM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^<>"]*?))\s*<([^<>\s]+)>\s*')
# An open set: a word that isn't here is not known to be unsent.
_STATUSES = {
    "draft": RemoteStatus.DRAFT,
    "scheduled": RemoteStatus.SCHEDULED,
    "queued": RemoteStatus.SENDING,
    "sending": RemoteStatus.SENDING,
    "sent": RemoteStatus.SENT,
    "canceled": RemoteStatus.CANCELLED,
    "failed": RemoteStatus.FAILED,
}


def is_id(value: str) -> bool:
    """Tell whether `value` is an id as Resend gives them: a UUID, which can be one segment of a path."""
    return _ID.fullmatch(value) is not None


def require_segment(ref: str) -> str:
    """Return an audience reference, or raise `ValueError`: at Resend it is a segment's id."""
    if not is_id(ref):
        raise ValueError("A Resend audience is the id of a segment: 8-4-4-4-12 letters and digits.")
    return ref


def classify(answer: Answer, *, reading: bool, hide: Iterable[str] = ()) -> Refused | Ambiguous:
    """Judge an answer that is not the call's documented success.

    A 429 is "not taken", whatever its body: Resend's front answers it in plain text. Any other 4xx counts as
    Resend's word only in its own shape. A 403 is about the key where its `name` says so, and on a read;
    otherwise it is about this broadcast or its sender.
    """
    status = answer.status
    code = f"http_{status}"
    if status == 429:
        return _refuse(answer, code, Category.RATE_LIMITED, hide)
    if status // 100 == 4:
        body = read_object(answer.body)
        if body is None or not _is_own_error(body, status):
            return Ambiguous("foreign_answer", status, answer.bytes_out)
        return _refuse(answer, code, _category(status, text(body, "name"), reading=reading), hide)
    if status // 100 == 5:
        return Ambiguous(code, status, answer.bytes_out)
    return Ambiguous("unexpected_status", status, answer.bytes_out)


def create_body(draft: Draft) -> JsonObject:
    """Return the body that creates a draft, and never one that sends: `send` is in none of our bodies."""
    return {"segment_id": require_segment(draft.audience), **update_body(draft)}


def update_body(draft: Draft) -> JsonObject:
    """Return name, envelope and content; without the segment, which never changes."""
    envelope = draft.envelope
    return {
        "name": draft.title,
        "from": sender(envelope),
        "subject": envelope.subject,
        "reply_to": [envelope.reply_to],
        "preview_text": envelope.preview_text,
        "html": draft.html,
        "text": draft.text,
    }


def test_body(content: JsonObject, addresses: tuple[str, ...]) -> JsonObject | None:
    """Return the body of a test mail with a broadcast's content, or None if there is nothing to be mailed."""
    needed = {name: text(content, name) for name in ("from", "subject", "html")}
    if not all(needed.values()):
        return None
    body: dict[str, object] = {**needed, "to": list(addresses)}
    if text(content, "text"):
        body["text"] = text(content, "text")
    if reply_to(content):
        body["reply_to"] = [reply_to(content)]
    return body


def sender(envelope: Envelope) -> str:
    """Return `Name <address>`; a name with signs of its own stands in quotes."""
    name = envelope.from_name
    if not _PLAIN_NAME.fullmatch(name) or name != name.strip():
        name = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{name} <{envelope.from_email}>"


def sender_name(value: str) -> str:
    """Return the name within `Name <address>`; what has no such form is all name, and so equals none of ours."""
    match = _FROM.fullmatch(value)
    if match is None:
        return value
    quoted, plain = match[1], match[2]
    return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain


def reply_to(body: JsonObject) -> str:
    """Return the one address that replies go to; several are joined, and so equal none of ours."""
    value = body.get("reply_to")
    if isinstance(value, str):
        return value
    return ", ".join(str(item) for item in value) if isinstance(value, list) else ""


def iso(at_ms: int) -> str:
    """Return a moment as `scheduled_at` takes it, never in words."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_ms(stamp: str) -> int:
    """Return `2025-11-30 20:42:46.04984+00`, or an ISO 8601 time, as epoch milliseconds; no zone is UTC.

    Raises `ValueError` where it is no such time.
    """
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise ValueError("not a time of Resend's")
    day, clock, fraction, zone = match.groups()
    zone = {None: "+00:00", "Z": "+00:00"}.get(zone, zone)
    if len(zone) == 3:
        zone += ":00"
    moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    return int(moment.timestamp()) * 1000 + int((fraction or "0").ljust(3, "0")[:3])


def read_observation(body: JsonObject, remote_id: str) -> Observation | None:
    """Return one reading of a broadcast, or None if the object isn't a reading of `remote_id`.

    A broadcast tells neither how many it would reach nor how many were mailed.
    """
    raw_status = text(body, "status")
    if body.get("id") != remote_id or not raw_status:
        return None
    stamp = text(body, "scheduled_at") if raw_status in ("draft", "scheduled") else text(body, "sent_at")
    try:
        send_time_ms = time_ms(stamp) if stamp else None
    except ValueError:
        return None
    return Observation(
        remote_id=remote_id,
        status=status_of(body),
        raw_status=raw_status,
        audience=audience_of(body),
        title=text(body, "name"),
        subject=text(body, "subject"),
        from_name=sender_name(text(body, "from")),
        reply_to=reply_to(body),
        recipient_count=None,
        emails_sent=None,
        send_time_ms=send_time_ms,
    )


def audience_of(body: JsonObject) -> str:
    """Return the reference of a broadcast's segment; one that a topic narrows equals none of ours."""
    segment = text(body, "segment_id") or text(body, "audience_id")
    return f"{segment}:topic" if text(body, "topic_id") else segment


def status_of(body: JsonObject) -> RemoteStatus:
    """Return our word for a broadcast's status."""
    return _STATUSES.get(text(body, "status"), RemoteStatus.UNTRACKED)


def matching(rows: Iterable[JsonObject], stem: str) -> Iterator[Found]:
    """Yield what carries `[{stem}.g<generation>]`, or a part after the stem, too, at the very end of its name.

    Raises `ValueError` if one of these has an unreadable time of creation or id.
    """
    token = re.compile(rf"\[{re.escape(stem)}(?:\.([A-Za-z0-9_.-]{{1,150}}))?\.g([0-9]{{1,9}})\]\Z")
    for row in rows:
        match = token.search(text(row, "name"))
        if match is None:
            continue
        remote_id = text(row, "id")
        if not is_id(remote_id):
            raise ValueError("unreadable id")
        yield Found(
            remote_id, int(match[2]), status_of(row), time_ms(text(row, "created_at")), match[1] or ""
        )


def is_own_id(body: JsonObject) -> str | None:
    """Return the id of an answer that consists of little else."""
    return text(body, "id") if is_id(text(body, "id")) else None


def _category(status: int, name: str, *, reading: bool) -> Category:
    match status:
        case 401:
            return Category.CREDENTIAL
        case 403:
            return Category.CREDENTIAL if reading or name in _KEY_REFUSED else Category.REJECTED
        case 404:
            return Category.MISSING
    return Category.REJECTED


def _is_own_error(body: JsonObject, status: int) -> bool:
    said = whole(body, "statusCode")
    return said == status and bool(text(body, "name")) and isinstance(body.get("message"), str)


def _refuse(answer: Answer, code: str, category: Category, hide: Iterable[str]) -> Refused:
    wait = retry_after_s(answer.headers)
    if wait is None and category is Category.RATE_LIMITED:
        # Seconds until the window begins anew; the only hint where Resend names no time to wait.
        wait = retry_after_s({"retry-after": answer.headers.get("ratelimit-reset", "")})
    words = text(read_object(answer.body) or {}, "message")
    return Refused(code, category, answer.status, wait, clean(words, hide=hide))
