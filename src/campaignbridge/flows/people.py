"""One person's data, and who is not mailed. Nothing here puts an address into an event, a log or an error.

1. Suppressing only ever takes people off the next mailing: the strongest reason stays, in whatever order they come.
2. Erasing takes out who somebody was and keeps a keyed hash in the list of the suppressed: so they are never mailed
   again, and no import brings them back. Their rows stay as numbers, so that what was mailed stays counted.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.audience import Suppressed, Unusable, address_of, erased_identity, person_hash
from campaignbridge.domain.errors import InvalidInput, NotFound
from campaignbridge.flows.suppressing import take_off
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.unit import Unit

BATCH = 5_000
MOST_WAVES = 200
_NOT_ONE = "What was given is no address"


@dataclass(slots=True)
class Listed:
    """What became of a list of addresses."""

    read: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Person:
    """What the store holds of one person."""

    contacts: tuple[Row, ...]
    suppression: Row | None
    erased: bool
    waves: tuple[Row, ...] = ()  # of ramps, that they were picked for


def list_audiences(wiring: Wiring, *, actor: Actor) -> list[Row]:
    """Return every audience of ours, with its figures."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.audiences.everyone()


def suppress(
    wiring: Wiring, addresses: Iterable[str], *, reason: Suppressed, source: str = "by_hand", actor: Actor
) -> Listed:
    """Have people never mailed again; a stronger reason that is there stays."""
    actor.require("manage")

    def change(unit: Unit, identities: list[str]) -> int:
        return take_off(unit, dict.fromkeys(identities, reason), source=source)

    return _each_batch(wiring, addresses, change, "people_suppressed", reason.value, actor)


def unsuppress(wiring: Wiring, addresses: Iterable[str], *, reason: str, actor: Actor) -> Listed:
    """Take people off the list who are on it for exactly this reason; `erased` lets an erased person come back."""
    actor.require("admin" if reason in {"erased", "complaint", "unsubscribe"} else "operate")

    def change(unit: Unit, identities: list[str]) -> int:
        if reason != "erased":
            return unit.suppressions.lift(identities, reason=Suppressed(reason))
        key = unit.audiences.exclude()
        hashed = [erased_identity(person_hash(key, one)) for one in identities]
        found = unit.suppressions.among(hashed)
        for one in sorted(found):
            unit.suppressions.forget(one)
        return len(found)

    return _each_batch(wiring, addresses, change, "people_unsuppressed", reason, actor)


def _each_batch(  # noqa: PLR0917  what is done, and what is said of it
    wiring: Wiring,
    addresses: Iterable[str],
    change: Callable[[Unit, list[str]], int],
    event: str,
    reason: str,
    actor: Actor,
) -> Listed:
    told = Listed()
    source = iter(addresses)
    while batch := list(islice(source, BATCH)):
        named = list(_identities(batch, told))
        identities = sorted(set(named))
        with wiring.store.unit() as unit:
            changed = change(unit, identities) if identities else 0
            if changed:
                unit.events.add(event, campaign_id=None, actor=actor.name, reason=reason, people=changed)
        told.read += len(batch)
        told.changed += changed
        told.unchanged += len(named) - changed
    if told.read == told.rejected:
        raise InvalidInput(
            f"{_NOT_ONE}. Nothing was changed.",
            todo="Give an address, or a file with one in each row.",
            reasons=told.reasons,
        )
    return told


def _identities(batch: list[str], told: Listed) -> Iterator[str]:
    for text in batch:
        try:
            yield address_of(text).identity
        except Unusable as unusable:
            told.rejected += 1
            told.reasons[unusable.reason] = told.reasons.get(unusable.reason, 0) + 1


def identity_of(text: str) -> str:
    """Return whose address this is. Raises `InvalidInput`, which never repeats what was given."""
    try:
        return address_of(text).identity
    except Unusable as unusable:
        raise InvalidInput(
            f"{_NOT_ONE}.",
            todo="Give the address as it stands in a mail, such as ann@example.com.",
            reason=unusable.reason,
            detail=unusable.detail or None,
        ) from None


def why(wiring: Wiring, address: str, *, actor: Actor) -> Person:
    """Return which audiences and waves somebody is in, and whether and why they are not mailed."""
    actor.require("operate")
    with wiring.store.reading() as unit:
        return _person(unit, identity_of(address), unit.audiences.key())


def _person(unit: Unit, identity: str, key: bytes) -> Person:
    person = person_hash(key, identity)
    hashed = erased_identity(person)
    living = unit.audiences.of_person(identity)
    erased = unit.suppressions.get(hashed)
    contacts = [{**row, "attributes": json.loads(row["attributes"])} for row in living]
    waves = unit.ramp_reads.of_person(identity, person=person.hex(), most=MOST_WAVES)
    return Person(
        tuple(contacts), erased or unit.suppressions.get(identity), erased is not None, tuple(waves)
    )


def export_person(wiring: Wiring, address: str, *, actor: Actor) -> Person:
    """Return all that the store holds of one person; that it was handed out is audited by their keyed hash."""
    actor.require("admin")
    identity = identity_of(address)
    with wiring.store.unit() as unit:
        key = unit.audiences.key()
        found = _person(unit, identity, key)
        if not found.contacts and found.suppression is None:
            raise NotFound(
                "The store holds nothing of this person.", todo="Look whether the address is right."
            )
        _note(unit, "person_exported", key, identity, actor)
    return found


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did."""

    contacts: int
    was_suppressed: bool
    already: bool


def erase_person(wiring: Wiring, address: str, *, actor: Actor) -> Erasure:
    """Take out who somebody was, for good; only a keyed hash stays, so that they are never mailed again."""
    actor.require("admin")
    identity = identity_of(address)
    with wiring.store.unit() as unit:
        key = unit.audiences.exclude()
        hashed = erased_identity(person_hash(key, identity))
        already = unit.suppressions.get(hashed) is not None
        before = unit.suppressions.get(identity)
        contacts = unit.audiences.erase(identity, erased=hashed)
        unit.suppressions.forget(identity)
        reason = Suppressed(before["reason"]) if before else Suppressed.MANUAL
        unit.suppressions.add([hashed], reason=reason, source="erased")
        _note(unit, "person_erased", key, identity, actor, contacts=contacts)
    return Erasure(contacts, was_suppressed=before is not None, already=already)


def _note(unit: Unit, kind: str, key: bytes, identity: str, actor: Actor, **facts: int) -> None:
    told: dict[str, Any] = {**facts, "person": person_hash(key, identity).hex()}
    unit.events.add(kind, campaign_id=None, actor=actor.name, **told)
