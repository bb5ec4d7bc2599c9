"""Grades by running the answer's `answer()`: what it does is what is tested."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from grader.model import CheckResult, Counterexample, Kata, NamedBug, Verdict


def grade(
    kata: Kata,
    source: bytes,
    path: str,
    *,
    solution: str,
    examples: int | None,
    seed: int,
    progress: Callable[[float, str], None],
    preliminary: Callable[[Verdict], None],
    store: object,
    load: object,
) -> Verdict:
    """Pass if answer() returns, fail if it asserts wrongly, else break as it breaks.

    Here the answer runs in the judge's process: how that one ends is what is tested.
    """
    progress(0.5, "it answers")
    names: dict[str, Any] = {}
    try:
        exec(compile(source, path, "exec"), names)
        names["answer"]()
    except AssertionError as error:
        shown = Counterexample("answer()", "42", str(error), "print(1)\n" * 9, {"seed": seed})
        checks = (
            CheckResult("answers", "it answers", "failed", "another value", 3, shown),
            CheckResult("stops", "it stops", "skipped"),
        )
        preliminary(verdict(kata, "failed", path, 0.5, checks))
        if "slow to name" in str(error):
            time.sleep(60)
        if str(error).startswith("bugs "):
            named = str(error).split()[1:]
            met = tuple(NamedBug(each, each, f"{each}?", "exact") for each in named)
            return verdict(kata, "failed", path, 0.5, checks, met)
        bugs = (NamedBug("off-by-one", "it is one off", "Where do you begin?", "exact", (), 4, 4),)
        return verdict(kata, "failed", path, 0.5, checks, bugs)
    note = (f"seed {seed}, examples {examples}", f"{len(solution)} letters of solution")
    return verdict(kata, "passed", path, 1.0, (CheckResult("a", "b", "passed"),), notes=note)


def verdict(
    kata: Kata,
    status: Any,
    path: str,
    score: float,
    checks: tuple[CheckResult, ...],
    bugs: tuple[NamedBug, ...] = (),
    notes: tuple[str, ...] = (),
) -> Verdict:
    name, _, slug = kata.stem.partition("_")
    return Verdict(name, slug.replace("_", "-"), status, score, 0.1, path, checks, bugs, notes)
