"""Webhooks in the store: where providers may post to, and what they posted, without any address."""

from dataclasses import dataclass

from campaignbridge.domain.connection import Connection, Sealed
from campaignbridge.ports import Row, Transaction
from campaignbridge.store.accounts import connection_of


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a connection's provider posts to, read at `now` of the store's clock."""

    connection: Connection
    secret_hash: str
    signing: Sealed | None  # the key that the provider signs with
    made_at: int
    heard_at: int | None
    now: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event as stored. The first five fields are its natural key."""

    connection_id: str
    kind: str
    audience: str
    subject: str  # the remote id; for a person a keyed hash of the address
    fired_at: int
    remote_id: str | None
    status: str
    verified: bool

    @property
    def order(self) -> tuple[str, str, str, str, int]:
        """Its natural key, to sort by."""
        return self.connection_id, self.kind, self.audience, self.subject, self.fired_at

    @property
    def key(self) -> dict[str, object]:
        """What it is known by."""
        return {
            "connection_id": self.connection_id,
            "kind": self.kind,
            "audience": self.audience,
            "subject": self.subject,
            "fired_at": self.fired_at,
        }


@dataclass(frozen=True, slots=True)
class Match:
    """The campaign that a remote id belongs to, and what waking it depends on."""

    campaign_id: str
    generation: int
    audience: str
    state: str
    stopped_reason: str | None
    look_at: int | None
    woken_at: int | None  # the look that an event brought forward last
    now: int
    ours: bool  # of the event's own account
    present: bool  # of the campaign's present generation
    busy: bool  # it is worked on, or its request has no outcome yet


