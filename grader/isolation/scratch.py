"""The folder that answers may write to, and what is left of those of killed graders."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

PREFIX = "grader-"
# Seconds. A younger one may be about to be locked by whoever has just made it.
SETTLED = 60.0


class Scratch:
    """A folder with a lock on it for as long as this process lives."""

    def __init__(self) -> None:
        _sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int | None:
    """Return an open folder that nobody else has locked, or None."""
    if fcntl is None:
        return None
    number = -1
    try:
        number = os.open(folder, os.O_RDONLY)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if number >= 0:
            os.close(number)
        return None
    return number


def _sweep() -> None:
    """Remove what graders left that were killed without warning."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                about = folder.lstat()
                ours = not hasattr(os, "getuid") or about.st_uid == os.getuid()
                if not folder.is_dir() or not ours or time.time() - about.st_ctime < SETTLED:
                    continue
                lock = _locked(folder)
                if lock is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(lock)
