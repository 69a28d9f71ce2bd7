"""`doctor`: every check, side by side, each bounded in time; told in one fixed order."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.exits import BUG, DONE, PERSON
from campaignbridge.cli.session import version

if TYPE_CHECKING:
    from campaignbridge.flows.checkup import Check, Finding, Subject

LIMIT_S = 5.0
_WORDS = {"ok": "ok", "warn": "warn", "fail": "FAIL", "skipped": "skip"}
_TONES = {"ok": "green", "warn": "yellow", "fail": "red"}
_NAMES = 14
_COLUMN = 8 + _NAMES


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Ask no provider.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 5 for warnings, too.")] = False,
) -> int:
    """Look at settings, store, work, providers and campaigns. Changes nothing; asks each provider once.

    Ends with 5 when a check failed. What can't be looked at because of another failure is skipped.
    """
    subject = _subject()
    results: list[tuple[Check, Finding]] = []
    group = ""
    if not CHOICES.json:
        terminal.answer({}, [f"campaignbridge {version()}   {_place(subject)}".rstrip(), ""])
    for check, finding in _examine(subject, offline=offline):
        if not CHOICES.json:
            if check.group != group:
                group = check.group
                terminal.answer({}, [group])
            _tell(check, finding)
        results.append((check, finding))
    found = [finding.status for _, finding in results]
    terminal.answer(
        {
            "ok": "fail" not in found,
            "checks": [{"id": check.id, **asdict(finding)} for check, finding in results],
        },
        ["", _summed_up(found)],
    )
    if any(finding.help == "internal_error" for _, finding in results):
        return BUG
    return PERSON if "fail" in found or (strict and "warn" in found) else DONE


def _subject() -> "Subject":
    from campaignbridge.domain.errors import Refusal
    from campaignbridge.installing import subject_of
    from campaignbridge.settings import from_environment

    try:
        return subject_of(from_environment(database=CHOICES.database))
    except Refusal as refusal:
        return subject_of(refusal)


def _place(subject: "Subject") -> str:
    from campaignbridge.domain.errors import Refusal
    from campaignbridge.settings import place_of_store

    settings = subject.settings
    return "" if isinstance(settings, Refusal) else terminal.clean(place_of_store(settings))


def _examine(subject: "Subject", *, offline: bool) -> "Iterator[tuple[Check, Finding]]":
    """Yield every check with its finding, in order: what others need first, then the rest side by side."""
    from campaignbridge.flows.checkup import GATES, skipped
    from campaignbridge.flows.doctor import checks_for, connection_checks

    checks = checks_for(subject.settings)
    found: dict[str, Finding] = {}

    def start(check: "Check") -> "_Look | None":
        if check.needs and found[check.needs].status not in ("ok", "warn"):
            found[check.id] = skipped(check)
            return None
        return _Look(partial(check.look, subject), subject)

    for check in (check for check in checks if check.id in GATES):
        look = start(check)
        found[check.id] = look.finding() if look else found[check.id]
    if found["schema"].status in ("ok", "warn"):
        own: list[Check] = []
        _Look(lambda: own.extend(connection_checks(subject, offline=offline)), subject).finding()
        at = [check.group for check in checks].index("Campaigns")
        checks[at:at] = own
    looks = {check.id: start(check) for check in checks if check.id not in GATES}
    for check in checks:
        look = looks.get(check.id)
        yield check, look.finding() if look else found[check.id]


class _Look(threading.Thread):
    """One look, in a thread that nobody waits for beyond the limit."""

    def __init__(self, look: "Callable[[], Finding | None]", subject: "Subject") -> None:
        super().__init__(daemon=True)
        self._look = look
        self._subject = subject
        self._found: Finding | None = None
        self._began = time.monotonic()
        self.start()

    def run(self) -> None:
        from campaignbridge.domain.errors import Refusal
        from campaignbridge.flows.checkup import Finding, of_refusal

        try:
            self._found = self._look()
        except Refusal as refusal:
            self._found = of_refusal(refusal)
        except Exception as error:  # noqa: BLE001  the other checks go on
            self._found = Finding("fail", f"this check broke: {type(error).__name__}", help="internal_error")
        finally:
            if self._subject.database is not None:
                self._subject.database.close()  # this thread's own connection

    def finding(self) -> "Finding":
        """Return what was found, within the limit since it began."""
        from campaignbridge.flows.checkup import Finding

        self.join(max(0.0, self._began + LIMIT_S - time.monotonic()))
        return self._found or Finding("fail", f"no answer within {LIMIT_S:g} s")


def _tell(check: "Check", finding: "Finding") -> None:
    from rich.text import Text

    lines = terminal.wrapped(terminal.clean(finding.summary), width=terminal.WIDTH - _COLUMN) or [""]
    name = terminal.shortened(check.name, _NAMES - 1)
    line = Text("  ").append(f"{_WORDS[finding.status]:<6}", style=_TONES.get(finding.status, ""))
    terminal.console(stderr=False).print(line.append(f"{name:<{_NAMES}}{lines[0]}"))
    more = [" " * _COLUMN + rest for rest in lines[1:]]
    if finding.status != "ok":
        effect = terminal.wrapped(terminal.clean(finding.effect), width=terminal.WIDTH - 8)
        more += [f"        {part}" for part in effect]
        more += [f"        Fix   {terminal.clean(finding.fix)}"] * bool(finding.fix)
        more += [f"        Help  campaignbridge help {finding.help}"] * bool(finding.help)
    for rest in more:
        terminal.console(stderr=False).print(rest)


def _summed_up(found: list[str]) -> str:
    """Return `2 failed, 2 warnings, 6 ok`."""
    words = (("fail", "failed"), ("warn", "warning"), ("ok", "ok"), ("skipped", "skipped"))
    counts = [(found.count(status), word) for status, word in words]
    return ", ".join(
        f"{count} {word}{'s' * (word == 'warning' and count != 1)}"
        for count, word in counts
        if count or word in ("failed", "ok")
    )
