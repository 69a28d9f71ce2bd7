"""`campaigns send, schedule`: the one dangerous request, now or for later. Both are told and confirmed alike."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import key_of, telling
from campaignbridge.cli.confirming import Wish, confirm
from campaignbridge.cli.exits import DONE, PERSON
from campaignbridge.cli.moments import clock_time, instant
from campaignbridge.cli.params import Id, Key, Version
from campaignbridge.cli.session import Session, session

if TYPE_CHECKING:
    from campaignbridge.flows.delivery import Confirmation, Sent
    from campaignbridge.flows.views import CampaignView

Recipients = Annotated[
    int | None,
    typer.Option("--confirm-recipients", metavar="N", min=0, help="How many people you believe will get it."),
]
ConfirmedAudience = Annotated[
    str | None,
    typer.Option("--confirm-audience", metavar="REF", help="The audience you believe it goes to."),
]
AgainAfter = Annotated[
    str | None,
    typer.Option(
        "--again-after",
        metavar="ID",
        help="Send the same content once more to the audience that this campaign sent it to.",
    ),
]


def send(  # noqa: PLR0917  Typer hands them over by name
    campaign: Id,
    confirm_recipients: Recipients = None,
    confirm_audience: ConfirmedAudience = None,
    key: Key = None,
    expected_version: Version = None,
    again_after: AgainAfter = None,
) -> int:
    """Ask the provider to send the draft now, at most once. This cannot be undone.

    On a terminal it asks you to type the number of recipients. A script passes the facts it believes in;
    one that has changed refuses the send.

    \b
      campaignbridge campaigns send cmp_7k2f9x0q1z3m
      campaignbridge campaigns send cmp_7k2f9x0q1z3m \\
        --confirm-recipients 24318 --confirm-audience a1b2c3
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    return _deliver(
        Wish(
            campaign=campaign,
            recipients=confirm_recipients,
            audience=confirm_audience,
            key=key,
            expected_version=expected_version,
            again_after=again_after,
        )
    )


def schedule(  # noqa: PLR0917  Typer hands them over by name
    campaign: Id,
    at: Annotated[
        str,
        typer.Option(
            "--at", metavar="TIME", help="When, such as 2026-12-01T09:00:00+01:00; on the hour or a quarter."
        ),
    ],
    zone: Annotated[
        str | None,
        typer.Option("--zone", metavar="ZONE", help="Of a time without offset, such as Europe/Berlin."),
    ] = None,
    confirm_recipients: Recipients = None,
    confirm_audience: ConfirmedAudience = None,
    key: Key = None,
    expected_version: Version = None,
    again_after: AgainAfter = None,
) -> int:
    """Ask the provider to send the draft at a later time, at most once.

    Confirmed like a send. `campaigns unschedule` takes it off again until two minutes before its time.

    \b
      campaignbridge campaigns schedule cmp_7k2f9x0q1z3m \\
        --at 2026-12-01T09:00 --zone Europe/Berlin
      campaignbridge campaigns schedule cmp_7k2f9x0q1z3m \\
        --at 2026-12-01T08:00:00Z --confirm-recipients 24318 --confirm-audience a1b2c3
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.domain.when import instant_of

    return _deliver(
        Wish(
            campaign=campaign,
            recipients=confirm_recipients,
            audience=confirm_audience,
            key=key,
            expected_version=expected_version,
            again_after=again_after,
            at_ms=instant_of(at, zone),
            zone=zone,
        )
    )


def _deliver(wish: Wish) -> int:
    from campaignbridge import Confirmation

    with session() as here:
        if wish.recipients is None or wish.audience is None:
            confirmed = confirm(here, wish)
        else:
            confirmed = Confirmation(recipients=wish.recipients, audience=wish.audience)
        key = key_of(wish.key)
        with telling(wish.campaign, key):
            sent = _ask(here, wish, key, confirmed)
        view = here.bridge.show(wish.campaign, actor=here.actor)
    return _tell(wish, view, key, sent)


def _ask(here: Session, wish: Wish, key: str, confirmed: "Confirmation") -> "Sent":
    common: dict[str, Any] = {
        "actor": here.actor,
        "key": key,
        "confirmed": confirmed,
        "expected_version": wish.expected_version,
        "again_after": wish.again_after,
    }
    if wish.at_ms is None:
        return here.bridge.send(wish.campaign, **common)
    return here.bridge.schedule(wish.campaign, at_ms=wish.at_ms, **common)


def _tell(wish: Wish, view: "CampaignView", key: str, sent: "Sent") -> int:
    from campaignbridge.cli.portrait import flag_words, provider_label

    dossier = view.dossier
    campaign, now, provider = dossier.campaign, dossier.now, provider_label(dossier.connection)
    command = f"campaignbridge campaigns show {campaign.id}" + (" --watch" if wish.at_ms is None else "")
    document = {
        "campaign": campaign.id,
        "state": campaign.state.value,
        "version": campaign.version,
        "attempt": sent.attempt_id,
        "recipients": sent.recipients,
        "replay": sent.replay,
        "key": key,
        "look_at": campaign.look_at,
        "command": command,
    }
    if wish.at_ms is not None:
        document |= {"at": wish.at_ms, "scheduled_for": campaign.scheduled_for, "flag": campaign.flag}
    terminal.answer(document, [])
    answered = [one.answered_at or one.settled_at for one in view.attempts if one.id == sent.attempt_id]
    at = f" at {clock_time(answered[0], now)}" if answered and answered[0] else ""
    again = " Nothing was asked for again." if sent.replay else ""
    terminal.mark("ok", f"{provider} accepted the {wish.verb}{at}.{again}")
    if wish.at_ms is not None:
        terminal.mark("", f"It is for {instant(wish.at_ms, wish.zone)}.")
    if campaign.look_at is not None:
        look = clock_time(campaign.look_at, now, seconds=False)
        terminal.hint(f"      Accepted is not yet sent: we watch it, next look at {look}.")
    differs = wish.at_ms is not None and campaign.flag == "schedule_differs"
    if differs:
        terminal.mark("warn", flag_words(view), stderr=True)
    terminal.hint(f"      {command}")
    return PERSON if differs else DONE
