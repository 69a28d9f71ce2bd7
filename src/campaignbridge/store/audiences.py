"""Our own audiences in the store: their contacts, and the imports that bring them in.

Whoever writes contacts holds the row of their audience first, for the rest of the transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaignbridge.ports import Row, Transaction

Known = dict[str, Row]
NewContact = tuple[object, ...]


@dataclass(slots=True)
class Progress:
    """How far an import is. Every row that was read is counted as one of four."""

    import_id: int
    audience_id: int
    rows_read: int = 0
    added: int = 0
    merged: int = 0  # named somebody who was there, and told something new
    unchanged: int = 0  # named somebody who was there, and told nothing new
    rejected: int = 0
    repeated: int = 0  # of merged and unchanged: somebody whom an earlier row of this file had added
    repaired: int = 0  # of all: had something invisible at its ends
    reasons: dict[str, int] = field(default_factory=dict)
    rejects_bytes: int = 0

    def counts(self) -> dict[str, int]:
        """Return the figures by name."""
        names = "rows_read added merged unchanged rejected repeated repaired".split()
        return {name: getattr(self, name) for name in names}


class Audiences:
    """The audiences, contacts and imports of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def create(self, slug: str, *, name: str, connection_id: str | None, actor: str) -> bool:
        """Make an audience; False when there is one."""
        return (
            self._tx.run("audiences.create", slug=slug, name=name, connection_id=connection_id, actor=actor)
            == 1
        )

    def get(self, slug: str) -> Row | None:
        """Return an audience by its slug."""
        return self._tx.one("audiences.get", slug=slug)

    def everyone(self) -> list[Row]:
        """Return every audience by slug, with how many of its people are suppressed."""
        return [{**row, "suppressed": self.suppressed(row["id"])} for row in self._tx.all("audiences.all")]

    def suppressed(self, audience_id: int) -> int:
        """Return how many people of an audience are suppressed."""
        row = self._tx.one("audiences.suppressed", audience_id=audience_id)
        assert row is not None
        return int(row["n"])

    def key(self) -> bytes:
        """Return the key under which people are named where their address must not stand."""
        return self._key("audiences.key")

    def share(self) -> bytes:
        """Hold off erasures until this transaction ends; return the key."""
        return self._key("audiences.share")

    def exclude(self) -> bytes:
        """Hold off everyone who adds people until this transaction ends; return the key."""
        return self._key("audiences.exclude")

    def _key(self, statement: str) -> bytes:
        row = self._tx.one(statement)
        assert row is not None, "the schema makes the key"
        return bytes.fromhex(row["key"])

    def hold(self, audience_id: int, *, added: int = 0) -> int:
        """Hold an audience until this transaction ends, with this many more people; return the store's time."""
        row = self._tx.one("audiences.hold", audience_id=audience_id, added=added)
        assert row is not None, "audiences are never deleted"
        return int(row["now"])

    # the imports
    def open_import(self, audience_id: int, *, fingerprint: str, actor: str) -> Progress:
        """Return the unfinished import of this file into this audience, or a fresh one."""
        self._tx.run("audiences.start_import", audience_id=audience_id, fingerprint=fingerprint, actor=actor)
        row = self._tx.one("audiences.open_import", audience_id=audience_id, fingerprint=fingerprint)
        assert row is not None, "it was just made, or found"
        facts = {**row, "reasons": json.loads(row["reasons"])}
        return Progress(import_id=facts.pop("id"), **facts)

    def advance(self, progress: Progress, *, read_before: int) -> bool:
        """Record how far an import is; False when another process has gone on with it, or finished it."""
        return (
            self._tx.run(
                "audiences.advance",
                import_id=progress.import_id,
                read_before=read_before,
                reasons=json.dumps(progress.reasons, sort_keys=True),
                rejects_bytes=progress.rejects_bytes,
                **progress.counts(),
            )
            == 1
        )

    def finish(self, progress: Progress) -> bool:
        """End an import; False when another process has gone on with it, or ended it."""
        return (
            self._tx.run("audiences.finish", import_id=progress.import_id, rows_read=progress.rows_read) == 1
        )

    # contacts; the caller holds the audience
    def known(self, audience_id: int, identities: Sequence[str]) -> Known:
        """Return those of these people whom the audience has, by identity."""
        if not identities:
            return {}
        rows = self._tx.all(
            "audiences.known", audience_id=audience_id, identities=json.dumps(identities, ensure_ascii=False)
        )
        return {row["identity"]: row for row in rows}

    def load(self, contacts: Sequence[NewContact]) -> None:
        """Add people whom the audience doesn't have."""
        if contacts:
            self._tx.load("audiences.load", contacts)

    def erased(self, audience_id: int, identities: Sequence[str]) -> Known:
        """Return the rows that stand for erased people, by their keyed identities; one look where there is none."""
        if self._tx.one("audiences.any_erased", audience_id=audience_id) is None:
            return {}
        return self.known(audience_id, identities)

    def come_back(self, contact_id: int, contact: NewContact) -> None:
        """Put somebody who was erased, and may come back, into the row that stands for them."""
        _, identity, email, attributes, locale, zone, _, import_id, _, _ = contact
        self._tx.run(
            "audiences.come_back",
            id=contact_id,
            identity=identity,
            email=email,
            attributes=attributes,
            locale=locale,
            zone=zone,
            import_id=import_id,
        )

    def change(self, contacts: Iterable[Mapping[str, Any]]) -> None:
        """Change what is known of people, by id."""
        rows = sorted(contacts, key=lambda row: int(row["id"]))
        if rows:
            self._tx.each("audiences.change", rows)

    # one person
    def of_person(self, identity: str) -> list[Row]:
        """Return a person's contact in every audience."""
        return self._tx.all("audiences.of_person", identity=identity)

    def erase(self, identity: str, *, erased: str) -> int:
        """Take out of every audience who somebody was; return how many contacts that were."""
        gone = [
            *self._tx.all("audiences.erase", identity=identity, erased=erased),
            *self._tx.all("audiences.drop_again", identity=identity),
        ]
        for audience_id in sorted(row["audience_id"] for row in gone):
            self.hold(audience_id, added=-1)
        return len(gone)
