"""Debug rounds: which bugs were planted in which kata, and how the mend went."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import Entry, home
from grader.practice.clock import now
from grader.practice.database import reading, writing
from grader.practice.history import History


@dataclass(frozen=True)
class Round:
    """One debug round. `mended` is how many of the bugs were gone at the last check, if known."""

    uid: str
    slug: str
    at: float
    seed: int
    bugs: tuple[str, ...]
    checks: int
    mended: int | None
    ended: float | None


def place(entry: Entry) -> Path:
    """Return the file that a debug round of a kata is mended in."""
    return home() / "debug" / f"debug_{entry.stem}.py"


def begin(history: History, entry: Entry, seed: int, bugs: tuple[str, ...]) -> None:
    """Note a round, and end the one of the same kata that was open."""
    with writing(history.path) as connection:
        connection.execute(
            "UPDATE rounds SET ended = ? WHERE slug = ? AND ended IS NULL", (now(), entry.slug)
        )
        connection.execute(
            "INSERT INTO rounds (uid, slug, at, seed, bugs, checks) VALUES (?, ?, ?, ?, ?, 0)",
            (uuid.uuid4().hex, entry.slug, now(), seed, json.dumps(bugs)),
        )


def checked(history: History, found: Round, mended: int | None, *, over: bool) -> None:
    """Note a check of the mend, and whether the round is over with it."""
    with writing(history.path) as connection:
        connection.execute(
            "UPDATE rounds SET checks = checks + 1, mended = ?, ended = ? WHERE uid = ?",
            (mended, now() if over else None, found.uid),
        )


def close(history: History, found: Round) -> None:
    """End a round that somebody gave up."""
    with writing(history.path) as connection:
        connection.execute("UPDATE rounds SET ended = ? WHERE uid = ?", (now(), found.uid))


def latest(history: History, entry: Entry) -> Round | None:
    """Return the last round of a kata, open or not."""
    with reading(history.path) as connection:
        row = (
            connection
            and connection.execute(
                "SELECT * FROM rounds WHERE slug = ? ORDER BY at DESC, id DESC LIMIT 1",
                (entry.slug,),
            ).fetchone()
        )
    if not row:
        return None
    return Round(
        row["uid"],
        row["slug"],
        row["at"],
        row["seed"],
        tuple(json.loads(row["bugs"])),
        row["checks"],
        row["mended"],
        row["ended"],
    )
