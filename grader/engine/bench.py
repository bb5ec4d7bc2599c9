"""Put an answer and the solution through the same cases, each once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from grader.engine.comparing import Expected, spread_between
from grader.engine.contract import Problem, problems
from grader.engine.execution import execute, without
from grader.engine.loading import Namespace, load
from grader.engine.remembering import Memory
from grader.errors import AnswerEnded
from grader.model import Case, Edit, Kata, Outcome, Raised, Recipe, Target
from grader.patching import patch
from grader.strategies import as_asked

# What is observed of an answer only to be compared with the solution's.
COMPARED = frozenset({"gradients"})
# Some 250 gradings of answers that fail in different ways; right ones draw the same cases.
MOST_CASES = 20_000
# Numbers in a case that is sent before the reply to the last one was taken: both
# have to fit into what the line between holds, or both sides wait for each other.
LARGEST_AHEAD = 4000
# What a case is built from: a recipe in order, what is observed, a change.
Key = tuple[tuple[tuple[str, int | str], ...], frozenset[str], Callable[[Case], Case] | None]
SOLUTION_FILE = "<solution>"


class Answer(Protocol):
    """The learner's file, wherever it runs. Only plain data crosses this line.

    Any call may raise AnswerEnded where the file runs in a process of its own.
    """

    def problems(self, targets: Sequence[Target]) -> tuple[Problem, ...]: ...

    def submit(self, case: Case) -> None:
        """Begin to run a case; two may be under way, and are run in order."""
        ...

    def result(self, *, hurry: bool = False) -> Outcome:
        """Wait for the earlier one; with `hurry`, not as long."""
        ...

    def restart(self) -> None:
        """Have the next call run as if the file had just been loaded."""
        ...


class LocalAnswer:
    """An answer that runs in this process."""

    def __init__(self, source: bytes, path: str) -> None:
        self._source = source
        self._path = path
        self._submitted: deque[Case] = deque()
        self.restart()

    def restart(self) -> None:
        self._submitted.clear()
        self.namespace = load(self._source, self._path)
        if torch.get_default_device().type != "cpu":
            torch.set_default_device("cpu")  # the answer's business, not the solution's

    def problems(self, targets: Sequence[Target]) -> tuple[Problem, ...]:
        return problems(self.namespace, targets)

    def submit(self, case: Case) -> None:
        self._submitted.append(case)

    def result(self, *, hurry: bool = False) -> Outcome:  # noqa: ARG002 - nobody could end it
        return execute(self._submitted.popleft(), self.namespace)


class Reference:
    """The solution, and the harmless variants of it that a kata accepts.

    It keeps the cases built from recipes, and what the solution did on them:
    the next answer to the same kata is compared with the same. `absent` names
    the weights that an answer does not have.
    """

    def __init__(self, kata: Kata, source: str, memory: Memory | None = None) -> None:
        self.kata = kata
        self.source = source
        self.memory = memory or Memory(kata)
        self.solution = solution_namespace(source)
        self.variants = [solution_namespace(source, edits) for edits in kata.accepts]
        self._cases: dict[Hashable, Case] = {}
        self._expected: dict[tuple[Hashable, tuple[str, ...]], Expected] = {}

    def case(
        self,
        recipe: Recipe,
        observe: frozenset[str] = frozenset(),
        vary: Callable[[Case], Case] | None = None,
    ) -> tuple[Key, Case]:
        """Return the case of a recipe, or of a recipe and a change to it, and its key."""
        key = (tuple(sorted(recipe.items())), observe, vary)
        if key not in self._cases:
            case = as_asked(self.kata.build(recipe), recipe)
            case = replace(case, observe=case.observe | observe)
            self._cases[key] = vary(case) if vary else case
        return key, self._cases[key]

    def expect(self, key: Hashable, case: Case) -> Expected:
        """Return what the solution does on a case, as both sides get it."""
        whole = (key, case.absent)
        if whole not in self._expected:
            self._expected[whole] = self._recalled(whole, case) or self._measured(whole, case)
        return self._expected[whole]

    def tidy(self) -> None:
        """Between two gradings: drop everything once it is much."""
        if len(self._cases) > MOST_CASES:
            self._cases.clear()
            self._expected.clear()

    def _recalled(self, key: Hashable, case: Case) -> Expected | None:
        known = self.memory.expected(key)
        if known is None:
            return None
        outcome, spread = known
        if spread is not None:
            return Expected(outcome, lambda: spread)
        expected = Expected(outcome, lambda: self._spread(case, outcome))
        self.memory.keep_expected(key, expected, known=True)
        return expected

    def _measured(self, key: Hashable, case: Case) -> Expected:
        outcome = execute(case, self.solution)
        expected = Expected(outcome, lambda: self._spread(case, outcome))
        self.memory.keep_expected(key, expected, known=False)
        return expected

    def _spread(self, case: Case, outcome: Outcome) -> dict[str | int, float]:
        spread: dict[str | int, float] = {}
        if outcome.status == "returned":
            for variant in self.variants:
                strayed = spread_between(outcome, execute(case, variant), case.compared)
                for key, value in strayed.items():
                    spread[key] = max(value, spread.get(key, 0.0))
        return spread


def solution_namespace(source: str, edits: Sequence[Edit] = ()) -> Namespace:
    """Compile a solution, with edits applied if there are any."""
    text = patch(source, edits) if edits else source
    loaded = load(text.encode(), SOLUTION_FILE, module_name="solution")
    return replace(loaded, kept={}, settled=not edits)


def starved(raised: Raised | None) -> str:
    """Say where memory ran out, and how much was asked for where the allocator told."""
    if raised is None:
        return "runs out of memory"
    asked = re.search(r"tried to allocate (\d+) bytes", raised.message)
    much = f": {int(asked[1]) / 1e9:,.1f} GB asked for at once" if asked else ""
    own = f": {raised.message}" if raised.message and not asked else ""
    code = f" in `{raised.code}`" if raised.code else ""
    return f"runs out of memory{code}{much}{own}"


def _size(case: Case) -> int:
    tensors = [*case.weights.values(), *case.inputs.values(), *case.args]
    return sum(value.numel() for value in tensors if isinstance(value, Tensor))


class Bench:
    """Cases built from recipes, and what the answer and the solution did on them.

    Every outcome is computed once. Weights that the answer's layers do not
    have (a projection without bias) are zero on both sides.
    """

    def __init__(self, kata: Kata, answer: Answer, reference: Reference, path: str = "") -> None:
        self.kata = kata
        self.path = path
        self.answer = answer
        # What the answer was last run on: where a call ends it, this is the case.
        self.latest: Case | None = None
        self.reference = reference
        self.assignment: dict[str, int] = {}
        self.absent: dict[str, tuple[str, ...]] = {}
        self._known: dict[int, tuple[Case, Key]] = {}
        self._got: dict[int, Outcome] = {}
        self._expected: dict[int, Expected] = {}
        self._under_way: deque[Case] = deque()
        self._ahead: deque[Case] = deque()

    def case(
        self,
        recipe: Recipe,
        observe: frozenset[str] = frozenset(),
        vary: Callable[[Case], Case] | None = None,
    ) -> Case:
        """Build the case of a recipe, or of a recipe and a change to it."""
        key, case = self.reference.case(recipe, observe, vary)
        self._known.setdefault(id(case), (case, key))
        return case

    def key_of(self, case: Case) -> Key:
        """Return what a case was built from; equal for equal cases of other benches."""
        return self._known[id(case)][1]

    def prepared(self, case: Case) -> Case:
        """Return the case as both sides get it."""
        case = without(case, self.absent.get(case.target, ()))
        return replace(case, assignment=self.assignment.get(case.target, 0))

    def got(self, case: Case) -> Outcome:
        """Return what the answer does on a case; AnswerEnded is about this case alone."""
        if id(case) not in self._got:
            self.latest = case
            if self._under_way and self._under_way[0] is not case:
                self._finish()
            if not self._under_way:
                self._submit(case)
            self._submit_next()
            if case.observe <= COMPARED:
                self.expected(case)  # the solution runs while the answer does
            self._under_way.popleft()
            try:
                self._got[id(case)] = self._result()
            except AnswerEnded:
                self._under_way.clear()
                raise
        return self._got[id(case)]

    def announce(self, cases: Iterable[Case]) -> None:
        """Say which cases are likely to be asked for next, in this order.

        The answer runs one while the one before is compared.
        """
        self._ahead = deque(cases)

    def restart(self) -> None:
        """Have the answer run as if its file had just been loaded."""
        self._under_way.clear()
        self.answer.restart()

    def run(self, case: Case, *, hurry: bool = False) -> Outcome:
        """Run a case as it is, apart from all others."""
        self._finish()
        self.answer.submit(case)
        return self._result(hurry=hurry)

    def _result(self, *, hurry: bool = False) -> Outcome:
        """Wait for an outcome; to run out of memory ends an answer as a hang does."""
        outcome = self.answer.result(hurry=hurry)
        if outcome.status == "memory":
            self.answer.restart()  # what was begun ahead of time is not to come in between
            line = outcome.raised.line if outcome.raised else None
            raise AnswerEnded("memory", starved(outcome.raised), line)
        return outcome

    def _submit(self, case: Case) -> None:
        self.answer.submit(self.prepared(case))
        self._under_way.append(case)

    def _submit_next(self) -> None:
        while self._ahead:
            following = self._ahead.popleft()
            known = id(following) in self._got or any(following is c for c in self._under_way)
            if not known and _size(following) <= LARGEST_AHEAD:
                self._submit(following)
                return

    def _finish(self) -> None:
        """Take what was begun ahead of time; how it ends matters once it is asked for."""
        while self._under_way:
            case = self._under_way.popleft()
            try:
                self._got[id(case)] = self._result()
            except AnswerEnded:
                self._under_way.clear()

    def recipe_of(self, case: Case) -> Recipe:
        """Return the recipe that a case of this bench was built from."""
        recipe, _, _ = self.key_of(case)
        return dict(recipe)

    def expected(self, case: Case) -> Expected:
        if id(case) not in self._expected:
            bare = replace(self.prepared(case), assignment=0)
            self._expected[id(case)] = self.reference.expect(self.key_of(case), bare)
        return self._expected[id(case)]

    def forget(self, target: str) -> None:
        """Drop what is known of a target whose layers are now read differently."""
        self._finish()
        for case, _ in self._known.values():
            if case.target == target:
                self._got.pop(id(case), None)
                self._expected.pop(id(case), None)

    def state(self, case: Case) -> Mapping[str, Tensor]:
        """Return the answer's own parameters with the weights of a case written in."""
        observe = frozenset({"state"})
        outcome = self.run(replace(self.prepared(case), observe=observe))
        return outcome.observed.get("state", {})
