"""A ramp as it is shown: what is the matter, why, what comes by itself, its waves, and the one command to run."""

from typing import TYPE_CHECKING

from campaignbridge.cli import terminal
from campaignbridge.cli.moments import age, clock_time, dated
from campaignbridge.cli.portrait import label_of, place_of, provider_label
from campaignbridge.cli.ramp_words import FAILED, HELP, LABELS, MARKS, STEPS, VERDICTS, WAITS, failed_words

if TYPE_CHECKING:
    from campaignbridge.domain.gate import Figures
    from campaignbridge.domain.ramp import Ramp, Wave
    from campaignbridge.flows.ramp_views import RampView

MILLION = 1_000_000
_HEADS = ("wave", "planned", "sent", "bounced", "complaints", "state")


def lines(view: "RampView") -> list[str]:
    """Return a ramp as people are shown it."""
    known, ramp = view.known, view.ramp
    place = f"{known.connection.label} ({provider_label(known.connection)}, {place_of(known.connection)})"
    rows = [
        ("Why", why(view)),
        ("Next", next_step(view)),
        ("Held", _held(view)),
        ("Also", _other_facts(view)),
        *_of_wave(view),
        ("There", _there(view)),
    ]
    found = [f"{terminal.shortened(ramp.name, 28)}   {ramp.slug}   {place}", headline(view), ""]
    found += terminal.facts([row for row in rows if row[1]], column=8)
    found += ["", *table(view), f" mailed {view.mailed:,} of {sum(ramp.plan.tiers):,} planned", ""]
    found += do_lines(view)
    looked = _look(view)
    found += [f"Look    {looked}"] if looked else []
    code = help_code(view)
    return [*found, f"Help    campaignbridge help {code}"] if code else found


def headline(view: "RampView") -> str:
    """Return `! STOPPED BY THE GATE   since 28 Nov 15:10 (23 h)`."""
    unsure = view.ramp.facts.needs_operator == "send_unconfirmed" and view.state == "needs_operator"
    glyph = "? " if unsure else MARKS.get(view.state, "")
    since = f"since {dated(view.since, seconds=False)} ({age(view.ramp.now - view.since)})"
    return f"{glyph}{LABELS[view.state].upper()}   {since}"


def why(view: "RampView") -> str:
    """Return one or two sentences on why it is so."""
    ramp, wave = view.ramp, view.known.opened
    match view.state:
        case "complete":
            return "Every wave has gone, or nobody was left to mail."
        case "aborted":
            return "Somebody ended it." + (f" {wave.label} is not settled yet." if wave else "")
        case "gate_tripped":
            return _tripped(ramp)
        case "needs_operator":
            return _needs(view)
        case "paused":
            return _paused(view)
    if wave is not None:
        return _going(view, wave)
    last = view.known.last
    return WAITS.get(str(last["outcome"]) if last else "", "Nothing stands against it.")


def _tripped(ramp: "Ramp") -> str:
    from campaignbridge.domain.gate import Figures

    told = dict(ramp.gate_tripped or {})
    figures = Figures(*(int(str(told.get(name, 0))) for name in ("delivered", "bounced", "complained")))
    limits, parts = ramp.plan.thresholds, []
    if figures.bounced * MILLION > limits.bounce_ppm * figures.delivered:
        parts.append(_over(figures.bounced, "bounced", figures, limits.bounce_ppm))
    if figures.complained * MILLION > limits.complaint_ppm * figures.delivered:
        parts.append(_over(figures.complained, "complained", figures, limits.complaint_ppm))
    which = terminal.clean(told.get("wave") or "All waves together")
    return f"{which}: {'; '.join(parts)}."


