"""What a provider's webhook tells, in our words, and what follows from it when the provider signed it.

An event is a hint that lets us read, and decides nothing about a delivery. What it tells of a person can only take
somebody off the next mailing, or add to the bad figures of a wave.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from campaignbridge.domain.audience import Suppressed


class EventKind(StrEnum):
    """Which events are kept."""

    CAMPAIGN = "campaign"  # a campaign was sent or stopped, or one of its mails came to something
    UNSUBSCRIBE = "unsubscribe"
    CLEANED = "cleaned"  # an address bounced for good, or complained
    REMOVED = "removed"  # taken off the list at the provider, or given up for another address


class Unheard(StrEnum):
    """Why nothing is kept of a request that came on the right address."""

    OF_NO_USE = "of_no_use"  # an event of another type
    UNREADABLE = "unreadable"  # nothing that the provider would send


class Fate(IntEnum):
    """What one person's mail came to. It only ever rises, so the order in which events come doesn't matter."""

    SOFT = 1  # bounced, and may still arrive
    DELIVERED = 2
    HARD = 3
    COMPLAINED = 4


@dataclass(frozen=True, slots=True)
class Heard:
    """One event. Its address is in clear, for as long as the request lasts and nowhere else."""

    kind: EventKind
    audience: str
    remote_id: str  # empty where an event about a person names no campaign
    status: str  # the provider's word: sent, canceled, delivered, soft; manual, hard, abuse
    fired_at: int  # epoch milliseconds, of the provider's clock
    address: str = field(default="", repr=False)


def suppresses(kind: str, status: str) -> Suppressed | None:
    """Return why the person that an event names is never mailed again; None for one that says nothing of the kind."""
    if kind == EventKind.CAMPAIGN:
        return None
    if status == "abuse":
        return Suppressed.COMPLAINT
    return {
        EventKind.UNSUBSCRIBE.value: Suppressed.UNSUBSCRIBE,
        EventKind.CLEANED.value: Suppressed.BOUNCE,
        EventKind.REMOVED.value: Suppressed.MANUAL,
    }[kind]


def fate_of(kind: str, status: str) -> Fate | None:
    """Return what an event says that one person's mail came to; None when it says nothing of it."""
    if kind == EventKind.CAMPAIGN:
        return {"delivered": Fate.DELIVERED, "soft": Fate.SOFT}.get(status)
    if status == "abuse":
        return Fate.COMPLAINED
    return Fate.HARD if kind == EventKind.CLEANED else None
