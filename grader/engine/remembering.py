"""What is found out about a solution, kept for gradings in other processes.

What the solution does on a case, and what each of its mutants does, is the
same every time. Where a shelf is at hand, a grading that begins in a new
process starts from what earlier ones have found out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import torch

from grader.engine.comparing import Expected, Spread
from grader.engine.tracing import POINTS, Trace
from grader.model import Edit, Kata, Outcome, Recipe


class Shelf(Protocol):
    """Keeps plain data, of the kinds that records hold, under a name."""

    def get(self, name: bytes) -> object:
        """Return what was put there, None where there is nothing that can be read."""
        ...

    def put(self, name: bytes, value: object) -> None: ...


class Nothing:
    """A shelf on which nothing stays."""

    def get(self, name: bytes) -> object:  # noqa: ARG002
        return None

    def put(self, name: bytes, value: object) -> None: ...


class Memory:
    """What is known of one kata, put on a shelf under digests of what it is about.

    A case goes by its key: what it was built from, and the weights that are
    absent in it. Every kind of thing that is kept has a pair of methods here.
    """

    def __init__(self, kata: Kata, shelf: Shelf | None = None) -> None:
        self._stem = kata.stem
        self._shelf = shelf or Nothing()
        self._idle = shelf is None
        self._changes = {check.vary: check.name for check in kata.checks if check.vary}
        self._names: dict[Hashable, bytes] = {}
        self._measured: dict[Hashable, tuple[Expected, bool]] = {}
        self._traced: dict[frozenset[Edit], dict[Hashable, Trace]] = {}
        self._untold: set[frozenset[Edit]] = set()

    def keep(self) -> None:
        """Put on the shelf what is not there yet."""
        if self._idle:
            return
        for key, (expected, known) in self._measured.items():
            if not known or expected.measured is not None:
                found = (expected.outcome, expected.measured)
                self._shelf.put(self._name("expected", key), found)
        self._measured.clear()
        for edits in self._untold:
            self._shelf.put(self._name("traces", *_told(edits)), _packed(self._traced[edits]))
        self._untold.clear()

    # --- what Hypothesis draws while nothing fails ------------------------------

    def drawn(self, check: str, examples: int, seed: int) -> tuple[Recipe, ...]:
        found = self._shelf.get(self._name("drawn", check, examples, seed))
        return cast("tuple[Recipe, ...]", found) if isinstance(found, tuple) else ()

    def keep_drawn(self, check: str, examples: int, seed: int, recipes: Sequence[Recipe]) -> None:
        self._shelf.put(self._name("drawn", check, examples, seed), tuple(recipes))

    # --- what the solution does -------------------------------------------------

    def expected(self, key: Hashable) -> tuple[Outcome, Spread | None] | None:
        """Return what the solution does on a case, and how far its variants stray if known."""
        match self._idle or self._shelf.get(self._name("expected", key)):
            case (Outcome() as outcome, dict() | None as spread):
                return outcome, spread
            case _:
                return None

    def keep_expected(self, key: Hashable, expected: Expected, *, known: bool) -> None:
        """Keep what the solution does; `known` says that all but the spread came from here."""
        if not self._idle:
            self._measured[key] = (expected, known)

    def reached(self, key: Hashable) -> tuple[frozenset[int], bool] | None:
        """Return the lines that the solution runs on a case, and whether it raises."""
        match self._idle or self._shelf.get(self._name("reached", key)):
            case (frozenset() as lines, bool(raised)):
                return cast("frozenset[int]", lines), raised
            case _:
                return None

    def keep_reached(self, key: Hashable, lines: frozenset[int], raised: bool) -> None:
        if not self._idle:
            self._shelf.put(self._name("reached", key), (lines, raised))

    # --- what a mutant does -----------------------------------------------------

    def trace(self, edits: frozenset[Edit], key: Hashable) -> Trace | None:
        if edits not in self._traced:
            stored = self._idle or self._shelf.get(self._name("traces", *_told(edits)))
            self._traced[edits] = _unpacked(stored)
        return self._traced[edits].get(self._short(key))

    def keep_trace(self, edits: frozenset[Edit], key: Hashable, trace: Trace) -> None:
        self._traced.setdefault(edits, {})[self._short(key)] = trace
        self._untold.add(edits)

    # --- names ------------------------------------------------------------------

    def _short(self, key: Hashable) -> int:
        return int.from_bytes(self._name("case", key)[:8], "little", signed=True)

    def _name(self, *about: Hashable) -> bytes:
        if about not in self._names:
            told = [self._told(item) for item in about]
            data = repr((self._stem, told)).encode()
            self._names[about] = hashlib.blake2b(data, digest_size=16).digest()
        return self._names[about]

    def _told(self, item: Any) -> object:
        """Write the key of a case so that it is the same in every process."""
        match item:
            case ((tuple() as recipe, frozenset() as observe, change), tuple() as absent):
                return (recipe, sorted(observe), self._changes.get(change), absent)
            case _:
                return item


def _told(edits: Iterable[Edit]) -> tuple[str, ...]:
    return tuple(sorted(map(repr, edits)))


def _packed(traces: Mapping[Any, Trace]) -> tuple[torch.Tensor, ...]:
    kinds = [[case, trace.kind] for case, trace in traces.items()]
    # Between the kind and the signs, all are numbers.
    numbers = [[*t.points, *t[2:-2]] for t in traces.values()]
    signs = [[trace.shows, trace.whole] for trace in traces.values()]
    return (
        torch.tensor(kinds, dtype=torch.int64),
        torch.tensor(numbers, dtype=torch.float64),
        torch.tensor(signs, dtype=torch.bool),
    )


def _unpacked(stored: object) -> dict[Hashable, Trace]:
    match stored:
        case (torch.Tensor() as kinds, torch.Tensor() as numbers, torch.Tensor() as signs):
            rows = zip(kinds.tolist(), numbers.tolist(), signs.tolist(), strict=True)
            return {
                case: Trace(kind, tuple(many[:POINTS]), *many[POINTS:], *told)
                for (case, kind), many, told in rows
            }
        case _:
            return {}
