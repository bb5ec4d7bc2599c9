"""Find the files of katas, and what git holds of them."""

from __future__ import annotations

import subprocess
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
