"""Put an answer and the solution through the same cases, each once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from grader.engine.comparing import Expected, spread_between
from grader.engine.contract import Problem, problems
from grader.engine.execution import execute, without
from grader.engine.loading import Namespace, load
from grader.model import Case, Edit, Kata, Outcome, Recipe, Target
from grader.patching import patch
from grader.strategies import with_other_calls_before

SOLUTION_FILE = "<solution>"


class Answer(Protocol):
    """The learner's file, wherever it runs. Only plain data crosses this line."""

    def problems(self, targets: Sequence[Target]) -> tuple[Problem, ...]: ...

    def run(self, case: Case) -> Outcome: ...


class LocalAnswer:
    """An answer that runs in this process."""

    def __init__(self, source: bytes, path: str) -> None:
        self.namespace = load(source, path)
        if torch.get_default_device().type != "cpu":
            torch.set_default_device("cpu")  # the answer's business, not the solution's

    def problems(self, targets: Sequence[Target]) -> tuple[Problem, ...]:
        return problems(self.namespace, targets)

    def run(self, case: Case) -> Outcome:
        return execute(case, self.namespace)


class Reference:
    """The solution, and the harmless variants of it that a kata accepts."""

    def __init__(self, kata: Kata, source: str) -> None:
        self.source = source
        self.solution = solution_namespace(source)
        self.variants = [solution_namespace(source, edits) for edits in kata.accepts]

    def expect(self, case: Case) -> Expected:
        outcome = execute(case, self.solution)

        def measure() -> dict[str | int, float]:
            spread: dict[str | int, float] = {}
            if outcome.status == "returned":
                for variant in self.variants:
                    strayed = spread_between(outcome, execute(case, variant), case.compared)
                    for key, value in strayed.items():
                        spread[key] = max(value, spread.get(key, 0.0))
            return spread

        return Expected(outcome, measure)


def solution_namespace(source: str, edits: Sequence[Edit] = ()) -> Namespace:
    """Compile a solution, with edits applied if there are any."""
    text = patch(source, edits) if edits else source
    return replace(load(text.encode(), SOLUTION_FILE, module_name="solution"), kept={})


class Bench:
    """Cases built from recipes, and what the answer and the solution did on them.

    Every outcome is computed once. Weights that the answer's layers do not
    have (a projection without bias) are zero on both sides.
    """

    def __init__(self, kata: Kata, answer: Answer, reference: Reference, path: str = "") -> None:
        self.kata = kata
        self.path = path
        self.answer = answer
        self.reference = reference
        self.assignment: dict[str, int] = {}
        self.absent: dict[str, tuple[str, ...]] = {}
        self._cases: dict[Hashable, Case] = {}
        self._keys: dict[int, Hashable] = {}
        self._got: dict[int, Outcome] = {}
        self._expected: dict[int, Expected] = {}

    def case(
        self,
        recipe: Recipe,
        observe: frozenset[str] = frozenset(),
        vary: Callable[[Case], Case] | None = None,
    ) -> Case:
        """Build the case of a recipe, or of a recipe and a change to it."""
        key = (tuple(sorted(recipe.items())), observe, vary)
        if key not in self._cases:
            case = self.kata.build(recipe)
            if recipe.get("after_others"):  # a word that means the same in every kata
                case = with_other_calls_before(case)
            if recipe.get("transposed"):  # and so does this one
                case = replace(case, transposed=True)
            case = replace(case, observe=case.observe | observe)
            self._cases[key] = vary(case) if vary else case
            self._keys[id(self._cases[key])] = key
        return self._cases[key]

    def key_of(self, case: Case) -> Hashable:
        """Return what a case was built from; equal for equal cases of other benches."""
        return self._keys[id(case)]

    def prepared(self, case: Case) -> Case:
        """Return the case as both sides get it."""
        case = without(case, self.absent.get(case.target, ()))
        return replace(case, assignment=self.assignment.get(case.target, 0))

    def got(self, case: Case) -> Outcome:
        if id(case) not in self._got:
            self._got[id(case)] = self.answer.run(self.prepared(case))
        return self._got[id(case)]

    def expected(self, case: Case) -> Expected:
        if id(case) not in self._expected:
            bare = replace(self.prepared(case), assignment=0)
            self._expected[id(case)] = self.reference.expect(bare)
        return self._expected[id(case)]

    def forget(self, target: str) -> None:
        """Drop what is known of a target whose layers are now read differently."""
        for case in self._cases.values():
            if case.target == target:
                self._got.pop(id(case), None)
                self._expected.pop(id(case), None)

    def state(self, case: Case) -> Mapping[str, Tensor]:
        """Return the answer's own parameters with the weights of a case written in."""
        observe = frozenset({"state"})
        outcome = self.answer.run(replace(self.prepared(case), observe=observe))
        return outcome.observed.get("state", {})
