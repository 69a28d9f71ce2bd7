"""`ramps init`: what a ramp is set up from, and the question before its first wave may go."""

import shlex
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import typed_fact
from campaignbridge.cli.params import text
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.domain.ramp import Plan
    from campaignbridge.flows.ramping import NewRamp

HOUR_MS = 3_600_000
Name = Annotated[str, typer.Argument(metavar="NAME", help="The ramp's name, such as winter.")]
Tiers = Annotated[str, typer.Option(metavar="SIZES", help="How many people each wave mails: 500,1500,5000.")]
Content = Annotated[
    str, typer.Option(metavar="ID", help="An approved campaign: its content, sender and approval.")
]
Audience = Annotated[str, typer.Option(metavar="SLUG", help="Our own audience that it picks from.")]
Connection = Annotated[str, text("CONNECTION", "The connection's label or id.", metavar="LABEL")]
List = Annotated[str, typer.Option("--list", metavar="REF", help="At Mailchimp: the list for its segments.")]
Title = Annotated[str, typer.Option(metavar="TEXT", help="What people call it. [NAME]")]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Labels are PREFIX-1, PREFIX-2.")]
Offset = Annotated[int, typer.Option(metavar="N", help="How many waves came before this ramp.")]
PreviousBroadcast = Annotated[
    str | None, typer.Option(metavar="ID", help="With --offset: what the last of them went out as.")
]
PreviousSentAt = Annotated[
    str | None, typer.Option(metavar="TIME", help="With --offset: when it went; local times are in --zone.")
]
Bounce = Annotated[
    str | None, typer.Option("--bounce", metavar="SHARE", help="Trip above this share of bounces. [0.04]")
]
Complaints = Annotated[
    str | None,
    typer.Option("--complaints", metavar="SHARE", help="Trip above this share of complaints. [0.0008]"),
]
MinAge = Annotated[float, typer.Option(metavar="HOURS", help="How old a wave is before the next one starts.")]
MinFill = Annotated[
    str, typer.Option(metavar="SHARE", help="Ask a person when fewer than this share are found.")
]
MaxRefused = Annotated[
    str, typer.Option(metavar="SHARE", help="Stop a wave when more than this share are refused.")
]
When = Annotated[
    str | None, typer.Option(metavar="CRON", help='When it ticks, such as "0 9 * * 1-5"; else by hand.')
]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="Of --cron, such as Europe/Berlin.")]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="KEY=VALUE", help="Only people with this attribute; repeat it."),
]
Locale = Annotated[str | None, typer.Option(metavar="LOCALE", help="Only people of this locale, such as de.")]
NotIn = Annotated[
    list[str] | None,
    typer.Option("--not-in", metavar="SLUG", help="Nobody of this audience; repeat it."),
]
ExcludeRamp = Annotated[
    list[str] | None,
    typer.Option("--exclude-ramp", metavar="NAME", help="Nobody whom this ramp mailed; repeat it."),
]
MailAgain = Annotated[
    bool, typer.Option("--mail-again", help="People whom earlier ramps mailed may be mailed again.")
]
SmallTiers = Annotated[
    bool, typer.Option("--allow-small-tiers", help="Allow tiers under 100, which the gate can't judge.")
]
FirstWave = Annotated[
    str | None, typer.Option("--confirm-wave", metavar="LABEL", help="The first wave's label.")
]


@dataclass(frozen=True, slots=True)
class Given:
    """What was typed, by the names of the options."""

    name: str
    tiers: str
    content: str
    audience: str
    connection: str
    list_: str
    title: str
    prefix: str
    offset: int
    previous_broadcast: str | None
    previous_sent_at: str | None
    bounce: str | None
    complaints: str | None
    min_age_hours: float
    min_fill: str
    max_refused: str
    cron: str | None
    zone: str
    filters: list[str] | None
    locale: str | None
    not_in: list[str] | None
    exclude_ramp: list[str] | None
    mail_again: bool
    allow_small_tiers: bool
    confirm_wave: str | None


