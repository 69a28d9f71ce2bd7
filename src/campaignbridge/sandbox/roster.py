"""Who is on which list and in which segment, and who would therefore get a campaign.

A segment is static (a set of addresses, also called a tag) or saved (conditions). The world's lock guards it.
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaignbridge.sandbox.people import People, Person

SEGMENT_LIMIT = 10_000  # ever created, until a reset
_HISTORY_KEPT = 8  # states per segment
Options = Mapping[str, Any]

_TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "is": lambda email, value: email == value,
    "not": lambda email, value: email != value,
    "contains": lambda email, value: value in email,
    "notcontain": lambda email, value: value not in email,
    "starts": lambda email, value: email.startswith(value),
    "ends": lambda email, value: email.endswith(value),
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment at one moment. `members` are addresses in lower case, each with when it was added."""

    id: int
    list_id: str
    name: str
    created_ms: int
    updated_ms: int
    members: Mapping[str, int] = field(default_factory=dict)
    options: Options | None = None  # of a saved one
    settled_ms: int = 0  # before this moment campaigns still see `earlier` as its size
    earlier: int = 0

    @property
    def type(self) -> str:
        """Static or saved."""
        return "static" if self.options is None else "saved"


def unknown_condition(condition: object) -> bool:
    """Say whether this is a condition that the sandbox can't evaluate."""
    if not isinstance(condition, Mapping):
        return True
    match condition.get("condition_type"):
        case "EmailAddress":
            return condition.get("op") not in _TEXT_TESTS or not isinstance(condition.get("value"), str)
        case "StaticSegment":
            return (
                condition.get("op") not in ("static_is", "static_not")
                or type(condition.get("value")) is not int
            )
        case _:
            return True


class Roster:
    """All people and segments of a world."""

    def __init__(self) -> None:
        """Start empty."""
        self._people: dict[str, People] = {}
        self._segments: dict[int, Segment] = {}
        self._history: dict[int, list[tuple[int, Segment | None]]] = {}
        self._numbers = itertools.count(1)

    def size(self, list_id: str, size: int, joined_ms: int) -> None:
        """Open a list of so many made-up people, or let one have so many from now on."""
        if list_id in self._people:
            self._people[list_id].resize(size)
        else:
            self._people[list_id] = People(size, joined_ms)

    def people(self, list_id: str) -> People:
        """Return the people on a list."""
        return self._people[list_id]

    def next_id(self) -> int:
        """Return the id of the next segment."""
        return next(self._numbers)

    def full(self) -> bool:
        """Say whether there is no room for another segment."""
        return len(self._history) >= SEGMENT_LIMIT

    def put(self, segment: Segment, at_ms: int) -> Segment:
        """Store a new state of a segment and remember since when it holds."""
        self._segments[segment.id] = segment
        self._remember(segment.id, at_ms, segment)
        return segment

    def remove(self, segment: Segment, at_ms: int) -> None:
        """Forget a segment. A campaign for it has nobody to go to then."""
        self._segments.pop(segment.id, None)
        self._remember(segment.id, at_ms, None)

    def segments(self, list_id: str, as_of_ms: int | None = None) -> list[Segment]:
        """Return a list's segments in order of creation, now or as they were at an earlier moment."""
        states = (
            list(self._segments.values())
            if as_of_ms is None
            else [self._as_of(number, as_of_ms) for number in self._history]
        )
        return [state for state in states if state is not None and state.list_id == list_id]

    def segment(self, list_id: str, number: int, as_of_ms: int | None = None) -> Segment | None:
        """Return one of a list's segments, now or as it was at an earlier moment."""
        found = self._segments.get(number) if as_of_ms is None else self._as_of(number, as_of_ms)
        return found if found is not None and found.list_id == list_id else None

    def named(self, list_id: str, name: str) -> Segment | None:
        """Return the segment of this name: a name is unique within its list."""
        return next((item for item in self.segments(list_id) if item.name == name), None)

    def members(self, segment: Segment) -> Iterator[Person]:
        """Return who is in a segment and not archived, whatever their status."""
        people = self.people(segment.list_id)
        found: Iterator[Person | None]
        if segment.options is None:
            found = (people.get(email) for email in segment.members)
        else:
            options = segment.options
            found = (person for person in people.everyone() if self._fits(segment.list_id, person, options))
        return (person for person in found if person is not None and person.status != "archived")

    def member_count(self, segment: Segment) -> int:
        """Count the subscribed members of a segment."""
        return sum(person.status == "subscribed" for person in self.members(segment))

    def count(self, list_id: str, options: Options | None, at_ms: int) -> int:
        """Count who would get a campaign, as the provider knows it at that moment."""
        if list_id not in self._people:
            return 0
        if not options:
            return self._people[list_id].subscribed
        segment = self._chosen(list_id, options)
        if segment is not None:
            return segment.earlier if at_ms < segment.settled_ms else self.member_count(segment)
        return len(self.receivers(list_id, options))

    def receivers(self, list_id: str, options: Options | None) -> Sequence[Person]:
        """Return who would get a campaign to this part of a list."""
        if not options:
            found: Iterator[Person] = self.people(list_id).everyone()
        elif "saved_segment_id" in options:
            segment = self._chosen(list_id, options)
            found = iter(()) if segment is None else self.members(segment)
        else:
            found = (
                person for person in self.people(list_id).everyone() if self._fits(list_id, person, options)
            )
        return [person for person in found if person.status == "subscribed"]

    def spelled_out(self, list_id: str, options: Options) -> dict[str, Any]:
        """Return a campaign's choice with the conditions that a chosen segment stands for, as reads tell it."""
        segment = self._chosen(list_id, options)
        if segment is None:
            return dict(options)
        of_static = {"condition_type": "StaticSegment", "field": "static_segment", "op": "static_is"}
        known = segment.options or {"match": "any", "conditions": [{**of_static, "value": segment.id}]}
        return {**known, **options}

    def reset(self, sizes: Mapping[str, tuple[int, int]]) -> None:
        """Forget segments and changes; `sizes` tells each list's made-up people and since when."""
        self._segments.clear()
        self._history.clear()
        self._people = {list_id: People(size, joined) for list_id, (size, joined) in sizes.items()}

    def _chosen(self, list_id: str, options: Options) -> Segment | None:
        number = options.get("saved_segment_id")
        return self.segment(list_id, number) if type(number) is int else None

    def _fits(self, list_id: str, person: Person, options: Options) -> bool:
        conditions = options.get("conditions") or ()
        results = [self._passes(list_id, person, condition) for condition in conditions]
        return bool(results) and (all(results) if options.get("match") == "all" else any(results))

    def _passes(self, list_id: str, person: Person, condition: Mapping[str, Any]) -> bool:
        if condition["condition_type"] == "EmailAddress":
            return _TEXT_TESTS[condition["op"]](person.email.lower(), condition["value"].lower())
        segment = self.segment(list_id, condition["value"])
        inside = segment is not None and person.email.lower() in segment.members
        return inside is (condition["op"] == "static_is")

    def _remember(self, number: int, at_ms: int, state: Segment | None) -> None:
        states = self._history.setdefault(number, [])
        states.append((at_ms, state))
        del states[:-_HISTORY_KEPT]

    def _as_of(self, number: int, at_ms: int) -> Segment | None:
        states = self._history.get(number, [])
        at = bisect_right(states, at_ms, key=lambda pair: pair[0])
        return states[at - 1][1] if at else None
