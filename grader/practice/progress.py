"""Where the learner stands, by the files and the history, and the one next command."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from grader.catalog import Entry, katas, written
from grader.errors import HistoryError
from grader.isolation.reading import has_slip, state
from grader.practice.clock import day_of
from grader.practice.history import History, Totals
from grader.practice.interviews import time_left

# failing: tried, and never passed. mastered: passed on several days, last without a hint.
State = Literal["missing", "not started", "started", "failing", "passed", "mastered"]
DAYS_TO_MASTER = 2


@dataclass(frozen=True)
class Standing:
    """One kata and how far the learner is with it.

    `score` is 1.0 once it has passed, else that of the last attempt. `best`
    is the shortest time from stub to pass in seconds, `due` when to repeat it
    in seconds since 1970; None where there is none. `whole` says that it is
    handed out as an answer to grade, not as one to write.
    """

    entry: Entry
    state: State
    score: float = 0.0
    attempts: int = 0
    best: float | None = None
    due: float | None = None
    edited: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Progress:
    """All katas, the days in a row with an attempt, and why there is no history, if so.

    `interview` is how many seconds the interview that runs has left, None if there is none.
    """

    standings: Sequence[Standing]
    streak: int = 0
    fault: str = ""
    interview: float | None = None


def progress(now: float, history: History | None = None) -> Progress:
    """Return where the learner stands; without a history that can be read, by the files alone."""
    history = history or History()
    totals: dict[str, Totals] = {}
    due: dict[str, float] = {}
    days: list[str] = []
    interview: float | None = None
    fault = ""
    try:
        totals = history.totals()
        due = {slug: at for slug, (at, _) in history.cards().items()}
        days = history.days()
        interview = time_left(history, now)
    except HistoryError as error:
        fault = f"without the history: {error}"
    standings = [_standing(e, totals.get(e.slug), due.get(e.slug)) for e in katas()]
    return Progress(standings, streak(days, day_of(now)), fault, interview)


def streak(days: Sequence[str], today: str) -> int:
    """Count the days in a row with an attempt, up to today or, so far, yesterday."""
    known = set(days)
    day = date.fromisoformat(today)
    if today not in known:
        day -= timedelta(days=1)
    count = 0
    while day.isoformat() in known:
        count += 1
        day -= timedelta(days=1)
    return count


def due_now(standings: Sequence[Standing], now: float) -> list[Standing]:
    """Return what is due on the day of `now`, the longest overdue first."""
    today = day_of(now)
    found = [each for each in standings if each.due is not None and day_of(each.due) <= today]
    return sorted(found, key=lambda each: each.due or 0.0)


def next_step(standings: Sequence[Standing], now: float) -> list[tuple[str, str]]:
    """Return the one next command: what somebody is at, then what is due, then what is new."""
    at_work = [each for each in standings if each.state in ("started", "failing") and each.edited]
    if at_work:
        latest = max(at_work, key=lambda each: _edited(each.entry))
        return [("next", f"python -m grader {latest.entry.name}")]
    if due_now(standings, now):
        return [("next", "python -m grader review")]
    for each in standings:
        if each.state in ("not started", "failing"):
            then = f"python -m grader {each.entry.name}"
            if each.state == "not started" and each.whole:
                return [("next", then)]  # what is wrong is told by the first run
            return [("open", written(each.entry.stub_path)), ("then", then)]
    return []


def _standing(entry: Entry, totals: Totals | None, due: float | None) -> Standing:
    found = state(entry)
    edited, whole = found == "started", has_slip(entry.load_spec())
    if totals is None:
        return Standing(entry, found, due=due, edited=edited, whole=whole)
    how: State = "failing"
    if totals.passes:
        settled = totals.days_passed >= DAYS_TO_MASTER and not totals.hints_of_last_pass
        how = "mastered" if settled else "passed"
    score = 1.0 if totals.passes else totals.latest_score
    return Standing(entry, how, score, totals.attempts, totals.best, due, edited, whole)


def _edited(entry: Entry) -> float:
    with contextlib.suppress(OSError):
        return entry.stub_path.stat().st_mtime
    return 0.0