def init(  # noqa: PLR0917  Typer hands them over by name
    name: Name,
    tiers: Tiers,
    content: Content,
    audience: Audience,
    connection: Connection,
    list_: List = "",
    title: Title = "",
    prefix: Prefix = "wave",
    offset: Offset = 0,
    previous_broadcast: PreviousBroadcast = None,
    previous_sent_at: PreviousSentAt = None,
    bounce: Bounce = None,
    complaints: Complaints = None,
    min_age_hours: MinAge = 18,
    min_fill: MinFill = "0.5",
    max_refused: MaxRefused = "0.05",
    cron: When = None,
    zone: Zone = "UTC",
    filters: Filters = None,
    locale: Locale = None,
    not_in: NotIn = None,
    exclude_ramp: ExcludeRamp = None,
    mail_again: MailAgain = False,
    allow_small_tiers: SmallTiers = False,
    confirm_wave: FirstWave = None,
) -> None:
    """Set a ramp up. Its first wave starts at the next time of --cron; without one, by `ramps run`.

    On a terminal it asks you to type the first wave's label; a script passes it with --confirm-wave.

    \b
      campaignbridge ramps init winter --tiers 500,1500,5000 \\
        --content cmp_7k2f9x0q1z3m --audience customers --connection news \\
        --list a1b2c3 --cron "0 9 * * *" --zone Europe/Berlin
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    _set_up(Given(**locals()))


def _new(given: Given) -> "NewRamp":
    from campaignbridge.flows.ramping import NewRamp

    return NewRamp(
        slug=given.name,
        connection=given.connection,
        audience=given.audience,
        content=given.content,
        plan=_plan(given),
        name=given.title,
        list=given.list_,
        filters=_filters(given.filters or [], given.locale),
        not_in=tuple(given.not_in or ()),
        exclude_ramps=tuple(given.exclude_ramp or ()),
        mail_again=given.mail_again,
        previous_broadcast=given.previous_broadcast,
        previous_sent_at=_sent_at(given.previous_sent_at, given.zone),
        cron=given.cron,
        zone=given.zone,
        allow_small_tiers=given.allow_small_tiers,
    )


def _sent_at(text: str | None, zone: str) -> int | None:
    from campaignbridge.domain.when import instant_of

    if text is None:
        return None
    with_offset = text[-1:] in ("Z", "z") or "+" in text or "-" in text[10:]
    return instant_of(text, None if with_offset else zone)


def _set_up(given: Given) -> None:
    new = _new(given)
    _confirm(new, given.confirm_wave)
    with session() as here:
        ramp = here.bridge.init_ramp(new, actor=here.actor)
    first = ramp.plan.label(0)
    document = {
        "ramp": ramp.slug,
        "id": ramp.id,
        "first_wave": first,
        "people": ramp.plan.tiers[0],
        "tiers": list(ramp.plan.tiers),
        "cron": ramp.cron,
        "zone": ramp.zone,
    }
    terminal.answer(document, [])
    terminal.mark(
        "ok", f"{ramp.slug} is set up: {len(ramp.plan.tiers)} waves, {sum(ramp.plan.tiers):,} people."
    )
    people = f"{ramp.plan.tiers[0]:,} people"
    if ramp.cron is None:
        terminal.hint(f"      Nothing starts by itself. This starts {first}, {people}:")
        terminal.hint(f"      campaignbridge ramps run {ramp.slug}")
    else:
        terminal.hint(f"      A worker starts {first} at the next time of {ramp.cron}: {people}.")
        terminal.hint(f"      campaignbridge ramps status {ramp.slug}")


def _plan(given: Given) -> "Plan":
    from campaignbridge.domain.gate import USUAL, Thresholds
    from campaignbridge.domain.ramp import Plan, require_plan

    hours = given.min_age_hours if isfinite(given.min_age_hours) else -1.0
    plan = Plan(
        tiers=_sizes(given.tiers),
        prefix=given.prefix,
        offset=given.offset,
        thresholds=Thresholds(
            USUAL.bounce_ppm if given.bounce is None else ppm(given.bounce, "--bounce"),
            USUAL.complaint_ppm if given.complaints is None else ppm(given.complaints, "--complaints"),
        ),
        min_age_ms=round(hours * HOUR_MS),
        min_fill_ppm=ppm(given.min_fill, "--min-fill"),
        max_refused_ppm=ppm(given.max_refused, "--max-refused"),
    )
    return require_plan(plan, allow_small_tiers=given.allow_small_tiers)


def _sizes(given: str) -> tuple[int, ...]:
    parts = [part.strip() for part in given.split(",")]
    if any(not part.isascii() or not part.isdigit() or len(part) > 12 for part in parts):
        from campaignbridge.domain.errors import InvalidInput

        raise InvalidInput(
            "Each tier is a whole number of people, and a comma stands between them.",
            todo="Give them such as --tiers 500,1500,5000",
        )
    return tuple(int(part) for part in parts)


def ppm(given: str, flag: str) -> int:
    """Return a share as parts per million, exactly; refuse what isn't a number, or is finer than that."""
    from campaignbridge.domain.errors import InvalidInput

    try:
        parts = Decimal(given.strip()) * 1_000_000
    except InvalidOperation:
        parts = Decimal("NaN")
    if not parts.is_finite() or abs(parts) > Decimal(10) ** 12 or parts != parts.to_integral_value():
        raise InvalidInput(
            f"{flag} is a share between 0 and 1, with six decimals at most.",
            todo=f"Give it such as {flag} 0.04",
        )
    return int(parts)


