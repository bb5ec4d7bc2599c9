"""kata3 of the stage: its bugs say their names."""

from __future__ import annotations

from grader.model import Case, Kata, Recipe
from grader.patching import bug


def build(recipe: Recipe) -> Case:
    return Case("answer", dict(recipe), ())


BUGS = (
    bug(
        "too-quiet",
        ("wrong += []", 'wrong += ["too-quiet"]'),
        says="it is too quiet",
        ask="How loud is it?",
    ),
    bug(
        "too-short",
        ("wrong.extend([])", 'wrong.extend(["too-short"])'),
        says="it is too short",
        ask="How long is it?",
    ),
    bug(
        "unheard",
        ("wrong += []", "wrong += list()"),
        says="nobody notices",
        ask="Who would notice?",
    ),
)
KATA = Kata(3, "kata03_noise", "Noise", 3, 3, (), build, (), BUGS)
