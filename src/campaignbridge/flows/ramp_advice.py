"""The one command that an operator should run next for a ramp, and the most that it may do: a pure function of facts.

1. What is in doubt comes first, and is only ever read. 2. Then what nobody can clear but a person: the gate, a wave
that can't go on, missing figures. 3. Then a pause. 4. What goes on by itself needs no command.

A recovery that depends on what the provider has now is named only after a reading, and withheld when that fails.
Nothing is advised whose own precondition would refuse it, and no state is without a way out.
"""

from dataclasses import dataclass, replace
from enum import Enum

from campaignbridge.domain.campaign import State
from campaignbridge.domain.ledger import Operation
from campaignbridge.domain.need import COMMANDS, READ
from campaignbridge.domain.provider import RemoteStatus
from campaignbridge.domain.ramp import IDLE_MS, Facts, Wave

AGAIN_IS_VAIN = frozenset(
    {
        "too_many_refused",
        "nobody_in_segment",
        "nobody_left",
        "forgotten_wave",
        "campaign_cancelled",
        "campaign_failed",
    }
)
WENT = frozenset({RemoteStatus.SCHEDULED, RemoteStatus.SENDING, RemoteStatus.SENT, RemoteStatus.CANCELLING})
LATE_MS = 5 * 60_000  # a job that is due for so long has no worker


class Draft(Enum):
    """What a reading found of a wave's draft at the provider."""

    NONE = "none"  # none of ours was ever made there
    DRAFT = "draft"
    WENT = "went"  # scheduled, sending or sent
    OTHER = "other"  # stopped there, or a state that we don't know
    GONE = "gone"
    UNREAD = "unread"  # no usable answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A wave's campaign, as far as an advice depends on it."""

    id: str
    state: State
    asked: Operation | None = None  # the request that has no confirmed outcome
    window_end: int = 0  # of that request: before it, no reading proves anything
    stopped: str | None = None  # why nobody looks any more
    remote_id: str | None = None
    sendable: bool = True  # as far as its own history tells
    delivered: bool = False  # a send of this draft was ever issued
    mailed: bool = False  # as far as it was read: somebody may have been mailed by it


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that an advice depends on."""

    slug: str
    connection: str  # its label
    facts: Facts
    now: int
    wave: Wave | None = None  # the open one
    delivery: Delivery | None = None  # of the open wave
    next_label: str | None = None  # of the wave after the last one that went; None: the curve is complete
    next_count: int = 0
    unjudged: str | None = None  # the label of a wave that went and has no verdict
    last_sent: str | None = None  # the label of the newest wave that went
    too_young_until: int | None = None  # the last wave is to be older before the next one
    recurring: bool = True  # ticks come by themselves
    delegated: bool = True
    job_at: int | None = None  # when the next step, or else the next tick, is due
    retires: bool = True  # the provider can make a draft unsendable
    draft: Draft | None = None  # None: nobody has read it
    underfilled: bool = False  # far fewer were picked than the open wave should mail, and nobody agreed yet
    left: tuple[str, str] | None = (
        None  # of a wave that was written off: its label, and a draft that could be sent
    )


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do. Without a command nothing has to be done, or something outside of this program (`first`)."""

    command: str | None
    effect: str  # one sentence, with numbers
    people: int = 0  # the most that may be mailed because of it
    first: str | None = None  # to be done elsewhere before
    then: str | None = None  # the command after it
    withheld: bool = False  # it depends on a reading that failed


def advise(at: Situation) -> Advice:
    """Return the one thing to do next."""
    if at.wave is not None and at.delivery is not None and _in_doubt(at.delivery):
        return _settle(at, at.delivery)
    if at.facts.ended is not None:
        return _ended(at)
    if at.facts.gate_tripped_at is not None:
        effect = "It waives these figures and mails nobody; the ramp stays paused."
        after = None if at.facts.needs_operator else f'ramps resume {at.slug} --reason "..."'
        return Advice(f'ramps clear-gate {at.slug} --reason "..."', effect, then=after)
    if at.facts.needs_operator is not None or (at.wave is not None and at.wave.failed is not None):
        return _operator(at)
    if at.facts.paused_at is not None:
        return _resume(at)
    return _going(at)


def people_of(wave: Wave) -> int:
    """Return the most people that a wave may mail from where it is."""
    return wave.verified or wave.picked or wave.requested


def _in_doubt(delivery: Delivery) -> bool:
    """Say whether a delivery may have been asked for, and nobody knows yet what became of it."""
    if delivery.asked is Operation.CREATE:
        return delivery.stopped is not None  # nobody is mailed by a draft, and the watch settles it
    return delivery.asked is not None or delivery.state in (State.UNKNOWN, State.SCHEDULED)


