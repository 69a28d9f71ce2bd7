"""A wave's people: picked in our store, put into a segment at the provider, and proven to be there by its list.

Whoever was pushed counts as in the segment until the member list says otherwise; somebody who isn't assigned to this
wave is taken out. A push without an answer may land later, so its list isn't believed before its window is over.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, assert_never

from campaignbridge.domain.audience import Suppressed, Unusable, address_of
from campaignbridge.domain.job import Done, JobOutcome
from campaignbridge.domain.ledger import (
    FIRST_BYTE_MS,
    SETTLE_MS,
)
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    ContactResult,
    Listing,
    Member,
    NewContact,
    Outcome,
    Pushed,
    Refused,
)
from campaignbridge.domain.ramp import Step, Wave
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.wave_run import Halt, WaveRun
from campaignbridge.ports import Provider
from campaignbridge.store.assignments import TOP, Assigned, Candidate

T = TypeVar("T")
PUSH_LIMIT_MS = 60_000
MARGIN_MS = 10_000
MEMBERS_LIMIT_MS = 120_000  # a big segment has many pages
LAG_ROUNDS = 5  # readings in which somebody may still be missing before they are pushed again
LAG_MS = 30_000


def pick(going: WaveRun) -> JobOutcome:
    """Assign the next people, in one statement; too few of them need a person before anything exists elsewhere."""
    ramp, wave = going.ramp, going.wave
    with going.writing(picks=True) as unit:
        picked = unit.assignments.pick(ramp, wave, start=place_of(ramp.seed), most=wave.requested)
        if not picked:
            if not unit.waves.discard(wave):
                raise Halt
            unit.ramps.end(ramp.id, "complete")
            unit.ramps.log(ramp.id, "complete", wave_id=wave.id, reason="nobody_left")
            unit.events.add("ramp_complete", campaign_id=None, actor=None, ramp=ramp.slug)
            return Done()
        going.advance(unit, Step.PICKED, picked=picked)
        if ramp.plan.underfilled(requested=wave.requested, picked=picked) and wave.underfilled_by is None:
            unit.ramps.need_operator(ramp.id, "pool_drained")
            unit.waves.fail(going.run, "pool_drained")
            unit.ramps.log(ramp.id, "pool_drained", wave_id=wave.id, picked=picked, requested=wave.requested)
            return Done()
    return going.go_on()


def place_of(seed: str) -> int:
    """Return where in the audience's circle a ramp begins: anywhere, as its seed says."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big") % TOP


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
    if any(one.gone for one in chunk):
        return _let_go_before(going, chunk)
    checked = going.wiring.clock.mark()
    with going.writing() as unit:
        going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
        until = unit.waves.start_push(going.run, limit_ms=FIRST_BYTE_MS + PUSH_LIMIT_MS)
        if until is None:
            raise Halt
    if going.wiring.clock.since_ms(checked) > FIRST_BYTE_MS:
        return going.later(
            0
        )  # frozen meanwhile: what is announced would be over before the last contact left
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


def _let_go_before(going: WaveRun, chunk: list[Candidate]) -> JobOutcome:
    """Give up whoever was suppressed or erased since the pick, before anything of them leaves."""
    gone = [one.contact_id for one in chunk if one.gone]
    with going.writing() as unit:
        unit.assignments.release(going.wave.id, gone, code="suppressed")
        unit.ramps.log(going.ramp.id, "suppressed_released", wave_id=going.wave.id, people=len(gone))
    return going.go_on()


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
    listed = compare(going, provider)
    if isinstance(listed, Seen) and listed.missing and going.tries < LAG_ROUNDS:
        return going.once_more(LAG_MS)
    if not isinstance(listed, Seen):
        return listed
    twice = [one.contact_id for one in listed.missing if one.tries > 1]
    once = [one.contact_id for one in listed.missing if one.tries <= 1]
    with going.writing() as unit:
        unit.assignments.release(wave.id, twice, code="not_in_segment")
        unit.assignments.push_again(wave.id, once)
        unit.assignments.confirm(wave.id, listed.there)
        if once:
            going.advance(unit, Step.SEGMENT_CREATED)
            return going.go_on()
        if listed.there:
            going.advance(unit, Step.VERIFIED, verified=len(listed.there))
            return going.go_on()
    return going.fail("nobody_in_segment")


@dataclass(frozen=True, slots=True)
class Seen:
    """A segment without strangers, by its member list."""

    there: list[int]  # contacts of the wave who are in it and would be mailed
    missing: list[Assigned]


def compare(going: WaveRun, provider: Provider) -> Seen | JobOutcome:
    """Compare the member list with ours; take out whoever isn't the wave's, and then come back to look again.

    Who left at the provider isn't the wave's any more, and is suppressed.
    """
    wave = going.wave
    assert wave.segment_id is not None, "the segment was made before"
    there = {identity_in(one): one for one in members_of(provider, wave.segment_id)}
    with going.wiring.store.reading() as unit:
        ours = {one.identity: one for one in unit.assignments.members(wave.id)}
    gone = [identity for identity in there.keys() & ours.keys() if not there[identity].mailable]
    if gone:
        with going.writing() as unit:
            unit.assignments.leave(wave.id, [ours.pop(identity).contact_id for identity in gone])
            left = [identity for identity in gone if there[identity].left]
            unit.suppressions.add(left, reason=Suppressed.UNSUBSCRIBE, source="provider")
            unit.ramps.log(going.ramp.id, "left_released", wave_id=wave.id, people=len(gone))
    strangers = [there[identity].address for identity in there.keys() - ours.keys()]
    if strangers:
        return _take_out(going, provider, strangers)
    return Seen(
        there=[ours[identity].contact_id for identity in ours.keys() & there.keys()],
        missing=[ours[identity] for identity in ours.keys() - there.keys()],
    )


def _still_landing(wave: Wave) -> int | None:
    """Return until when a push without an answer was announced, while it may still land."""
    until = wave.pushing_until
    return until if until is not None and wave.now < until + SETTLE_MS else None


def _take_out(going: WaveRun, provider: Provider, addresses: list[str]) -> JobOutcome:
    """Take people out of the segment who are not this wave's, a chunk at a time; then look again."""
    assert going.wave.segment_id is not None, "the segment was made before"
    if going.tries >= LAG_ROUNDS + -(-len(addresses) // provider.push_chunk):
        return going.fail("strangers_in_segment")
    with going.writing() as unit:
        going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
        unit.ramps.log(going.ramp.id, "strangers_removed", wave_id=going.wave.id, people=len(addresses))
    done = provider.remove_contacts(
        going.wave.segment_id, tuple(sorted(addresses)[: provider.push_chunk]), limit_ms=PUSH_LIMIT_MS
    )
    if isinstance(done.ended_by, Refused):
        raise refused(provider, done.ended_by, None)
    return going.once_more(LAG_MS)


def members_of(provider: Provider, segment: str) -> tuple[Member, ...]:
    """Return everybody in a segment; raise `ProviderFailed` unless all of them were read."""
    listed: Listing[Member] = accepted(provider, provider.segment_members(segment, limit_ms=MEMBERS_LIMIT_MS))
    if not listed.complete:
        raise unreadable(provider, Ambiguous(reason="incomplete_list"))
    return listed.items


def identity_in(member: Member) -> str:
    """Return whose address a member has; an address that we would not take is compared as it is."""
    try:
        return address_of(member.address).identity
    except Unusable:
        return member.address.lower()


def accepted(provider: Provider, outcome: Outcome[T]) -> T:
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
