"""kata1 of the stage."""

from __future__ import annotations

from grader.model import Case, Kata, Recipe


def build(recipe: Recipe) -> Case:
    return Case("answer", dict(recipe), ())


KATA = Kata(1, "kata01_echo", "Echo", 1, 1, (), build, (), ())
