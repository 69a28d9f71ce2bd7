"""Settings: from the environment and the command line, into one frozen value. Secrets are never in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from campaignbridge.domain.errors import InvalidInput

DEFAULT_DATABASE = "campaigns.db"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process works with."""

    database: str = DEFAULT_DATABASE  # a file, or postgresql://…
    allow_hosts: frozenset[str] = frozenset()  # beside loopback and the providers' own
    duties_separated: bool = False
    clock_offset_ms: int = 0  # moves the store's clock; for the demo and tests, 0 in production

    def __repr__(self) -> str:
        return "Settings(...)"  # a database URL may hold a password

    @property
    def on_postgres(self) -> bool:
        """The database is a PostgreSQL URL."""
        return self.database.startswith(("postgresql://", "postgres://"))


def from_environment(environment: Mapping[str, str] = os.environ, *, database: str | None = None) -> Settings:
    """Return the settings; what is given wins over `CAMPAIGNBRIDGE_…`, which wins over the defaults."""
    chosen = database or environment.get("CAMPAIGNBRIDGE_DATABASE") or DEFAULT_DATABASE
    if "\x00" in chosen:
        raise InvalidInput("The database's name contains a NUL character.", todo="Name a file or a URL.")
    if "://" in chosen and not chosen.startswith(("postgresql://", "postgres://")):
        raise InvalidInput(
            "The database is a file or a postgresql:// URL.",
            todo="Use --database campaigns.db or --database postgresql://user@host/name",
        )
    hosts = environment.get("CAMPAIGNBRIDGE_ALLOW_HOSTS", "")
    return Settings(
        database=chosen,
        allow_hosts=frozenset(host.strip().lower() for host in hosts.split(",") if host.strip()),
        duties_separated=environment.get("CAMPAIGNBRIDGE_SEPARATE_DUTIES", "") in {"1", "true", "yes"},
    )
