"""kata2 of the stage."""

from __future__ import annotations

from grader.model import Case, Kata, Recipe


def build(recipe: Recipe) -> Case:
    return Case("answer", dict(recipe), ())


KATA = Kata(2, "kata02_echo_chamber", "Echo chamber", 2, 2, (), build, (), ())
