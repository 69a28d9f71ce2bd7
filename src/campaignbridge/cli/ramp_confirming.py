"""The question before a ramp's command: what is true now, and the wave's label to type where people may be mailed."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes, typed_fact
from campaignbridge.cli.portrait import place_of, provider_label
from campaignbridge.cli.ramp_words import STEPS
from campaignbridge.cli.session import Session

if TYPE_CHECKING:
    from campaignbridge.domain.ramp import Wave
    from campaignbridge.flows.aiming import Aim
    from campaignbridge.flows.ramp_views import RampView

Slug = Annotated[str, typer.Argument(metavar="NAME", help="The ramp, such as winter.")]
Reason = Annotated[
    str, typer.Option(metavar="TEXT", help="Why, in 10 to 300 characters; kept in the audit trail.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]
ConfirmWave = Annotated[
    str | None,
    typer.Option("--confirm-wave", metavar="LABEL", help="The wave that you believe it is about."),
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="The run that you looked at; else the one that is open now."),
]


def require_reason_here(reason: str) -> None:
    """Refuse a reason that the flow would refuse, before a question is asked in vain."""
    from campaignbridge.flows.ramp_given import require_reason

    require_reason(reason)


def quoted(reason: str) -> str:
    """Return the reason as a shell reads it."""
    return shlex.quote(terminal.clean(reason))


def agree(view: "RampView", opening: str, effect: str, *, command: str) -> None:
    """Ask for a yes after the facts."""
    terminal.hint(opening, "", *_facts(view, [("Effect", effect)]), "")
    require_yes("Do it?", command=f"{command} --yes")


def confirm_wave(  # noqa: PLR0917  what is asked, and what it is about
    view: "RampView",
    label: str,
    given: str | None,
    opening: str,
    rows: list[tuple[str, str]],
    command: str,
    people: int = 0,
) -> None:
    """Ask for the wave's label, or compare the one that was given; refuse another one."""
    if given is None:
        terminal.hint(opening, "", *_facts(view, rows), "")
        given = typed_fact(
            "Type the wave's label to do it, Ctrl-C to stop: ",
            command=f"{command} --confirm-wave {label}",
            todo="Look at it, then from a script:",
            wave=label,
            people=people,
        )
    if given.replace(" ", "").replace(",", "").lower() != label:
        from campaignbridge.domain.errors import ValidationFailed

        raise ValidationFailed(
            f"{terminal.shortened(given, 20)} is not the wave's label ({label}). Nothing was done.",
            todo=f"Look at it again, and name the wave if it is right: ramps status {view.ramp.slug}",
            wave=label,
        )


def open_wave(view: "RampView") -> "Wave":
    """Return the open wave, or refuse: there is nothing to recover."""
    wave = view.known.opened
    if wave is None:
        from campaignbridge.domain.errors import InvalidState

        raise InvalidState(
            f"No wave of {view.ramp.slug} is open, so there is nothing to recover.",
            todo=f"ramps status {view.ramp.slug} says what is to be done.",
        )
    return wave


def aimed(  # noqa: PLR0917  what is asked, and what it is about
    here: Session, slug: str, reason: str, given: str | None, run: str | None, opening: str, command: str
) -> "Aim":
    """Return the open wave and its run, as they were shown and confirmed."""
    from campaignbridge.flows.aiming import Aim
    from campaignbridge.flows.ramp_advice import people_of

    require_reason_here(reason)
    view = here.bridge.ramp_status(slug, actor=here.actor)
    wave = open_wave(view)
    chosen = wave.run_id if run is None else run
    rows = [
        ("Wave", f"{wave.label}, run {wave.run_id}"),
        ("People", f"{people_of(wave):,}"),
        ("Step", STEPS[wave.step.value]),
        ("Reason", terminal.clean(reason)),
    ]
    again = f"{command} --reason {quoted(reason)} --run {chosen}"
    confirm_wave(view, wave.label, given, opening, rows, again, people_of(wave))
    return Aim(label=wave.label, run_id=chosen, reason=reason)


def tell(view: "RampView", done: str) -> None:
    """Tell that a command was done, and what comes next."""
    from campaignbridge.cli.ramp_portrait import do_lines

    command = f"campaignbridge {view.advice.command}" if view.advice.command else None
    terminal.answer({"ramp": view.ramp.slug, "state": view.state, "next": command}, [])
    terminal.mark("ok", done)
    terminal.hint(*(f"      {line}" for line in do_lines(view)))


def _facts(view: "RampView", rows: list[tuple[str, str]]) -> list[str]:
    connection = view.known.connection
    place = f"{connection.label}, {provider_label(connection)}, {place_of(connection)}"
    named = f"{terminal.shortened(view.ramp.name, 40)}   {view.ramp.slug}"
    return terminal.facts([("Ramp", named), ("Connection", place), *rows], indent=2, column=13)
