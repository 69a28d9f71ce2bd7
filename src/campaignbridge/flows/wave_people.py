"""A wave's people: picked in our store, put into a segment at the provider, and proven to be there by its list.

Whoever was pushed counts as in the segment until the member list says otherwise; somebody who isn't assigned to this
wave is taken out. A push without an answer may land later, so its list isn't believed before its window is over.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar, assert_never

from campaignbridge.domain.audience import Unusable, address_of
from campaignbridge.domain.job import Done, JobOutcome
from campaignbridge.domain.ledger import DIAL_LIMIT_MS, MUTATION_LIMIT_MS, READ_LIMIT_MS, SETTLE_MS
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    ContactResult,
    FoundSegment,
    Listing,
    Member,
    NewContact,
    Outcome,
    Pushed,
    Refused,
)
from campaignbridge.domain.ramp import Step, Wave
from campaignbridge.flows.refusals import not_reached, refused, unreadable
from campaignbridge.flows.wave_run import Halt, WaveRun
from campaignbridge.ports import Provider
from campaignbridge.store.assignments import TOP, Candidate

T = TypeVar("T")
PUSH_LIMIT_MS = 60_000
MARGIN_MS = 10_000
MEMBERS_LIMIT_MS = 120_000  # a big segment has many pages
LAG_ROUNDS = 5  # readings in which somebody may still be missing before they are pushed again
LAG_MS = 30_000


def pick(going: WaveRun) -> JobOutcome:
    """Assign the next people, in one statement; too few of them need a person before anything exists elsewhere."""
    ramp, wave = going.ramp, going.wave
    with going.writing() as unit:
        start = int(ramp.seed.encode().hex()[:15], 16) % TOP
        picked = unit.assignments.pick(ramp, wave, start=start, most=wave.requested)
        if not picked:
            if not unit.waves.discard(wave):
                raise Halt
            unit.ramps.end(ramp.id, "complete")
            unit.ramps.log(ramp.id, "complete", wave_id=wave.id, reason="nobody_left")
            unit.events.add("ramp_complete", campaign_id=None, actor=None, ramp=ramp.slug)
            return Done()
        going.advance(unit, Step.PICKED, picked=picked)
        if ramp.plan.underfilled(requested=wave.requested, picked=picked) and wave.underfilled_by is None:
            unit.waves.fail(going.run, "pool_drained")
            unit.ramps.need_operator(ramp.id, "pool_drained")
            unit.ramps.log(ramp.id, "pool_drained", wave_id=wave.id, picked=picked, requested=wave.requested)
            return Done()
    return going.go_on()


def make_segment(going: WaveRun) -> JobOutcome:
    """Find the segment by its name, or make it; the oldest of that name is ours, others are never used."""
    provider = going.wiring.open_provider(going.connection())
    name = going.segment_name
    found = _value(provider, provider.find_segment(name, audience=going.container, limit_ms=READ_LIMIT_MS))
    if found.items:
        return _adopt(going, provider, found.items[0])
    if not found.complete:
        raise unreadable(provider, Ambiguous(reason="incomplete_list"))
    line = provider.dial(limit_ms=DIAL_LIMIT_MS)
    if isinstance(line, Refused):
        raise not_reached(provider, line)
    try:
        with going.writing() as unit:
            going.require(unit, need_ms=MUTATION_LIMIT_MS + MARGIN_MS)
        made = provider.create_segment(line, name, audience=going.container, limit_ms=MUTATION_LIMIT_MS)
    finally:
        line.close()
    segment = _value(provider, made)  # without an answer it is looked for by its name, after a while
    with going.writing() as unit:
        going.advance(unit, Step.SEGMENT_CREATED, segment_id=segment.ref)
    return going.go_on()


def _adopt(going: WaveRun, provider: Provider, segment: FoundSegment) -> JobOutcome:
    """Take over a segment that is there already: whoever is in it is this wave's, whatever was picked."""
    members = _members(provider, segment.ref)
    identities = [identity for identity in map(_identity, members) if identity is not None]
    with going.writing() as unit:
        if identities:
            unit.assignments.adopt(going.ramp, going.wave, identities)
            unit.assignments.confirm(
                going.wave.id,
                [
                    one.contact_id
                    for one in unit.assignments.members(going.wave.id)
                    if one.identity in set(identities)
                ],
            )
        going.advance(unit, Step.SEGMENT_CREATED, segment_id=segment.ref)
        unit.ramps.log(going.ramp.id, "segment_adopted", wave_id=going.wave.id, members=len(members))
    return going.go_on()


