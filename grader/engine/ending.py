"""Find the smallest case on which an answer hangs or dies.

Hypothesis shrinks from the failing case downwards, and would wait out a hang
at every step. Here sizes grow from the smallest upwards: of all that is tried,
only the last one hangs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader.engine.bench import Bench
from grader.errors import AnswerEnded
from grader.model import Case, Recipe

# Sizes that hang lie mostly on one axis; of the rest, this many are tried.
MOST_TRIALS = 200
BORING = ("seed", "times")


def smallest_ending(bench: Bench, ended: AnswerEnded) -> tuple[Case | None, AnswerEnded]:
    """Return the smallest case found that ends the answer as `ended` did, and how it ended.

    None where no case was under way. Each trial runs on a process of its own
    where the one before did not survive.
    """
    found = bench.latest
    if found is None:
        return None, ended
    recipe = bench.recipe_of(found)
    for smaller in smaller_recipes(recipe, axes(bench, found.target)):
        case = bench.case(smaller, found.observe)
        if case.target != found.target:  # a word said which
            continue
        try:
            bench.run(bench.prepared(case), hurry=True)
        except AnswerEnded as again:
            if again.status == ended.status:
                return case, again
            if ended.status == "memory" and again.status == "timeout":
                return case, ended  # it takes a while to fill all there is
    return found, ended


def axes(bench: Bench, target: str) -> dict[str, tuple[int, int]]:
    """Return the sizes that cases of a target are drawn from: the widest range of each."""
    found: dict[str, tuple[int, int]] = {}
    for check in bench.kata.checks:
        if check.target != target:
            continue
        for name, axis in check.draws.items():
            if isinstance(axis, tuple) and name not in BORING:
                low, high = found.get(name, axis)
                found[name] = (min(low, axis[0]), max(high, axis[1]))
    return found


def smaller_recipes(recipe: Recipe, sizes: Mapping[str, tuple[int, int]]) -> Iterator[Recipe]:
    """Yield the recipe with all sizes at their lowest, then with one of them growing, then two.

    All of them without its words first (no mask, eval, float64), then with them.
    """
    tops: dict[str, int] = {}
    for name, (low, high) in sizes.items():
        asked = recipe.get(name, high)
        tops[name] = max(low, asked) if isinstance(asked, int) else low
    lowest: Recipe = {name: low for name, (low, _) in sizes.items()}
    bases = [{name: value for name, value in recipe.items() if isinstance(value, int)}, recipe]
    grown = [
        {name: value} for name, top in tops.items() for value in range(sizes[name][0] + 1, top + 1)
    ]
    pairs = [{**a, **b} for a in grown for b in grown if list(a) < list(b)]
    pairs.sort(key=lambda pair: sum(pair.values()))
    for base in bases:
        for change in [{}, *grown, *pairs][:MOST_TRIALS]:
            yield {**base, **lowest, **change}
