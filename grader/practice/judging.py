"""Grade a source without showing anything, in one process for as long as it is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from grader.catalog import Entry
from grader.isolation.interrupting import noting_interrupts
from grader.isolation.parent import Grader, Job
from grader.model import Verdict

TIMEOUT = 20.0


class Judge:
    """Grades sources one after the other; a context manager, like the Grader it holds.

    `interrupted` is asked many times a second while it works, and stops it by
    saying yes; without it, Ctrl-C does.
    """

    def __init__(
        self, timeout: float = TIMEOUT, interrupted: Callable[[], bool] | None = None
    ) -> None:
        self._timeout = timeout
        self._interrupted = interrupted
        self._stack = ExitStack()

    def __enter__(self) -> Judge:
        interrupted = self._interrupted or self._stack.enter_context(noting_interrupts())
        self._grader = self._stack.enter_context(Grader(self._timeout, interrupted))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def warm(self) -> None:
        """Start loading what grading needs, in the background."""
        self._grader.warm()

    def grade(
        self, entry: Entry, source: bytes, shown: str, bugs: tuple[str, ...] | None = None
    ) -> Verdict:
        """Return the verdict on a source; with `bugs`, only those are looked for.

        Raises KeyboardInterrupt where somebody wants to stop.
        """
        return self._run(Job(entry, shown, source, bugs=bugs))

    def call(self, entry: Entry, source: bytes, shown: str, name: str) -> Verdict:
        """Call one function of a source; the verdict is "passed" where it returns."""
        return self._run(Job(entry, shown, source, call=name))

    def _run(self, job: Job) -> Verdict:
        try:
            return self._grader.grade(job, lambda _fraction, _title: None)
        except KeyboardInterrupt:
            self._grader.cancel()  # it may be asked again
            raise
