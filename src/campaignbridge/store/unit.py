"""A unit of work: one transaction and the repositories that share it."""

from collections.abc import Iterator
from contextlib import contextmanager

from campaignbridge.ports import Database, Transaction
from campaignbridge.store.accounts import Accounts
from campaignbridge.store.assignments import Assignments
from campaignbridge.store.audiences import Audiences
from campaignbridge.store.campaigns import Campaigns
from campaignbridge.store.discoveries import Discoveries
from campaignbridge.store.events import Events
from campaignbridge.store.fates import Fates
from campaignbridge.store.installation import Installation
from campaignbridge.store.jobs import Jobs
from campaignbridge.store.ledger import Ledger
from campaignbridge.store.limits import Limits
from campaignbridge.store.locks import Locks
from campaignbridge.store.notices import Notices
from campaignbridge.store.ramp_reads import RampReads
from campaignbridge.store.ramps import Ramps
from campaignbridge.store.recurring import RecurringJobs
from campaignbridge.store.remotes import Remotes
from campaignbridge.store.status import StatusReads
from campaignbridge.store.suppressions import Suppressions
from campaignbridge.store.waves import Waves
from campaignbridge.store.webhooks import Webhooks
from campaignbridge.store.workers import Workers


class Unit:
    """What one transaction can read and change."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.accounts = Accounts(tx)
        self.campaigns = Campaigns(tx)
        self.remotes = Remotes(tx)
        self.ledger = Ledger(tx)
        self.events = Events(tx)
        self.jobs = Jobs(tx)
        self.recurring = RecurringJobs(tx)
        self.workers = Workers(tx)
        self.locks = Locks(tx)
        self.limits = Limits(tx)
        self.discoveries = Discoveries(tx)
        self.identity = Installation(tx)
        self.status = StatusReads(tx)
        self.notices = Notices(tx)
        self.webhooks = Webhooks(tx)
        self.audiences = Audiences(tx)
        self.suppressions = Suppressions(tx)
        self.ramps = Ramps(tx)
        self.waves = Waves(tx)
        self.assignments = Assignments(tx)
        self.fates = Fates(tx)
        self.ramp_reads = RampReads(tx)

    def now_ms(self) -> int:
        """Return the store's one clock."""
        row = self._tx.one("installation.now")
        assert row is not None
        return int(row["now"])

    def installation(self) -> str | None:
        """Return the installation's id; None when it has none yet."""
        row = self._tx.one("installation.get")
        return None if row is None else str(row["id"])

    def name_installation(self, fresh_id: str) -> None:
        """Give the installation its id, unless it has one."""
        self._tx.run("installation.create", id=fresh_id)


class Store:
    """The store: opens units of work on one of the two databases."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def unit(self) -> Iterator[Unit]:
        """Open a transaction: committed when the block ends, rolled back when it raises."""
        with self.database.transaction() as tx:
            yield Unit(tx)

    @contextmanager
    def reading(self) -> Iterator[Unit]:
        """Open a transaction that only reads: one moment's view, and it waits for no writer."""
        with self.database.transaction(write=False) as tx:
            yield Unit(tx)
