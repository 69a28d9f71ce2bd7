"""Waves that went and that the store has forgotten, since it was put back to an earlier day.

1. The provider lists all campaigns of this installation since the ramp began; one request, as for the wave's own.
2. What is more than a draft, is a wave's, and isn't known here was forgotten: of this ramp, of one that it leaves out,
   or of a ramp that isn't known at all.
3. Whoever is in such a segment was mailed. It is recorded as a wave that went by other means, and judged as one; a wave
   that has nothing at the provider yet is written off, so that the next one picks among the others.
"""

from dataclasses import dataclass

from campaignbridge.domain.errors import NotFound
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Ambiguous, Found, Refused, RemoteStatus
from campaignbridge.domain.ramp import Ramp
from campaignbridge.flows.handoff import SEARCH_SINCE_MS
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.wave_run import WaveRun
from campaignbridge.ports import Provider
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True)
class Went:
    """Campaigns of waves that are more than drafts at the provider."""

    own: tuple[Found, ...]  # of the wave that is looked for
    forgotten: tuple[tuple[str, Found], ...]  # each with the label that it is recorded with


def went_there(going: WaveRun, provider: Provider, *, since: int) -> Went:
    """Ask the provider for campaigns of this installation that went; tell the wave's own, and what was forgotten."""
    with going.wiring.store.reading() as unit:
        installation = unit.installation()
    assert installation is not None, "a store that is in use has its installation"
    outcome = provider.find_by_token(
        installation, since_ms=since - SEARCH_SINCE_MS, audience=going.container, limit_ms=READ_LIMIT_MS
    )
    if isinstance(outcome, Refused):
        raise refused(provider, outcome, None)
    if isinstance(outcome, Ambiguous) or not outcome.value.complete:
        raise unreadable(provider, Ambiguous(reason="incomplete_list"))
    went = [one for one in outcome.value.found if one.status is not RemoteStatus.DRAFT]
    own = f"{going.ramp.slug}.{going.wave.label}"
    with going.wiring.store.reading() as unit:
        forgotten = _forgotten(unit, going.ramp, [one for one in went if one.part != own])
    return Went(tuple(one for one in went if one.part == own), forgotten)


def _forgotten(unit: Unit, ramp: Ramp, went: list[Found]) -> tuple[tuple[str, Found], ...]:
    recorded = {wave.label for wave in unit.waves.of_ramp(ramp.id)}
    excluded = unit.ramps.excluded(ramp.id)
    found: dict[str, Found] = {}
    for one in went:
        slug, dot, label = one.part.partition(".")
        if not dot:  # a campaign of its own
            continue
        mine = label if slug == ramp.slug else f"{slug}-{label}"
        if mine not in recorded and (slug == ramp.slug or _is_unknown(unit, slug, label, excluded)):
            found[mine] = one
    return tuple(sorted(found.items()))


def _is_unknown(unit: Unit, slug: str, label: str, excluded: frozenset[str]) -> bool:
    """Say whether a wave of another ramp is unknown; what a ramp mailed that isn't left out doesn't matter here."""
    try:
        other = unit.ramps.get(slug)
    except NotFound:
        return True
    return other.id in excluded and all(wave.label != label for wave in unit.waves.of_ramp(other.id))


def segment_of(going: WaveRun, provider: Provider, found: Found) -> tuple[str, int | None]:
    """Return the segment to which a campaign went, empty where none of ours is told; and when it went."""
    seen = provider.inspect(found.remote_id, limit_ms=READ_LIMIT_MS)
    if isinstance(seen, Refused):
        raise refused(provider, seen, None)
    if isinstance(seen, Ambiguous):
        raise unreadable(provider, seen)
    audience = seen.value.audience
    list_ref, _, number = audience.rpartition(":")  # a whole list, and what somebody narrowed, is no segment
    is_segment = list_ref == going.container and (not list_ref or number.isdigit())
    return audience if is_segment else "", seen.value.send_time_ms
