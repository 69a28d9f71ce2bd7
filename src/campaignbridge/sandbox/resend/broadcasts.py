"""Calls about broadcasts: create, page, read, change, delete, send, schedule, cancel, and who got what."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaignbridge.sandbox import mailing
from campaignbridge.sandbox.campaign import DRAFTS, STARTED, Campaign, Content
from campaignbridge.sandbox.outcome import BOUNCES, Mailed, Record
from campaignbridge.sandbox.resend import errors
from campaignbridge.sandbox.resend.call import Call, answer, milliseconds, stamp, text_in
from campaignbridge.sandbox.resend.team import contact_id, uuid_of
from campaignbridge.sandbox.wire import Response, is_address

WORDS = {
    "save": "draft",
    "paused": "draft",
    "schedule": "scheduled",
    "sending": "queued",
    "sent": "sent",
    "canceling": "queued",
    "canceled": "canceled",
}
RECORDS = ("sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed", "suppressed")
_TEXTS = {"name": "title", "subject": "subject_line", "from": "from", "preview_text": "preview_text"}


def create(call: Call) -> Response:
    """Make a draft; with `send` it would be mailed at once, which no client of ours may ask for."""
    body = call.body()
    segment = text_in(body, "segment_id") or text_in(body, "audience_id", needed=True)
    for name in ("from", "subject"):
        text_in(body, name, needed=True)
    if body.get("scheduled_at") is not None and body.get("send") is not True:
        raise errors.invalid("`scheduled_at` needs `send`.")
    if call.world.full():
        raise errors.Wrong(403, "validation_error", "This sandbox holds no more broadcasts.")
    made = Campaign(
        id=uuid_of(call.world.digest("broadcast", 32)),
        number=call.world.next_number(),
        account_id=call.team.account.account_id,
        type="regular",
        created_ms=call.at_ms,
        list_id=call.team.list_id,
        mails_nobody=call.quirks.sent_zero,
    )
    made = _changed(call, made, {**body, "segment_id": segment})
    call.world.put(made, call.at_ms)
    call.world.note("created", made, call.at_ms, by=call.by)
    if body.get("send") is True:
        _send(call, made, body.get("scheduled_at"))
    return answer({"object": "broadcast", "id": made.id}, 201)


def listing(call: Call) -> Response:
    """Page through all broadcasts, newest first. There is no filter of any kind."""
    found = call.world.campaigns(call.team.account.account_id, call.as_of)
    return call.page(found[::-1], lambda one: one.id, lambda one: _short(call, one))


def inspect(call: Call) -> Response:
    """Tell about one broadcast."""
    found = call.broadcast_seen()
    content = found.content or Content()
    return answer(
        {
            **_short(call, found),
            "object": "broadcast",
            "from": found.text("from"),
            "subject": found.text("subject_line"),
            "reply_to": found.settings.get("reply_to", []),
            "preview_text": found.text("preview_text"),
            "html": content.html or None,
            "text": content.plain_text or None,
        }
    )


def update(call: Call) -> Response:
    """Change a draft, and nothing but a draft."""
    found, body = call.broadcast(), call.body()
    if found.status not in DRAFTS:
        raise errors.wrong_state("Only draft broadcasts can be updated.")
    changed = call.world.put(_changed(call, found, body), call.at_ms)
    call.world.note("updated", changed, call.at_ms, by=call.by)
    if "html" in body or "text" in body:
        call.world.note("content", changed, call.at_ms, by=call.by)
    return answer({"object": "broadcast", "id": found.id})


def delete(call: Call) -> Response:
    """Delete a draft. What becomes of one that is scheduled, queued or sent is a variant of the world."""
    found = call.world.find(call.team.account.account_id, call.path["id"])
    shown = {"object": "broadcast", "id": call.path["id"], "deleted": True}
    if found is None:
        if call.world.behaviour.delete_missing == "accepted":
            return answer(shown)
        raise errors.missing("Broadcast")
    if found.status not in DRAFTS and call.world.behaviour.delete_undraft == "refused":
        raise errors.wrong_state("Only draft broadcasts can be deleted.")
    call.world.remove(found.id, call.at_ms)
    call.world.note("deleted", found, call.at_ms, by=call.by)
    return answer(shown)


def send(call: Call) -> Response:
    """Mail a draft now, or at a moment. What a repeated send does is a variant of the world."""
    found = replace(call.broadcast(), mails_nobody=call.broadcast().mails_nobody or call.quirks.sent_zero)
    _send(call, found, call.body().get("scheduled_at"))
    return answer({"id": found.id})


def cancel(call: Call) -> Response:
    """Take a scheduled one back to draft, or stop a queued one; what has left has left."""
    found = call.broadcast()
    behaviour = call.world.behaviour
    if found.status == "schedule":
        free = replace(found, status="save", send_ms=None)
        call.world.put(free, call.at_ms)
        call.world.note("unscheduled", free, call.at_ms, by=call.by)
    elif found.status == "sending" and behaviour.cancel_gate == "allowed":
        mailing.cancel(call.world, found, call.at_ms, by=call.by)
    else:
        again = found.status in DRAFTS and behaviour.repeated_unschedule == "silent_204"
        stopped = found.status in ("canceling", "canceled") and behaviour.repeated_cancel == "silent_204"
        if not again and not stopped:
            raise errors.wrong_state("Only queued or scheduled broadcasts can be canceled")
    return answer({"object": "broadcast", "id": found.id})


def duplicate(call: Call) -> Response:
    """Make a new draft of any broadcast: a second object that can be sent, with the same token in its name."""
    origin = call.broadcast()
    copy = replace(
        origin,
        id=uuid_of(call.world.digest("broadcast", 32)),
        number=call.world.next_number(),
        created_ms=call.at_ms,
        status="save",
        send_ms=None,
        done_ms=None,
        recipients=None,
        emails_sent=0,
    )
    call.world.put(copy, call.at_ms)
    call.world.note("created", copy, call.at_ms, by=call.by)
    return answer({"object": "broadcast", "id": copy.id}, 201)


def recipients(call: Call) -> Response:
    """Page through whom a broadcast went to, by what became of it. A deleted one keeps its record."""
    kind = call.request.query.get("type", "")
    if kind not in RECORDS:
        raise errors.lacking("type")
    found = call.world.find(call.team.account.account_id, call.path["id"])
    mailed = call.world.deliveries.get(call.path["id"])
    if found is None and mailed is None:
        raise errors.missing("Broadcast")
    rows = [] if mailed is None else _named(mailed, kind, _left(call, found, mailed), call.seen_ms)
    return call.page(rows, lambda row: contact_id(row.person), lambda row: _recipient(kind, row))


def _left(call: Call, found: Campaign | None, mailed: Mailed) -> int:
    """Return how many mails had left by then."""
    return mailed.size if found is None else found.emails_sent_at(call.seen_ms)


def _named(mailed: Mailed, kind: str, sent: int, at_ms: int) -> list[Record]:
    match kind:
        case "sent":
            return mailed.receipts(0, sent, sent, at_ms)
        case "delivered":
            missing = mailed.undelivered(sent, at_ms)
            rows = enumerate(mailed.receipts(0, sent, sent, at_ms))
            return [row for index, row in rows if index not in missing]
        case "bounced":
            return mailed.records(BOUNCES, sent, at_ms)
        case "complained":
            return mailed.records(("abuse",), sent, at_ms)
        case "unsubscribed":
            return mailed.records(("unsubscribed",), sent, at_ms)
        case _:
            return []  # nobody opens, clicks or is suppressed here


def _recipient(kind: str, row: Record) -> dict[str, Any]:
    ident = contact_id(row.person)
    shown = {"id": ident, "contact_id": ident, "email": row.person.email, "count": 1}
    if kind == "bounced":
        shown["bounce_type"] = "permanent" if row.fate == "hard" else "transient"
    return shown


def _send(call: Call, found: Campaign, moment: object) -> None:
    behaviour = call.world.behaviour
    if moment is not None:
        _schedule(call, found, moment)
        return
    if found.status in STARTED:
        if behaviour.repeated_send == "accepted_again":
            mailing.begin(call.world, found, call.at_ms, by=call.by)
        elif behaviour.repeated_send == "refused":
            raise errors.wrong_state("Only draft broadcasts can be sent")
        return
    early = found.status == "schedule" and behaviour.send_scheduled == "accepted"
    if found.status not in DRAFTS and not early:
        raise errors.wrong_state("Only draft broadcasts can be sent")
    _require_ready(call, found)
    mailing.begin(call.world, found, call.at_ms, by=call.by)


def _schedule(call: Call, found: Campaign, moment: object) -> None:
    slot = milliseconds(moment)
    variant = call.world.behaviour.repeated_schedule
    again = found.status == "schedule" and variant != "refused"
    if slot <= call.at_ms:
        raise errors.invalid("`scheduled_at` must be in the future.")
    if found.status not in DRAFTS and not again:
        raise errors.wrong_state("Only draft broadcasts can be scheduled")
    _require_ready(call, found)
    if again and variant == "silent_204":
        return
    scheduled = replace(found, status="schedule", send_ms=slot)
    call.world.put(scheduled, call.at_ms)
    size = call.world.recipient_count(scheduled, call.at_ms)
    call.world.note("scheduled", scheduled, call.at_ms, recipients=size, by=call.by)
    mailing.await_slot(call.world, scheduled)


def _require_ready(call: Call, found: Campaign) -> None:
    if found.content is None or not (found.content.html or found.content.plain_text):
        raise errors.invalid("The broadcast has no content.")
    if found.segment_opts is None or not call.teams.ident_of(
        call.team, int(found.segment_opts["saved_segment_id"])
    ):
        raise errors.missing("Segment")


def _changed(call: Call, found: Campaign, body: Mapping[str, Any]) -> Campaign:
    settings = dict(found.settings)
    for name, kept in _TEXTS.items():
        if name in body:
            settings[kept] = text_in(body, name)
    if "reply_to" in body:
        settings["reply_to"] = _replies(body["reply_to"])
    if body.get("topic_id"):
        raise errors.missing("Topic")
    content = found.content or Content()
    if "html" in body or "text" in body:
        html = text_in(body, "html") if "html" in body else content.html
        plain = text_in(body, "text") if "text" in body else content.plain_text
        content = Content(html, plain)
    options = found.segment_opts
    segment = text_in(body, "segment_id") or text_in(body, "audience_id")
    if segment:
        options = {"saved_segment_id": call.segment(segment).id}
    return replace(found, settings=settings, content=content, segment_opts=options, mailed_opts=options)


def _replies(value: object) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) and is_address(one) for one in found):
        raise errors.invalid("Invalid `reply_to` field.")
    return found


def _short(call: Call, found: Campaign) -> dict[str, Any]:
    number = int(found.segment_opts["saved_segment_id"]) if found.segment_opts else 0
    segment = call.teams.ident_of(call.team, number) or None
    sent = found.send_ms if found.status in ("sent", "canceled") else None
    return {
        "id": found.id,
        "name": found.text("title"),
        "audience_id": segment,
        "segment_id": segment,
        "status": WORDS.get(found.status, found.status),
        "created_at": stamp(found.created_ms),
        "scheduled_at": stamp(found.send_ms if found.status == "schedule" else None),
        "sent_at": stamp(sent),
        "topic_id": None,
    }
