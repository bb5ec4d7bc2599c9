"""Put a kata's file back to its stub, and replace files without losing anything."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.catalog import Entry, home
from grader.errors import UsageError
from grader.isolation.reading import contents, stub
from grader.stubs import Level

# What back_up calls a copy: the file's stem, the time, a number where that was taken.
COPY = re.compile(r"(.+)\.(\d{8}-\d{6})(?:-(\d+))?\.py")


@dataclass(frozen=True)
class Backup:
    """A kept copy of the file `stem`.py. `time` is local, as in 20260131-140500."""

    path: Path
    stem: str
    time: str
    number: int

    @property
    def shown(self) -> str:
        return datetime.strptime(self.time, "%Y%m%d-%H%M%S").strftime("%Y-%m-%d %H:%M:%S")


def backups(entries: Sequence[Entry]) -> list[Backup]:
    """Return the copies that are kept of these katas' files, the newest first."""
    stems = {entry.stem for entry in entries}
    found: list[Backup] = []
    for path in (home() / "backups").glob("*.py"):
        name = COPY.fullmatch(path.name)
        if name and name[1] in stems:
            found.append(Backup(path, name[1], name[2], int(name[3] or 0)))
    return sorted(found, key=lambda each: (each.time, each.number), reverse=True)


def restore(entry: Entry, backup: Backup) -> Path | None:
    """Put a copy back in place; return where what it replaces is kept, None where nothing was.

    Raises UsageError, with the file as it was, where something cannot be read or written.
    """
    path = entry.stub_path
    try:
        content = contents(backup.path)
        if path.exists() and contents(path) == content:
            return None
        kept = back_up(entry.root, path) if path.exists() else None
        replace(path, content)
    except OSError as error:
        raise UsageError(
            f"{error.filename or path} cannot be used ({error.strerror}); nothing was restored"
        ) from error
    return kept


def reset(entry: Entry, level: Level = "guided") -> Path | None:
    """Write the stub, and return where the answer is kept; None where there was none to keep.

    Raises UsageError, with the answer as it was, where either cannot be written.
    """
    path = entry.stub_path
    try:
        kept = back_up(entry.root, path) if path.exists() else None
        replace(path, stub(entry, level))
    except OSError as error:
        raise UsageError(
            f"{error.filename or path} cannot be written ({error.strerror}); nothing was reset"
        ) from error
    return kept


def back_up(root: Path, path: Path) -> Path:
    """Copy a file to the folder of backups under its name and the time, never over another."""
    folder = home(root) / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    content = contents(path)
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


def replace(path: Path, text: str | bytes) -> None:
    """Write a file so that a reader sees either the old or the new text, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(text.encode() if isinstance(text, str) else text)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
