"""Which files the rules look at: walked on disk, so that an unpacked archive is checked like a checkout."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tidy.rules import Source

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "campaignbridge"
TESTS = ROOT / "tests"
BOUGHT = {"static", "vendor"}  # third-party files, shipped as they came
WRITTEN = ["src", "tests", "docs", "scripts", "benchmarks", ".ci"]
TOP = {".md", ".toml", ".yaml", ".yml", ".cfg", ""}


def _sources(folder: Path) -> tuple[Source, ...]:
    return tuple(
        Source(path.relative_to(folder).as_posix(), path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if "__pycache__" not in path.parts
    )


@cache
def package() -> tuple[Source, ...]:
    """Every Python file of the package."""
    return _sources(PACKAGE)


@cache
def tests() -> tuple[Source, ...]:
    """Every Python file of the tests."""
    return _sources(TESTS)


def statements() -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of named statements; migrations are numbered, not named."""
    for path in sorted((PACKAGE / "store" / "sql").rglob("*.sql")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8")


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of everything in the repository that people wrote (the lock file isn't)."""
    files = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in TOP and path.name != ".git"]
    for name in WRITTEN:
        files += [path for path in (ROOT / name).rglob("*") if path.is_file()]
    for path in sorted(files):
        inside = path.relative_to(ROOT)
        if {"__pycache__", *BOUGHT} & set(inside.parts):
            continue
        try:
            yield inside.as_posix(), path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture or another binary
