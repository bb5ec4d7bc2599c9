"""Kill commands again and again, and count what was shown as kept and is not.

    python tests/benchmarks/kills.py [--kills 100] [--seed 0]

Runs on a stage whose answers need no torch, so that most of a command is
what comes before and after the grading. Ends with 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WRONG = 'def answer():\n    assert False, "41"\n'


@dataclass
class Stage:
    """A project of small katas in a folder of its own."""

    root: Path
    pick: random.Random
    usual: float = 0.3
    kills: int = 0
    shown: int = 0
    lost: list[str] = field(default_factory=list[str])

    def build(self) -> None:
        ignore = shutil.ignore_patterns("__pycache__", "engine", "specs")
        shutil.copytree(ROOT / "grader", self.root / "grader", ignore=ignore)
        shutil.copytree(ROOT / "tests" / "stage", self.root, dirs_exist_ok=True)
        (self.root / "katas" / "kata01_echo.py").write_text(WRONG)
        started = time.monotonic()
        self.run("kata1", kill=False)
        self.usual = time.monotonic() - started

    def run(self, *words: str, stdin: bytes = b"", kill: bool = True) -> str:
        """Run a command and kill it at some moment, unless it is over by then."""
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "grader", *words],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root), "GRADER_CACHE": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        if kill:
            try:
                process.wait(self.usual * self.pick.uniform(0.3, 2.0))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                self.kills += 1
        out = process.stdout.read()
        process.stdout.close()
        process.wait()
        return out.decode(errors="replace")

    def ask(self, query: str) -> list[Any]:
        path = self.root / ".grader" / "history.db"
        if not path.exists():
            return []
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


def gradings(stage: Stage) -> None:
    """Each verdict on the screen has to be in the history."""

    def kept() -> int:
        return int(stage.ask("SELECT COUNT(*) FROM attempts WHERE status = 'failed'")[0][0])

    before = kept()
    out = stage.run("kata1")
    stage.shown += out.startswith("FAIL  kata1")
    if kept() < before + out.startswith("FAIL  kata1"):
        stage.lost.append(out)


def interviews(stage: Stage) -> None:
    """Each step that was shown has to be in the interview, and whatever was there before."""

    def kept() -> tuple[int, ...]:
        rows = stage.ask("SELECT rounds, state FROM interviews ORDER BY at, id")
        rounds = [(each, row[1]) for row in rows for each in json.loads(row[0])]
        return (
            len(rows),
            sum(each["checks"] for each, _ in rounds),
            sum(each["hints"] for each, _ in rounds),
            sum(len(each["answers"]) for each, _ in rounds),
            sum(each["ended"] is not None for each, _ in rounds),
            sum(row[1] == "finished" for row in rows),
        )

    running = stage.ask("SELECT rounds FROM interviews WHERE state = 'running'")
    step = stage.pick.choice(("check", "hint", "next", "next", "status"))
    words = ("interview", step)
    if not running:
        words = ("interview", "start", "--katas", "kata1", "--seed", "3")
    else:
        file = next((r["file"] for r in json.loads(running[0][0]) if r["ended"] is None), "")
        if file and stage.pick.random() < 0.5:
            Path(file).write_text(f"{WRONG}# {stage.pick.random()}\n")
    before = kept() if stage.ask("SELECT 1 FROM sqlite_master WHERE name = 'interviews'") else ()
    out = stage.run(*words, stdin=b"an answer\n1\n")
    after = kept()
    shown = (
        not running and "left" in out,
        step == "check" and out.startswith("FAILED"),
        "it costs points" in out,
        "kept: " in out,
        step == "next" and ("round 2 of" in out or "round 3 of" in out) and "kept: " not in out,
        " points · " in out,
    )
    stage.shown += any(shown)
    least = [a + b for a, b in zip(before or (0,) * 6, shown, strict=True)]
    if not all(a >= b for a, b in zip(after, least, strict=True)):
        stage.lost.append(f"{words}: {before} {shown} {after}\n{out}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    lost = 0
    kinds: tuple[Callable[[Stage], None], ...] = (gradings, interviews)
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(Path(folder) / "stage", random.Random(options.seed))
            stage.build()
            runs = 0
            while stage.kills < options.kills:
                kind(stage)
                runs += 1
            survived = stage.kills - len(stage.lost)
            print(
                f"{kind.__name__:<11}{survived}/{stage.kills} kills survived, in {runs} runs, "
                f"of which {stage.shown} had shown something as kept"
            )
            for each in stage.lost:
                print(each)
            lost += len(stage.lost)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
