"""What can go wrong outside the learner's answer, each with the exit code it ends in."""

from __future__ import annotations

from typing import Literal


class GraderError(Exception):
    """Anything the grader reports in one line instead of a traceback."""

    exit_code = 70


class UsageError(GraderError):
    """The command line asked for something that does not exist."""

    exit_code = 2


class HistoryError(GraderError):
    """What practice left behind cannot be read or written; no verdict depends on it."""

    exit_code = 2


class PatchError(GraderError):
    """A known bug no longer fits its solution: a fault of the grader."""


class SpecError(GraderError):
    """A kata's spec, solution or stub is missing or contradicts itself."""


class NotLoadable(GraderError):
    """The learner's file cannot be turned into the things that are graded.

    `line` is the learner's line (1-based) where there is one.
    """

    exit_code = 3

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class AnswerEnded(BaseException):
    """The process that ran the answer hung, died or was cut off in the midst of a call.

    Not an Exception: Hypothesis would take it for a failing example and shrink
    it, one hang after another. `line` and `code` are the learner's, where known.
    """

    def __init__(
        self,
        status: Literal["timeout", "memory", "crashed"],
        message: str,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status: Literal["timeout", "memory", "crashed"] = status
        self.message = message
        self.line = line
