"""Delivery: the one dangerous request.

Under the campaign's lock, in this order, and the first failure wins:
 1. rights, a well-formed key, separation of duties, the confirmed facts;
 2. a recorded key is answered from the ledger;
 3. nothing unresolved; the state; the version; the stored bytes; preflight;
 4. the same content isn't going, or just gone, to the same audience from another campaign;
 5. the remote guard (`guard`): GET, PATCH, PUT, GET;
 6. `once`: intent, one POST, outcome.

A refusal leaves nothing but its audit event.
"""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State, require_separation
from campaignbridge.domain.content import Snapshot, preflight
from campaignbridge.domain.errors import InvalidState, Refusal, ValidationFailed
from campaignbridge.domain.ledger import (
    MUTATION_LIMIT_MS,
    Attempt,
    Operation,
    request_hash,
    require_key,
)
from campaignbridge.domain.provider import Observation, RemoteStatus
from campaignbridge.flows.guard import known_remote, require_nothing_landing, require_sendable
from campaignbridge.flows.handoff import require_frozen
from campaignbridge.flows.holding import Held, Work, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import Intent, perform
from campaignbridge.flows.refusals import sent_elsewhere
from campaignbridge.flows.replay import answer_replay
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The facts that the person who sends believes in. One that has changed refuses the send."""

    recipients: int
    audience: str


@dataclass(frozen=True, slots=True)
class Sent:
    """An accepted send. Accepted is not yet sent: only a reading says that."""

    attempt_id: str
    recipients: int | None
    replay: bool


def send(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    key: str,
    confirmed: Confirmation,
    expected_version: int | None = None,
) -> Sent:
    """Ask the provider to send the campaign's draft now, at most once."""
    actor.require("deliver")
    require_key(key)

    def also(unit: Unit, dossier: Dossier) -> tuple[Snapshot, Attempt | None]:
        return (
            unit.campaigns.snapshot(dossier.campaign),
            unit.ledger.replay(campaign_id, Operation.SEND, key),
        )

    with working_on(wiring, campaign_id, "send", actor=actor.name, also=also) as work:
        try:
            prepared = _prepare(
                wiring, work, actor=actor, key=key, confirmed=confirmed, expected_version=expected_version
            )
        except Refusal as refusal:
            note_refusal(wiring, work.dossier, "send", actor, refusal)
            raise
        if isinstance(prepared, Sent):
            return prepared
        try:
            return _perform(work.held, prepared)
        except Refusal as refusal:
            if "attempt" not in refusal.facts:  # else the attempt has left its own
                note_refusal(wiring, work.dossier, "send", actor, refusal)
            raise


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A send that may go, with the reading that allows it."""

    provider: Provider
    intent: Intent
    seen: Observation


def _perform(held: Held, prepared: _Prepared) -> Sent:
    provider, remote_id = prepared.provider, prepared.seen.remote_id
    attempt, _ = perform(
        held,
        provider,
        prepared.intent,
        lambda line: provider.send(line, remote_id, limit_ms=MUTATION_LIMIT_MS),
    )
    return Sent(attempt.id, prepared.seen.recipient_count, replay=False)


def _prepare(
    wiring: Wiring,
    work: Work[tuple[Snapshot, Attempt | None]],
    *,
    actor: Actor,
    key: str,
    confirmed: Confirmation,
    expected_version: int | None,
) -> _Prepared | Sent:
    """Check everything, in the order of the protocol; a recorded key is answered at once."""
    dossier, (snapshot, earlier) = work.dossier, work.also
    campaign = dossier.campaign
    require_separation(campaign.approval, actor.name, separated=wiring.duties_separated)
    _require_confirmed(dossier, confirmed)
    asked = request_hash("send", campaign.id, confirmed.audience, confirmed.recipients)
    replayed = answer_replay(earlier, asked)
    if replayed is not None:
        return Sent(replayed.id, None, replay=True)
    _require_ready(dossier, snapshot, expected_version)
    provider = wiring.open_provider(dossier.connection)
    seen = require_sendable(provider, dossier, snapshot, work.held)
    if seen.recipient_count != confirmed.recipients:
        raise ValidationFailed(
            f"{confirmed.recipients:,} is not the number of recipients ({seen.recipient_count:,}). "
            "Nothing was sent.",
            todo=f"If {seen.recipient_count:,} is right, confirm that number.",
            recipients=seen.recipient_count,
        )
    intent = Intent(
        dossier=dossier,
        operation=Operation.SEND,
        key=key,
        request_hash=asked,
        actor=actor.name,
        claims=snapshot,
    )
    return _Prepared(provider, intent, seen)


def _require_confirmed(dossier: Dossier, confirmed: Confirmation) -> None:
    campaign = dossier.campaign
    if confirmed.audience != campaign.audience:
        raise ValidationFailed(
            "The confirmed audience is not the campaign's. Nothing was sent.",
            todo=f"Look at it (campaigns show {campaign.id}) and confirm its audience.",
            audience=campaign.audience,
        )
    if campaign.approval is not None and confirmed.recipients > campaign.approval.max_recipients:
        raise ValidationFailed(
            f"The approval allows {campaign.approval.max_recipients:,} recipients. Nothing was sent.",
            todo="Confirm the number that was approved, or have it approved anew.",
            max_recipients=campaign.approval.max_recipients,
        )


def _require_ready(dossier: Dossier, snapshot: Snapshot, expected_version: int | None) -> None:
    campaign = dossier.campaign
    campaign.require_settled()
    campaign.require_state(State.PROVIDER_DRAFT, doing="be sent")
    remote = known_remote(dossier)
    if remote.went or remote.observed_status != RemoteStatus.DRAFT.value:
        raise InvalidState(
            f"The provider last called this campaign {remote.raw_status}; only a draft can be sent.",
            todo=f"See what happened there: campaigns reconcile {campaign.id}",
        )
    campaign.require_version(expected_version)
    require_frozen(dossier, snapshot)
    for problem in preflight(snapshot.envelope, snapshot.html, snapshot.text):
        if problem.error:
            raise ValidationFailed(problem.what, todo=problem.todo, problem=problem.code)
    if dossier.content_holder is not None:
        raise sent_elsewhere(dossier.content_holder)
    require_nothing_landing(dossier)
