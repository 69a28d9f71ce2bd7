"""Bringing contacts in: every row ends as added, merged, unchanged or rejected, and none is counted twice.

1. Read a batch of rows and find out who each one is. Nothing is held meanwhile.
2. Write the rejected ones into the rejects file, behind what the last committed batch had written.
3. In one transaction: hold off erasures, hold the audience, see who is there, add and change people, and move
   the import's mark on, only from where this process began. A killed import goes on from its mark, so nobody
   comes in twice; of two that import one file, the second finds the mark moved and stops.
4. A person who is there keeps the address as first given. What a later row tells wins; an empty cell takes
   nothing away. An import never touches suppressions, and never brings back who was erased.
"""

import json
import unicodedata
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring
from typing import Any, Protocol

from campaignbridge.domain import audience as people
from campaignbridge.domain.actor import Actor
from campaignbridge.domain.audience import Unusable
from campaignbridge.domain.columns import Mapping
from campaignbridge.domain.errors import InvalidInput, InvalidState, NotFound, Refusal
from campaignbridge.flows.rows import Record
from campaignbridge.flows.tables import Source
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.audiences import Known, NewContact, Progress
from campaignbridge.store.unit import Unit

BATCH = 10_000


class Rejects(Protocol):
    """Where rejected rows go, with everything that is needed to correct them."""

    def begin(self, import_id: int, *, kept_bytes: int, mapping: Mapping) -> None:
        """Go on behind what earlier batches wrote."""
        ...

    def end(self) -> None:
        """Drop what was written for a batch that never came in: the import is over."""
        ...

    def write(self, rows: Sequence[tuple[Record, str, str]]) -> int:
        """Write rows with reason and detail durably; return the size that the rejects have now."""
        ...


@dataclass(frozen=True, slots=True)
class Imported:
    """How an import ended, or stands."""

    audience: str
    import_id: int
    resumed_at: int  # rows that were in before this run
    counts: dict[str, int]
    reasons: dict[str, int]
    people: int
    suppressed: int


@dataclass(slots=True)
class Candidate:
    """One row that names a person."""

    record: Record
    identity: str
    email: str
    repaired: bool
    attributes: str  # JSON
    locale: str | None
    zone: str | None


@dataclass(slots=True)
class _Batch:
    candidates: list[Candidate] = field(default_factory=list)
    rejected: list[tuple[Record, str, str]] = field(default_factory=list)


def import_contacts(
    wiring: Wiring,
    table: Source,
    slug: str,
    *,
    rejects: Rejects,
    tell: Callable[[Progress, float | None], None],
    actor: Actor,
    batch_rows: int = BATCH,
) -> Imported:
    """Import a file or a query into an audience, a file from where an earlier run of it was stopped.

    `tell` hears of every batch that is in. Raises `import_in_progress` when another process imports the same file,
    and `nothing_imported` when no row named anybody.
    """
    actor.require("manage")
    found, progress = _open(wiring, table, slug, actor)
    resumed_at = progress.rows_read
    rejects.begin(progress.import_id, kept_bytes=progress.rejects_bytes, mapping=table.mapping)
    reader = RowReader(table.mapping)
    with table.rows() as rows:
        left = resumed_at
        while left and (skipped := len(rows.batch(min(left, batch_rows)))):
            left -= skipped
        while batch := rows.batch(batch_rows):
            progress = _take(wiring, progress, reader.read(batch), rejects)
            tell(progress, rows.fraction())
    suppressed, count = _finish(wiring, progress, slug, actor)
    rejects.end()
    if progress.rows_read == progress.rejected:
        raise Refusal(
            "No row names a person. Nothing was imported.",
            code="nothing_imported",
            todo="Look at the preview and the rejects: delimiter, encoding, and which column has the addresses.",
            rows_read=progress.rows_read,
            reasons=progress.reasons,
        )
    return Imported(
        slug,
        found,
        resumed_at,
        progress.counts(),
        dict(progress.reasons),
        people=count,
        suppressed=suppressed,
    )


def _open(wiring: Wiring, table: Source, slug: str, actor: Actor) -> tuple[int, Progress]:
    with wiring.store.unit() as unit:
        found = unit.audiences.get(slug)
        if found is None:
            raise no_audience(slug)
        fingerprint = table.fingerprint or wiring.new_id("imp")
        progress = unit.audiences.open_import(found["id"], fingerprint=fingerprint, actor=actor.name)
    return progress.import_id, progress


def no_audience(slug: str) -> Refusal:
    """Return the refusal for an audience that isn't there."""
    if not people.is_slug(slug):
        return InvalidInput(
            "An audience is called by 1 to 64 of [a-z0-9-].", todo="Use a name such as customers-eu."
        )
    return NotFound(f"There is no audience {slug}.", todo="See which there are: audiences list")


