"""Write a right answer in another way that means the same, by steps drawn at random."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from grader.dev.mutating import bare, places
from grader.dev.rearranging import rearranged
from grader.dev.rephrasing import rephrased

# Every file gets these: rewrites may speak of them.
NEEDED = ("import math", "import torch", "from torch import nn")
# A step draws one number for the kind of rewrite, one for the place and one for the form.
LARGEST = 1 << 16


@dataclass(frozen=True)
class Rewritten:
    """A file after some rewrites, and the kinds of rewrite that led there."""

    source: str
    kinds: tuple[str, ...]


def rewritten(
    source: str, steps: Sequence[tuple[int, int]], only: Collection[str] | None = None
) -> Rewritten:
    """Return a file after the rewrites that `steps` draw; those that nothing fits are left out.

    Each step is two numbers: the first picks the kind of rewrite among those that
    the file allows at that moment, of `only` these kinds if they are given, the
    second one of the places.
    """
    text = _prepared(source)
    kinds: list[str] = []
    for kind_drawn, place_drawn in steps:
        tree = ast.parse(text)
        offered = {
            kind: changes for kind, changes in options(tree).items() if only is None or kind in only
        }
        if not offered:
            break
        kind = sorted(offered)[kind_drawn % len(offered)]
        changes = offered[kind]
        changes[place_drawn % len(changes)]()
        # Written and read again, so that no node stands in two places.
        text = ast.unparse(tree) + "\n"
        kinds.append(kind)
    return Rewritten(text, tuple(kinds))


def options(tree: ast.Module) -> dict[str, list[Callable[[], None]]]:
    """Return the rewrites that a tree allows, by kind; each changes the tree in place."""
    found: dict[str, list[Callable[[], None]]] = {}
    for place in places(tree):
        if isinstance(place.node, ast.expr):
            for kind, node in rephrased(place.node):
                found.setdefault(kind, []).append(partial(place.put, node))
    for kind, change in rearranged(tree):
        found.setdefault(kind, []).append(change)
    return found


def _prepared(source: str) -> str:
    tree = bare(source)
    future = [e for e in tree.body if isinstance(e, ast.ImportFrom) and e.module == "__future__"]
    rest = [e for e in tree.body if e not in future]
    needed = ast.parse("\n".join(NEEDED)).body
    tree.body = [*future, *needed, *rest]
    return ast.unparse(tree) + "\n"
