"""A notice through Apprise: mail, chat and whatever else it reaches. Needs the extra `notices` of this package.

Apprise speaks for itself, with HTTP clients of its own: each service has one deadline, no redirect is followed,
and it stores nothing. What it and its HTTP client would log (addresses, paths with tokens) is dropped while it
works for us, in this whole process: it uses threads of its own.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import apprise

from campaignbridge.domain.connection import Secret
from campaignbridge.domain.notice import Message

_LOGS = ("apprise", "urllib3.connectionpool")  # the second one tells paths, which hold tokens


class ThroughApprise:
    """One Apprise URL."""

    def __init__(self, url: Secret) -> None:
        """Read the URL. Raises `ValueError` with a sentence for people, which doesn't repeat it."""
        self._url = url
        with _hushed():
            service = apprise.Apprise.instantiate(url.reveal().strip(), asset=_asset(limit_ms=1_000))
        if service is None:
            msg = "Apprise doesn't understand the URL of this target."
            raise ValueError(msg)

    def tell(self, message: Message, *, limit_ms: int) -> str | None:
        """Hand it over once. Return None when the service took it, else a stable code of why not."""
        asset = _asset(limit_ms=limit_ms)
        with _hushed():
            service = apprise.Apprise.instantiate(self._url.reveal().strip(), asset=asset)
            if service is None:
                return "apprise_url"
            told = apprise.Apprise(service, asset=asset).notify(
                body=message.text,
                title=message.title,
                body_format=apprise.NotifyFormat.TEXT,
                notify_type=apprise.NotifyType.WARNING,
            )
        return None if told else "apprise_failed"


def _asset(*, limit_ms: int) -> apprise.AppriseAsset:
    return apprise.AppriseAsset(
        app_id="CampaignBridge",
        app_desc="CampaignBridge",
        app_url="",
        async_mode=False,
        http_redirects=False,
        secure_logging=True,
        service_timeout=limit_ms / 1000,
        storage_mode=apprise.PersistentStoreMode.MEMORY,
    )


@contextmanager
def _hushed() -> Iterator[None]:
    logs = [logging.getLogger(name) for name in _LOGS]

    def dropped(_record: logging.LogRecord) -> bool:
        return False

    for log in logs:
        log.addFilter(dropped)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(dropped)
