"""What became of each mail of a delivery: to whom it went, and who bounced, left or complained.

The same campaign and address always fare alike; nobody's fate is stored. The world's lock guards it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from campaignbridge.sandbox.people import People, Person

_FATES = ("hard", "soft", "unsubscribed", "abuse")
_AFTERWARDS = {"hard": "cleaned", "unsubscribed": "unsubscribed", "abuse": "unsubscribed"}


@dataclass(frozen=True, slots=True)
class Mailed:
    """One delivery. `receivers` None stands for the first `size` made-up people of the list."""

    campaign_id: str
    people: People
    size: int
    receivers: Sequence[Person] | None
    rates: tuple[int, int, int, int]

    def page(self, offset: int, count: int, sent: int) -> list[Person]:
        """Return some of the first `sent` receivers."""
        last = min(sent, self.size)
        if self.receivers is None:
            return self.people.stretch(offset, count, last)
        return list(self.receivers[offset : min(offset + count, last)])

    def fate(self, person: Person) -> str:
        """Return how this mail fared: sent, hard, soft, unsubscribed or abuse."""
        if not any(self.rates):
            return "sent"
        digest = hashlib.sha256(f"{self.campaign_id}:{person.email.lower()}".encode()).digest()
        drawn = int.from_bytes(digest[:8]) % 1_000
        for name, rate in zip(_FATES, self.rates, strict=True):
            if drawn < rate:
                return name
            drawn -= rate
        return "sent"

    def those(self, fate: str, sent: int) -> Iterator[Person]:
        """Return, in order, the first `sent` receivers whose mail fared so."""
        if not any(self.rates):
            return iter(())
        return (person for person in self.page(0, sent, sent) if self.fate(person) == fate)

    def count(self, fate: str, sent: int) -> int:
        """Count the first `sent` receivers whose mail fared so."""
        return sum(1 for _ in self.those(fate, sent))

    def settle(self, sent: int, at_ms: int) -> list[tuple[Person, Person]]:
        """Let bounces, departures and complaints change the list, as they do when a delivery ends.

        Returns everybody who changed, as they were and as they are.
        """
        changed: list[tuple[Person, Person]] = []
        if not any(self.rates):
            return changed
        for fate, status in _AFTERWARDS.items():
            for person in list(self.those(fate, sent)):
                now = self.people.get(person.email)
                if now is not None and now.status == "subscribed":
                    reason = "Abuse complaint" if fate == "abuse" else ""
                    after = self.people.put(replace(now, status=status, changed_ms=at_ms, reason=reason))
                    changed.append((now, after))
        return changed


def window(people: Iterator[Person], offset: int, count: int) -> list[Person]:
    """Return a page of whoever comes."""
    return list(islice(people, offset, offset + count))
