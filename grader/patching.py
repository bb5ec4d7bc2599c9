"""Plant known bugs in a solution by swapping whole lines of its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from grader.errors import PatchError
from grader.model import Bug, Edit

NEGATIVE_INFINITY = 'float("-inf")'


def bug(
    bug_id: str,
    *edits: tuple[str, str],
    says: str,
    ask: str,
    variants: Sequence[Sequence[tuple[str, str]]] = (),
    fill_lines: Sequence[str] = (),
) -> Bug:
    """Describe a bug by (line, replacement) pairs, and by further `variants` of them.

    With `fill_lines`, the solution's lines that fill hidden scores with -inf,
    every variant also comes with -1e9 in their place: after a mask mistake the
    two behave differently (NaN here, a flat average there).
    """
    sets = [tuple(edits)] if edits else []
    sets += [tuple(variant) for variant in variants]
    patches = [tuple(Edit(replace, by) for replace, by in pairs) for pairs in sets]
    if fill_lines:
        patches += [_with_finite_fill(patch, fill_lines) for patch in tuple(patches)]
    return Bug(bug_id, tuple(dict.fromkeys(patches)), says, ask)


def each_and_all(*edits: tuple[str, str]) -> list[list[tuple[str, str]]]:
    """Return the variants of a slip that may be made in one place or in all of them."""
    alone = [[edit] for edit in edits]
    return [list(edits), *alone] if len(edits) > 1 else alone


def _with_finite_fill(patch: tuple[Edit, ...], fill_lines: Sequence[str]) -> tuple[Edit, ...]:
    changed = [Edit(e.replace, e.by.replace(NEGATIVE_INFINITY, "-1e9")) for e in patch]
    claimed = {edit.replace for edit in patch}
    changed += [
        Edit(line, line.replace(NEGATIVE_INFINITY, "-1e9"))
        for line in fill_lines
        if line not in claimed
    ]
    return tuple(changed)


def locate(source: str, edits: Sequence[Edit]) -> tuple[int, ...]:
    """Return the index (from 0) of the line that each edit replaces.

    Raises PatchError where a line is missing or occurs twice.
    """
    where: dict[str, list[int]] = {}
    for number, line in enumerate(source.splitlines()):
        where.setdefault(_code(line), []).append(number)
    found: list[int] = []
    for edit in edits:
        places = where.get(_code(edit.replace), [])
        if len(places) != 1:
            count = "is missing" if not places else f"occurs {len(places)} times"
            raise PatchError(f"the line {edit.replace!r} {count} in the solution")
        found += places
    return tuple(found)


def patch(source: str, edits: Iterable[Edit]) -> str:
    """Return `source` with every edit applied.

    Lines are looked up in the original text by their code alone (indentation
    and trailing comments aside), so the order of `edits` never matters. Raises
    PatchError where a line is missing, occurs twice, or is claimed by two edits
    that disagree.
    """
    lines = source.splitlines()
    claimed: dict[int, str] = {}
    edits = tuple(edits)
    for edit, place in zip(edits, locate(source, edits), strict=True):
        if claimed.setdefault(place, edit.by) != edit.by:
            raise PatchError(f"two edits claim the line {edit.replace!r}")
    for place, by in claimed.items():
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines[place] = "\n".join(indent + line if line else line for line in by.split("\n"))
    return "\n".join(lines) + "\n"


def _code(line: str) -> str:
    """Return a line without its indentation and its trailing comment."""
    return line.partition("  # ")[0].strip()


def plant(source: str, bugs: Sequence[Bug]) -> Iterator[str]:
    """Yield the source with all `bugs` planted, once for each choice of variants.

    Choices whose edits claim the same line for different ends are left out.
    """
    for choice in product(*(bug.variants for bug in bugs)):
        try:
            yield patch(source, (edit for edits in choice for edit in edits))
        except PatchError:
            if len(bugs) == 1:
                raise
