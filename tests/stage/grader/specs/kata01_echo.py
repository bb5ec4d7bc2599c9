"""kata1 of the stage."""

from __future__ import annotations

from grader.model import Case, Kata, Question, Recipe


def build(recipe: Recipe) -> Case:
    return Case("answer", dict(recipe), ())


HINTS = ("An echo returns what it hears.", "Look at what is returned.", "It is 42.")
QUESTIONS = (
    Question("Why 42?", ("it is the answer", "the question is not known")),
    Question("Why not 41?", ("it is one off",)),
)
KATA = Kata(1, "kata01_echo", "Echo", 1, 1, (), build, (), (), hints=HINTS, questions=QUESTIONS)
