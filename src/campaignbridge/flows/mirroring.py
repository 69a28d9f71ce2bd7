"""Mirroring: who left, complained or bounced for good after a wave is suppressed here, too.

A job for each wave that went, queued at each tick for two weeks. It only reads at the provider, and suppressing
somebody twice changes nothing, so it may run again at any time. Where the record of people is at hand, that is read;
elsewhere the segment's member list tells who left or was given up, and the record only who complained.
"""

from collections.abc import Iterable
from contextlib import suppress

from campaignbridge.domain.audience import Suppressed, Unusable, address_of
from campaignbridge.domain.errors import NotFound, Refusal
from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome, Request
from campaignbridge.domain.provider import Accepted, Category, RecipientKind, Refused
from campaignbridge.domain.ramp import Wave
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.stepping import wave_of
from campaignbridge.flows.suppressing import take_off
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.unit import Unit

MIRROR = "mirror_wave"
DAYS_MS = 14 * 24 * 3_600_000
SOON_MS = 60_000
MOST = 10_000  # people of one kind; far beyond what a gate lets pass
LIMIT_MS = 30_000  # of one listing
MISS_MS, MOST_MISSES = 600_000, 6
KINDS = (
    (RecipientKind.COMPLAINED, Suppressed.COMPLAINT),
    (RecipientKind.BOUNCED, Suppressed.BOUNCE),
    (RecipientKind.UNSUBSCRIBED, Suppressed.UNSUBSCRIBE),
)

Found = dict[Suppressed, list[str]]


def mirror_handler(wiring: Wiring) -> Handler:
    """Return the handler of `mirror_wave` jobs."""
    return Handler(type=MIRROR, run=lambda job: mirror(wiring, job), retry_safe=True)


def queue_mirrors(wiring: Wiring, unit: Unit, waves: list[Wave]) -> None:
    """Have the people of every wave mirrored that went lately; one unfinished job for each."""
    for wave in waves:
        if wave.sent_at is not None and wave.now - wave.sent_at < DAYS_MS:
            unit.jobs.enqueue(wiring.new_id("job"), Request(type=MIRROR, target=f"wave:{wave.id}"))


def queue_mirror(wiring: Wiring, unit: Unit, wave_id: str, *, sent_at: int | None, now: int) -> None:
    """Have one wave's people mirrored within a minute, because somebody said that somebody left; never more often."""
    if sent_at is not None and now - sent_at < DAYS_MS:
        request = Request(type=MIRROR, target=f"wave:{wave_id}")
        unit.jobs.enqueue(wiring.new_id("job"), request, delay_ms=SOON_MS)


def mirror(wiring: Wiring, job: Job) -> JobOutcome:
    """Suppress whoever left, complained or bounced for good; a provider that doesn't answer is asked again later."""
    try:
        with wiring.store.reading() as unit:
            wave = unit.waves.get(wave_of(job.target))
            connection = unit.accounts.find(unit.ramps.get(wave.ramp_id).connection_id)
            remote_id = remote_id_of(unit, wave)
        assert connection is not None, "a ramp has its connection"
        found = _read(open_reader(wiring, connection), remote_id, wave.segment_id)
    except NotFound:
        return Done()
    except Refusal:  # say for want of its key
        found = None
    misses = int(job.payload.get("misses") or 0)
    if found is None:
        return Again(after_ms=MISS_MS, payload={"misses": misses + 1}) if misses < MOST_MISSES else Done()
    for reason, people in found.items():
        # A transaction for each reason: so those who suppress at the same time can't deadlock.
        with wiring.store.unit() as unit:
            fresh = take_off(unit, dict.fromkeys(people, reason), source="provider")
            if fresh:
                unit.ramps.log(
                    wave.ramp_id, "suppressions_mirrored", wave_id=wave.id, reason=reason.value, people=fresh
                )
    return Done()


def remote_id_of(unit: Unit, wave: Wave) -> str | None:
    """Return the provider's object that went for a wave."""
    if wave.broadcast_id is not None or wave.campaign_id is None:
        return wave.broadcast_id
    remote = unit.campaigns.get(wave.campaign_id).remote
    return remote.remote_id if remote else None


def _read(reader: Reader, remote_id: str | None, segment: str | None) -> Found | None:
    """Return who is to be suppressed, by reason; None when the provider gave no usable answer."""
    if "recipients" in reader.capabilities:
        return {} if remote_id is None else _of_record(reader, remote_id)
    return {} if segment is None else _of_members(reader, remote_id, segment)


def _of_members(reader: Reader, remote_id: str | None, segment: str) -> Found | None:
    members = reader.segment_members(segment, limit_ms=LIMIT_MS)
    if not isinstance(members, Accepted):
        return None
    found: Found = {
        Suppressed.UNSUBSCRIBE: _identities(one.address for one in members.value.items if one.left),
        Suppressed.BOUNCE: _identities(one.address for one in members.value.items if one.given_up),
    }
    if remote_id is not None:
        complained = reader.recipients(remote_id, RecipientKind.COMPLAINED, most=MOST, limit_ms=LIMIT_MS)
        if isinstance(complained, Accepted):
            found[Suppressed.COMPLAINT] = _identities(one.address for one in complained.value.items)
        elif not (isinstance(complained, Refused) and complained.category is Category.MISSING):
            return None  # and not where there is no record yet
    return found


def _of_record(reader: Reader, remote_id: str) -> Found | None:
    found: Found = {}
    for kind, reason in KINDS:
        listed = reader.recipients(remote_id, kind, most=MOST, limit_ms=LIMIT_MS)
        if not isinstance(listed, Accepted):
            return None
        # A bounce that may pass is no reason to leave somebody out for ever.
        people = (one for one in listed.value.items if kind is not RecipientKind.BOUNCED or one.permanent)
        found[reason] = _identities(one.address for one in people)
    return found


def _identities(addresses: Iterable[str]) -> list[str]:
    found = []
    for address in addresses:
        with suppress(Unusable):
            found.append(address_of(address).identity)
    return found
