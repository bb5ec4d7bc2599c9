"""What was tried: attempts with their verdicts, answers, bugs and hints.

Katas are known by their slugs, since numbers may change. Every method opens
the file, does one errand and closes it; each raises HistoryError where the
file cannot be used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from grader.catalog import home
from grader.model import Verdict
from grader.practice.clock import day_of, now
from grader.practice.database import reading, writing
from grader.records import from_dict, to_dict

# Of the hints of a kata: those shown since it was last passed.
SINCE_PASSED = """slug = ? AND at > COALESCE(
    (SELECT MAX(at) FROM attempts WHERE slug = ? AND status = 'passed'), 0)"""

Origin = Literal["command", "watch", "review", "interview", "debug"]

# Seconds. Whoever is away longer than this has taken a break, which is no time at the kata.
BREAK = 30 * 60.0
# Full verdicts are large; of older attempts the figures, bugs and answers are kept.
KEPT_VERDICTS = 50
# What is not about the answer is no attempt: a look at the stub, a fault of ours.
NO_ATTEMPT = ("not_started", "grader_error")


@dataclass(frozen=True)
class Attempt:
    """One grading of a kata's file.

    `at` is in seconds since 1970, `day` the local day. `worked` counts the
    seconds since the kata was opened as a stub, without breaks; None where
    nobody saw it being opened. `hints` were taken since the last pass.
    """

    uid: str
    slug: str
    at: float
    day: str
    status: str
    score: float
    seconds: float
    worked: float | None
    hints: int
    origin: str
    bugs: tuple[str, ...]


@dataclass(frozen=True)
class Totals:
    """A kata's attempts in figures. `best` is the shortest time from stub to pass, in seconds."""

    attempts: int
    passes: int
    days_passed: int
    best: float | None
    latest: float
    latest_status: str
    latest_score: float
    hints_of_last_pass: int


class History:
    """The history in one file, which is made by the first thing recorded."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or home() / "history.db"

    # --- writing -----------------------------------------------------------

    def record(
        self, verdict: Verdict, source: bytes, origin: Origin, at: float | None = None
    ) -> Attempt:
        """Keep a verdict and the answer it is about."""
        at = now() if at is None else at
        uid = uuid.uuid4().hex
        bugs = tuple(bug.id for bug in verdict.bugs)
        with writing(self.path) as connection:
            digest = ""
            if verdict.status != "not_started":
                digest = hashlib.sha256(source).hexdigest()
                connection.execute(
                    "INSERT OR IGNORE INTO snapshots VALUES (?, ?)", (digest, zlib.compress(source))
                )
                _keep_verdict(connection, uid, verdict)
            attempt = Attempt(
                uid,
                verdict.slug,
                at,
                day_of(at),
                verdict.status,
                verdict.score,
                verdict.seconds,
                _worked(connection, verdict, at),
                _hints(connection, verdict.slug),
                origin,
                bugs,
            )
            connection.execute(
                """INSERT INTO attempts
                (uid, slug, at, day, status, score, seconds, worked, hints, origin, bugs, snapshot)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                (*astuple(attempt)[:-1], json.dumps(bugs), digest),
            )
        return attempt

    def take_hint(self, slug: str, rung: str, at: float | None = None) -> None:
        """Note that a hint was shown."""
        with writing(self.path) as connection:
            connection.execute(
                "INSERT INTO hints (uid, slug, at, rung) VALUES (?, ?, ?, ?)",
                (uuid.uuid4().hex, slug, now() if at is None else at, rung),
            )

    def set_card(self, slug: str, due: float, card: str) -> None:
        """Note when a kata is due again, and what the schedule knows of it."""
        with writing(self.path) as connection:
            connection.execute("INSERT OR REPLACE INTO cards VALUES (?, ?, ?)", (slug, due, card))

    # --- reading -----------------------------------------------------------

    def attempts(self, slug: str) -> list[Attempt]:
        """Return all attempts at a kata, oldest first."""
        rows = self._rows(
            "SELECT * FROM attempts WHERE slug = ? AND status NOT IN (?, ?) ORDER BY at, id",
            (slug, *NO_ATTEMPT),
        )
        return [_attempt(row) for row in rows]

    def totals(self) -> dict[str, Totals]:
        """Return the figures of every kata that was tried, by slug."""
        rows = self._rows(
            """SELECT slug, COUNT(*) AS attempts, SUM(status = 'passed') AS passes,
                COUNT(DISTINCT CASE WHEN status = 'passed' THEN day END) AS days_passed,
                MIN(CASE WHEN status = 'passed' THEN worked END) AS best
            FROM attempts WHERE status NOT IN (?, ?) GROUP BY slug""",
            NO_ATTEMPT,
        )
        found: dict[str, Totals] = {}
        for row in rows:
            (latest,) = self._rows(
                """SELECT at, status, score FROM attempts
                WHERE slug = ? AND status NOT IN (?, ?) ORDER BY at DESC, id DESC LIMIT 1""",
                (row["slug"], *NO_ATTEMPT),
            )
            passed = self._rows(
                """SELECT hints FROM attempts WHERE slug = ? AND status = 'passed'
                ORDER BY at DESC, id DESC LIMIT 1""",
                (row["slug"],),
            )
            found[row["slug"]] = Totals(
                row["attempts"],
                row["passes"],
                row["days_passed"],
                row["best"],
                latest["at"],
                latest["status"],
                latest["score"],
                passed[0]["hints"] if passed else 0,
            )
        return found

    def days(self) -> list[str]:
        """Return the days on which something was tried, newest first."""
        rows = self._rows(
            "SELECT DISTINCT day FROM attempts WHERE status NOT IN (?, ?) ORDER BY day DESC",
            NO_ATTEMPT,
        )
        return [row["day"] for row in rows]

    def hints_taken(self, slug: str) -> list[str]:
        """Return the rungs of the hints shown since the kata was last passed, oldest first."""
        query = f"SELECT rung FROM hints WHERE {SINCE_PASSED} ORDER BY at, id"  # noqa: S608
        rows = self._rows(query, (slug, slug))
        return [row["rung"] for row in rows]

    def latest(self, slug: str, *statuses: str) -> tuple[Attempt, Verdict | None, bytes] | None:
        """Return the latest attempt with its verdict and answer; of these statuses, if given.

        The verdict is None where it is no longer kept.
        """
        chosen = f"AND status IN ({', '.join('?' * len(statuses))})" if statuses else ""
        rows = self._rows(
            f"""SELECT * FROM attempts
            LEFT JOIN snapshots ON snapshots.digest = attempts.snapshot
            LEFT JOIN verdicts ON verdicts.attempt = attempts.uid
            WHERE slug = ? AND status NOT IN (?, ?) {chosen} ORDER BY at DESC, id DESC LIMIT 1""",  # noqa: S608 - question marks
            (slug, *NO_ATTEMPT, *statuses),
        )
        if not rows:
            return None
        (row,) = rows
        record, source = row["record"], row["source"]
        return _attempt(row), _verdict(record), zlib.decompress(source) if source else b""

    def cards(self) -> dict[str, tuple[float, str]]:
        """Return when each kata in the schedule is due, and what the schedule knows of it."""
        rows = self._rows("SELECT slug, due, card FROM cards", ())
        return {row["slug"]: (row["due"], row["card"]) for row in rows}

    def _rows(self, query: str, values: Sequence[Any]) -> list[sqlite3.Row]:
        with reading(self.path) as connection:
            return connection.execute(query, values).fetchall() if connection else []


