"""The closing line of the rounds: counted by the tests themselves, added up here."""

import json
from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what all rounds came to."""
    total: Counter[str] = Counter()
    points: set[str] = set()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "teardown":
                continue
            for line in (text for name, text in report.user_properties if name == "chaos"):
                terminalreporter.write_line(line)
            for tally in (json.loads(text) for name, text in report.user_properties if name == "rounds"):
                total.update(rounds=tally["rounds"], duplicates=tally["duplicates"], lost=tally["lost"])
                total.update({tally["dialect"]: tally["rounds"], **tally["strikes"]})
                points.update(tally["points"])
    if total["rounds"]:
        terminalreporter.write_line(
            f"kills: {total['rounds']} rounds ({total['sqlite']} sqlite, {total['postgres']} postgres), "
            f"{len(points)} fault points, {total['SIGKILL']} kill -9, {total['SIGTERM']} SIGTERM, "
            f"{total['SIGSTOP']} SIGSTOP, {total['cut']} cut commits, "
            f"duplicates {total['duplicates']}, lost {total['lost']}"
        )
