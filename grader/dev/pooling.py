"""Grade answers of our own by the thousand, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from grader.isolation.interrupting import noting_interrupts
from grader.isolation.parent import Job, Pool
from grader.model import Verdict
from grader.submitting import processes

# Of what `--json` prints about them.
REPORT_VERSION = 1
# Seconds for one grading, by the clock: enough on a machine that does other things too.
TIMEOUT = 300.0


@contextmanager
def grading() -> Generator[Callable[[Sequence[Job]], Iterator[Verdict]]]:
    """Yield what grades jobs and gives the verdicts in their order, one list at a time."""
    with noting_interrupts() as interrupted, Pool(processes(), TIMEOUT, interrupted) as pool:
        yield lambda jobs: pool.grade(jobs, lambda _number, _fraction, _title: None)
