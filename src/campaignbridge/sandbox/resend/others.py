"""Calls about domains, contact properties, mails of their own, figures and webhooks."""

from collections import Counter
from typing import Any

from campaignbridge.sandbox.campaign import Campaign, Content
from campaignbridge.sandbox.hooks import Hook
from campaignbridge.sandbox.mail_events import EVENTS, new_key
from campaignbridge.sandbox.mailing import html_sha256
from campaignbridge.sandbox.outcome import DELAYED
from campaignbridge.sandbox.resend import errors
from campaignbridge.sandbox.resend.call import Call, answer, stamp, text_in
from campaignbridge.sandbox.resend.team import DOMAINS, uuid_of
from campaignbridge.sandbox.wire import Response, is_address, is_loopback_url

_METRICS = (
    "sent delivered bounced bounced_permanent bounced_transient bounced_undetermined complained suppressed "
    "unsubscribed opened unique_opened clicked unique_clicked failed delivery_delayed"
).split()
_MOST_WEBHOOKS = 10
_MOST_TESTERS = 50


def domains(call: Call) -> Response:
    """Page through the domains from which the account may send."""
    rows = [_domain(call, number) for number in range(len(DOMAINS))]
    return call.page(rows[::-1], lambda row: str(row["id"]), lambda row: row)


def domain(call: Call) -> Response:
    """Tell about one domain."""
    if call.path["id"] not in call.team.domain_ids:
        raise errors.missing("Domain")
    shown = _domain(call, call.team.domain_ids.index(call.path["id"]))
    return answer({"object": "domain", **shown, "records": []})


def properties(call: Call) -> Response:
    """Page through contact properties."""
    return call.page(list(call.team.properties)[::-1], str, lambda ident: _property(call, ident))


def add_property(call: Call) -> Response:
    """Add a contact property."""
    body = call.body()
    key, kind = text_in(body, "key", needed=True), text_in(body, "type", needed=True)
    if kind not in ("string", "number"):
        raise errors.invalid("The `type` must be string or number.")
    if any(known[0] == key for known in call.team.properties.values()):
        raise errors.Wrong(422, "validation_error", "A property with this key exists.")
    ident = uuid_of(call.world.digest("property", 32))
    call.team.properties[ident] = (key, kind, str(body.get("fallback_value") or ""), call.at_ms)
    return answer({"object": "contact_property", "id": ident}, 201)


def send_mail(call: Call) -> Response:
    """Mail something to a few addresses at once, outside of any broadcast. They are counted, never kept."""
    body = call.body()
    addresses = [body["to"]] if isinstance(body.get("to"), str) else body.get("to")
    if not isinstance(addresses, list) or not 0 < len(addresses) <= _MOST_TESTERS:
        raise errors.lacking("to")
    if not all(isinstance(one, str) and is_address(one) for one in addresses):
        raise errors.invalid("Invalid `to` field.")
    for name in ("from", "subject"):
        text_in(body, name, needed=True)
    key = call.request.headers.get("idempotency-key", "")
    if key and key in call.team.mails:
        return answer({"id": call.team.mails[key]})
    mail = Campaign(
        id=uuid_of(call.world.digest("mail", 32)),
        number=0,
        account_id=call.team.account.account_id,
        type="regular",
        created_ms=call.at_ms,
        list_id=call.team.list_id,
        content=Content(text_in(body, "html"), text_in(body, "text")),
    )
    call.world.note(
        "test_mailed", mail, call.at_ms, recipients=len(addresses), sha256=html_sha256(mail), by=call.by
    )
    if key:
        call.team.mails[key] = mail.id
    return answer({"id": mail.id})


def metrics(call: Call) -> Response:
    """Tell figures, for the broadcasts that were asked for. While there are none, there is no row."""
    query = call.request.query
    wanted = [one for one in query.get("metrics", ",".join(_METRICS)).split(",") if one]
    dimensions = [one for one in query.get("dimensions", "").split(",") if one]
    unknown = set(wanted) - set(_METRICS)
    if unknown or set(dimensions) - {"broadcast"}:
        raise errors.invalid("This sandbox counts by broadcast only, and not everything.")
    since = query.get("start_date", "")
    rows: list[dict[str, Any]] = []
    for ident in filter(None, query.get("broadcast_id", "").split(",")):
        figures = _figures(call, ident)
        if figures is not None:
            found = {name: figures.get(name, 0) for name in wanted}
            rows.append({"broadcast_id": ident, "broadcast_name": _name(call, ident), **found})
    totals = {name: sum(row[name] for row in rows) for name in wanted}
    shown: dict[str, Any] = {
        "object": "metrics",
        "start_date": since or stamp(call.at_ms - 6 * 86_400_000),
        "end_date": stamp(call.at_ms),
        "metrics": wanted,
        "dimensions": dimensions,
        "totals": totals,
    }
    return answer({**shown, "data": rows} if dimensions else shown)


