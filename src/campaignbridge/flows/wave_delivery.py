"""A wave's delivery: its campaign is born approved, handed over, looked over once more, and sent.

All of it is the campaign's own: locks, attempts, guard, replay, watch. A wave adds the bound, and what must still be
true of the ramp.
"""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import Approval, State
from campaignbridge.domain.errors import ProviderFailed, Unconfirmed
from campaignbridge.domain.job import Done, JobOutcome
from campaignbridge.domain.provider import Refused
from campaignbridge.domain.ramp import Step
from campaignbridge.flows.delivery import Confirmation, send_wave
from campaignbridge.flows.gating import judge_ramp
from campaignbridge.flows.handoff import hand_off
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.wave_people import MARGIN_MS, PUSH_LIMIT_MS
from campaignbridge.flows.wave_run import WaveRun
from campaignbridge.store.unit import Unit

RIGHTS = frozenset({"read", "manage", "deliver"})  # what a run does in the name of who activated the ramp
SETTLING_MS = 60_000


def make_draft(going: WaveRun) -> JobOutcome:
    """Make the campaign, then its draft at the provider; a lost create is settled by the campaign's watch."""
    campaign_id = going.wave.campaign_id or _born(going)
    with going.wiring.store.reading() as unit:
        campaign = unit.campaigns.get(campaign_id).campaign
    if campaign.open_attempt is not None:
        return going.later(SETTLING_MS)  # its watch is at it
    if campaign.state in (State.APPROVED, State.PROVIDER_DRAFT):
        key = f"{going.run.run_id}.{campaign.version}"
        try:
            hand_off(going.wiring, campaign_id, actor=_delegate(going), key=key, run=going.run)
        except Unconfirmed:
            return going.later(SETTLING_MS)
    with going.writing() as unit:
        dossier = unit.campaigns.get(campaign_id)
        ready = dossier.campaign.state is State.PROVIDER_DRAFT and dossier.remote is not None
        if ready and dossier.remote is not None and not dossier.remote.content_pending:
            going.advance(unit, Step.DRAFT_READY)
            return going.go_on()
    return going.later(SETTLING_MS) if dossier.campaign.state is State.APPROVED else Done()


def _born(going: WaveRun) -> str:
    """Create the wave's campaign: the ramp's content and approval, and whom the list showed as its bound."""
    ramp, wave = going.ramp, going.wave
    campaign_id = going.wiring.new_id("cmp")
    assert wave.segment_id is not None, "a verified wave has its segment"
    assert wave.verified is not None, "a verified wave has its number"
    with going.writing() as unit:
        unit.campaigns.create_for_wave(
            campaign_id=campaign_id,
            name=f"{ramp.name} {wave.label}",
            connection_id=ramp.connection_id,
            audience=wave.segment_id,
            owner=ramp.delegated_by,
            wave_id=wave.id,
            approval=Approval(ramp.approved_by, ramp.approved_at, ramp.approved_fingerprint, wave.verified),
            source=(ramp.source_campaign, ramp.source_revision),
        )
        unit.events.add(
            "created",
            campaign_id=campaign_id,
            actor=ramp.delegated_by,
            version=1,
            fingerprint=ramp.approved_fingerprint,
            wave=wave.label,
        )
        going.advance(unit, Step.VERIFIED, campaign_id=campaign_id)
    return campaign_id


def _delegate(going: WaveRun) -> Actor:
    return Actor(going.ramp.delegated_by, RIGHTS)


def look_again(going: WaveRun) -> JobOutcome:
    """Take out who was suppressed since the pick, then judge the gate once more."""
    provider = going.wiring.open_provider(going.connection())
    wave = going.wave
    assert wave.segment_id is not None, "a draft has its segment"
    with going.wiring.store.reading() as unit:
        gone = unit.assignments.suppressed_since(wave.id, most=provider.push_chunk)
    if gone:
        with going.writing() as unit:
            going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
        done = provider.remove_contacts(
            wave.segment_id, tuple(address for _, address in gone), limit_ms=PUSH_LIMIT_MS
        )
        if isinstance(done.ended_by, Refused):
            raise refused(provider, done.ended_by, None)
        if done.ended_by is not None:
            raise unreadable(provider, done.ended_by)
        with going.writing() as unit:
            unit.assignments.release(wave.id, [contact for contact, _ in gone], code="suppressed")
            unit.ramps.log(going.ramp.id, "suppressed_released", wave_id=wave.id, people=len(gone))
        return going.go_on()
    judge_ramp(going.wiring, going.ramp.id)
    with going.writing() as unit:
        going.advance(unit, Step.LOOKED)
    return going.go_on()


def send(going: WaveRun) -> JobOutcome:
    """Ask for the delivery, in the name of who activated the ramp; whatever comes of it, the campaign tells."""
    wave = going.wave
    assert wave.campaign_id is not None, "a draft has its campaign"
    with going.wiring.store.reading() as unit:
        campaign = unit.campaigns.get(wave.campaign_id).campaign
        bound = _still_in(unit, going)
    if campaign.state is not State.PROVIDER_DRAFT or campaign.open_attempt is not None:
        return Done()  # it went, or its watch is at it: the wave follows its campaign
    try:
        send_wave(
            going.wiring,
            campaign.id,
            actor=_delegate(going),
            key=f"{going.run.run_id}.{campaign.version}",
            confirmed=Confirmation(recipients=bound, audience=campaign.audience),
            run=going.run,
        )
    except Unconfirmed:
        return Done()
    except ProviderFailed as failed:
        told = failed.facts.get("provider") or {}
        if "attempt" in failed.facts and not told.get("retryable"):
            return going.fail("send_refused")
        raise
    return Done()


def _still_in(unit: Unit, going: WaveRun) -> int:
    counts = unit.assignments.counts(going.wave.id)
    return counts.get("in_segment", 0) + counts.get("assigned", 0)