def _filters(given: list[str], locale: str | None) -> dict[str, object]:
    from campaignbridge.domain.errors import InvalidInput

    attributes = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key.strip() or '"' in key or key in attributes:
            raise InvalidInput(
                "A filter is one KEY=VALUE, each key once.", todo="Give it such as --filter plan=pro"
            )
        attributes[key.strip()] = value
    found: dict[str, object] = {"attributes": attributes} if attributes else {}
    if locale is not None:
        if not 1 <= len(locale) <= 35 or not all(letter.isalnum() or letter == "-" for letter in locale):
            raise InvalidInput("A locale is a tag such as de or de-CH.", todo="Give it such as --locale de")
        found["locale"] = locale
    return found


def _confirm(new: "NewRamp", given: str | None) -> None:
    from campaignbridge.domain.errors import ValidationFailed

    first, people = new.plan.label(0), new.plan.tiers[0]
    if given is None:
        waves = ", ".join(f"{size:,}" for size in new.plan.tiers)
        rows = [
            ("Ramp", new.slug),
            ("Content", new.content),
            ("Audience", new.audience),
            ("Connection", new.connection),
            ("Waves", f"{waves}: {sum(new.plan.tiers):,} people at most"),
            ("Ticks", f"{new.cron} ({new.zone})" if new.cron else "by hand, with ramps run"),
            ("First", f"{first}, up to {people:,} people, at the first tick"),
        ]
        shown = terminal.facts([(name, terminal.clean(value)) for name, value in rows], indent=2, column=13)
        terminal.hint("Set a ramp up. It mails people by itself.", "", *shown, "")
        given = typed_fact(
            "Type the first wave's label to set it up, Ctrl-C to stop: ",
            command=f"campaignbridge ramps init {shlex.quote(terminal.clean(new.slug))} ... --confirm-wave {first}",
            todo="Repeat the command with what it would start, from a script:",
            wave=first,
            people=people,
        )
    if given.replace(" ", "").lower() != first:
        raise ValidationFailed(
            f"{terminal.shortened(given, 20)} is not the first wave's label ({first}). Nothing was set up.",
            todo="Look at it again, and name the wave if it is right.",
            wave=first,
        )
