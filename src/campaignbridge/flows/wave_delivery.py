"""A wave's delivery: its campaign is born approved, handed over, looked over once more, and sent.

All of it is the campaign's own: locks, attempts, guard, replay, watch. A wave adds the bound, and what must still be
true of the ramp.
"""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import Approval, State
from campaignbridge.domain.errors import InvalidState, ProviderFailed, Unconfirmed, ValidationFailed
from campaignbridge.domain.job import Done, JobOutcome
from campaignbridge.domain.provider import Refused
from campaignbridge.domain.ramp import Step
from campaignbridge.flows.delivery import Confirmation, send_wave
from campaignbridge.flows.forgotten import went_there
from campaignbridge.flows.gating import judge_ramp
from campaignbridge.flows.handoff import hand_off
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.retiring import retire
from campaignbridge.flows.wave_people import LAG_MS, LAG_ROUNDS, MARGIN_MS, PUSH_LIMIT_MS, Seen, compare
from campaignbridge.flows.wave_run import WaveRun
from campaignbridge.ports import Provider

RIGHTS = frozenset({"read", "manage", "deliver"})  # what a run does in the name of who activated the ramp
SETTLING_MS = 60_000
LOOK_LASTS_MS = 600_000  # after that, or under another run, people and gate are looked at once more
LOOKS = 3  # of the campaign's watch, before a person is asked what became of the draft


def make_draft(going: WaveRun) -> JobOutcome:
    """Make the campaign, then its draft at the provider; a lost create is settled by the campaign's watch."""
    if not going.wave.verified or going.wave.segment_id in (None, going.container):
        return going.fail("nobody_in_segment")  # what has no segment of its own would go to everybody
    if going.wave.campaign_id is None:
        provider = going.wiring.open_provider(going.connection())
        if went_there(going, provider, since=going.wave.since).forgotten:
            return going.fail("forgotten_wave")  # people of this one may have been mailed by that one
    campaign_id = going.wave.campaign_id or _born(going)
    with going.wiring.store.reading() as unit:
        campaign = unit.campaigns.get(campaign_id).campaign
    if campaign.open_attempt is not None:
        return going.later(SETTLING_MS)  # its watch is at it
    if campaign.state in (State.APPROVED, State.PROVIDER_DRAFT):
        try:
            _draft(going, campaign_id)
        except Unconfirmed:
            return going.later(SETTLING_MS)
        except InvalidState:
            return _look_at_it(going, campaign_id, "no_draft")
    with going.writing() as unit:
        dossier = unit.campaigns.get(campaign_id)
        ready = dossier.campaign.state is State.PROVIDER_DRAFT and dossier.remote is not None
        if ready and dossier.remote is not None and not dossier.remote.content_pending:
            going.advance(unit, Step.DRAFT_READY)
            return going.go_on()
    return going.later(SETTLING_MS) if dossier.campaign.state is State.APPROVED else Done()


def _draft(going: WaveRun, campaign_id: str) -> None:
    """Have a draft that may be sent: one that an earlier send left in doubt is retired first."""
    with going.wiring.store.reading() as unit:
        dossier = unit.campaigns.get(campaign_id)
    if dossier.remote is not None and dossier.remote.spent:
        retire(going.wiring, campaign_id, actor=_delegate(going), run=going.run)
        with going.wiring.store.reading() as unit:
            dossier = unit.campaigns.get(campaign_id)
    key = f"{going.run.run_id}.{dossier.campaign.version}"
    hand_off(going.wiring, campaign_id, actor=_delegate(going), key=key, run=going.run)


