"""What signed events say of people: who is never mailed again, and what a wave's mails came to.

1. Both are done in the transaction that stores the event, while its address is at hand; the address itself goes
   nowhere but into the list of the suppressed, which holds such people anyway.
2. A suppression is made with the first delivery of an event only: one that comes again, when an operator has lifted
   it meanwhile, changes nothing.
3. A fate is one row for each person of a wave, under the installation's keyed hash, and only ever rises. So it may
   be stored as often as the event comes, and in any order.
4. What names a campaign that nobody knows yet waits as an event, with the hash and without the address; its fate is
   stored when the campaign is known, in the transaction that settles the event.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from campaignbridge.domain.audience import Suppressed, Unusable, address_of, person_hash
from campaignbridge.domain.webhook import EventKind, Fate, Heard, fate_of, suppresses
from campaignbridge.flows.mirroring import queue_mirror
from campaignbridge.flows.suppressing import take_off
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.fates import OfWave
from campaignbridge.store.unit import Unit
from campaignbridge.store.webhooks import Endpoint, StoredEvent

SOURCE = "webhook"
Waves = Mapping[tuple[str, str], list[OfWave]]  # by connection and remote id


@dataclass(frozen=True, slots=True)
class Taken:
    """One event that is to be stored, and whom it names: in clear only here, for as long as the request lasts."""

    event: StoredEvent
    person: str = ""  # a keyed hash; empty where the event names nobody
    identity: str | None = field(default=None, repr=False)

    @property
    def fate(self) -> Fate | None:
        """What it says that the person's mail came to, if the provider signed it."""
        said = self.event.verified and self.person and self.event.remote_id
        return fate_of(self.event.kind, self.event.status) if said else None


def taken_of(endpoint: Endpoint, secret: str, heard: Heard, key: bytes) -> Taken:
    """Return what is kept of an event. Whoever isn't signed for is hashed under the secret, which the store lacks."""
    verified = endpoint.signing is not None
    identity = _identity(heard.address) if verified else None
    hashed = hmac.new(secret.encode(), heard.address.lower().encode(), hashlib.sha256).hexdigest()
    person = hashed if identity is None else person_hash(key, identity).hex()
    event = StoredEvent(
        connection_id=endpoint.connection.id,
        kind=heard.kind.value,
        audience=heard.audience,
        subject=heard.remote_id if heard.kind is EventKind.CAMPAIGN else person,
        fired_at=heard.fired_at,
        remote_id=heard.remote_id or None,
        status=heard.status,
        verified=verified,
    )
    return Taken(event, person if heard.address else "", identity)


def _identity(address: str) -> str | None:
    try:
        return address_of(address).identity if address else None
    except Unusable:  # nobody here has such an address; it still counts as one person
        return None


def waves_of(unit: Unit, taken: Iterable[Taken]) -> Waves:
    """Return the waves that signed events about people name: one statement for each connection."""
    named: dict[str, set[str]] = {}
    for one in taken:
        if one.fate is not None and one.event.remote_id:
            named.setdefault(one.event.connection_id, set()).add(one.event.remote_id)
    return {
        (connection_id, remote_id): waves
        for connection_id in sorted(named)
        for remote_id, waves in unit.fates.waves(connection_id, named[connection_id]).items()
    }


def outcome_of(one: Taken, waves: Waves) -> str | None:
    """Return how an event is settled as it is stored; None for one that waits for the job."""
    event = one.event
    if event.kind == EventKind.CAMPAIGN or not event.verified:
        return None
    if one.fate is not None and (event.connection_id, event.remote_id) not in waves:
        return None  # nobody's wave, yet: it may become known
    return "suppressed" if one.identity is not None else "noted"


def count(unit: Unit, taken: Iterable[Taken], waves: Waves) -> None:
    """Store the fates that signed events tell of."""
    fates: dict[tuple[str, str], Fate] = {}
    for one in taken:
        fate = one.fate
        if fate is None or one.event.remote_id is None:
            continue
        for wave in waves.get((one.event.connection_id, one.event.remote_id), []):
            _rise(fates, wave, one.event, one.person, fate)
    unit.fates.add(fates)


def _rise(
    fates: dict[tuple[str, str], Fate], wave: OfWave, event: StoredEvent, person: str, fate: Fate
) -> None:
    if event.audience and event.audience != wave.list.partition(":")[0]:
        return  # of another list: it can't trip this wave's gate
    key = wave.wave_id, person
    fates[key] = max(fate, fates.get(key, fate))


def suppress(unit: Unit, taken: Iterable[Taken]) -> None:
    """Take whom fresh signed events name off every mailing to come; the strongest reason stays."""
    reasons: dict[str, Suppressed] = {}
    for one in taken:
        reason = suppresses(one.event.kind, one.event.status)
        if reason is None or one.identity is None or not one.event.verified:
            continue
        before = reasons.get(one.identity)
        if before is None or reason.rank > before.rank:
            reasons[one.identity] = reason
    take_off(unit, reasons, source=SOURCE)


def look_at_person(wiring: Wiring, unit: Unit, event: StoredEvent, *, keep_ms: int) -> None:
    """Settle a stored event about a person, or have it wait for its campaign."""
    remote_id = event.remote_id or ""
    waves = unit.fates.waves(event.connection_id, {remote_id} if remote_id else set())
    if not event.verified:
        # Whoever knows the address may have the provider's own record read, and no more than that.
        for wave in waves.get(remote_id, []):
            queue_mirror(wiring, unit, wave.wave_id, sent_at=wave.sent_at, now=wave.now)
        unit.webhooks.settle(event, "noted")
        return
    if remote_id in waves:
        found = {(event.connection_id, remote_id): waves[remote_id]}
        count(unit, [Taken(event, event.subject)], found)
        unit.webhooks.settle(event, "counted")
    elif unit.webhooks.match(event) is not None:
        unit.webhooks.settle(event, "suppressed")  # of a campaign that is no wave's, or of another account
    elif not unit.webhooks.park(event, keep_ms=keep_ms):
        unit.webhooks.settle(event, "unmatched")
