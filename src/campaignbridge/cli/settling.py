"""`campaigns resolve, acknowledge`: what only a person can know, with evidence for the audit trail."""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import typed_fact
from campaignbridge.cli.params import Id, Version
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.views import CampaignView

_SHORT = 50
Outcome = Literal["sent", "stopped", "not_sent", "not_created"]


def resolve(  # noqa: PLR0917  Typer hands them over by name
    campaign: Id,
    outcome: Annotated[
        Outcome, typer.Option("--as", metavar="OUTCOME", help="sent, stopped, not_sent or not_created.")
    ],
    evidence: Annotated[str, typer.Option(metavar="TEXT", help="How you know; kept in the audit trail.")],
    mailed: Annotated[
        int | None, typer.Option(metavar="N", help="With stopped: how many had been mailed.")
    ] = None,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="ID", help="The campaign once more, from a script.")
    ] = None,
    expected_version: Version = None,
) -> None:
    """Settle by hand what the provider can never tell. What you say counts as its own record.

    It works where checks have stopped, such as after somebody deleted the campaign there. On a terminal it
    asks you to type the campaign's id; a script passes it with --confirm.

    \b
      campaignbridge campaigns resolve cmp_7k2f9x0q1z3m --as sent \\
        --evidence "three colleagues got it at 14:05"
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.domain.errors import InvalidInput
    from campaignbridge.flows.resolving import Ruling, Verdict

    if mailed is not None and outcome != "stopped":
        raise InvalidInput("--mailed belongs to --as stopped.", todo="Leave --mailed out.")
    with session() as here:
        view = here.bridge.show(campaign, actor=here.actor)
        _require_possible(view)
        if confirm is None:
            view.dossier.campaign.require_version(expected_version)
            terminal.hint("Settle by hand.", "", *_facts(view, outcome, evidence), "")
            confirm = typed_fact(
                f"Type the campaign's id to settle it as {outcome}, Ctrl-C to stop: ",
                command=f"campaignbridge campaigns resolve {campaign} --as {outcome} --evidence {_quoted(evidence)} "
                + ("" if mailed is None else f"--mailed {mailed} ")
                + f"--confirm {campaign}",
            )
        _require_same(confirm, campaign)
        ruling = Ruling(verdict=Verdict(outcome), evidence=evidence, mailed=mailed)
        here.bridge.resolve(campaign, actor=here.actor, ruling=ruling, expected_version=expected_version)
        view = here.bridge.show(campaign, actor=here.actor)
    _tell(view, outcome)


def acknowledge(
    campaign: Id,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="What you found; kept in the audit trail.")],
    expected_version: Version = None,
) -> None:
    """Clear the flag of a possible double, after you have looked at it."""
    with session() as here:
        here.bridge.acknowledge(campaign, actor=here.actor, reason=reason, expected_version=expected_version)
        view = here.bridge.show(campaign, actor=here.actor)
    now = view.dossier.campaign
    terminal.answer({"campaign": now.id, "state": now.state.value, "version": now.version}, [])
    terminal.mark("ok", f"The flag of {now.id} is cleared; what you found stands in its timeline.")
    terminal.hint(f"      campaignbridge campaigns timeline {now.id}")


def _require_possible(view: "CampaignView") -> None:
    from campaignbridge.domain.errors import InvalidState

    campaign = view.dossier.campaign
    if campaign.stopped_reason is None:
        raise InvalidState(
            "Checks of this campaign have not stopped: the provider's own record may still decide.",
            todo=f"campaigns reconcile {campaign.id} reads it now.",
            version=campaign.version,
        )


def _quoted(evidence: str) -> str:
    """Return the evidence as a shell reads it; a long one is left to be typed again."""
    plain = terminal.clean(evidence)
    return shlex.quote(plain) if len(plain) <= _SHORT and " --" not in plain else '"..."'


def _require_same(confirmed: str, campaign_id: str) -> None:
    from campaignbridge.domain.errors import ValidationFailed

    if confirmed.strip().lower() != campaign_id:
        raise ValidationFailed(
            f"{terminal.shortened(confirmed.strip(), 20)} is not the campaign's id. Nothing was settled.",
            todo=f"Look at it again (campaigns show {campaign_id}) and name it if it is the right one.",
        )


def _facts(view: "CampaignView", outcome: str, evidence: str) -> list[str]:
    from campaignbridge.cli.portrait import place_of, provider_label, why

    dossier = view.dossier
    campaign, connection = dossier.campaign, dossier.connection
    return terminal.facts(
        [
            (
                "Campaign",
                f"{terminal.shortened(campaign.name, 40)}   {campaign.id}, version {campaign.version}",
            ),
            ("Connection", f"{connection.label}, {provider_label(connection)}, {place_of(connection)}"),
            ("Why", why(view)),
            ("Settle as", outcome),
            ("Evidence", terminal.clean(evidence)),
        ],
        indent=2,
        column=13,
    )


def _tell(view: "CampaignView", outcome: str) -> None:
    from campaignbridge.cli.portrait import label

    campaign = view.dossier.campaign
    document = {
        "campaign": campaign.id,
        "state": campaign.state.value,
        "version": campaign.version,
        "settled_as": outcome,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"Settled by hand as {outcome.replace('_', ' ')}. It is: {label(view)}.")
    terminal.hint(f"      campaignbridge campaigns timeline {campaign.id}")
