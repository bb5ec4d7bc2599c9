"""Mock interviews: which rounds they have, how far they are, and how long is left.

The clock is the wall's, and everything is in the history after each command: a
crash, a closed terminal or a night asleep lose nothing, and stop nothing.
"""

from __future__ import annotations

import json
import random
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from grader.catalog import Entry
from grader.errors import UsageError
from grader.practice.clock import now
from grader.practice.database import reading, writing
from grader.practice.history import History
from grader.practice.planting import BUGS

Format = Literal["screen", "onsite", "debug"]
Kind = Literal["build", "debug", "questions"]
FORMATS: tuple[Format, ...] = get_args(Format)
MINUTES: dict[Format, float] = {"screen": 30.0, "onsite": 60.0, "debug": 25.0}
ROUNDS: dict[Format, tuple[Kind, ...]] = {
    "screen": ("build", "debug", "questions"),
    "onsite": ("build", "build", "debug", "questions"),
    "debug": ("debug", "debug", "questions"),
}
QUESTIONS = 3
# The remark of a round that could not be set up; it does not count.
LEFT_OUT = "left out: no bugs could be planted"
SHORTEST, LONGEST = 1.0, 240.0


@dataclass(frozen=True)
class Rated:
    """A follow-up question: what was typed, and which of its key points were named (from 1)."""

    text: str
    points: tuple[int, ...]


@dataclass(frozen=True)
class Round:
    """One round. Times are in seconds since 1970, None where it has not come to that.

    `file` is where the answer is written, `snapshot` what was last seen of it
    in time. `status` and `score` are those of the last grading, `edges` the
    share of its checks of edge cases and numerics that passed; `loops` that it
    noted a Python loop. `mended` counts planted `bugs` that are gone. `tests`
    are the share of bugs that the learner's own tests catch, None where there
    are none. `asked` are the numbers of the questions.
    """

    kind: Kind
    slug: str
    file: str = ""
    started: float | None = None
    ended: float | None = None
    snapshot: str = ""
    first: float | None = None
    passed: float | None = None
    checks: int = 0
    hints: int = 0
    status: str = ""
    score: float = 0.0
    edges: float | None = None
    loops: bool = False
    bugs: tuple[str, ...] = ()
    mended: int | None = None
    met: tuple[str, ...] = ()
    tests: float | None = None
    remark: str = ""
    asked: tuple[int, ...] = ()
    answers: tuple[Rated, ...] = ()


@dataclass(frozen=True)
class Interview:
    """One interview. `card` is the scorecard once it is over: (part, points, of, words)."""

    uid: str
    at: float
    minutes: float
    format: str
    state: Literal["running", "finished", "abandoned"]
    seen: float
    rounds: tuple[Round, ...]
    card: tuple[tuple[str, float, float, str], ...] = ()

    @property
    def ends(self) -> float:
        return self.at + 60 * self.minutes

    @property
    def index(self) -> int:
        """The number (from 0) of the round under way; the number of rounds where all are over."""
        return next((n for n, r in enumerate(self.rounds) if r.ended is None), len(self.rounds))

    @property
    def round(self) -> Round | None:
        return self.rounds[self.index] if self.index < len(self.rounds) else None

    def left(self, at: float) -> float:
        """Return the seconds left; a clock that was set back gives none back."""
        return max(0.0, self.ends - max(at, self.seen))

    def with_round(self, number: int, changed: Round) -> Interview:
        """Return it with another round in place of the one of a number (from 0)."""
        rounds = list(self.rounds)
        rounds[number] = changed
        return replace(self, rounds=tuple(rounds))


