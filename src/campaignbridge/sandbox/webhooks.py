"""Calls about the webhooks of a list: page, add, read, change and delete one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import NO_CONTENT, Call
from campaignbridge.sandbox.hooks import EVENTS, MOST_PER_LIST, SOURCES, Hook
from campaignbridge.sandbox.wire import Response, is_loopback_url
from campaignbridge.sandbox.world import Audience

_LONGEST = 2_000


def listing(call: Call) -> Response:
    """Tell all webhooks of a list."""
    audience = call.audience()
    found = [_shown(hook) for hook in call.world.hooks.of_list(audience.id)]
    shown = {
        "webhooks": found,
        "list_id": audience.id,
        "total_items": len(found),
        "_links": links(f"lists/{audience.id}/webhooks", f"lists/{audience.id}"),
    }
    return call.answer(shown)


def add(call: Call) -> Response:
    """Add a webhook, once its address has answered a GET."""
    audience, body = call.audience(), call.body()
    if len(call.world.hooks.of_list(audience.id)) >= MOST_PER_LIST:
        raise problems.bad_request(f"A list has at most {MOST_PER_LIST} webhooks.")
    url = _url(call, audience, body)
    signed = call.world.behaviour.webhook_signing == "on"
    hook = Hook(
        id=call.world.digest("webhook", 10),
        list_id=audience.id,
        url=url,
        events=_chosen(body, "events", dict.fromkeys(EVENTS, False)),
        sources=_chosen(body, "sources", dict.fromkeys(SOURCES, False)),
        signing_key=call.world.digest("signing", 48) if signed else "",
    )
    call.world.hooks.put(hook)
    extra = {"signing_enabled": True, "signing_secret": hook.signing_key} if signed else {}
    return call.answer({**_shown(hook), **extra})


def one(call: Call) -> Response:
    """Tell about one webhook; its signing key is told when it is made, and never again."""
    return call.answer(_shown(_there(call)))


def update(call: Call) -> Response:
    """Change a webhook; what isn't named stays."""
    hook, body = _there(call), call.body()
    url = _url(call, call.audience(), body, but=hook) if "url" in body else hook.url
    changed = replace(
        hook,
        url=url,
        events=_chosen(body, "events", hook.events),
        sources=_chosen(body, "sources", hook.sources),
    )
    return call.answer(_shown(call.world.hooks.put(changed)))


def delete(call: Call) -> Response:
    """Delete a webhook."""
    call.world.hooks.remove(_there(call))
    return NO_CONTENT


def _there(call: Call) -> Hook:
    found = call.world.hooks.get(call.audience().id, call.path["webhook"])
    if found is None:
        raise problems.missing()
    return found


def _url(call: Call, audience: Audience, body: Mapping[str, Any], *, but: Hook | None = None) -> str:
    """Return an address that may be posted to. It is visited first; a query makes no other address of it."""
    url = body.get("url")
    if not isinstance(url, str) or len(url) > _LONGEST or not url.startswith(("http://", "https://")):
        raise problems.invalid(("url", "Schema describes a URL."))
    if not is_loopback_url(url):
        raise problems.bad_request("This sandbox posts to http:// addresses on this machine only.")
    others = [hook for hook in call.world.hooks.of_list(audience.id) if but is None or hook.id != but.id]
    if any(hook.place == url.partition("?")[0] for hook in others):
        raise problems.bad_request("This list has a webhook with this URL already.")
    if not call.world.hooks.visit(url):
        raise problems.bad_request("The URL could not be validated: it did not answer a GET with 200.")
    return url


def _chosen(body: Mapping[str, Any], name: str, before: Mapping[str, bool]) -> dict[str, bool]:
    given = body.get(name, {})
    if not isinstance(given, dict) or not all(isinstance(value, bool) for value in given.values()):
        raise problems.invalid((name, "Schema describes an object of booleans."))
    return {key: given.get(key, value) for key, value in before.items()}


def _shown(hook: Hook) -> dict[str, Any]:
    place = f"lists/{hook.list_id}/webhooks"
    return {
        "id": hook.id,
        "url": hook.url,
        "events": dict(hook.events),
        "sources": dict(hook.sources),
        "list_id": hook.list_id,
        "_links": links(f"{place}/{hook.id}", place),
    }
