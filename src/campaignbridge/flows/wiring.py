"""What every flow is handed: the store, the providers, local time, chance, and who this process is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from campaignbridge.domain.connection import Connection
from campaignbridge.domain.installation import Place
from campaignbridge.domain.job import Request, job_id
from campaignbridge.ports import Chance, Clock, NoticeTarget, Provider, WebhookReader
from campaignbridge.store.unit import Store, Unit


@dataclass(frozen=True, slots=True)
class Wiring:
    """The parts that flows work with; put together by `bootstrap`, and by nobody else."""

    store: Store
    open_provider: Callable[[Connection], Provider]
    clock: Clock
    chance: Chance
    holder: str  # new on every process start, never reused
    duties_separated: bool = False  # whoever approves may not send
    test_domains: frozenset[str] = frozenset()  # where tests may go; empty: anywhere
    place: Place | None = None  # where this process finds the store; None: in memory, or nobody looked
    notice_targets: Mapping[str, Callable[[], NoticeTarget]] = field(default_factory=dict)  # opened by name
    webhook_reader: Callable[[str], WebhookReader | None] = lambda _slug: None  # by provider

    def new_id(self, prefix: str) -> str:
        """Return a fresh opaque id such as `cmp_7k2f9x0q1z3m`."""
        return f"{prefix}_{self.chance.token(12)}"

    def wake_watch(self, unit: Unit, campaign_id: str, *, in_ms: int) -> None:
        """Queue the look at a campaign in this transaction; an earlier one that is queued stays."""
        unit.jobs.enqueue(
            job_id(self.clock.mark().wall_ms, self.chance.token(8)),
            watch_request(campaign_id),
            delay_ms=in_ms,
        )


def watch_request(campaign_id: str) -> Request:
    """Return the job that looks at one campaign; one unfinished at a time."""
    return Request(type="watch_campaign", target=f"campaign:{campaign_id}", max_attempts=50)
