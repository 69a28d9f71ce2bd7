"""Settings: from the command line, the environment and one file, into one frozen value.

What is given wins over `CAMPAIGNBRIDGE_…`, which wins over `campaignbridge.toml`, which wins over the
defaults. Providers' keys are never in it; the ring that seals stored ones is, or the file that holds it.
"""

import difflib
import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from campaignbridge.domain.connection import NO_SECRET, Secret
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.store.vault import KeyRing, parse_ring
from campaignbridge.targets import Target, targets_from

DEFAULT_DATABASE = "campaigns.db"
DEFAULT_FILE = "campaignbridge.toml"
SETTINGS_VARIABLE = "CAMPAIGNBRIDGE_SETTINGS"
RING_VARIABLE = "CAMPAIGNBRIDGE_SECRET_KEYS"
TRUE = frozenset({"1", "true", "yes", "on"})
MOST_BYTES = 65_536

KINDS: dict[str, type] = {
    "database": str,
    "secret_file": str,
    "allow_hosts": list,
    "separate_duties": bool,
    "test_domains": list,
    "notices": dict,
}
_WORDS = {
    str: "a text in quotes",
    list: 'a list of texts, such as ["a.example"]',
    bool: "true or false",
    dict: "tables, such as [notices.ops]",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process works with."""

    database: str = DEFAULT_DATABASE  # a file, or postgresql://…
    allow_hosts: frozenset[str] = frozenset()  # beside loopback and the providers' own
    duties_separated: bool = False
    clock_offset_ms: int = 0  # moves the store's clock; for the demo and tests, 0 in production
    test_domains: frozenset[str] = frozenset()  # where tests may go; empty: anywhere
    secret_keys: Secret = NO_SECRET  # the ring itself; wins over the file
    secret_file: str | None = None  # the file with the ring
    machine: str = ""  # a name that stands for this machine's own id
    notices: tuple[Target, ...] = ()  # where it is told that something needs a person
    file: str | None = None  # the settings file, if there is one
    file_keys: int = 0  # how many settings it holds

    def __repr__(self) -> str:
        return "Settings(...)"  # a database URL may hold a password

    @property
    def on_postgres(self) -> bool:
        """The database is a PostgreSQL URL."""
        return self.database.startswith(("postgresql://", "postgres://"))

    def ring(self) -> KeyRing:
        """Return the ring that seals stored keys; an empty one when none is set.

        Raises `InvalidInput` for one that can't be read, or that others on this host can read.
        """
        if self.secret_keys:
            return parse_ring(self.secret_keys, place=RING_VARIABLE)
        if self.secret_file is None:
            return KeyRing({})
        return parse_ring(read_private(self.secret_file), place="the secret file")


def from_environment(environment: Mapping[str, str] = os.environ, *, database: str | None = None) -> Settings:
    """Return the settings. Raises `InvalidInput` for a file, a name or a value that can't be used."""
    path = environment.get(SETTINGS_VARIABLE) or (DEFAULT_FILE if environment is os.environ else "")
    values = _from_file(path, wanted=SETTINGS_VARIABLE in environment) if path else None
    filed = values or {}
    separate = environment.get("CAMPAIGNBRIDGE_SEPARATE_DUTIES")
    return Settings(
        database=_checked_database(
            database or environment.get("CAMPAIGNBRIDGE_DATABASE") or filed.get("database", DEFAULT_DATABASE)
        ),
        allow_hosts=_names(environment.get("CAMPAIGNBRIDGE_ALLOW_HOSTS"), filed.get("allow_hosts")),
        duties_separated=_truth(separate) if separate else filed.get("separate_duties", False),
        test_domains=_names(environment.get("CAMPAIGNBRIDGE_TEST_DOMAINS"), filed.get("test_domains")),
        secret_keys=Secret(environment.get(RING_VARIABLE, "")),
        secret_file=environment.get("CAMPAIGNBRIDGE_SECRET_FILE") or filed.get("secret_file"),
        machine=environment.get("CAMPAIGNBRIDGE_MACHINE_ID", "").strip(),
        notices=targets_from(filed.get("notices", {}), environment),
        file=path if values is not None else None,
        file_keys=len(filed),
    )


def secret_of(target: Target) -> Secret:
    """Return the secret of a notice target: its own, a file's or a variable's. Raises `InvalidInput` without one."""
    if target.secret_file is not None and not target.secret:
        return read_private(target.secret_file)
    secret = target.secret or Secret(os.environ.get(target.secret_env or "", ""))
    if not secret:
        raise InvalidInput(
            f"The environment variable {target.secret_env} of the notice target {target.name} is not set.",
            todo="Set it where workers run, then try: campaignbridge notices test",
        )
    return secret


def place_of_store(settings: Settings) -> str:
    """Return which store it is, without a password: `sqlite:campaigns.db`, `postgresql:name at host`."""
    if not settings.on_postgres:
        return f"sqlite:{settings.database}"
    try:
        parts = urlsplit(settings.database)
        return f"postgresql:{parts.path.lstrip('/') or '?'} at {parts.hostname or 'this host'}"
    except ValueError:
        return "postgresql"


def settings_text(settings: Settings, *, secret_file: str) -> str:
    """Return a settings file that says what these settings say, each with a remark."""
    return f"""# CampaignBridge. A variable CAMPAIGNBRIDGE_<NAME> wins over a line here, a flag over both.
# Places that don't begin with / are below this file's folder.

# A SQLite file, or postgresql://user@host/name
database = {_toml(settings.database)}

# The key ring that stored keys are sealed under. Keep a copy of the file apart from the store's backups, and
# neither of them in version control: without it, stored keys are lost; with it, a copy of the store is enough.
secret_file = {_toml(secret_file)}

# Hosts that a key may be sent to, beside the providers' own and this machine's.
allow_hosts = {_toml(sorted(settings.allow_hosts))}

# Whoever approves a campaign may not send it.
separate_duties = {_toml(settings.duties_separated)}

# The only domains that test mails may go to; an empty list allows every one.
test_domains = {_toml(sorted(settings.test_domains))}

# Where it is told that something needs a person: a signed webhook, or a URL of Apprise's. Secrets stay outside.
# [notices.ops]
# webhook = "https://hooks.acme.example/campaignbridge"
# secret_env = "OPS_HOOK_SECRET"
"""


def _toml(value: str | bool | list[str]) -> str:  # noqa: FBT001
    return json.dumps(value, ensure_ascii=False).replace(
        "\x7f", "\\u007F"
    )  # the same in JSON and TOML, for these


def _checked_database(chosen: str) -> str:
    if "\x00" in chosen:
        raise InvalidInput("The database's name contains a NUL character.", todo="Name a file or a URL.")
    if "://" in chosen and not chosen.startswith(("postgresql://", "postgres://")):
        raise InvalidInput(
            "The database is a file or a postgresql:// URL.",
            todo="Use --database campaigns.db or --database postgresql://user@host/name",
        )
    return chosen


def _names(text: str | None, filed: list[str] | None) -> frozenset[str]:
    given = text.split(",") if text else filed or []
    return frozenset(name.strip().lower() for name in given if name.strip())


def _truth(text: str) -> bool:
    return text.strip().lower() in TRUE


def _from_file(path: str, *, wanted: bool) -> dict[str, Any] | None:
    """Return what the file sets, with its relative places made relative to its own folder."""
    try:
        values = tomllib.loads(_read(path).decode())
    except FileNotFoundError:
        if not wanted:
            return None
        raise InvalidInput(
            f"There is no settings file {path}.", todo=f"Set {SETTINGS_VARIABLE} to one that there is."
        ) from None
    except (OSError, ValueError) as error:  # of a TOML error only the place: the line may hold a password
        raise InvalidInput(
            f"The settings file {path} can't be read ({_place(error)}).", todo="Correct it; it is TOML."
        ) from None
    for name, value in values.items():
        _check(path, name, value)
    folder = Path(path).parent
    for name in ("database", "secret_file"):
        if name in values and "://" not in values[name]:
            values[name] = str(folder / Path(values[name]).expanduser())
    for table in values.get("notices", {}).values():
        for name in ("secret_file", "apprise_file"):
            if isinstance(table, dict) and isinstance(table.get(name), str):
                table[name] = str(folder / Path(table[name]).expanduser())
    return values


def _check(path: str, name: str, value: object) -> None:
    kind = KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, KINDS, n=1, cutoff=0.0)[0]
        raise InvalidInput(
            f"{path} sets {name[:40]!a}, which is no setting; the nearest is {near}.",
            todo=f"The settings are {', '.join(KINDS)}.",
        )
    texts = value if isinstance(value, list) else [value] if kind is str else []
    if not isinstance(value, kind) or not all(isinstance(one, str) and one for one in texts):
        raise InvalidInput(
            f"In {path}, {name} takes {_WORDS[kind]}.", todo="Correct it, then repeat the command."
        )


def _place(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "unreadable").lower()
    at = str(error).rpartition("(at ")[2].rstrip(")")
    return at if isinstance(error, tomllib.TOMLDecodeError) and at.startswith(("line", "end")) else "not text"


def _read(path: str, *, private: bool = False) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(0, "not a plain file")
        if private and not _is_private(facts):
            raise PermissionError(0, "others can read or change it")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(0, "too big")
    return data


def _is_private(facts: os.stat_result) -> bool:
    """As PostgreSQL asks of its key: only ours, or root's and readable by a group."""
    mode, ours = stat.S_IMODE(facts.st_mode), facts.st_uid == os.geteuid()
    return not mode & 0o077 if ours else facts.st_uid == 0 and not mode & 0o027


def read_private(path: str) -> Secret:
    """Return what stands in a file that only we can read. Raises `InvalidInput` for any other."""
    try:
        return Secret(_read(path, private=True).decode("ascii"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The secret file can't be used ({_place(error)}).",
            todo=f"Only its owner may read it: chmod 600 {path}"
            if isinstance(error, PermissionError)
            else "Name the right one with CAMPAIGNBRIDGE_SECRET_FILE, or run campaignbridge init.",
        ) from None
