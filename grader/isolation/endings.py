"""Verdicts for answers that did not get as far as being compared."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from grader.catalog import Entry
from grader.isolation.faults import record
from grader.model import ENDINGS, CheckResult, Status, Verdict

NOT_YOURS = "a fault of the grader, not of your answer"

MEANINGS = {
    "SIGSEGV": "a segmentation fault",
    "SIGABRT": "it aborted",
    "SIGBUS": "a bus error",
    "SIGFPE": "an arithmetic fault",
    "SIGILL": "an illegal instruction",
    "SIGKILL": "it was killed from outside",
    "SIGTERM": "it was ended from outside",
    "SIGXCPU": "it used up its processor time",
}


@dataclass(frozen=True)
class Scene:
    """Where an answer was when it ended: the check at work, and its own line."""

    entry: Entry
    path: str
    seconds: float = 0.0
    title: str = ""
    line: int | None = None
    code: str = ""

    def where(self) -> str:
        parts = [f"in line {self.line}: {self.code}"] if self.line else []
        parts += [f"while checking: {self.title}"] if self.title else []
        return "".join(f"\n{part}" for part in parts)


def not_started(entry: Entry, path: str) -> Verdict:
    return Verdict(entry.id, entry.slug, "not_started", 0.0, 0.0, path)


def not_loadable(entry: Entry, path: str, message: str) -> Verdict:
    return _failed(Scene(entry, path), "not_loadable", message)


def timeout(scene: Scene, limit: float) -> Verdict:
    # One call that does not end is told apart from this; here they are slow, or too many.
    message = (
        f"not graded within {limit:g} s: the answer is slow, or the machine is; "
        f"--timeout {3 * limit:g} allows more{scene.where()}"
    )
    return _failed(scene, "timeout", message)


def unnamed(verdict: Verdict) -> Verdict:
    """Return a verdict whose bugs were still being looked for when the time was up."""
    note = "time was up while looking for the cause: it may be a known bug all the same"
    return replace(verdict, notes=(*verdict.notes, note))


def memory(scene: Scene, message: str) -> Verdict:
    message = f"it ran out of memory{': ' if message else ''}{message}{scene.where()}"
    return _failed(scene, "memory", message)


def crashed(scene: Scene, returncode: int | None, *, out_of_memory: bool = False) -> Verdict:
    """Judge a process that ended, or hung up, without a verdict."""
    if out_of_memory:
        return memory(scene, "the system ended the process to save the others")
    message = how_it_died(returncode) + scene.where()
    return _failed(scene, "crashed", message)


def how_it_died(returncode: int | None) -> str:
    """Say what became of a process: its exit code, a signal below 0, None if it only hung up."""
    if returncode is None:
        return "the connection to the grader was closed from inside the answer"
    if returncode < 0:
        name = _signal_name(-returncode)
        meaning = MEANINGS.get(name, "it was ended by a signal")
        return f"the process that ran the answer died: {meaning} ({name})"
    return (
        f"the process that ran the answer ended with exit code {returncode} instead of "
        "returning; is there an os._exit, or does the file change Python itself (sys.modules)?"
    )


def kills_by_system() -> int:
    """Return how many processes the system has ended for lack of memory."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def fault(scene: Scene, report: str) -> Verdict:
    """Take the blame, and keep the report in a file."""
    hint = ""
    if "No module named 'torch'" in report:
        hint = "torch is not installed for this Python: pip install torch"
    notes = tuple(filter(None, (NOT_YOURS, hint, record(report))))
    entry = scene.entry
    return Verdict(
        entry.id, entry.slug, "grader_error", 0.0, scene.seconds, scene.path, notes=notes
    )


def _failed(scene: Scene, status: Status, message: str) -> Verdict:
    name, title = ENDINGS[status]
    check = CheckResult(name, title, "failed", message, scene.line)
    entry = scene.entry
    return Verdict(entry.id, entry.slug, status, 0.0, scene.seconds, scene.path, checks=(check,))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