def _settle(at: Situation, delivery: Delivery) -> Advice:
    assert at.wave is not None
    if delivery.asked is not None and at.now < delivery.window_end:
        return Advice(None, "The request may still take effect; it is read by itself when that is over.")
    wave = at.wave
    effect = f"It only reads. {wave.label} may have mailed {people_of(wave):,} people already."
    if delivery.stopped is None:
        return Advice(READ.format(target=delivery.id), effect)
    if delivery.stopped in COMMANDS:
        command = COMMANDS[delivery.stopped].format(target=delivery.id, label=at.connection)
        return Advice(command, "Checks go on with a key that works. It mails nobody.")
    settle = f'campaigns resolve {delivery.id} --as sent --evidence "..."'
    return Advice(READ.format(target=delivery.id), effect, then=f"If that stays so, with evidence: {settle}")


def _ended(at: Situation) -> Advice:
    if at.wave is None and at.left is not None:
        label, draft = at.left
        command = f'ramps abort {at.slug} --reason "..."'
        effect = f"It makes the draft of {label} unsendable, or reads that it is gone, and mails nobody."
        first = f"Delete the draft {draft} in the provider's own pages, if it is still there."
        return Advice(command, effect, first=first)
    if at.wave is None:
        return Advice(None, "Nothing has to be done: it has ended.")
    return _write_off(at, f"{at.wave.label} has not gone, and can't any more: its ramp has ended.")


def _operator(at: Situation) -> Advice:
    reason = at.facts.needs_operator
    label = at.unjudged or at.last_sent
    if reason == "stats_missing" and label is not None:
        effect = f"The next wave no longer waits for figures of {label}; it mails nobody itself."
        return Advice(f'ramps waive {at.slug} {label} --reason "..."', effect)
    if at.wave is None:
        return _give_up(at, "Its next wave can't be started.")
    return _recover(at, at.wave)


def _recover(at: Situation, wave: Wave) -> Advice:
    if at.underfilled:
        command = f'ramps resume-wave {at.slug} --accept-underfilled --reason "..."'
        effect = f"{wave.label} may mail {wave.picked:,} people, instead of {wave.requested:,}."
        return Advice(command, effect, wave.picked)
    delivery = at.delivery
    if wave.failed == "went_to_unknown" and delivery is None:
        first = f"Find the campaign of {wave.label} in the provider's own pages: its id, and to whom it went."
        return _went_by_hand(at, wave, first, named=" --broadcast-id ID")
    if delivery is not None and delivery.remote_id is not None and at.draft is None:
        return _look(at)
    if at.draft is Draft.UNREAD:
        return _withheld(at)
    if at.draft in (Draft.WENT, Draft.OTHER) and delivery is not None:
        return _went(at, wave, delivery)
    if wave.failed in AGAIN_IS_VAIN or (delivery is not None and _is_dead(at, delivery)):
        return _write_off(at, f"{wave.label} mails nobody, and its people are left out of later waves.")
    effect = f"{wave.label} goes on where it was, once: it may mail {people_of(wave):,} people."
    if not at.facts.active and at.facts.paused_at is not None:
        effect += " Not before the ramp is resumed."
    return Advice(f'ramps resume-wave {at.slug} --reason "..."', effect, people_of(wave))


def _is_dead(at: Situation, delivery: Delivery) -> bool:
    """Say whether this campaign can't be sent any more."""
    return (
        delivery.state in (State.CANCELLED, State.FAILED) or not delivery.sendable or at.draft is Draft.GONE
    )


def _look(at: Situation) -> Advice:
    effect = (
        "It reads segment and draft at the provider and changes nothing; what comes next depends on that."
    )
    return Advice(f"ramps status {at.slug} --read", effect)


def _withheld(at: Situation) -> Advice:
    effect = "The provider gave no usable answer, and the recommended command depends on it. Try again later."
    return Advice(f"ramps status {at.slug} --read", effect, withheld=True)


def _went(at: Situation, wave: Wave, delivery: Delivery) -> Advice:
    """Let the provider's own record decide what became of it, or a person where we can't follow that record."""
    if delivery.state in (State.APPROVED, State.PROVIDER_DRAFT):
        effect = f"It only reads, and records what the provider shows: {wave.label} may have gone from there."
        return Advice(READ.format(target=delivery.id), effect)
    if at.draft is Draft.WENT or delivery.mailed:
        return _went_by_hand(at, wave)
    return _give_up(at, f"The provider shows {wave.label} as stopped, so it can't be written off alone.")


