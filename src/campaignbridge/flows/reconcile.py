"""Reconcile: settle an unconfirmed request, or follow the provider's record. It only ever reads there.

1. Hold the campaign's lock. A pending attempt inside its settle window is left alone, nobody is contacted;
   the first look after the window turns it into unknown.
2. Read once: the remote campaign, or a search for its token while no remote id is known.
3. Judge the reading by `domain.evidence`.
4. Write the finding in one transaction: only while the lock is still ours, only if nobody changed the
   campaign since step 1. Zero rows roll back whole.

An operator and the background run the same code. The background has no actor, and its events are automatic.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import TERMINAL, State
from campaignbridge.domain.errors import InProgress, InvalidState
from campaignbridge.domain.evidence import Finding, Gone, NotApplied, Reading, Searched, Seen, judge, vetoed
from campaignbridge.domain.ledger import READ_LIMIT_MS, Operation, Status
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Observation, Refused
from campaignbridge.flows.finding import Writer, case_of, write_finding
from campaignbridge.flows.guard import is_account_of
from campaignbridge.flows.handoff import SEARCH_SINCE_MS, present
from campaignbridge.flows.holding import Held, nothing_else, working_on
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.refusals import lease_lost
from campaignbridge.flows.retiring import names_somebody
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.campaigns import Dossier


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a look brought. `news` is a stable word: settled, followed, same, waiting, stopped, no_reading."""

    news: str
    state: State
    reason: str | None = None  # why checks stopped, or why there was no reading
    look_at: int | None = None
    retry_after: int | None = None


def reconcile(wiring: Wiring, campaign_id: str, *, actor: Actor) -> Reconciled:
    """Look at the provider now, for a person. Starts a watch that had stopped."""
    actor.require("operate")
    return look(wiring, campaign_id, actor=actor.name)


def look(wiring: Wiring, campaign_id: str, *, actor: str | None) -> Reconciled:
    """Look at the provider once. Without an actor it is the background's look."""
    with working_on(wiring, campaign_id, "reconcile", actor=actor, also=nothing_else) as work:
        held, dossier = work.held, work.dossier
        if dossier.campaign.state in TERMINAL:
            raise _finished(dossier)
        if actor is None and dossier.campaign.stopped_reason is not None:
            return _report(dossier, "stopped", reason=dossier.campaign.stopped_reason)
        if _inside_window(dossier):
            return _too_early(dossier, actor)
        if dossier.attempt is not None and dossier.attempt.status is Status.PENDING:
            dossier = _turn_unknown(held, dossier, actor)
        provider = open_reader(wiring, dossier.connection)
        reading = take_reading(provider, dossier)
        if isinstance(reading, Gone) or (isinstance(reading, Searched) and not reading.found):
            same = is_account_of(provider, dossier)
            if same is False:
                return _stopped(held, dossier, "other_account")
            if same is not True:
                reading = same
        if isinstance(reading, Refused | Ambiguous):
            return _no_reading(held, dossier, reading)
        finding = judge(case_of(dossier), reading, began_at=dossier.now)
        if isinstance(finding, NotApplied):
            finding = _or_vetoed(wiring, provider, dossier, finding)
        retires = "retire" in provider.capabilities
        return _write(held, dossier, finding, reading, actor, retires=retires)


def _finished(dossier: Dossier) -> InvalidState:
    return InvalidState(
        f"{dossier.campaign.id} is {dossier.campaign.state.value}: there is nothing left to settle.",
        todo=f"campaigns timeline {dossier.campaign.id} tells how it went.",
    )


def _inside_window(dossier: Dossier) -> bool:
    attempt = dossier.attempt
    return attempt is not None and attempt.status is Status.PENDING and dossier.now < attempt.window_end


