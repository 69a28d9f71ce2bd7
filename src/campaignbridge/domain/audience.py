"""Who a contact is: one identity for each person, and every reason why a text is none.

An identity is the local part in lower case and the domain as lower-case A-labels. Nothing is folded beyond
that: letters that only look alike, tags behind a plus and dots stay what they are, so no two people become one.
What can't be seen is taken off the ends and refused inside, by code point.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

MAX_ADDRESS = 254
MAX_LOCAL = 64
MAX_DOMAIN = 253
MAX_ATTRIBUTES = 50
MAX_NAME = 64
MASKED = 2  # of a local part that is no longer than this, a list shows no letter
MAX_VALUE = 1_000
MAX_ATTRIBUTE_LETTERS = 8_000
ERASED = "erased:"  # in the place of an identity: the keyed hash of somebody who was erased

# Why a row is not taken, in words that follow "12 rows: ".
REASONS = {
    "empty": "no address",
    "no_at": "no @",
    "several_ats": "more than one @",
    "lookalike_at": "a character that only looks like an @",
    "invisible": "an invisible character inside the address",
    "blank_inside": "a blank inside the address",
    "mixed_scripts": "letters of several alphabets that look alike",
    "odd_character": "a character that has another, plain form",
    "bad_local": "the part before the @ can't be one",
    "bad_domain": "the part behind the @ is no domain",
    "too_long": "an address of more than 254 characters",
    "columns": "another number of columns than the header",
    "open_quote": "a quote that is never closed",
    "long_row": "a row of more than 64 KB",
    "control": "a control character in a column",
    "long_value": f"a column of more than {MAX_VALUE:,} characters",
    "long_row_text": f"more than {MAX_ATTRIBUTE_LETTERS:,} characters in its columns",
    "bad_locale": "a language that can't be one",
    "bad_zone": "a time zone that isn't known",
    "not_json": "not a JSON object",
    "nested": "a list or an object in a column",
    "erased": "a person who was erased and may not come back by an import",
}


class Suppressed(StrEnum):
    """Why somebody is not mailed. The strongest reason stays."""

    COMPLAINT = "complaint"
    BOUNCE = "bounce"
    UNSUBSCRIBE = "unsubscribe"
    MANUAL = "manual"

    @property
    def rank(self) -> int:
        """Stronger is higher."""
        return {"complaint": 4, "bounce": 3, "unsubscribe": 2, "manual": 1}[self.value]


class Unusable(Exception):
    """A row that is not taken: a code of `REASONS`, and a code point or a number. Never holds the text itself."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Address:
    """One person's address: as it was given, without what can't be seen, and who that is."""

    identity: str
    given: str
    repaired: bool  # something invisible, more than plain blanks, was taken off its ends


_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@((?:{_LABEL}\.)+[a-z]{{2,63}})")
_ATOMS = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_ALABEL = re.compile(_LABEL)
_LOOKALIKE_AT = {"\uff20", "\ufe6b"}
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = "Zs"
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")  # letters by class, and nothing to see
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA"})


def address_of(text: str) -> Address:
    """Return whose address a text is; raise `Unusable` when it is nobody's."""
    given = text.strip(" ")
    lowered = given.lower()
    if len(given) <= MAX_ADDRESS and given.isascii():
        found = _PLAIN.fullmatch(lowered)
        if found and len(found[1]) <= MAX_LOCAL and "--" not in found[2]:
            return Address(lowered, given, repaired=False)
    return _carefully(given)


def _carefully(text: str) -> Address:
    given = trimmed(text)
    if not given:
        raise Unusable("empty")
    if len(given) > MAX_ADDRESS:
        raise Unusable("too_long")
    _require_visible(given)
    local, at, domain = given.rpartition("@")
    if not at:
        raise Unusable("no_at")
    if "@" in local:
        raise Unusable("several_ats")
    identity = f"{_local_of(local)}@{domain_of(domain)}"
    if len(identity) > MAX_ADDRESS:
        raise Unusable("too_long")
    return Address(identity, given, repaired=given != text)


def trimmed(text: str) -> str:
    """Return a text without blanks and invisible characters at its ends."""
    first, last = 0, len(text)
    while first < last and _nothing_to_see(text[first]):
        first += 1
    while first < last and _nothing_to_see(text[last - 1]):
        last -= 1
    return text[first:last]


def _nothing_to_see(letter: str) -> bool:
    if letter in _FILLERS or letter.isspace():
        return True
    kind = unicodedata.category(letter)
    return kind in {"Cc", "Cf", _BLANK, "Zl", "Zp"}


def _require_visible(given: str) -> None:
    for letter in given:
        if letter in _LOOKALIKE_AT:
            raise Unusable("lookalike_at", code_point(letter))
        kind = unicodedata.category(letter)
        if kind in _INVISIBLE or letter in _FILLERS or 0xFE00 <= ord(letter) <= 0xFE0F:
            raise Unusable("invisible", code_point(letter))
        if kind == _BLANK:
            raise Unusable("blank_inside", code_point(letter))