def plan(
    kind: Format,
    minutes: float | None,
    chosen: Sequence[Entry],
    entries: Sequence[Entry],
    seed: int,
) -> Interview:
    """Return an interview that has not begun: its rounds, each with a kata.

    Katas `chosen` come first, in their order; the rest is drawn by `seed`. A
    warm-up is never drawn. Raises UsageError for minutes that make no sense,
    and for a warm-up among the chosen.
    """
    minutes = MINUTES[kind] if minutes is None else minutes
    if not SHORTEST <= minutes <= LONGEST:
        raise UsageError(f"--minutes {minutes:g} is not between {SHORTEST:g} and {LONGEST:g}")
    for each in chosen:
        if each.load_spec().slip:
            raise UsageError(f"{each.name} is a warm-up: interviews are about the other katas")
    entries = [each for each in entries if not each.load_spec().slip]
    kinds = ROUNDS[kind]
    coding = [each for each in kinds if each != "questions"]
    if len(chosen) > len(coding):
        # More katas than rounds: each gets one, the extra ones as build rounds.
        extra: tuple[Kind, ...] = ("build",) * (len(chosen) - len(coding))
        kinds = (*extra, *kinds)
    pick = random.Random(seed)  # noqa: S311 - a choice of exercises
    pool = [entry for entry in entries if entry not in chosen]
    pick.shuffle(pool)
    order = [*chosen, *pool, *entries]
    rounds: list[Round] = []
    for each in kinds:
        entry = order.pop(0) if each != "questions" else order[0]
        if each == "questions":
            entry = next(e for e in entries if e.slug == rounds[0].slug)
            count = len(entry.load_spec().questions)
            asked = sorted(pick.sample(range(count), min(QUESTIONS, count)))
            rounds.append(Round(each, entry.slug, asked=tuple(asked)))
        else:
            if each == "debug" and len(entry.load_spec().bugs) < BUGS:
                able = [e for e in (*order, *entries) if len(e.load_spec().bugs) >= BUGS]
                if not able:
                    raise UsageError("no kata has enough known bugs for a debug round")
                entry = able[0]
            rounds.append(Round(each, entry.slug))
    at = now()
    return Interview(uuid.uuid4().hex, at, minutes, kind, "running", at, tuple(rounds))


# --- persistence ---------------------------------------------------------------


def begin(history: History, interview: Interview) -> Interview:
    """Write an interview that begins; UsageError where another one runs."""
    try:
        with writing(history.path) as connection:
            if _running(connection):
                raise UsageError(
                    "an interview is running already: python -m grader interview --resume goes "
                    "on, --abandon ends it without a score"
                )
            connection.execute(
                """INSERT INTO interviews (uid, at, minutes, format, state, seen, rounds, card)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (
                    interview.uid,
                    interview.at,
                    interview.minutes,
                    interview.format,
                    interview.state,
                    interview.seen,
                    _rounds(interview),
                    json.dumps(interview.card),
                ),
            )
    except sqlite3.IntegrityError as error:  # pragma: no cover - the check above comes first
        raise UsageError("another interview is running") from error
    return interview


def update(history: History, uid: str, change: Callable[[Interview], Interview]) -> Interview:
    """Change the interview that runs, as it is by now: another command may be at it as well.

    Raises UsageError where it does not run any more.
    """
    with writing(history.path) as connection:
        row = _running(connection)
        if row is None or row["uid"] != uid:
            raise UsageError("the interview was ended by another command meanwhile")
        interview = change(_interview(row))
        interview = replace(interview, seen=max(interview.seen, now()))
        connection.execute(
            "UPDATE interviews SET at = ?, state = ?, seen = ?, rounds = ?, card = ? WHERE uid = ?",
            (
                interview.at,
                interview.state,
                interview.seen,
                _rounds(interview),
                json.dumps(interview.card),
                uid,
            ),
        )
    return interview


def running(history: History) -> Interview | None:
    """Return the interview that runs, None if there is none."""
    with reading(history.path) as connection:
        row = connection and _running(connection)
    return _interview(row) if row else None


def time_left(history: History, at: float) -> float | None:
    """Return the seconds that the interview that runs has left, None if there is none."""
    with reading(history.path) as connection:
        row = connection and _running(connection)
    return max(0.0, row["at"] + 60 * row["minutes"] - max(at, row["seen"])) if row else None


def last_finished(history: History) -> Interview | None:
    """Return the interview that was finished last, None if there is none."""
    with reading(history.path) as connection:
        row = (
            connection
            and connection.execute(
                "SELECT * FROM interviews WHERE state = 'finished' ORDER BY at DESC LIMIT 1"
            ).fetchone()
        )
    return _interview(row) if row else None


def rounds_from(text: str) -> tuple[Round, ...]:
    """Read rounds as they are written; ValueError or TypeError for anything else."""
    data: Any = json.loads(text)
    found: list[Round] = []
    for each in data:
        answers = tuple(Rated(a["text"], tuple(a["points"])) for a in each.pop("answers", ()))
        lists: Any = {name: tuple(each.pop(name, ())) for name in ("bugs", "met", "asked")}
        found.append(Round(**each, **lists, answers=answers))
    return tuple(found)


def _running(connection: sqlite3.Connection) -> sqlite3.Row | None:
    return connection.execute("SELECT * FROM interviews WHERE state = 'running'").fetchone()


def _rounds(interview: Interview) -> str:
    return json.dumps([asdict(each) for each in interview.rounds])


def _interview(row: sqlite3.Row) -> Interview:
    return Interview(
        row["uid"],
        row["at"],
        row["minutes"],
        row["format"],
        row["state"],
        row["seen"],
        rounds_from(row["rounds"]),
        tuple(tuple(part) for part in json.loads(row["card"])),
    )