def _look_at_it(going: WaveRun, campaign_id: str, reason: str) -> JobOutcome:
    """Have the campaign's watch read what became of it: somebody may have sent it by hand. Then see again."""
    if going.tries >= LOOKS:
        return going.fail(reason)
    with going.wiring.store.unit() as unit:
        if unit.campaigns.look_now(campaign_id):
            going.wiring.wake_watch(unit, campaign_id, in_ms=0)
    return going.once_more(SETTLING_MS)


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
    """Take out who was suppressed since the pick, count again by the member list, then judge the gate once more."""
    wave = going.wave
    provider = going.wiring.open_provider(going.connection())
    with going.wiring.store.reading() as unit:
        gone = unit.assignments.suppressed_since(wave.id, most=provider.push_chunk)
    if gone:
        return _let_go(going, provider, gone)
    listed = compare(going, provider)
    if not isinstance(listed, Seen):
        return listed
    if listed.missing and going.tries < LAG_ROUNDS:
        return going.once_more(LAG_MS)
    if not listed.there:
        return going.fail("nobody_in_segment")
    if judge_ramp(going.wiring, going.ramp.id).tripped:
        return Done()  # whoever clears it and resumes queues the next step
    with going.writing() as unit:
        unit.assignments.release(wave.id, [one.contact_id for one in listed.missing], code="not_in_segment")
        going.advance(unit, Step.LOOKED, verified=len(listed.there))
    return going.later(0)


def _let_go(going: WaveRun, provider: Provider, gone: list[tuple[int, str]]) -> JobOutcome:
    segment = going.wave.segment_id
    assert segment is not None, "a draft has its segment"
    with going.writing() as unit:
        going.require(unit, need_ms=PUSH_LIMIT_MS + MARGIN_MS)
    # Whoever was erased has no address here any more; the member list then shows them as nobody of ours.
    known = tuple(address for _, address in gone if address)
    ended_by = provider.remove_contacts(segment, known, limit_ms=PUSH_LIMIT_MS).ended_by if known else None
    if isinstance(ended_by, Refused):
        raise refused(provider, ended_by, None)
    if ended_by is not None:
        raise unreadable(provider, ended_by)
    with going.writing() as unit:
        unit.assignments.release(going.wave.id, [contact for contact, _ in gone], code="suppressed")
        unit.ramps.log(going.ramp.id, "suppressed_released", wave_id=going.wave.id, people=len(gone))
    return going.go_on()


def send(going: WaveRun) -> JobOutcome:
    """Ask for the delivery, in the name of who activated the ramp; whatever comes of it, the campaign tells.

    The number to be mailed must be the one that was verified, by the last look a few minutes ago.
    """
    wave = going.wave
    assert wave.campaign_id is not None, "a draft has its campaign"
    assert wave.verified is not None, "what was looked over has its number"
    with going.wiring.store.reading() as unit:
        dossier = unit.campaigns.get(wave.campaign_id)
        suppressed = unit.assignments.suppressed_since(wave.id, most=1)
    campaign, remote = dossier.campaign, dossier.remote
    if campaign.state is State.APPROVED or (remote is not None and remote.spent):
        return _back(going, Step.VERIFIED)
    if campaign.state is not State.PROVIDER_DRAFT or campaign.open_attempt is not None:
        return Done()  # it went, or its watch is at it: the wave follows its campaign
    if suppressed or wave.now - wave.activity_at > LOOK_LASTS_MS:
        return _back(going, Step.DRAFT_READY)
    try:
        send_wave(
            going.wiring,
            campaign.id,
            actor=_delegate(going),
            key=f"{going.run.run_id}.{campaign.version}",
            confirmed=Confirmation(recipients=wave.verified, audience=campaign.audience),
            run=going.run,
        )
    except Unconfirmed:
        return Done()
    except InvalidState:
        return _look_at_it(going, campaign.id, "no_draft")
    except ValidationFailed as failed:
        if "recipients" not in failed.facts or going.tries >= LAG_ROUNDS:
            return going.fail("count_differs" if "recipients" in failed.facts else failed.code)
        return _back(going, Step.DRAFT_READY, again_in_ms=LAG_MS)
    except ProviderFailed as failed:
        told = failed.facts.get("provider") or {}
        if "attempt" in failed.facts and not told.get("retryable"):
            return going.fail("send_refused")
        raise
    return Done()


def _back(going: WaveRun, step: Step, *, again_in_ms: int = 0) -> JobOutcome:
    """Go back to an earlier step: what it found may have changed since."""
    with going.writing() as unit:
        going.advance(unit, step)
    return going.once_more(again_in_ms) if again_in_ms else going.later(0)
