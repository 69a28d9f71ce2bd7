"""Which of a list's merge fields a piece of content mentions. Pure: nothing here talks to anybody.

Mailchimp mails a tag that it doesn't know as it stands, asterisks and all, and says nothing. Its own tags are an open
set, so a tag counts as a field of the list only in the form that such fields have: capital letters, digits and
underscores, and none of the names that Mailchimp keeps for itself.
"""

import re

_MENTION = re.compile(r"\*\|([^|*<>\s][^|*<>\n]{0,120})\|\*")
_FIELD = re.compile(r"[A-Z][A-Z0-9_]{0,49}")
_CONDITIONS = {"IF", "IFNOT", "ELSEIF"}  # *|IF:FNAME|*, *|IF:AGE >= 21|*
_COMPARISON = re.compile(r"\s*(?:[!<>=]=?|\s).*", re.DOTALL)
_STYLES = {"TITLE", "UPPER", "LOWER", "HTML", "URL"}  # *|TITLE:FNAME|*

# Seen in published templates and Mailchimp's own pages in November 2026; every contact has EMAIL.
_OWN = frozenset(
    """
    EMAIL UNIQID EMAIL_UID UNSUB ARCHIVE UPDATE_PROFILE FORWARD MC_PREVIEW_TEXT CURRENT_YEAR CAMPAIGN_UID
    ABOUT_LIST ABUSE_EMAIL LIST_ADDRESS LIST_ADDRESS_HTML REWARDS REWARDS_TEXT PROMO_CODE SHARE LIKE TRANSLATE
    OPTIN_DATE OPTIN_TIME OPTIN_IP CONFIRM_DATE CONFIRM_TIME CONFIRM_IP MEMBER_RATING LAST_CHANGED
    RSS RSSITEM RSSITEMS RSSFEED FEEDBLOCK FEEDITEM QRCODE SURVEY POLL VIDEO TWITTER FACEBOOK INSTAGRAM
    HONEYPOT SUBJECT DATE ELSE LIST USER MC INTERESTED GROUP EEPURL ARCHIVE_LINK_SHORT REFERRALS
    """.split()
)


def mentioned_fields(content: str) -> frozenset[str]:
    """Return the tags of list fields that the content mentions, in capitals."""
    found = (_field(match[1].strip().upper()) for match in _MENTION.finditer(content))
    return frozenset(tag for tag in found if tag)


def _field(tag: str) -> str | None:
    head, colon, rest = tag.partition(":")
    if colon and head in _CONDITIONS:
        tag = _COMPARISON.sub("", rest)
    elif colon and head in _STYLES:
        tag = rest
    return tag if _FIELD.fullmatch(tag) and tag not in _OWN else None
