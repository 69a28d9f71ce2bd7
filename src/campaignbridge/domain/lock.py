"""A lease on a lock: who may work on one thing now, and for how much longer."""

from dataclasses import dataclass

LOCK_TTL_MS = 300_000


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock that is held. Fence *and* holder are compared everywhere.

    A failover that forgets a commit may hand out the same fence twice; the holder is new on every start.
    """

    key: str
    fence: int
    holder: str
    interrupted: str | None  # the operation that a takeover found, else None


def campaign_key(campaign_id: str) -> str:
    """Return the key under which one campaign is worked on."""
    return f"campaign:{campaign_id}"
