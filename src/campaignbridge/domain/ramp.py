"""A ramp: who is next, and whether to go on. Everything about a delivery itself is the wave's campaign's.

Four facts stand independently: ended, paused, tripped, in need of an operator. Each command or proof clears its own
alone, so that a pause can't forget a tripped gate. A ramp is *active* when none of them is set. The current tier is
derived: the highest one with a sent wave.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.gate import MILLION, SAMPLE, USUAL, Figures, Thresholds, Verdict

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
MIN_AGE_MS = 18 * HOUR_MS
STATS_PATIENCE_MS = 72 * HOUR_MS
IDLE_MS = 15 * MINUTE_MS
MAX_TIERS, MAX_TIER, MAX_LABEL, MAX_OFFSET = 50, 10_000_000, 64, 100_000
REFUSED_SAMPLE = 100  # tried contacts before a share of refusals says anything

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class Step(Enum):
    """How far an open wave is. Each name says what was done last."""

    PICKING = "picking"
    PICKED = "picked"
    SEGMENT_CREATED = "segment_created"
    PUSHED = "pushed"
    VERIFIED = "verified"
    DRAFT_READY = "draft_ready"
    LOOKED = "looked"


class Closed(Enum):
    """How a wave ended. What became of its mail, its campaign says."""

    SENT = "sent"
    SENT_LATE = "sent_late"  # a discarded wave that went out after all: mailed and judged, outside the tiers
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a ramp was set up with. Shares are parts per million."""

    tiers: tuple[int, ...]
    prefix: str
    offset: int = 0  # waves that came before this ramp
    thresholds: Thresholds = USUAL
    min_age_ms: int = MIN_AGE_MS
    min_fill_ppm: int = 500_000
    max_refused_ppm: int = 50_000

    def label(self, tier: int) -> str:
        """Return the label of a tier's wave."""
        return label_of(self.prefix, tier + 1 + self.offset)

    def underfilled(self, *, requested: int, picked: int) -> bool:
        """Say whether so few were picked that a person has to agree."""
        return picked * MILLION < self.min_fill_ppm * requested

    def awaits_consent(self, wave: "Wave") -> bool:
        """Say whether far fewer were picked than asked for, and nobody agreed yet; whatever became of the run."""
        few = wave.step is not Step.PICKING and self.underfilled(requested=wave.requested, picked=wave.picked)
        return few and wave.underfilled_by is None

    def too_many_refused(self, *, tried: int, refused: int) -> bool:
        """Say whether the provider refused so many that the wave must stop."""
        return tried >= REFUSED_SAMPLE and refused * MILLION > self.max_refused_ppm * tried


@dataclass(frozen=True, slots=True)
class Facts:
    """The four facts of a ramp."""

    ended: str | None = None  # "complete" or "aborted"
    paused_at: int | None = None
    gate_tripped_at: int | None = None
    needs_operator: str | None = None

    @property
    def active(self) -> bool:
        """Say whether waves may start and go."""
        return self == Facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """A ramp as stored. Times are epoch milliseconds UTC of the store's clock."""

    id: str
    slug: str
    name: str
    connection_id: str
    list: str  # in which its segments are made, at a provider whose segments belong to one
    audience_id: int  # ours: whom it picks from
    plan: Plan
    filters: Mapping[str, Any]  # `locale`, `attributes` that a contact must have, audiences it is `not_in`
    seed: str
    source_campaign: str  # whose approved content it mails
    source_revision: int
    approved_by: str
    approved_at: int
    approved_fingerprint: str
    cron: str | None
    zone: str
    delegated_by: str  # who activated it: in whose name its waves are sent
    facts: Facts
    needs_operator_at: int | None
    ended_at: int | None
    gate_tripped: Mapping[str, object] | None  # the figures that tripped it
    total_waived: Figures | None
    created_at: int
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """A wave as stored."""

    id: str
    ramp_id: str
    tier: int | None  # None: it came before the ramp, by hand
    label: str
    run_id: str
    step: Step
    failed: str | None  # a mark on an open wave: it still holds its ramp
    closed: Closed | None
    requested: int
    picked: int
    underfilled_by: str | None  # who agreed to too few people
    segment_id: str | None
    exported_at: int | None  # since when contacts of ours may be in the segment
    pushing_until: int | None  # until when a lost push may still land
    verified: int | None  # members, by list
    campaign_id: str | None
    by_hand: bool
    broadcast_id: str | None
    sent_at: int | None
    verdict: Verdict | None
    figures: Figures
    figures_at: int | None
    waived: Figures | None
    opened_at: int
    activity_at: int
    closed_at: int | None
    now: int
    since: int = 0  # from when on something of it may exist at the provider
    asked_at: int | None = None  # since when its segment was asked for

    @property
    def marked(self) -> bool:
        """Say whether anything of it may exist at the provider."""
        markers = (self.asked_at, self.exported_at, self.segment_id, self.campaign_id)
        return any(marker is not None for marker in markers)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a wave, by one claim of its step job: what every write of a step repeats."""

    ramp_id: str
    wave_id: str
    run_id: str
    job_id: str
    fence: int
    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a tick decides by, read in one transaction at `now` of the store's clock."""

    facts: Facts
    now: int
    last_sent_at: int | None  # of the newest wave that went
    awaits_figures: bool  # a sent wave has no verdict yet
    next_tier: int | None  # None: the curve is complete
    open_label: str | None  # of the wave that is open
    idle_ms: int = 0  # since its run did something
    delegated: bool = True  # whoever activated it may still deliver


