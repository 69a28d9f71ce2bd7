"""Webhooks in: what a provider posts is stored first, looked at later, and never leads to a delivery.

Receiving, while the provider waits for its answer:
1. The address names a connection and a secret. The secret's hash is compared in constant time, also where there
   is no such connection; whatever doesn't fit leaves no row and gets the same answer.
2. Where the provider signs, the raw body's signature and its age are checked.
3. The body is read. What is of no use to us isn't kept. An address is kept as a hash only.
4. One transaction stores what came in at the same time, but for what is known by its natural key, and queues the
   job. What signed events say of people is done in it, too: see `webhook_people`. Only when it is committed is the
   provider told that we have it; it repeats what it has no such answer for.

Later, in a job that can be run again at any time, each event in a transaction of its own:
5. The remote id is matched to a campaign of the same account. An unknown one is parked, a foreign one ignored.
6. The campaign's watch is woken, at most once a minute. It reads at the provider, and judges what it reads by the
   same rules as ever: no event settles anything, and none leads to a delivery.

A verified event does more. That something was sent rules out "not applied": a draft that is read after
it is a contradiction, for a person, and can't be sent again. It starts a stopped watch, suppresses whom it names, and
adds to a wave's figures. An unsigned one proves no more than that somebody knows the address.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from campaignbridge.domain.cadence import after_event
from campaignbridge.domain.campaign import TERMINAL
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.job import Again, Done, Handler, Job, JobOutcome, Request
from campaignbridge.domain.webhook import EventKind, Unheard
from campaignbridge.flows.webhook_people import (
    Taken,
    count,
    look_at_person,
    outcome_of,
    suppress,
    taken_of,
    waves_of,
)
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit
from campaignbridge.store.vault import SIGNING_KEY, Vault
from campaignbridge.store.webhooks import Endpoint, Match, StoredEvent

MOST_WAITING = 5_000  # of one connection, not looked at yet: more are refused, and the provider repeats them
MOST_PARKED = 1_000  # of one connection, waiting for their campaign: the oldest are given up
MOST_SETTLED = 20_000  # of one connection, kept to know a repeated one by
KEEP_PARKED_MS = 7 * 24 * 3_600_000
KEEP_SETTLED_MS = 7 * 24 * 3_600_000
BATCH = 50
PURGE_CHUNK = 500
SHORTLY_MS = 15_000  # the campaign is being worked on
_ID = re.compile(r"[a-z0-9_]{1,64}")
_NOBODYS = hashlib.sha256(b"").hexdigest()
_OF_THE_CONNECTION = frozenset({"credential_refused", "other_account"})  # why a watch stopped
_WENT = frozenset({"sent", "delivered", "soft"})  # of a campaign, or of one of its mails
_TERMINAL = frozenset(state.value for state in TERMINAL)


@dataclass(frozen=True, slots=True)
class Posted:
    """One request as it came in. Header names are lower-case; the body is raw."""

    connection_id: str
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Reception(StrEnum):
    """What became of a request."""

    STORED = "stored"
    KNOWN = "known"  # it is stored already
    OF_NO_USE = "of_no_use"  # right, and nothing that we keep
    UNREADABLE = "unreadable"  # on the right address, and no event
    UNKNOWN = "unknown"  # no such address, or not signed as it must be
    NO_KEY = "no_key"  # what it is signed with can't be opened by this process: nothing is stored
    FULL = "full"  # too many wait: nothing is stored


def hash_of(secret: str) -> str:
    """Return what is stored of an address's secret; it has 200 bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def receive(wiring: Wiring, vault: Vault, posted: Sequence[Posted]) -> list[Reception]:
    """Store what was posted, all of it in one transaction; return what became of each, in order.

    Raises `StoreGone`: then nothing of it may be stored.
    """
    with wiring.store.reading() as unit:
        known = sorted({one.connection_id for one in posted if _ID.fullmatch(one.connection_id)})
        endpoints = {one: unit.webhooks.endpoint(one) for one in known}
        key = unit.audiences.key()
    judged = [_judge(wiring, vault, one, endpoints.get(one.connection_id), key) for one in posted]
    taken = {number: one for number, one in enumerate(judged) if isinstance(one, Taken)}
    stored = _keep(wiring, taken) if taken else {}
    return [stored[number] if isinstance(one, Taken) else one for number, one in enumerate(judged)]


def _judge(
    wiring: Wiring, vault: Vault, posted: Posted, endpoint: Endpoint | None, key: bytes
) -> Taken | Reception:
    """Return what is to be stored of a request, or why nothing is."""
    expected = _NOBODYS if endpoint is None else endpoint.secret_hash
    fits = hmac.compare_digest(hash_of(posted.secret), expected)
    reader = None if endpoint is None else wiring.webhook_reader(endpoint.connection.provider)
    if not fits or endpoint is None or reader is None:
        return Reception.UNKNOWN
    if endpoint.signing is not None:
        try:
            signing = vault.open_box(endpoint.signing, endpoint.connection, use=SIGNING_KEY)
        except InvalidInput:
            return Reception.NO_KEY
        if not reader.is_authentic(posted.headers, posted.body, signing, endpoint.now):
            return Reception.UNKNOWN
    heard = reader.parse_webhook(posted.headers, posted.body)
    if isinstance(heard, Unheard):
        return Reception.OF_NO_USE if heard is Unheard.OF_NO_USE else Reception.UNREADABLE
    return taken_of(endpoint, posted.secret, heard, key)


