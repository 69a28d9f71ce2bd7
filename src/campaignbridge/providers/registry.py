"""Open a provider by its slug: the built-in ones, and those that other packages bring as entry points."""

from collections.abc import Callable
from importlib.metadata import entry_points

import httpcore2

from campaignbridge.ports import Clock, Provider, WebhookReader
from campaignbridge.providers.mailchimp import open_mailchimp
from campaignbridge.providers.mailchimp_webhooks import MailchimpWebhooks
from campaignbridge.providers.resend import open_resend
from campaignbridge.providers.resend_webhooks import ResendWebhooks

ENTRY_POINT_GROUP = "campaignbridge.providers"

Opener = Callable[..., Provider]
"""Called with key, base_url, clock, backend and allow_hosts, all by keyword, like `open_mailchimp`."""

_BUILT_IN: dict[str, Opener] = {"mailchimp": open_mailchimp, "resend": open_resend}
_WEBHOOKS: dict[str, WebhookReader] = {"mailchimp": MailchimpWebhooks(), "resend": ResendWebhooks()}


def known_slugs() -> tuple[str, ...]:
    """Return the slugs that can be opened, sorted. Loads nobody's code."""
    return tuple(sorted(_BUILT_IN.keys() | entry_points(group=ENTRY_POINT_GROUP).names))


def open_provider(
    slug: str,
    *,
    key: str,
    base_url: str | None,
    clock: Clock,
    backend: httpcore2.NetworkBackend | None = None,
    allow_hosts: frozenset[str] = frozenset(),
) -> Provider:
    """Open an account at a provider; nobody is contacted.

    `base_url` None means the provider's own host. Raises `ValueError` with one sentence for people, which
    never repeats the key. A built-in adapter can't be replaced by another package: it will be handed keys.
    """
    return _opener(slug)(key=key, base_url=base_url, clock=clock, backend=backend, allow_hosts=allow_hosts)


def webhook_reader(slug: str) -> WebhookReader | None:
    """Return what reads a provider's webhooks; None for one whose webhooks we don't take."""
    return _WEBHOOKS.get(slug)


def _opener(slug: str) -> Opener:
    if slug in _BUILT_IN:
        return _BUILT_IN[slug]
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=slug):
        opener: Opener = entry.load()
        return opener
    raise ValueError(f"There is no provider called {slug!r}; known are: {', '.join(known_slugs())}.")
