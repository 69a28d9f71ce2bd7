"""`ramps status --watch`: a ramp while it goes on, until it has ended or a person is needed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from campaignbridge.cli import terminal
from campaignbridge.cli.exits import DONE, LATER, PERSON
from campaignbridge.cli.following import Sight, follow
from campaignbridge.cli.ramp_document import document
from campaignbridge.cli.ramp_portrait import headline, lines, next_step, why

if TYPE_CHECKING:
    from campaignbridge.cli.session import Session
    from campaignbridge.flows.ramp_views import RampView


def watch_ramp(here: "Session", ramp: str, *, read: bool, every_s: float, most_s: float | None) -> int:
    """Look at a ramp until it is settled; return the exit code of what it came to."""
    if read:
        from campaignbridge import Refusal

        raise Refusal(
            "--watch looks at our own store again and again, and --read asks the provider.",
            code="usage",
            todo="Take one of the two.",
            command=f"campaignbridge ramps status {terminal.clean(ramp)} --watch",
        )
    shown = sight(lambda: here.bridge.ramp_status(ramp, actor=here.actor))
    ended, view = follow(shown, here.bridge.wiring.clock, every_s=every_s, most_s=most_s)
    if ended is None:
        terminal.hint(
            f"It is still {headline(view).partition('   since')[0].lower()}; a worker goes on with it."
        )
        return LATER
    return ended


def sight(read: "Callable[[], RampView]") -> "Sight[RampView]":
    """Return how a ramp is looked at."""
    return Sight(read, document, lines, _line, _told, settled)


def settled(view: "RampView") -> int | None:
    """Return the exit code of a ramp that no longer moves by itself; None while it may. A pause is no end."""
    if needs_person(view):
        return PERSON
    return DONE if view.ramp.facts.ended is not None and view.known.opened is None else None


def needs_person(view: "RampView") -> bool:
    """Say whether a person is needed before it can go on."""
    wave = view.known.opened
    return view.state in ("gate_tripped", "needs_operator") or (
        view.ramp.facts.ended is None and wave is not None and wave.failed is not None
    )


def _told(view: "RampView") -> tuple[str, ...]:
    mailed = f"mailed {view.mailed:,} of {sum(view.ramp.plan.tiers):,}"
    return headline(view).partition("   since")[0], why(view), mailed, next_step(view)


def _line(view: "RampView") -> str:
    return "   ".join(_told(view))
