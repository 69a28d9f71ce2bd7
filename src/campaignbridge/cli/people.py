"""One person: why they are mailed or not, what is known of them, and how they are kept out or erased."""

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes
from campaignbridge.cli.moments import dated
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.people import Listed, Person
    from campaignbridge.ports import Row

MOST_LETTERS = 1_000
Who = Annotated[
    str | None,
    typer.Argument(
        metavar="[ADDRESS]", help="One address; - reads it from stdin. Else it is asked for, unseen."
    ),
]
Whom = Annotated[
    str | None,
    typer.Argument(metavar="[WHOM]", help="One address, or a file of them; - reads one a line from stdin."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


def suppress(
    whom: Whom = None,
    reason: Annotated[
        str,
        typer.Option(
            metavar="WHY",
            envvar="CAMPAIGNBRIDGE_SUPPRESSION",
            help="complaint, bounce, unsubscribe or manual.",
        ),
    ] = "manual",
) -> None:
    """Have people never mailed again. The strongest reason stays.

    \b
      campaignbridge audiences suppress unsubscribed.csv --reason unsubscribe
      campaignbridge audiences suppress ann@example.com --reason complaint
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.domain.audience import Suppressed

    chosen = Suppressed(_one_of(reason, [one.value for one in Suppressed]))
    with session() as here:
        done = here.bridge.suppress(_addresses(whom), reason=chosen, actor=here.actor)
    _told(done, "suppressed", "were on the list already, for this or a stronger reason")


def unsuppress(
    reason: Annotated[
        str,
        typer.Option(
            metavar="WHY",
            envvar="CAMPAIGNBRIDGE_SUPPRESSION",
            help="The recorded reason: complaint, bounce, unsubscribe, manual or erased.",
        ),
    ],
    whom: Whom = None,
    yes: Yes = False,
) -> None:
    """Let people be mailed again who are suppressed for exactly this reason."""
    from campaignbridge.domain.audience import Suppressed

    chosen = _one_of(reason, [*(one.value for one in Suppressed), "erased"])
    addresses = _addresses(whom)
    if not yes:
        again = f"campaignbridge audiences unsuppress WHOM --reason {chosen} --yes"
        require_yes("Let them be mailed again?", command=again)
    with session() as here:
        done = here.bridge.unsuppress(addresses, reason=chosen, actor=here.actor)
    _told(done, "taken off the list", "were not on it for this reason")


def export(address: Who = None) -> None:
    """Print all that the store holds of one person, as one JSON document. It is audited that it was handed out."""
    with session() as here:
        found = here.bridge.export_person(_address(address), actor=here.actor)
    document = {
        "contacts": [dict(one) for one in found.contacts],
        "suppression": found.suppression,
        "waves": [dict(one) for one in found.waves],
    }
    terminal.answer(document, [json.dumps(document, indent=2, ensure_ascii=True, default=str)])


def erase(address: Who = None, yes: Yes = False) -> None:
    """Erase one person. Only a keyed hash stays, so that they are never mailed again. This can't be undone."""
    chosen = _address(address)
    if not yes:
        require_yes("Erase this person for good?", command="campaignbridge audiences erase ADDRESS --yes")
    with session() as here:
        done = here.bridge.erase_person(chosen, actor=here.actor)
    document = {
        "contacts": done.contacts,
        "was_suppressed": done.was_suppressed,
        "already_erased": done.already,
    }
    terminal.answer(document, [])
    known = (
        f"erased, in {done.contacts:,} audience{'s' if done.contacts > 1 else ''}"
        if done.contacts
        else "in no audience"
    )
    terminal.mark("ok", f"This person is {known}, is never mailed, and comes back by no import.")


def why(address: Who = None) -> None:
    """Tell which audiences and waves somebody is in, what became of it, and whether and why they are not mailed."""
    with session() as here:
        found = here.bridge.why(_address(address), actor=here.actor)
    suppression = found.suppression
    document = {
        "audiences": [
            {"slug": one["slug"], "since": one["created_at"], "locale": one["locale"], "zone": one["zone"]}
            for one in found.contacts
        ],
        "suppressed": None
        if suppression is None
        else {
            "reason": suppression["reason"],
            "since": suppression["at"],
            "source": suppression["source"],
            "erased": found.erased,
        },
        "waves": [dict(one) for one in found.waves],
    }
    terminal.answer(document, terminal.facts(_reasons(found)))


def _reasons(found: "Person") -> Iterator[tuple[str, str]]:
    one = found.suppression
    if one is None:
        yield "Mailed", "yes, where an audience of theirs is" if found.contacts else "no: in no audience"
    elif found.erased:
        yield "Mailed", f"never: erased {dated(one['at'], seconds=False)}. Only a keyed hash is kept."
    else:
        source = str(one["source"]).replace("_", " ")
        yield "Mailed", f"no: {one['reason']} since {dated(one['at'], seconds=False)} ({source})"
    for number, contact in enumerate(found.contacts):
        name = terminal.shortened(contact["slug"], 64)
        yield "" if number else "Audiences", f"{name}, since {dated(contact['created_at'], seconds=False)}"
    for number, wave in enumerate(found.waves):
        told = f"{wave['ramp']} {wave['label']}: {_of_wave(wave)}"
        yield "" if number else "Waves", terminal.clean(told)


FATES = {
    "soft": "; it bounced for now",
    "delivered": "; it arrived",
    "hard": "; it bounced for good",
    "complained": "; a complaint came back",
}


def _of_wave(wave: "Row") -> str:
    code = f" ({str(wave['code']).replace('_', ' ')})" if wave["code"] else ""
    if wave["status"] == "released":
        return f"taken out again{code}, {dated(wave['at'], seconds=False)}"
    if wave["status"] == "refused":
        return f"refused by the provider{code}, {dated(wave['at'], seconds=False)}"
    if wave["closed"] == "discarded":
        return "written off; not mailed, and not by a later wave of this ramp either"
    if wave["sent_at"] is None:
        return "picked; the wave has not gone"
    became = FATES.get(wave["fate"], "")
    return f"mailed {dated(wave['sent_at'], seconds=False)}{became}"


def _one_of(reason: str, known: list[str]) -> str:
    if reason not in known:
        from campaignbridge import Refusal

        raise Refusal("That is not one of the reasons.", code="usage", todo=f"They are {', '.join(known)}.")
    return reason


def _told(done: "Listed", what: str, otherwise: str) -> None:
    document: dict[str, Any] = {
        "rows_read": done.read,
        "changed": done.changed,
        "unchanged": done.unchanged,
        "rejected": done.rejected,
        "reasons": done.reasons,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"{done.changed:,} {'person was' if done.changed == 1 else 'people were'} {what}.")
    if done.unchanged:
        terminal.hint(f"      {done.unchanged:,} {otherwise}, or were named twice.")
    if done.rejected:
        from campaignbridge.domain.audience import REASONS

        told = "; ".join(f"{number:,}: {REASONS[reason]}" for reason, number in sorted(done.reasons.items()))
        terminal.mark("warn", f"{done.rejected:,} rows are no addresses. {told}.")


def _address(given: str | None) -> str:
    """Return one address, from where it stays out of the shell's history if people like."""
    if given == "-":
        return sys.stdin.readline(MOST_LETTERS).strip()
    return given if given is not None else _asked()


def _asked() -> str:
    if not terminal.interactive():
        from campaignbridge import Refusal

        raise Refusal(
            "Can't ask for the address here (no terminal).",
            code="usage",
            todo="Give it, or - and it on stdin.",
        )
    import getpass

    return getpass.getpass("The address (it is not shown): ", stream=sys.stderr).strip()


def _addresses(given: str | None) -> Iterator[str]:
    if given == "-":
        return iter(lambda: sys.stdin.readline(MOST_LETTERS), "")
    if given is None:
        return iter([_asked()])
    if "@" in given and not os.path.lexists(given):
        return iter([given])
    return _filed(given)


def _filed(path: str) -> Iterator[str]:
    from campaignbridge.flows.tables import Choices, look_at

    table = look_at(path, Choices())
    place = table.mapping.email
    with table.rows() as rows:
        while batch := rows.batch(1_000):
            yield from (
                one.cells[place] if not one.problem and place < len(one.cells) else "" for one in batch
            )
