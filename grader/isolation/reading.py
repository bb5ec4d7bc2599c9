"""Look at an answer's file before anything runs.

Most of what can be wrong with a file needs no torch to be told, and is told at
once instead of a second later.
"""

from __future__ import annotations

import difflib
import errno
import stat
from pathlib import Path
from typing import Literal

from grader.catalog import Entry
from grader.errors import SpecError
from grader.isolation.endings import not_loadable, not_started
from grader.model import Kata, Verdict
from grader.patching import patch
from grader.stubs import LEVELS, Level, generate, is_untouched

LARGEST = 1 << 20

State = Literal["not started", "started", "missing"]


def read(entry: Entry, path: Path, shown: str) -> bytes | Verdict:
    """Return the file's bytes, or the verdict that needs no more than a look."""
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            return not_loadable(entry, shown, f"{shown} is a folder, not a file")
        if not stat.S_ISREG(about.st_mode):
            return not_loadable(entry, shown, f"{shown} is not a regular file")
        with path.open("rb") as file:
            source = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return not_loadable(entry, shown, f"there is no file {shown}{_similar(path)}")
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return not_loadable(entry, shown, f"{shown} cannot be read: {reason}")
    if len(source) > LARGEST:
        size = max(about.st_size, len(source)) / 1e6
        message = f"{shown} has {size:.1f} MB; no answer is longer than 1 MB"
        return not_loadable(entry, shown, message)
    if unwritten(entry, source):
        return not_started(entry, shown)
    return source


def contents(path: Path) -> bytes:
    """Return what a regular file holds; OSError for anything else, which might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path.read_bytes()


def state(entry: Entry) -> State:
    """Tell whether the learner has begun, by the file alone."""
    try:
        source = contents(entry.stub_path)
    except FileNotFoundError:
        return "missing"
    except OSError:  # something is there, and grading it will say what
        return "started"
    return "not started" if untouched(entry, source) else "started"


def stub(entry: Entry, level: Level = "guided") -> str:
    """Return the file as it is handed out; a solution that has no spec yet has no slip either."""
    solution = entry.solution_path.read_text(encoding="utf-8")
    kata = entry.load_spec() if entry.spec_path.exists() else None
    return generate(solution, level) if kata is None else handed_out(kata, solution, level)


def untouched(entry: Entry, source: bytes) -> bool:
    """Tell whether a source is as it is handed out, of whichever level."""
    if unwritten(entry, source):
        return True
    return has_slip(entry.load_spec()) and is_untouched(stub(entry), source)


def unwritten(entry: Entry, source: bytes) -> bool:
    """Tell whether a source is a stub with bodies to be written, in which nothing is to grade."""
    if b"NotImplementedError" not in source:  # most answers; the stubs need not be made
        return False
    kata = entry.load_spec()
    return any(
        not has_slip(kata, level) and is_untouched(stub(entry, level), source) for level in LEVELS
    )


def handed_out(kata: Kata, solution: str, level: Level = "guided") -> str:
    """Return the stub of a solution: its bodies to be written, or all of it but for the slip.

    Raises SpecError where no known bug has the slip's name, PatchError where its
    lines are not in the solution.
    """
    if not has_slip(kata, level):
        return generate(solution, level)
    edits = next((bug.variants[0] for bug in kata.bugs if bug.id == kata.slip and bug.variants), ())
    if not edits:
        raise SpecError(f"{kata.stem}: the slip {kata.slip!r} is no known bug")
    return patch(solution, edits)


def has_slip(kata: Kata, level: Level = "guided") -> bool:
    """Tell whether a stub is a whole answer, to be graded as it is; a blank one never is."""
    return bool(kata.slip) and level == "guided"


def _similar(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix == ".py"]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
