"""What a provider's webhook tells, in our words. An event is a hint: it lets us read, and decides nothing."""

from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """Which events are kept."""

    CAMPAIGN = "campaign"  # a campaign was sent or stopped
    UNSUBSCRIBE = "unsubscribe"
    CLEANED = "cleaned"  # an address bounced for good, or complained


class Unheard(StrEnum):
    """Why nothing is kept of a request that came on the right address."""

    OF_NO_USE = "of_no_use"  # an event of another type
    UNREADABLE = "unreadable"  # nothing that the provider would send


@dataclass(frozen=True, slots=True)
class Heard:
    """One event. Its address is in clear, for as long as the request lasts and nowhere else."""

    kind: EventKind
    audience: str
    remote_id: str  # empty where an event about a person names no campaign
    status: str  # the provider's word: sent, canceled; manual, hard, abuse
    fired_at: int  # epoch milliseconds, of the provider's clock
    address: str = field(default="", repr=False)