def _too_early(dossier: Dossier, actor: str | None) -> Reconciled:
    attempt = dossier.attempt
    assert attempt is not None
    retry_after = -(-(attempt.window_end - dossier.now) // 1000)
    if actor is None:
        return Reconciled("waiting", dossier.campaign.state, "in_progress", attempt.window_end, retry_after)
    raise InProgress(
        "The request may still be under way; until then a reading would prove nothing.",
        todo="Nothing has to be done: it is looked at by itself.",
        retry_after=retry_after,
        attempt={"id": attempt.id, "operation": attempt.operation.value, "status": attempt.status.value},
    )


def _turn_unknown(held: Held, dossier: Dossier, actor: str | None) -> Dossier:
    """Say of a request whose process died that its outcome is unknown."""
    attempt = dossier.attempt
    assert attempt is not None
    state = dossier.campaign.state if attempt.operation is Operation.CREATE else State.UNKNOWN
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        if not unit.ledger.settle(attempt.id, Status.UNKNOWN, answered=False, error_code="no_answer"):
            raise lease_lost()
        if not unit.campaigns.doubt(dossier.campaign.id, attempt.id, state, look_in_ms=0):
            raise lease_lost()
        unit.events.add(
            f"{attempt.operation.value}_unconfirmed",
            campaign_id=dossier.campaign.id,
            actor=actor,
            attempt_id=attempt.id,
            reason="no_answer",
        )
        return unit.campaigns.get(dossier.campaign.id)


def take_reading(provider: Reader, dossier: Dossier) -> Reading | Refused | Ambiguous:
    """Ask the provider once: for the remote campaign, or for whatever carries its token."""
    campaign, remote = dossier.campaign, dossier.remote
    remote_id = remote.remote_id if remote else None
    if remote_id is not None:
        outcome = provider.inspect(remote_id, limit_ms=READ_LIMIT_MS)
        match outcome:
            case Accepted(value):
                return Seen(_with_known_count(value, dossier))
            case Refused(category=Category.MISSING):
                return Gone()
            case Refused() | Ambiguous():
                return outcome
            case _:
                assert_never(outcome)
    if dossier.attempt is None:
        raise InvalidState(
            "Nothing of this campaign stands at the provider, so there is nothing to read.",
            todo=f"campaigns show {campaign.id} says what may be done now.",
        )
    found = provider.find_by_token(
        dossier.stem,
        since_ms=dossier.since - SEARCH_SINCE_MS,
        audience=campaign.audience,
        limit_ms=READ_LIMIT_MS,
    )
    match found:
        case Accepted(result):
            return Searched(present(result.found, dossier), result.complete)
        case Refused() | Ambiguous():
            return found
        case _:
            assert_never(found)


def _with_known_count(seen: Observation, dossier: Dossier) -> Observation:
    """Complete a reading that tells no number with the one that was counted: "sent to nobody" must be seen."""
    known = dossier.remote.recipient_count if dossier.remote else None
    return replace(seen, recipient_count=known) if seen.recipient_count is None else seen


def _no_reading(held: Held, dossier: Dossier, outcome: Refused | Ambiguous) -> Reconciled:
    """Leave everything as it is; a refused credential stops the watch until the key works again."""
    if isinstance(outcome, Refused) and outcome.category is Category.CREDENTIAL:
        with held.wiring.store.unit() as unit:
            unit.accounts.refused(dossier.connection.id, outcome.code)
            unit.campaigns.stop_connection(dossier.connection.id, "credential_refused")
        return _report(dossier, "stopped", reason="credential_refused")
    code = outcome.code if isinstance(outcome, Refused) else outcome.reason
    retry_after = outcome.retry_after_s if isinstance(outcome, Refused) else None
    return _report(dossier, "no_reading", reason=code, retry_after=retry_after)


def _stopped(held: Held, dossier: Dossier, reason: str) -> Reconciled:
    """Stop the watch until a key opens the right account again; nothing was learnt about the campaign."""
    campaign = dossier.campaign
    if campaign.look_at is not None:
        with held.wiring.store.unit() as unit:
            if unit.locks.hold(held.lease, need_ms=0):
                unit.campaigns.watch(campaign, look_in_ms=None, stopped_reason=reason, flag=campaign.flag)
    return _report(dossier, "stopped", reason=reason)


def _or_vetoed(wiring: Wiring, provider: Reader, dossier: Dossier, finding: NotApplied) -> Finding:
    """Ask the provider's own record, and its verified events, before a delivery counts as not applied."""
    attempt = dossier.attempt
    if attempt is None or attempt.operation not in (Operation.SEND, Operation.SCHEDULE):
        return finding
    assert attempt.remote_id is not None, "what is sent has a remote id"
    named = names_somebody(provider, attempt.remote_id)
    with wiring.store.reading() as unit:
        told = unit.webhooks.told_of(dossier.connection.id, attempt.remote_id)
    return vetoed(finding, mailed=named if isinstance(named, bool) else None, told=told)


def _write(  # one argument for each thing that is known
    held: Held,
    dossier: Dossier,
    finding: Finding,
    reading: Reading,
    actor: str | None,
    *,
    retires: bool,
) -> Reconciled:
    seen: Observation | None = reading.observation if isinstance(reading, Seen) else None
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        writer = Writer(unit, held.wiring, dossier, seen, actor, retires=retires)
        news = write_finding(writer, finding)
        after = unit.campaigns.get(dossier.campaign.id)
    return _report(after, news, reason=after.campaign.stopped_reason)


def _report(
    dossier: Dossier, news: str, *, reason: str | None = None, retry_after: int | None = None
) -> Reconciled:
    return Reconciled(
        news=news,
        state=dossier.campaign.state,
        reason=reason,
        look_at=dossier.campaign.look_at,
        retry_after=retry_after,
    )
