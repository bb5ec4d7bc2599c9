"""The file that holds the history: opened for one errand at a time, and closed again.

Every fault of the file ends in a HistoryError of one line, so that whoever
asked can say it and go on. Nothing here repairs or replaces a file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.catalog import written
from grader.errors import HistoryError

# Seconds to wait for another process that writes: a watch beside a command, say.
PATIENCE = 2.0

# Each step takes the file from one `user_version` to the next; steps are only ever added.
# Times are seconds since 1970. Records are known by uids of their own, so that an
# import can tell what is there already; ids only number the rows.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE attempts (
            id INTEGER PRIMARY KEY,
            uid TEXT NOT NULL UNIQUE,
            slug TEXT NOT NULL,
            at REAL NOT NULL,
            day TEXT NOT NULL,
            status TEXT NOT NULL,
            score REAL NOT NULL,
            seconds REAL NOT NULL,
            worked REAL,
            hints INTEGER NOT NULL,
            origin TEXT NOT NULL,
            bugs TEXT NOT NULL,
            snapshot TEXT NOT NULL
        )""",
        # All that the overview asks for, so that it never touches the rows themselves.
        """CREATE INDEX attempts_by_kata
            ON attempts (slug, at, status, score, worked, hints, day, origin)""",
        """CREATE TABLE snapshots (digest TEXT PRIMARY KEY, source BLOB NOT NULL)""",
        """CREATE TABLE verdicts (attempt TEXT PRIMARY KEY, record BLOB NOT NULL)""",
        """CREATE TABLE hints (
            id INTEGER PRIMARY KEY,
            uid TEXT NOT NULL UNIQUE,
            slug TEXT NOT NULL,
            at REAL NOT NULL,
            rung TEXT NOT NULL
        )""",
        """CREATE INDEX hints_by_kata ON hints (slug, at)""",
        """CREATE TABLE cards (slug TEXT PRIMARY KEY, due REAL NOT NULL, card TEXT NOT NULL)""",
    ),
    (
        # `ended` is null while the round is open, `mended` while nobody could count.
        """CREATE TABLE rounds (
            id INTEGER PRIMARY KEY,
            uid TEXT NOT NULL UNIQUE,
            slug TEXT NOT NULL,
            at REAL NOT NULL,
            seed INTEGER NOT NULL,
            bugs TEXT NOT NULL,
            checks INTEGER NOT NULL,
            mended INTEGER,
            ended REAL
        )""",
    ),
    (
        # `seen` is the latest time that a command saw: a clock set back gives no time back.
        """CREATE TABLE interviews (
            id INTEGER PRIMARY KEY,
            uid TEXT NOT NULL UNIQUE,
            at REAL NOT NULL,
            minutes REAL NOT NULL,
            format TEXT NOT NULL,
            state TEXT NOT NULL,
            seen REAL NOT NULL,
            rounds TEXT NOT NULL,
            card TEXT NOT NULL
        )""",
        """CREATE UNIQUE INDEX one_at_a_time ON interviews (state) WHERE state = 'running'""",
    ),
)
VERSION = len(MIGRATIONS)


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection | None]:
    """Open the file to look things up; None where there is no file yet."""
    if not path.exists():
        yield None
        return
    with _connected(path, "read") as connection:
        yield connection


@contextmanager
def writing(path: Path) -> Generator[sqlite3.Connection]:
    """Open the file, made where there is none, for one transaction: all of it or nothing."""
    with _connected(path, "written") as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def _connected(path: Path, purpose: str) -> Generator[sqlite3.Connection]:
    connection: sqlite3.Connection | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        connection.row_factory = sqlite3.Row
        _migrate(connection, path)
        # A verdict that is on the screen has reached the disk.
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
    except sqlite3.Error as error:
        raise HistoryError(_explained(error, path, purpose)) from error
    except OSError as error:
        raise HistoryError(
            f"{written(path)} cannot be {purpose}: {error.strerror or error}"
        ) from error
    finally:
        if connection is not None:
            connection.close()


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    # One look at both: between two, another process may make the tables.
    connection.execute("BEGIN")
    found = _version(connection)
    empty = not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    connection.execute("COMMIT")
    if found == VERSION:
        return
    if found > VERSION:
        raise HistoryError(
            f"{written(path)} was written by a newer grader (format {found}, this one knows "
            f"{VERSION}): update the grader, or move the file away to start another"
        )
    if not found and not empty:
        raise HistoryError(f"{written(path)} is a database of something else; it was left alone")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        for version in range(_version(connection), VERSION):
            _apply(connection, MIGRATIONS[version])
            connection.execute(f"PRAGMA user_version = {version + 1}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _apply(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.execute(statement)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _explained(error: sqlite3.Error, path: Path, purpose: str) -> str:
    """Say in one line what is wrong with the file, and what to do about it."""
    reason = str(error)
    shown = written(path)
    if "locked" in reason or "busy" in reason:
        return (
            f"{shown} cannot be {purpose}: another program has held it for {PATIENCE:.0f} seconds"
        )
    if "not a database" in reason or "malformed" in reason or "no such" in reason:
        return (
            f"{shown} is damaged ({reason}); it was left as it is: "
            "move it away to start another, or put a copy back"
        )
    if "readonly" in reason or "unable to open" in reason:
        return f"{shown} cannot be {purpose}: the file or its folder is read-only ({reason})"
    return f"{shown} cannot be {purpose}: {reason}"
