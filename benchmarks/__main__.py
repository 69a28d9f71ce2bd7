"""One table of ratios: `python -m benchmarks [--only NAME] [--rounds N] [--rows N] [--json PATH]`."""

import argparse
import json
import statistics
from pathlib import Path

from benchmarks import importing, picking

LINES = {"import": importing.measure, "pick": picking.measure}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--only", choices=sorted(LINES), action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgres"), action="append")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    results = []
    print(
        f"{'work':<34}{'who':<8}{'seconds':>9}{'CPU':>8}{'rows/s':>12}{'peak MB':>9}{'ratio':>8}{'by CPU':>8}"
    )
    for name in chosen.only or sorted(LINES):
        for database in chosen.database or ("sqlite", "postgres"):
            rounds = list(LINES[name](database, chosen.rows, chosen.rounds))
            results += [{"line": name, "database": database, "rows": chosen.rows, **one} for one in rounds]
            told(f"{name} {chosen.rows:,}, {database}", rounds, chosen.rows)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


def told(work: str, rounds: list[dict], rows: int) -> None:
    """Print medians; the ratio is how much of the raw loop's speed is left, by wall clock and by our CPU."""
    median = {}
    for who in dict.fromkeys(one["who"] for one in rounds):
        mine = [one for one in rounds if one["who"] == who]
        median[who] = {
            key: statistics.median(one[key] for one in mine) for key in ("seconds", "cpu", "peak_mb")
        }
    raw = median["raw"]
    for who, one in median.items():
        wall, cpu = raw["seconds"] / one["seconds"], raw["cpu"] / max(one["cpu"], 1e-9)
        print(
            f"{work:<34}{who:<8}{one['seconds']:>9.2f}{one['cpu']:>8.2f}{rows / one['seconds']:>12,.0f}"
            f"{one['peak_mb']:>9.0f}{wall:>8.2f}{cpu:>8.2f}"
        )


if __name__ == "__main__":
    main()