def _over(count: int, word: str, figures: "Figures", limit_ppm: int) -> str:
    if count >= figures.delivered:
        return f"{count:,} of {figures.delivered + figures.bounced:,} {word}, limit {percent(limit_ppm)}"
    rate = percent(count * MILLION // figures.delivered)
    return f"{count:,} {word}, {figures.delivered:,} delivered = {rate}, limit {percent(limit_ppm)}"


def _needs(view: "RampView") -> str:
    from campaignbridge.domain.need import RAMPS

    reason, wave = view.ramp.facts.needs_operator or "", view.known.opened
    told = RAMPS.get(reason, f"It needs an operator: {reason.replace('_', ' ')}.").format(
        provider=provider_label(view.known.connection), wave=wave.label if wave else "Its wave"
    )
    if wave is not None and wave.failed is not None and reason != "pool_drained":
        told += f" {wave.label}: {failed_words(wave.failed)}."
    if reason == "pool_drained" and wave is not None:
        told += f" {wave.picked:,} instead of {wave.requested:,}."
    return told


def _paused(view: "RampView") -> str:
    last = view.known.last
    if last is not None and last["outcome"] == "paused" and last["data"].get("reason"):
        return f"{terminal.clean(last['actor'] or 'Somebody')} paused it: {terminal.clean(last['data']['reason'])}"
    return "Somebody paused it, or the gate had stopped it; ramps log says more."


def _going(view: "RampView", wave: "Wave") -> str:
    if wave.failed is not None:
        return f"{wave.label} can't go on: {failed_words(wave.failed)}."
    told = f"{wave.label}: {STEPS[wave.step.value]}"
    if wave.step.value == "segment_created":
        counts = view.known.counts
        told += f", {counts.get('in_segment', 0):,} of {wave.picked:,}"
        if counts.get("refused"):
            told += f", {counts['refused']:,} refused"
    return f"{told}."


def next_step(view: "RampView") -> str:
    """Return what happens by itself, and when."""
    known, now = view.known, view.ramp.now
    if view.state in ("complete", "aborted"):
        return "Nothing by itself."
    if view.state == "gate_tripped":
        read = f", next {clock_time(known.tick['run_at'], now, seconds=False)}" if known.tick else ""
        return f"Nothing by itself. Figures are still read{read}."
    campaign = known.delivery.campaign if known.delivery else None
    if campaign is not None and campaign.open_attempt is not None and campaign.look_at is not None:
        provider = provider_label(known.connection)
        return f"We read it at {provider} at {clock_time(campaign.look_at, now)}. Reading never sends."
    if view.state != "active" or (known.opened is not None and known.opened.failed is not None):
        return "Nothing by itself."
    if known.opened is not None:
        return _next_of_step(view)
    return _next_of_tick(view)


def _next_of_step(view: "RampView") -> str:
    step, now = view.known.step, view.ramp.now
    if step is None:
        return "Continues as soon as a worker finds it without a job."
    if step["state"] == "claimed":
        return (
            f"Runs now; another worker continues the same run after {clock_time(step['lease_until'], now)}."
        )
    if step["run_at"] <= now:
        return f"Continues with the next worker (due since {clock_time(step['run_at'], now)})."
    return f"Continues at {clock_time(step['run_at'], now)}."


def _next_of_tick(view: "RampView") -> str:
    tick, now, following = view.known.tick, view.ramp.now, view.next_wave
    if tick is None:
        return f"Nothing by itself: it has no tick to come. ramps run {view.ramp.slug} ticks it."
    at = (
        "As soon as a worker runs"
        if tick["run_at"] <= now
        else clock_time(tick["run_at"], now, seconds=False)
    )
    if following is None:
        return f"{at}: completes, if every wave passes."
    return f"{at}: {following[0]}, {following[1]:,} people, if nothing stands against it."


def _held(view: "RampView") -> str:
    wave, step, now = view.known.opened, view.known.step, view.ramp.now
    if wave is None:
        return "by nobody"
    told = f"by {wave.label}, open for {age(now - wave.opened_at)}"
    if step is not None and step["state"] == "claimed":
        told += f", worked on by {terminal.clean(step['holder'])}"
    if view.idle_ms is not None:
        told += f". ! Nothing has happened for {age(view.idle_ms)}"
    return told


def _other_facts(view: "RampView") -> str:
    """Return the facts that stand beside the one in the headline; each is cleared by its own command."""
    ramp, facts = view.ramp, view.ramp.facts
    told = []
    if facts.needs_operator is not None and view.state not in ("needs_operator", "complete", "aborted"):
        told.append(f"needs an operator: {facts.needs_operator.replace('_', ' ')}")
    if facts.paused_at is not None and view.state != "paused" and facts.ended is None:
        told.append(f"paused since {clock_time(facts.paused_at, ramp.now, seconds=False)}")
    return "; ".join(told)


def _of_wave(view: "RampView") -> list[tuple[str, str]]:
    """Return every marker of the open wave: what may exist of it elsewhere."""
    wave, now = view.known.opened, view.ramp.now
    if wave is None:
        return []
    marks = [f"{wave.label}, run {wave.run_id}, {STEPS[wave.step.value]}"]
    marks.append(f"picked {wave.picked:,} of {wave.requested:,}")
    if wave.segment_id is not None:
        marks.append(f"segment {terminal.clean(wave.segment_id)}")
    if wave.exported_at is not None:
        marks.append(f"people in it since {clock_time(wave.exported_at, now)}")
    if wave.pushing_until is not None and wave.pushing_until > now:
        marks.append(f"more may land until {clock_time(wave.pushing_until, now)}")
    if wave.verified is not None:
        marks.append(f"{wave.verified:,} verified")
    if not wave.marked:
        marks.append("nothing of it exists at the provider")
    rows = [("Wave", "; ".join(marks))]
    if view.known.delivery is not None:
        campaign = view.known.delivery.campaign
        label = label_of(
            campaign.state.value,
            stopped=campaign.stopped_reason is not None,
            open_attempt=campaign.open_attempt is not None,
            provider=provider_label(view.known.connection),
        )
        rows.append(("", f"campaign {campaign.id}: {label}"))
    return rows


def _there(view: "RampView") -> str:
    """Return what the provider has of the open wave, and when that was read."""
    there, now, provider = view.there, view.ramp.now, provider_label(view.known.connection)
    if there is None:
        remote = view.known.delivery.remote if view.known.delivery else None
        if remote is None or remote.observed_at is None:
            return ""
        seen = f"{provider} called the draft {terminal.clean(remote.raw_status)}"
        return f"{seen}, read {clock_time(remote.observed_at, now)} ({age(now - remote.observed_at)} ago)"
    segment = {"none": "no segment", "gone": "segment gone", "unread": "segment not read"}.get(there.segment)
    if segment is None:
        segment = "segment there" if there.members is None else f"segment with {there.members:,} people"
    draft = {"none": "no draft", "gone": "draft gone", "unread": "draft not read"}.get(there.draft.value)
    if draft is None:
        people = "" if there.recipients is None else f", {there.recipients:,} recipients"
        draft = f"draft called {terminal.clean(there.status)}{people}"
    failed = f". {provider}: {terminal.clean(there.problem)}" if there.problem else ""
    return f"{provider} has: {segment}; {draft}; read just now{failed}"


def table(view: "RampView") -> list[str]:
    """Return a line for each wave, and for each that is still to come."""
    from campaignbridge.flows.ramp_tick import current_tier

    ramp, waves = view.ramp, view.known.waves
    rows = [_HEADS, *(_row(ramp, wave) for wave in waves)]
    opened = view.known.opened
    following = current_tier(list(waves)) + 1 + (1 if opened is not None else 0)
    rows += [
        (ramp.plan.label(tier), f"{ramp.plan.tiers[tier]:,}", "-", "-", "-", "not started")
        for tier in range(following, len(ramp.plan.tiers))
    ]
    widths = [max(len(row[number]) for row in rows) for number in range(len(_HEADS))]
    left = (0, 3, 4, 5)
    return [
        " "
        + "   ".join(
            f"{cell:<{width}}" if number in left else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(ramp: "Ramp", wave: "Wave") -> tuple[str, ...]:
    from campaignbridge.flows.ramp_advice import people_of

    figures, limits = wave.figures, ramp.plan.thresholds
    went = wave.sent_at is not None
    judged = went and figures.delivered + figures.bounced > 0
    return (
        wave.label,
        f"{wave.requested:,}" if wave.requested else "-",
        f"{people_of(wave):,}" if went else "-",
        _rate(figures.bounced, figures, limits.bounce_ppm) if judged else "-",
        _rate(figures.complained, figures, limits.complaint_ppm) if judged else "-",
        wave_state(wave),
    )


def _rate(count: int, figures: "Figures", limit_ppm: int) -> str:
    over = " !" if count * MILLION > limit_ppm * figures.delivered else ""
    if not figures.delivered or count >= figures.delivered:
        return f"{count:,} of {figures.delivered + figures.bounced:,}{over}"
    return f"{count:,}  {percent(count * MILLION // figures.delivered)}{over}"


def wave_state(wave: "Wave") -> str:
    """Return a wave's state in a few words."""
    if wave.closed is not None and wave.closed.value == "discarded":
        return "written off"
    if wave.sent_at is None:
        return FAILED.get(wave.failed, "failed") if wave.failed else STEPS[wave.step.value]
    verdict = f", {VERDICTS[wave.verdict.value]}" if wave.verdict else ""
    late = " late" if wave.closed is not None and wave.closed.value == "sent_late" else ""
    return f"sent{late} {dated(wave.sent_at, seconds=False)}{verdict}"


def percent(ppm: int) -> str:
    """Return a share as people read it: `5.2 %`, `0.04 %`, `0 %`."""
    if not ppm:
        return "0 %"
    return f"{ppm / 10_000:.2f} %" if ppm < 10_000 else f"{ppm / 10_000:.1f} %".replace(".0 %", " %")


def _look(view: "RampView") -> str:
    """Return the command that lists who bounced or complained, for a gate that one wave tripped."""
    wave = dict(view.ramp.gate_tripped or {}).get("wave") if view.state == "gate_tripped" else None
    named = f" --wave {terminal.clean(wave)}" if wave else ""
    return (
        f"campaignbridge events list --ramp {view.ramp.slug}{named}" if view.state == "gate_tripped" else ""
    )


def do_lines(view: "RampView") -> list[str]:
    """Return the recommended command with what it may do at most, or that nothing has to be done."""
    advice = view.advice
    if advice.command is None:
        found = terminal.facts([("Do", advice.effect)], column=8)
    else:
        found = terminal.facts([("First", advice.first)], column=8) if advice.first else []
        pasted = terminal.pasteable(f"campaignbridge {advice.command}")
        found += [f"{'' if number else 'Do':<8}{line}" for number, line in enumerate(pasted)]
        found += terminal.facts([("", advice.effect)], column=8)
    if advice.then:
        then = advice.then if advice.then.startswith("If ") else f"campaignbridge {advice.then}"
        found += terminal.facts([("Then", then)], column=8)
    return found


def help_code(view: "RampView") -> str | None:
    """Return the code of the help page on what is the matter, if anything is."""
    wave = view.known.opened
    if view.state == "gate_tripped":
        return "gate_tripped"
    failed = wave.failed if wave is not None else None
    if failed in FAILED:
        return HELP.get(failed or "", failed)
    if view.state == "needs_operator":
        return view.ramp.facts.needs_operator
    if failed is not None:
        return "wave_failed"
    return "delegation_lost" if not view.delegated and view.state == "active" else None
