"""Put a kata's file back to its stub, and replace files without losing anything."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from grader.catalog import Entry, home
from grader.errors import UsageError
from grader.isolation.reading import stub


def reset(entry: Entry) -> Path | None:
    """Write the stub, and return where the answer is kept; None where there was none to keep.

    Raises UsageError, with the answer as it was, where either cannot be written.
    """
    path = entry.stub_path
    try:
        kept = back_up(entry.root, path) if path.exists() else None
        replace(path, stub(entry))
    except OSError as error:
        raise UsageError(
            f"{error.filename or path} cannot be written ({error.strerror}); nothing was reset"
        ) from error
    return kept


def back_up(root: Path, path: Path) -> Path:
    """Copy a file to the folder of backups under its name and the time, never over another."""
    folder = home(root) / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes()
    time = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for attempt in range(1000):
        suffix = f"-{attempt}" if attempt else ""
        copy = folder / f"{path.stem}.{time}{suffix}{path.suffix}"
        try:
            with copy.open("xb") as file:
                file.write(content)
        except FileExistsError:
            continue
        return copy
    raise OSError(f"no free name left in {folder}")


def replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees either the old or the new text, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(text.encode())
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
