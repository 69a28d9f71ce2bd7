"""Which contact properties a piece of content mentions. Pure: nothing here talks to anybody.

Content mentions a property as `{{{first_name}}}`, or `{{{first_name|there}}}` with what stands in its place for
whoever has none. Names that Resend keeps for itself begin with RESEND_.
"""

import re

_MENTION = re.compile(r"\{\{\{\s*([A-Za-z_][A-Za-z0-9_.]{0,99})\s*(?:\|[^{}]{0,300})?\}\}\}")


def mentioned_fields(content: str) -> frozenset[str]:
    """Return the names of contact properties that the content mentions, in capitals, without `contact.`."""
    found = (match[1].upper().removeprefix("CONTACT.") for match in _MENTION.finditer(content))
    return frozenset(name for name in found if not name.startswith("RESEND_") and name not in _EVERYBODYS)


_EVERYBODYS = frozenset({"EMAIL"})
