"""`campaigns show, timeline`: what is known of a campaign, once or until it is settled."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.exits import DONE, LATER, PERSON, PROVIDER
from campaignbridge.cli.following import Sight, follow
from campaignbridge.cli.params import Id
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.cli.session import Session
    from campaignbridge.flows.views import CampaignView

LOOK_EVERY_S = 0.5


def show(
    campaign: Id,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until it is settled.")] = False,
    seconds: Annotated[
        float, typer.Option("--for", metavar="SECONDS", min=0, help="With --watch: seconds at most.")
    ] = 600,
    check: Annotated[
        bool, typer.Option("--check", help="Exit code 5 if a person should look at it.")
    ] = False,
) -> int:
    """Show a campaign: state, why, what happens next, and what may safely be done.

    With --watch it ends by itself: 0 when nothing is open any more, 5 when a person is needed, 6 when the
    provider sent nothing, 4 when the time was over first. It reads our store; a worker reads the provider.

    Without --watch it is 0, even if the news is bad; --check makes 5 of a campaign that is not confirmed, has
    failed or is flagged.
    """
    from campaignbridge.cli.portrait import document, lines

    with session() as here:

        def read() -> "CampaignView":
            return here.bridge.show(campaign, actor=here.actor)

        if watch:
            ended, view = _watch(here, read, seconds)
            return PERSON if check and ended == DONE and needs_person(view) else ended
        view = read()
    terminal.answer(document(view), lines(view))
    return PERSON if check and needs_person(view) else DONE


def timeline(campaign: Id) -> None:
    """List what happened to a campaign: who did what, what was asked, what was answered."""
    from campaignbridge.cli.chronicle import lines
    from campaignbridge.cli.portrait import provider_label

    with session() as here:
        view = here.bridge.show(campaign, actor=here.actor)
        events = here.bridge.timeline(campaign, actor=here.actor)
    document = {"campaign": campaign, "events": [dict(event) for event in events], "next_cursor": None}
    dossier, due = view.dossier, {one.id: one.schedule_at for one in view.attempts if one.schedule_at}
    told = lines(events, provider=provider_label(dossier.connection), now_ms=dossier.now, due=due)
    terminal.answer(document, told)


def _watch(here: "Session", read: "Callable[[], CampaignView]", seconds: float) -> tuple[int, "CampaignView"]:
    from campaignbridge.cli.portrait import document, headline, lines, next_step

    def told(view: "CampaignView") -> tuple[str, str]:
        return headline(view).partition("   since")[0], next_step(view)

    sight = Sight(read, document, lines, lambda view: "   ".join(told(view)), told, settled)
    ended, view = follow(sight, here.bridge.wiring.clock, every_s=LOOK_EVERY_S, most_s=seconds)
    if ended is None:
        terminal.hint(f"Not settled after {seconds:.0f} s. It goes on by itself while a worker runs.")
        return LATER, view
    return ended, view


def settled(view: "CampaignView") -> int | None:
    """Return the exit code of a settled campaign; None while something is open."""
    campaign = view.dossier.campaign
    if campaign.stopped_reason is not None or (campaign.flag or "").startswith("possible_double"):
        return PERSON
    if campaign.state.value == "failed":
        return PROVIDER
    moving = campaign.open_attempt is not None or campaign.state.value in ("sending", "scheduled", "unknown")
    return None if moving else DONE


def needs_person(view: "CampaignView") -> bool:
    """Say whether somebody should look at it: nothing is known for certain, it failed, or it is flagged."""
    campaign = view.dossier.campaign
    doubtful = campaign.open_attempt is not None or campaign.state.value in ("unknown", "failed")
    return doubtful or campaign.stopped_reason is not None or campaign.flag is not None
