"""Providers for whoever may only read: the background, and everybody's reconcile.

The system may look at the provider by itself; it may never send, schedule or change anything there by itself. What
looks is handed a `Reader`: a type without any such call, around an object that refuses them.
"""

from typing import Any, cast

from campaignbridge.domain.connection import Connection
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider, Reader

READS = frozenset(name for name in {*vars(Reader), *Reader.__annotations__} if not name.startswith("_"))


class OnlyReads:
    """A provider of which nothing but readings can be asked."""

    __slots__ = ("_provider",)

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        assert name in READS, f"{name} is not for whoever only reads"
        return getattr(self._provider, name)


def open_reader(wiring: Wiring, connection: Connection) -> Reader:
    """Open a connection for readings."""
    return cast("Reader", OnlyReads(wiring.open_provider(connection)))
