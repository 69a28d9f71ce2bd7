"""Our own audiences, and who is never mailed. No rule lives here."""

from collections.abc import Callable, Iterable

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.audience import Suppressed
from campaignbridge.flows import (
    affected,
    importing,
    people,
    tables,
)
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.audiences import Progress


class People:
    """Our own audiences, and who is never mailed."""

    wiring: Wiring

    def make_audience(
        self, slug: str, *, name: str | None = None, connection: str | None = None, actor: Actor
    ) -> bool:
        """Make an audience unless it is there; say whether it is new."""
        return importing.make_audience(self.wiring, slug, name=name, connection=connection, actor=actor)

    def import_contacts(
        self,
        table: tables.Source,
        audience: str,
        *,
        rejects: importing.Rejects,
        tell: Callable[[Progress, float | None], None] = lambda *_: None,
        actor: Actor,
    ) -> importing.Imported:
        """Import a file or a query that was looked at; a file from where an earlier run was stopped."""
        return importing.import_contacts(
            self.wiring, table, audience, rejects=rejects, tell=tell, actor=actor
        )

    def list_audiences(self, *, actor: Actor) -> list[Row]:
        """Return every audience of ours, with its figures."""
        return people.list_audiences(self.wiring, actor=actor)

    def affected(
        self, of: affected.Of, *, kind: affected.Affected | None = None, most: int = 50, actor: Actor
    ) -> affected.Listed:
        """Return whom a delivery reached badly, masked: the provider's record is read, and nothing changed."""
        return affected.affected(self.wiring, of, kind=kind, most=most, actor=actor)

    def suppress(
        self, addresses: Iterable[str], *, reason: Suppressed, source: str = "by_hand", actor: Actor
    ) -> people.Listed:
        """Have people never mailed again; the strongest reason stays."""
        return people.suppress(self.wiring, addresses, reason=reason, source=source, actor=actor)

    def unsuppress(self, addresses: Iterable[str], *, reason: str, actor: Actor) -> people.Listed:
        """Take people off the list who are on it for exactly this reason."""
        return people.unsuppress(self.wiring, addresses, reason=reason, actor=actor)

    def why(self, address: str, *, actor: Actor) -> people.Person:
        """Return which audiences somebody is in, and whether and why they are not mailed."""
        return people.why(self.wiring, address, actor=actor)

    def export_person(self, address: str, *, actor: Actor) -> people.Person:
        """Return all that the store holds of one person."""
        return people.export_person(self.wiring, address, actor=actor)

    def erase_person(self, address: str, *, actor: Actor) -> people.Erasure:
        """Take out who somebody was; only a keyed hash stays, so that they are never mailed again."""
        return people.erase_person(self.wiring, address, actor=actor)
