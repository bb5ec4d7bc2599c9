"""Solutions with bugs planted, and what they do on each probe, run as seldom as possible.

An edit of a line that a probe never reaches changes nothing there. So the
outcome of a mutant is looked up by those of its edits that stand on lines the
solution runs on that probe, and is shared by all mutants that have the same
ones. An edit may still steer the run to a line the solution never reached;
whoever wants certainty asks for `certain`, which runs the whole mutant.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Protocol

from grader.engine.bench import SOLUTION_FILE, Reference, solution_namespace
from grader.engine.comparing import same_behaviour
from grader.engine.execution import execute
from grader.engine.loading import Namespace
from grader.engine.remembering import Memory, Shelf
from grader.engine.tracing import Trace, trace_of
from grader.errors import NotLoadable, PatchError
from grader.model import Case, Edit, Kata, Outcome
from grader.patching import locate

Edits = tuple[Edit, ...]
# Outcomes of mutants to keep from one grading to the next: some 7 kB each.
MOST_OUTCOMES = 40_000


@dataclass(frozen=True)
class _Statement:
    """The lines of a statement, of a compound one its head; can an edit of it change the path?"""

    lines: range
    steers: bool


class Store:
    """What is known of a kata's solution and its mutants; may serve many gradings of it.

    With a `shelf`, also what earlier processes found out, once their `memory.keep` was called.
    """

    def __init__(self, kata: Kata, source: str, shelf: Shelf | None = None) -> None:
        self.source = source
        self.memory = Memory(kata, shelf)
        self.reference = Reference(kata, source, self.memory)
        # Modules are built anew for tracing: their constructors' lines count too.
        self.traced = replace(solution_namespace(source), kept=None)
        self.statements = _statements(source)
        self.calls_only = _lines_of_forward(source)
        self.kept: dict[object, Any] = {}
        self.namespaces: dict[frozenset[Edit], Namespace | None] = {}
        self.outcomes: dict[tuple[Hashable, frozenset[Edit]], Outcome | None] = {}
        self.lines: dict[Edit, int] = {}

    def line(self, edit: Edit) -> int:
        """Return the line (from 1) that an edit replaces."""
        if edit not in self.lines:
            (place,) = locate(self.source, [edit])
            self.lines[edit] = place + 1
        return self.lines[edit]

    def namespace(self, edits: frozenset[Edit]) -> Namespace | None:
        """Return the solution with edits applied, None where they cannot be."""
        if edits not in self.namespaces:
            try:
                made = solution_namespace(self.source, tuple(edits))
                if all(self.line(edit) in self.calls_only for edit in edits):
                    # The constructors are the solution's: so may be the instances.
                    made = replace(made, kept=self.kept, settled=True)
            except (PatchError, NotLoadable):
                made = None
            self.namespaces[edits] = made
        return self.namespaces[edits]

    def tidy(self) -> None:
        """Between two gradings: drop what mutants do once it is much; it can be found out again."""
        self.reference.tidy()
        if len(self.outcomes) > MOST_OUTCOMES:
            self.outcomes.clear()
            self.namespaces.clear()
            self.memory.tidy()


class Probe(Protocol):
    """A case, what the solution does on it, and a key that is the same for equal cases."""

    @property
    def case(self) -> Case: ...

    @property
    def expected(self) -> Outcome: ...

    @property
    def key(self) -> Hashable: ...


class Mutants:
    """The mutants of one solution on one list of probes.

    `calls` counts the runs asked for, whether the store knew them or not, so
    that a budget of calls means the same for the first grading and the last.
    """

    def __init__(self, store: Store, probes: Sequence[Probe]) -> None:
        self.store = store
        self.probes = probes
        self.calls = 0
        self._asked: set[tuple[int, frozenset[Edit]]] = set()

    def outcome(self, parts: Sequence[Edits], index: int) -> Outcome | None:
        """Return what a mutant does on a probe; None where its edits do not go together.

        Each of `parts` is one bug: its edits belong together, and are left out
        only if the probe reaches none of them.
        """
        edits = self._reduced(parts, index)
        return None if edits is None else self._run(edits, index)

    def trace(self, parts: Sequence[Edits], index: int) -> Trace | None:
        """Return the trace of the same, which takes a run only where nobody has run it yet."""
        edits = self._reduced(parts, index)
        if edits is None:
            return None
        self._count(edits, index)
        probe = self.probes[index]
        known = self.store.memory.trace(edits, probe.key)
        if known is None:
            outcome = self._run(edits, index)
            if outcome is None:
                return None
            shows = not same_behaviour(probe.case, outcome, probe.expected)
            known = trace_of(probe.case, outcome, shows=shows)
            self.store.memory.keep_trace(edits, probe.key, known)
        return known

    def certain(self, parts: Sequence[Edits], index: int) -> Outcome | None:
        """Return the outcome by running the whole mutant."""
        return self._run(frozenset(edit for part in parts for edit in part), index)

    def _reduced(self, parts: Sequence[Edits], index: int) -> frozenset[Edit] | None:
        """Return the edits that matter on a probe; None where they do not go together."""
        if not self.compatible(parts):
            return None
        lines, raised = self.reached(index)
        kept = [part for part in parts if any(self._matters(edit, lines) for edit in part)]
        if kept and (raised or any(self._steers(edit) for part in kept for edit in part)):
            kept = list(parts)
        return frozenset(edit for part in kept for edit in part)

    def compatible(self, parts: Sequence[Edits]) -> bool:
        """Tell whether no line is claimed by two edits that disagree."""
        claimed: dict[int, str] = {}
        return all(
            claimed.setdefault(self.store.line(edit), edit.by) == edit.by
            for part in parts
            for edit in part
        )

    def inert(self, parts: Sequence[Edits], index: int) -> bool:
        """Tell whether no edit stands on a line that the solution runs on this probe."""
        lines, _ = self.reached(index)
        return not any(self._matters(edit, lines) for part in parts for edit in part)

    def reached(self, index: int) -> tuple[frozenset[int], bool]:
        """Return the lines that the solution runs on a probe, and whether it raises there."""
        probe, memory = self.probes[index], self.store.memory
        found = memory.reached(probe.key)
        if found is None:
            with _lines_run() as lines:
                outcome = execute(probe.case, self.store.traced)
            found = (frozenset(lines), outcome.status == "raised")
            memory.keep_reached(probe.key, *found)
        return found

    def _matters(self, edit: Edit, reached: frozenset[int]) -> bool:
        statement = self.store.statements.get(self.store.line(edit))
        return statement is None or not reached.isdisjoint(statement.lines)

    def _steers(self, edit: Edit) -> bool:
        statement = self.store.statements.get(self.store.line(edit))
        return statement is None or statement.steers

    def _count(self, edits: frozenset[Edit], index: int) -> None:
        if (index, edits) not in self._asked:
            self._asked.add((index, edits))
            self.calls += 1

    def _run(self, edits: frozenset[Edit], index: int) -> Outcome | None:
        self._count(edits, index)
        probe = self.probes[index]
        key = (probe.key, edits)
        if key not in self.store.outcomes:
            namespace = self.store.namespace(edits)
            self.store.outcomes[key] = namespace and execute(probe.case, namespace)
        return self.store.outcomes[key]


def _statements(source: str) -> dict[int, _Statement]:
    """Map each line inside a function to its statement.

    Lines outside of functions run when the file is loaded, and are left out.
    """
    found: dict[int, _Statement] = {}

    def visit(body: Sequence[ast.stmt], inside: bool, top: bool = False) -> None:
        for node in body:
            nested: list[Any] = getattr(node, "body", [])
            last = nested[0].lineno - 1 if nested else (node.end_lineno or node.lineno)
            own = range(node.lineno, last + 1)
            defines = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            if inside and not defines:
                # The return that ends a function has nothing behind it to be reached.
                last_return = isinstance(node, ast.Return) and top and node is body[-1]
                leaves = isinstance(node, (ast.Return, ast.Raise)) and not last_return
                steers = bool(nested) or leaves
                found.update(dict.fromkeys(own, _Statement(own, steers)))
            function = defines and not isinstance(node, ast.ClassDef)
            for name in ("body", "orelse", "finalbody"):
                visit(getattr(node, name, []), inside or function, top=function)

    visit(ast.parse(source).body, inside=False)
    return found


def _lines_of_forward(source: str) -> frozenset[int]:
    """Return the lines inside the `forward` methods of a solution that has one class only."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return frozenset(
        line
        for node in (classes[0].body if len(classes) == 1 else [])
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


@contextmanager
def _lines_run() -> Generator[set[int]]:
    """Collect the lines of the solution's file that run inside."""
    lines: set[int] = set()

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def each(frame: FrameType, _event: str, _argument: object) -> Any:
        return local if frame.f_code.co_filename == SOLUTION_FILE else None

    before = sys.gettrace()
    sys.settrace(each)
    try:
        yield lines
    finally:
        sys.settrace(before)
