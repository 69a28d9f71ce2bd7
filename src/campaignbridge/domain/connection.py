"""A connection: which account at which provider, and where its key is found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as stored. It names an environment variable; no key is stored."""

    id: str
    provider: str
    label: str
    account: str | None  # None until verified once
    account_label: str | None
    base_url: str | None
    key_env: str
    verified_at: int | None
    refused_at: int | None
    refused_code: str | None

    @property
    def sandboxed(self) -> bool:
        """It talks to another host than the provider's own: mail isn't really sent."""
        return self.base_url is not None
