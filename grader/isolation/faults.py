"""Keep what is known about a fault of the grader, off the screen."""

from __future__ import annotations

import os
import platform
import time

from grader.catalog import home


def record(text: str) -> str:
    """Write a traceback to a file and say in words where it is.

    Never raises: a full disk must not hide the fault itself.
    """
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    about = f"Python {platform.python_version()} on {platform.platform()}\n\n"
    folder = home() / "faults"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(about + text + "\n")
    except OSError as error:
        return f"what happened could not be written to {folder}: {error.strerror}"
    return f"what happened is in {path}"
