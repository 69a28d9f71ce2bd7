"""One remote campaign, as an immutable value: every change makes a new one, so history is a list."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DRAFTS = frozenset({"save", "paused"})
STARTED = frozenset({"sending", "sent"})
TYPES = ("regular", "plaintext")
UNSUBSCRIBE_TAG = "*|UNSUB|*"

_FOOTER_HTML = (
    '<table id="sandboxFooter" role="presentation"><tr><td>*|LIST:ADDRESS|*<br>'
    '<a href="*|UNSUB|*">Unsubscribe</a> or <a href="*|UPDATE_PROFILE|*">update your preferences</a>'
    "</td></tr></table>"
)
_FOOTER_TEXT = "\n\nUnsubscribe: *|UNSUB|*\nPreferences: *|UPDATE_PROFILE|*\n*|LIST_ADDRESSLINE_TEXT|*\n"


@dataclass(frozen=True, slots=True)
class Content:
    """What would be mailed. `footer_added` says that the author's HTML had no unsubscribe tag."""

    html: str = ""
    plain_text: str = ""
    footer_added: bool = False

    @classmethod
    def of(cls, html: str, plain_text: str) -> "Content":
        """Complete an author's content: a footer where the tag is missing, before `</body>` if there is one."""
        text = plain_text or "*|MC:SUBJECT|*"
        if UNSUBSCRIBE_TAG not in text:
            text += _FOOTER_TEXT
        if not html or UNSUBSCRIBE_TAG in html:
            return cls(html, text)
        at = html.lower().rfind("</body>")
        at = len(html) if at < 0 else at
        return cls(html[:at] + _FOOTER_HTML + html[at:], text, footer_added=True)


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign at one moment. Times are epoch milliseconds UTC."""

    id: str
    number: int  # creation order; unique within a world
    account_id: str
    type: str
    created_ms: int
    status: str = "save"
    list_id: str = ""
    segment_opts: Mapping[str, Any] | None = None
    mailed_opts: Mapping[str, Any] | None = None  # what really decides; older than the former after a swap
    settings: Mapping[str, Any] = field(default_factory=dict)
    tracking: Mapping[str, Any] = field(default_factory=dict)
    content: Content | None = None
    parent_id: str = ""
    send_ms: int | None = None  # the slot while scheduled, afterwards when sending began
    done_ms: int | None = None  # when sending will be or was complete
    recipients: int | None = None  # frozen when sending begins
    emails_sent: int = 0  # final figure; while sending, `emails_sent_at` tells
    counted_ms: int = 0  # before this moment recipient_count reads 0
    mails_nobody: bool = False  # its audience will turn out empty
    hidden: bool = False  # answers 404 although what was under way goes on

    def text(self, name: str) -> str:
        """Return a setting as text, empty when unset."""
        return str(self.settings.get(name) or "")

    def emails_sent_at(self, at_ms: int) -> int:
        """Return how many mails have left by then: linear while sending."""
        if self.status != "sending" or self.send_ms is None or self.done_ms is None:
            return self.emails_sent
        span = max(self.done_ms - self.send_ms, 1)
        passed = min(max(at_ms - self.send_ms, 0), span)
        return (self.recipients or 0) * passed // span
