"""What each column of a file of contacts becomes: address, language, time zone, or an attribute."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaignbridge.domain.audience import MAX_ATTRIBUTES, MAX_NAME, Unusable, address_of, trimmed
from campaignbridge.domain.errors import InvalidInput

_EMAIL = frozenset(
    "email|e-mail|mail|email address|e-mail address|emailaddress|email_address|e-mail-adresse|e-mailadresse|"
    "mailadresse|email-adresse|adresse e-mail|adresse email|adresse électronique|courriel|correo|"
    "correo electrónico|direccion de correo|dirección de correo electrónico|indirizzo email|indirizzo e-mail|"
    "endereço de e-mail|endereço de email|e-mailadres|adres e-mail|e-postadress|e-post|メールアドレス|"
    "电子邮件地址|电子邮件|이메일|이메일 주소|электронная почта|адрес электронной почты".split("|")
)
_LOCALE = frozenset("locale|language|lang|sprache|langue|idioma|lingua|taal|язык".split("|"))
_ZONE = frozenset(
    "timezone|time zone|time_zone|tz|zeitzone|fuseau horaire|zona horaria|fuso horario".split("|")
)


@dataclass(frozen=True, slots=True)
class Mapping:
    """The columns of one file: their names, and the places of those that are no attributes."""

    names: tuple[str, ...]
    email: int
    locale: int | None
    zone: int | None

    @property
    def attributes(self) -> tuple[int, ...]:
        """The places of the attributes."""
        special = {self.email, self.locale, self.zone}
        return tuple(place for place in range(len(self.names)) if place not in special)

    def becomes(self, place: int) -> str:
        """Return what a column becomes, in one word."""
        kinds = {self.email: "address", self.locale: "language", self.zone: "time zone"}
        return kinds.get(place, "attribute")


def is_header(first: Sequence[str]) -> bool:
    """Say whether the first row names the columns: a row with somebody's address in it doesn't."""
    return not any(_is_address(cell) for cell in first)


def names_of(header: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns; one that has none is called by its place."""
    names: list[str] = []
    for place, cell in enumerate(header, start=1):
        name = trimmed(cell) or f"column_{place}"
        if len(name) > MAX_NAME or any(ord(letter) < 32 for letter in name):
            raise InvalidInput(
                f"The name of column {place} has more than {MAX_NAME} characters, or a control character.",
                todo="Look whether the first row is the header, and whether the delimiter is right.",
            )
        names.append(name)
    for place, name in enumerate(names, start=1):
        if names.index(name) != place - 1:
            raise InvalidInput(
                f"Columns {names.index(name) + 1} and {place} have the same name.",
                todo="Give each column a name of its own.",
            )
    return tuple(names)


def mapping_of(
    names: tuple[str, ...],
    sample: Sequence[Sequence[str]],
    *,
    email: str | None = None,
    locale: str | None = None,
    zone: str | None = None,
) -> Mapping:
    """Return what each column becomes: as told, else by its name, else by what stands in it."""
    mapping = Mapping(
        names,
        _named(names, email) if email is not None else _address_column(names, sample),
        _named(names, locale) if locale is not None else _known(names, _LOCALE),
        _named(names, zone) if zone is not None else _known(names, _ZONE),
    )
    if len({mapping.email, mapping.locale, mapping.zone} - {None}) < sum(
        place is not None for place in (mapping.email, mapping.locale, mapping.zone)
    ):
        raise InvalidInput(
            "One column can't be two things.", todo="Name another with --email, --locale or --zone."
        )
    if len(mapping.attributes) > MAX_ATTRIBUTES:
        raise InvalidInput(
            f"There are more than {MAX_ATTRIBUTES} attributes for each person.",
            todo="Leave out the columns that no campaign needs.",
        )
    return mapping


def _named(names: tuple[str, ...], wanted: str) -> int:
    if wanted not in names:
        raise InvalidInput("There is no column of that name.", todo=f"It has: {', '.join(names)[:200]}.")
    return names.index(wanted)


def _known(names: tuple[str, ...], known: frozenset[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name.lower() in known), None)


def _address_column(names: tuple[str, ...], sample: Sequence[Sequence[str]]) -> int:
    named = _known(names, _EMAIL)
    if named is not None:
        return named
    counts = [
        sum(_is_address(row[place]) for row in sample if place < len(row)) for place in range(len(names))
    ]
    best = max(counts, default=0)
    if best * 2 <= len(sample) or counts.count(best) > 1:
        raise InvalidInput(
            "No column can be told to hold the addresses.",
            todo=f"Name it with --email. The columns are: {', '.join(names)[:200]}.",
        )
    return counts.index(best)


def _is_address(cell: str) -> bool:
    try:
        address_of(cell)
    except Unusable:
        return False
    return True
