"""What a check of `doctor` is: what it looks at, what it finds, and what it needs first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.identity import Whereabouts
from campaignbridge.ports import Clock, Database, Provider, Row, Transaction
from campaignbridge.settings import Settings
from campaignbridge.store.vault import Vault


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: ok, warn, fail or skipped; in words, what follows from it, and what to do."""

    status: str
    summary: str
    effect: str = ""
    fix: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at. Settings that can't be read stand here as their refusal."""

    settings: Settings | Refusal
    clock: Clock
    database: Database | None = None  # opened late, by whoever asks first
    schema: Callable[[], tuple[int, int]] | None = None  # the store's version, and ours
    open_provider: Callable[[Connection], Provider] | None = None
    vault: Vault | None = None
    place: Whereabouts | None = None

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that only reads."""
        assert self.database is not None, "the check needs the settings"
        with self.database.transaction(write=False) as tx:
            yield tx

    @property
    def chosen(self) -> Settings:
        """The settings, for checks that need them."""
        assert isinstance(self.settings, Settings)
        return self.settings


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at."""

    id: str
    group: str
    name: str
    needs: str  # the id of another check, or nothing
    look: Callable[[Subject], Finding]
    on: str = ""  # only on this kind of database


# others need them
GATES = {"settings_file": "the settings", "reachable": "the store", "schema": "the schema"}


def skipped(check: Check) -> Finding:
    """Return what is found where another check has to be well first."""
    return Finding("skipped", f"skipped: needs {GATES[check.needs]}")


def of_refusal(refusal: Refusal) -> Finding:
    """Return a refusal as a finding."""
    return Finding(
        "fail", refusal.what, refusal.todo, str(refusal.facts.get("command", "")), help=refusal.code
    )


def only(row: Row | None) -> Row:
    """Return the row of a statement that always gives one."""
    assert row is not None, "the statement always gives a row"
    return row
