"""`dev stubs`: write katas/ from solutions/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from grader.catalog import ROOT, Entry, find_each
from grader.dev.places import committed, solved
from grader.dev.reporting import console, guarded, parser
from grader.errors import SpecError
from grader.isolation.reading import stub
from grader.resetting import back_up, replace
from grader.stubs import LEVELS, Level, generate

State = Literal["up to date", "missing", "out of date", "edited"]


def stubs(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Write the stub of every kata, or of those named, at a level.

    What is committed is "guided"; "blank" leaves out the steps. A file that
    somebody has worked in is left alone, and the exit code is 1; `--force`
    backs it up first and then writes it. `--check` writes nothing, and exits 1
    where a stub is not what its solution generates.
    """
    options = parser("stubs", "Write the stubs in katas/ from their solutions.")
    options.add_argument("katas", nargs="*", metavar="kata")
    options.add_argument("--level", choices=LEVELS, default=LEVELS[0], help="default: guided")
    options.add_argument("--check", action="store_true", help="only report")
    options.add_argument("--force", action="store_true", help="back up edited files, then write")

    def run() -> int:
        asked = options.parse_args(argv)
        entries = solved(root)
        if asked.katas:
            entries = find_each(asked.katas, among=entries)
        level: Level = asked.level
        reports = [
            _report(entry, level) if asked.check else _write(entry, level, force=asked.force)
            for entry in entries
        ]
        for entry, (_, text) in zip(entries, reports, strict=True):
            console().print(f"{entry.stub_path.relative_to(root).as_posix()}: {text}")
        return 0 if all(fine for fine, _ in reports) else 1

    return guarded(run)


def state(entry: Entry, level: Level) -> State:
    """Tell how a stub stands to its solution at a level.

    "out of date" is a file that nobody has worked in: one that a level
    generates, that git holds, or that is its own stub, as an older solution's
    is. "edited" is any other: what is in it may exist nowhere else.
    """
    try:
        current = entry.stub_path.read_bytes()
    except FileNotFoundError:
        return "missing"
    if current == stub(entry, level).encode():
        return "up to date"
    return "out of date" if _is_held(entry, current) or _is_own_stub(current) else "edited"


def _is_held(entry: Entry, current: bytes) -> bool:
    """Tell whether the content can be had again, from the solution or from git."""
    generated = (stub(entry, level).encode() for level in LEVELS)
    return current in generated or current in committed(entry.root, entry.stub_path)


def _is_own_stub(current: bytes) -> bool:
    # Constants alone come through as they are, and may be anybody's.
    if b"raise NotImplementedError" not in current:
        return False
    try:
        text = current.decode()
        return any(generate(text, level) == text for level in LEVELS)
    except (UnicodeDecodeError, SpecError):
        return False


def _report(entry: Entry, level: Level) -> tuple[bool, str]:
    found = state(entry, level)
    if found == "up to date":
        return True, found
    return False, f"{found}; python -m grader dev stubs {entry.name} writes it"


def _write(entry: Entry, level: Level, *, force: bool) -> tuple[bool, str]:
    found = state(entry, level)
    if found == "up to date":
        return True, found
    if found == "edited" and not force:
        return False, "edited, left alone; --force backs it up and writes it"
    kept = ""
    if found != "missing" and not _is_held(entry, entry.stub_path.read_bytes()):
        copy = back_up(entry.root, entry.stub_path)
        kept = f"; what was there is in {copy.relative_to(entry.root).as_posix()}"
    replace(entry.stub_path, stub(entry, level))
    return True, f"written{kept}"
