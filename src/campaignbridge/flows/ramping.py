"""Setting a ramp up, and the commands that change one of its facts: each its own, with a reason, audited.

Pause, abort and a gate trip update the ramp's row, which a wave's intent updates too: so they serialise with a send,
and answer with the one that they could not stop.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import Campaign, State, require_separation
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.content import MAX_NAME, require_one_line
from campaignbridge.domain.errors import Conflict, InvalidInput, InvalidState, NotFound
from campaignbridge.domain.gate import Figures, Thresholds, Verdict, judge
from campaignbridge.domain.ramp import Facts, Plan, Ramp, Wave, label_of, require_plan, require_slug
from campaignbridge.domain.recurring import Cron
from campaignbridge.domain.when import require_zone
from campaignbridge.flows.connecting import find_connection
from campaignbridge.flows.gating import end_missing
from campaignbridge.flows.leaving import Stopped, hold_deliveries, unstoppable
from campaignbridge.flows.leftovers import retire_leftovers
from campaignbridge.flows.ramp_given import require_broadcast, require_past, require_reason
from campaignbridge.flows.stepping import queue_tick, wake_open_wave
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.unit import Unit

MAX_FILTERS, MAX_VALUE = 20, 500
_ATTRIBUTE = re.compile(r"[A-Za-z0-9_ .-]{1,64}")
_LOCALE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRamp:
    """What a ramp is set up from."""

    slug: str
    connection: str  # id or label
    audience: str  # the slug of an audience of ours
    content: str  # an approved campaign, whose content and approval the waves carry
    plan: Plan
    name: str = ""
    list: str = ""  # at a provider whose segments belong to a list
    filters: Mapping[str, Any] = field(default_factory=dict)
    not_in: tuple[str, ...] = ()  # audiences of ours whose people are left out, by slug
    exclude_ramps: tuple[str, ...] = ()
    mail_again: bool = False  # people whom earlier ramps mailed may be mailed by this one, too
    previous_broadcast: str | None = None  # with an offset: the wave that went last, before this ramp
    previous_sent_at: int | None = None
    cron: str | None = None
    zone: str = "UTC"
    allow_small_tiers: bool = False


def init(wiring: Wiring, new: NewRamp, *, actor: Actor) -> Ramp:
    """Set a ramp up, in the name of who does it; its first wave starts at the next time of its cron, or by hand."""
    actor.require("deliver")
    require_slug(new.slug, field="ramp's name")
    require_one_line(new.name or new.slug, field="name", limit=MAX_NAME)
    require_plan(new.plan, allow_small_tiers=new.allow_small_tiers)
    if new.cron is not None:
        Cron(new.cron, new.zone)  # raises for what is no such expression
        require_zone(new.zone)
    _require_previous(new)
    connection = find_connection(wiring, new.connection)
    with wiring.store.unit() as unit:
        require_past(new.previous_sent_at, now_ms=unit.now_ms())
        source = _source(wiring, unit, new, connection, actor)
        audience = _audience(unit, new.audience)
        excluded = [unit.ramps.get(one) for one in new.exclude_ramps]
        _require_alone(unit, audience["id"], new)
        ramp = _ramp_of(wiring, new, source, audience_id=audience["id"], actor=actor)
        filters = _filters(unit, {**new.filters, "not_in": (*new.filters.get("not_in", ()), *new.not_in)})
        if not unit.ramps.create(replace(ramp, filters=filters)):
            raise Conflict(
                f"There is a ramp {new.slug} already, or one was set up on this audience just now.",
                todo="ramps list shows which.",
            )
        for one in excluded:
            unit.ramps.exclude(ramp.id, one.id)
            if one.facts.ended is None:  # it still picks, and must leave out whom this one mails
                unit.ramps.exclude(one.id, ramp.id)
        _add_previous(wiring, unit, ramp, new)
        unit.ramps.log(ramp.id, "set_up", actor=actor.name, tiers=list(new.plan.tiers))
        unit.events.add("ramp_set_up", campaign_id=None, actor=actor.name, ramp=ramp.slug)
        if new.cron is not None:
            queue_tick(wiring, unit, ramp.id)
        return unit.ramps.get(ramp.id)


def _source(wiring: Wiring, unit: Unit, new: NewRamp, connection: Connection, actor: Actor) -> Campaign:
    """Return the campaign whose content is mailed; raise unless it is approved, and for this connection."""
    source = unit.campaigns.get(new.content).campaign
    source.require_state(State.APPROVED, doing="be a ramp's content")
    require_separation(source.approval, actor.name, separated=wiring.duties_separated)
    if source.connection_id != connection.id:
        raise InvalidInput(
            "The content was approved for another connection.", todo="Approve it for this one."
        )
    return source


def _ramp_of(wiring: Wiring, new: NewRamp, source: Campaign, *, audience_id: int, actor: Actor) -> Ramp:
    assert source.approval is not None, "an approved campaign has its approval"
    return Ramp(
        id=wiring.new_id("rmp"),
        slug=new.slug,
        name=new.name or new.slug,
        connection_id=source.connection_id,
        list=new.list,
        audience_id=audience_id,
        plan=new.plan,
        filters={},
        seed=wiring.chance.token(16),
        source_campaign=source.id,
        source_revision=source.revision,
        approved_by=source.approval.by,
        approved_at=source.approval.at_ms,
        approved_fingerprint=source.approval.fingerprint,
        cron=new.cron,
        zone=new.zone,
        delegated_by=actor.name,
        facts=Facts(),
        needs_operator_at=None,
        ended_at=None,
        gate_tripped=None,
        total_waived=None,
        created_at=0,
        now=0,
    )


def _add_previous(wiring: Wiring, unit: Unit, ramp: Ramp, new: NewRamp) -> None:
    if new.previous_broadcast is None:
        return
    assert new.previous_sent_at is not None, "both are given, or neither"
    unit.waves.add_by_hand(
        wiring.new_id("wav"),
        ramp_id=ramp.id,
        label=label_of(new.plan.prefix, new.plan.offset),
        run_id=wiring.chance.token(12),
        broadcast_id=new.previous_broadcast,
        sent_at=new.previous_sent_at,
    )


def _filters(unit: Unit, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return whom a ramp picks, with the audiences that it leaves out by their number; raise `InvalidInput`."""
    attributes, locale = filters.get("attributes") or {}, filters.get("locale") or None
    bad = [
        name
        for name, value in attributes.items()
        if not _ATTRIBUTE.fullmatch(name) or not isinstance(value, str) or len(value) > MAX_VALUE
    ]
    if bad or len(attributes) > MAX_FILTERS or set(filters) - {"attributes", "locale", "not_in"}:
        raise InvalidInput(
            f"A filter names an attribute and its value; there are {MAX_FILTERS} at most.",
            todo="Write one such as plan=free.",
        )
    if locale is not None and not _LOCALE.fullmatch(locale):
        raise InvalidInput("A locale is a language tag.", todo="Write one such as en or pt-BR.")
    numbers = [
        slug if isinstance(slug, int) else _audience(unit, slug)["id"] for slug in filters.get("not_in") or ()
    ]
    if len(numbers) > MAX_FILTERS:
        raise InvalidInput(f"At most {MAX_FILTERS} audiences are left out.", todo="Merge some of them.")
    return {"attributes": dict(attributes), "locale": locale, "not_in": numbers}


