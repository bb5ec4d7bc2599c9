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


Key = Hashable
Reached = tuple[frozenset[int], bool]


class Memory:
    """What is known of one kata, put on a shelf under digests of what it is about.

    A case goes by its key: what it was built from, and the weights that are
    absent in it. Every kind of thing that is kept has a pair of methods here.
    Without a shelf, it is known as long as this object lives.
    """

    def __init__(self, kata: Kata, shelf: Shelf | None = None) -> None:
        self._stem = kata.stem
        self._shelf = shelf
        self._changes = {check.vary: check.name for check in kata.checks if check.vary}
        self._names: dict[Hashable, bytes] = {}
        self._drawn: dict[tuple[str, int, int], tuple[Recipe, ...]] = {}
        self._reached: dict[Key, Reached | None] = {}
        self._measured: dict[Key, tuple[Expected, bool]] = {}
        self._traced: dict[frozenset[Edit], dict[int, Trace]] = {}
        self._untold: set[frozenset[Edit]] = set()

    def keep(self) -> None:
        """Put on the shelf what is not there yet."""
        for key, (expected, known) in self._measured.items():
            if not known or expected.measured is not None:
                self._put((expected.outcome, expected.measured), "expected", key)
        self._measured.clear()
        for edits in self._untold:
            self._put(_packed(self._traced[edits]), "traces", *_told(edits))
        self._untold.clear()

    def tidy(self) -> None:
        """Forget what mutants do: what was kept is on the shelf."""
        self.keep()
        self._traced.clear()
        self._names.clear()

    # --- what Hypothesis draws while nothing fails ------------------------------

    def drawn(self, check: str, examples: int, seed: int) -> tuple[Recipe, ...]:
        """Return the recipes drawn, none where that is not known."""
        about = (check, examples, seed)
        if about not in self._drawn:
            found = self._get("drawn", *about)
            recipes = cast("tuple[Recipe, ...]", found) if isinstance(found, tuple) else ()
            self._drawn[about] = recipes
        return self._drawn[about]

    def keep_drawn(self, check: str, examples: int, seed: int, recipes: Sequence[Recipe]) -> None:
        self._drawn[check, examples, seed] = tuple(recipes)
        self._put(tuple(recipes), "drawn", check, examples, seed)

    # --- what the solution does -------------------------------------------------

    def expected(self, key: Key) -> tuple[Outcome, Spread | None] | None:
        """Return what the solution does on a case, and how far its variants stray if known."""
        match self._get("expected", key):
            case (Outcome() as outcome, dict() | None as spread):
                return outcome, spread
            case _:
                return None

    def keep_expected(self, key: Key, expected: Expected, *, known: bool) -> None:
        """Keep what the solution does; `known` says that all but the spread came from here."""
        if self._shelf:
            self._measured[key] = (expected, known)

    def reached(self, key: Key) -> Reached | None:
        """Return the lines that the solution runs on a case, and whether it raises."""
        if key not in self._reached:
            match self._get("reached", key):
                case (frozenset() as lines, bool(raised)):
                    self._reached[key] = cast("frozenset[int]", lines), raised
                case _:
                    self._reached[key] = None
        return self._reached[key]

    def keep_reached(self, key: Key, lines: frozenset[int], raised: bool) -> None:
        self._reached[key] = (lines, raised)
        self._put((lines, raised), "reached", key)

    # --- what a mutant does -----------------------------------------------------

    def trace(self, edits: frozenset[Edit], key: Key) -> Trace | None:
        if edits not in self._traced:
            self._traced[edits] = _unpacked(self._get("traces", *_told(edits)))
        return self._traced[edits].get(self._short(key))

    def keep_trace(self, edits: frozenset[Edit], key: Key, trace: Trace) -> None:
        self._traced.setdefault(edits, {})[self._short(key)] = trace
        if self._shelf:
            self._untold.add(edits)

    # --- the shelf --------------------------------------------------------------

    def _get(self, *about: Hashable) -> object:
        return self._shelf.get(self._name(*about)) if self._shelf else None

    def _put(self, value: object, *about: Hashable) -> None:
        if self._shelf:
            self._shelf.put(self._name(*about), value)

    def _short(self, key: Key) -> int:
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


def _packed(traces: Mapping[int, Trace]) -> tuple[torch.Tensor, ...]:
    kinds = [[case, trace.kind] for case, trace in traces.items()]
    # Between the kind and the signs, all are numbers.
    numbers = [[*t.points, *t[2:-2]] for t in traces.values()]
    signs = [[trace.shows, trace.whole] for trace in traces.values()]
    return (
        torch.tensor(kinds, dtype=torch.int64),
        torch.tensor(numbers, dtype=torch.float64),
        torch.tensor(signs, dtype=torch.bool),
    )


def _unpacked(stored: object) -> dict[int, Trace]:
    match stored:
        case (torch.Tensor() as kinds, torch.Tensor() as numbers, torch.Tensor() as signs):
            rows = zip(kinds.tolist(), numbers.tolist(), signs.tolist(), strict=True)
            return {
                case: Trace(kind, tuple(many[:POINTS]), *many[POINTS:], *told)
                for (case, kind), many, told in rows
            }
        case _:
            return {}
