"""Delivery: the one dangerous request, now (`send`) or for later (`schedule`).

Under the campaign's lock, in this order, and the first failure wins:
 1. rights, a well-formed key, separation of duties, the confirmed facts;
 2. a recorded key is answered from the ledger;
 3. nothing unresolved; the state; the version; the send time; the stored bytes; preflight;
 4. the same content isn't going, or just gone, to the same audience from another campaign;
 5. the remote guard (`guard`): GET, PATCH, PUT, GET;
 6. `once`: intent, one POST, outcome.

An accepted schedule is read back once; a mismatch is flagged. A refusal leaves nothing but its audit event.
"""

from contextlib import suppress
from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State, require_separation
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.discovery import Cached
from campaignbridge.domain.errors import InvalidState, Refusal, StoreGone, ValidationFailed
from campaignbridge.domain.ledger import (
    MUTATION_LIMIT_MS,
    READ_LIMIT_MS,
    Attempt,
    Operation,
    request_hash,
    require_key,
)
from campaignbridge.domain.provider import Accepted, MergeField, Observation, Outcome, RemoteStatus
from campaignbridge.domain.ramp import Run
from campaignbridge.domain.when import require_sendable_at
from campaignbridge.flows.authoring import content_problems
from campaignbridge.flows.fields import field_problems
from campaignbridge.flows.guard import known_remote, require_nothing_landing, require_sendable
from campaignbridge.flows.handoff import require_frozen
from campaignbridge.flows.holding import Held, Work, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import Intent, perform
from campaignbridge.flows.refusals import sent_elsewhere
from campaignbridge.flows.replay import answer_replay
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Line, Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The facts that the person who sends believes in. One that has changed refuses the send."""

    recipients: int
    audience: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for: a key, the confirmed facts, the version that was looked at, and when to send."""

    key: str
    confirmed: Confirmation
    expected_version: int | None = None
    at_ms: int | None = None  # None: now
    again_after: str | None = None  # another campaign with this content, named to lift its claim
    run: Run | None = None  # of a wave, by its step

    @property
    def operation(self) -> Operation:
        """Which request this is."""
        return Operation.SEND if self.at_ms is None else Operation.SCHEDULE


@dataclass(frozen=True, slots=True)
class Sent:
    """An accepted send or schedule. Accepted is not yet sent: only a reading says that."""

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
    again_after: str | None = None,
) -> Sent:
    """Ask the provider to send the campaign's draft now, at most once.

    `again_after` names another campaign that is sending, or just sent, this content to this audience: only then
    does it go once more.
    """
    order = Order(key=key, confirmed=confirmed, expected_version=expected_version, again_after=again_after)
    return _deliver(wiring, campaign_id, actor, order)


def schedule(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    key: str,
    confirmed: Confirmation,
    at_ms: int,
    expected_version: int | None = None,
    again_after: str | None = None,
) -> Sent:
    """Ask the provider to send the campaign's draft at a time (epoch milliseconds), at most once."""
    order = Order(
        key=key,
        confirmed=confirmed,
        expected_version=expected_version,
        at_ms=at_ms,
        again_after=again_after,
    )
    return _deliver(wiring, campaign_id, actor, order)


def send_wave(
    wiring: Wiring, campaign_id: str, *, actor: Actor, key: str, confirmed: Confirmation, run: Run
) -> Sent:
    """Send a wave's campaign, by its step, in the name of who activated the ramp; to `confirmed` people at most."""
    return _deliver(wiring, campaign_id, actor, Order(key=key, confirmed=confirmed, run=run))


def _deliver(wiring: Wiring, campaign_id: str, actor: Actor, order: Order) -> Sent:
    actor.require("deliver")
    require_key(order.key)

    def also(unit: Unit, dossier: Dossier) -> _Read:
        return _Read(
            *unit.discoveries.content_and_fields(dossier.campaign),
            unit.ledger.replay(campaign_id, order.operation, order.key),
        )

    name = order.operation.value
    with working_on(wiring, campaign_id, name, actor=actor.name, also=also) as work:
        try:
            prepared = _prepare(wiring, work, actor, order)
        except Refusal as refusal:
            note_refusal(wiring, work.dossier, name, actor, refusal)
            raise
        if isinstance(prepared, Sent):
            return prepared
        try:
            return _perform(work.held, prepared)
        except Refusal as refusal:
            if "attempt" not in refusal.facts:  # else the attempt has left its own
                note_refusal(wiring, work.dossier, name, actor, refusal)
            raise


