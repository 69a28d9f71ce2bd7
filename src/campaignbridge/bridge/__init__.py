"""The application layer's front door: what every surface calls. No rule lives here."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from campaignbridge.bridge.accounts import Accounts
from campaignbridge.bridge.campaigns import Campaigns
from campaignbridge.bridge.people import People
from campaignbridge.bridge.ramps import Ramps
from campaignbridge.bridge.work import Work
from campaignbridge.domain.job import Handler
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.vault import Vault


class Bridge(Accounts, People, Campaigns, Ramps, Work):
    """Campaigns that are sent at most once. Made by `campaignbridge.open_bridge`.

    Every method takes the actor that asks; rights are checked below. Expected refusals are `Refusal`s with a
    stable `code`; anything else that is raised is a bug. May be shared between threads.
    """

    def __init__(self, wiring: Wiring, handlers: Mapping[str, Handler], worker: Worker, vault: Vault) -> None:
        self.wiring = wiring
        self.handlers = handlers
        self.worker = worker
        self.vault = vault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection to the store."""
        self.wiring.store.database.close()