def push(going: WaveRun) -> JobOutcome:
    """Put the next chunk into the segment; go on until everybody was tried."""
    wave, plan = going.wave, going.ramp.plan
    provider = going.wiring.open_provider(going.connection())
    with going.wiring.store.reading() as unit:
        chunk = unit.assignments.to_push(wave.id, most=provider.push_chunk)
        due = unit.assignments.next_try(wave.id)
        counts = unit.assignments.counts(wave.id)
    if not chunk and due is None and not counts.get("assigned"):
        with going.writing() as unit:
            going.advance(unit, Step.PUSHED)
        return going.go_on()
    if not chunk:
        return going.later(max(1_000, (due or 0) - wave.now))
    with going.writing() as unit:
        going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
        until = unit.waves.start_push(going.run, limit_ms=PUSH_LIMIT_MS)
        if until is None:
            raise Halt
    assert wave.segment_id is not None, "the segment was made before"
    people = tuple(NewContact(one.email, _fields(one)) for one in chunk)
    pushed = provider.add_contacts(wave.segment_id, people, limit_ms=PUSH_LIMIT_MS)
    with going.writing() as unit:
        unit.assignments.pushed(wave.id, _written(chunk, pushed.results))
        if pushed.ended_by is None and all(one.came_to is not Pushed.UNCLEAR for one in pushed.results):
            unit.waves.stop_push(going.run, until, earlier=_still_landing(wave))
        counts = unit.assignments.counts(wave.id)
    refused_ones = counts.get("refused", 0)
    tried = refused_ones + counts.get("in_segment", 0)
    if plan.too_many_refused(tried=tried, refused=refused_ones):
        return going.fail("too_many_refused")
    match pushed.ended_by:
        case None:
            return going.go_on()
        case Refused():
            raise refused(provider, pushed.ended_by, None)
        case Ambiguous():
            raise unreadable(provider, pushed.ended_by)
        case _:
            assert_never(pushed.ended_by)


def _fields(one: Candidate) -> dict[str, str]:
    return {name: str(value) for name, value in one.attributes.items()}


def _written(
    chunk: list[Candidate], results: Iterable[ContactResult]
) -> list[tuple[int, str, str | None, int | None]]:
    """Return what is recorded of each contact; who wasn't tried stays as they are."""
    written: list[tuple[int, str, str | None, int | None]] = []
    for one, result in zip(chunk, results, strict=True):
        match result.came_to:
            case Pushed.IN_SEGMENT:
                written.append((one.contact_id, "in_segment", None, None))
            case Pushed.REFUSED | Pushed.OUT:
                written.append((one.contact_id, "refused", result.code or "refused", None))
            case Pushed.UNCLEAR:
                # It counts as in the segment; the member list has the last word.
                written.append((one.contact_id, "in_segment", "unclear", None))
            case Pushed.UNTRIED:
                continue
            case _:
                assert_never(result.came_to)
    return written


def verify(going: WaveRun) -> JobOutcome:
    """Compare the member list with ours: strangers are taken out, who is missing is pushed again, then let go."""
    wave = going.wave
    landing = _still_landing(wave)
    if landing is not None:
        return going.later(landing + SETTLE_MS - wave.now)
    provider = going.wiring.open_provider(going.connection())
    assert wave.segment_id is not None, "the segment was made before"
    there = {identity: one for one in _members(provider, wave.segment_id) if (identity := _identity(one))}
    with going.wiring.store.reading() as unit:
        ours = {one.identity: one for one in unit.assignments.members(wave.id)}
    strangers = [there[identity].address for identity in there.keys() - ours.keys()]
    if strangers:
        return _take_out(going, provider, strangers)
    missing = [ours[identity] for identity in ours.keys() - there.keys()]
    if missing and going.tries < LAG_ROUNDS:
        return _again(going, LAG_MS)
    twice = [one for one in missing if one.tries > 1]
    once = [one for one in missing if one.tries <= 1]
    with going.writing() as unit:
        unit.assignments.release(wave.id, [one.contact_id for one in twice], code="not_in_segment")
        unit.assignments.push_again(wave.id, [one.contact_id for one in once])
        unit.assignments.confirm(
            wave.id, [ours[identity].contact_id for identity in ours.keys() & there.keys()]
        )
        if once:
            going.advance(unit, Step.SEGMENT_CREATED)
            return going.go_on()
        mailable = sum(1 for identity in ours.keys() & there.keys() if there[identity].mailable)
        if mailable:
            going.advance(unit, Step.VERIFIED, verified=mailable)
            return going.go_on()
    return going.fail("nobody_in_segment")


def _still_landing(wave: Wave) -> int | None:
    """Return until when a push without an answer was announced, while it may still land."""
    until = wave.pushing_until
    return until if until is not None and wave.now < until + SETTLE_MS else None


def _again(going: WaveRun, ms: int) -> JobOutcome:
    return replace(going, tries=going.tries + 1).later(ms)


def _take_out(going: WaveRun, provider: Provider, addresses: list[str]) -> JobOutcome:
    """Take people out of the segment who are not this wave's, a chunk at a time; then look again."""
    assert going.wave.segment_id is not None, "the segment was made before"
    with going.writing() as unit:
        going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
        unit.ramps.log(going.ramp.id, "strangers_removed", wave_id=going.wave.id, people=len(addresses))
    done = provider.remove_contacts(
        going.wave.segment_id, tuple(sorted(addresses)[: provider.push_chunk]), limit_ms=PUSH_LIMIT_MS
    )
    if isinstance(done.ended_by, Refused):
        raise refused(provider, done.ended_by, None)
    if going.tries >= LAG_ROUNDS + len(addresses) // provider.push_chunk:
        return going.fail("strangers_in_segment")
    return _again(going, LAG_MS)


def _members(provider: Provider, segment: str) -> tuple[Member, ...]:
    listed: Listing[Member] = _value(provider, provider.segment_members(segment, limit_ms=MEMBERS_LIMIT_MS))
    if not listed.complete:
        raise unreadable(provider, Ambiguous(reason="incomplete_list"))
    return listed.items


def _identity(member: Member) -> str | None:
    try:
        return address_of(member.address).identity
    except Unusable:
        return member.address.lower()


def _value(provider: Provider, outcome: Outcome[T]) -> T:
    """Return what was accepted, or raise `ProviderFailed`: what was asked may simply be asked again."""
    match outcome:
        case Accepted(value):
            return value
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)
