"""`events`: what became of a delivery's people, by the provider's record and our own store. Addresses are masked."""

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.completing import campaign_ids
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.portrait import place_of, provider_label
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.affected import Found, Listed, Of, Somebody

events = group("See who bounced, complained or left because of a delivery.")
MOST = 1_000
DOMAINS = 10
REASONS = {"permanent": "for good", "transient": "may pass", None: ""}


class Wanted(StrEnum):
    """Which people to list."""

    COMPLAINT = "complaint"
    BOUNCE = "bounce"
    UNSUBSCRIBE = "unsubscribe"
    REFUSED = "refused"


@events.command("list", cls=Command)
def list_(
    ramp: Annotated[str | None, typer.Option(metavar="NAME", help="Of this ramp.")] = None,
    wave: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Of this wave of it. [default: the newest one that went]"),
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Of this campaign instead.", autocompletion=campaign_ids),
    ] = None,
    kind: Annotated[Wanted | None, typer.Option(help="Only these people.")] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="So many people of each kind at most.")
    ] = 50,
) -> None:
    """List who bounced, complained or left because of a delivery, by domain and reason.

    It reads the provider's own record now and changes nothing. Whom the provider refused before a wave went is
    told from our store. An address is shown as its first letter and its domain.

    \b
      campaignbridge events list --ramp winter --wave wave-3 --kind bounce
      campaignbridge events list --campaign cmp_7k2f9x0q1z3m --json
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.flows.affected import Affected

    of, wanted = _of(ramp, wave, campaign), Affected(kind.value) if kind else None
    with session() as here:
        listed = here.bridge.affected(of, kind=wanted, most=limit, actor=here.actor)
    terminal.answer(document(listed), lines(listed))
    if not any(one.people for one in listed.found):
        terminal.hint("Nobody, as far as the record tells. It lags behind a delivery.")
    if not all(one.complete for one in listed.found):
        more = f" --limit {MOST} shows more." if limit < MOST else ""
        terminal.mark("warn", f"That is not everybody.{more}", stderr=True)


def _of(ramp: str | None, wave: str | None, campaign: str | None) -> "Of":
    from campaignbridge.flows.affected import Of

    if (ramp is None) == (campaign is None) or (wave is not None and ramp is None):
        from campaignbridge import Refusal

        raise Refusal(
            "It takes a ramp, if you like with one of its waves, or a campaign.",
            code="usage",
            todo="Say which: --ramp NAME --wave LABEL, or --campaign ID",
            command="campaignbridge events list --help",
        )
    return Of(campaign, ramp, wave)


def document(listed: "Listed") -> dict[str, Any]:
    """Return a list for programs. `complete` is false where there are more people than are listed."""
    of = listed.of
    return {
        "ramp": of.ramp,
        "wave": of.wave,
        "campaign": of.campaign,
        "connection": listed.connection.label,
        "read_at": listed.read_at,
        "kinds": {
            one.kind.value: {"people": len(one.people), "complete": one.complete} for one in listed.found
        },
        "events": [
            {
                "kind": one.kind.value,
                "person": somebody.person,
                "domain": somebody.domain,
                "reason": somebody.reason,
            }
            for one in listed.found
            for somebody in one.people
        ],
        "next_cursor": None,
    }


def lines(listed: "Listed") -> list[str]:
    """Return a list as people are shown it: how many by domain, then each of them."""
    of, connection = listed.of, listed.connection
    named = f"{of.ramp}   {of.wave}" if of.ramp is not None else str(of.campaign)
    place = f"{connection.label} ({provider_label(connection)}, {place_of(connection)})"
    head = f"{terminal.clean(named)}   {place}   read {clock_time(listed.read_at, listed.read_at)}"
    people = [(one, somebody) for one in listed.found for somebody in one.people]
    if not people:
        return [head]
    table: list[tuple[str, ...]] = [("kind", "reason", "person")]
    table += [
        (one.kind.value, _reason(somebody), terminal.shortened(somebody.person, 48))
        for one, somebody in people
    ]
    return [head, "", *terminal.columns(_domains(listed.found)), "", *terminal.columns(table)]


def _domains(found: tuple["Found", ...]) -> list[tuple[str, ...]]:
    shown = [one for one in found if one.people]
    counts = {one.kind: Counter(somebody.domain for somebody in one.people) for one in shown}
    together: Counter[str] = sum(counts.values(), Counter())
    rows: list[tuple[str, ...]] = [("domain", *(one.kind.value for one in shown))]
    for domain, _ in sorted(together.items(), key=lambda item: (-item[1], item[0]))[:DOMAINS]:
        rows.append((terminal.shortened(domain, 30), *(f"{counts[one.kind][domain]:,}" for one in shown)))
    if len(together) > DOMAINS:
        rows.append((f"and {len(together) - DOMAINS:,} more", *("" for _ in shown)))
    return rows


def _reason(somebody: "Somebody") -> str:
    return REASONS.get(somebody.reason) or terminal.shortened((somebody.reason or "").replace("_", " "), 24)