@dataclass(frozen=True, slots=True)
class _Read:
    """What is read beside the campaign while its lock is taken."""

    snapshot: Snapshot
    fields: Cached[MergeField]
    earlier: Attempt | None  # with this key


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request that may be made, with the reading that allows it."""

    provider: Provider
    intent: Intent
    seen: Observation

    def call(self, line: Line) -> Outcome[None]:
        """Make it."""
        at_ms, remote_id = self.intent.schedule_at, self.seen.remote_id
        if at_ms is None:
            return self.provider.send(line, remote_id, limit_ms=MUTATION_LIMIT_MS)
        return self.provider.schedule(line, remote_id, at_ms, limit_ms=MUTATION_LIMIT_MS)


def _perform(held: Held, prepared: _Prepared) -> Sent:
    attempt, _ = perform(held, prepared.provider, prepared.intent, prepared.call)
    if attempt.schedule_at is not None:
        _read_back(held, prepared, attempt)
    return Sent(attempt.id, prepared.seen.recipient_count, replay=False)


def _read_back(held: Held, prepared: _Prepared, attempt: Attempt) -> None:
    """Flag an accepted schedule that the provider shows otherwise; without a reading, leave it to the watch."""
    outcome = prepared.provider.inspect(prepared.seen.remote_id, limit_ms=READ_LIMIT_MS)
    if not isinstance(outcome, Accepted):
        return
    seen = outcome.value
    if seen.status is RemoteStatus.SCHEDULED and seen.send_time_ms == attempt.schedule_at:
        return
    with suppress(StoreGone), held.wiring.store.unit() as unit:  # it was accepted, and that is recorded
        campaign = unit.campaigns.get(attempt.campaign_id).campaign
        if unit.campaigns.flag(campaign, "schedule_differs") and unit.campaigns.look_now(campaign.id):
            held.wiring.wake_watch(unit, campaign.id, in_ms=0)


def _prepare(wiring: Wiring, work: Work[_Read], actor: Actor, order: Order) -> _Prepared | Sent:
    """Check everything, in the order of the protocol; a recorded key is answered at once."""
    dossier, snapshot = work.dossier, work.also.snapshot
    campaign, confirmed = dossier.campaign, order.confirmed
    if order.run is None:
        campaign.require_free()
    provider = wiring.open_provider(dossier.connection)
    _require_capability(provider, order)
    require_separation(campaign.approval, actor.name, separated=wiring.duties_separated)
    _require_confirmed(dossier, confirmed)
    asked = request_hash(
        order.operation.value,
        campaign.id,
        confirmed.audience,
        confirmed.recipients,
        order.at_ms or "",
        order.again_after or "",
    )
    replayed = answer_replay(work.also.earlier, asked)
    if replayed is not None:
        return Sent(replayed.id, None, replay=True)
    _require_ready(dossier, order, provider)
    _require_content(wiring, provider, work, actor)
    if dossier.content_holder not in (None, order.again_after):
        raise sent_elsewhere(dossier.content_holder)
    require_nothing_landing(dossier)
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
        operation=order.operation,
        key=order.key,
        request_hash=asked,
        actor=actor.name,
        claims=snapshot,
        again_after=order.again_after,
        schedule_at=order.at_ms,
        run=order.run,
    )
    return _Prepared(provider, intent, seen)


def _require_capability(provider: Provider, order: Order) -> None:
    if order.at_ms is not None and "schedule" not in provider.capabilities:
        raise InvalidState(
            f"{provider.label} can't send at a later time.", todo="Send it when its time has come."
        )


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
            todo=f"Confirm what was approved, or: campaigns withdraw {campaign.id}, then revoke, then approve more.",
            max_recipients=campaign.approval.max_recipients,
        )


def _require_ready(dossier: Dossier, order: Order, provider: Provider) -> None:
    campaign = dossier.campaign
    campaign.require_settled()
    doing = "be sent" if order.at_ms is None else "be scheduled"
    campaign.require_state(State.PROVIDER_DRAFT, doing=doing)
    remote = known_remote(dossier)
    if remote.went or remote.observed_status != RemoteStatus.DRAFT.value:
        raise InvalidState(
            f"The provider last called this campaign {remote.raw_status}; only a draft can be sent.",
            todo=f"See what happened there: campaigns reconcile {campaign.id}",
        )
    if not remote.sendable:
        raise InvalidState(
            "An earlier send of this very draft was in doubt, or it is being retired: it is never sent again.",
            todo=f"Retire it, then make a new draft: campaigns retire {campaign.id}",
        )
    campaign.require_version(order.expected_version)
    if order.at_ms is not None:
        require_sendable_at(order.at_ms, now_ms=dossier.now, grid_ms=provider.schedule_grid_ms)


def _require_content(wiring: Wiring, provider: Provider, work: Work[_Read], actor: Actor) -> None:
    dossier, snapshot = work.dossier, work.also.snapshot
    require_frozen(dossier, snapshot)
    problems = content_problems(provider, snapshot)
    problems += field_problems(wiring, provider, dossier, snapshot, work.also.fields, actor=actor.name)
    for problem in problems:
        if problem.error:
            raise ValidationFailed(problem.what, todo=problem.todo, problem=problem.code)
