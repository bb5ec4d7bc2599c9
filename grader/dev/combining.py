"""Plant known bugs in a solution, one or several at a time, and tell what that leads to.

What is planted has to be a wrong answer of its own. Bugs that together do what
some of them do without the rest are masked: to name all of them would be a
guess. Bugs that together do what the solution does have cancelled out. Both
are told by running them on every probe, with no word of the diagnosis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from random import Random
from typing import Literal

from grader.catalog import Entry
from grader.engine.bench import SOLUTION_FILE, Bench, LocalAnswer
from grader.engine.comparing import same_behaviour, same_message
from grader.engine.diagnosing import bank, gather
from grader.engine.mutants import Edits, Mutants, Store
from grader.errors import PatchError
from grader.model import Bug, Kata, Outcome
from grader.patching import patch

Parts = tuple[Edits, ...]
# What became of bugs that were to be planted together.
Fit = Literal["told apart", "masked", "cancelled", "clashing"]
# So many combinations are looked at for each that is asked for.
TRIES = 20


@dataclass(frozen=True)
class Planted:
    """Known bugs, the variant of each that was planted, and the solution with them in it."""

    entry: Entry
    bugs: tuple[str, ...]
    parts: Parts
    source: str


@dataclass(frozen=True)
class Sample:
    """What was planted, and how many combinations were left out, by the reason."""

    planted: tuple[Planted, ...]
    left_out: Counter[Fit] = field(default_factory=Counter[Fit])


class Probes:
    """What the solution of one kata does with bugs planted, on every probe of its bank."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.kata: Kata = entry.load_spec()
        self.solution = entry.solution_path.read_text(encoding="utf-8")
        self._store = Store(self.kata, self.solution)
        answer = LocalAnswer(self.solution.encode(), SOLUTION_FILE)
        bench = Bench(self.kata, answer, self._store.reference)
        self._evidence = gather(bench, bank(bench, self.kata))
        self._mutants = Mutants(self._store, self._evidence)

    def planted(self, bugs: Sequence[Bug], parts: Parts) -> Planted:
        """Return the solution with these variants of the bugs.

        Raises PatchError where they do not go together, SyntaxError where the
        result does not compile.
        """
        source = patch(self.solution, (edit for part in parts for edit in part))
        compile(source, SOLUTION_FILE, "exec", dont_inherit=True)
        return Planted(self.entry, tuple(bug.id for bug in bugs), parts, source)

    def fit(self, parts: Parts) -> Fit:
        """Tell whether bugs planted together differ from every choice of fewer of them."""
        self._store.tidy()
        if self._outcome(parts, 0) is None:
            return "clashing"
        if self.agree(parts, ()):
            return "cancelled"
        fewer = (some for size in range(1, len(parts)) for some in combinations(parts, size))
        return "masked" if any(self.agree(parts, some) for some in fewer) else "told apart"

    def agree(
        self, one: Parts, other: Parts, target: str = "", *, to_the_letter: bool = False
    ) -> bool:
        """Tell whether two sets of bugs do the same on every probe, or on every one of a target.

        That is what the diagnosis goes by: exceptions count by their class.
        `to_the_letter` asks for equal messages as well.
        """
        for index, evidence in enumerate(self._evidence):
            if target and evidence.case.target != target:
                continue
            left, right = self._outcome(one, index), self._outcome(other, index)
            if left is None or right is None or not same_behaviour(evidence.case, left, right):
                return False
            if to_the_letter and not same_message(left, right):
                return False
        return True

    def _outcome(self, parts: Parts, index: int) -> Outcome | None:
        if not parts:
            return self._evidence[index].expected
        return self._mutants.certain(parts, index)


def singles(probes: Probes, pick: Random) -> Sample:
    """Plant every known bug alone: its first variant, and one drawn among the others."""
    found: list[Planted] = []
    for bug in probes.kata.bugs:
        first, *others = bug.variants
        chosen = [first, *([pick.choice(others)] if others else [])]
        found += [probes.planted([bug], (edits,)) for edits in chosen]
    return Sample(tuple(found))


def combined(probes: Probes, size: int, count: int | None, pick: Random) -> Sample:
    """Plant `size` bugs at a time that are told apart: `count` sets of them, None for all.

    Sets are drawn without preference, and so is the order in which variants
    are tried: the first that go together stand for the set.
    """
    sets = list(combinations(probes.kata.bugs, size))
    pick.shuffle(sets)
    found: list[Planted] = []
    left_out: Counter[Fit] = Counter()
    for bugs in sets if count is None else sets[: count * TRIES]:
        if len(found) == count:
            break
        together = next(_together(probes, bugs, pick), None)
        fit = probes.fit(together.parts) if together else "clashing"
        if together and fit == "told apart":
            found.append(together)
        else:
            left_out[fit] += 1
    return Sample(tuple(found), left_out)


def _together(probes: Probes, bugs: Sequence[Bug], pick: Random) -> Iterator[Planted]:
    choices = list(product(*(bug.variants for bug in bugs)))
    pick.shuffle(choices)
    for parts in choices:
        try:
            yield probes.planted(bugs, parts)
        except (PatchError, SyntaxError):
            continue
