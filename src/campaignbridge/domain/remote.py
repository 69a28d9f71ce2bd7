"""The remote campaign: what stands at the provider for one generation of a campaign."""

from dataclasses import dataclass

from campaignbridge.domain.evidence import Negative
from campaignbridge.domain.ledger import SETTLE_MS
from campaignbridge.domain.provider import RemoteStatus


@dataclass(frozen=True, slots=True)
class RemoteCampaign:
    """A remote campaign as stored. Its identity never changes within a generation."""

    campaign_id: str
    generation: int
    account: str
    remote_id: str | None  # None while no create is known to have taken effect
    observed_status: str | None
    raw_status: str | None
    content_pending: bool
    writing_until: int | None  # the deadline of an upload that had no definite answer
    went: bool  # a send was accepted, or it was seen sending: never a draft again
    negative: Negative | None
    absent_at: int | None  # when a request was last found to have done nothing, while readings are due
    recipient_count: int | None
    emails_sent: int | None
    observed_at: int | None
    reconciled_at: int | None
    spent: bool = False  # a send or schedule of it was settled as not applied, and the provider has `retire`
    retiring_at: int | None = None  # since when it is being made unsendable
    retired_at: int | None = None  # since when that is proven

    @property
    def sendable(self) -> bool:
        """Say whether this generation may still be sent, as far as its own history tells."""
        return not self.went and not self.spent and self.retiring_at is None

    @property
    def may_have_mailed(self) -> bool:
        """Say whether somebody may have been mailed by it: it went, or was stopped, and not before the first."""
        stopped = self.observed_status == RemoteStatus.CANCELLED.value and self.emails_sent != 0
        return self.went or bool(self.emails_sent) or stopped

    def may_be_written_until(self) -> int | None:
        """Return when an upload of ours can no longer land, or None when none is open."""
        return None if self.writing_until is None else self.writing_until + SETTLE_MS
