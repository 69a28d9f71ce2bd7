"""`status`: what needs a person, oldest first, each with its one next command; and how everything else stands."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.exits import DONE, PERSON
from campaignbridge.cli.following import Every, For, Sight, follow
from campaignbridge.cli.moments import age, clock_time, dated, zoned
from campaignbridge.cli.session import session
from campaignbridge.cli.words import LABELS

if TYPE_CHECKING:
    from campaignbridge.domain.need import Need
    from campaignbridge.flows.status import Standing, Status

KEYS = {
    "works": "key works",
    "refused": "key refused",
    "unchecked": "key not checked yet",
    "disconnected": "disconnected",
}
AGES = {
    "under_5_min": "under 5 min",
    "under_1_h": "under 1 h",
    "under_1_day": "under 1 day",
    "older": "older",
}
REQUESTS = {"pending": "not answered yet", "unknown": "not confirmed"}
STANDSTILLS = {
    "copy_paused": (
        "This is a copy, and paused.",
        "It sends nothing, reads nothing by itself and runs no jobs.",
    ),
    "no_tick": ("Nothing is running.", "Nothing is sent, watched or checked until a worker runs."),
    "work_stalled": ("Work stands still.", "Workers tick, and nobody asks for work."),
}
COLUMN = 13
MOST_WORKERS = 5
NEVER_HAD = (
    "Nothing is connected yet. Two ways to begin:",
    "  campaignbridge demo",
    "  campaignbridge connections add LABEL --provider mailchimp --key-env NAME",
)


def status(
    check: Annotated[bool, typer.Option("--check", help="Exit code 5 if anything needs a person.")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Go on looking; Ctrl-C ends it. With --json one document a change."),
    ] = False,
    every: Every = 2,
    seconds: For = None,
) -> int:
    """Show what needs a person, oldest first, and how campaigns, connections and work stand.

    It reads our own store and asks nobody else. It is 0 even if the news is bad; --check makes 5 of anything that
    needs a person, for scripts and monitors. With --watch it goes on until Ctrl-C, which is 130, or --for.
    """
    with session() as here:

        def read() -> "Status":
            return here.bridge.status(actor=here.actor)

        if watch:
            _, found = follow(sight(read), here.bridge.wiring.clock, every_s=every, most_s=seconds)
            return PERSON if check and found.needs_person else DONE
        found = read()
    terminal.answer(document(found), lines(found))
    if not found.connections:
        terminal.hint("", *NEVER_HAD)
    return PERSON if check and found.needs_person else DONE


def sight(read: "Callable[[], Status]") -> "Sight[Status]":
    """Return how Status is looked at. It never settles: something may always come to need a person."""
    return Sight(read, document, lines, _line, _changes, settled=lambda _: None)


def _line(found: "Status") -> str:
    return f"{clock_time(found.now, found.now)}   {headline(found)}   Campaigns: {_states(found)}"


def _changes(found: "Status") -> object:
    """Return what has to differ for another line: not the time, nor anybody's age."""
    needs = [(one.kind, one.target, one.reason, one.count) for one in found.needs]
    keys = [(one.id, one.key, one.waiting) for one in found.connections]
    open_ = {name: sum(ages.values()) for name, ages in found.unresolved.items()}
    return headline(found), needs, dict(found.states), [one.id for one in found.upcoming], keys, open_


def document(found: "Status") -> dict[str, Any]:
    """Return Status for programs. Times are epoch milliseconds UTC."""
    return {
        "checked_at": found.now,
        "needs_person": found.total,
        "exact": found.exact,
        "standstill": found.standstill or None,
        "needs": [_need(one) for one in found.needs],
        "campaigns": dict(found.states),
        "scheduled": [asdict(one) for one in found.upcoming],
        "connections": [asdict(one) for one in found.connections],
        "unresolved": {name: dict(ages) for name, ages in found.unresolved.items()},
        "work": {"warnings": list(found.warnings), **asdict(found.health)},
        "next_cursor": None,
    }


def _need(one: "Need") -> dict[str, Any]:
    return {
        "kind": one.kind,
        "target": one.target,
        "name": one.name,
        "connection": one.connection or None,
        "reason": one.reason,
        "why": one.why,
        "since": one.since,
        "count": one.count,
        "command": f"campaignbridge {one.command}",
        "help": one.help,
    }


def headline(found: "Status") -> str:
    """Return `2 things need a person.`, in the right number."""
    if found.total:
        told = f"{_counted(found.total)} thing{'s need' if found.total != 1 else ' needs'} a person."
    else:
        told = "" if found.standstill else "Nothing needs a person."
    return f"{STANDSTILLS.get(found.standstill, ('', ''))[0]} {told}".strip()