def _audience(unit: Unit, slug: str) -> Row:
    found = unit.audiences.get(slug)
    if found is None:
        raise NotFound(f"There is no audience {slug[:40]!a}.", todo="audiences list shows what there is.")
    return found


def _require_previous(new: NewRamp) -> None:
    if new.previous_broadcast is not None:
        require_broadcast(new.previous_broadcast)
    told = (new.previous_broadcast is not None, new.previous_sent_at is not None)
    if told[0] != told[1] or (new.plan.offset > 0) != told[0]:
        raise InvalidInput(
            "With an offset, the wave that went last is named by its broadcast and its time, both.",
            todo="Give --previous-broadcast ID and --previous-sent-at TIME together with --offset, or none of them.",
        )


def _require_alone(unit: Unit, audience_id: int, new: NewRamp) -> None:
    rivals = unit.ramps.rivals(audience_id)
    if rivals:
        raise InvalidState(
            f"{rivals[0]} runs on this audience, or has a request that isn't confirmed.",
            todo=f"Look at it first: ramps status {rivals[0]}",
        )
    unnamed = [slug for slug in unit.ramps.mailed_before(audience_id) if slug not in new.exclude_ramps]
    if unnamed and not new.mail_again:
        raise InvalidInput(
            f"{unnamed[0]} has mailed people of this audience before.",
            todo=f"Say which is meant: --exclude-ramp {unnamed[0]}, or --mail-again.",
        )