def _local_of(local: str) -> str:
    if not local:
        raise Unusable("bad_local")
    if not local.isascii():
        _require_one_script(local)
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", local).lower())
    shadow = "".join(letter if letter.isascii() else "a" for letter in lowered)
    if not _ATOMS.fullmatch(shadow) or len(lowered.encode()) > MAX_LOCAL:
        raise Unusable("bad_local")
    return lowered


def domain_of(domain: str) -> str:
    """Return a domain as lower-case A-labels; raise `Unusable` when it can't be one.

    Letters keep their own code points (`ß` is not `ss`), as today's registries do it; what has another, plain
    form is refused rather than mapped.
    """
    labels = domain.split(".")
    found = [_label_of(label) for label in labels]
    whole = ".".join(found)
    if len(found) < 2 or len(whole) > MAX_DOMAIN or not re.match(r"[a-z]", found[-1]):
        raise Unusable("bad_domain")
    return whole


def _label_of(label: str) -> str:
    if not label.isascii():
        _require_one_script(label)
        lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", label).lower())
        if not all(_may_stand_in_label(letter) for letter in lowered) or lowered[2:4] == "--":
            raise Unusable("bad_domain")
        encoded = f"xn--{lowered.encode('punycode').decode('ascii')}"
    else:
        encoded = label.lower()
        if encoded.startswith("xn--"):
            _require_true_alabel(encoded)
    if not _ALABEL.fullmatch(encoded):
        raise Unusable("bad_domain")
    return encoded


def _require_true_alabel(label: str) -> None:
    """Refuse an A-label that isn't what its own letters are written as: two spellings would be two people."""
    try:
        letters = label[4:].encode().decode("punycode")
        again = _label_of(letters) if not letters.isascii() else ""
    except (UnicodeError, ValueError):
        raise Unusable("bad_domain") from None
    if again != label:
        raise Unusable("bad_domain")


def _may_stand_in_label(letter: str) -> bool:
    return letter == "-" or unicodedata.category(letter) in {"Ll", "Lo", "Lm", "Mn", "Mc", "Nd"}


def _require_one_script(text: str) -> None:
    """Refuse letters with a plain form of their own, and alphabets that imitate each other."""
    composed = unicodedata.normalize("NFC", text)
    for letter in composed:
        if unicodedata.normalize("NFKC", letter) != letter:
            raise Unusable("odd_character", code_point(letter))
    for letter in text:
        if not letter.isascii() and unicodedata.normalize("NFC", letter) != letter:
            raise Unusable("odd_character", code_point(letter))
    scripts: dict[str, str] = {}
    for letter in composed:
        if letter.isalpha():
            script = unicodedata.name(letter, "UNKNOWN").split()[0]
            scripts.setdefault("EAST" if script in _EAST_ASIAN else script, letter)
    if len(scripts.keys() - {"EAST"}) > 1 or ("EAST" in scripts and scripts.keys() - {"EAST", "LATIN"}):
        odd = next((letter for script, letter in scripts.items() if script != "LATIN"), text[0])
        raise Unusable("mixed_scripts", code_point(odd))


def code_point(letter: str) -> str:
    """Return `U+200B`."""
    return f"U+{ord(letter):04X}"


def person_hash(key: bytes, identity: str) -> bytes:
    """Return 16 bytes that name a person without their address, for whoever has the installation's key."""
    return hashlib.blake2b(identity.encode(), key=key, digest_size=16).digest()


def lot_of(person: bytes) -> int:
    """Return the place of a person in the order in which ramps pick: uniform in [0, 2^63)."""
    return int.from_bytes(person[:8], "big") >> 1


def erased_identity(person: bytes) -> str:
    """Return what stands for an erased person."""
    return f"{ERASED}{person.hex()}"


def masked(address: str) -> str:
    """Return an address as lists show it: `a…@example.com`, of a short one only the domain."""
    local, _, domain = address.rpartition("@")
    return f"{local[0] if len(local) > MASKED else ''}…@{domain.lower()}"


_LOCALE = re.compile(
    r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?:\.[\w-]+)?", re.IGNORECASE
)


def locale_of(text: str) -> str | None:
    """Return a language as `en`, `pt-BR` or `zh-Hant-TW`; None for an empty text."""
    if not text:
        return None
    found = _LOCALE.fullmatch(text) if text.isascii() else None
    if found is None:
        raise Unusable("bad_locale")
    parts = (found[1].lower(), (found[2] or "").title(), (found[3] or "").upper())
    return "-".join(part for part in parts if part)


def zone_of(text: str, known: frozenset[str]) -> str | None:
    """Return a time zone by its name, such as Europe/Berlin; None for an empty text."""
    if not text:
        return None
    if text not in known:
        raise Unusable("bad_zone")
    return text


_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


def is_slug(text: str) -> bool:
    """Say whether an audience can be called so: 1 to 64 of [a-z0-9-]."""
    return _SLUG.fullmatch(text) is not None