def lines(found: "Status") -> list[str]:
    """Return Status as people are shown it."""
    told = [f"{headline(found)}   checked {clock_time(found.now, found.now)}", "", *_standstill(found)]
    for one in found.needs:
        told += [*_told(one, found.now), ""]
    left = found.total - len(found.needs)
    if left > 0:
        told += [f"and {_counted(left) if found.exact else f'more than {left - 1:,}'} more, younger ones", ""]
    rows = [
        ("Campaigns", _states(found)),
        *_listed("Scheduled", [f"{zoned(one.at)}  {_short(one.name)}  {one.id}" for one in found.upcoming]),
        *_listed("Connections", [_standing(one, found.now) for one in found.connections]),
        *_listed("Unconfirmed", _unresolved(found)),
        *_listed("Work", _work(found)),
        *_listed("Workers", _workers(found)),
    ]
    return [*told, *terminal.facts(rows, column=COLUMN)]


def _standstill(found: "Status") -> list[str]:
    if not found.standstill:
        return []
    last = found.health.last_tick
    since = (
        f"{dated(last)} ({age(found.now - last)})"
        if last is not None
        else "the beginning: none has ticked yet"
    )
    rows = [
        ("Since", "" if found.paused else since),
        (
            "Do",
            "campaignbridge db adopt, if this is the only one" if found.paused else "campaignbridge worker",
        ),
        ("Help", f"campaignbridge help {found.standstill}"),
    ]
    told = terminal.facts([row for row in rows if row[1]], indent=2, column=7)
    return [f"! {STANDSTILLS[found.standstill][1]}", *told, ""]


def _told(one: "Need", now: int) -> list[str]:
    titled = {
        "campaign": f"{terminal.shortened(one.name, 28)}   {one.target}   {one.connection}",
        "connection": f"{one.connection} ({one.provider}, {_place(sandboxed=one.sandboxed)})",
        "ramp": f"{terminal.shortened(one.name, 28)}   ramp {one.target}   {one.connection}",
    }
    rows = [
        ("Why", one.why),
        ("Since", f"{dated(one.since)} ({age(now - one.since)})"),
        ("Do", f"campaignbridge {one.command}"),
        ("Help", f"campaignbridge help {one.help}"),
    ]
    head = f"! {titled.get(one.kind, f'Background work: {one.name}')}"
    return [head, *terminal.facts([(name, terminal.clean(text)) for name, text in rows], indent=2, column=7)]


def _counted(number: int) -> str:
    return f"{number:,}" if number <= 10_000 else "more than 10,000"


def _states(found: "Status") -> str:
    told = [
        f"{_counted(count)} {LABELS[state].format(provider='the provider').lower()}"
        for state, count in found.states.items()
        if count and state != "archived"
    ]
    return ", ".join(told) or "none"


def _standing(one: "Standing", now: int) -> str:
    told = f"{one.label} ({one.provider}, {_place(sandboxed=one.sandboxed)}): {KEYS[one.key]}"
    if one.since is not None:
        told += f" since {dated(one.since)}"
    elif one.key == "works" and one.verified_at is not None:
        told += f", verified {clock_time(one.verified_at, now, seconds=False)}"
    if one.waiting:
        told += f"; {one.waiting:,} campaign{'s wait' if one.waiting != 1 else ' waits'}"
    return told


def _unresolved(found: "Status") -> list[str]:
    return [
        f"{sum(ages.values()):,} {REQUESTS[name]}: "
        + ", ".join(f"{count:,} {AGES[age_]}" for age_, count in ages.items() if count)
        for name, ages in found.unresolved.items()
        if any(ages.values())
    ]


def _work(found: "Status") -> list[str]:
    health, now = found.health, found.now
    told = "nothing is due"
    if health.due_since is not None:
        told = f"the oldest due for {age(now - health.due_since)}"
    counts = ((health.waiting, "waiting"), (health.claimed, "running"), (health.stopped, "left behind"))
    told = "; ".join([told, *(f"{_counted(number)} {word}" for number, word in counts if number)])
    dead = ", ".join(f"{code} {count:,}" for code, count in health.dead[:3])
    return [told, *([f"given up: {dead}"] if dead else [])]


def _workers(found: "Status") -> list[str]:
    return [
        f"{one.host}: last tick {age(found.now - one.ticked_at)} ago"
        + (f", asked for work {age(found.now - one.claimed_at)} ago" if one.claimed_at is not None else "")
        for one in found.health.workers[:MOST_WORKERS]
    ]


def _listed(name: str, values: list[str]) -> list[tuple[str, str]]:
    return [
        (name if number == 0 else "", terminal.clean(value))
        for number, value in enumerate(values or ["none"])
    ]


def _short(name: str) -> str:
    return terminal.shortened(name, 24)


def _place(*, sandboxed: bool) -> str:
    return "sandbox" if sandboxed else "LIVE"
