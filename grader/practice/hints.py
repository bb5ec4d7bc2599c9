"""Hints in rungs, from the bug at hand and the idea down to near-code; never the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.catalog import Entry
from grader.model import CheckResult, Recipe, Verdict

TRACE = "shape trace"
# What the rung is called that stands for the whole solution, shown to whoever gave up.
SOLUTION = "solution"


@dataclass(frozen=True)
class Rung:
    """One hint. `name` is what it is counted by; `text` is empty for a trace, made when asked for.

    `recipe` is the case that a trace follows.
    """

    name: str
    text: str = ""
    recipe: Recipe | None = None

    @property
    def title(self) -> str:
        return "your bug" if self.name.startswith("bug:") else self.name


def ladder(entry: Entry, verdict: Verdict | None) -> list[Rung]:
    """Return the hints for a kata and its last failure, from the least telling to the most.

    First the question of each bug that was named, then the kata's own: the
    concept, where to look, the failing case followed step by step, details, and
    near-code last.
    """
    bugs = verdict.bugs if verdict else ()
    rungs = [Rung(f"bug:{bug.id}", bug.ask) for bug in bugs if bug.ask]
    own = _named(entry.load_spec().hints)
    case = smallest_case(verdict)
    if case is not None:
        own.insert(min(2, len(own)), Rung(TRACE, recipe=case))
    return rungs + own


def smallest_case(verdict: Verdict | None) -> Recipe | None:
    """Return the recipe of the first failing case, None where there is no case."""
    shown = [c.counterexample for c in failures(verdict) if c.counterexample]
    return next((each.recipe for each in shown if each.recipe), None)


def failures(verdict: Verdict | None) -> list[CheckResult]:
    """Return the checks that failed."""
    return [check for check in verdict.checks if check.status == "failed"] if verdict else []


def _named(hints: Sequence[str]) -> list[Rung]:
    """Name a kata's hints by their place: the first two, the last, and details in between."""
    details = len(hints) - 3
    names = ["concept", "where to look"]
    names += [f"detail {n + 1}" if details > 1 else "detail" for n in range(details)]
    names += ["near-code"]
    if len(hints) < len(names):
        names = [f"hint {n + 1}" for n in range(len(hints))]
    return [Rung(name, text) for name, text in zip(names, hints, strict=True)]
