"""What providers offer to choose from, as it was last read."""

import json
from dataclasses import asdict
from typing import Any

from campaignbridge.domain.campaign import Campaign
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.discovery import Cached, Kind, scope_of
from campaignbridge.domain.provider import Listing, MergeField, RemoteAudience, RemoteSegment, Sender
from campaignbridge.ports import Row, Transaction
from campaignbridge.store.campaign_rows import snapshot_of

_ENTRIES: dict[Kind, type[Any]] = {
    Kind.AUDIENCES: RemoteAudience,
    Kind.SEGMENTS: RemoteSegment,
    Kind.MERGE_FIELDS: MergeField,
    Kind.SENDERS: Sender,
}


class Discoveries:
    """The listings of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def get(self, account: str, kind: Kind, scope: str) -> Cached[Any]:
        """Return a listing as it was last read; without entries when it never was."""
        row = self._tx.one("discoveries.get", account=account, kind=kind.value, scope=scope)
        if row is None:
            now = self._tx.one("discoveries.now")
            assert now is not None
            return Cached(
                (), complete=False, refreshed_at=None, failed_at=None, failed_code=None, now=now["now"]
            )
        return _cached(row, kind)

    def put(self, account: str, kind: Kind, scope: str, listing: Listing[Any]) -> None:
        """Keep a listing that was just read."""
        self._tx.run(
            "discoveries.put",
            account=account,
            kind=kind.value,
            scope=scope,
            items=json.dumps([asdict(item) for item in listing.items], ensure_ascii=False),
            complete=int(listing.complete),
        )

    def failed(self, account: str, kind: Kind, scope: str, code: str) -> None:
        """Mark a listing as stale, because it couldn't be read anew."""
        self._tx.run("discoveries.failed", account=account, kind=kind.value, scope=scope, code=code)

    def content_and_fields(self, campaign: Campaign) -> tuple[Snapshot, Cached[MergeField]]:
        """Return a campaign's present content and the merge fields of its list."""
        row = self._tx.one(
            "discoveries.content_and_fields",
            campaign_id=campaign.id,
            revision=campaign.revision,
            account=campaign.account,
            scope=scope_of(Kind.MERGE_FIELDS, campaign.audience),
        )
        assert row is not None, "a campaign has its snapshot from birth"
        return snapshot_of(row), _cached(row, Kind.MERGE_FIELDS)

    def put_audience(self, account: str, audience: RemoteAudience) -> None:
        """Keep what was just read of one audience."""
        self._tx.run(
            "discoveries.put_audience",
            account=account,
            audience=audience.ref,
            name=audience.name,
            contacts=audience.contacts,
        )

    def audience(self, account: str, audience: str) -> Row | None:
        """Return an audience's name and size as last read; None when it never was."""
        return self._tx.one("discoveries.audience", account=account, audience=audience)


def _cached(row: Row, kind: Kind) -> Cached[Any]:
    entry = _ENTRIES[kind]
    return Cached(
        items=tuple(entry(**item) for item in json.loads(row["items"] or "[]")),
        complete=bool(row["complete"]),
        refreshed_at=row["refreshed_at"],
        failed_at=row["failed_at"],
        failed_code=row["failed_code"],
        now=row["now"],
    )
