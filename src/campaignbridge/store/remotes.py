"""Remote campaigns in the store: what stands at the provider for each generation of a campaign."""

from campaignbridge.domain.campaign import Campaign
from campaignbridge.domain.evidence import Absence, Negative
from campaignbridge.domain.lock import Lease
from campaignbridge.domain.provider import Observation
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.ports import Row, Transaction


class Remotes:
    """The remote campaigns of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def begin(self, campaign: Campaign) -> None:
        """Make room for the remote campaign of the present generation."""
        self._tx.run(
            "remotes.begin",
            campaign_id=campaign.id,
            generation=campaign.generation,
            account=campaign.account,
        )

    def identify(
        self,
        campaign_id: str,
        generation: int,
        remote_id: str,
        *,
        status: str,
        went: bool,
        content_pending: bool,
    ) -> bool:
        """Record which remote campaign it is; False when it is known to be another one."""
        return (
            self._tx.run(
                "remotes.identify",
                campaign_id=campaign_id,
                generation=generation,
                remote_id=remote_id,
                status=status,
                went=int(went),
                content_pending=int(content_pending),
            )
            == 1
        )

    def start_writing(
        self, remote: RemoteCampaign, lease: Lease, *, limit_ms: int, need_ms: int
    ) -> int | None:
        """Announce an upload; return the time it is announced with, None when the lease is too short."""
        row = self._tx.one(
            "remotes.start_writing",
            campaign_id=remote.campaign_id,
            generation=remote.generation,
            limit_ms=limit_ms,
            need_ms=need_ms,
            key=lease.key,
            fence=lease.fence,
            holder=lease.holder,
        )
        return row["writing_until"] if row else None

    def stop_writing(
        self, remote: RemoteCampaign, writing_until: int, *, synced: bool, earlier: int | None
    ) -> bool:
        """Say that the announced upload had a definite answer; False when another one was announced since.

        `earlier` is the announcement of an earlier upload that may still land.
        """
        return (
            self._tx.run(
                "remotes.stop_writing",
                campaign_id=remote.campaign_id,
                generation=remote.generation,
                writing_until=writing_until,
                synced=int(synced),
                earlier=earlier,
            )
            == 1
        )

    def start_retiring(
        self, remote: RemoteCampaign, lease: Lease, *, limit_ms: int, need_ms: int
    ) -> int | None:
        """Announce that it is being made unsendable, as an upload is announced; it is never sent from here on."""
        row = self._tx.one(
            "remotes.start_retiring",
            campaign_id=remote.campaign_id,
            generation=remote.generation,
            limit_ms=limit_ms,
            need_ms=need_ms,
            key=lease.key,
            fence=lease.fence,
            holder=lease.holder,
        )
        return row["writing_until"] if row else None

    def retired(self, remote: RemoteCampaign) -> bool:
        """Record that it was made unsendable; False when it is known to have gone, or is retired already."""
        return (
            self._tx.run("remotes.retired", campaign_id=remote.campaign_id, generation=remote.generation) == 1
        )

    def spend(self, remote: RemoteCampaign) -> None:
        """Record that this generation is never sent: a request of it may still be under way somewhere."""
        self._tx.run("remotes.spend", campaign_id=remote.campaign_id, generation=remote.generation)

    def observe(
        self,
        remote: RemoteCampaign,
        seen: Observation | None,
        *,
        reconciled: bool,
        went: bool,
        negative: tuple[str | None, Absence] | None = None,
        absent_at: int | None = None,
    ) -> None:
        """Record a reading. Without one (gone, or searched in vain) what was seen before stays."""
        attempt_id, verdict = negative or (None, None)
        self._tx.run(
            "remotes.observe",
            campaign_id=remote.campaign_id,
            generation=remote.generation,
            status=seen.status.value if seen else remote.observed_status,
            raw_status=seen.raw_status if seen else remote.raw_status,
            recipient_count=remote.recipient_count
            if seen is None or seen.recipient_count is None
            else seen.recipient_count,
            emails_sent=seen.emails_sent if seen else remote.emails_sent,
            reconciled=int(reconciled),
            went=int(went),
            negative_attempt=attempt_id,
            negative_verdict=verdict.value if verdict else None,
            absent_at=absent_at,
        )

    def counted(self, remote: RemoteCampaign, recipients: int) -> None:
        """Keep how many people the audience had when it was last counted apart."""
        self._tx.run(
            "remotes.counted",
            campaign_id=remote.campaign_id,
            generation=remote.generation,
            recipients=recipients,
        )

    def accepted(self, campaign_id: str, generation: int, *, status: str, went: bool) -> None:
        """Record what an accepted request makes of the remote campaign."""
        self._tx.run(
            "remotes.accepted", campaign_id=campaign_id, generation=generation, status=status, went=int(went)
        )

    def absent(self, campaign_id: str, generation: int, *, fresh: bool) -> int | None:
        """Return how long ago (ms) the last request was found to have done nothing; None when none was."""
        row = self._tx.one("remotes.absent", campaign_id=campaign_id, generation=generation, fresh=int(fresh))
        return None if row is None or row["absent_at"] is None else row["now"] - row["absent_at"]


def remote_of(row: Row) -> RemoteCampaign | None:
    """Return the remote campaign that a joined row holds, or None when the join found none."""
    if row["content_pending"] is None:  # no row: the join found nothing
        return None
    negative = None
    if row["negative_verdict"] is not None:
        negative = Negative(
            attempt_id=row["negative_attempt"],
            verdict=Absence(row["negative_verdict"]),
            answered_at=row["negative_answered_at"],
        )
    return RemoteCampaign(
        campaign_id=row["id"],
        generation=row["generation"],
        account=row["account"] or "",
        remote_id=row["remote_id"],
        observed_status=row["observed_status"],
        raw_status=row["raw_status"],
        content_pending=bool(row["content_pending"]),
        writing_until=row["writing_until"],
        went=bool(row["went"]),
        negative=negative,
        absent_at=row["absent_at"],
        recipient_count=row["recipient_count"],
        emails_sent=row["emails_sent"],
        observed_at=row["observed_at"],
        reconciled_at=row["reconciled_at"],
        spent=bool(row["spent"]),
        retiring_at=row["retiring_at"],
        retired_at=row["retired_at"],
    )