def _attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        row["uid"],
        row["slug"],
        row["at"],
        row["day"],
        row["status"],
        row["score"],
        row["seconds"],
        row["worked"],
        row["hints"],
        row["origin"],
        tuple(json.loads(row["bugs"])),
    )


def _verdict(record: bytes | None) -> Verdict | None:
    # A record of another version of the grader is as good as none.
    with contextlib.suppress(ValueError, TypeError, zlib.error):
        return from_dict(json.loads(zlib.decompress(record))) if record else None
    return None


def _keep_verdict(connection: sqlite3.Connection, uid: str, verdict: Verdict) -> None:
    record = json.dumps(to_dict(verdict), allow_nan=False).encode()
    connection.execute("INSERT INTO verdicts VALUES (?, ?)", (uid, zlib.compress(record)))
    connection.execute(
        """DELETE FROM verdicts WHERE attempt IN (
            SELECT uid FROM attempts WHERE slug = ? AND status NOT IN (?, ?)
            ORDER BY at DESC, id DESC LIMIT 10 OFFSET ?)""",
        (verdict.slug, *NO_ATTEMPT, KEPT_VERDICTS - 1),
    )


def _worked(connection: sqlite3.Connection, verdict: Verdict, at: float) -> float | None:
    """Return the seconds since the stub was first looked at, without breaks."""
    row = connection.execute(
        """SELECT at, status, worked FROM attempts WHERE slug = ?
        ORDER BY at DESC, id DESC LIMIT 1""",
        (verdict.slug,),
    ).fetchone()
    opened = verdict.status == "not_started"
    if row is None or (opened and row["status"] != "not_started"):
        return 0.0 if opened else None
    if row["worked"] is None or row["status"] == "passed":
        return None
    pause = at - row["at"]
    return float(row["worked"]) + (pause if 0 < pause <= BREAK else 0.0)


def _hints(connection: sqlite3.Connection, slug: str) -> int:
    (count,) = connection.execute(
        f"SELECT COUNT(*) FROM hints WHERE {SINCE_PASSED}",  # noqa: S608 - a constant
        (slug, slug),
    ).fetchone()
    return int(count)
