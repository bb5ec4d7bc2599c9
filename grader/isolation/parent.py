"""Hand jobs to a child process, and answer for it when it cannot."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType

from grader.isolation import endings
from grader.isolation.process import Job, Process, Progress
from grader.model import Verdict

__all__ = ["Grader", "Job", "Pool", "Progress"]


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

    def cancel(self) -> None:
        """Drop the job at work, whose `grade` was left by an exception; stay warm if possible."""
        if self._child:
            self._child.cancel()
            if not self._child.usable:
                self._drop()

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child:
            child.close()


class Pool:
    """Grades jobs on several children at a time; a context manager like Grader."""

    def __init__(self, size: int, timeout: float, interrupted: Callable[[], bool]) -> None:
        self._graders = [Grader(timeout, interrupted) for _ in range(size)]
        # For as long as the pool: a child dies with the thread that started it.
        self._threads = ThreadPoolExecutor(size)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for grader in self._graders:
            grader.__exit__(kind, error, trace)
        self._threads.shutdown()

    def warm(self) -> None:
        """Start loading torch in the background."""
        for grader in self._graders:
            with contextlib.suppress(OSError):  # told when there is a verdict to give
                grader.warm()

    def grade(
        self, jobs: Sequence[Job], progress: Callable[[int, float, str], None]
    ) -> Generator[Verdict]:
        """Yield a verdict for each job, in their order; `progress` gets the job's number first."""

        def noting(number: int) -> Progress:
            return lambda fraction, title: progress(number, fraction, title)

        if len(self._graders) == 1:
            for number, job in enumerate(jobs):
                yield self._graders[0].grade(job, noting(number))
            return
        free: queue.SimpleQueue[Grader] = queue.SimpleQueue()
        for grader in self._graders:
            free.put(grader)

        def graded(number: int, job: Job) -> Verdict:
            grader = free.get()
            try:
                return grader.grade(job, noting(number))
            finally:
                free.put(grader)

        waiting = [self._threads.submit(graded, number, job) for number, job in enumerate(jobs)]
        try:
            for future in waiting:
                yield future.result()
        finally:
            wait([future for future in waiting if not future.cancel()])
