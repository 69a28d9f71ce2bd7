"""Test sends: a draft is mailed to a few given addresses, so that people can look at it.

It is checked like a send up to the unresolved check, and counted: 1 to 5 addresses, of allowed domains, and 10
tests of a campaign in 24 hours. A test is an attempt for quota and replay only: it opens nothing, an ambiguous
answer is final, and nobody watches it. Addresses are never stored or logged.
"""

from dataclasses import dataclass
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.content import Snapshot, require_address
from campaignbridge.domain.errors import Forbidden, InvalidInput, LeaseLost, Refusal
from campaignbridge.domain.ledger import (
    DIAL_LIMIT_MS,
    FIRST_BYTE_MS,
    LEASE_MARGIN_MS,
    MUTATION_LIMIT_MS,
    Attempt,
    Operation,
    Status,
    request_hash,
    require_key,
)
from campaignbridge.domain.provider import Accepted, Ambiguous, Outcome, Refused
from campaignbridge.flows.guard import assert_draft, read, require_draft, require_nothing_landing
from campaignbridge.flows.handoff import require_frozen
from campaignbridge.flows.holding import Held, Work, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import too_late
from campaignbridge.flows.outcome import insist
from campaignbridge.flows.refusals import barred, lease_lost, not_reached, refused
from campaignbridge.flows.replay import answer_replay
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

MOST_ADDRESSES = 5
MOST_A_DAY = 10
DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of a test. `confirmed` is False when the provider gave no usable answer: look in your inbox."""

    attempt_id: str
    confirmed: bool
    replay: bool = False


def send_test(
    wiring: Wiring, campaign_id: str, *, actor: Actor, key: str, addresses: tuple[str, ...]
) -> Tested:
    """Mail the campaign's draft to a few addresses."""
    actor.require("test")
    require_key(key)
    _require_addresses(wiring, addresses)
    asked = request_hash("test", campaign_id, *sorted(addresses))

    def also(unit: Unit, dossier: Dossier) -> tuple[Snapshot, Attempt | None, int]:
        return (
            unit.campaigns.snapshot(dossier.campaign),
            unit.ledger.replay(campaign_id, Operation.TEST, key),
            unit.ledger.tests_lately(campaign_id, within_ms=DAY_MS),
        )

    with working_on(wiring, campaign_id, "test", actor=actor.name, also=also) as work:
        try:
            return _test(work, actor.name, key, asked, addresses)
        except Refusal as refusal:
            if "attempt" not in refusal.facts:
                note_refusal(wiring, work.dossier, "test", actor, refusal)
            raise


def _test(
    work: Work[tuple[Snapshot, Attempt | None, int]],
    actor: str,
    key: str,
    asked: str,
    addresses: tuple[str, ...],
) -> Tested:
    dossier, (snapshot, earlier, lately) = work.dossier, work.also
    if earlier is not None and earlier.unresolved and earlier.request_hash == asked:
        return Tested(earlier.id, confirmed=False, replay=True)
    replayed = answer_replay(earlier, asked)
    if replayed is not None:
        return Tested(replayed.id, confirmed=True, replay=True)
    dossier.campaign.require_settled()
    dossier.campaign.require_state(State.PROVIDER_DRAFT, doing="be tested")
    require_frozen(dossier, snapshot)
    if lately >= MOST_A_DAY:
        raise Refusal(
            f"{MOST_A_DAY} tests of a campaign in 24 hours are enough; nothing was sent.",
            code="rate_limited",
            todo="Try again tomorrow.",
            retry_after=3_600,
        )
    provider = work.held.wiring.open_provider(dossier.connection)
    require_nothing_landing(dossier)
    require_draft(read(provider, dossier), dossier)
    assert_draft(provider, dossier, snapshot, work.held)
    attempt = _attempt_of(work.held, dossier, actor, key, asked)
    outcome = _call(work.held, provider, attempt, addresses)
    recorded = _record(work.held, attempt, outcome)
    if isinstance(outcome, Refused):
        raise refused(provider, outcome, attempt)
    return Tested(attempt.id, confirmed=recorded and isinstance(outcome, Accepted))


def _require_addresses(wiring: Wiring, addresses: tuple[str, ...]) -> None:
    if not 1 <= len(set(addresses)) <= MOST_ADDRESSES:
        raise InvalidInput(
            f"A test goes to 1 to {MOST_ADDRESSES} addresses.", todo="Give them with --to, once for each."
        )
    for address in addresses:
        require_address(address, field="test address")
        domain = address.rpartition("@")[2].lower()
        if wiring.test_domains and domain not in wiring.test_domains:
            raise Forbidden(
                "A test may go to allowed domains only, and one of the addresses is in another.",
                todo="Use an address of your own company, or have the domain allowed.",
            )


def _attempt_of(held: Held, dossier: Dossier, actor: str, key: str, asked: str) -> Attempt:
    campaign, remote = dossier.campaign, dossier.remote
    return Attempt(
        id=held.wiring.new_id("att"),
        campaign_id=campaign.id,
        operation=Operation.TEST,
        key=key,
        request_hash=asked,
        status=Status.PENDING,
        retryable=False,
        account=campaign.account,
        generation=campaign.generation,
        remote_id=remote.remote_id if remote else None,
        from_state=campaign.state,
        deadline_at=0,
        actor=actor,
        created_at=0,
        answered_at=None,
        settled_at=None,
        error_code=None,
    )


def _call(held: Held, provider: Provider, attempt: Attempt, addresses: tuple[str, ...]) -> Outcome[None]:
    """Make the request once: connection first, then the lease, then the attempt, then the call."""
    assert attempt.remote_id is not None
    line = provider.dial(limit_ms=DIAL_LIMIT_MS)
    if isinstance(line, Refused):
        raise not_reached(provider, line)
    try:
        held.require(MUTATION_LIMIT_MS + LEASE_MARGIN_MS)
        checked = held.wiring.clock.mark()
        with held.wiring.store.unit() as unit:
            if not unit.locks.hold(held.lease, need_ms=MUTATION_LIMIT_MS + LEASE_MARGIN_MS, acts=True):
                raise barred(unit)
            if unit.ledger.insert(attempt, deadline_ms=FIRST_BYTE_MS + MUTATION_LIMIT_MS) is None:
                raise LeaseLost("Somebody used this key just now.", todo="Use a new key.", retry_after=1)
        if too_late(held, checked):
            with held.wiring.store.unit() as unit:
                unit.ledger.settle(
                    attempt.id, Status.FAILED, answered=False, error_code="not_called", retryable=True
                )
            raise lease_lost(attempt)
        return provider.send_test(line, attempt.remote_id, addresses, limit_ms=MUTATION_LIMIT_MS)
    finally:
        line.close()


def _record(held: Held, attempt: Attempt, outcome: Outcome[None]) -> bool:
    """Write down what came of a test; an ambiguous answer is final. False when the store was gone too long."""
    code: str | None = None
    match outcome:
        case Accepted():
            status, event = Status.SUCCEEDED, "test_accepted"
        case Refused():
            status, event, code = Status.FAILED, "test_refused", outcome.code
        case Ambiguous():
            status, event, code = Status.UNKNOWN, "test_unconfirmed", outcome.reason
        case _:
            assert_never(outcome)

    def write(unit: Unit) -> None:
        unit.ledger.settle(attempt.id, status, answered=True, error_code=code)
        unit.events.add(
            event, campaign_id=attempt.campaign_id, actor=attempt.actor, attempt_id=attempt.id, code=code
        )

    return insist(held.wiring, write)
