"""Find files that belong to no kata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.catalog import STEM, Entry
from grader.dev.places import solved

ALWAYS_FINE = frozenset({"README.md", "__init__.py", "__pycache__"})


def strays(root: Path) -> Iterator[str]:
    """Yield one message for each missing or stray file of the tree.

    A kata is a solution, a spec and a stub of the same stem; numbers run from
    1, or from a kata 0, without a gap. Below tests/submissions/, a kata's answers lie in a folder
    named by its stem, its short name ("kata03") or its slug.
    """
    entries = solved(root)
    if not entries:
        yield "there is no kata in solutions/"
    stems = {entry.stem for entry in entries}
    for folder in ("solutions", "grader/specs", "katas"):
        for path in sorted((root / folder).iterdir()) if (root / folder).is_dir() else ():
            if path.name not in ALWAYS_FINE and not _belongs(path, stems):
                yield f"{path.relative_to(root).as_posix()} belongs to no kata"
    for entry in entries:
        yield from _missing(entry)
    for expected, entry in enumerate(entries, start=min([1, *(each.number for each in entries)])):
        if entry.number != expected:
            yield f"{entry.stem} should have number {expected}"
            break
    yield from _submissions(root, entries)


def _belongs(path: Path, stems: set[str]) -> bool:
    return path.suffix == ".py" and bool(STEM.fullmatch(path.stem)) and path.stem in stems


def _missing(entry: Entry) -> Iterator[str]:
    for path in (entry.spec_path, entry.stub_path):
        if not path.is_file():
            yield f"{path.relative_to(entry.root).as_posix()} is missing"


def _submissions(root: Path, entries: tuple[Entry, ...]) -> Iterator[str]:
    folder = root / "tests" / "submissions"
    names = {name for entry in entries for name in (entry.stem, entry.id, entry.slug)}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name in ALWAYS_FINE or (path.is_dir() and path.name in names):
            continue
        yield f"{path.relative_to(root).as_posix()} belongs to no kata"
