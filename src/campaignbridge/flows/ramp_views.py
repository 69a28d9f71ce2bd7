"""What is shown of ramps: state, why, since when, who holds it, what comes by itself, and the one recommended command.

One transaction, a fixed number of statements, nobody outside is asked; but for `--read`, which reads segment and draft
of the open wave at the provider, once each, and changes nothing there.
"""

from dataclasses import dataclass, replace
from typing import Any, assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.gate import Verdict
from campaignbridge.domain.ledger import READ_LIMIT_MS, Status
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Outcome, Refused, RemoteStatus
from campaignbridge.domain.ramp import IDLE_MS, Facts, Ramp, Wave
from campaignbridge.flows.ramp_advice import WENT, Advice, Delivery, Draft, Situation, advise, people_of
from campaignbridge.flows.ramp_tick import current_tier
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.stepping import STEP, TICK, step_request, tick_request
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

LISTED = 50
LOGGED = 50
STATES = ("complete", "aborted", "gate_tripped", "needs_operator", "paused", "active")


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """What the provider has of the open wave, as it was read at `at`."""

    at: int
    segment: str  # "none", "there", "gone" or "unread"
    draft: Draft
    members: int | None = None
    status: str | None = None  # of the draft, the provider's own word
    recipients: int | None = None
    mailed: int | None = None
    retires: bool = False  # the provider can make a draft unsendable
    problem: str = ""  # why a reading failed