def webhooks(call: Call) -> Response:
    """Page through webhooks."""
    return call.page(call.world.hooks.of_list(call.team.list_id), lambda hook: hook.id, _hook)


def add_webhook(call: Call) -> Response:
    """Add a webhook. Its address isn't visited; its signing secret is told now."""
    body = call.body()
    url = text_in(body, "endpoint", needed=True)
    events = body.get("events")
    if not isinstance(events, list) or not events or not set(map(str, events)) <= set(EVENTS):
        raise errors.invalid("Unknown events.")
    if not is_loopback_url(url) or len(call.world.hooks.of_list(call.team.list_id)) >= _MOST_WEBHOOKS:
        raise errors.invalid("The sandbox posts to http:// addresses on this machine only, ten of them.")
    hook = Hook(
        id=uuid_of(call.world.digest("webhook", 32)),
        list_id=call.team.list_id,
        url=url,
        events=dict.fromkeys(map(str, events), True),
        sources={},
        signing_key=new_key(call.world.digest("signing", 48)),
    )
    call.world.hooks.put(hook)
    return answer({"object": "webhook", "id": hook.id, "signing_secret": hook.signing_key}, 201)


def webhook(call: Call) -> Response:
    """Tell about a webhook, its signing secret included."""
    hook = _known(call)
    return answer({"object": "webhook", **_hook(hook), "signing_secret": hook.signing_key})


def remove_webhook(call: Call) -> Response:
    """Delete a webhook."""
    hook = _known(call)
    call.world.hooks.remove(hook)
    return answer({"object": "webhook", "id": hook.id, "deleted": True})


def _known(call: Call) -> Hook:
    hook = call.world.hooks.get(call.team.list_id, call.path["id"])
    if hook is None:
        raise errors.missing("Webhook")
    return hook


def _hook(hook: Hook) -> dict[str, Any]:
    return {
        "id": hook.id,
        "endpoint": hook.url,
        "events": [name for name, on in hook.events.items() if on],
        "status": "enabled",
        "created_at": stamp(0),
    }


def _figures(call: Call, ident: str) -> dict[str, int] | None:
    found = call.world.find(call.team.account.account_id, ident, call.as_of)
    mailed = call.world.deliveries.get(ident)
    if found is None or mailed is None or found.status in ("save", "schedule"):
        return None
    begun = found.send_ms if found.send_ms is not None else call.at_ms
    if call.seen_ms < begun + call.world.behaviour.report_lag_ms:
        return None
    sent = 0 if call.quirks.sent_zero else found.emails_sent_at(call.seen_ms)
    heard = Counter(word.fate for word in mailed.heard(sent, call.seen_ms))
    return {
        "sent": sent,
        "delivered": sent - len(mailed.undelivered(sent, call.seen_ms)),
        "bounced": heard["hard"] + heard["soft"],
        "bounced_permanent": heard["hard"],
        "bounced_transient": heard["soft"],
        "complained": heard["abuse"],
        "unsubscribed": heard["unsubscribed"],
        "delivery_delayed": heard[DELAYED],
    }


def _name(call: Call, ident: str) -> str:
    found = call.world.find(call.team.account.account_id, ident, call.as_of)
    return "" if found is None else found.text("title")


def _property(call: Call, ident: str) -> dict[str, Any]:
    key, kind, fallback, at_ms = call.team.properties[ident]
    return {"id": ident, "key": key, "type": kind, "fallback_value": fallback, "created_at": stamp(at_ms)}


def _domain(call: Call, number: int) -> dict[str, Any]:
    return {
        "id": call.team.domain_ids[number],
        "name": DOMAINS[number],
        "status": "verified",
        "created_at": stamp(1_700_000_000_000 + number),
        "region": "eu-west-1",
        "open_tracking": False,
        "click_tracking": False,
        "capabilities": {"sending": "enabled", "receiving": "disabled"},
    }
