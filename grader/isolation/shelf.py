"""What gradings find out about solutions, kept in a file from one command to the next.

Nothing depends on the file: where it is missing, old, damaged or cannot be
written, everything is found out again. It holds frames (see `wire`), never
pickle, and answers cannot reach it, as nothing else of the project.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import torch

from grader.catalog import ROOT
from grader.isolation.wire import WireError, decode, encode

# Bytes. Once the file is larger, it begins anew.
LARGEST = 128 << 20
# Milliseconds to wait for another command that writes.
PATIENCE = 500
SCHEMA = """
create table if not exists about (what text primary key) without rowid;
create table if not exists known (name blob primary key, value blob) without rowid;
"""


def path_of_shelf() -> Path:
    """Return where the file is: in `.grader`, or in the folder that GRADER_CACHE names."""
    folder = os.environ.get("GRADER_CACHE")
    return (Path(folder) if folder else ROOT / ".grader") / "known.db"


class FileShelf:
    """Implements `grader.engine.remembering.Shelf`. Never raises for what the file does."""

    def __init__(self, path: Path, about: str) -> None:
        self._path = path
        self._new: dict[bytes, object] = {}
        self._database: sqlite3.Connection | None = None
        with self._trouble_ends_it():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open(about)

    def get(self, name: bytes) -> object:
        if name in self._new:
            return self._new[name]
        row = None
        with self._trouble_ends_it():
            if self._database:
                query = "select value from known where name = ?"
                row = self._database.execute(query, (name,)).fetchone()
        try:
            return decode(row[0]) if row else None
        except (WireError, TypeError):
            return None

    def put(self, name: bytes, value: object) -> None:
        self._new[name] = value

    def save(self) -> None:
        """Write what is new, all of it or nothing."""
        rows: list[tuple[bytes, bytes]] = []
        for name, value in self._new.items():
            with contextlib.suppress(WireError):
                rows.append((name, encode(value)))
        self._new.clear()
        with self._trouble_ends_it():
            if self._database and rows:
                with self._database:
                    self._database.executemany("insert or replace into known values (?, ?)", rows)

    def close(self) -> None:
        if self._database:
            self._database.close()
        self._database = None

    def _open(self, about: str) -> None:
        if self._path.exists() and self._path.stat().st_size > LARGEST:
            self._remove()
        self._database = sqlite3.connect(self._path, timeout=PATIENCE / 1000)
        # A crash of the machine may cost the last rows, never the file.
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")
        self._database.executescript(SCHEMA)
        found = self._database.execute("select what from about").fetchall()
        if found != [(about,)]:
            with self._database:
                self._database.execute("delete from about")
                self._database.execute("delete from known")
                self._database.execute("insert into about values (?)", (about,))

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def _trouble_ends_it(self) -> Generator[None]:
        """Go on without the file where it does not work; a damaged one is removed."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            with contextlib.suppress(sqlite3.Error):
                self.close()
            self._database = None
            damaged = isinstance(error, sqlite3.DatabaseError)
            if damaged and not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):
                    self._remove()


def fingerprint() -> str:
    """Return what everything on the shelf depends on: this project's code and its libraries."""
    found = hashlib.blake2b(digest_size=16)
    for folder in ("grader", "solutions"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(str(path.relative_to(ROOT)).encode())
            found.update(path.read_bytes())
    libraries = (torch.__version__, metadata.version("hypothesis"))
    about = (*libraries, platform.python_version(), platform.machine())
    return f"{found.hexdigest()} {about}"


def shelf() -> FileShelf | None:
    """Return the shelf of this project, None where the project cannot be read."""
    try:
        return FileShelf(path_of_shelf(), fingerprint())
    except OSError:
        return None  # the project's own files cannot be read: others will say so
