"""Who acts, and what they may do. The system has no actor: its events have none."""

from dataclasses import dataclass

from campaignbridge.domain.errors import Forbidden

RIGHTS = frozenset({"read", "author", "manage", "test", "approve", "deliver", "operate", "admin"})


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or a program with rights. `name` is stable, such as `cli:dana`."""

    name: str
    rights: frozenset[str]

    def require(self, right: str) -> None:
        """Raise `Forbidden` unless the actor has the right (`admin` includes every other)."""
        if right not in self.rights and "admin" not in self.rights:
            raise Forbidden(
                f"{self.name} has no right to {right}.",
                todo="Ask an administrator for the right, or somebody who has it to do this.",
                right=right,
            )


def with_all_rights(name: str) -> Actor:
    """Return an actor that may do everything."""
    return Actor(name=name, rights=RIGHTS)