@dataclass(frozen=True, slots=True)
class Shown:
    """One ramp of a list."""

    ramp: Ramp
    connection: str
    waves: tuple[Wave, ...]
    tick_at: int | None

    @property
    def state(self) -> str:
        """Its state's code."""
        return state_of(self.ramp.facts)

    @property
    def mailed(self) -> int:
        """How many people its waves mailed."""
        return mailed(self.waves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What our own store has of one ramp, at one moment."""

    ramp: Ramp
    connection: Connection
    about: Row  # `audience`, `people`, `content`
    waves: tuple[Wave, ...]  # oldest first
    opened: Wave | None
    delivery: Dossier | None  # the campaign of the open wave
    counts: dict[str, int]  # people of the open wave, by status
    tick: Row | None  # the next tick's job
    step: Row | None  # the open wave's step job
    last: Row | None  # the newest line of the run log
    left: tuple[Row, ...] = ()  # drafts of waves that were written off, and that could still be sent


@dataclass(frozen=True, slots=True)
class RampView:
    """All that is shown of one ramp."""

    known: Known
    there: There | None
    advice: Advice
    delegated: bool  # whoever set it up may still deliver what was approved

    @property
    def ramp(self) -> Ramp:
        """The ramp itself."""
        return self.known.ramp

    @property
    def state(self) -> str:
        """Its state's code: one of STATES, the first that holds."""
        return state_of(self.ramp.facts)

    @property
    def since(self) -> int:
        """Since when it is so."""
        ramp, facts = self.ramp, self.ramp.facts
        found = {
            "complete": ramp.ended_at,
            "aborted": ramp.ended_at,
            "gate_tripped": facts.gate_tripped_at,
            "needs_operator": ramp.needs_operator_at,
            "paused": facts.paused_at,
        }
        return found.get(self.state) or ramp.created_at

    @property
    def next_wave(self) -> tuple[str, int] | None:
        """Return label and size of the wave that comes next; None when the curve is complete."""
        return next_of(self.ramp, self.known.waves)

    @property
    def mailed(self) -> int:
        """How many people its waves mailed."""
        return mailed(self.known.waves)

    @property
    def idle_ms(self) -> int | None:
        """For how long nothing has happened to the open wave, from 15 minutes on."""
        wave = self.known.opened
        idle = 0 if wave is None else wave.now - wave.activity_at
        return idle if idle >= IDLE_MS else None


def state_of(facts: Facts) -> str:
    """Return the first of STATES that holds."""
    if facts.ended is not None:
        return facts.ended
    if facts.gate_tripped_at is not None:
        return "gate_tripped"
    if facts.needs_operator is not None:
        return "needs_operator"
    return "active" if facts.paused_at is None else "paused"


def mailed(waves: tuple[Wave, ...]) -> int:
    """Return how many people these waves mailed."""
    return sum(people_of(wave) for wave in waves if wave.sent_at is not None)


def next_of(ramp: Ramp, waves: tuple[Wave, ...]) -> tuple[str, int] | None:
    """Return label and size of the wave after the last one that went; None when the curve is complete."""
    tier = current_tier(list(waves)) + 1
    return (ramp.plan.label(tier), ramp.plan.tiers[tier]) if tier < len(ramp.plan.tiers) else None


def listed(wiring: Wiring, *, actor: Actor) -> list[Shown]:
    """Return ramps, those that run first."""
    actor.require("read")
    with wiring.store.reading() as unit:
        ramps = unit.ramps.all(most=LISTED)
        waves = unit.ramp_reads.waves_of_page(most=LISTED)
        ticks = unit.ramp_reads.ticks_of_page(most=LISTED)
        labels = {one.id: one.label for one in unit.accounts.all()}
    return [
        Shown(one, labels[one.connection_id], tuple(waves.get(one.id, ())), ticks.get(one.id))
        for one in ramps
    ]


def log(wiring: Wiring, ref: str, *, actor: Actor, most: int = LOGGED) -> list[Row]:
    """Return the newest lines of a ramp's run log, newest first."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.ramps.log_of(unit.ramps.get(ref).id, most=most)


def status(wiring: Wiring, ref: str, *, actor: Actor, read: bool = False) -> RampView:
    """Return all that is known of one ramp; with `read`, and what the provider has of its open wave, too."""
    actor.require("read")
    if read:
        actor.require("operate")
    with wiring.store.reading() as unit:
        known = _known(unit, unit.ramps.get(ref))
    there = _read(wiring, known) if read and known.opened is not None else None
    ramp = known.ramp
    delegated = not (wiring.duties_separated and ramp.approved_by == ramp.delegated_by)
    return RampView(known, there, advise(_situation(known, there, delegated=delegated)), delegated)


def _known(unit: Unit, ramp: Ramp) -> Known:
    waves = tuple(unit.waves.of_ramp(ramp.id))
    opened = next((wave for wave in waves if wave.closed is None), None)
    step_key = step_request(opened.id, opened.run_id).key if opened else None
    jobs = unit.ramp_reads.jobs(tick_key=tick_request(ramp.id).key or "", step_key=step_key or "")
    connection = unit.accounts.find(ramp.connection_id)
    assert connection is not None, "a ramp has its connection"
    lines = unit.ramps.log_of(ramp.id, most=1)
    return Known(
        ramp=ramp,
        connection=connection,
        about=unit.ramp_reads.about(ramp.id),
        waves=waves,
        opened=opened,
        delivery=unit.campaigns.get(opened.campaign_id) if opened and opened.campaign_id else None,
        counts=unit.assignments.counts(opened.id) if opened else {},
        tick=jobs.get(TICK),
        step=jobs.get(STEP),
        last=lines[0] if lines else None,
        left=tuple(unit.ramp_reads.left(ramp.id)),
    )


def _situation(known: Known, there: There | None, *, delegated: bool) -> Situation:
    ramp, waves = known.ramp, known.waves
    went = [wave for wave in waves if wave.sent_at is not None]
    unjudged = [wave.label for wave in went if wave.verdict in (None, Verdict.WAITING)]
    old_at = max((wave.sent_at or 0 for wave in went), default=0) + ramp.plan.min_age_ms
    job = known.step if known.opened is not None else known.tick
    following = next_of(ramp, waves)
    return Situation(
        slug=ramp.slug,
        connection=known.connection.label,
        facts=ramp.facts,
        now=ramp.now,
        wave=known.opened,
        delivery=_delivery(known.delivery) if known.delivery else None,
        next_label=following[0] if following else None,
        next_count=following[1] if following else 0,
        unjudged=unjudged[0] if unjudged else None,
        last_sent=went[-1].label if went else None,
        too_young_until=old_at if went and old_at > ramp.now else None,
        recurring=known.tick is not None,
        delegated=delegated,
        job_at=job["run_at"] if job else None,
        retires=there.retires if there else True,
        draft=there.draft if there else None,
        underfilled=known.opened is not None and ramp.plan.awaits_consent(known.opened),
        left=(known.left[0]["label"], known.left[0]["remote_id"]) if known.left else None,
    )


def _delivery(dossier: Dossier) -> Delivery:
    campaign, attempt, remote = dossier.campaign, dossier.attempt, dossier.remote
    return Delivery(
        id=campaign.id,
        state=campaign.state,
        asked=attempt.operation if attempt else None,
        window_end=attempt.window_end if attempt and attempt.status is Status.PENDING else 0,
        stopped=campaign.stopped_reason,
        remote_id=remote.remote_id if remote else None,
        sendable=remote is None or remote.sendable,
        delivered=dossier.delivered,
        mailed=remote is not None and remote.may_have_mailed,
    )


def _read(wiring: Wiring, known: Known) -> There:
    """Read segment and draft of the open wave, once each; what failed is told, and nothing is concluded from it."""
    wave, remote = known.opened, known.delivery.remote if known.delivery else None
    assert wave is not None, "there is a wave to look for"
    remote_id = remote.remote_id if remote else None
    try:
        reader = open_reader(wiring, known.connection)
    except Refusal as refusal:
        return There(
            at=wave.now,
            segment="none" if wave.segment_id is None else "unread",
            draft=Draft.NONE if remote_id is None else Draft.UNREAD,
            problem=refusal.what,
        )
    segment, members, problem = "none", None, ""
    if wave.segment_id is not None:
        found = reader.audience(wave.segment_id, limit_ms=READ_LIMIT_MS)
        segment, problem = _standing(found)
        members = found.value.contacts if isinstance(found, Accepted) else None
    there = There(
        at=wave.now,
        segment=segment,
        members=members,
        draft=Draft.NONE,
        retires="retire" in reader.capabilities,
        problem=problem,
    )
    if remote_id is None:
        return there
    seen = reader.inspect(remote_id, limit_ms=READ_LIMIT_MS)
    if not isinstance(seen, Accepted):
        standing, failed = _standing(seen)
        draft = Draft.GONE if standing == "gone" else Draft.UNREAD
        return replace(there, draft=draft, problem=problem or failed)
    it = seen.value
    draft = (
        Draft.DRAFT if it.status is RemoteStatus.DRAFT else Draft.WENT if it.status in WENT else Draft.OTHER
    )
    return replace(
        there, draft=draft, status=it.raw_status, recipients=it.recipient_count, mailed=it.emails_sent
    )


def _standing(outcome: Outcome[Any]) -> tuple[str, str]:
    match outcome:
        case Accepted():
            return "there", ""
        case Refused(category=Category.MISSING):
            return "gone", ""
        case Refused():
            return "unread", f"refused: {outcome.category.value}"
        case Ambiguous():
            return "unread", f"no usable answer: {outcome.reason}"
        case _:
            assert_never(outcome)
