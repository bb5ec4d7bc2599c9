"""Say less of an answer than a grading in full does, for whoever grades them by the thousand.

Naming leaves out what is only shown. Skimming goes no further than the first
failure: an answer passes there if and only if it passes in full, since the same
required checks run on the same cases; of one that fails, the case is
not shrunk, later checks are not run, and a bug is named only where one alone
explains everything.

Both are meant for answers made of our own: they run in this process, which saves
most of the time, with a limit on the processor time of a call.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from grader.engine.bench import LocalAnswer
from grader.engine.diagnosing import Diagnosis, Suspect, bank, gather
from grader.engine.grading import Grading
from grader.errors import AnswerEnded
from grader.model import Check, CheckResult, Mismatch, NamedBug, Outcome, Recipe

# Seconds of processor time for one call.
CALL_LIMIT = 2.0


class _Late(BaseException):
    """Raised in the midst of a call that takes too long."""


class TimedAnswer(LocalAnswer):
    """An answer of our own, in this process; a call that hangs ends in AnswerEnded."""

    def restart(self) -> None:
        with _limited("the file is not loaded"):
            super().restart()

    def result(self, *, hurry: bool = False) -> Outcome:
        with _limited("no answer"):
            return super().result(hurry=hurry)


@contextmanager
def _limited(what: str) -> Generator[None]:
    """Raise AnswerEnded where the block takes too long, whatever it made of the interruption."""
    late: list[int] = []

    def stop(number: int, _frame: object) -> None:
        late.append(number)
        raise _Late

    if not hasattr(signal, "setitimer"):  # then the process is ended from outside
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    # Again and again: the first may have been swallowed.
    signal.setitimer(signal.ITIMER_PROF, CALL_LIMIT, CALL_LIMIT)
    try:
        with contextlib.suppress(_Late):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if late:
        raise AnswerEnded("timeout", f"{what} within {CALL_LIMIT:g} s")


@dataclass
class Naming(Grading):
    """A grading that names bugs as one in full does, and shows no case."""

    def result(self, check: Check, failure: tuple[Recipe, Mismatch] | None) -> CheckResult:
        if failure is None:
            return super().result(check, failure)
        self.failing.append(self.case_of(check, failure[0]))
        return CheckResult(check.name, check.title, "failed", failure[1].message)

    def smallest_ending(self, ended: AnswerEnded) -> CheckResult:
        return CheckResult("ends", "it runs to the end", "failed", ended.message, ended.line)

    def replay(self) -> None:
        """Leave the first failing case as it is."""


@dataclass
class Skimming(Naming):
    """A grading that ends at the first required check that fails."""

    def check_all(self, waiting: set[str]) -> None:
        if waiting:  # what stands there has failed already
            return
        required = [check for check in self.kata.checks if check.required]
        # All banks before anything is explored: nearly all that fails does so on a bank.
        for look in (self.failure_on_bank, self.failure):
            for check in required:
                failure = look(check)
                if failure is not None:
                    self.results.append(self.result(check, failure))
                    return
        self.results += (CheckResult(check.name, check.title, "passed") for check in required)

    def failure_on_bank(self, check: Check) -> tuple[Recipe, Mismatch] | None:
        failures = ((recipe, self.mismatch(check, recipe)) for recipe in check.bank)
        return next(((recipe, found) for recipe, found in failures if found is not None), None)

    def diagnose(self, waiting: set[str]) -> list[NamedBug]:  # noqa: ARG002 - none is left
        """Name the one bug that does the same on every probe; stop where none is left."""
        for case in self.failing:
            probes = [case, *bank(self.bench, self.kata, case.target)]
            suspects: list[Suspect] | None = None
            count = 1
            while count < 2 * len(probes):
                diagnosis = Diagnosis(self.kata, self.store, gather(self.bench, probes[:count]))
                if suspects is not None:
                    diagnosis.singles = suspects
                suspects = diagnosis.single()
                if not suspects:
                    return []
                if count >= len(probes):
                    return list(diagnosis.named(suspects)) if diagnosis.differing else []
                count *= 2
        return []


class Unnamed(Skimming):
    """The same without names, which take several times as long as the rest."""

    def diagnose(self, waiting: set[str]) -> list[NamedBug]:  # noqa: ARG002 - nothing is asked
        return []
