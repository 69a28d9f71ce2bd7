"""The people on one list: made up when somebody asks for them, and remembered only once they have changed.

Person 1 to n of a list are `person1@example.invalid` and so on, all subscribed; nothing is stored for them.
Whoever was added or changed by a call is kept here, and never in the truth log. The world's lock guards it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

GONE = ""  # the status of somebody who isn't on the list any more, under this address
_GENERATED = re.compile(r"person([1-9][0-9]{0,8})@example\.invalid")
_HASH = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Person:
    """One member at one moment. Times are epoch milliseconds UTC."""

    email: str
    status: str = "subscribed"
    merge_fields: Mapping[str, str] = field(default_factory=dict)
    email_type: str = "html"
    language: str = ""
    vip: bool = False
    joined_ms: int = 0
    changed_ms: int = 0
    reason: str = ""  # why unsubscribed
    source: str = "Import"

    @property
    def hash(self) -> str:
        """The id that Mailchimp gives a member: of the address in lower case."""
        return email_hash(self.email)


def email_hash(email: str) -> str:
    """Return the id of whoever has this address."""
    return hashlib.md5(email.lower().encode(), usedforsecurity=False).hexdigest()


def address(number: int) -> str:
    """Return the address of a made-up person."""
    return f"person{number}@example.invalid"


class People:
    """Everybody on one list, in the order in which they joined."""

    def __init__(self, size: int, joined_ms: int) -> None:
        """Begin with so many made-up people."""
        self._size = size
        self._joined_ms = joined_ms
        self._changed: dict[str, Person] = {}  # by address in lower case
        self._by_hash: dict[str, str] = {}
        self._hashed = 0  # how many made-up people `_by_hash` knows
        self._more = 0  # subscribed ones beyond the size

    @property
    def subscribed(self) -> int:
        """How many would get a campaign to the whole list."""
        return self._size + self._more

    @property
    def untouched(self) -> bool:
        """Whether everybody is still as they were made up."""
        return not self._changed

    def resize(self, size: int) -> None:
        """Let the list have so many made-up people from now on; changes stay."""
        self._size = size
        self._more = sum(
            (person.status == "subscribed") - self._made_up(email) for email, person in self._changed.items()
        )

    def get(self, key: str) -> Person | None:
        """Return a member by hash or address, archived ones too; None for whoever isn't there."""
        email: str | None = key.lower()
        if "@" not in key and _HASH.fullmatch(key.lower()):
            email = self._email_of(key.lower())
        if email is None:
            return None
        found = self._changed.get(email)
        if found is None and self._made_up(email):
            found = self._person(email)
        return None if found is None or found.status == GONE else found

    def put(self, person: Person) -> Person:
        """Add a member or remember how one has changed."""
        email = person.email.lower()
        before = self._changed.get(email)
        counted = before.status == "subscribed" if before is not None else self._made_up(email)
        self._changed[email] = person
        self._by_hash[person.hash] = email
        self._more += (person.status == "subscribed") - counted
        return person

    def rename(self, person: Person, email: str) -> Person:
        """Give a member another address."""
        self.put(replace(person, status=GONE))
        return self.put(replace(person, email=email))

    def everyone(self) -> Iterator[Person]:
        """Return all members, archived ones too."""
        for number in range(1, self._size + 1):
            email = address(number)
            person = self._changed.get(email) or self._person(email)
            if person.status != GONE:
                yield person
        for email, person in list(self._changed.items()):
            if person.status != GONE and not self._made_up(email):
                yield person

    def stretch(self, offset: int, count: int, size: int | None = None) -> list[Person]:
        """Return a page of the made-up people, as they were made up, without making up the rest of them."""
        last = min(offset + count, self._size if size is None else size)
        return [self._person(address(number)) for number in range(offset + 1, last + 1)]

    def _person(self, email: str) -> Person:
        return Person(email, joined_ms=self._joined_ms, changed_ms=self._joined_ms)

    def _made_up(self, email: str) -> bool:
        found = _GENERATED.fullmatch(email)
        return found is not None and int(found[1]) <= self._size

    def _email_of(self, key: str) -> str | None:
        while key not in self._by_hash and self._hashed < self._size:
            self._hashed += 1
            email = address(self._hashed)
            self._by_hash.setdefault(email_hash(email), email)
        return self._by_hash.get(key)