def decide(moment: Moment, plan: Plan) -> str:
    """Return a tick's outcome; `start` when the next wave may be claimed. The first hit decides."""
    facts = moment.facts
    since = None if moment.last_sent_at is None else moment.now - moment.last_sent_at
    for outcome, hit in (
        ("ended", facts.ended is not None),
        ("paused", facts.paused_at is not None),
        ("gate_tripped", facts.gate_tripped_at is not None),
        ("needs_operator", facts.needs_operator is not None),
        ("awaiting_age", since is not None and since < plan.min_age_ms),
        ("awaiting_stats", moment.awaits_figures),
        ("complete", moment.next_tier is None and moment.open_label is None),
        ("stalled", moment.open_label is not None and moment.idle_ms >= IDLE_MS),
        ("wave_in_flight", moment.open_label is not None),
        ("delegation_lost", not moment.delegated),
    ):
        if hit:
            return outcome
    return "start"


def label_of(prefix: str, number: int) -> str:
    """Return a wave's label."""
    return f"{prefix}-{number}"


def require_slug(text: str, *, field: str) -> str:
    """Return the text, or raise `InvalidInput`: it becomes part of names at the provider."""
    if not _SLUG.fullmatch(text):
        raise InvalidInput(
            f"The {field} is 1 to 40 of a-z, 0-9 and -, beginning and ending in a letter or digit.",
            todo="Use one such as winter.",
        )
    return text


def require_plan(plan: Plan, *, allow_small_tiers: bool) -> Plan:
    """Return the plan, or raise `InvalidInput` for one that could never run, or never be judged."""
    require_slug(plan.prefix, field="label prefix")
    _require_tiers(plan.tiers, allow_small=allow_small_tiers)
    if type(plan.offset) is not int or not 0 <= plan.offset <= MAX_OFFSET:
        raise InvalidInput(
            f"The offset is the number of waves that came before: 0 to {MAX_OFFSET:,}.", todo="Give it so."
        )
    if len(plan.label(len(plan.tiers) - 1)) > MAX_LABEL:
        raise InvalidInput(f"Labels would be longer than {MAX_LABEL} characters.", todo="Shorten the prefix.")
    for name, ppm in (
        ("bounce threshold", plan.thresholds.bounce_ppm),
        ("complaint threshold", plan.thresholds.complaint_ppm),
    ):
        if not 0 < ppm < MILLION:
            raise InvalidInput(f"The {name} is a share between 0 and 1, such as 0.04.", todo="Give it so.")
    if not 0 <= plan.min_fill_ppm <= MILLION or not 0 <= plan.max_refused_ppm < MILLION:
        raise InvalidInput("The shares for filling and refusals are between 0 and 1.", todo="Give them so.")
    if not 0 <= plan.min_age_ms <= 30 * 24 * HOUR_MS:
        raise InvalidInput("The least age between waves is 0 to 720 hours.", todo="Give it so.")
    return plan


def _require_tiers(tiers: tuple[int, ...], *, allow_small: bool) -> None:
    if not tiers or len(tiers) > MAX_TIERS:
        raise InvalidInput(f"A ramp has 1 to {MAX_TIERS} tiers.", todo="Give them such as 500,1500,5000.")
    if any(type(size) is not int or not 0 < size <= MAX_TIER for size in tiers):
        raise InvalidInput("Each tier is a whole number of people, more than 0.", todo="Correct the tiers.")
    if min(tiers) < SAMPLE and not allow_small:
        raise InvalidInput(
            f"A tier of fewer than {SAMPLE} people never gives the gate enough figures.",
            todo="Make it bigger, or add --allow-small-tiers and waive each such wave by hand.",
        )