def _finish(wiring: Wiring, progress: Progress, slug: str, actor: Actor) -> tuple[int, int]:
    with wiring.store.unit() as unit:
        if not unit.audiences.finish(progress):
            raise _not_alone()
        figures: dict[str, Any] = {**progress.counts(), "audience": slug, "import_id": progress.import_id}
        unit.events.add(
            "contacts_imported",
            campaign_id=None,
            actor=actor.name,
            **figures,
        )
        row = unit.audiences.get(slug)
        assert row is not None, "audiences are never deleted"
        return unit.audiences.suppressed(progress.audience_id), int(row["people"])


def _not_alone() -> Refusal:
    return Refusal(
        "Another process imports this file into this audience right now.",
        code="import_in_progress",
        todo="Let it end, or stop it and run the same command again.",
        retry_after=60,
    )


def _take(wiring: Wiring, before: Progress, batch: _Batch, rejects: Rejects) -> Progress:
    progress = replace(before, reasons=dict(before.reasons))
    if batch.rejected:
        progress.rejects_bytes = rejects.write(batch.rejected)
    with wiring.store.unit() as unit:
        late = _store(unit, progress, batch)
        progress.rows_read += len(batch.candidates) + len(batch.rejected)
        for _, reason, _ in [*batch.rejected, *late]:
            progress.rejected += 1
            progress.reasons[reason] = progress.reasons.get(reason, 0) + 1
        if late:
            progress.rejects_bytes = rejects.write(late)
        if not unit.audiences.advance(progress, read_before=before.rows_read):
            raise _not_alone()
    return progress


def _store(unit: Unit, progress: Progress, batch: _Batch) -> list[tuple[Record, str, str]]:
    """Add and change people; return the rows of those who were erased."""
    if not batch.candidates:
        return []
    key = unit.audiences.share()
    now = unit.audiences.hold(progress.audience_id)
    by_person: dict[str, list[Candidate]] = {}
    for one in batch.candidates:
        by_person.setdefault(one.identity, []).append(one)
    known = unit.audiences.known(progress.audience_id, list(by_person))
    fresh = {
        identity: people.person_hash(key, identity) for identity in sorted(by_person.keys() - known.keys())
    }
    gone = _erased(unit, fresh)
    late = [(one.record, "erased", "") for identity in gone for one in by_person[identity]]
    new: list[NewContact] = []
    for identity, person in fresh.items():
        if identity in gone:
            continue
        state = _merged(progress, by_person[identity])
        lot = people.lot_of(person)
        new.append(
            (
                progress.audience_id,
                identity,
                state.email,
                state.attributes,
                state.locale,
                state.zone,
                lot,
                progress.import_id,
                now,
                now,
            )
        )
    progress.added += len(new)
    _add(unit, progress.audience_id, new, fresh)
    unit.audiences.change(_changes(progress, known, by_person))
    if new:
        unit.audiences.hold(progress.audience_id, added=len(new))
    return late


def _add(unit: Unit, audience_id: int, new: list[NewContact], fresh: dict[str, bytes]) -> None:
    """Add people; somebody who was erased and may come back takes the row that stands for them."""
    hashes = {identity: people.erased_identity(person) for identity, person in fresh.items()}
    back = unit.audiences.erased(audience_id, list(hashes.values())) if new else {}
    added: list[NewContact] = []
    for contact in new:
        row = back.get(hashes[str(contact[1])])
        if row is None:
            added.append(contact)
        else:
            unit.audiences.come_back(row["id"], contact)
    unit.audiences.load(added)


def _erased(unit: Unit, fresh: dict[str, bytes]) -> set[str]:
    if not fresh or not unit.suppressions.any_erased():
        return set()
    by_hash = {people.erased_identity(person): identity for identity, person in fresh.items()}
    return {by_hash[one] for one in unit.suppressions.among(list(by_hash))}


def _merged(progress: Progress, rows: list[Candidate]) -> Candidate:
    """Return what all rows of a new person tell together; count all but the first."""
    first, *more = rows
    progress.repaired += first.repaired
    state = first
    for one in more:
        told = _absorbed(state, one)
        progress.repeated += 1
        _count(progress, one, changed=told is not None)
        state = told or state
    return state


