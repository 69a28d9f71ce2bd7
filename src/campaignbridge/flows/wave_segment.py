"""A wave's segment: found by its name, or made; what went before this store remembers it is recorded first."""

from campaignbridge.domain.job import Done, JobOutcome
from campaignbridge.domain.ledger import DIAL_LIMIT_MS, MUTATION_LIMIT_MS, READ_LIMIT_MS
from campaignbridge.domain.provider import Ambiguous, Found, Refused
from campaignbridge.domain.ramp import Ramp, Step, Wave
from campaignbridge.flows.forgotten import segment_of, went_there
from campaignbridge.flows.handoff import best
from campaignbridge.flows.refusals import not_reached, unreadable
from campaignbridge.flows.wave_people import MARGIN_MS, accepted, identity_in, members_of
from campaignbridge.flows.wave_run import Halt, WaveRun
from campaignbridge.ports import Provider
from campaignbridge.store.unit import Unit


def make_segment(going: WaveRun) -> JobOutcome:
    """Find the segment by its name, or make it; the oldest of that name is ours, others are never used.

    A store that was restored may have forgotten that this wave went. So the provider is first asked for a campaign of
    it: whoever is in that one's segment was mailed.
    """
    provider = going.wiring.open_provider(going.connection())
    name = going.segment_name
    found = accepted(provider, provider.find_segment(name, audience=going.container, limit_ms=READ_LIMIT_MS))
    if not found.complete:
        raise unreadable(provider, Ambiguous(reason="incomplete_list"))
    born = [one.created_ms for one in found.items if one.created_ms is not None]
    since = min([going.wave.since, *born])
    went = went_there(going, provider, since=since)
    own = best(went.own)
    if own is not None:
        return _adopt_mailed(going, provider, own, since=since)
    if went.forgotten:
        return remember(going, provider, went.forgotten)
    if not _anybody(going):
        return going.fail("nobody_left")
    if found.items:
        return _adopt_found(going, provider, found.items[0].ref, since=since)
    line = provider.dial(limit_ms=DIAL_LIMIT_MS)
    if isinstance(line, Refused):
        raise not_reached(provider, line)
    try:
        with going.writing() as unit:
            going.require(unit, need_ms=MUTATION_LIMIT_MS + MARGIN_MS)
            if not unit.waves.ask(going.run):
                raise Halt
        made = provider.create_segment(line, name, audience=going.container, limit_ms=MUTATION_LIMIT_MS)
    finally:
        line.close()
    segment = accepted(provider, made)  # without an answer it is looked for by its name, after a while
    with going.writing() as unit:
        going.advance(unit, Step.SEGMENT_CREATED, segment_id=segment.ref)
    return going.go_on()


def remember(going: WaveRun, provider: Provider, forgotten: tuple[tuple[str, Found], ...]) -> JobOutcome:
    """Record waves that the store has forgotten, with whom they mailed; this one is written off, and picks later."""
    ramp, wave = going.ramp, going.wave
    mailed = []
    for label, found in forgotten:
        segment, sent_at = segment_of(going, provider, found)
        if not segment:
            return going.fail("forgotten_wave")
        members = members_of(provider, segment)
        mailed.append(
            (label, found, sent_at or found.created_ms, [identity_in(member) for member in members])
        )
    with going.writing() as unit:
        everybody = [one.contact_id for one in unit.assignments.members(wave.id)]
        unit.assignments.release(wave.id, everybody, code="reopened")
        for label, found, sent_at, identities in mailed:
            wave_id = going.wiring.new_id("wav")
            if not unit.waves.add_by_hand(
                wave_id,
                ramp_id=ramp.id,
                label=label,
                run_id=wave.run_id,
                broadcast_id=found.remote_id,
                sent_at=sent_at,
                people=len(identities),
            ):
                raise Halt
            unit.assignments.adopt(ramp, unit.waves.get(wave_id), identities)
            unit.ramps.log(ramp.id, "wave_remembered", wave_id=wave_id, label=label, members=len(identities))
            unit.events.add("ramp_wave_remembered", campaign_id=None, actor=None, ramp=ramp.slug, wave=label)
        if not unit.waves.discard(wave):
            raise Halt
        _rotate_past(unit, ramp, wave)
        unit.ramps.log(ramp.id, "wave_discarded", wave_id=wave.id, reason="forgotten_wave")
    return Done()


def _rotate_past(unit: Unit, ramp: Ramp, wave: Wave) -> None:
    """Give the waves that are to come labels that none of the ramp has had."""
    assert wave.tier is not None, "a wave that was claimed has its tier"
    labels = {one.label for one in unit.waves.of_ramp(ramp.id)}
    coming = range(wave.tier, len(ramp.plan.tiers))
    while labels & {unit.ramps.get(ramp.id).plan.label(tier) for tier in coming}:
        unit.ramps.rotate(ramp.id)


def _anybody(going: WaveRun) -> bool:
    """Say whether anybody is to be put into the segment: nothing is made for a wave of nobody."""
    with going.wiring.store.reading() as unit:
        counts = unit.assignments.counts(going.wave.id)
    return counts.get("assigned", 0) + counts.get("in_segment", 0) > 0


def _adopt_mailed(going: WaveRun, provider: Provider, own: Found, *, since: int) -> JobOutcome:
    """Take over the segment of this wave's campaign that went: whoever is in it was mailed, whatever was picked.

    Nobody else is the wave's; its campaign is found, and adopted as what it is, by the handoff.
    """
    segment, _ = segment_of(going, provider, own)
    if not segment:
        return going.fail("went_to_unknown")
    members = members_of(provider, segment)
    identities = [identity_in(member) for member in members]
    with going.writing() as unit:
        if not unit.waves.keep_segment(going.run, segment, since=since):
            raise Halt
        unit.assignments.adopt(going.ramp, going.wave, identities)
        there = set(identities)
        others = [
            one.contact_id for one in unit.assignments.members(going.wave.id) if one.identity not in there
        ]
        unit.assignments.release(going.wave.id, others, code="not_in_segment")
        going.advance(unit, Step.VERIFIED, verified=max(1, len(members)))
        _note_adopted(going, unit, len(members), went=True)
    return going.go_on()


def _adopt_found(going: WaveRun, provider: Provider, segment: str, *, since: int) -> JobOutcome:
    """Take over a segment of the wave's name that is there already; whoever is in it must have been picked for it.

    Others were put there by somebody, or by an older wave of this name: a person decides before any of it goes on.
    """
    there = {identity_in(member) for member in members_of(provider, segment)}
    with going.writing() as unit:
        if not unit.waves.keep_segment(going.run, segment, since=since):
            raise Halt
        strangers = there - {one.identity for one in unit.assignments.members(going.wave.id)}
        going.advance(unit, Step.SEGMENT_CREATED)
        _note_adopted(going, unit, len(there), went=False, strangers=len(strangers))
    return going.fail("strangers_in_segment") if strangers else going.go_on()


def _note_adopted(going: WaveRun, unit: Unit, members: int, *, went: bool, strangers: int = 0) -> None:
    facts = {"members": members, "went": went, "strangers": strangers}
    unit.ramps.log(going.ramp.id, "segment_adopted", wave_id=going.wave.id, actor=None, **facts)
