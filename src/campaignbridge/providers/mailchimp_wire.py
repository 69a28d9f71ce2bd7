"""Translate between Mailchimp's shapes and ours. Pure functions: nothing here talks to anybody."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from campaignbridge.domain.provider import (
    Ambiguous,
    Category,
    Draft,
    Found,
    Observation,
    Refused,
    RemoteStatus,
)
from campaignbridge.providers.answers import (
    JsonObject,
    child,
    clean,
    read_object,
    retry_after_s,
    text,
    time_ms,
    whole,
)
from campaignbridge.providers.transport import Answer

CAMPAIGN_FIELDS = (
    "id,type,status,send_time,emails_sent,"
    "settings.title,settings.subject_line,settings.from_name,settings.reply_to,"
    "recipients.list_id,recipients.recipient_count,recipients.segment_opts"
)
SEARCH_FIELDS = (
    "campaigns.id,campaigns.type,campaigns.status,campaigns.emails_sent,campaigns.create_time,"
    "campaigns.settings.title,total_items"
)

CHECKS_MAX = 10
CHECK_MAX_CHARS = 200

_KEY = re.compile(r"[!-~]{4,}-([a-z]{2,3}[0-9]{1,3})")
_API_HOST = re.compile(r"[a-z]{2,3}[0-9]{1,3}\.api\.mailchimp\.com")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STATUSES = {
    "save": RemoteStatus.DRAFT,
    "schedule": RemoteStatus.SCHEDULED,
    "sending": RemoteStatus.SENDING,
    "sent": RemoteStatus.SENT,
    "canceling": RemoteStatus.CANCELLING,
    "canceled": RemoteStatus.CANCELLED,
}


def base_url_of(key: str) -> str:
    """Return the API's base URL for `key`, whose part after the last dash names the data centre.

    Raises `ValueError` for another form; the sentence doesn't repeat the key.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise ValueError("This is no Mailchimp API key: it must end in a data centre, such as -us19.")
    return f"https://{match[1]}.api.mailchimp.com/3.0"


def is_api_host(host: str) -> bool:
    """Tell whether `host` is one of Mailchimp's own API hosts."""
    return _API_HOST.fullmatch(host) is not None


def is_id(value: str) -> bool:
    """Tell whether `value` can be one segment of a path: an id as Mailchimp gives them."""
    return _ID.fullmatch(value) is not None


def classify(answer: Answer, *, reading: bool, hide: Iterable[str] = ()) -> Refused | Ambiguous:
    """Judge an answer that is not the call's documented success.

    A 4xx counts as the provider's word only in the provider's own shape. 429 and an *empty* 403 are what
    Mailchimp's front gives, without a body, at very high volume, and mean "not taken". `reading` tells what
    a 403 in the provider's shape is about: the credential on a read, this campaign or plan on a write.
    """
    status = answer.status
    code = f"http_{status}"
    if status == 429:
        return _refuse(answer, code, Category.RATE_LIMITED, hide)
    if status == 403 and not answer.body.strip():
        return _refuse(answer, "bare_403", Category.RATE_LIMITED, hide)
    if status // 100 == 4:
        if not _is_own_problem(answer):
            return Ambiguous("foreign_answer", status, answer.bytes_out)
        return _refuse(answer, code, _category(status, reading=reading), hide)
    if status // 100 == 5:
        return Ambiguous(code, status, answer.bytes_out)
    return Ambiguous("unexpected_status", status, answer.bytes_out)


def create_body(draft: Draft) -> JsonObject:
    """Return the body that creates a draft for a list, or for one saved segment of it."""
    list_id, segment = split_audience(draft.audience)
    recipients: dict[str, object] = {"list_id": list_id}
    if segment is not None:
        # Some accounts answer 400 to a saved segment without `match` (seen in public reports).
        recipients["segment_opts"] = {"saved_segment_id": segment, "match": "all"}
    return {"type": "regular", "recipients": recipients, "settings": settings_body(draft)}


def settings_body(draft: Draft) -> JsonObject:
    """Return title and envelope. Mailchimp's `reply_to` is the From address."""
    envelope = draft.envelope
    return {
        "subject_line": envelope.subject,
        "preview_text": envelope.preview_text,
        "title": draft.title,
        "from_name": envelope.from_name,
        "reply_to": envelope.from_email,
    }


def content_body(draft: Draft) -> JsonObject:
    """Return both forms of the content; without the text Mailchimp would write its own."""
    return {"html": draft.html, "plain_text": draft.text}


def schedule_body(at_ms: int) -> JsonObject:
    """Return the body that schedules; neither by time zone of the reader nor in batches."""
    return {"schedule_time": since_text(at_ms)}


def test_send_body(addresses: tuple[str, ...]) -> JsonObject:
    """Return the body that mails the HTML form to a few addresses."""
    return {"test_emails": list(addresses), "send_type": "html"}


def split_audience(ref: str) -> tuple[str, int | None]:
    """Return list and saved segment of an audience reference, `list` or `list:segment`.

    Raises `ValueError` for another form.
    """
    list_id, colon, segment = ref.partition(":")
    if not is_id(list_id) or (colon and not (segment.isascii() and segment.isdigit())):
        raise ValueError(
            "A Mailchimp audience is a list id, or a list id and a segment number: list:segment."
        )
    return list_id, int(segment) if colon else None


