"""Resolving by hand: what the provider can never tell is settled by an administrator, with evidence.

It works where checks have stopped, or fail for a reason of ours, under the campaign's lock, and never inside a
settle window: until that is over, the provider's own record may still decide. Attempt and campaign are settled in one
transaction, and the evidence stands in the audit event.
"""

from dataclasses import dataclass
from enum import StrEnum

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State, may_move
from campaignbridge.domain.content import require_one_line
from campaignbridge.domain.errors import InProgress, InvalidInput, InvalidState
from campaignbridge.domain.ledger import Attempt, Operation, Status
from campaignbridge.flows.content_claim import follow_content
from campaignbridge.flows.finding import require
from campaignbridge.flows.holding import Held, nothing_else, working_on
from campaignbridge.flows.refusals import lease_lost
from campaignbridge.flows.retiring import make_unsendable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit


class Verdict(StrEnum):
    """What a person found out."""

    SENT = "sent"
    STOPPED = "stopped"  # after some had been mailed
    NOT_SENT = "not_sent"
    NOT_CREATED = "not_created"


STATES = {
    Verdict.SENT: State.SENT,
    Verdict.STOPPED: State.CANCELLED,
    Verdict.NOT_SENT: State.FAILED,
    Verdict.NOT_CREATED: State.APPROVED,
}
# Which verdicts mean that an open request did what it asked for.
TOOK_EFFECT: dict[Operation, frozenset[Verdict]] = {
    Operation.CREATE: frozenset(),
    Operation.SEND: frozenset({Verdict.SENT, Verdict.STOPPED}),
    Operation.SCHEDULE: frozenset({Verdict.SENT, Verdict.STOPPED}),
    Operation.UNSCHEDULE: frozenset({Verdict.NOT_SENT}),
    Operation.CANCEL: frozenset({Verdict.STOPPED}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a person decided, and on what evidence."""

    verdict: Verdict
    evidence: str
    mailed: int | None = None  # how many, where it was stopped


def resolve(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    ruling: Ruling,
    expected_version: int | None = None,
    while_checked: bool = False,
) -> State:
    """Settle a campaign by hand; return its new state.

    `while_checked`: also while its watch still reads, since a person has seen more. Never inside a settle window.
    """
    actor.require("admin")
    require_one_line(ruling.evidence, field="evidence", limit=500)
    if ruling.verdict is Verdict.STOPPED and not (ruling.mailed or 0) > 0:
        raise InvalidInput("Say how many had been mailed when it stopped.", todo="Add --mailed N.")
    with working_on(wiring, campaign_id, "resolve", actor=actor.name, also=nothing_else) as work:
        dossier = work.dossier
        dossier.campaign.require_version(expected_version)
        target = _target(dossier, ruling, while_checked=while_checked)
        if ruling.verdict is Verdict.NOT_SENT:
            _make_unsendable(work.held, dossier)
        with wiring.store.unit() as unit:
            if not unit.locks.hold(work.held.lease, need_ms=0):
                raise lease_lost()
            _write(unit, dossier, ruling, target, actor)
    return target


def acknowledge(
    wiring: Wiring, campaign_id: str, *, actor: Actor, reason: str, expected_version: int | None = None
) -> None:
    """Clear the flag of a possible double, after a person has looked at it."""
    actor.require("operate")
    require_one_line(reason, field="reason", limit=500)
    with wiring.store.unit() as unit:
        campaign = unit.campaigns.get(campaign_id).campaign
        campaign.require_version(expected_version)
        if not unit.campaigns.acknowledge(campaign):
            raise InvalidState(
                f"Nothing of {campaign_id} is flagged as a possible double.",
                todo=f"campaigns show {campaign_id} says what is.",
            )
        unit.events.add(
            "acknowledged",
            campaign_id=campaign_id,
            actor=actor.name,
            version=campaign.version + 1,
            flag=campaign.flag,
            reason=reason,
        )


def _target(dossier: Dossier, ruling: Ruling, *, while_checked: bool) -> State:
    campaign, attempt = dossier.campaign, dossier.attempt
    if not while_checked and campaign.stopped_reason is None and campaign.flag != "watch_failed":
        raise InvalidState(
            "Checks of this campaign have not stopped: the provider's own record may still decide.",
            todo=f"campaigns reconcile {campaign.id} reads it now.",
        )
    if attempt is not None and dossier.now < attempt.window_end:
        raise InProgress(
            "The request may still take effect.",
            todo="Settle it by hand when its window is over.",
            retry_after=-(-(attempt.window_end - dossier.now) // 1000),
        )
    lost_create = attempt is not None and attempt.operation is Operation.CREATE
    if lost_create != (ruling.verdict is Verdict.NOT_CREATED):
        raise InvalidInput(
            "not_created settles a lost draft, and nothing else does.",
            todo="Use --as not_created for a lost draft; sent, stopped or not_sent for a send.",
        )
    target = STATES[ruling.verdict]
    if target is not campaign.state and not may_move(campaign.state, target):
        raise InvalidState(
            f"What is {campaign.state.value} can't become {target.value}.",
            todo=f"campaigns show {campaign.id} says what may be done now.",
        )
    return target


def _make_unsendable(held: Held, dossier: Dossier) -> None:
    """Where the provider can, what a person calls not sent is made so first; raise while that isn't definite."""
    remote = dossier.remote
    if remote is None or remote.remote_id is None:
        return
    provider = held.wiring.open_provider(dossier.connection)
    if "retire" not in provider.capabilities:
        return
    if not make_unsendable(held, dossier, provider, ruled=True):
        raise InvalidState(
            "The provider refuses to delete it, so it is no draft there any more. Nothing was settled.",
            todo=f"See what happened there: campaigns reconcile {dossier.campaign.id}",
        )


def _write(unit: Unit, dossier: Dossier, ruling: Ruling, target: State, actor: Actor) -> None:
    campaign, attempt = dossier.campaign, dossier.attempt
    if attempt is not None:
        _settle(unit, attempt, ruling)
    require(unit.campaigns.resolve(campaign, target, keep_approval=target is not State.FAILED))
    if ruling.verdict is Verdict.NOT_SENT:
        unit.ledger.free_content(campaign.id)
    elif ruling.verdict is not Verdict.NOT_CREATED:
        follow_content(unit, dossier, target, attempt_id=attempt.id if attempt else "")
    unit.events.add(
        "resolved",
        campaign_id=campaign.id,
        actor=actor.name,
        version=campaign.version + 1,
        attempt_id=attempt.id if attempt else None,
        verdict=ruling.verdict.value,
        evidence=ruling.evidence,
        mailed=ruling.mailed,
        stopped_reason=campaign.stopped_reason or campaign.flag,
    )


def _settle(unit: Unit, attempt: Attempt, ruling: Ruling) -> None:
    took_effect = ruling.verdict in TOOK_EFFECT[attempt.operation]
    status = Status.SUCCEEDED if took_effect else Status.FAILED
    require(
        unit.ledger.settle(attempt.id, status, answered=False, error_code=None if took_effect else "resolved")
    )
