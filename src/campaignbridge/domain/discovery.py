"""What a provider offers to choose from, as it was last read: audiences, segments, merge fields, senders."""

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

STALE_MS = 900_000

T = TypeVar("T")


class Kind(Enum):
    """One kind of listing."""

    AUDIENCES = "audiences"
    SEGMENTS = "segments"
    MERGE_FIELDS = "merge_fields"
    SENDERS = "senders"

    @property
    def of_one_list(self) -> bool:
        """Say whether each list has its own."""
        return self in (Kind.SEGMENTS, Kind.MERGE_FIELDS)


@dataclass(frozen=True, slots=True)
class Cached(Generic[T]):
    """A listing from the store, seen at `now` of the store's clock. Times are epoch milliseconds."""

    items: tuple[T, ...]
    complete: bool  # False: what isn't in it may exist all the same
    refreshed_at: int | None  # None: it was never read
    failed_at: int | None  # when the last refresh failed, if it did
    failed_code: str | None
    now: int

    @property
    def stale(self) -> bool:
        """Say whether it has to be read anew before anything is decided by it."""
        aged = self.refreshed_at is None or self.now - self.refreshed_at >= STALE_MS
        return aged or self.failed_at is not None


def scope_of(kind: Kind, audience: str) -> str:
    """Return whose listing it is: the list of an audience, or nothing for what the whole account shares."""
    return audience.partition(":")[0] if kind.of_one_list else ""


def discovery_key(account: str, kind: Kind, scope: str) -> str:
    """Return the key of the lock under which this listing is refreshed, whatever the connection."""
    return f"discovery:{account}:{kind.value}:{scope}"
