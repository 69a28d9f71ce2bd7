"""Audit events in the store: append-only, written in the transaction of what they tell of."""

import json

from campaignbridge.ports import Row, Transaction


class Events:
    """The audit events of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(
        self,
        kind: str,
        *,
        campaign_id: str | None,
        actor: str | None,
        version: int | None = None,
        attempt_id: str | None = None,
        **data: object,
    ) -> None:
        """Append an event. Without an actor it is the system's own, and marked automatic."""
        self._tx.run(
            "events.add",
            campaign_id=campaign_id,
            kind=kind,
            actor=actor,
            automatic=int(actor is None),
            version=version,
            attempt_id=attempt_id,
            data=json.dumps(data, sort_keys=True),
        )

    def of_campaign(self, campaign_id: str, *, most: int = 1000) -> list[Row]:
        """Return a campaign's events, oldest first."""
        rows = self._tx.all("events.of_campaign", campaign_id=campaign_id, most=most)
        return [{**row, "automatic": bool(row["automatic"]), "data": json.loads(row["data"])} for row in rows]
