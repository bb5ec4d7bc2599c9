"""Hold what a verdict says of planted bugs against what is true of them.

- right: exactly the planted bugs are stated as a fact.
- equal: so many bugs as were planted are stated, and each planted one is one of
  them, listed beside one as not to be told apart from it, or declared equal to it.
  It is not taken at its word: what is stated has to do on every probe what was planted.
- alike: others are stated, and the planted ones are not listed beside them, but on
  every probe both do the same, to the letter of each message. What is
  said is true, then; that it is not all that could be said is counted apart.
- part: some of the planted ones are stated and nothing else is, and for one target
  of the kata that is the whole truth. In a kata of one target it never is: what is
  planted differs from every choice of fewer.
- consistent: nothing is stated as a fact that is not true, and something is offered.
- unknown: nothing is named.
- late: the answer ran out of time or memory, or died.
- wrong: bugs are stated as a fact that are none of these. Equal outcomes count for
  them on all probes only, never on most, and classes of exceptions are not enough.
- passed: nothing was found, although what is planted differs from the solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from typing import Literal, get_args

from grader.dev.combining import Parts, Planted, Probes
from grader.model import Kata, NamedBug, Verdict

Said = Literal[
    "right", "equal", "alike", "part", "consistent", "unknown", "late", "wrong", "passed"
]
SAYINGS: tuple[Said, ...] = get_args(Said)
FAULTS: frozenset[Said] = frozenset({"wrong", "passed"})
# So many choices of variants are run for the bugs that were stated.
CHOICES = 200


@dataclass(frozen=True)
class Assessed:
    """One file with planted bugs, how it was written, and what was said of it.

    `style` is one of a few names, `kinds` are the rewrites that led to it. `told`
    is the verdict in a line, `source` the file that was graded.
    """

    planted: Planted
    style: str
    kinds: tuple[str, ...]
    source: str
    said: Said
    told: str

    @property
    def kata(self) -> str:
        return self.planted.entry.name

    @property
    def size(self) -> int:
        return len(self.planted.bugs)

    @property
    def fault(self) -> bool:
        return self.said in FAULTS

    @property
    def title(self) -> str:
        """Return what was planted and how: each bug with the number of its variant."""
        known = {bug.id: bug.variants for bug in self.planted.entry.load_spec().bugs}
        names = [
            f"{name} ({known[name].index(edits) + 1} of {len(known[name])})"
            for name, edits in zip(self.planted.bugs, self.planted.parts, strict=True)
        ]
        written = f" by {', '.join(self.kinds)}" if self.kinds else ""
        return f"{' + '.join(names)}, style {self.style}{written}"


def assess(verdict: Verdict, planted: Planted, probes: Probes) -> Said:
    """Tell what a verdict on planted bugs is worth."""
    if verdict.status in ("passed", "grader_error"):
        return "passed"
    if verdict.status in ("timeout", "memory", "crashed"):
        return "late"
    if not verdict.bugs:
        return "unknown"
    stated = [bug for bug in verdict.bugs if bug.confidence == "exact"]
    if len(stated) < len(verdict.bugs):
        # The rest is no fact, so that what is stated may be less than what is planted.
        return "consistent" if _covered(stated, planted, probes.kata) else "wrong"
    if sorted(bug.id for bug in stated) == sorted(planted.bugs):
        return "right"
    covered = _covered(stated, planted, probes.kata)
    choices = list(_choices(stated, probes.kata))
    if covered and len(stated) == len(planted.bugs):
        same = any(probes.agree(parts, planted.parts) for parts in choices)
        return "equal" if same else "wrong"
    if any(probes.agree(parts, planted.parts, to_the_letter=True) for parts in choices):
        return "alike"
    if covered and any(_true_in_part(parts, planted, probes) for parts in choices):
        return "part"
    return "wrong"


def told(verdict: Verdict) -> str:
    """Say in one line what a verdict says of an answer."""
    words: list[str] = []
    for bug in verdict.bugs:
        beside = f" (same as {', '.join(bug.same_as)})" if bug.same_as else ""
        sure = "exactly" if bug.confidence == "exact" else "consistent with"
        words.append(f"{sure} {bug.id}{beside}, {bug.matched} of {bug.probes} probes")
    if not words:
        words = ["; ".join(verdict.notes)] if verdict.status == "grader_error" else ["no name"]
    return f"{verdict.status}: {' and '.join(words)}"


def _covered(stated: Sequence[NamedBug], planted: Planted, kata: Kata) -> bool:
    """Tell whether each of the bugs stated is another planted one, or equal to it."""
    declared = {name: frozenset(group) for group in kata.equal for name in group}
    known = [{bug.id, *bug.same_as, *declared.get(bug.id, ())} for bug in stated]
    return any(
        all(name in names for name, names in zip(chosen, known, strict=True))
        for chosen in permutations(planted.bugs, len(known))
    )


def _choices(stated: Sequence[NamedBug], kata: Kata) -> Iterator[Parts]:
    variants = {bug.id: bug.variants for bug in kata.bugs}
    every: Iterator[Parts] = product(*(variants[bug.id] for bug in stated))
    return islice(every, CHOICES)


def _true_in_part(parts: Parts, planted: Planted, probes: Probes) -> bool:
    """Tell whether bugs do what the planted ones do on all probes of a target they show on."""
    return any(
        probes.agree(parts, planted.parts, target.name, to_the_letter=True)
        and not probes.agree(parts, (), target.name)
        for target in probes.kata.targets
    )
