#!/usr/bin/env python3
"""Run what continuous integration runs, stage by stage, and close with one line that counts everything.

Stages go on after a failure, so that one run shows all of it. A stage whose folder holds no test yet says
"nothing yet"; everywhere else an empty run is a failure. Arguments, if any, name the only stages to run.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = [str(ROOT / "scripts" / "uv"), "run", "--locked"]
PYTEST = [*UV, "python", "-m", "pytest"]
APART = ["--ignore=tests/sim", "--ignore=tests/crash"]
NOTHING_COLLECTED = 5
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)")
CLOSING = re.compile(r"\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed)\b.* in [\d.]+s")


@dataclass(frozen=True, slots=True)
class Stage:
    """One command. `may_be_empty` is a sign that tests exist; None means that they must."""

    name: str
    what: str
    command: list[str]
    may_be_empty: str | None = None


STAGES = [
    Stage("check", "ruff, format, mypy, layers", ["make", "--no-print-directory", "check"]),
    Stage("tests", "everything on SQLite", [*PYTEST, "tests", *APART, "-m", "not postgres", "-n", "2"]),
    Stage(
        "postgres",
        "everything on PostgreSQL",
        [*PYTEST, "tests", *APART, "-m", "postgres", "-n", "2"],
        may_be_empty="postgres",
    ),
    Stage("sim", "every mutant by name", [*PYTEST, "tests/sim", "-n", "2"], may_be_empty="sim"),
    Stage("worlds", "the simulation at large", ["make", "--no-print-directory", "sim"]),
    Stage("kills", "real processes, killed", [*PYTEST, "tests/crash", "-n", "2"], may_be_empty="crash"),
]


def is_empty(stage: Stage) -> bool:
    """Say whether nobody has written a test for this stage yet."""
    if stage.may_be_empty is None:
        return False
    if stage.may_be_empty == "postgres":
        files = [f for f in (ROOT / "tests").rglob("test_*.py") if not {"sim", "crash"} & set(f.parts)]
        return not any(re.search(r"postgres_url|mark\.postgres", f.read_text("utf-8")) for f in files)
    return not any((ROOT / "tests" / stage.may_be_empty).rglob("test_*.py"))


def run(stage: Stage) -> tuple[int, Counter[str]]:
    """Run one stage with its output passed on line by line; return its exit code and pytest's counts."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    counts: Counter[str] = Counter()
    with subprocess.Popen(
        stage.command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if CLOSING.search(line):
                counts = Counter({word.rstrip("s"): int(n) for n, word in COUNT.findall(line)})
    return process.returncode, counts


def main(names: list[str]) -> int:
    """Run the stages and return 0 only if every one of them was good."""
    known = [stage.name for stage in STAGES]
    if unknown := [name for name in names if name not in known]:
        print(f"no such stage: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [stage for stage in STAGES if not names or stage.name in names]
    total: Counter[str] = Counter()
    lines: list[str] = []
    failed: list[str] = []
    began = time.monotonic()
    for stage in chosen:
        print(f"\n== {stage.name}: {stage.what}", flush=True)
        if is_empty(stage):
            print("nothing yet", flush=True)
            lines.append(f"{stage.name:<9} nothing yet")
            continue
        start = time.monotonic()
        code, counts = run(stage)
        verdict = "ok" if code == 0 else f"FAILED (exit {code})"
        if code == NOTHING_COLLECTED:
            verdict = "FAILED (no test ran)"
        if code != 0:
            failed.append(stage.name)
        total += counts
        lines.append(
            f"{stage.name:<9} {verdict:<22} {time.monotonic() - start:6.1f} s  {told(counts)}".rstrip()
        )
        print(f"-- {stage.name} took {time.monotonic() - start:.1f} s", flush=True)
    print("\n" + "\n".join(lines))
    ending = f"FAILED: {', '.join(failed)}" if failed else "all good"
    print(f"total: {told(total) or 'no tests'} in {time.monotonic() - began:.1f} s; {ending}", flush=True)
    return 1 if failed else 0


def told(counts: Counter[str]) -> str:
    """Write counts as pytest does."""
    order = ["failed", "error", "passed", "skipped", "xfailed", "xpassed"]
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