def since_text(since_ms: int) -> str:
    """Return a time as Mailchimp's filters take it, floored to the second."""
    return datetime.fromtimestamp(since_ms // 1000, UTC).isoformat()


def read_observation(body: JsonObject, remote_id: str) -> Observation | None:
    """Return one reading of a campaign, or None if the object isn't a reading of `remote_id`."""
    raw_status = text(body, "status")
    if body.get("id") != remote_id or not raw_status:
        return None
    send_time = text(body, "send_time")
    try:
        send_time_ms = time_ms(send_time) if send_time else None
    except ValueError:
        return None
    settings, recipients = child(body, "settings"), child(body, "recipients")
    return Observation(
        remote_id=remote_id,
        status=_status(body),
        raw_status=raw_status,
        audience=_audience(recipients),
        title=text(settings, "title"),
        subject=text(settings, "subject_line"),
        from_name=text(settings, "from_name"),
        reply_to=text(settings, "reply_to"),
        recipient_count=whole(recipients, "recipient_count"),
        emails_sent=whole(body, "emails_sent"),
        send_time_ms=send_time_ms,
    )


def read_errors(body: JsonObject, hide: Iterable[str]) -> tuple[str, ...] | None:
    """Return what a send checklist calls an error, or None if it isn't one."""
    items = body.get("items")
    if not isinstance(items, list) or not isinstance(body.get("is_ready"), bool):
        return None
    errors = [item for item in items if isinstance(item, dict) and item.get("type") == "error"]
    said = (": ".join(filter(None, (text(item, "heading"), text(item, "details")))) for item in errors)
    cleaned = (clean(words, hide=hide)[:CHECK_MAX_CHARS] for words in said)
    return tuple(filter(None, cleaned))[:CHECKS_MAX]


def read_page(body: JsonObject | None) -> tuple[list[JsonObject], int] | None:
    """Return the campaigns of one page and the total it announces, or None if it can't be read."""
    if body is None:
        return None
    rows, total = body.get("campaigns"), whole(body, "total_items")
    if not isinstance(rows, list) or total is None:
        return None
    if not all(isinstance(row, dict) and text(row, "id") and text(row, "status") for row in rows):
        return None
    return rows, total


def matching(rows: Iterable[JsonObject], stem: str) -> Iterator[Found]:
    """Yield what carries `[{stem}.g<generation>]`, or a part after the stem, too, at the very end of its title.

    Raises `ValueError` if one of these has an unreadable time of creation or id.
    """
    token = re.compile(rf"\[{re.escape(stem)}(?:\.([A-Za-z0-9_.-]{{1,150}}))?\.g([0-9]{{1,9}})\]\Z")
    for row in rows:
        match = token.search(text(child(row, "settings"), "title"))
        if match is None:
            continue
        remote_id = text(row, "id")
        if not is_id(remote_id):
            raise ValueError("unreadable id")
        yield Found(remote_id, int(match[2]), _status(row), time_ms(text(row, "create_time")), match[1] or "")


def _status(body: JsonObject) -> RemoteStatus:
    raw = text(body, "status")
    if raw == "paused":
        # An unscheduled regular campaign may read as paused; a paused RSS campaign is a running one.
        fresh = body.get("type") == "regular" and whole(body, "emails_sent") == 0
        return RemoteStatus.DRAFT if fresh else RemoteStatus.UNTRACKED
    return _STATUSES.get(raw, RemoteStatus.UNTRACKED)


def _audience(recipients: JsonObject) -> str:
    list_id = text(recipients, "list_id")
    options = child(recipients, "segment_opts")
    segment = options.get("saved_segment_id")
    if segment:
        return f"{list_id}:{segment}"
    if options.get("conditions") or options.get("prebuilt_segment_id"):
        # Narrowed by hand: equals no reference of ours, so that it never passes for the whole list.
        return f"{list_id}:?"
    return list_id


def _category(status: int, *, reading: bool) -> Category:
    match status:
        case 401:
            return Category.CREDENTIAL
        case 403:
            return Category.CREDENTIAL if reading else Category.REJECTED
        case 404:
            return Category.MISSING
    return Category.REJECTED


def _is_own_problem(answer: Answer) -> bool:
    body = read_object(answer.body)
    if body is None or body.get("status", answer.status) != answer.status:
        return False
    if {"title", "detail", "status"} <= body.keys():
        return True
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/problem+json" and "title" in body


def _refuse(answer: Answer, code: str, category: Category, hide: Iterable[str]) -> Refused:
    return Refused(
        code=code,
        category=category,
        status=answer.status,
        retry_after_s=retry_after_s(answer.headers),
        detail=clean(_words(read_object(answer.body) or {}), hide=hide),
    )


def _words(problem: JsonObject) -> str:
    words = text(problem, "detail") or text(problem, "title")
    errors = problem.get("errors")
    if isinstance(errors, list):
        for error in errors[:5]:
            if isinstance(error, dict):
                words += f" {text(error, 'field')}: {text(error, 'message')}"
    return words
