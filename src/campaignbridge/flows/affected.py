"""Whom a delivery reached badly: who bounced, complained or left by the provider's record, and whom it never took.

1. Only for whoever operates, and never a whole address: its first letter and its domain are enough to see a pattern.
2. One transaction says which object of the provider went, and whom it refused; nothing is held while it is read.
3. The provider is read once for each kind that was asked for, within a limit. Nothing is changed, here or there, and
   a reading that fails ends it: a list with a hole in it isn't shown as one without.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.audience import masked
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import InvalidInput, InvalidState, NotFound, Refusal
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Listing,
    Outcome,
    Recipient,
    RecipientKind,
    Refused,
)
from campaignbridge.domain.ramp import Wave
from campaignbridge.flows.mirroring import remote_id_of
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader, Row
from campaignbridge.store.unit import Unit

LIMIT_MS = 30_000  # of one kind's reading
MOST = 1_000  # people of one kind


class Affected(StrEnum):
    """What befell somebody."""

    COMPLAINT = "complaint"
    BOUNCE = "bounce"
    UNSUBSCRIBE = "unsubscribe"
    REFUSED = "refused"  # of a wave: the provider took them into no segment, so they were not mailed


RECORDED = {
    Affected.COMPLAINT: RecipientKind.COMPLAINED,
    Affected.BOUNCE: RecipientKind.BOUNCED,
    Affected.UNSUBSCRIBE: RecipientKind.UNSUBSCRIBED,
}
BOUNCES = {True: "permanent", False: "transient", None: None}


@dataclass(frozen=True, slots=True)
class Of:
    """Which delivery is meant: a campaign's, or a ramp's wave, without a label the newest one that went."""

    campaign: str | None = None
    ramp: str | None = None
    wave: str | None = None


@dataclass(frozen=True, slots=True)
class Somebody:
    """One person, as far as a list shows who it is."""

    person: str  # `a…@example.com`
    domain: str
    reason: str | None  # of a bounce "permanent" or "transient"; of a refusal its code


@dataclass(frozen=True, slots=True)
class Found:
    """The people of one kind. Incomplete: there are more, or some could not be read."""

    kind: Affected
    people: tuple[Somebody, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """Whom one delivery reached badly, read at `read_at` of the store's clock, in epoch milliseconds."""

    of: Of
    connection: Connection
    read_at: int
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class _Delivery:
    of: Of
    connection: Connection
    remote_id: str | None
    refused: list[Row]
    now: int


def affected(wiring: Wiring, of: Of, *, kind: Affected | None = None, most: int, actor: Actor) -> Listed:
    """Return up to `most` people of each kind, or of the one that is asked for; addresses are masked.

    Raises `invalid_state` for a wave that has not gone, and `not_found` where the provider has no record (yet).
    """
    actor.require("operate")
    _check(of, kind, most)
    with wiring.store.reading() as unit:
        delivery = _of_campaign(unit, of.campaign) if of.campaign is not None else _of_wave(unit, of, most)
    kinds = [kind] if kind is not None else [one for one in Affected if delivery.of.ramp or one in RECORDED]
    recorded = _record(wiring, delivery, [one for one in kinds if one in RECORDED], most)
    ours = [_refused(delivery.refused, most)] if Affected.REFUSED in kinds else []
    return Listed(delivery.of, delivery.connection, delivery.now, (*recorded, *ours))


def _check(of: Of, kind: Affected | None, most: int) -> None:
    if not 1 <= most <= MOST:
        raise InvalidInput(
            f"A list has 1 to {MOST:,} people of each kind.", todo="Use one such as --limit 50."
        )
    if of.campaign is not None and kind is Affected.REFUSED:
        raise InvalidInput(
            "Who was refused is recorded of waves only.", todo="Name the wave: --ramp NAME --wave LABEL"
        )


def _of_campaign(unit: Unit, campaign_id: str) -> _Delivery:
    dossier = unit.campaigns.get(campaign_id)
    remote_id = dossier.remote.remote_id if dossier.remote else None
    return _Delivery(Of(campaign=campaign_id), dossier.connection, remote_id, [], dossier.now)


def _of_wave(unit: Unit, of: Of, most: int) -> _Delivery:
    assert of.ramp is not None, "a delivery is a campaign's or a ramp's"
    ramp = unit.ramps.get(of.ramp)
    wave = _wave(unit.waves.of_ramp(ramp.id), of.wave, ramp.slug)
    connection = unit.accounts.find(ramp.connection_id)
    assert connection is not None, "a ramp has its connection"
    remote_id = remote_id_of(unit, wave) if wave.sent_at is not None else None
    rows = unit.assignments.refused(wave.id, most=most + 1)
    return _Delivery(Of(wave.campaign_id, ramp.slug, wave.label), connection, remote_id, rows, unit.now_ms())


def _wave(waves: list[Wave], label: str | None, slug: str) -> Wave:
    if label is None:
        went = [one for one in waves if one.sent_at is not None]
        if not went:
            raise InvalidState(f"No wave of {slug} has gone.", todo=f"Look at it: ramps status {slug}")
        return went[-1]
    for wave in waves:
        if wave.label == label:
            return wave
    raise NotFound(f"{slug} has no wave {label[:64]!a}.", todo=f"See which there are: ramps status {slug}")


def _refused(rows: list[Row], most: int) -> Found:
    people = tuple(_somebody(row["email"], row["code"]) for row in rows[:most])
    return Found(Affected.REFUSED, people, complete=len(rows) <= most)


def _record(wiring: Wiring, delivery: _Delivery, kinds: list[Affected], most: int) -> list[Found]:
    if not kinds:
        return []
    if delivery.remote_id is None:
        raise InvalidState(
            "It has not gone, so nobody can have bounced, complained or left.",
            todo=f"Look at where it is: ramps status {delivery.of.ramp}"
            if delivery.of.ramp
            else f"Look at it: campaigns show {delivery.of.campaign}",
        )
    reader = open_reader(wiring, delivery.connection)
    return [_read(reader, delivery.remote_id, kind, most) for kind in kinds]


def _read(reader: Reader, remote_id: str, kind: Affected, most: int) -> Found:
    outcome = reader.recipients(remote_id, RECORDED[kind], most=most, limit_ms=LIMIT_MS)
    listing = _listing(reader, outcome)
    people = tuple(_somebody(one.address, BOUNCES[one.permanent]) for one in listing.items)
    return Found(kind, people, listing.complete)


def _listing(reader: Reader, outcome: Outcome[Listing[Recipient]]) -> Listing[Recipient]:
    match outcome:
        case Accepted(listing):
            return listing
        case Refused(category=Category.MISSING):
            raise NotFound(
                f"{reader.label} has no record of this delivery, or none yet.",
                todo="A record comes minutes after a send. Repeat the command then.",
            )
        case Refused():
            raise _told(refused(reader, outcome, None))
        case Ambiguous():
            raise unreadable(reader, outcome)
        case _:
            assert_never(outcome)


def _told(refusal: Refusal) -> Refusal:
    # A reading needs no confirmation, whatever the words for requests say.
    refusal.todo = refusal.todo.replace(" with a new confirmation", " the command")
    return refusal


def _somebody(address: str, reason: str | None) -> Somebody:
    return Somebody(masked(address), address.rpartition("@")[2].lower(), reason)