def pause(wiring: Wiring, ref: str, *, actor: Actor, reason: str) -> Stopped:
    """Pause a ramp; say which delivery could not be stopped any more."""
    return _stop(wiring, ref, actor, reason, "paused", lambda unit, ramp: unit.ramps.pause(ramp.id))


def abort(wiring: Wiring, ref: str, *, actor: Actor, reason: str) -> Stopped:
    """End a ramp for good. Its open wave is written off, unless a request of it is unresolved: then as it went.

    Its draft is made unsendable where the provider can; what isn't is named in the answer. Of a ramp that has ended
    and has such a draft, this does only that, and raises when it can't.
    """
    actor.require("operate")
    require_reason(reason)
    with wiring.store.reading() as unit:
        ramp = unit.ramps.get(ref)
        again = ramp.facts.ended is not None and bool(unit.ramp_reads.left(ramp.id))
    if again:
        refusal = retire_leftovers(wiring, ramp.id, actor=actor)
        if refusal is not None:
            raise refusal
        return Stopped()

    def end(unit: Unit, ramp: Ramp) -> bool:
        hold_deliveries(unit, ramp)
        if not unit.ramps.end(ramp.id, "aborted"):
            return False
        for wave in unit.waves.of_ramp(ramp.id):
            if wave.closed is None and unit.waves.discard(wave):
                unit.ramps.log(ramp.id, "wave_discarded", wave_id=wave.id, actor=actor.name)
        return True

    stopped = _stop(wiring, ref, actor, reason, "aborted", end)
    retire_leftovers(wiring, ramp.id, actor=actor)  # the ramp is over all the same
    with wiring.store.reading() as unit:
        return replace(stopped, left=tuple(one["remote_id"] for one in unit.ramp_reads.left(ramp.id)))


def _stop(  # noqa: PLR0917  the facts of one change
    wiring: Wiring, ref: str, actor: Actor, reason: str, what: str, change: Any
) -> Stopped:
    actor.require("operate")
    require_reason(reason)
    with wiring.store.unit() as unit:
        ramp = unit.ramps.get(ref)
        if not change(unit, ramp):
            raise InvalidState(
                f"{ramp.slug} is {what} or over already.", todo=f"ramps status {ramp.slug} says more."
            )
        stopped = unstoppable(unit, ramp)
        unit.ramps.log(ramp.id, what, actor=actor.name, reason=reason, leaving=stopped.people)
        unit.events.add(f"ramp_{what}", campaign_id=None, actor=actor.name, ramp=ramp.slug, reason=reason)
        return stopped


def resume(wiring: Wiring, ref: str, *, actor: Actor, reason: str) -> None:
    """Let a paused ramp go on; refused while it is tripped or needs an operator."""
    actor.require("deliver")
    require_reason(reason)
    with wiring.store.unit() as unit:
        ramp = unit.ramps.get(ref)
        if not unit.ramps.resume(ramp.id):
            raise InvalidState(_why_not_resumed(ramp), todo=_instead(ramp))
        unit.ramps.log(ramp.id, "resumed", actor=actor.name, reason=reason)
        unit.events.add("ramp_resumed", campaign_id=None, actor=actor.name, ramp=ramp.slug, reason=reason)
        wake_open_wave(wiring, unit, ramp)


def _why_not_resumed(ramp: Ramp) -> str:
    if ramp.facts.ended is not None:
        return f"{ramp.slug} is {ramp.facts.ended}."
    if ramp.facts.gate_tripped_at is not None:
        return f"The gate stopped {ramp.slug}, and nobody has cleared it."
    if ramp.facts.needs_operator is not None:
        return f"{ramp.slug} needs an operator first: {ramp.facts.needs_operator.replace('_', ' ')}."
    return f"{ramp.slug} isn't paused."


