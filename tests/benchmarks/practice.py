"""Print what the overview costs, as a ratio to importing rich, by the length of the history.

    python tests/benchmarks/practice.py [--runs 9]

The overview must not get slower visibly as attempts add up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grader.catalog import HOME, katas
from grader.model import NamedBug, Verdict
from grader.practice.database import writing
from grader.practice.history import History

ROOT = Path(__file__).resolve().parents[2]
BASELINE = [sys.executable, "-c", "import rich.console"]
OVERVIEW = [sys.executable, "-m", "grader"]
DAY = 24 * 3600.0


def fill(folder: Path, attempts: int) -> None:
    """Make a history of attempts at all katas, over two years."""
    history = History(folder / "history.db")
    slugs = [entry.slug for entry in katas()]
    bug = NamedBug("mask-multiplied", "title", "ask?", "exact")
    start = time.time() - 730 * DAY
    for number in range(min(attempts, 200)):
        verdict = Verdict("kata01", slugs[number % len(slugs)], "failed", 0.5, 0.3, bugs=(bug,))
        history.record(verdict, b"answer %d" % number * 200, "command", start + number)
    with writing(history.path) as connection:  # the rest in one transaction: it is a benchmark
        for number in range(200, attempts):
            at = start + number * 730 * DAY / attempts
            connection.execute(
                """INSERT INTO attempts SELECT NULL, lower(hex(randomblob(16))), ?, ?,
                date(?, 'unixepoch'), ?, score, seconds, 600.0, hints, origin, bugs, snapshot
                FROM attempts WHERE id = 1""",
                (slugs[number % len(slugs)], at, at, "passed" if number % 3 else "failed"),
            )


def seconds(command: Sequence[str], home: Path) -> float:
    started = time.perf_counter()
    # As for anybody: compiled once, not each time.
    environment = os.environ | {HOME: str(home), "PYTHONPYCACHEPREFIX": str(home.parent / "pyc")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        homes = {attempts: Path(folder) / str(attempts) for attempts in (0, 10, 10_000)}
        for attempts, home in homes.items():
            fill(home, attempts)
            seconds(OVERVIEW, home)
        seconds(BASELINE, homes[0])
        taken: dict[int, list[float]] = {attempts: [] for attempts in homes}
        base: list[float] = []
        for _ in range(runs):
            base.append(seconds(BASELINE, homes[0]))
            for attempts, home in homes.items():
                taken[attempts].append(seconds(OVERVIEW, home) / base[-1])
    print(f"import rich.console  {statistics.median(base):.3f} s")
    for attempts, ratios in taken.items():
        print(f"{attempts:>6} attempts      {statistics.median(ratios):.2f} times that")


if __name__ == "__main__":
    main()
