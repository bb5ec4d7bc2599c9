"""How good are tests? They have to hold for the solution, and fail for planted bugs."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from dataclasses import dataclass

from grader.errors import PatchError
from grader.model import Kata, Verdict
from grader.patching import patch

# Bugs to try the tests on; each takes a process of its own.
MOST_BUGS = 10
RUN = "run_all_tests"

# Runs a source's function of a name, and returns what became of it.
Call = Callable[[bytes, str], Verdict]


@dataclass(frozen=True)
class Measured:
    """`share` of the bugs that the tests catch; None where there are no tests. `words` say why."""

    share: float | None
    words: str


def measure(kata: Kata, solution: str, tests: str, call: Call, seed: int = 0) -> Measured:
    """Run the functions test_* in `tests` beside the solution, then beside planted bugs."""
    try:
        tree = ast.parse(tests)
    except (SyntaxError, ValueError) as error:
        return Measured(0.0, f"the tests cannot be read: {error}")
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    if not names:
        return Measured(None, "no tests were written")
    calls = "".join(f"    {name}()\n" for name in names)
    tail = f"\n\n{tests}\n\ndef {RUN}():\n{calls}    return __import__('torch').zeros(())\n"
    right = call((solution + tail).encode(), RUN)
    if right.status != "passed":
        told = next((c.message for c in right.checks if c.message), right.status)
        return Measured(0.0, f"they fail for a right answer: {told}")
    pick = random.Random(seed)  # noqa: S311 - a choice of bugs
    bugs = pick.sample(kata.bugs, min(MOST_BUGS, len(kata.bugs)))
    caught = tried = 0
    for bug in bugs:
        try:
            planted = patch(solution, bug.variants[0])
        except PatchError:
            continue
        tried += 1
        caught += call((planted + tail).encode(), RUN).status != "passed"
    if not tried:
        return Measured(None, "no bugs are known to try them on")
    return Measured(caught / tried, f"they catch {caught} of {tried} planted bugs")
