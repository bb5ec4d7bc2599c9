"""Commands of practice over the katas of the stage, and histories of their own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.model import CheckResult, Counterexample, NamedBug, Verdict
from grader.practice.history import History

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MINUTE, DAY = 60.0, 24 * 3600.0
# Noon, so that a few hours to either side are the same day in any time zone of the tests.
START = 1_767_960_000.0
# Seconds to wait for something to be seen.
PATIENCE = 30.0


class Terminal:
    """A program in a terminal of its own, and what the screen shows of it.

    With `shell`, the program is a shell with job control, as people have one.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        *,
        columns: int = 80,
        rows: int = 40,
        shell: bool = False,
    ) -> None:
        pexpect, pyte = pytest.importorskip("pexpect"), pytest.importorskip("pyte")
        self.pexpect = pexpect
        command = ["bash", "--norc", "--noprofile", "-i"] if shell else [sys.executable, *words]
        self.child: Any = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(folder),
            env={"TERM": "xterm-256color", "PS1": "$ ", "PYTHON": sys.executable} | environment,
            timeout=PATIENCE,
            dimensions=(rows, columns),
        )
        self.screen: Any = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self.stream: Any = pyte.ByteStream(self.screen)
        # A terminal answers when it is asked where its cursor is.
        self.screen.write_process_input = self._answer
        self.raw = b""
        # How the terminal was left, as termios tells it.
        self.modes: list[Any] = []

    def _answer(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.child.send(text)

    # --- what a person does -----------------------------------------------------------

    def type(self, text: str) -> None:
        self.child.send(text)

    def enter(self, text: str = "") -> None:
        self.child.send(f"{text}\r")

    # --- what a person sees -------------------------------------------------------------

    def look(self, seconds: float = 0.05) -> None:
        """Take in what has come, for some time."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                data = self.child.read_nonblocking(65536, timeout=0.05)
            except self.pexpect.TIMEOUT:
                data = b""
            except self.pexpect.EOF:
                return
            self.raw += data
            self.stream.feed(data)
            if time.monotonic() >= deadline:
                return

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without the blanks at their ends."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """All that can be seen by scrolling up."""
        past = ["".join(row[n].data for n in sorted(row)) for row in self.screen.history.top]
        return "\n".join([*(line.rstrip() for line in past), *self.lines]).rstrip() + "\n"

    def sees(self, *patterns: str, patience: float = PATIENCE) -> str:
        """Wait until all patterns can be seen on the screen or above it; return all there is."""
        return self._until(lambda: self.text, patterns, patience)

    def shows(self, *patterns: str, patience: float = PATIENCE) -> str:
        """Wait until all patterns stand on the screen itself; return the screen."""
        return self._until(lambda: "\n".join(self.lines), patterns, patience)

    def _until(self, text: Callable[[], str], patterns: Sequence[str], patience: float) -> str:
        deadline = time.monotonic() + patience
        while True:
            self.look()
            found = text()
            missing = [each for each in patterns if not re.search(each, found, re.MULTILINE)]
            if not missing:
                return found
            if time.monotonic() > deadline or not self._more():
                raise AssertionError(f"{missing} cannot be seen in\n{self.text}")

    def _more(self) -> bool:
        alive = self.child.isalive()
        if not alive:
            self.look()
        return alive

    # --- how it ends ---------------------------------------------------------------------

    def ended(self) -> int:
        """Wait for the end of the program; return its exit code, or minus the signal."""
        deadline = time.monotonic() + PATIENCE
        while self.child.isalive() and time.monotonic() < deadline:
            self.look()
        self.look(0.2)
        self.modes = termios.tcgetattr(self.child.child_fd)
        self.child.close()
        code, signal = self.child.exitstatus, self.child.signalstatus
        return code if code is not None else -signal

    def cursor_is_shown(self) -> bool:
        return not self.screen.cursor.hidden

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.child.close(force=True)


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
    hidden = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "GRADER_HOME", "GRADER_CLOCK", "TERM")
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


@pytest.fixture
def terminal(stage: Path, environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Start commands in terminals of their own; all are over afterwards."""
    started: list[Terminal] = []

    def start(
        *words: str,
        columns: int = 80,
        rows: int = 40,
        shell: bool = False,
        folder: Path = stage,
        **more: str,
    ) -> Terminal:
        command = ["-m", "grader", *words]
        ours = environment | {"PYTHONPATH": str(folder)} | more
        made = Terminal(command, folder, ours, columns=columns, rows=rows, shell=shell)
        started.append(made)
        return made

    yield start
    for each in started:
        each.close()
