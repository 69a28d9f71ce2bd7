"""How an error is told: what and why, what to do, and a command to paste; or one RFC 9457 object on stdout."""

import os
import re
import tempfile
import traceback
from typing import Any

from campaignbridge.cli import terminal
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.exits import BUG, INTERRUPTED, PERSON, Ending, ending
from campaignbridge.domain.errors import Refusal

_COMMANDS = "audiences|campaigns|connections|jobs|locks|notices|ramps|db|doctor|init"
_OF_RAMPS = r"ramps [a-z-]+ (?!says|shows)[a-z0-9-]+(?: --[a-z-]+(?: \"\.\.\.\")?)*"
_NAMED = re.compile(
    rf"(?<!campaignbridge )\b({_OF_RAMPS}|(?:{_COMMANDS}) [a-z-]+(?: (?:cmp|con|job)_[a-z0-9]+)?)"
)
_ADDRESS = re.compile(r"[^\s<>\"'(),;]+@[^\s<>\"'(),;]+")
_SECRET = re.compile(r"\b[0-9a-f]{32}(?:-[a-z]{2,4}\d+)?\b|://[^/\s@]*@", re.IGNORECASE)


def problem(refusal: Refusal) -> dict[str, Any]:
    """Return the RFC 9457 object of a refusal; the same that every surface gives."""
    end = ending(refusal.code)
    return {
        "type": f"/help/{refusal.code}",
        "title": end.title,
        "status": end.status,
        "code": refusal.code,
        "detail": terminal.clean(refusal.what),
        "todo": terminal.clean(refusal.todo),
        "safe_to_repeat": _repeatable(refusal, end),
        **refusal.facts,
    }


def refused(refusal: Refusal) -> int:
    """Tell a refusal; return its exit code."""
    if CHOICES.json:
        terminal.say_json(problem(refusal))
    else:
        _tell(refusal)
    return ending(refusal.code).exit


def _tell(refusal: Refusal) -> None:
    word = "?" if ending(refusal.code).exit == PERSON else ""
    terminal.mark(word, terminal.clean(refusal.what), stderr=True)
    todo = terminal.clean(refusal.todo)
    if todo:
        terminal.hint(*(f"      {line}" for line in terminal.wrapped(todo, width=terminal.WIDTH - 6)))
    command = str(refusal.facts.get("command") or command_of(todo, refusal.code))
    terminal.hint(*(f"      {line}" for line in terminal.pasteable(command)))


def command_of(todo: str, code: str) -> str:
    """Return the command to paste: the one that the advice names, else the help page."""
    named = _NAMED.search(todo)
    if named and not named[1].endswith((" shows", " says")):
        watch = " --watch" if named[1].startswith("campaigns show") and ending(code).exit == PERSON else ""
        return f"campaignbridge {named[1]}{watch}"
    return f"campaignbridge help {code}"


def _repeatable(refusal: Refusal, end: Ending) -> bool:
    provider = refusal.facts.get("provider")
    if isinstance(provider, dict) and "attempt" in refusal.facts:
        return False  # this key is spent: another request takes another key
    return end.again


def usage(message: str, command: str) -> int:
    """Tell that the arguments can't be understood; return the exit code."""
    refusal = Refusal(message, code="usage", todo="See what it takes:", command=f"{command} --help")
    return refused(refusal)


def interrupted() -> int:
    """Tell that the person stopped it; return the exit code."""
    if CHOICES.json:
        terminal.say_json(problem(Refusal("Interrupted.", code="interrupted", todo="Run it again.")))
    else:
        terminal.hint("", "Stopped.")
    return INTERRUPTED


def bug(error: BaseException) -> int:
    """Write a report of an unexpected error and say where; return the exit code."""
    if CHOICES.debug:
        traceback.print_exception(error)
    place = _report(error)
    refusal = Refusal(
        f"A bug of ours ({type(error).__name__}). The report is in {place}.",
        code="internal_error",
        todo="Please send us the report; it holds no key and no address.",
        report=place,
    )
    if CHOICES.json:
        terminal.say_json(problem(refusal))
    else:
        terminal.mark("FAIL", refusal.what, stderr=True)
    return BUG


def _report(error: BaseException) -> str:
    """Write the traceback without the values that were in it: places in our code, and types."""
    from campaignbridge.cli.session import version

    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"campaignbridge {version()}", type(error).__name__]
    lines += [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}' for frame in frames]
    cause = error.__cause__ or error.__context__
    if cause is not None:
        lines.append(f"after {type(cause).__name__}")
    try:
        handle, place = tempfile.mkstemp(prefix="campaignbridge-report-", suffix=".txt")  # mode 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(masked("\n".join(lines)) + "\n")
    except OSError:
        return "nowhere: the temp folder can't be written to"
    return place


def masked(text: str) -> str:
    """Return text without what looks like a key, a password or an address."""
    return _ADDRESS.sub("(address)", _SECRET.sub("(secret)", text))
