"""`campaigns retire` and `connections rate`: an old draft made unsendable, and how fast an account is asked."""

from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes
from campaignbridge.cli.params import Id, Version
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.views import CampaignView


def retire(
    campaign: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    expected_version: Version = None,
) -> None:
    """Make a campaign's draft unsendable for good, so that a new one can be made.

    Where a send was in doubt and turned out not to have happened, or the draft has another audience than was
    approved. Resend deletes drafts and nothing else, so its answer is the proof. Mailchimp deletes anything:
    delete the draft there yourself first, then run this; it works only if nothing of it was ever sent.
    """
    with session() as here:
        view = here.bridge.show(campaign, actor=here.actor)
        if not yes:
            require_yes(
                "Its draft at the provider is deleted for good. The content here stays as it is. Go on?",
                command=f"campaignbridge campaigns retire {campaign} --yes",
            )
        retired = here.bridge.retire(campaign, actor=here.actor, expected_version=expected_version)
        view = here.bridge.show(campaign, actor=here.actor)
    command = f"campaignbridge campaigns {_next(view)} {campaign}"
    terminal.answer(
        {
            "campaign": campaign,
            "state": retired.state.value,
            "version": view.dossier.campaign.version,
            "retired": retired.remote_id,
            "generation": retired.generation,
            "command": command,
        },
        [],
    )
    terminal.mark("ok", f"The draft of {campaign} can't be sent any more, by anybody.")
    terminal.hint(f"      {command}")


def rate(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Label or id of the connection.")],
    calls_per_s: Annotated[
        int | None,
        typer.Option("--per-second", metavar="N", min=1, max=1000, help="What the provider allows you."),
    ] = None,
) -> None:
    """Set how many calls a second a connection's account is asked at most, by all workers together.

    Without --per-second the provider's own limit counts again: 2 at Resend. Mailchimp limits calls at once.
    """
    with session() as here:
        found = here.bridge.limit_rate(label, calls_per_s=calls_per_s, actor=here.actor)
    terminal.answer({"connection": found.id, "label": found.label, "calls_per_s": calls_per_s}, [])
    limit = "the provider's own limit" if calls_per_s is None else f"{calls_per_s:,} calls a second"
    terminal.mark("ok", f"{found.label} is asked within {limit}.")


def _next(view: "CampaignView") -> str:
    return "draft" if view.dossier.campaign.state.value == "approved" else "show"
