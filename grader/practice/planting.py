"""Plant bugs in a solution so that they can be found by reading and testing alone.

Comments go, since the steps would give the code away, and a line without the
comment that its neighbours have would give the bug away.
"""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.errors import PatchError, UsageError
from grader.model import Bug, Edit, Kata, Verdict
from grader.patching import patch

# How many bugs there are unless somebody asks for more, and how many the grader tells apart.
BUGS, MOST_BUGS = 2, 3
# Combinations to grade for one whose bugs can be told apart by what they do, and how often
# to draw: where few bugs are known, the same come again.
TRIES, DRAWS = 8, 100

# Grades a source, looking for these bugs only.
Grade = Callable[[bytes, tuple[str, ...]], Verdict]


@dataclass(frozen=True)
class Planted:
    """A source with bugs in it, and the ids of the bugs."""

    source: str
    bugs: tuple[str, ...]


def plant_some(kata: Kata, solution: str, count: int, seed: int, grade: Grade) -> Planted:
    """Return the solution with `count` bugs that the grader sees, chosen by `seed`.

    Prefers a combination whose bugs are all named again by the grader, so that
    a mend can be counted. Raises UsageError where a kata has too few bugs.
    """
    if count > len(kata.bugs):
        known = "1 bug is" if len(kata.bugs) == 1 else f"{len(kata.bugs)} bugs are"
        raise UsageError(f"{count} bugs cannot be planted: {known} known for this kata")
    pick = random.Random(seed)  # noqa: S311 - a choice of exercises
    second: Planted | None = None
    graded: set[str] = set()
    for _ in range(DRAWS):
        bugs = pick.sample(kata.bugs, count)
        source = _with(solution, bugs, pick)
        if source is None or source in graded:
            continue
        if len(graded) == TRIES:
            break
        graded.add(source)
        found = Planted(source, tuple(bug.id for bug in bugs))
        verdict = grade(source.encode(), found.bugs)
        if verdict.status != "failed":
            continue
        if left(found.bugs, verdict) == count:
            return found
        second = second or found
    if second is None:
        raise UsageError(f"no {count} bugs go together with seed {seed}; try another --seed")
    return second


def left(planted: Sequence[str], verdict: Verdict) -> int | None:
    """Count the planted bugs that an answer still has; None where it cannot be told.

    It can where the answer passes, and where the bugs named explain all it does.
    """
    if verdict.status == "passed":
        return 0
    exact = [{bug.id, *bug.same_as} for bug in verdict.bugs if bug.confidence == "exact"]
    if verdict.status != "failed" or not exact:
        return None
    remaining = list(planted)
    for alike in exact:
        known = next((name for name in remaining if name in alike), None)
        if known is None:
            return None  # it is another bug than those planted
        remaining.remove(known)
    return len(exact)


def without_comments(source: str) -> str:
    """Return Python source without its comments, and without the lines that held nothing else."""
    lines = source.splitlines()
    dropped: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            code = lines[row - 1][:column].rstrip()
            lines[row - 1] = code
            if not code:
                dropped.add(row)
    return "".join(f"{line}\n" for row, line in enumerate(lines, 1) if row not in dropped)


def _with(solution: str, bugs: Sequence[Bug], pick: random.Random) -> str | None:
    """Return the solution with a variant of each bug, None where they do not go together."""
    edits: list[Edit] = []
    for bug in bugs:
        edits += pick.choice(bug.variants)
    if len({edit.replace.strip() for edit in edits}) < len(edits):
        return None  # one line for two bugs: mending one would mend both
    try:
        return without_comments(patch(solution, edits))
    except (PatchError, SyntaxError, tokenize.TokenError):
        return None
