"""The question before a send or a schedule: the facts that are true now, and the number to type."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import typed_fact
from campaignbridge.cli.moments import age, dated, instant
from campaignbridge.cli.session import Session

if TYPE_CHECKING:
    from campaignbridge.flows.authoring import Checked
    from campaignbridge.flows.delivery import Confirmation
    from campaignbridge.flows.views import CampaignView


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A send or a schedule as it was typed."""

    campaign: str
    recipients: int | None
    audience: str | None
    key: str | None
    expected_version: int | None
    again_after: str | None = None
    at_ms: int | None = None  # None: now
    zone: str | None = None  # in which the time is told, beside UTC

    @property
    def verb(self) -> str:
        """The command's name, which is the action's and the operation's, too."""
        return "send" if self.at_ms is None else "schedule"


def confirm(here: Session, wish: Wish) -> "Confirmation":
    """Ask for the number of recipients, or refuse with the command that holds the facts valid now."""
    from campaignbridge import Confirmation

    view = here.bridge.show(wish.campaign, actor=here.actor)
    audience = view.dossier.campaign.audience
    repeated = any(one.key == wish.key and one.operation.value == wish.verb for one in view.attempts)
    allowed = any(action.allowed for action in view.actions if action.name == wish.verb)
    if not allowed and not repeated and wish.again_after is None:
        # Nobody confirms nothing: the flow itself says why it can't be sent.
        return Confirmation(recipients=0, audience=audience)
    if not repeated:
        view.dossier.campaign.require_version(wish.expected_version)
        _require_time(here, view, wish)
    checked = here.bridge.preflight(wish.campaign, actor=here.actor)
    count = (checked.audience.contacts or 0) if checked.audience else 0
    opening = "Send now. This cannot be undone." if wish.at_ms is None else "Send later, by itself."
    terminal.hint(opening, "", *facts(view, checked, wish), "")
    typed = typed_fact(
        f"Type the number of recipients to {wish.verb}, Ctrl-C to stop: ",
        command=_command(wish, count, audience),
        todo=f"To {wish.verb} from a script:",
        recipients=count,
        audience=audience,
    )
    return Confirmation(recipients=_number(typed, count, wish), audience=audience)


def _require_time(here: Session, view: "CampaignView", wish: Wish) -> None:
    """Refuse a time before a question is asked that would be in vain; the flow checks it again."""
    if wish.at_ms is None:
        return
    from campaignbridge.domain.when import require_sendable_at

    provider = here.bridge.wiring.open_provider(view.dossier.connection)
    require_sendable_at(wish.at_ms, now_ms=view.dossier.now, grid_ms=provider.schedule_grid_ms)


def _command(wish: Wish, count: int, audience: str) -> str:
    from campaignbridge.domain.when import iso

    when = "" if wish.at_ms is None else f" --at {iso(wish.at_ms)}"
    known = f"--confirm-recipients {count} --confirm-audience {audience}"
    return f"campaignbridge campaigns {wish.verb} {wish.campaign}{when} {known}"


def _number(typed: str, count: int, wish: Wish) -> int:
    from campaignbridge import Refusal

    digits = typed.replace(",", "").replace(" ", "")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12 or int(digits) != count:
        done = "sent" if wish.at_ms is None else "scheduled"
        raise Refusal(
            f"{terminal.shortened(typed, 20)} is not the number of recipients ({count:,}). Nothing was {done}.",
            code="validation_failed",
            todo="Look at it again, and type the number if it is right.",
            recipients=count,
        )
    return int(digits)


def facts(view: "CampaignView", checked: "Checked", wish: Wish) -> list[str]:
    """Return what the person who confirms looks at."""
    from campaignbridge.cli.portrait import approved_words, place_of, provider_label

    dossier, envelope = view.dossier, view.snapshot.envelope
    campaign, connection = dossier.campaign, dossier.connection
    audience = checked.audience
    name = f"{terminal.clean(audience.name)} ({campaign.audience})" if audience else campaign.audience
    count = "unknown" if audience is None or audience.contacts is None else f"{audience.contacts:,}"
    made = [
        one for one in view.attempts if one.operation.value == "create" and one.status.value == "succeeded"
    ]
    rows = [
        ("Campaign", f"{terminal.shortened(campaign.name, 40)}   {campaign.id}, version {campaign.version}"),
        ("Connection", f"{connection.label}, {provider_label(connection)}, {place_of(connection)}"),
        ("Audience", name),
        ("Recipients", f"{count:<22}read from {provider_label(connection)} just now"),
        ("Subject", terminal.clean(envelope.subject)),
        ("From", f"{terminal.clean(envelope.from_name)} <{terminal.clean(envelope.from_email)}>"),
        ("Content", f"revision {campaign.revision}, {approved_words(campaign, dated)}"),
        ("Draft age", age(dossier.now - made[-1].created_at) if made else "unknown"),
        ("Last test", _last_test(view)),
    ]
    if wish.at_ms is not None:
        in_words = f"{instant(wish.at_ms, wish.zone)}, in {age(wish.at_ms - dossier.now)}"
        rows.append(("Send time", in_words))
    return terminal.facts(rows, indent=2, column=13)


def _last_test(view: "CampaignView") -> str:
    tests = [
        one for one in view.attempts if one.operation.value == "test" and one.status.value == "succeeded"
    ]
    if not tests:
        return "none"
    same = tests[-1].created_at >= view.snapshot.created_at
    return f"{dated(tests[-1].created_at, seconds=False)}, {'same' if same else 'other'} content"
