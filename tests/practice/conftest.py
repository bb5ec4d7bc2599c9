"""Commands of practice over the katas of the stage, and histories of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.model import CheckResult, Counterexample, NamedBug, Verdict
from grader.practice.history import History

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MINUTE, DAY = 60.0, 24 * 3600.0
# Noon, so that a few hours to either side are the same day in any time zone of the tests.
START = 1_767_960_000.0


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "home" / "history.db")


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    def make(status: str = "passed", slug: str = "echo", *bugs: str) -> Verdict:
        failed = status == "failed"
        shown = Counterexample("answer()", "42", "41", "print(1)\n", {"seed": 3}, (("x", "(2,)"),))
        return Verdict(
            "kata01",
            slug,
            status,  # type: ignore[arg-type]
            0.25 if failed else 1.0,
            0.5,
            "katas/kata01_echo.py",
            (CheckResult("a", "b", "failed" if failed else "passed", "m", 3, shown),),
            tuple(NamedBug(name, "title", "ask?", "exact") for name in bugs),
            ("a note",),
        )

    return make


@pytest.fixture
def environment(stage: Path) -> dict[str, str]:
    hidden = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "GRADER_HOME", "GRADER_CLOCK")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    ours = {"PYTHONPATH": str(stage), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    return kept | ours


@pytest.fixture
def run(stage: Path, environment: dict[str, str]) -> Run:
    def start(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "grader", *words],
            cwd=stage,
            env=environment | more,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return start
