"""A connection: which account at which provider, and where its key is found."""

from dataclasses import dataclass, field
from typing import Any, NoReturn


class Secret:
    """Text that nothing shows: no repr, format, pickle or dump. Only `reveal` gives it, to who must have it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(...)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A secret is not written down.")

    def reveal(self) -> str:
        """Return the text."""
        return self._text


NO_SECRET = Secret("")


@dataclass(frozen=True, slots=True)
class Sealed:
    """A key as stored: ciphertext, and the id of the key that it was sealed with."""

    key_id: str
    box: str = field(repr=False)
    installation: str  # of the store that the row was read from


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as stored. It names an environment variable, or holds its key sealed, or is disconnected."""

    id: str
    provider: str
    label: str
    account: str | None  # None until verified once
    account_label: str | None
    base_url: str | None
    variable: str | None
    sealed: Sealed | None
    verified_at: int | None
    refused_at: int | None
    refused_code: str | None
    disconnected_at: int | None

    @property
    def sandboxed(self) -> bool:
        """It talks to another host than the provider's own: mail isn't really sent."""
        return self.base_url is not None

    @property
    def key_env(self) -> str:
        """Where a person puts its key: the variable's name, or words for the store."""
        return self.variable or "the store (replace-key)"
