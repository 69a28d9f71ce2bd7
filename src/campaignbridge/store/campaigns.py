"""Campaigns and their frozen content in the store."""

import re
from dataclasses import dataclass

from campaignbridge.domain.campaign import Approval, Campaign, State
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.ledger import Attempt, token_stem
from campaignbridge.domain.provider import Envelope
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.ports import Row, Transaction
from campaignbridge.store.accounts import connection_of
from campaignbridge.store.campaign_rows import campaign_of, open_attempt_of, snapshot_of
from campaignbridge.store.remotes import remote_of

_ID = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class Dossier:
    """One campaign with all that decisions about it need, read at `now` of the store's clock."""

    campaign: Campaign
    connection: Connection
    remote: RemoteCampaign | None  # of the present generation
    attempt: Attempt | None  # the open one
    content_holder: str | None  # another campaign that holds this content for this audience
    installation: str
    now: int
    paused: bool = False  # the installation is a copy that nobody has adopted
    delivered: bool = False  # a send or schedule of the present generation was ever issued

    @property
    def stem(self) -> str:
        """What every generation's token starts with."""
        wave = self.campaign.wave
        return token_stem(self.installation, f"{wave.ramp}.{wave.label}" if wave else self.campaign.id)

    @property
    def since(self) -> int:
        """From when on something of it may exist at the provider; a wave's, from before the store was restored."""
        wave = self.campaign.wave
        return min(self.campaign.created_at, wave.since) if wave else self.campaign.created_at

    @property
    def token(self) -> str:
        """The token in the remote title: never the attempt's, so that a forgotten decision is found."""
        return f"{self.stem}.g{self.campaign.generation}"