def _went_by_hand(at: Situation, wave: Wave, first: str | None = None, *, named: str = "") -> Advice:
    people = people_of(wave)
    effect = (
        f"It records that {wave.label} went out, and mails nobody; its {people:,} people count as mailed."
    )
    return Advice(f'ramps recover {at.slug} --manual-finished{named} --reason "..."', effect, first=first)


def _write_off(at: Situation, why: str) -> Advice:
    command = f'ramps recover {at.slug} --discard-and-rotate --reason "..."'
    wave, delivery = at.wave, at.delivery
    assert wave is not None, "there is a wave to write off"
    if delivery is None or delivery.remote_id is None:
        return Advice(command, why)
    match at.draft:
        case None:
            return _look(at)
        case Draft.UNREAD:
            return _withheld(at)
        case Draft.WENT | Draft.OTHER:
            return _went(at, wave, delivery)
        case Draft.GONE if delivery.mailed:
            return _went_by_hand(at, wave)
        case Draft.GONE if delivery.delivered:
            return _gone_after_a_send(at, wave, delivery)
        case Draft.DRAFT if not at.retires and delivery.delivered:
            return _give_up(at, f"A send of {wave.label} was asked for, so it can't be written off alone.")
        case Draft.DRAFT if not at.retires:
            first = (
                f"Delete the draft {delivery.remote_id} in the provider's own pages: from here it can't be."
            )
            look = f"ramps status {at.slug} --read"
            return Advice(look, f"It reads that the draft is gone. {why}", first=first, then=command)
        case _:
            return Advice(command, f"{why} Its draft is made unsendable first.")


def _gone_after_a_send(at: Situation, wave: Wave, delivery: Delivery) -> Advice:
    """Ask for evidence from elsewhere: a draft that is gone after a send was asked for may have mailed people."""
    if delivery.state in (State.APPROVED, State.PROVIDER_DRAFT) and delivery.stopped is None:
        return Advice(READ.format(target=delivery.id), "It only reads, and records that the draft is gone.")
    first = f"Find out whether {wave.label} went: from the provider's activity log, or a mail that arrived."
    advice = _went_by_hand(at, wave, first)
    return replace(advice, then=f'If it did not go: ramps abort {at.slug} --reason "..."')


def _give_up(at: Situation, why: str) -> Advice:
    if at.facts.ended is not None:
        return Advice(None, f"{why} The ramp has ended, and nothing more goes out.")
    effect = f"{why} It ends the ramp and mails nobody; a new one begins with --exclude-ramp {at.slug}."
    return Advice(f'ramps abort {at.slug} --reason "..."', effect)


def _resume(at: Situation) -> Advice:
    command = f'ramps resume {at.slug} --reason "..."'
    if at.wave is not None:
        people = people_of(at.wave)
        return Advice(command, f"{at.wave.label} goes on at once: it may mail {people:,} people.", people)
    if at.next_label is None:
        return Advice(command, "No wave is left: the next tick completes the ramp. Nobody is mailed.")
    if not at.recurring:
        return Advice(
            command,
            f"It starts nothing by itself. {at.next_label} comes next, with {at.next_count:,} people.",
            then=f"ramps run {at.slug}",
        )
    effect = f"Nobody is mailed at once; a later tick may start {at.next_label}: {at.next_count:,} people."
    return Advice(command, effect, at.next_count)


def _going(at: Situation) -> Advice:
    if at.wave is not None:
        late = at.job_at is None or at.now - at.job_at >= LATE_MS
        if late and at.now - at.wave.activity_at >= IDLE_MS:
            people = people_of(at.wave)
            effect = (
                f"Another worker goes on with the same run: {at.wave.label} may mail {people:,} people, once."
            )
            return Advice("worker", effect, people)
        return Advice(None, f"Nothing has to be done: {at.wave.label} goes on by itself.")
    if not at.delegated:
        effect = "Who set it up may not deliver what they approved. It ends the ramp and mails nobody."
        return Advice(f'ramps abort {at.slug} --reason "..."', effect)
    if at.recurring:
        return Advice(None, "Nothing has to be done: the next tick comes by itself.")
    if at.too_young_until is not None:
        return Advice(
            None, "Nothing has to be done before the last wave is old enough.", then=f"ramps run {at.slug}"
        )
    if at.next_label is None:
        return Advice(f"ramps run {at.slug}", "No wave is left: it completes the ramp and mails nobody.")
    effect = f"If the gate passes, it starts {at.next_label}: it may mail {at.next_count:,} people."
    return Advice(f"ramps run {at.slug}", effect, at.next_count)
