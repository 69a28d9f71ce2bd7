"""What became of each mail of a delivery: to whom it went, what was heard of it, and when.

Drawn once, when a delivery begins: the same campaign and address always fare alike at the same rates. Only mails of
which something is heard are kept, so that a delivery without bad rates costs nothing. The world's lock guards it.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from campaignbridge.sandbox.behaviour import MILLION, Behaviour
from campaignbridge.sandbox.people import People, Person, address

BOUNCES = ("hard", "soft")
FATES = (*BOUNCES, "unsubscribed", "abuse")
DELAYED, ARRIVED = "delayed", "arrived"
_PENDING = frozenset({*BOUNCES, ARRIVED})


class Word(NamedTuple):
    """What is heard of one mail, and when: a fate, or that it is delayed, or has arrived after all."""

    at_ms: int
    place: int  # of the mail in its delivery, from 0
    fate: str


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one receiver."""

    person: Person
    fate: str  # one of `FATES`, or "sent"
    at_ms: int = 0


@dataclass(slots=True)
class Mailed:
    """One delivery. `receivers` None stands for the first `size` made-up people of the list."""

    people: People
    size: int
    receivers: Sequence[Person] | None
    words: Sequence[Word] = ()  # in order of their moments

    def person(self, index: int) -> Person:
        """Return one receiver, as they were when the delivery began."""
        return (
            self.people.stretch(index, 1, self.size)[0] if self.receivers is None else self.receivers[index]
        )

    def page(self, offset: int, count: int, sent: int) -> list[Person]:
        """Return some of the first `sent` receivers."""
        last = min(sent, self.size)
        if self.receivers is None:
            return self.people.stretch(offset, count, last)
        return list(self.receivers[offset : min(offset + count, last)])

    def stop(self, gone: int) -> None:
        """Let only the first `gone` mails have left."""
        self.size = min(self.size, gone)

    def heard(self, sent: int, at_ms: int) -> Iterator[Word]:
        """Return what was heard of the first `sent` mails by then."""
        last = min(sent, self.size)
        until = bisect_right(self.words, at_ms, key=lambda word: word.at_ms)
        return (word for word in self.words[:until] if word.place < last)

    def count(self, fates: Sequence[str], sent: int, at_ms: int) -> int:
        """Count of how many of the first `sent` mails one of these was heard by then."""
        return sum(1 for word in self.heard(sent, at_ms) if word.fate in fates)

    def records(self, fates: Sequence[str], sent: int, at_ms: int) -> list[Record]:
        """Return of whom one of these was heard by then, in the order in which they were mailed."""
        found = (word for word in self.heard(sent, at_ms) if word.fate in fates)
        rows = sorted(found, key=lambda word: word.place)
        return [Record(self.person(word.place), word.fate, word.at_ms) for word in rows]

    def receipts(self, offset: int, count: int, sent: int, at_ms: int) -> list[Record]:
        """Return some of the first `sent` receivers, each with what is known of their mail by then."""
        known = {word.place: word for word in self.heard(sent, at_ms) if word.fate in FATES}
        page = enumerate(self.page(offset, count, sent), start=offset)
        return [
            Record(person, known[index].fate, known[index].at_ms)
            if index in known
            else Record(person, "sent")
            for index, person in page
        ]

    def undelivered(self, sent: int, at_ms: int) -> set[int]:
        """Return which of the first `sent` mails bounced, or are still on their way then."""
        last = min(sent, self.size)
        return {
            word.place
            for word in self.words
            if word.place < last and (word.fate in BOUNCES or (word.fate == ARRIVED and word.at_ms > at_ms))
        }

    def troubled(self) -> set[int]:
        """Return which mails don't arrive at once, as will be heard."""
        return {word.place for word in self.words if word.fate in _PENDING}


def draw(  # noqa: PLR0917  one argument for each thing that decides
    campaign_id: str,
    size: int,
    receivers: Sequence[Person] | None,
    began_ms: int,
    ends_ms: int,
    at: Behaviour,
) -> list[Word]:
    """Return what will be heard of a delivery whose mails leave evenly between two moments."""
    if not any(at.rates):
        return []
    span = ends_ms - began_ms
    words: list[Word] = []
    for index in range(size):
        email = address(index + 1) if receivers is None else receivers[index].email.lower()
        digest = hashlib.sha256(f"{campaign_id}:{email}".encode()).digest()
        left_ms = began_ms - (-(index + 1) * span // size)  # rounded up: when `emails_sent_at` counts it
        words += _of_one(digest, index, left_ms, at)
    return sorted(words)


def _of_one(digest: bytes, index: int, left_ms: int, at: Behaviour) -> Iterator[Word]:
    fate = _fate(int.from_bytes(digest[:8]) % MILLION, at)
    arrives_ms = left_ms
    if int.from_bytes(digest[8:12]) % MILLION < at.delay_rate:
        arrives_ms += 1 + _share(digest[12:16], at.delay_ms)
        yield Word(left_ms, index, DELAYED)
        if fate not in BOUNCES:
            yield Word(arrives_ms, index, ARRIVED)
    if fate in BOUNCES:
        yield Word(arrives_ms + _share(digest[16:20], at.bounces_over_ms), index, fate)
    elif fate:
        yield Word(arrives_ms + _share(digest[16:20], at.replies_over_ms), index, fate)


def _fate(drawn: int, at: Behaviour) -> str:
    for name, rate in zip(FATES, at.fate_rates, strict=True):
        if drawn < rate:
            return name
        drawn -= rate
    return ""


def _share(drawn: bytes, most: int) -> int:
    return int.from_bytes(drawn) * most >> 32
