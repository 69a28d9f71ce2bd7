"""Calls about campaigns: create, list, read, change, delete, content and checklist."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from campaignbridge.sandbox import checklist, problems
from campaignbridge.sandbox.answers import campaign_json, content_json, links
from campaignbridge.sandbox.call import NO_CONTENT, Call
from campaignbridge.sandbox.campaign import DRAFTS, TYPES, Campaign, Content
from campaignbridge.sandbox.roster import unknown_condition
from campaignbridge.sandbox.wire import Response

_LONGEST_TEXT = 1_000
_TEXTS = ("subject_line", "preview_text", "title", "from_name", "reply_to", "to_name", "folder_id")
_FLAGS = (
    "use_conversation",
    "authenticate",
    "auto_footer",
    "inline_css",
    "auto_tweet",
    "fb_comments",
)
_TRACKING_FLAGS = ("opens", "html_clicks", "text_clicks", "goal_tracking", "ecomm360")
_LISTED = ("save", "paused", "schedule", "sending", "sent")


def create(call: Call) -> Response:
    """Create a draft. Nothing makes two creates one: no key, and titles needn't be unique."""
    body = call.body()
    if body.get("type") not in TYPES:
        accepted = "regular, plaintext, absplit, rss, variate"
        raise problems.invalid(("type", f"Model presented is not one of the accepted values: {accepted}."))
    if call.world.full():
        raise problems.bad_request("This sandbox holds no more campaigns.")
    lag = call.quirks.count_lag_ms
    made = Campaign(
        id=call.world.digest("campaign", 10),
        number=call.world.next_number(),
        account_id=call.account.account_id,
        type=body["type"],
        created_ms=call.at_ms,
        counted_ms=call.at_ms + lag if lag else 0,
        mails_nobody=call.quirks.sent_zero,
    )
    made = _changed(call, made, body)
    call.world.put(made, call.at_ms)
    call.world.note("created", made, call.at_ms, by=call.by)
    if call.quirks.vanish:
        call.world.hide(made.id)
    return call.answer(campaign_json(call, made))


def listing(call: Call) -> Response:
    """Page through campaigns, newest first unless asked otherwise. Time filters include their bounds."""
    offset, count = call.window()
    by_send = call.choice("sort_field", ("create_time", "send_time")) == "send_time"
    ascending = call.choice("sort_dir", ("ASC", "DESC")) == "ASC"
    as_of = call.seen_ms if call.quirks.stale_ms else None
    asked = _Filter.of(call)
    found = [item for item in call.world.campaigns(call.account.account_id, as_of) if asked.fits(item)]
    found.sort(
        key=lambda item: ((item.send_ms or 0) if by_send else item.created_ms, item.number),
        reverse=not ascending,
    )
    shown = {
        "campaigns": [campaign_json(call, item) for item in found[offset : offset + count]],
        "total_items": len(found),
        "_links": links("campaigns", ""),
    }
    return call.answer(shown)


def inspect(call: Call) -> Response:
    """Tell about one campaign."""
    return call.answer(campaign_json(call, call.campaign_seen()))


def update(call: Call) -> Response:
    """Change settings, tracking or audience of a draft; what isn't named stays."""
    draft = _draft(call)
    changed = _changed(call, draft, call.body())
    call.world.put(changed, call.at_ms)
    call.world.note("updated", changed, call.at_ms, by=call.by)
    return call.answer(campaign_json(call, changed))


def delete(call: Call) -> Response:
    """Delete a campaign in any status, unless the world says otherwise. A delivery under way goes on."""
    campaign = call.campaign()
    if campaign.status not in DRAFTS and call.world.behaviour.delete_started == "refused":
        raise problems.bad_request("This campaign can no longer be deleted.")
    call.world.remove(campaign.id, call.at_ms)
    call.world.note("deleted", campaign, call.at_ms, by=call.by)
    return NO_CONTENT


def read_content(call: Call) -> Response:
    """Tell what a campaign would mail."""
    return call.answer(content_json(call.campaign_seen()))


def put_content(call: Call) -> Response:
    """Replace the content of a draft. Without an unsubscribe tag it gets a footer."""
    draft = _draft(call)
    body = call.body()
    wrong = [name for name in ("html", "plain_text") if not isinstance(body.get(name, ""), str)]
    if wrong:
        raise problems.invalid(
            *((name, "Schema describes string, another type found instead.") for name in wrong)
        )
    if not body.get("html") and not body.get("plain_text"):
        raise problems.invalid(("html", "This sandbox takes html and plain_text only."))
    content = Content.of(body.get("html", ""), body.get("plain_text", ""))
    changed = replace(draft, content=content)
    call.world.put(changed, call.at_ms)
    call.world.note("content", changed, call.at_ms, by=call.by)
    return call.answer(content_json(changed))


def read_checklist(call: Call) -> Response:
    """Tell what stands between a campaign and its sending."""
    campaign = call.campaign_seen()
    shown = {
        "is_ready": checklist.is_ready(call.world, campaign, call.seen_ms),
        "items": [asdict(item) for item in checklist.items(call.world, campaign, call.seen_ms)],
        "_links": links(f"campaigns/{campaign.id}/send-checklist", f"campaigns/{campaign.id}"),
    }
    return call.answer(shown)