class Campaigns:
    """The campaigns of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def create(self, *, campaign_id: str, name: str, connection_id: str, audience: str, owner: str) -> bool:
        """Create a draft at version 1, revision 1, generation 1; False when there is one with this id."""
        return (
            self._tx.run(
                "campaigns.create",
                id=campaign_id,
                name=name,
                connection_id=connection_id,
                audience=audience,
                owner=owner,
            )
            == 1
        )

    def create_for_wave(
        self,
        *,
        campaign_id: str,
        name: str,
        connection_id: str,
        audience: str,
        owner: str,
        wave_id: str,
        approval: Approval,
        source: tuple[str, int],
    ) -> None:
        """Create a wave's campaign, approved, with the content of `source`: a campaign and its revision."""
        self._tx.run(
            "campaigns.create_for_wave",
            id=campaign_id,
            name=name,
            connection_id=connection_id,
            audience=audience,
            owner=owner,
            wave_id=wave_id,
            approved_by=approval.by,
            approved_at=approval.at_ms,
            approved_fingerprint=approval.fingerprint,
            max_recipients=approval.max_recipients,
        )
        self._tx.run("campaigns.copy_snapshot", campaign_id=campaign_id, source=source[0], revision=source[1])

    def add_snapshot(
        self,
        *,
        campaign_id: str,
        revision: int,
        envelope: Envelope,
        html: str,
        text: str,
        fingerprint: str,
        by: str,
    ) -> None:
        """Freeze one revision of the content."""
        self._tx.run(
            "campaigns.snapshot",
            campaign_id=campaign_id,
            revision=revision,
            subject=envelope.subject,
            preview_text=envelope.preview_text,
            from_name=envelope.from_name,
            from_email=envelope.from_email,
            reply_to=envelope.reply_to,
            html=html,
            text=text,
            fingerprint=fingerprint,
            created_by=by,
        )

    def get(self, campaign_id: str) -> Dossier:
        """Return a campaign with its surroundings; raise `NotFound`."""
        row = self._tx.one("campaigns.get", id=campaign_id) if _ID.fullmatch(campaign_id) else None
        if row is None:
            raise NotFound(
                f"There is no campaign {campaign_id[:40]!a}.", todo="campaigns list shows what there is."
            )
        return Dossier(
            campaign=campaign_of(row),
            connection=connection_of(row, id_column="connection_id"),
            remote=remote_of(row),
            attempt=open_attempt_of(row),
            content_holder=row["content_holder"],
            installation=row["installation"],
            now=row["now"],
            paused=row["paused_since"] is not None,
            delivered=bool(row["delivered"]),
        )

    def hold(self, campaign_id: str) -> None:
        """Keep the campaign's row until this transaction ends: nothing of it is settled meanwhile."""
        self._tx.run("campaigns.hold", id=campaign_id)

    def snapshot(self, campaign: Campaign) -> Snapshot:
        """Return the campaign's present content."""
        row = self._tx.one("campaigns.snapshot_of", campaign_id=campaign.id, revision=campaign.revision)
        assert row is not None, "a campaign has its snapshot from birth"
        return snapshot_of(row)

    def newest(self, *, most: int) -> list[Row]:
        """Return the newest campaigns, for people."""
        return self._tx.all("campaigns.newest", most=most)

    def edit(
        self,
        campaign: Campaign,
        state: State,
        *,
        approval: Approval | None,
        revision: int | None = None,
        audience: str | None = None,
    ) -> bool:
        """Make a local change; False when somebody was faster or a request is unresolved."""
        return (
            self._tx.run(
                "campaigns.edit",
                id=campaign.id,
                version=campaign.version,
                from_state=campaign.state.value,
                state=state.value,
                revision=revision or campaign.revision,
                audience=audience or campaign.audience,
                approved_by=approval.by if approval else None,
                approved_fingerprint=approval.fingerprint if approval else None,
                max_recipients=approval.max_recipients if approval else None,
            )
            == 1
        )

    def claim(self, campaign: Campaign, attempt_id: str, *, look_at: int, delivers: bool) -> bool:
        """Open an attempt; False when somebody was faster, a request is unresolved, or it went already."""
        return (
            self._tx.run(
                "campaigns.claim",
                id=campaign.id,
                version=campaign.version,
                from_state=campaign.state.value,
                attempt_id=attempt_id,
                look_at=look_at,
                delivers=int(delivers),
            )
            == 1
        )

    def settle(
        self,
        campaign_id: str,
        attempt_id: str,
        state: State,
        *,
        look_in_ms: int | None,
        flag: str | None = None,
        scheduled_for: int | None = None,
    ) -> bool:
        """Close the open attempt; False when it isn't this one."""
        return (
            self._tx.run(
                "campaigns.settle",
                id=campaign_id,
                attempt_id=attempt_id,
                state=state.value,
                look_in_ms=look_in_ms,
                flag=flag,
                scheduled_for=scheduled_for,
            )
            == 1
        )

    def resolve(self, campaign: Campaign, state: State, *, keep_approval: bool) -> bool:
        """Settle by hand what can't be read; False when somebody changed the campaign since it was read."""
        return (
            self._tx.run(
                "campaigns.resolve",
                id=campaign.id,
                version=campaign.version,
                state=state.value,
                keep_approval=int(keep_approval),
            )
            == 1
        )

    def doubt(self, campaign_id: str, attempt_id: str, state: State, *, look_in_ms: int) -> bool:
        """Keep the open attempt unresolved; False when it isn't this one."""
        return (
            self._tx.run(
                "campaigns.doubt",
                id=campaign_id,
                attempt_id=attempt_id,
                state=state.value,
                look_in_ms=look_in_ms,
            )
            == 1
        )

    def acknowledge(self, campaign: Campaign) -> bool:
        """Clear a possible double that a person has looked at; False when there is none, or it changed."""
        return self._tx.run("campaigns.acknowledge", id=campaign.id, version=campaign.version) == 1

    def follow(
        self,
        campaign: Campaign,
        state: State,
        *,
        look_in_ms: int | None,
        flag: str | None,
        scheduled_for: int | None = None,
    ) -> bool:
        """Move with the provider's record; False when somebody changed the campaign since it was read."""
        return (
            self._tx.run(
                "campaigns.follow",
                id=campaign.id,
                version=campaign.version,
                state=state.value,
                look_in_ms=look_in_ms,
                flag=flag,
                scheduled_for=scheduled_for,
            )
            == 1
        )

    def watch(
        self,
        campaign: Campaign,
        *,
        look_in_ms: int | None,
        stopped_reason: str | None,
        flag: str | None,
        scheduled_for: int | None = None,
    ) -> bool:
        """Move the watch without a version; False when somebody changed the campaign since it was read."""
        return (
            self._tx.run(
                "campaigns.watch",
                id=campaign.id,
                version=campaign.version,
                look_in_ms=look_in_ms,
                stopped_reason=stopped_reason,
                flag=flag,
                scheduled_for=scheduled_for,
            )
            == 1
        )

    def look_now(self, campaign_id: str) -> bool:
        """Have a campaign looked at now, also if its watch had stopped; False when it is finished."""
        return self._tx.run("campaigns.look_now", id=campaign_id) == 1

    def alarm(self, campaign_id: str, flag: str) -> bool:
        """Flag a person, as a version of its own; say whether the campaign is now to be looked at."""
        row = self._tx.one("campaigns.alarm", id=campaign_id, flag=flag)
        return row is not None and row["look_at"] is not None

    def flag(self, campaign: Campaign, flag: str) -> bool:
        """Flag a person while the watch goes on; False when somebody changed the campaign since it was read."""
        return self._tx.run("campaigns.flag", id=campaign.id, version=campaign.version, flag=flag) == 1

    def next_generation(self, campaign: Campaign, state: State) -> bool:
        """Give the campaign a new generation; False unless the present one is retired, and nobody was faster."""
        return (
            self._tx.run(
                "campaigns.next_generation",
                id=campaign.id,
                version=campaign.version,
                generation=campaign.generation,
                state=state.value,
            )
            == 1
        )

    def postpone(self, campaign_id: str, flag: str, *, look_in_ms: int) -> bool:
        """Put off a look that failed, and flag a person; False when nothing is due to be looked at."""
        return self._tx.run("campaigns.postpone", id=campaign_id, flag=flag, look_in_ms=look_in_ms) == 1

    def unwatched(self, *, most: int) -> list[tuple[str, int]]:
        """Return campaigns that are to be looked at and have no job that will, each with its time."""
        return [(row["id"], row["look_at"]) for row in self._tx.all("campaigns.unwatched", most_literal=most)]

    def look_again(self) -> list[str]:
        """Have everything looked at that moves by itself or has an open request; return the campaigns."""
        return [row["id"] for row in self._tx.all("campaigns.look_again")]

    def stop_connection(self, connection_id: str, reason: str) -> int:
        """Stop every watch of a connection; return how many there were."""
        return self._tx.run("campaigns.stop_connection", connection_id=connection_id, reason=reason)

    def restart_stopped(self, connection_id: str) -> list[str]:
        """Restart every watch of a connection that had stopped on its credential; return the campaigns."""
        return [row["id"] for row in self._tx.all("campaigns.restart_stopped", connection_id=connection_id)]
