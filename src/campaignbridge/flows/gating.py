"""Judging the gate: the figures of every wave that went, and of the ramp as a whole.

Figures come from the provider's report and from its signed events, the higher of each: both count people, neither
counts anybody who isn't there, and a report that is late can't hide a complaint. Reading contacts the provider and
changes nothing there. Figures only ever rise; each wave is judged again at every tick, and before each send, so that
a small late wave can't hide a bad one. A trip records what was measured and is never cleared by better figures.
"""

from dataclasses import asdict, dataclass

from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.gate import Figures, Verdict, judge
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Accepted, Report
from campaignbridge.domain.ramp import STATS_PATIENCE_MS, Closed, Ramp, Wave
from campaignbridge.flows.leaving import unstoppable
from campaignbridge.flows.mirroring import remote_id_of
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.stepping import wake_open_wave
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.unit import Unit

READING_MS = 60_000  # of one judgement, before the last report is asked for
READ_DAYS_MS = 14 * 24 * 3_600_000  # figures hardly move after that, and every reading is a request
ON_ITS_WAY = frozenset({Closed.SENT, Closed.SENT_LATE})


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judgement came to."""

    awaits: bool  # a wave that went has no verdict yet
    tripped: bool


def judge_ramp(wiring: Wiring, ramp_id: str) -> Judged:
    """Read figures, judge every wave and the total, and record what follows."""
    with wiring.store.reading() as unit:
        ramp = unit.ramps.get(ramp_id)
        waves = [wave for wave in unit.waves.of_ramp(ramp_id) if wave.closed in ON_ITS_WAY]
        remotes = {wave.id: remote_id_of(unit, wave) for wave in waves}
        connection = unit.accounts.find(ramp.connection_id)
    assert connection is not None, "a ramp has its connection"
    read = _read(wiring, connection, [(wave, remotes[wave.id]) for wave in waves])
    with wiring.store.unit() as unit:
        # Held, and then everything as it is now: somebody may have waived, or judged, meanwhile.
        unit.ramps.hold(ramp_id)
        waves = [wave for wave in unit.waves.of_ramp(ramp_id) if wave.closed in ON_ITS_WAY]
        told = unit.fates.figures([wave.id for wave in waves])
        judged = _record(unit, unit.ramps.get(ramp_id), waves, _with_events(waves, read, told))
        end_missing(wiring, unit, unit.ramps.get(ramp_id))
        return judged


def end_missing(wiring: Wiring, unit: Unit, ramp: Ramp) -> None:
    """End the call for missing figures once none are missing any more: they came, or a person waived them."""
    waves = unit.waves.of_ramp(ramp.id)
    if ramp.facts.needs_operator != "stats_missing" or any(_is_missing(wave) for wave in waves):
        return
    unit.ramps.operator_done(ramp.id, "stats_missing")
    unit.ramps.log(ramp.id, "stats_complete")
    if any(one.closed is None and one.failed is not None for one in waves):
        unit.ramps.need_operator(ramp.id, "wave_failed")  # it failed while the figures stood in its way
    wake_open_wave(wiring, unit, ramp)


def _is_missing(wave: Wave) -> bool:
    late = wave.sent_at is not None and wave.now - wave.sent_at >= STATS_PATIENCE_MS
    return late and wave.verdict in (None, Verdict.WAITING)


def _with_events(
    waves: list[Wave], read: dict[str, Figures | None], told: dict[str, Figures]
) -> dict[str, Figures]:
    """Return the higher of what report and events say of each wave.

    Events alone make no sample unless they tell of deliveries, too: of Mailchimp's only bounces and complaints are
    heard, and those of a wave whose report isn't there yet would look as if nobody had got it.
    """
    found = {}
    for wave in waves:
        known = wave.figures.at_least(read.get(wave.id) or Figures())
        events = told.get(wave.id, Figures())
        speaks = known.delivered > 0 or _deliveries(events)
        found[wave.id] = known.at_least(events) if speaks else known
    return found


def _deliveries(events: Figures) -> bool:
    """Say whether events tell of mail that arrived; whoever complained had got it, but that alone tells nothing."""
    return events.delivered > events.complained


def _read(
    wiring: Wiring, connection: Connection, waves: list[tuple[Wave, str | None]]
) -> dict[str, Figures | None]:
    """Read the provider's reports, of the newest waves first, for as long as there is time."""
    wanted = [(wave, remote_id) for wave, remote_id in reversed(waves) if _worth_reading(wave)]
    if not wanted:
        return {}
    try:
        reader = open_reader(wiring, connection)
    except Refusal:  # say for want of its key: what is known is judged
        return {}
    began, read = wiring.clock.mark(), {}
    for wave, remote_id in wanted:
        if wiring.clock.since_ms(began) > READING_MS:
            break
        read[wave.id] = _figures(reader, remote_id)
    return read


def _worth_reading(wave: Wave) -> bool:
    return wave.sent_at is not None and wave.now - wave.sent_at < READ_DAYS_MS


def _figures(reader: Reader, remote_id: str | None) -> Figures | None:
    if remote_id is None:
        return None
    outcome = reader.report(remote_id, limit_ms=READ_LIMIT_MS)
    return figures_of(outcome.value) if isinstance(outcome, Accepted) else None


def figures_of(report: Report) -> Figures | None:
    """Return the gate's figures of a report; None when it doesn't have them."""
    hard, soft = report.hard_bounces, report.soft_bounces
    if report.delivered is None or hard is None:
        return None
    return Figures(report.delivered, hard + (soft or 0), report.complaints or 0)


def _record(unit: Unit, ramp: Ramp, waves: list[Wave], known: dict[str, Figures]) -> Judged:
    awaits, worst, total, total_judged = False, None, Figures(), Figures()
    for wave in waves:
        figures = known[wave.id]
        verdict = judge(figures, ramp.plan.thresholds, waived=wave.waived)
        unit.waves.judged(wave.id, verdict, figures)
        total += figures
        if verdict is not Verdict.WAIVED:
            total_judged += figures
        if verdict is Verdict.TRIPPED and worst is None:
            worst = {"wave": wave.label, **asdict(figures)}
        if verdict is Verdict.WAITING:
            awaits = True
            _miss(unit, ramp, wave)
    if (
        worst is None
        and judge(total_judged, ramp.plan.thresholds, waived=ramp.total_waived) is Verdict.TRIPPED
    ):
        worst = {"wave": None, **asdict(total)}
    if worst is not None and unit.ramps.trip(ramp.id, worst):
        leaving = unstoppable(unit, ramp)
        facts = {**worst, "leaving_wave": leaving.wave, "leaving": leaving.people, "until": leaving.until}
        unit.ramps.log(ramp.id, "gate_tripped", **facts)
        unit.events.add("ramp_gate_tripped", campaign_id=None, actor=None, ramp=ramp.slug, **facts)
    return Judged(awaits, worst is not None)


def _miss(unit: Unit, ramp: Ramp, wave: Wave) -> None:
    assert wave.sent_at is not None, "a wave that went has its time"
    if wave.now - wave.sent_at >= STATS_PATIENCE_MS and unit.ramps.need_operator(ramp.id, "stats_missing"):
        unit.ramps.log(ramp.id, "stats_missing", wave_id=wave.id)
