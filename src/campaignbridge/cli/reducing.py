"""`campaigns unschedule, cancel`: what can only make fewer people get a mail."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import key_of, require_yes, telling
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.params import Id, Key, Version
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.reducing import Reduced
    from campaignbridge.flows.views import CampaignView


def unschedule(campaign: Id, key: Key = None, expected_version: Version = None) -> None:
    """Take a scheduled campaign off the provider's schedule, until two minutes before its time."""
    with session() as here:
        chosen = key_of(key)
        with telling(campaign, chosen):
            done = here.bridge.unschedule(
                campaign, actor=here.actor, key=chosen, expected_version=expected_version
            )
        view = here.bridge.show(campaign, actor=here.actor)
    _tell(view, done, chosen)


def cancel(
    campaign: Id,
    key: Key = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    expected_version: Version = None,
) -> None:
    """Stop a campaign wherever it is: here, off the schedule, or in the middle of being sent.

    It asks first when the provider is asked for something; a script passes --yes. What has left can't be
    called back. A scheduled one becomes a draft at the provider again; cancel it once more to close it here.
    """
    with session() as here:
        view = here.bridge.show(campaign, actor=here.actor)
        version = expected_version
        if not _asks_there(view):
            # Nothing was asked about, so nothing but this very campaign is cancelled.
            version = view.dossier.campaign.version if expected_version is None else expected_version
        elif not yes and not _is_known(view, key):
            view.dossier.campaign.require_version(expected_version)
            require_yes(_question(view), command=f"campaignbridge campaigns cancel {campaign} --yes")
        chosen = key_of(key)
        with telling(campaign, chosen):
            done = here.bridge.cancel(campaign, actor=here.actor, key=chosen, expected_version=version)
        view = here.bridge.show(campaign, actor=here.actor)
    _tell(view, done, chosen)
    if view.dossier.campaign.state.value == "provider_draft":
        terminal.hint("      Its draft can be scheduled again. To close the campaign here, too:")
        terminal.hint(f"      campaignbridge campaigns cancel {campaign}")


def _asks_there(view: "CampaignView") -> bool:
    campaign = view.dossier.campaign
    moving = ("scheduled", "sending", "unknown")
    return campaign.open_attempt is not None or campaign.state.value in moving


def _is_known(view: "CampaignView", key: str | None) -> bool:
    """Say whether the key has named a request already: then nothing is asked for again."""
    return key is not None and any(one.key == key for one in view.attempts)


def _question(view: "CampaignView") -> str:
    from campaignbridge.cli.portrait import label, place_of, provider_label

    dossier = view.dossier
    name = terminal.shortened(dossier.campaign.name, 40)
    place = f"{provider_label(dossier.connection)}, {place_of(dossier.connection)}"
    return f"{name} ({dossier.connection.label}, {place}) is: {label(view)}. Stop it?"


def _tell(view: "CampaignView", done: "Reduced", key: str) -> None:
    from campaignbridge.cli.portrait import label, provider_label

    dossier = view.dossier
    campaign, now, provider = dossier.campaign, dossier.now, provider_label(dossier.connection)
    document: dict[str, Any] = {
        "campaign": campaign.id,
        "state": campaign.state.value,
        "version": campaign.version,
        "asked": done.asked.value if done.asked else None,
        "attempt": done.attempt_id,
        "replay": done.replay,
        "key": key,
        "look_at": campaign.look_at,
    }
    terminal.answer(document, [])
    asked = done.asked.value if done.asked else "nothing"
    words = {
        "nothing": "Cancelled here. The provider was asked for nothing.",
        "unschedule": f"{provider} took it off the schedule. Nobody was mailed.",
        "cancel": f"{provider} accepted the cancel. Who was mailed before that stays mailed.",
    }
    again = " Nothing was asked for again." if done.replay else ""
    terminal.mark("ok", f"{words[asked]}{again} It is: {label(view)}.")
    if done.asked is not None and campaign.state.value == "sending" and campaign.look_at is not None:
        look = clock_time(campaign.look_at, now, seconds=False)
        terminal.hint(f"      Its record says how many were mailed: we read it at {look}.")
    terminal.hint(f"      campaignbridge campaigns show {campaign.id}")
