"""Grade a source without showing anything, in one process for as long as it is needed."""

from __future__ import annotations

from types import TracebackType

from grader.catalog import Entry
from grader.isolation.interrupting import noting_interrupts
from grader.isolation.parent import Grader, Job
from grader.model import Verdict

TIMEOUT = 20.0


class Judge:
    """Grades sources one after the other; a context manager, like the Grader it holds."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout

    def __enter__(self) -> Judge:
        self._noting = noting_interrupts()
        self._grader = Grader(self._timeout, self._noting.__enter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._grader.__exit__(kind, error, trace)
        self._noting.__exit__(kind, error, trace)

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
        return self._grader.grade(job, lambda _fraction, _title: None)