def _changes(
    progress: Progress, known: Known, by_person: dict[str, list[Candidate]]
) -> list[dict[str, object]]:
    """Return what rows tell anew of people who are there; count the rows."""
    changes: list[dict[str, object]] = []
    for identity, row in known.items():
        rows = by_person[identity]
        state = replace(rows[0], attributes=row["attributes"], locale=row["locale"], zone=row["zone"])
        changed = False
        for one in rows:
            told = _absorbed(state, one)
            progress.repeated += row["import_id"] == progress.import_id
            _count(progress, one, changed=told is not None)
            changed, state = changed or told is not None, told or state
        if changed:
            changes.append(
                {
                    "id": row["id"],
                    "attributes": state.attributes,
                    "locale": state.locale,
                    "zone": state.zone,
                }
            )
    return changes


def _count(progress: Progress, row: Candidate, *, changed: bool) -> None:
    progress.repaired += row.repaired
    if changed:
        progress.merged += 1
    else:
        progress.unchanged += 1


def _absorbed(state: Candidate, row: Candidate) -> Candidate | None:
    """Return what is known of a person after another row; None when it tells nothing new."""
    if (state.attributes, state.locale, state.zone) == (row.attributes, row.locale, row.zone):
        return None
    before = json.loads(state.attributes)
    after = {**before, **json.loads(row.attributes)}
    if len(after) > people.MAX_ATTRIBUTES:
        after = before  # what is there stays; beyond the bound nothing new is taken
    locale, zone = row.locale or state.locale, row.zone or state.zone
    if (after, locale, zone) == (before, state.locale, state.zone):
        return None
    return replace(state, attributes=encoded(after), locale=locale, zone=zone)


def encoded(attributes: dict[str, str]) -> str:
    """Return attributes as the store keeps them."""
    return (
        "{" + ",".join(f"{encode_basestring(k)}:{encode_basestring(v)}" for k, v in attributes.items()) + "}"
    )


class RowReader:
    """Finds out who each row of a file names, and what it tells of them."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self._zones = frozenset(zoneinfo.available_timezones()) if mapping.zone is not None else frozenset()
        self._attributes = [
            (place, f"{encode_basestring(mapping.names[place])}:") for place in mapping.attributes
        ]
        self._width = len(mapping.names)

    def read(self, records: Sequence[Record]) -> _Batch:
        """Return the rows that name somebody, and those that don't."""
        batch = _Batch()
        for record in records:
            try:
                batch.candidates.append(self._candidate(record))
            except Unusable as unusable:
                batch.rejected.append((record, unusable.reason, unusable.detail))
        return batch

    def _candidate(self, record: Record) -> Candidate:
        _, cells, problem, detail = record
        if problem:
            raise Unusable(problem, detail)
        if len(cells) != self._width and (
            len(cells) < self._width or any(cell.strip() for cell in cells[self._width :])
        ):
            raise Unusable("columns", f"{len(cells)} instead of {self._width}")
        mapping = self._mapping
        address = people.address_of(cells[mapping.email])
        locale = None if mapping.locale is None else people.locale_of(_plain(cells[mapping.locale]))
        zone = None if mapping.zone is None else people.zone_of(_plain(cells[mapping.zone]), self._zones)
        parts: list[str] = []
        for place, name in self._attributes:
            value = cells[place].strip(" ")
            if value:
                if not value.isascii() or not value.isprintable() or len(value) > people.MAX_VALUE:
                    value = _plain(value)
                    if not value:
                        continue
                parts.append(name + encode_basestring(value))
        attributes = "{" + ",".join(parts) + "}"
        if len(attributes) > people.MAX_ATTRIBUTE_LETTERS:
            raise Unusable("long_row_text")
        return Candidate(record, address.identity, address.given, address.repaired, attributes, locale, zone)


def _plain(cell: str) -> str:
    """Return a cell without what can't be seen at its ends; raise `Unusable` for what no column may hold."""
    value = people.trimmed(cell)
    if len(value) > people.MAX_VALUE:
        raise Unusable("long_value")
    if not value.isprintable():
        for letter in value:
            if letter not in "\t\r\n" and unicodedata.category(letter) in {"Cc", "Cs"}:
                raise Unusable("control", people.code_point(letter))
    return value


def make_audience(
    wiring: Wiring, slug: str, *, name: str | None = None, connection: str | None = None, actor: Actor
) -> bool:
    """Make an audience unless it is there; say whether it is new."""
    actor.require("manage")
    if not people.is_slug(slug):
        raise no_audience(slug)
    with wiring.store.unit() as unit:
        if connection is not None:
            found = unit.accounts.find(connection)
            if found is None:
                raise InvalidState("There is no such connection.", todo="See: connections list")
            connection = found.id
        made = unit.audiences.create(slug, name=name or slug, connection_id=connection, actor=actor.name)
        if made:
            unit.events.add("audience_created", campaign_id=None, actor=actor.name, audience=slug)
        return made
