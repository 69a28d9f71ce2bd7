"""`campaigns draft, send, reconcile`: what is asked of the provider, and reading what came of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.moments import age, clock_time, dated
from campaignbridge.cli.session import Session, new_key, session

if TYPE_CHECKING:
    from campaignbridge.flows.authoring import Checked
    from campaignbridge.flows.views import CampaignView

Id = Annotated[str, typer.Argument(metavar="ID", help="The campaign, such as cmp_7k2f9x0q1z3m.")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Names this request; repeating it is safe. Made if absent."),
]
Version = Annotated[
    int | None,
    typer.Option(
        "--expected-version", metavar="N", help="Refuse if the campaign has changed since this version."
    ),
]


def draft(campaign: Id, key: Key = None, expected_version: Version = None) -> None:
    """Make the campaign's draft at the provider, or finish making it. Repeating finds the same draft."""
    from campaignbridge.cli.portrait import provider_label

    with session() as here:
        chosen = _key(key)
        with _telling(campaign, chosen):
            made = here.bridge.hand_off(
                campaign, actor=here.actor, key=chosen, expected_version=expected_version
            )
        view = here.bridge.show(campaign, actor=here.actor)
    provider = provider_label(view.dossier.connection)
    ready = made.state.value == "provider_draft"
    command = f"campaignbridge campaigns {'send' if ready else 'show'} {campaign}"
    document = {
        "campaign": campaign,
        "state": made.state.value,
        "version": view.dossier.campaign.version,
        "remote_id": made.remote_id,
        "adopted": made.adopted,
        "replay": made.replay,
        "key": chosen,
        "command": command,
    }
    how = "was found at" if made.adopted else "stands at"
    terminal.answer(document, [])
    terminal.mark("ok", f"Its draft {how} {provider} ({terminal.clean(made.remote_id)}). Nobody was mailed.")
    if not ready:
        terminal.mark("warn", f"{provider} says: {made.state.value}. We follow it from here.", stderr=True)
    terminal.hint(f"      {command}")


