"""kata3 of the stage."""

from __future__ import annotations

from grader.model import Case, Kata, Recipe


def build(recipe: Recipe) -> Case:
    return Case("answer", dict(recipe), ())


KATA = Kata(3, "kata03_noise", "Noise", 3, 3, (), build, (), ())