def _draft(call: Call) -> Campaign:
    campaign = call.campaign()
    if campaign.status not in DRAFTS:
        raise problems.bad_request("This campaign can no longer be edited.")
    return replace(campaign, mails_nobody=campaign.mails_nobody or call.quirks.sent_zero)


@dataclass(frozen=True, slots=True)
class _Filter:
    """What a listing asks for; read once, so that a wrong query is refused however little there is."""

    status: str
    type: str
    list_id: str
    created: tuple[int | None, int | None]
    sent: tuple[int | None, int | None]

    @classmethod
    def of(cls, call: Call) -> "_Filter":
        return cls(
            call.choice("status", _LISTED),
            call.choice("type", ("regular", "plaintext", "absplit", "rss", "variate")),
            call.request.query.get("list_id", ""),
            (call.moment("since_create_time"), call.moment("before_create_time")),
            (call.moment("since_send_time"), call.moment("before_send_time")),
        )

    def fits(self, item: Campaign) -> bool:
        return (
            self.status in ("", item.status)
            and self.type in ("", item.type)
            and self.list_id in ("", item.list_id)
            and _within(self.created, item.created_ms)
            and _within(self.sent, item.send_ms)
        )


def _within(bounds: tuple[int | None, int | None], value_ms: int | None) -> bool:
    since, before = bounds
    if since is None and before is None:
        return True
    if value_ms is None:
        return False
    # Mailchimp's times have whole seconds: a bound within a second includes it.
    second = value_ms // 1000
    return (since is None or second >= since // 1000) and (before is None or second <= before // 1000)


def _changed(call: Call, campaign: Campaign, body: Mapping[str, Any]) -> Campaign:
    settings, tracking = call.part(body, "settings"), call.part(body, "tracking")
    recipients = call.part(body, "recipients")
    errors = [*_wrong_settings(settings), *_wrong_tracking(tracking), *_wrong_recipients(call, recipients)]
    if errors:
        raise problems.invalid(*errors)
    known = {name: settings[name] for name in (*_TEXTS, *_FLAGS, "template_id") if name in settings}
    noted = {name: tracking[name] for name in _TRACKING_FLAGS if name in tracking}
    changed = replace(
        campaign, settings={**campaign.settings, **known}, tracking={**campaign.tracking, **noted}
    )
    if recipients:
        changed = _for_segment(call, changed, recipients["list_id"], recipients.get("segment_opts") or None)
    return changed


def _for_segment(call: Call, campaign: Campaign, list_id: str, segment: Mapping[str, Any] | None) -> Campaign:
    """Choose an audience. One segment in place of another leaves the count, and who is mailed, as it was."""
    swap = bool(campaign.segment_opts and segment) and list_id == campaign.list_id
    keeps = swap and call.world.behaviour.segment_swap == "keeps_old"
    mailed = campaign.mailed_opts if keeps else segment
    return replace(campaign, list_id=list_id, segment_opts=segment, mailed_opts=mailed)


def _wrong_settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    errors = []
    for name in _TEXTS:
        value = settings.get(name, "")
        if not isinstance(value, str):
            errors.append((f"settings.{name}", "Schema describes string, another type found instead."))
        elif len(value) > _LONGEST_TEXT:
            errors.append((f"settings.{name}", "This value is too long."))
    errors += [
        (f"settings.{name}", "Schema describes boolean, another type found instead.")
        for name in _FLAGS
        if not isinstance(settings.get(name, False), bool)
    ]
    if type(settings.get("template_id", 0)) is not int:
        errors.append(("settings.template_id", "Schema describes integer, another type found instead."))
    return errors


def _wrong_tracking(tracking: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (f"tracking.{name}", "Schema describes boolean, another type found instead.")
        for name in _TRACKING_FLAGS
        if not isinstance(tracking.get(name, False), bool)
    ]


def _wrong_recipients(call: Call, recipients: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not recipients:
        return []
    list_id = recipients.get("list_id")
    if not isinstance(list_id, str):
        return [("recipients.list_id", "Schema describes string, another type found instead.")]
    if call.world.audience(call.account.account_id, list_id) is None:
        return [("recipients.list_id", "The list does not exist in your account.")]
    segment = recipients.get("segment_opts", {})
    if not isinstance(segment, dict):
        return [("recipients.segment_opts", "Schema describes object, another type found instead.")]
    return list(_wrong_segment(call, segment))


def _wrong_segment(call: Call, segment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    where = "recipients.segment_opts"
    saved, conditions = segment.get("saved_segment_id"), segment.get("conditions", [])
    if saved is not None and type(saved) is not int:
        yield f"{where}.saved_segment_id", "Schema describes integer, another type found instead."
    if "match" in segment and segment["match"] not in ("any", "all"):
        yield f"{where}.match", "Value is not one of the accepted values: any, all."
    if saved is not None and "match" not in segment and call.world.behaviour.segment_match == "required":
        yield f"{where}.match", "This value should not be blank."
    if not isinstance(conditions, list):
        yield f"{where}.conditions", "Schema describes array, another type found instead."
    elif saved is None and any(unknown_condition(item) for item in conditions):
        yield f"{where}.conditions", problems.UNKNOWN_CONDITION