def send(
    campaign: Id,
    confirm_recipients: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="How many people you believe will get it.")
    ] = None,
    confirm_audience: Annotated[
        str | None, typer.Option(metavar="REF", help="The audience you believe it goes to.")
    ] = None,
    key: Key = None,
    expected_version: Version = None,
) -> None:
    """Ask the provider to send the draft now, at most once. This cannot be undone.

    On a terminal it asks you to type the number of recipients. A script passes the facts it believes in;
    one that has changed refuses the send.

    \b
      campaignbridge campaigns send cmp_7k2f9x0q1z3m
      campaignbridge campaigns send cmp_7k2f9x0q1z3m \\
        --confirm-recipients 24318 --confirm-audience a1b2c3
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge import Confirmation

    with session() as here:
        if confirm_recipients is None or confirm_audience is None:
            confirmed = _confirm(here, campaign)
        else:
            confirmed = Confirmation(recipients=confirm_recipients, audience=confirm_audience)
        chosen = _key(key)
        with _telling(campaign, chosen):
            sent = here.bridge.send(
                campaign, actor=here.actor, key=chosen, confirmed=confirmed, expected_version=expected_version
            )
        view = here.bridge.show(campaign, actor=here.actor)
    _tell_accepted(view, chosen, sent.attempt_id, sent.recipients, replay=sent.replay)


def _tell_accepted(
    view: "CampaignView", key: str, attempt_id: str, recipients: int | None, *, replay: bool
) -> None:
    from campaignbridge.cli.portrait import provider_label

    dossier = view.dossier
    campaign, now = dossier.campaign, dossier.now
    command = f"campaignbridge campaigns show {campaign.id} --watch"
    document = {
        "campaign": campaign.id,
        "state": campaign.state.value,
        "version": campaign.version,
        "attempt": attempt_id,
        "recipients": recipients,
        "replay": replay,
        "key": key,
        "look_at": campaign.look_at,
        "command": command,
    }
    terminal.answer(document, [])
    answered = [one.answered_at or one.settled_at for one in view.attempts if one.id == attempt_id]
    at = f" at {clock_time(answered[0], now)}" if answered and answered[0] else ""
    again = " Nothing was asked for again." if replay else ""
    terminal.mark("ok", f"{provider_label(dossier.connection)} accepted the send{at}.{again}")
    if campaign.look_at is not None:
        look = clock_time(campaign.look_at, now, seconds=False)
        terminal.hint(f"      Accepted is not yet sent: we watch it, next look at {look}.")
    terminal.hint(f"      {command}")


def reconcile(campaign: Id) -> None:
    """Read the campaign at the provider now, and settle what that proves. It never sends."""
    from campaignbridge.cli.portrait import label, next_step, provider_label

    with session() as here:
        seen = here.bridge.reconcile(campaign, actor=here.actor)
        view = here.bridge.show(campaign, actor=here.actor)
    provider = provider_label(view.dossier.connection)
    document = {
        "campaign": campaign,
        "news": seen.news,
        "state": seen.state.value,
        "version": view.dossier.campaign.version,
        "reason": seen.reason,
        "look_at": seen.look_at,
        "retry_after": seen.retry_after,
    }
    words = {
        "settled": f"{provider}'s record settles it.",
        "followed": f"{provider} is further than we knew; we followed.",
        "same": f"{provider} says the same as before.",
        "waiting": "That proves nothing yet; it takes another reading.",
        "stopped": "Checks have stopped: only a person can go on.",
        "no_reading": f"{provider} could not be read ({terminal.clean(seen.reason or 'no answer')}).",
    }
    terminal.answer(document, [])
    word = {"settled": "ok", "followed": "ok", "same": "ok", "stopped": "?"}.get(seen.news, "warn")
    terminal.mark(word, f"{words.get(seen.news, seen.news)} It is: {label(view)}.")
    terminal.hint(f"      {next_step(view)}", f"      campaignbridge campaigns timeline {campaign}")


def _key(given: str | None) -> str:
    """Return the key, and print it before anything is asked of the provider."""
    chosen = given or new_key()
    terminal.hint(f"key   {terminal.clean(chosen)}")
    return chosen


class _telling:  # noqa: N801  reads as a verb where it is used
    """Put the key into the facts of a refusal, so that every outcome has it."""

    def __init__(self, campaign: str, key: str) -> None:
        self.campaign = campaign
        self.key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from campaignbridge import Refusal

        if isinstance(error, Refusal):
            error.facts.setdefault("key", self.key)
        if isinstance(error, KeyboardInterrupt):
            terminal.hint(
                "", "      The provider may have been asked already. If so, it is watched and settled."
            )
            terminal.hint(f"      campaignbridge campaigns show {terminal.clean(self.campaign)} --watch")


def _confirm(here: Session, campaign_id: str) -> Any:
    """Ask for the number of recipients, or refuse with the command that holds the facts valid now."""
    from campaignbridge import Confirmation, Refusal

    view = here.bridge.show(campaign_id, actor=here.actor)
    audience = view.dossier.campaign.audience
    if not any(action.allowed for action in view.actions if action.name == "send"):
        # Nobody confirms nothing: the flow itself says why it can't be sent.
        return Confirmation(recipients=0, audience=audience)
    checked = here.bridge.preflight(campaign_id, actor=here.actor)
    count = checked.audience.contacts if checked.audience else 0
    terminal.hint("Send now. This cannot be undone.", "", *_facts(view, checked), "")
    if not terminal.interactive():
        command = f"campaignbridge campaigns send {campaign_id}"
        flags = f"--confirm-recipients {count} --confirm-audience {audience}"
        raise Refusal(
            "Can't ask here (no terminal).",
            code="confirmation_required",
            todo="To send from a script:",
            command=f"{command} {flags}",
            recipients=count,
            audience=audience,
        )
    typed = terminal.ask("Type the number of recipients to send, Ctrl-C to stop: ")
    if not typed.strip():
        raise KeyboardInterrupt
    return Confirmation(recipients=_number(typed, count), audience=audience)


def _number(typed: str, count: int) -> int:
    from campaignbridge import Refusal

    digits = typed.replace(",", "").replace(" ", "").strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12 or int(digits) != count:
        raise Refusal(
            f"{terminal.shortened(typed.strip(), 20)} is not the number of recipients ({count:,}). Nothing was sent.",
            code="validation_failed",
            todo="Look at it again, and type the number if it is right.",
            recipients=count,
        )
    return int(digits)


def _facts(view: "CampaignView", checked: "Checked") -> list[str]:
    from campaignbridge.cli.portrait import approved_words, place_of, provider_label

    dossier, envelope = view.dossier, view.snapshot.envelope
    campaign, connection = dossier.campaign, dossier.connection
    audience = checked.audience
    name = f"{terminal.clean(audience.name)} ({campaign.audience})" if audience else campaign.audience
    count = f"{audience.contacts:,}" if audience else "unknown"
    made = [
        one for one in view.attempts if one.operation.value == "create" and one.status.value == "succeeded"
    ]
    return terminal.facts(
        [
            (
                "Campaign",
                f"{terminal.shortened(campaign.name, 40)}   {campaign.id}, version {campaign.version}",
            ),
            ("Connection", f"{connection.label}, {provider_label(connection)}, {place_of(connection)}"),
            ("Audience", name),
            ("Recipients", f"{count:<22}read from {provider_label(connection)} just now"),
            ("Subject", terminal.clean(envelope.subject)),
            ("From", f"{terminal.clean(envelope.from_name)} <{terminal.clean(envelope.from_email)}>"),
            ("Content", f"revision {campaign.revision}, {approved_words(campaign, dated)}"),
            ("Draft age", age(dossier.now - made[-1].created_at) if made else "unknown"),
        ],
        indent=2,
        column=13,
    )
