"""Read the stacks that faulthandler writes where an answer hangs or dies."""

from __future__ import annotations

import re

FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)')
LONGEST_CODE = 80


def frame(line: str) -> tuple[str, int, str] | None:
    """Return the file, the line and the function that one line of a stack tells of, if it does."""
    found = FRAME.search(line)
    return (found["file"], int(found["line"]), found["name"]) if found else None


def as_written(path: str) -> str:
    """Return a file's name as faulthandler writes it: in ASCII."""
    return path.encode("ascii", "backslashreplace").decode()


def code_at(source: bytes, line: int) -> str:
    """Return a line (from 1) of a file, shortened; empty where there is none."""
    lines = source.splitlines()
    if not 0 < line <= len(lines):
        return ""
    return lines[line - 1].decode("utf-8", "replace").strip()[:LONGEST_CODE]
