"""Frozen content: the stored bytes, their fingerprint, and what keeps them from being sent."""

import hashlib
import re
from dataclasses import dataclass

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.provider import ContentRules, Envelope

MAX_HTML_BYTES = 1_000_000
MAX_TEXT_BYTES = 500_000
CLIPPED_BYTES = 102_000  # Gmail cuts a message off past about this size
MAX_SUBJECT = 150  # Mailchimp refuses longer subjects
MAX_NAME = 100

_ADDRESS = re.compile(r"[^@\s<>,;:\"()\[\]\\]{1,64}@[^@\s<>,;:\"()\[\]\\]{1,255}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One revision of a campaign's content. Insert-only."""

    campaign_id: str
    revision: int
    envelope: Envelope
    html: str
    text: str
    fingerprint: str
    created_at: int
    created_by: str

    @property
    def intact(self) -> bool:
        """The stored bytes are the ones that were fingerprinted."""
        return fingerprint(self.envelope, self.html, self.text) == self.fingerprint


@dataclass(frozen=True, slots=True)
class Problem:
    """Something found by preflight. An error keeps the content from being approved and sent."""

    code: str
    error: bool
    what: str
    todo: str


def fingerprint(envelope: Envelope, html: str, text: str) -> str:
    """Return `sha256:<hex>` over the stored bytes, each field with its length before it.

    Never a recompile of the source: a library upgrade must not break an approval.
    """
    digest = hashlib.sha256(b"campaignbridge.snapshot.1\n")
    for field in (
        envelope.subject,
        envelope.preview_text,
        envelope.from_name,
        envelope.from_email,
        envelope.reply_to,
        html,
        text,
    ):
        data = field.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def require_one_line(value: str, *, field: str, limit: int, empty: bool = False) -> str:
    """Return the value, or raise `InvalidInput`: one line, no control characters, bounded.

    A line break in a subject or name would end the header that it lands in.
    """
    if _CONTROL.search(value):
        raise InvalidInput(
            f"The {field} contains a line break, NUL or another control character.",
            todo=f"Give the {field} as one line of plain text.",
        )
    if not empty and not value.strip():
        raise InvalidInput(f"The {field} is empty.", todo=f"Give a {field}.")
    if len(value) > limit:
        raise InvalidInput(
            f"The {field} has {len(value):,} characters; {limit} are the limit.",
            todo=f"Shorten the {field}.",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"The {field} contains text that is not valid Unicode.", todo="Type it again, or use UTF-8."
        ) from None
    return value


def require_address(value: str, *, field: str) -> str:
    """Return the address, or raise `InvalidInput`. Never quotes it back."""
    require_one_line(value, field=field, limit=254)
    if not _ADDRESS.fullmatch(value):
        raise InvalidInput(
            f"The {field} is not an e-mail address.", todo="Give one such as news@acme.example."
        )
    return value


def has_unsubscribe_tag(html: str, rules: ContentRules) -> bool:
    """Say whether the unsubscribe tag stands where the provider reads it."""
    read = _COMMENT.sub("", html) if rules.comments_hide else html
    return rules.unsubscribe_tag in read.upper()


def preflight(
    envelope: Envelope, html: str, text: str, *, rules: ContentRules, label: str
) -> tuple[Problem, ...]:
    """Return what stands against sending this content at the provider of this name, errors first."""
    problems: list[Problem] = []

    def error(code: str, what: str, todo: str) -> None:
        problems.append(Problem(code, error=True, what=what, todo=todo))

    if not envelope.subject.strip():
        error("subject_missing", "There is no subject.", "Give one with --subject.")
    if _CONTROL.search(envelope.subject + envelope.preview_text + envelope.from_name):
        error("control_character", "Subject or sender contains a line break or NUL.", "Remove it.")
    if not envelope.from_name.strip() or not _ADDRESS.fullmatch(envelope.from_email):
        error("sender_missing", "There is no usable sender.", "Give --from-name and --from-email.")
    if envelope.reply_to != envelope.from_email and not rules.separate_replies:
        error("reply_to_differs", f"{label} uses the From address for replies.", "Leave --reply-to out.")
    if not html.strip():
        error("content_missing", "The content is empty.", "Give an HTML or Markdown file.")
    if "\x00" in html or "\x00" in text:
        error("control_character", "The content contains a NUL character.", "Save it as UTF-8 text.")
    if not has_unsubscribe_tag(html, rules):
        error(
            "unsubscribe_missing",
            "There is no way to unsubscribe in the content.",
            f"Put a link to {rules.unsubscribe_tag} into it, outside of HTML comments.",
        )
    size = len(html.encode())
    if size > MAX_HTML_BYTES:
        error("content_too_big", f"The HTML has {size:,} bytes; {MAX_HTML_BYTES:,} are the limit.", "Cut it.")
    elif size > CLIPPED_BYTES:
        problems.append(
            Problem(
                "content_clipped",
                error=False,
                what=f"The HTML has {size:,} bytes; Gmail cuts a message off past {CLIPPED_BYTES:,}.",
                todo="Shorten it so that the unsubscribe link is still seen.",
            )
        )
    return tuple(problems)
