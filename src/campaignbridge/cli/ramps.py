"""`ramps`: mailing a big audience in growing waves. Here what looks, stops and goes on; recovery is apart."""

from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import ramp_init, ramp_recovery, terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.exits import DONE, PERSON
from campaignbridge.cli.following import Every, For
from campaignbridge.cli.moments import clock_time, dated
from campaignbridge.cli.ramp_confirming import (
    ConfirmWave,
    Reason,
    Slug,
    Yes,
    agree,
    confirm_wave,
    quoted,
    require_reason_here,
    tell,
)
from campaignbridge.cli.ramp_words import LABELS, OUTCOMES
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.leaving import Stopped
    from campaignbridge.flows.ramp_views import RampView, Shown

ramps = group("Mail a big audience in growing waves, and stop when bounces or complaints rise.")
ramps.command("init", cls=Command)(ramp_init.init)


@ramps.command("list", cls=Command)
def list_() -> None:
    """List ramps, those that run first."""
    from campaignbridge.cli.ramp_document import row_document

    with session() as here:
        found = here.bridge.ramps(actor=here.actor)
    rows: list[tuple[str, ...]] = [("ramp", "state", "last wave", "mailed", "next tick", "connection")]
    rows += [_row(one) for one in found]
    document = {"ramps": [row_document(one) for one in found], "next_cursor": None}
    terminal.answer(document, terminal.columns(rows) if found else [])
    if not found:
        terminal.hint("No ramps yet. A ramp mails a big audience in growing waves, and stops when bounces or")
        terminal.hint("complaints rise.", "campaignbridge ramps init --help")


def _row(one: "Shown") -> tuple[str, ...]:
    last = one.waves[-1].label if one.waves else "none"
    at = "-" if one.tick_at is None else clock_time(one.tick_at, one.ramp.now, seconds=False)
    mailed = f"{one.mailed:,} of {sum(one.ramp.plan.tiers):,}"
    return one.ramp.slug, LABELS[one.state], last, mailed, at, one.connection


@ramps.command("status", cls=Command)
def status(  # noqa: PLR0917  Typer hands them over by name
    ramp: Slug,
    read: Annotated[
        bool, typer.Option("--read", help="Read the open wave's segment and draft at the provider, too.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 5 if a person is needed.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until it has ended, or needs a person.")
    ] = False,
    every: Every = 2,
    seconds: For = None,
) -> int:
    """Show a ramp: its state, why, what comes by itself, its waves, and the one command to run next.

    It reads our own store. With --read it also reads what the provider has of the open wave, and changes
    nothing there; a recovery that depends on that is named only then.

    With --watch it ends by itself: 0 when the ramp has ended, 5 when a person is needed, 4 when the time was
    over first. It never reads the provider.
    """
    from campaignbridge.cli.ramp_document import document
    from campaignbridge.cli.ramp_portrait import lines
    from campaignbridge.cli.ramp_watching import needs_person, watch_ramp

    with session() as here:
        if watch:
            return watch_ramp(here, ramp, read=read, every_s=every, most_s=seconds)
        view = here.bridge.ramp_status(ramp, read=read, actor=here.actor)
    terminal.answer(document(view), lines(view))
    return PERSON if check and needs_person(view) else DONE


@ramps.command("log", cls=Command)
def log(
    ramp: Slug,
    most: Annotated[
        int, typer.Option("--most", metavar="N", min=1, max=1_000, help="The newest so many.")
    ] = 50,
) -> None:
    """List the outcome of every tick, step and command of a ramp, newest first."""
    with session() as here:
        view = here.bridge.ramp_status(ramp, actor=here.actor)
        rows = here.bridge.ramp_log(ramp, most=most, actor=here.actor)
    labels, now = {wave.id: wave.label for wave in view.known.waves}, view.ramp.now
    entries = [{**row, "wave": labels.get(row["wave_id"] or "")} for row in rows]
    table: list[tuple[str, ...]] = [
        (
            clock_time(one["at"], now),
            terminal.clean(one["actor"] or "by itself"),
            one["wave"] or "",
            str(one["outcome"]).replace("_", " "),
            ", ".join(f"{name} {terminal.shortened(value, 40)}" for name, value in one["data"].items()),
        )
        for one in entries
    ]
    terminal.answer({"ramp": view.ramp.slug, "log": entries, "next_cursor": None}, terminal.columns(table))