class Webhooks:
    """The webhooks of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def open(self, connection_id: str, secret_hash: str, *, replace: bool) -> bool:
        """Open an address; False when there is one and it isn't to be replaced."""
        return (
            self._tx.run(
                "webhooks.open", connection_id=connection_id, secret_hash=secret_hash, replace=int(replace)
            )
            == 1
        )

    def endpoint(self, connection_id: str) -> Endpoint | None:
        """Return the address of a connection."""
        row = self._tx.one("webhooks.endpoint", connection_id=connection_id)
        return None if row is None else _endpoint_of(row)

    def sign(self, endpoint: Endpoint, signing: Sealed) -> bool:
        """Have only signed events count from now on; False when the address was replaced meanwhile."""
        return (
            self._tx.run(
                "webhooks.sign",
                connection_id=endpoint.connection.id,
                secret_hash=endpoint.secret_hash,
                key_id=signing.key_id,
                sealed=signing.box,
            )
            == 1
        )

    def reseal(self, connection_id: str, before: Sealed, after: Sealed) -> bool:
        """Keep the same signing key under another key of the ring; False when it was replaced meanwhile."""
        return (
            self._tx.run(
                "webhooks.reseal",
                connection_id=connection_id,
                key_id=after.key_id,
                sealed=after.box,
                sealed_before=before.box,
            )
            == 1
        )

    def heard(self, connection_id: str) -> None:
        """Note that something came, for people."""
        self._tx.run("webhooks.heard", connection_id=connection_id)

    def told_of(self, connection_id: str, remote_id: str) -> bool:
        """Say whether a verified event tells that this remote campaign went."""
        return self._tx.one("webhooks.told_of", connection_id=connection_id, remote_id=remote_id) is not None

    def keep(self, event: StoredEvent, *, most: int, outcome: str | None = None) -> bool:
        """Store an event to be looked at; False when it is known, or when `most` wait already.

        With an outcome it is settled, and waits for nothing.
        """
        return (
            self._tx.run(
                "webhooks.keep",
                **event.key,
                remote_id=event.remote_id,
                status=event.status,
                verified=int(event.verified),
                most=most,
                outcome=outcome,
            )
            == 1
        )

    def is_known(self, event: StoredEvent) -> bool:
        """Say whether an event is stored."""
        return self._tx.one("webhooks.known", **event.key) is not None

    def due(self, connection_id: str, *, most: int) -> list[StoredEvent]:
        """Return the events that are due, oldest first."""
        rows = self._tx.all("webhooks.due", connection_id=connection_id, most=most)
        return [_event_of(row) for row in rows]

    def match(self, event: StoredEvent) -> Match | None:
        """Return whose campaign an event's remote id is."""
        row = self._tx.one("webhooks.match", connection_id=event.connection_id, remote_id=event.remote_id)
        if row is None:
            return None
        return Match(
            campaign_id=row["campaign_id"],
            generation=row["generation"],
            audience=row["audience"],
            state=row["state"],
            stopped_reason=row["stopped_reason"],
            look_at=row["look_at"],
            woken_at=row["webhook_woken_at"],
            now=row["now"],
            ours=bool(row["ours"]),
            present=row["generation"] == row["present"],
            busy=bool(row["busy"]),
        )

    def wake(self, match: Match, *, slot: int, verified: bool) -> bool:
        """Bring a campaign's next look forward; False when that can't be, or another event was faster."""
        return (
            self._tx.run(
                "webhooks.wake",
                id=match.campaign_id,
                slot=slot,
                woken_before=match.woken_at or 0,
                verified=int(verified),
            )
            == 1
        )

    def vouch(self, match: Match) -> None:
        """Record that the provider signed that this was sent: no reading counts as "not sent" any more."""
        self._tx.run("webhooks.vouch", campaign_id=match.campaign_id, generation=match.generation)

    def settle(self, event: StoredEvent, outcome: str) -> bool:
        """End an event; False when that was done before."""
        return self._tx.run("webhooks.settle", **event.key, outcome=outcome) == 1

    def defer(self, event: StoredEvent, *, delay_ms: int) -> None:
        """Look at an event again after a while."""
        self._tx.run("webhooks.defer", **event.key, delay_ms=delay_ms)

    def park(self, event: StoredEvent, *, keep_ms: int) -> bool:
        """Have an event wait for its campaign; False when it has waited as long as it may."""
        return self._tx.run("webhooks.park", **event.key, keep_ms=keep_ms) == 1

    def overflow(self, connection_id: str, *, most: int, chunk: int) -> int:
        """Give up parked events beyond the newest `most`, up to `chunk`; return how many there were."""
        return self._beyond("webhooks.overflow", connection_id, most, chunk)

    def purge(self, connection_id: str, *, keep_ms: int, chunk: int) -> int:
        """Delete up to `chunk` settled events that are older than that; return how many there were."""
        return self._tx.run(
            "webhooks.purge", connection_id=connection_id, keep_ms=keep_ms, chunk_literal=chunk
        )

    def trim(self, connection_id: str, *, most: int, chunk: int) -> int:
        """Delete settled events beyond the newest `most`, up to `chunk`; return how many there were."""
        return self._beyond("webhooks.trim", connection_id, most, chunk)

    def next_at(self, connection_id: str, *, keep_ms: int) -> int | None:
        """Return when there is something to do again; None when nothing is stored."""
        row = self._tx.one("webhooks.next_at", connection_id=connection_id, keep_ms=keep_ms)
        return None if row is None else row["at"]

    def _beyond(self, name: str, connection_id: str, most: int, chunk: int) -> int:
        return self._tx.run(name, connection_id=connection_id, most_literal=most, chunk_literal=chunk)


def _endpoint_of(row: Row) -> Endpoint:
    signing = None
    if row["signing_sealed"] is not None:
        signing = Sealed(row["signing_key_id"], row["signing_sealed"], row["installation"])
    return Endpoint(
        connection=connection_of(row),
        secret_hash=row["secret_hash"],
        signing=signing,
        made_at=row["made_at"],
        heard_at=row["heard_at"],
        now=row["now"],
    )


def _event_of(row: Row) -> StoredEvent:
    return StoredEvent(
        connection_id=row["connection_id"],
        kind=row["kind"],
        audience=row["audience"],
        subject=row["subject"],
        fired_at=row["fired_at"],
        remote_id=row["remote_id"],
        status=row["status"],
        verified=bool(row["verified"]),
    )
