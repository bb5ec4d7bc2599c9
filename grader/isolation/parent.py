"""Hand jobs to a child process, and answer for it when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from grader.isolation import endings
from grader.isolation.process import Job, Process, Progress
from grader.model import Verdict

__all__ = ["Grader", "Job", "Progress"]


class Grader:
    """Grades jobs one after the other, in one child for as long as it lives.

    Use it as a context manager: at its end no process and no file is left.
    `timeout` is in seconds per job, counted from when torch is loaded.
    `interrupted` is asked ten times a second; once it says yes, `grade` raises
    KeyboardInterrupt at a moment that suits it.
    """

    def __init__(self, timeout: float, interrupted: Callable[[], bool] = lambda: False) -> None:
        self.timeout = timeout
        self.interrupted = interrupted
        self._child: Process | None = None

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._drop()

    def warm(self) -> Process:
        """Start loading torch in the background, unless it is loaded."""
        if self._child is None:
            self._child = Process(self.interrupted)
        return self._child

    def grade(self, job: Job, progress: Progress) -> Verdict:
        """Return the child's verdict on a job, or ours on what became of the child."""
        scene = endings.Scene(job.entry, job.path)
        try:
            child = self.warm()
        except OSError as error:
            return endings.fault(scene, f"the grading process cannot be started: {error}")
        fault = child.load()
        if fault:
            self._drop()
            return endings.fault(scene, fault)
        verdict = child.grade(job, self.timeout, progress)
        if not child.usable:
            self._drop()
        return verdict

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child:
            child.close()
