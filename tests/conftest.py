"""Fixtures for all tests, and an end of the run that says what was skipped and why."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import postgres

ROOT = Path(__file__).resolve().parent.parent
SHARED = "CAMPAIGNBRIDGE_SHARED"


@pytest.fixture(scope="session")
def project_root() -> Path:
    """Return the root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run one PostgreSQL server for this process; return the URL of a database that all its tests share."""
    try:
        with postgres.server() as url:
            yield url
    except postgres.Absent as absent:
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(f"{absent}: not skipped, because CI is set", pytrace=False)
        pytest.skip(str(absent))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """Return a database URL whose search path is a fresh schema that only this test has."""
    with postgres.fresh_schema(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def shared_facts() -> Path:
    """Return the folder with recorded provider facts that lies beside the checkout; skip without it."""
    place = Path(os.environ.get(SHARED) or ROOT.parent / "shared")
    if not (place / "facts").is_dir():
        pytest.skip("recorded provider facts are absent")
    return place


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by fixture and by folder, so that no test is left out of its stage by a forgotten mark."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "postgres_server" in fixtures:
            item.add_marker(pytest.mark.postgres)
        for folder, mark in (("sim", pytest.mark.sim), ("crash", pytest.mark.kills)):
            if item.path.is_relative_to(ROOT / "tests" / folder):
                item.add_marker(mark)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped, by reason: a run that skipped half is not a good run."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")
