"""Find the files of katas, and replace one without losing anything."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

from grader.catalog import STEM, Entry


def solved(root: Path) -> tuple[Entry, ...]:
    """List the katas that have a solution, by number.

    The catalog's own list is no help here: it refuses a kata that is not
    complete, and completing it is what these commands do.
    """
    stems = [path.stem for path in (root / "solutions").glob("*.py") if STEM.fullmatch(path.stem)]
    entries = [Entry(int(stem[4:].partition("_")[0]), stem, root) for stem in stems]
    return tuple(sorted(entries, key=lambda entry: entry.number))


def committed(root: Path, path: Path) -> tuple[bytes, ...]:
    """Return the versions of a file that git keeps: the last commit's and the staged one.

    Both can be had back from git, so overwriting either loses nothing. Empty
    where git or the repository is missing.
    """
    versions: list[bytes] = []
    for revision in ("HEAD:", ":"):
        command = ["git", "-C", str(root), "show", revision + path.relative_to(root).as_posix()]
        try:
            shown = subprocess.run(command, capture_output=True, timeout=20, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ()
        if shown.returncode == 0:
            versions.append(shown.stdout)
    return tuple(versions)


def back_up(root: Path, path: Path) -> Path:
    """Copy a file to .grader/backups/ under its name and the time, never over another."""
    folder = root / ".grader" / "backups"
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