def _keep(wiring: Wiring, taken: Mapping[int, Taken]) -> dict[int, Reception]:
    """Store events by their number, do what they say of people, and queue the jobs.

    Sorted by key, so that two of these can't deadlock.
    """
    found: dict[int, Reception] = {}
    there: set[object] = set()  # natural keys that are stored: a wave's deliveries of one minute share one
    with wiring.store.unit() as unit:
        for connection_id in sorted({one.event.connection_id for one in taken.values()}):
            unit.webhooks.heard(connection_id)
        waves = waves_of(unit, taken.values())
        for number, one in sorted(taken.items(), key=lambda item: item[1].event.order):
            if one.event.order in there:
                found[number] = Reception.KNOWN
            elif unit.webhooks.keep(one.event, most=MOST_WAITING, outcome=outcome_of(one, waves)):
                found[number] = Reception.STORED
            else:
                found[number] = Reception.KNOWN if unit.webhooks.is_known(one.event) else Reception.FULL
            if found[number] is not Reception.FULL:
                there.add(one.event.order)
        fresh = [one for number, one in taken.items() if found[number] is Reception.STORED]
        count(unit, [one for number, one in taken.items() if found[number] is not Reception.FULL], waves)
        suppress(unit, fresh)
        for connection_id in sorted({one.event.connection_id for one in fresh}):
            unit.jobs.enqueue(wiring.new_id("job"), webhooks_request(connection_id))
    return found


def webhooks_request(connection_id: str) -> Request:
    """Return the job that looks at the events of one connection; one unfinished at a time."""
    return Request(type="process_webhooks", target=f"connection:{connection_id}", max_attempts=50)


def webhooks_handler(wiring: Wiring) -> Handler:
    """Return the handler of `process_webhooks` jobs."""
    return Handler(type="process_webhooks", run=lambda job: process(wiring, job), retry_safe=True)


def process(wiring: Wiring, job: Job) -> JobOutcome:
    """Look at a batch of events that are due; return when there is something to do again."""
    connection_id = job.target.partition(":")[2]
    with wiring.store.reading() as unit:
        events = unit.webhooks.due(connection_id, most=BATCH)
    for event in events:
        with wiring.store.unit() as unit:
            _look_at(wiring, unit, event)
    with wiring.store.unit() as unit:
        unit.webhooks.overflow(connection_id, most=MOST_PARKED, chunk=PURGE_CHUNK)
        unit.webhooks.purge(connection_id, keep_ms=KEEP_SETTLED_MS, chunk=PURGE_CHUNK)
        unit.webhooks.trim(connection_id, most=MOST_SETTLED, chunk=PURGE_CHUNK)
        next_at = unit.webhooks.next_at(connection_id, keep_ms=KEEP_SETTLED_MS)
    return Done() if next_at is None else Again(at=next_at)


def _look_at(wiring: Wiring, unit: Unit, event: StoredEvent) -> None:
    if event.kind != EventKind.CAMPAIGN:
        look_at_person(wiring, unit, event, keep_ms=KEEP_PARKED_MS)
        return
    match = unit.webhooks.match(event)
    if match is None:
        if not unit.webhooks.park(event, keep_ms=KEEP_PARKED_MS):
            unit.webhooks.settle(event, "unmatched")
        return
    outcome = _without_waking(event, match)
    if event.verified and event.status in _WENT and outcome != "foreign":
        unit.webhooks.vouch(match)
    if outcome is not None:
        unit.webhooks.settle(event, outcome)
    elif match.busy:
        unit.webhooks.defer(event, delay_ms=SHORTLY_MS)
    else:
        _wake(wiring, unit, event, match)


def _without_waking(event: StoredEvent, match: Match) -> str | None:
    """Return why an event wakes nothing, ever; None when it may."""
    elsewhere = bool(event.audience) and match.audience.partition(":")[0] != event.audience
    if not match.ours or (match.present and elsewhere):
        return "foreign"
    if not match.present:
        return "superseded"  # of a draft that has been replaced since
    if match.state in _TERMINAL:
        return "finished"
    if match.stopped_reason is not None and (
        not event.verified or match.stopped_reason in _OF_THE_CONNECTION
    ):
        return "stopped"
    return None


def _wake(wiring: Wiring, unit: Unit, event: StoredEvent, match: Match) -> None:
    slot = after_event(woken_at=match.woken_at, now_ms=match.now)
    if match.look_at is not None and match.look_at <= slot:
        unit.webhooks.settle(event, "soon")  # the look that is to come anyway begins after the event
        wiring.wake_watch(unit, match.campaign_id, in_ms=match.look_at - match.now)
        return
    if not unit.webhooks.wake(match, slot=slot, verified=event.verified):
        unit.webhooks.defer(event, delay_ms=SHORTLY_MS)  # somebody was faster
        return
    unit.webhooks.settle(event, "woke")
    wiring.wake_watch(unit, match.campaign_id, in_ms=slot - match.now)
    unit.events.add(
        "webhook_heard",
        campaign_id=match.campaign_id,
        actor=None,
        provider_says=event.status,
        verified=event.verified,
        restarted=match.stopped_reason is not None,
    )
