"""The files of an interview: where they lie, and how they are written."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from grader.catalog import home
from grader.errors import UsageError
from grader.practice.interviews import Interview

# Seconds. How long a file may be away while an editor puts another in its place.
AWAY = 0.4
TESTS = """# Tests of your own, as functions test_… with assertions. What the kata asks for is
# there by its name; at the end they are run beside the solution and planted bugs.
"""


def folder_of(interview: Interview) -> Path:
    """Return where the files of an interview lie."""
    return home() / "interviews" / interview.uid[:8]


def tests_of(path: Path) -> Path:
    """Return the file for the learner's own tests beside an answer."""
    return path.with_name(f"{path.stem}_tests.py")


def write(path: Path, text: str, *, over: bool = True) -> None:
    """Write a file of the interview, `over` one that is there or not at all.

    Raises UsageError where that fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), path.open("wb" if over else "xb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def there(path: Path) -> Path:
    """Wait a little for a file that an editor may be about to put back; return its path."""
    deadline = time.monotonic() + AWAY
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path