@ramps.command("run", cls=Command)
def run(ramp: Slug, confirm_wave_: ConfirmWave = None) -> int:
    """Tick a ramp now: read the figures, judge the gate, and start the next wave if nothing stands against it.

    On a terminal it asks you to type the next wave's label; a script passes it with --confirm-wave. It ends
    with 0 when the wave has begun, 3 or 4 when something stands against it for good or for now, and 5 when
    the ramp needs a person.

    \b
      campaignbridge ramps run winter --confirm-wave wave-3
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    with session() as here:
        view = here.bridge.ramp_status(ramp, actor=here.actor)
        following = view.next_wave
        if following is not None and view.state == "active" and view.known.opened is None:
            label, people = following
            rows = [
                ("Starts", f"{label}, unless the gate or its age stands against it"),
                ("May mail", f"{people:,} people"),
            ]
            command = f"campaignbridge ramps run {ramp}"
            confirm_wave(view, label, confirm_wave_, "Start the next wave now.", rows, command, people)
        outcome = here.bridge.run_ramp(ramp, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    words, code = OUTCOMES[outcome]
    wave = view.known.opened
    told = words.format(label=wave.label if wave else "", people=wave.requested if wave else 0)
    document = {
        "ramp": view.ramp.slug,
        "outcome": outcome,
        "started": outcome == "wave_claimed",
        "wave": wave.label if wave else None,
        "people": wave.requested if wave else None,
        "state": view.state,
    }
    terminal.answer(document, [])
    terminal.mark("ok" if code == DONE else "?" if code == PERSON else "", told)
    terminal.hint(f"      campaignbridge ramps status {view.ramp.slug}")
    return code


@ramps.command("pause", cls=Command)
def pause(ramp: Slug, reason: Reason) -> None:
    """Pause a ramp: no wave starts, and none that is open goes on. It says what could not be stopped any more."""
    with session() as here:
        stopped = here.bridge.pause_ramp(ramp, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    _tell_stopped(view, stopped, "Paused.", f'campaignbridge ramps resume {view.ramp.slug} --reason "..."')


@ramps.command("abort", cls=Command)
def abort(ramp: Slug, reason: Reason, yes: Yes = False) -> None:
    """End a ramp for good. Its history stays; an open wave is written off, or ends as what happened to it."""
    require_reason_here(reason)
    with session() as here:
        if not yes:
            view = here.bridge.ramp_status(ramp, actor=here.actor)
            effect = f"Nobody else is mailed by it; {view.mailed:,} people were. It can't be resumed."
            command = f"campaignbridge ramps abort {ramp} --reason {quoted(reason)}"
            agree(view, "End a ramp for good.", effect, command=command)
        stopped = here.bridge.abort_ramp(ramp, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    _tell_stopped(view, stopped, "Ended for good.", f"campaignbridge ramps status {view.ramp.slug}")


def _tell_stopped(view: "RampView", stopped: "Stopped", done: str, command: str) -> None:
    document = {
        "ramp": view.ramp.slug,
        "state": view.state,
        "leaving_wave": stopped.wave,
        "leaving_people": stopped.people,
        "leaving_until": stopped.until,
        "drafts_left": list(stopped.left),
    }
    terminal.answer(document, [])
    terminal.mark("ok", done)
    if stopped.wave is not None:
        until = "" if stopped.until is None else f", until {dated(stopped.until)}"
        told = f"{stopped.wave} could not be stopped any more: {stopped.people:,} people may get it{until}."
        terminal.mark("!", told)
    for draft in stopped.left:
        terminal.mark(
            "!", f"The draft {terminal.clean(draft)} is still at the provider: a person could send it."
        )
    terminal.hint(f"      {command}")


@ramps.command("resume", cls=Command)
def resume(ramp: Slug, reason: Reason, yes: Yes = False, confirm_wave_: ConfirmWave = None) -> None:
    """Let a paused ramp go on. Refused while the gate is tripped or an operator is needed.

    Where a wave is open, it goes on at once: then its label is typed, or passed with --confirm-wave.
    """
    from campaignbridge.flows.ramp_advice import people_of

    require_reason_here(reason)
    with session() as here:
        view = here.bridge.ramp_status(ramp, actor=here.actor)
        command = f"campaignbridge ramps resume {ramp} --reason {quoted(reason)}"
        wave, opening = view.known.opened, "Let a ramp go on."
        if view.state != "paused":
            pass  # the flow says why it can't be resumed
        elif wave is not None:
            people = people_of(wave)
            rows = [("Goes on", f"{wave.label}, at once"), ("May mail", f"{people:,} people, once")]
            confirm_wave(view, wave.label, confirm_wave_, opening, rows, command, people)
        elif not yes:
            agree(view, opening, view.advice.effect, command=command)
        here.bridge.resume_ramp(ramp, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, "It goes on.")


@ramps.command("thresholds", cls=Command)
def thresholds(
    ramp: Slug,
    reason: Reason,
    bounce: ramp_init.Bounce = None,
    complaints: ramp_init.Complaints = None,
    yes: Yes = False,
) -> None:
    """Change what trips the gate, from the next judgement on. It clears nothing."""
    from campaignbridge import Refusal
    from campaignbridge.cli.ramp_portrait import percent
    from campaignbridge.domain.gate import Thresholds

    if bounce is None and complaints is None:
        raise Refusal(
            "Nothing was given to change.", code="usage", todo="Add --bounce, --complaints, or both."
        )
    require_reason_here(reason)
    with session() as here:
        view = here.bridge.ramp_status(ramp, actor=here.actor)
        now = view.ramp.plan.thresholds
        wanted = Thresholds(
            now.bounce_ppm if bounce is None else ramp_init.ppm(bounce, "--bounce"),
            now.complaint_ppm if complaints is None else ramp_init.ppm(complaints, "--complaints"),
        )
        told = f"bounces above {percent(wanted.bounce_ppm)}, complaints above {percent(wanted.complaint_ppm)}"
        if not yes:
            flags = f"--bounce {wanted.bounce_ppm / 1e6:g} --complaints {wanted.complaint_ppm / 1e6:g}"
            command = f"campaignbridge ramps thresholds {ramp} {flags} --reason {quoted(reason)}"
            agree(view, "Change what trips the gate.", f"It trips at {told}.", command=command)
        here.bridge.set_thresholds(ramp, wanted, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, f"The gate trips at {told}.")


@ramps.command("clear-gate", cls=Command)
def clear_gate(ramp: Slug, reason: Reason, yes: Yes = False) -> None:
    """Go on in spite of the figures that tripped the gate. It mails nobody: the ramp stays paused."""
    require_reason_here(reason)
    with session() as here:
        view = here.bridge.ramp_status(ramp, actor=here.actor)
        if not yes and view.ramp.facts.gate_tripped_at is not None:
            from campaignbridge.cli.ramp_portrait import why

            command = f"campaignbridge ramps clear-gate {ramp} --reason {quoted(reason)}"
            agree(
                view,
                why(view),
                "These figures no longer stop it, until they get a quarter worse.",
                command=command,
            )
        here.bridge.clear_gate(ramp, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, "The gate is cleared. Nothing has started.")


@ramps.command("waive", cls=Command)
def waive(
    ramp: Slug,
    wave: Annotated[str, typer.Argument(metavar="WAVE", help="The wave's label, such as wave-2.")],
    reason: Reason,
    yes: Yes = False,
) -> None:
    """Go on in spite of one wave's figures, or without them, until they get a quarter worse."""
    require_reason_here(reason)
    with session() as here:
        if not yes:
            view = here.bridge.ramp_status(ramp, actor=here.actor)
            command = f"campaignbridge ramps waive {ramp} {terminal.clean(wave)} --reason {quoted(reason)}"
            effect = f"{terminal.shortened(wave, 64)} no longer holds the next wave."
            agree(view, "Judge a wave by hand.", effect, command=command)
        here.bridge.waive_wave(ramp, wave, reason=reason, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, f"{terminal.shortened(wave, 64)} is waived.")


for _name, _command in (
    ("recover", ramp_recovery.recover),
    ("clear-failure", ramp_recovery.clear_failure),
    ("force-release", ramp_recovery.force_release),
    ("resume-wave", ramp_recovery.resume_wave),
):
    ramps.command(_name, cls=Command)(_command)