def _instead(ramp: Ramp) -> str:
    if ramp.facts.gate_tripped_at is not None:
        return f'First: ramps clear-gate {ramp.slug} --reason "..."'
    return f"ramps status {ramp.slug} says what is to be done."


def set_thresholds(
    wiring: Wiring, ref: str, thresholds: Thresholds, *, actor: Actor, reason: str, small: bool = True
) -> Ramp:
    """Change what trips the gate, from the next judgement on."""
    actor.require("operate")
    require_reason(reason)
    with wiring.store.unit() as unit:
        unit.ramps.hold(unit.ramps.get(ref).id)
        ramp = unit.ramps.get(ref)
        plan = require_plan(replace(ramp.plan, thresholds=thresholds), allow_small_tiers=small)
        if not unit.ramps.set_plan(ramp.id, plan):
            raise InvalidState(f"{ramp.slug} has ended.", todo="ramps list shows what runs.")
        bounces, complaints = thresholds.bounce_ppm, thresholds.complaint_ppm
        unit.ramps.log(
            ramp.id,
            "thresholds_changed",
            actor=actor.name,
            reason=reason,
            bounce_ppm=bounces,
            complaint_ppm=complaints,
        )
        unit.events.add(
            "ramp_thresholds_changed",
            campaign_id=None,
            actor=actor.name,
            ramp=ramp.slug,
            reason=reason,
            bounce_ppm=bounces,
            complaint_ppm=complaints,
        )
        return unit.ramps.get(ramp.id)


def clear_gate(wiring: Wiring, ref: str, *, actor: Actor, reason: str) -> None:
    """Clear a tripped gate, waiving what tripped it at its present figures; the ramp stays paused."""
    actor.require("operate")
    require_reason(reason)
    with wiring.store.unit() as unit:
        unit.ramps.hold(unit.ramps.get(ref).id)
        ramp = unit.ramps.get(ref)
        waves = [wave for wave in unit.waves.of_ramp(ramp.id) if wave.sent_at is not None]
        others = [wave for wave in waves if wave.verdict not in (Verdict.TRIPPED, Verdict.WAIVED)]
        total = sum((wave.figures for wave in others), Figures())
        # What the waves that are waived now did no longer counts in the total, so what is left may still be too bad.
        waived = total if judge(total, ramp.plan.thresholds) is Verdict.TRIPPED else None
        if ramp.facts.gate_tripped_at is None or not unit.ramps.clear_gate(ramp, total_waived=waived):
            raise InvalidState(
                f"The gate of {ramp.slug} isn't tripped.", todo=f"ramps status {ramp.slug} says more."
            )
        for wave in waves:
            if wave.verdict is Verdict.TRIPPED:
                unit.waves.waive(wave.id, wave.figures)
        unit.ramps.log(ramp.id, "gate_cleared", actor=actor.name, reason=reason)
        unit.events.add(
            "ramp_gate_cleared", campaign_id=None, actor=actor.name, ramp=ramp.slug, reason=reason
        )


def waive(wiring: Wiring, ref: str, label: str, *, actor: Actor, reason: str) -> None:
    """Go on in spite of one wave's figures, or of their absence, until they get a quarter worse."""
    actor.require("operate")
    require_reason(reason)
    with wiring.store.unit() as unit:
        unit.ramps.hold(unit.ramps.get(ref).id)
        ramp = unit.ramps.get(ref)
        wave = wave_named(unit, ramp, label)
        if not unit.waves.waive(wave.id, wave.figures):
            raise InvalidState(
                f"{label} has not gone, so there is nothing to waive.", todo="Nothing has to be done."
            )
        end_missing(wiring, unit, ramp)
        unit.ramps.log(ramp.id, "wave_waived", wave_id=wave.id, actor=actor.name, reason=reason)
        unit.events.add(
            "ramp_wave_waived", campaign_id=None, actor=actor.name, ramp=ramp.slug, wave=label, reason=reason
        )


def wave_named(unit: Unit, ramp: Ramp, label: str) -> Wave:
    """Return a ramp's wave by its label; raise `NotFound`."""
    found = next((wave for wave in unit.waves.of_ramp(ramp.id) if wave.label == label), None)
    if found is None:
        raise NotFound(
            f"{ramp.slug} has no wave {label[:64]!a}.", todo=f"ramps status {ramp.slug} lists them."
        )
    return found
