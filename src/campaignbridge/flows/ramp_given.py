"""What a person gives with a ramp's command, checked before anything is done."""

import re

from campaignbridge.domain.content import require_one_line
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.ramp import MINUTE_MS

CLOCKS_MS = 5 * MINUTE_MS  # by which a person's clock, or the provider's, may be ahead of the store's
_BROADCAST = re.compile(r"[A-Za-z0-9_-]{1,100}")


def require_broadcast(text: str) -> str:
    """Return the id of a provider's object that somebody typed, or raise `InvalidInput`."""
    if not _BROADCAST.fullmatch(text):
        raise InvalidInput(
            "A broadcast's id is 1 to 100 letters, digits, - or _.", todo="Copy it from the provider's pages."
        )
    return text


def require_past(sent_at: int | None, *, now_ms: int) -> None:
    """Raise `InvalidInput` for a time that is still to come, but for clocks that differ by minutes."""
    if sent_at is not None and sent_at > now_ms + CLOCKS_MS:
        raise InvalidInput(
            "What went did so in the past.", todo="Correct the time: --sent-at or --previous-sent-at."
        )


def require_reason(reason: str) -> None:
    """Raise `InvalidInput` unless somebody says why, in 10 to 300 characters."""
    require_one_line(reason, field="reason", limit=300)
    if len(reason.strip()) < 10:
        raise InvalidInput(
            "A reason is 10 to 300 characters.", todo="Say it so that others understand it later."
        )
